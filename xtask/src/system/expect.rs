//! Compares a step's output with the expectations of its test.

use super::list::Expected;
use anyhow::{Result, bail};
use regex::Regex;
use std::collections::BTreeMap;

/// The text that each named group has matched so far in a test.
pub type Captures = BTreeMap<String, String>;

/// Replaces each `${name}` by the value that `value` returns for it.
pub fn fill(pattern: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            bail!("`${{` without `}}`")
        };
        let Some(text) = value(name) else {
            bail!("nothing has been captured as `{name}`")
        };
        out.push_str(before);
        out.push_str(&text);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Checks a step's output; the error says which expectation failed.
pub fn check(expected: &[Expected], output: &str, captures: &mut Captures) -> Result<()> {
    let lines: Vec<&str> = output.lines().collect();
    let mut ordered = Vec::new();
    for expectation in expected {
        match expectation {
            Expected::Somewhere(pattern) => {
                if !lines
                    .iter()
                    .any(|l| find(pattern, l, captures, false).unwrap_or(false))
                {
                    bail!("no line matches `{pattern}`");
                }
            }
            Expected::Nowhere(pattern) => {
                for line in &lines {
                    if find(pattern, line, captures, false)? {
                        bail!("a line matches `{pattern}`, which none should: {line}");
                    }
                }
            }
            other => ordered.push(other),
        }
    }
    if ordered.is_empty() && !expected.is_empty() {
        return Ok(());
    }
    in_order(&ordered, &lines, captures)
}

/// Matches expectations against lines from the front, skipping lines only after [`Expected::Any`].
fn in_order(expected: &[&Expected], lines: &[&str], captures: &mut Captures) -> Result<()> {
    let mut at = 0;
    let mut may_skip = false;
    for expectation in expected {
        let (pattern, literal) = match expectation {
            Expected::Any => {
                may_skip = true;
                continue;
            }
            Expected::Line(text) => (text, true),
            Expected::Matches(text) => (text, false),
            Expected::Somewhere(_) | Expected::Nowhere(_) => continue,
        };
        loop {
            let Some(line) = lines.get(at) else {
                bail!("expected `{pattern}`, but the output has ended")
            };
            at += 1;
            let same = if literal {
                pattern == line.trim_end()
            } else {
                find(pattern, line, captures, true)?
            };
            if same {
                break;
            }
            if !may_skip {
                bail!("expected `{pattern}`, got `{line}`");
            }
        }
        may_skip = false;
    }
    match lines.get(at) {
        Some(line) if !may_skip => bail!("unexpected line `{line}`"),
        _ => Ok(()),
    }
}

/// Whether a line matches, as a whole or anywhere in it; keeps the named groups.
fn find(pattern: &str, line: &str, captures: &mut Captures, whole: bool) -> Result<bool> {
    let pattern = fill(pattern, &|name| {
        captures.get(name).map(|text| regex::escape(text))
    })?;
    let regex = Regex::new(&if whole {
        format!("^(?:{pattern})$")
    } else {
        pattern
    })?;
    let Some(found) = regex.captures(line.trim_end()) else {
        return Ok(false);
    };
    for name in regex.capture_names().flatten() {
        if let Some(text) = found.name(name) {
            captures.insert(name.to_string(), text.as_str().to_string());
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expected: &[Expected], output: &str) -> Result<(), String> {
        check(expected, output, &mut Captures::new()).map_err(|e| e.to_string())
    }

    fn line(text: &str) -> Expected {
        Expected::Line(text.into())
    }

    #[test]
    fn lines_are_taken_in_order_and_all() {
        assert_eq!(verdict(&[line("a"), line("b")], "a\nb\n"), Ok(()));
        assert!(
            verdict(&[line("a")], "a\nb\n")
                .unwrap_err()
                .contains("unexpected line `b`")
        );
        assert!(
            verdict(&[line("a"), line("b")], "a\n")
                .unwrap_err()
                .contains("ended")
        );
        assert!(verdict(&[line("b"), line("a")], "a\nb\n").is_err());
        assert!(verdict(&[], "a\n").is_err());
        assert_eq!(verdict(&[], ""), Ok(()));
    }

    #[test]
    fn any_skips_lines_but_no_expectation() {
        let expected = [Expected::Any, line("c"), Expected::Any];
        assert_eq!(verdict(&expected, "a\nb\nc\nd\n"), Ok(()));
        assert!(verdict(&expected, "a\nb\n").is_err());
        assert!(verdict(&[Expected::Any, line("c")], "c\nd\n").is_err());
    }

    #[test]
    fn a_pattern_matches_the_whole_line() {
        let expected = [Expected::Matches(r"id \d+".into())];
        assert_eq!(verdict(&expected, "id 12\n"), Ok(()));
        assert!(verdict(&expected, "id 12 x\n").is_err());
    }

    #[test]
    fn somewhere_and_nowhere() {
        assert_eq!(
            verdict(&[Expected::Somewhere("b+".into())], "a\nxbbx\n"),
            Ok(())
        );
        assert!(verdict(&[Expected::Somewhere("q".into())], "a\n").is_err());
        assert!(verdict(&[Expected::Nowhere("a".into())], "b\na\n").is_err());
        assert_eq!(
            verdict(
                &[Expected::Somewhere("z".into()), line("a"), line("z")],
                "a\nz\n"
            ),
            Ok(())
        );
    }

    #[test]
    fn captures_come_back() {
        let mut captures = Captures::new();
        check(
            &[Expected::Matches(r"free (?<free>\S+)".into())],
            "free a.b",
            &mut captures,
        )
        .unwrap();
        let again = [Expected::Matches("free ${free}".into())];
        check(&again, "free a.b", &mut captures).unwrap();
        assert!(check(&again, "free acb", &mut captures).is_err());
        assert!(
            verdict(&again, "free 1")
                .unwrap_err()
                .contains("captured as `free`")
        );
    }
}
