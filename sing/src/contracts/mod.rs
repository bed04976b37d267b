//! The commands for contracts: format, count, compare, document, and bind to C.

mod bind;
mod count;
mod diff;
mod doc;
mod fmt;
mod sources;

use lexopt::{Arg, Parser, ValueExt as _};
use std::path::PathBuf;

pub use bind::run as bind;

/// The command with its options.
pub enum Request {
    Fmt {
        files: Vec<PathBuf>,
        check: bool,
    },
    Count {
        files: Vec<PathBuf>,
        each: bool,
    },
    Diff {
        old: PathBuf,
        new: PathBuf,
        json: bool,
    },
    Bind {
        files: Vec<PathBuf>,
        out: PathBuf,
    },
    Doc {
        files: Vec<PathBuf>,
        system: Option<PathBuf>,
        out: PathBuf,
    },
}

impl Request {
    /// Whether it compares two versions.
    pub fn is_diff(&self) -> bool {
        matches!(self, Request::Diff { .. })
    }
}

/// Names of the commands.
pub const COMMANDS: [&str; 5] = ["fmt", "doc", "count", "diff", "bind"];

/// Parses the rest of a command line; `None` on a request for help.
pub fn parse(command: &str, parser: &mut Parser) -> Result<Option<Request>, lexopt::Error> {
    let mut files: Vec<PathBuf> = Vec::new();
    let (mut check, mut each, mut json) = (false, false, false);
    let (mut language, mut out, mut system) = (None, None, None);
    while let Some(arg) = parser.next()? {
        match (command, arg) {
            (_, Arg::Short('h') | Arg::Long("help")) => return Ok(None),
            ("bind", Arg::Value(name)) if language.is_none() => language = Some(name.string()?),
            ("doc", Arg::Long("bin")) => files.push(parser.value()?.into()),
            ("doc", Arg::Long("system")) => system = Some(parser.value()?.into()),
            ("bind" | "doc", Arg::Short('o') | Arg::Long("output")) => {
                out = Some(parser.value()?.into())
            }
            (_, Arg::Value(file)) => files.push(file.into()),
            ("fmt", Arg::Long("check")) => check = true,
            ("count", Arg::Long("each")) => each = true,
            ("diff", Arg::Long("json")) => json = true,
            (_, other) => return Err(other.unexpected()),
        }
    }
    if command == "bind" && language.as_deref() != Some("c") {
        return Err(match language {
            Some(other) => format!("there are no bindings for {other:?}; there are for: c").into(),
            None => "say for which language: sing bind c -o DIR FILE.contract...".into(),
        });
    }
    if command == "diff" {
        let [old, new] = <[PathBuf; 2]>::try_from(files)
            .map_err(|_| "name two files, of the old version and of the new one")?;
        return Ok(Some(Request::Diff { old, new, json }));
    }
    if files.is_empty() {
        return Err("name at least one file".into());
    }
    Ok(Some(match command {
        "doc" => Request::Doc {
            files,
            system,
            out: out.ok_or("say where to, with -o DIR")?,
        },
        "fmt" => Request::Fmt { files, check },
        "bind" => Request::Bind {
            files,
            out: out.ok_or("say where to, with -o DIR")?,
        },
        _ => Request::Count { files, each },
    }))
}

/// Runs the command; returns whether all is well.
pub fn run(request: Request) -> Result<bool, String> {
    match request {
        Request::Fmt { files, check } => fmt::run(&files, check),
        Request::Doc { files, system, out } => doc::run(&files, system.as_ref(), &out),
        Request::Diff { old, new, json } => diff::run(&old, &new, json),
        Request::Bind { files, out } => bind::run(&files, &out),
        Request::Count { files, each } => count::run(&files, each),
    }
}
