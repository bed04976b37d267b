//! The chapter on the language tells the truth: its examples compile, and those that are said to be
//! refused are.

use sing_contract::compile;

/// The chapter's examples: what stands behind the fence's language, and the text.
fn examples() -> Vec<(String, String)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/src/contract-language.md"
    );
    let book = std::fs::read_to_string(path).expect("the chapter is there");
    let mut all = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in book.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some((kind.to_string(), String::new())),
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    all
}

#[test]
fn examples_do_what_the_chapter_says() {
    let (mut sound, mut refused, mut shown) = (0, 0, 0);
    let mut last = Vec::new();
    for (kind, text) in examples() {
        match (kind.as_str(), compile(&text)) {
            ("contract", Ok(_)) => sound += 1,
            ("contract", Err(errors)) => panic!("{}", errors[0]),
            ("contract,refused", Err(errors)) => {
                refused += 1;
                last = errors;
            }
            ("contract,refused", Ok(_)) => panic!("is not refused:\n{text}"),
            // A report stands below what it reports on.
            ("text", _) => {
                shown += 1;
                assert_eq!(
                    last.first().map(ToString::to_string).as_deref(),
                    Some(text.trim_end())
                );
            }
            (other, _) => panic!("an example of kind {other:?}"),
        }
    }
    assert!(
        sound >= 5 && refused >= 5 && shown == 1,
        "{sound} {refused} {shown}"
    );
}
