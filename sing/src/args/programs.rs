//! The command lines of `sing run` and `sing serve`, which take ordinary programs.

use super::{Command, Parsed, set_once};
use crate::{kept, project, run};
use lexopt::{Arg, Parser, ValueExt as _};

/// The options of `sing run` stand before the module; what follows it is the program's. Without a
/// module, the project is run.
pub(super) fn run_program(parser: &mut Parser) -> Parsed {
    let mut request = run::Request::default();
    loop {
        if let Some(rest) = parser.try_raw_args()
            && rest.peek().is_none_or(|first| first == "--")
        {
            for argument in rest.skip(1) {
                request.arguments.push(argument.string()?);
            }
            return Ok(Command::Project(project::Request::Run(request)));
        }
        match parser.next()? {
            Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
            Some(Arg::Long(name)) if OF_PROGRAMS.contains(&name) => {
                let name = name.to_owned();
                of_program(&name, parser, &mut request)?;
            }
            Some(Arg::Short('v')) => request.verbose = true,
            Some(Arg::Long("perf-map")) => request.perf_map = true,
            Some(Arg::Long("tcplisten")) => {
                let text = parser.value()?.string()?;
                let added = request.add_listener(&text);
                added.map_err(|why| format!("--tcplisten {text}: {why}"))?;
            }
            Some(Arg::Value(file)) => {
                request.file = file.into();
                for argument in parser.raw_args()? {
                    request.arguments.push(argument.string()?);
                }
                return Ok(Command::Run(request));
            }
            Some(other) => return Err(other.unexpected()),
            None => return Err("name a module".into()),
        }
    }
}

/// The options of an ordinary program, however it is used.
const OF_PROGRAMS: [&str; 5] = ["dir", "env", "net", "no-cache", "verbose"];

/// Takes one of them.
fn of_program(
    name: &str,
    parser: &mut Parser,
    request: &mut run::Request,
) -> std::result::Result<(), lexopt::Error> {
    match name {
        "dir" => {
            let text = parser.value()?.string()?;
            let added = request.add_directory(&text);
            added.map_err(|why| format!("--dir {text}: {why}"))?;
        }
        "env" => {
            let text = parser.value()?.string()?;
            let added = request.add_variable(&text);
            added.map_err(|why| format!("--env {text}: {why}"))?;
        }
        "net" => {
            let ranges = parser.optional_value().map(|v| v.string()).transpose()?;
            request.set_network(ranges.as_deref())?;
        }
        "no-cache" => request.cache = kept::Choice::Off,
        _ => request.verbose = true,
    }
    Ok(())
}

pub(super) fn serve(parser: &mut Parser) -> Parsed {
    const OWN: [&str; 5] = ["port", "memory", "deadline", "at-once", "body"];
    let mut file = None;
    let mut request = run::serve::Serve::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Short('v') => request.program.verbose = true,
            Arg::Long(name) if OWN.contains(&name) => {
                let name = name.to_owned();
                request.set(&name, &parser.value()?.string()?)?;
            }
            Arg::Long(name) if OF_PROGRAMS.contains(&name) => {
                let name = name.to_owned();
                of_program(&name, parser, &mut request.program)?;
            }
            other => return Err(other.unexpected()),
        }
    }
    request.program.file = file.ok_or("name a module")?;
    Ok(Command::Serve(request))
}
