//! A child's reports to its parent, a line each on standard output. Other lines, which a kernel may
//! print there, are ignored.

use std::fmt;

/// The result of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gave the expected result.
    Passed,
    /// It needs this proposal.
    Skipped(String),
    /// Its kind, the expected result, and the actual one.
    Failed(String),
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The directive at this line of the script begins.
    Begin(usize),
    /// Its result.
    End(Outcome),
    /// All is done.
    Finished,
}

const MARK: &str = "@wast ";

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)?;
        // A message is one line, whatever it quotes.
        let one = |text: &str| text.replace(['\n', '\r'], " ");
        match self {
            Event::Begin(line) => write!(f, "begin {line}"),
            Event::End(Outcome::Passed) => f.write_str("passed"),
            Event::End(Outcome::Skipped(proposal)) => write!(f, "skipped {}", one(proposal)),
            Event::End(Outcome::Failed(message)) => write!(f, "failed {}", one(message)),
            Event::Finished => f.write_str("finished"),
        }
    }
}

impl Event {
    /// Reads a line; `None` if it is none of these.
    pub fn parse(line: &str) -> Option<Event> {
        let rest = line.strip_prefix(MARK)?;
        let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(match word {
            "begin" => Event::Begin(text.parse().ok()?),
            "passed" => Event::End(Outcome::Passed),
            "skipped" => Event::End(Outcome::Skipped(text.into())),
            "failed" => Event::End(Outcome::Failed(text.into())),
            "finished" => Event::Finished,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let failed = |m: &str| Event::End(Outcome::Failed(m.into()));
        for e in [
            Event::Begin(12),
            Event::End(Outcome::Passed),
            Event::End(Outcome::Skipped("gc+simd".into())),
            failed("invoke f, expected 1, got 2"),
            Event::Finished,
        ] {
            assert_eq!(Event::parse(&e.to_string()), Some(e));
        }
        assert_eq!(
            Event::parse(&failed("a\nb").to_string()),
            Some(failed("a b"))
        );
        assert_eq!(Event::parse("passed"), None);
    }
}
