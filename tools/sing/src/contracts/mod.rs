//! The commands about contracts: their text laid out, counted, documented, and bound to C.

mod count;
mod fmt;
mod sources;

use lexopt::{Arg, Parser};
use std::path::PathBuf;

/// What is asked for.
pub enum Request {
    Fmt { files: Vec<PathBuf>, check: bool },
    Count { files: Vec<PathBuf>, each: bool },
}

/// Names of the commands.
pub const COMMANDS: [&str; 2] = ["fmt", "count"];

/// Understands the rest of a command line; `None` where help is asked for.
pub fn parse(command: &str, parser: &mut Parser) -> Result<Option<Request>, lexopt::Error> {
    let mut files: Vec<PathBuf> = Vec::new();
    let (mut check, mut each) = (false, false);
    while let Some(arg) = parser.next()? {
        match (command, arg) {
            (_, Arg::Short('h') | Arg::Long("help")) => return Ok(None),
            (_, Arg::Value(file)) => files.push(file.into()),
            ("fmt", Arg::Long("check")) => check = true,
            ("count", Arg::Long("each")) => each = true,
            (_, other) => return Err(other.unexpected()),
        }
    }
    if files.is_empty() {
        return Err("name at least one file".into());
    }
    Ok(Some(match command {
        "fmt" => Request::Fmt { files, check },
        _ => Request::Count { files, each },
    }))
}

/// Does it. Whether all is well.
pub fn run(request: Request) -> Result<bool, String> {
    match request {
        Request::Fmt { files, check } => fmt::run(&files, check),
        Request::Count { files, each } => count::run(&files, each),
    }
}
