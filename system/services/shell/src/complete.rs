//! Tab: what may come behind the typed text, by the manifests of programs, the name space and the
//! processes.
//!
//! Names are looked for by `ls`, and processes by `ps`, each in a process of its own: if a service does
//! not answer, that process is stopped after a while. The shell itself asks the name server for the channel
//! that `ls` gets, and waits for nothing else. What they find is bounded in number and bytes.

use crate::builtins;
use crate::console::{Asked, Read};
use crate::pipeline;
use crate::session::{RETRY, Session};
use crate::words;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use shell::paths;
use shell::typed::{self, Typed, common, typed};
use sing_sdk::io::Reader;
use sing_sdk::pattern;
use sing_sdk::process::{self, stop};
use sing_sdk::rt::Waitable;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{self, Timeout};
use sing_sdk::usage::parameters::{self, Declaration, Kind, Words};
use sing_sdk::{Error, thread};

/// Where the programs of the system image are.
const PROGRAMS: &str = "/boot/bin/";
/// Where the service manager shows services.
const SERVICES: &str = "/services/";
/// How long names are looked for.
const LONGEST: Duration = Duration::from_secs(1);
/// The most names that are looked at, and the most bytes in them.
const NAMES: usize = 1000;
const BYTES: usize = 64 << 10;

/// Reads a line; completes words meanwhile.
pub fn read_line(session: &mut Session, prompt: &str) -> Result<Read, Error> {
    let mut asked = session.console.read_line(prompt)?;
    loop {
        asked = match asked {
            Asked::Read(read) => return Ok(read),
            Asked::Complete(before) => {
                let Completed { insert, shown } = complete(session, &before);
                session
                    .console
                    .complete(&insert, &shown, || thread::sleep(RETRY))?
            }
        }
    }
}

/// What Tab does.
#[derive(Default)]
struct Completed {
    /// Inserted at the cursor.
    insert: String,
    /// Shown below the line.
    shown: String,
}

/// What a word may become.
#[derive(Default)]
struct Candidates {
    /// Whole words, in order.
    all: Vec<String>,
    /// There are more.
    more: bool,
}

impl Candidates {
    /// Those of these that begin with a text.
    fn of(words: impl Iterator<Item = String>, beginning: &str) -> Candidates {
        let mut all: Vec<String> = words.filter(|w| w.starts_with(beginning)).collect();
        all.sort();
        all.dedup();
        Candidates { all, more: false }
    }
}

fn complete(session: &mut Session, before: &str) -> Completed {
    let typed = typed(before);
    if typed.lost {
        return Completed::default();
    }
    let found = candidates(session, &typed);
    let insert = match &found.all[..] {
        // What all have in common is unknown.
        _ if found.more => String::new(),
        [] => String::new(),
        [only] => {
            let rest = typed.quoted(&only[typed.word.len()..]);
            // Behind a directory, the path goes on.
            let end = if only.ends_with('/') {
                "".into()
            } else {
                typed.end()
            };
            rest + &end
        }
        all => typed.quoted(&common(all)[typed.word.len()..]),
    };
    let shown = match found.all.len() {
        2.. if insert.is_empty() => {
            // Of paths, the last parts.
            let skip = typed.word.rfind('/').map_or(0, |at| at + 1);
            let names: Vec<String> = found.all.iter().map(|w| w[skip..].into()).collect();
            typed::columns(&names, session.console.columns(), found.more)
        }
        _ => String::new(),
    };
    Completed { insert, shown }
}

fn candidates(session: &mut Session, typed: &Typed) -> Candidates {
    let word = typed.word.as_str();
    if typed.file {
        return paths(session, word);
    }
    // `time` and `trace` stand before commands.
    let mut words = &typed.words[..];
    while let [first, rest @ ..] = words
        && matches!(first.as_str(), "time" | "trace")
        && !(rest.is_empty() && word.starts_with('-'))
    {
        words = rest;
    }
    let Some((name, given)) = words.split_first() else {
        return commands(session, word);
    };
    if let Some(builtin) = builtins::find(name) {
        return by(session, builtin.usage.arguments, given, word);
    }
    let manifest = process::manifest(name).ok();
    match manifest.as_ref().and_then(words::parameters) {
        Some(Ok(all)) => by(session, all, given, word),
        // It does not say.
        None if word.starts_with('/') => paths(session, word),
        _ => Candidates::default(),
    }
}

/// Candidates for an argument, by declarations.
fn by<D: Declaration>(
    session: &mut Session,
    all: &[D],
    given: &[String],
    word: &str,
) -> Candidates {
    let next = parameters::next(all, given);
    if next.option && word.starts_with('-') {
        let options = all.iter().filter_map(Declaration::option).map(String::from);
        return Candidates::of(options.chain(["--help".into()]), word);
    }
    match next.value.map(|place| all[place].kind()) {
        Some(Kind::Path | Kind::Pattern) => paths(session, word),
        Some(Kind::Program) => commands(session, word),
        Some(Kind::Service) => within(session, SERVICES, word),
        Some(Kind::Process) => processes(session, word),
        Some(Kind::Choice(words)) => {
            let mut all = Vec::new();
            words.any(|choice| {
                all.push(String::from(choice));
                false
            });
            Candidates::of(all.into_iter(), word)
        }
        _ => Candidates::default(),
    }
}

/// Programs and built-in commands.
fn commands(session: &mut Session, word: &str) -> Candidates {
    let found = within(session, PROGRAMS, word);
    let names = builtins::names().map(ToString::to_string);
    Candidates {
        more: found.more,
        ..Candidates::of(found.all.into_iter().chain(names), word)
    }
}

/// Names in a directory of the name space; none for a word that is a path.
fn within(session: &mut Session, directory: &str, word: &str) -> Candidates {
    if word.contains('/') {
        return Candidates::default();
    }
    let mut found = listed(session, &format!("{directory}{word}"));
    for path in &mut found.all {
        *path = path.strip_prefix(directory).unwrap_or_default().into();
    }
    found
}

/// Paths of the name space, from its root or from the session's directory.
fn paths(session: &mut Session, word: &str) -> Candidates {
    if word.starts_with('/') {
        return listed(session, word);
    }
    let (above, last) = word.rsplit_once('/').unwrap_or(("", word));
    let above = match paths::directory(&session.directory, above) {
        root if root == paths::ROOT => root,
        other => other + "/",
    };
    let mut found = listed(session, &(above.clone() + last));
    for path in &mut found.all {
        let name = path.strip_prefix(&above).unwrap_or_default();
        *path = word[..word.len() - last.len()].to_string() + name;
    }
    found
}

/// Processes by their names, and by number where the word is the beginning of one, as `ps` shows them.
fn processes(session: &mut Session, word: &str) -> Candidates {
    // The kernel knows them: it needs no service.
    let (lines, more) = lines(session, "ps", &[], false);
    let numbers = word.starts_with(|c: char| c.is_ascii_digit());
    // The table's head has no number, and `ps` itself is gone when somebody reads this.
    let rows = lines.iter().filter_map(|line| {
        let mut columns = line.split_whitespace();
        let (number, name) = (columns.next()?, columns.next()?);
        let is_row = number.parse::<u32>().is_ok() && name != "ps";
        is_row.then_some(if numbers { number } else { name })
    });
    Candidates {
        more,
        ..Candidates::of(rows.map(String::from), word)
    }
}

/// The names that begin so, as `ls` lists them: one a line, directories with a `/` behind them.
fn listed(session: &mut Session, beginning: &str) -> Candidates {
    let spec = format!("{}*", pattern::literal(beginning));
    let (lines, more) = lines(session, "ls", &["--", &spec], true);
    Candidates {
        more,
        ..Candidates::of(lines.into_iter(), beginning)
    }
}

/// What a program prints, in lines, and whether there is more.
fn lines(
    session: &mut Session,
    program: &str,
    arguments: &[&str],
    names: bool,
) -> (Vec<String>, bool) {
    let until = time::uptime() + LONGEST;
    let Ok((child, output)) = pipeline::listing(session, program, arguments, names) else {
        return (Vec::new(), false);
    };
    let mut output = Reader::new(output);
    let (mut text, mut more) = (Vec::new(), false);
    loop {
        let left = until.saturating_sub(time::uptime());
        let waited = wait_any(&[output.handle()], Timeout::from(left));
        let block = match waited {
            Ok(_) => output.receive(),
            Err(_) => {
                more = true;
                break;
            }
        };
        let Some(block) = block else { break };
        text.extend_from_slice(&block.to_vec());
        let lines = text.iter().filter(|&&byte| byte == b'\n').count();
        if text.len() > BYTES || lines > NAMES {
            more = true;
            break;
        }
    }
    // If it has ended by itself, there is nothing to stop.
    let _ = child.stop(stop::INTERRUPTED);
    // The last line may be cut off.
    let end = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&text[..end]);
    // Services choose names: those that are no text for a terminal are not offered.
    let shown = |line: &&str| {
        !line
            .chars()
            .any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER)
    };
    let lines = text.lines().filter(shown).map(String::from);
    (lines.collect(), more)
}
