//! The command line.

use crate::image::MemoryMode;
use crate::machine::Machine;
use crate::{bench, doc, run, test, wast};
use anyhow::{Context, Result, bail};
use lexopt::ValueExt;
use lexopt::prelude::*;
use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [-c COMMANDS | --script FILE] [--machine hosted|pc|microvm|q35] [--memory guard|explicit] [--kvm] [-- ARGS]
      builds and starts the system: a shell on this terminal, or the commands given and the status of the last
  test [--quick] [PART | TEST | PART/TEST]
      runs the whole test suite, or the parts or tests whose name contains the word given; --quick leaves out the
      emulated machines and the WebAssembly suite
  wast PATH...
      runs .wast files (or folders of them) through verifier, compiler and hosted kernel, in both memory modes
  doc
      documents the system's contracts under target/doc-contracts, with who serves and who uses them
  bench basic|channels [--json FILE] [--machine hosted|pc|microvm|q35] [--memory guard|explicit] [--rounds N]
      measures the basic operations, or what channels do beside many idle ones, with Linux's beside them (hosted), or
      counts their instructions (pc)

Ctrl-A X leaves QEMU; `shutdown` leaves the system anywhere.";

/// What was asked for.
#[derive(Debug)]
pub enum Command {
    /// Print the usage.
    Help,
    /// Run the system.
    Run(run::Request),
    /// Run the tests.
    Test(test::Request),
    /// Document the contracts.
    Doc,
    /// Measure.
    Bench(bench::Request),
    /// Run the WebAssembly test suite.
    Wast(Vec<String>),
}

/// Reads the command line.
pub fn parse(mut parser: lexopt::Parser) -> Result<Command> {
    match parser.next()? {
        None | Some(Short('h') | Long("help")) => Ok(Command::Help),
        Some(Value(name)) => match name.string()?.as_str() {
            "help" => Ok(Command::Help),
            "run" => parse_run(parser),
            "test" => parse_test(parser),
            "doc" => match parser.next()? {
                None => Ok(Command::Doc),
                Some(Short('h') | Long("help")) => Ok(Command::Help),
                Some(other) => Err(other.unexpected().into()),
            },
            "bench" => parse_bench(parser),
            "wast" => {
                let paths: Vec<String> = rest(&mut parser)?;
                if paths.is_empty() {
                    bail!("wast: which files or folders?");
                }
                Ok(Command::Wast(paths))
            }
            other => bail!("unknown command `{other}`"),
        },
        Some(other) => Err(other.unexpected().into()),
    }
}

/// Everything that is left, as text.
fn rest(parser: &mut lexopt::Parser) -> Result<Vec<String>> {
    parser.raw_args()?.map(|a| Ok(a.string()?)).collect()
}

fn parse_run(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = run::Request {
        machine: Machine::Hosted,
        memory: MemoryMode::Guard,
        script: None,
        kvm: false,
        arguments: Vec::new(),
    };
    loop {
        if let Some(mut raw) = parser.try_raw_args()
            && raw.peek().is_some_and(|a| a == "--")
        {
            raw.next();
            request.arguments = raw.map(|a| Ok(a.string()?)).collect::<Result<_>>()?;
            break;
        }
        let Some(argument) = parser.next()? else {
            break;
        };
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Short('c') => set_script(&mut request, parser.value()?.string()?)?,
            Long("script") => {
                let file = PathBuf::from(parser.value()?);
                let text = std::fs::read_to_string(&file)
                    .with_context(|| format!("cannot read the script {}", file.display()))?;
                set_script(&mut request, text)?;
            }
            Long("machine") => request.machine = Machine::named(&parser.value()?.string()?)?,
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            Long("kvm") => request.kvm = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Run(request))
}

fn parse_test(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = test::Request::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("quick") => request.quick = true,
            Value(word) if request.filter.is_none() => request.filter = Some(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Test(request))
}

fn parse_bench(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = bench::Request {
        name: String::new(),
        json: None,
        machine: Machine::Hosted,
        memory: MemoryMode::Guard,
        rounds: 5,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("json") => request.json = Some(PathBuf::from(parser.value()?)),
            Long("machine") => request.machine = Machine::named(&parser.value()?.string()?)?,
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            Long("rounds") => request.rounds = parser.value()?.parse_with(positive)?,
            Value(name) if request.name.is_empty() => request.name = name.string()?,
            other => return Err(other.unexpected().into()),
        }
    }
    if request.name.is_empty() {
        bail!("bench: which one? There are basic and channels");
    }
    Ok(Command::Bench(request))
}

fn positive(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "not a positive number".into())
}

fn set_script(request: &mut run::Request, text: String) -> Result<()> {
    if request.script.replace(text).is_some() {
        bail!("run: one of -c and --script, once");
    }
    Ok(())
}

fn memory_mode(name: &str) -> Result<MemoryMode> {
    match name {
        "guard" => Ok(MemoryMode::Guard),
        "explicit" => Ok(MemoryMode::Explicit),
        _ => bail!("unknown memory mode `{name}`: there are guard and explicit"),
    }
}

/// Does it; answers the exit status.
pub fn execute(command: Command) -> Result<u8> {
    match command {
        Command::Help => {
            println!("{USAGE}");
            Ok(0)
        }
        Command::Run(request) => run::run(&request),
        Command::Test(request) => test::run(&request),
        Command::Doc => doc::run(),
        Command::Bench(request) => bench::run(&request),
        Command::Wast(paths) => wast::run(&paths),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &[&str]) -> Result<Command> {
        parse(lexopt::Parser::from_args(line))
    }

    #[test]
    fn run_takes_commands_machine_and_arguments() {
        let line = ["run", "--machine", "pc", "-c", "ps; hello", "--", "-v", "x"];
        let Command::Run(request) = parse_line(&line).unwrap() else {
            panic!("not run")
        };
        assert_eq!(request.machine, Machine::Microvm);
        assert_eq!(request.script.as_deref(), Some("ps; hello"));
        assert_eq!(request.arguments, ["-v", "x"]);
        assert_eq!(request.memory, MemoryMode::Guard);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            (&["walk"][..], "walk"),
            (&["run", "--machine", "vax"], "vax"),
            (&["run", "--memory", "none"], "none"),
            (&["run", "-c", "a", "-c", "b"], "once"),
            (&["run", "--script", "no/such/file"], "no/such/file"),
            (&["run", "extra"], "extra"),
            (&["wast"], "which files"),
            (&["bench"], "which one"),
            (&["bench", "basic", "--rounds", "0"], "positive"),
            (&["test", "a", "b"], "b"),
        ] {
            let error = format!("{:#}", parse_line(line).unwrap_err());
            assert!(error.contains(part), "{line:?}: {error}");
        }
    }
}
