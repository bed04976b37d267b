//! What a declaration may be: checked when a program is installed, and by a shell again, since an
//! image may come from anywhere.

use super::{Count, Declaration, Kind, Parameter};
use crate::Error;
use alloc::format;
use alloc::string::String;

/// The most parameters of a program.
pub const MOST: usize = 64;
/// The most bytes in a name, in a default, and in a word to choose.
const NAME: usize = 64;
/// The most bytes that explain a parameter, and that describe a kind.
const HELP: usize = 1024;
/// The most words of which one is chosen.
const WORDS: usize = 64;

/// Checks declarations, before anything else is done with them.
///
/// # Errors
/// Names the first that does not hold, the reason and the way out.
pub fn check(all: &[Parameter]) -> Result<(), Error> {
    if all.len() > MOST {
        let count = all.len();
        return Err(Error::new(format!(
            "{count} parameters are declared, where {MOST} are allowed: read the rest from a file"
        )));
    }
    for (i, parameter) in all.iter().enumerate() {
        // Before the name is part of a message.
        printable("the name of a parameter", &parameter.name, NAME).map_err(Error::new)?;
        let wrong = |text| Error::new(format!("parameter {:?}: {text}", parameter.name));
        named(parameter).map_err(wrong)?;
        texts(parameter).map_err(wrong)?;
        let before = &all[..i];
        if before.iter().any(|other| same(other, parameter)) {
            return Err(wrong("is declared twice".into()));
        }
        let hides = |p: &&Parameter| p.count.takes_the_rest();
        if let Some(rest) = before.iter().find(hides)
            && !parameter.count.is_option()
        {
            return Err(wrong(format!(
                "stands behind {:?}, which takes all words that are left: declare it before",
                rest.name
            )));
        }
    }
    Ok(())
}

fn same(a: &Parameter, b: &Parameter) -> bool {
    match (a.option(), b.option()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.name == b.name,
        _ => false,
    }
}

/// Checks that a name has the form of what it names.
fn named(parameter: &Parameter) -> Result<(), String> {
    let name = &parameter.name;
    if name.is_empty() {
        return Err("has no name".into());
    }
    let mut words = name.split(' ');
    let first = words.next().unwrap_or_default();
    let well_formed = match parameter.count {
        Count::Flag => first.len() == name.len(),
        Count::Valued => words.next().is_some_and(|value| !value.is_empty()),
        _ => return no_option(name),
    };
    if !well_formed || first.len() < 2 || !first.starts_with('-') || first == "--" {
        return Err("is no option; one is like -a or --all, or with a value -n LINES".into());
    }
    // Else a number could not be told from it.
    if super::is_number(first) {
        return Err("looks like a number below zero; an option begins with a letter".into());
    }
    Ok(())
}

fn no_option(name: &str) -> Result<(), String> {
    if name.starts_with('-') {
        return Err("looks like an option; declare it as a flag, or with a value".into());
    }
    Ok(())
}

/// Checks all texts of a parameter but its name.
fn texts(parameter: &Parameter) -> Result<(), String> {
    printable("the help", &parameter.help, HELP)?;
    printable(
        "the default",
        parameter.default.as_deref().unwrap_or(""),
        NAME,
    )?;
    match &parameter.kind {
        Kind::Other(text) => printable("the kind", text, HELP),
        Kind::Whole { least, most } | Kind::Range { least, most }
            if i128::from(*least) > i128::from(*most) =>
        {
            Err(format!("no number is from {least} to {most}"))
        }
        Kind::Choice(words) => {
            if words.is_empty() || words.len() > WORDS {
                let count = words.len();
                return Err(format!(
                    "{count} words to choose, where 1 to {WORDS} are allowed"
                ));
            }
            for (i, word) in words.iter().enumerate() {
                printable("a word to choose", word, NAME)?;
                if word.is_empty() || words[..i].contains(word) {
                    return Err(format!(
                        "the word {word:?} to choose is empty or there twice"
                    ));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Checks that a text is short, and can be shown on a terminal as it is.
fn printable(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        let len = text.len();
        return Err(format!("{what} has {len} bytes, where {most} are allowed"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{what} has a control character in it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    fn parameter(count: Count, name: &str) -> Parameter {
        Parameter {
            name: name.into(),
            count,
            ..Parameter::default()
        }
    }

    fn refused(all: &[Parameter], why: &str) {
        let said = check(all).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }

    #[test]
    fn usual_declarations_are_accepted() {
        let all = [
            parameter(Count::Flag, "-a"),
            parameter(Count::Valued, "--from PLACE"),
            parameter(Count::One, "DISK"),
            parameter(Count::Some, "DISK AT"),
            parameter(Count::Flag, "--all"),
        ];
        assert_eq!(check(&all), Ok(()));
        assert_eq!(check(&[]), Ok(()));
        let most = (0..MOST).map(|i| parameter(Count::One, &format!("N{i}")));
        assert_eq!(check(&most.collect::<Vec<_>>()), Ok(()));
    }

    #[test]
    fn hostile_declarations_are_refused_with_a_reason() {
        let many: Vec<Parameter> = (0..=MOST)
            .map(|i| parameter(Count::One, &format!("N{i}")))
            .collect();
        refused(&many, "65 parameters are declared, where 64 are allowed");
        for (count, name, why) in [
            (Count::One, "", "has no name"),
            (Count::One, "A\x1b[2J", "control character"),
            (Count::One, &"x".repeat(65), "65 bytes, where 64"),
            (Count::One, "-a", "looks like an option"),
            (Count::Flag, "a", "is no option"),
            (Count::Flag, "-", "is no option"),
            (Count::Flag, "--", "is no option"),
            (Count::Flag, "-a B", "is no option"),
            (Count::Flag, "-5", "a number below zero"),
            (Count::Valued, "-n", "is no option"),
            (Count::Valued, "-n ", "is no option"),
        ] {
            refused(&[parameter(count, name)], why);
        }
        let of = |kind| Parameter {
            kind,
            ..parameter(Count::One, "A")
        };
        let word = |w: &str| String::from(w);
        for (kind, why) in [
            (Kind::Other("\n".into()), "the kind has a control"),
            (
                Kind::Range { least: 2, most: 1 },
                "no number is from 2 to 1",
            ),
            (Kind::Choice(vec![]), "0 words to choose"),
            (Kind::Choice(vec![word("a"); 65]), "65 words to choose"),
            (Kind::Choice(vec![word("a"), word("a")]), "there twice"),
            (Kind::Choice(vec![word("")]), "empty"),
            (Kind::Choice(vec![word("\u{9b}")]), "control"),
        ] {
            refused(&[of(kind)], why);
        }
        let mut long = parameter(Count::One, "A");
        long.help = "x".repeat(1025);
        refused(&[long], "the help has 1025 bytes");
        let mut bell = parameter(Count::One, "A");
        bell.default = Some("\x07".into());
        refused(&[bell], "the default has a control");
        let flag = parameter(Count::Flag, "-n");
        refused(
            &[flag, parameter(Count::Valued, "-n LINES")],
            "declared twice",
        );
        let rest = parameter(Count::Many, "PATH");
        refused(
            &[rest, parameter(Count::One, "TO")],
            "stands behind \"PATH\"",
        );
    }
}
