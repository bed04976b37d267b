//! The system test list: files `tests/system/NAME.test`, one list for every machine.
//!
//! ```text
//! # What the test shows.
//! timeout 20                 seconds a step may take (hosted; emulated machines get a multiple), 10 where not said
//! machine hosted             only there
//! calm                       not where a switch is forced at every place: what it shows is a matter of time
//! boot alone                 the steps are one script in a boot of their own, whose exit status is what counts
//! boot terminal              a conversation at a terminal (hosted): send and wait instead of steps
//!
//! $ hello                    a step: a line for the shell,
//! Hello, world.              what it prints, line by line,
//! [0]                        and its exit status: 0 where not said, [*] for any but 0
//! ```
//!
//! Lines of expected output: `...` matches any number of lines; `~ REGEX` a line as a whole (a
//! named group keeps its match, and `${name}` refers to it later); `& REGEX` must match somewhere
//! in the step's output, in any order, `! REGEX` nowhere. Any other line must equal the output's
//! line; a leading `\` is removed. A step with only `&` and `!` lines may print anything besides.
//!
//! A conversation has `send KEYS` (with `\r`, `\e`, `\xNN`), `size COLUMNS ROWS` (of the terminal, from
//! then on), `wait REGEX` (in the output since the
//! last wait), `pause MILLISECONDS`, `reads BYTES` (a second, from then on; 0 for no limit) and at
//! its end the status.

use anyhow::{Context, Result, bail};
use regex::Regex;
use std::path::Path;
use std::time::Duration;

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The file's name without its ending.
    pub name: String,
    /// How long a step may take when hosted.
    pub timeout: Duration,
    /// The machine that it is for, or `None` for all.
    pub machine: Option<String>,
    /// Whether it holds with a switch forced at every place.
    pub stress: bool,
    /// The kind of test, with its steps.
    pub body: Body,
}

impl Test {
    /// The lines for the shell in its steps.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let steps = match &self.body {
            Body::Shared(steps) => steps.as_slice(),
            Body::Alone(step) => std::slice::from_ref(step),
            Body::Terminal(..) => &[],
        };
        steps.iter().map(|step| step.command.as_str())
    }
}

/// The kinds of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Steps in a boot that many tests share.
    Shared(Vec<Step>),
    /// A script in a boot of its own.
    Alone(Step),
    /// A conversation at a terminal, and the exit status.
    Terminal(Vec<Talk>, Status),
}

/// A line for the shell and its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line for the shell.
    pub command: String,
    /// The expected lines, in order.
    pub output: Vec<Expected>,
    /// The expected status.
    pub status: Status,
}

/// An expected line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any number of lines.
    Any,
    /// This line.
    Line(String),
    /// A line that matches.
    Matches(String),
    /// Somewhere in the step's output.
    Somewhere(String),
    /// Nowhere in the step's output.
    Nowhere(String),
}

/// An expected status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// This one.
    Is(i32),
    /// Any but 0.
    Failure,
    /// Any.
    Any,
}

impl Status {
    /// Whether this status is as expected.
    pub fn accepts(self, status: i32) -> bool {
        match self {
            Status::Is(wanted) => wanted == status,
            Status::Failure => status != 0,
            Status::Any => true,
        }
    }
}

/// A part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Keys to press.
    Send(Vec<u8>),
    /// What must appear.
    Wait(String),
    /// Time in which nothing is typed.
    Pause(Duration),
    /// Bytes a second that the terminal shows from now on.
    Reads(usize),
    /// Gives the terminal this many columns and rows.
    Size(u16, u16),
}

/// Reads all tests of a folder, in order of their names; a file that cannot be read has the reason
/// in place of the test.
pub fn read_folder(folder: &Path) -> Result<Vec<(String, Result<Test>)>> {
    let mut tests = Vec::new();
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the test list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "test") {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let test = parse(&name, &text);
            tests.push((name, test));
        }
    }
    tests.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tests)
}

/// Reads one test.
pub fn parse(name: &str, text: &str) -> Result<Test> {
    let mut timeout = Duration::from_secs(10);
    let mut machine = None;
    let mut stress = true;
    let mut boot = "shared";
    let mut steps: Vec<Step> = Vec::new();
    let mut talks = Vec::new();
    let mut talk_status = Status::Is(0);
    for (index, line) in text.lines().enumerate() {
        let place = || format!("line {}: `{line}`", index + 1);
        let in_steps = !steps.is_empty();
        if let Some(command) = line.strip_prefix("$ ") {
            match steps.last_mut() {
                Some(step) if boot == "alone" => {
                    step.command.push('\n');
                    step.command.push_str(command);
                }
                _ => {
                    let status = Status::Is(0);
                    steps.push(Step {
                        command: command.into(),
                        output: Vec::new(),
                        status,
                    });
                }
            }
        } else if let (Some(step), "shared" | "alone") = (steps.last_mut(), boot) {
            if let Some(status) = parse_status(line) {
                step.status = status;
            } else {
                step.output.push(parse_expected(line).with_context(place)?);
            }
        } else if line.starts_with('#') || line.trim().is_empty() {
            // A comment, or an empty line before the first step.
        } else if let Some(seconds) = line.strip_prefix("timeout ") {
            timeout = Duration::from_secs(seconds.trim().parse().with_context(place)?);
        } else if let Some(name) = line.strip_prefix("machine ") {
            machine = Some(name.trim().to_string());
        } else if line.trim() == "calm" {
            stress = false;
        } else if let Some(kind) = line.strip_prefix("boot ") {
            boot = match kind.trim() {
                "alone" => "alone",
                "terminal" => "terminal",
                _ => bail!("{}: there are `boot alone` and `boot terminal`", place()),
            };
        } else if let ("terminal", Some(keys)) = (boot, line.strip_prefix("send ")) {
            talks.push(Talk::Send(parse_keys(keys).with_context(place)?));
        } else if let ("terminal", Some(pattern)) = (boot, line.strip_prefix("wait ")) {
            check(pattern).with_context(place)?;
            talks.push(Talk::Wait(pattern.to_string()));
        } else if let ("terminal", Some(time)) = (boot, line.strip_prefix("pause ")) {
            let milliseconds = time.trim().parse().with_context(place)?;
            talks.push(Talk::Pause(Duration::from_millis(milliseconds)));
        } else if let ("terminal", Some(size)) = (boot, line.strip_prefix("size ")) {
            let (columns, rows) = size.trim().split_once(' ').with_context(place)?;
            let number = |text: &str| text.trim().parse().with_context(place);
            talks.push(Talk::Size(number(columns)?, number(rows)?));
        } else if let ("terminal", Some(rate)) = (boot, line.strip_prefix("reads ")) {
            talks.push(Talk::Reads(rate.trim().parse().with_context(place)?));
        } else if let ("terminal", Some(status)) = (boot, parse_status(line)) {
            talk_status = status;
        } else {
            bail!(
                "{}: not understood{}",
                place(),
                if in_steps {
                    ""
                } else {
                    " before the first step"
                }
            );
        }
    }
    for step in &mut steps {
        // The empty lines that separate steps.
        while step.output.last() == Some(&Expected::Line(String::new())) {
            step.output.pop();
        }
    }
    let body = match boot {
        "terminal" if talks.is_empty() || !steps.is_empty() => {
            bail!("a conversation has send and wait, no steps")
        }
        "terminal" => Body::Terminal(talks, talk_status),
        _ if steps.is_empty() => bail!("no steps: nothing would be tested"),
        "alone" => Body::Alone(steps.remove(0)),
        _ => Body::Shared(steps),
    };
    Ok(Test {
        name: name.into(),
        timeout,
        machine,
        stress,
        body,
    })
}

fn parse_status(line: &str) -> Option<Status> {
    match line.strip_prefix('[')?.strip_suffix(']')? {
        "*" => Some(Status::Failure),
        number => number.parse().ok().map(Status::Is),
    }
}

fn parse_expected(line: &str) -> Result<Expected> {
    let pattern = |text: &str| check(text).map(|()| text.to_string());
    Ok(match line.split_once(' ') {
        Some(("~", text)) => Expected::Matches(pattern(text)?),
        Some(("&", text)) => Expected::Somewhere(pattern(text)?),
        Some(("!", text)) => Expected::Nowhere(pattern(text)?),
        _ if line == "..." => Expected::Any,
        _ => Expected::Line(line.strip_prefix('\\').unwrap_or(line).to_string()),
    })
}

/// Whether a pattern, without its `${name}` parts, is a regular expression.
fn check(pattern: &str) -> Result<()> {
    Regex::new(&super::expect::fill(pattern, &|_| Some("x".into()))?)?;
    Ok(())
}

fn parse_keys(text: &str) -> Result<Vec<u8>> {
    let mut keys = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            keys.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next() {
            Some('r') => keys.push(b'\r'),
            Some('n') => keys.push(b'\n'),
            Some('t') => keys.push(b'\t'),
            Some('e') => keys.push(0x1b),
            Some('\\') => keys.push(b'\\'),
            Some('x') => {
                let digits: String = chars.by_ref().take(2).collect();
                keys.push(u8::from_str_radix(&digits, 16).context("\\x takes two hex digits")?);
            }
            other => bail!("unknown escape `\\{}`", other.unwrap_or(' ')),
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_with_patterns_and_statuses() {
        let text = "# Shows that.\ntimeout 3\nmachine hosted\ncalm\n\n$ ps\n~ (?<id>\\d+) shell\n...\n\n$ kill 99\n\
                    & no such\n! trap\n\\$ not a step\n[1]\n\n$ x\n[*]\n";
        let test = parse("t", text).unwrap();
        assert_eq!(test.timeout, Duration::from_secs(3));
        assert_eq!(test.machine.as_deref(), Some("hosted"));
        assert!(!test.stress && parse("a", "$ b\n").unwrap().stress);
        let Body::Shared(steps) = test.body else {
            panic!("not shared")
        };
        assert_eq!(steps.len(), 3);
        assert_eq!(
            steps[0].output,
            [Expected::Matches("(?<id>\\d+) shell".into()), Expected::Any]
        );
        assert_eq!(steps[1].output[2], Expected::Line("$ not a step".into()));
        assert_eq!(steps[1].status, Status::Is(1));
        assert!(steps[2].status.accepts(127) && !steps[2].status.accepts(0));
    }

    #[test]
    fn a_boot_alone_joins_its_lines() {
        let test = parse("t", "boot alone\n$ echo a\n$ shutdown 7\na\n[7]\n").unwrap();
        let Body::Alone(step) = test.body else {
            panic!("not alone")
        };
        assert_eq!(step.command, "echo a\nshutdown 7");
        assert_eq!(step.status, Status::Is(7));
    }

    #[test]
    fn a_conversation_sends_keys() {
        let test = parse("t", "boot terminal\nwait > $\nsend a\\e[A\\x03\\r\n[2]\n").unwrap();
        let Body::Terminal(talks, status) = test.body else {
            panic!("not a terminal")
        };
        assert_eq!(talks[1], Talk::Send(b"a\x1b[A\x03\r".to_vec()));
        assert_eq!(status, Status::Is(2));
    }

    #[test]
    fn mistakes_are_found() {
        for text in [
            "",
            "# only words\n",
            "hello\n",
            "$ a\n~ (\n",
            "timeout soon\n$ a\n",
            "boot twice\n$ a\n",
        ] {
            assert!(parse("t", text).is_err(), "{text:?}");
        }
    }
}
