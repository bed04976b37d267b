//! The command line.

pub mod help;
mod programs;

use crate::analyze;
use crate::cc;
use crate::check;
use crate::completions::Shell;
use crate::contracts;
use crate::disk;
use crate::gdb;
use crate::image::Request;
use crate::inspect::View;
use crate::kept::{Choice, Wanted};
use crate::project;
use crate::run;
use crate::system::Versions;
use help::About;
use lexopt::{Arg, Parser, ValueExt as _};
use sing_compiler::{Checks, Cpu, MemoryMode, Options, Unreached};
use std::ffi::OsString;
use std::path::PathBuf;

/// A parsed command line.
pub enum Command {
    Help,
    HelpOf(&'static About),
    Completions(Shell),
    Project(project::Request),
    Boot(Vec<OsString>),
    Cc(cc::Request),
    Version,
    Verify {
        files: Vec<PathBuf>,
        json: bool,
    },
    Limits,
    Compile {
        module: PathBuf,
        out: PathBuf,
        options: Options,
        kept: Wanted,
    },
    Strip {
        file: PathBuf,
        out: PathBuf,
        names: bool,
    },
    Symbols {
        image: PathBuf,
        out: PathBuf,
    },
    Inspect {
        file: PathBuf,
        views: Vec<View>,
        options: Options,
        json: bool,
    },
    Analyze(analyze::Request),
    Image(Request),
    Contracts(contracts::Request),
    Check(check::Request),
    CheckSystem {
        subject: check::Subject,
        json: bool,
    },
    Run(run::Request),
    Serve(run::serve::Serve),
    Disk(disk::Request),
    Gdb(gdb::Request),
}

type Result<T> = std::result::Result<T, String>;

/// Parses a command line.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let mut parser = Parser::from_iter(args);
    let command = match parser.next().map_err(|e| e.to_string())? {
        None => return Err("say what to do; `sing help` lists the commands".into()),
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
        Some(Arg::Short('V') | Arg::Long("version")) => return Ok(Command::Version),
        Some(Arg::Value(command)) => command.string().map_err(|e| e.to_string())?,
        Some(other) => return Err(other.unexpected().to_string()),
    };
    let parsed = match command.as_str() {
        "help" => help_of(&mut parser),
        "completions" => completions(&mut parser),
        "new" => new(&mut parser),
        "build" => build(&mut parser),
        "test" => test(&mut parser),
        "boot" => boot(&mut parser),
        "gdb" => gdb(&mut parser),
        "cc" => cc(&mut parser),
        "verify" => verify(&mut parser),
        "compile" => compile(&mut parser),
        "strip" => strip(&mut parser),
        "symbols" => symbols(&mut parser),
        "inspect" => inspect(&mut parser),
        "analyze" => analyze(&mut parser),
        "image" => image(&mut parser),
        "run" => programs::run_program(&mut parser),
        "serve" => programs::serve(&mut parser),
        name if contracts::COMMANDS.contains(&name) => contracts::parse(name, &mut parser)
            .map(|request| request.map_or(Command::Help, Command::Contracts)),
        "check" => check_one(&mut parser),
        "disk" => {
            disk::parse(&mut parser).map(|request| request.map_or(Command::Help, Command::Disk))
        }
        other => return Err(help::no_command(other)),
    };
    match parsed {
        Ok(Command::Help) if command != "help" => {
            Ok(help::find(&command).map_or(Command::Help, Command::HelpOf))
        }
        parsed => parsed.map_err(|e| format!("{command}: {e}")),
    }
}

type Parsed = std::result::Result<Command, lexopt::Error>;

fn help_of(parser: &mut Parser) -> Parsed {
    match parser.next()? {
        Some(Arg::Value(name)) => {
            let name = name.string()?;
            let about = help::find(&name).ok_or_else(|| help::no_command(&name));
            Ok(Command::HelpOf(about?))
        }
        Some(Arg::Short('h') | Arg::Long("help")) | None => Ok(Command::Help),
        Some(other) => Err(other.unexpected()),
    }
}

fn completions(parser: &mut Parser) -> Parsed {
    let shell = match parser.next()? {
        Some(Arg::Value(name)) => name.parse_with(Shell::of)?,
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
        Some(other) => return Err(other.unexpected()),
        None => return Err("for which shell: bash, zsh or fish?".into()),
    };
    match parser.next()? {
        None => Ok(Command::Completions(shell)),
        Some(other) => Err(other.unexpected()),
    }
}

fn new(parser: &mut Parser) -> Parsed {
    let (mut folder, mut kind) = (None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut folder, value)?,
            Arg::Long(word) if let Some(named) = project::Kind::of(word) => {
                if let Some(other) = kind.replace(named) {
                    return Err(format!("a project is of one kind: {other} or {named}").into());
                }
            }
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    let folder = folder.ok_or("name a folder, which is made")?;
    let kind = kind.unwrap_or(project::Kind::Program);
    Ok(Command::Project(project::Request::New { folder, kind }))
}

fn build(parser: &mut Parser) -> Parsed {
    let mut json = false;
    let mut kept = Wanted::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("json") => json = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => of_cache(other, &mut kept)?,
        }
    }
    Ok(Command::Project(project::Request::Build { json, kept }))
}

/// All that follows is cargo's, but for a question that is ours.
fn test(parser: &mut Parser) -> Parsed {
    let arguments: Vec<OsString> = parser.raw_args()?.collect();
    match arguments.first() {
        Some(first) if first == "--help" || first == "-h" => Ok(Command::Help),
        _ => Ok(Command::Project(project::Request::Test { arguments })),
    }
}

/// What follows `--` is the compiler's.
fn cc(parser: &mut Parser) -> Parsed {
    let mut out = None;
    let mut request = cc::Request::default();
    loop {
        if let Some(mut rest) = parser.try_raw_args()
            && rest.next_if(|word| word == "--").is_some()
        {
            request.flags = rest.collect();
            break;
        }
        match parser.next()? {
            Some(Arg::Value(file)) => request.files.push(file.into()),
            Some(Arg::Short('o') | Arg::Long("output")) => set_once(&mut out, parser.value()?)?,
            Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
            Some(other) => return Err(other.unexpected()),
            None => break,
        }
    }
    request.out = out.ok_or("say where to, with -o OUT")?;
    Ok(Command::Cc(request))
}

/// All that follows is the kernel's.
fn boot(parser: &mut Parser) -> Parsed {
    Ok(Command::Boot(parser.raw_args()?.collect()))
}

/// All words are gdb's, but for a first one that this command knows.
fn gdb(parser: &mut Parser) -> Parsed {
    let words: Vec<OsString> = parser.raw_args()?.collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("-h" | "--help") => Ok(Command::Help),
        Some("--script") if words.len() == 1 => Ok(Command::Gdb(gdb::Request::Script)),
        Some("--script") => Err("--script stands alone".into()),
        _ => Ok(Command::Gdb(gdb::Request::Run(words))),
    }
}

fn verify(parser: &mut Parser) -> Parsed {
    let mut files = Vec::new();
    let (mut limits, mut json) = (false, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => files.push(file.into()),
            Arg::Long("limits") => limits = true,
            Arg::Long("json") => json = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    if limits {
        return match files.is_empty() && !json {
            true => Ok(Command::Limits),
            false => Err("--limits takes no files, and no other choice".into()),
        };
    }
    if files.is_empty() {
        return Err("name at least one file".into());
    }
    Ok(Command::Verify { files, json })
}

fn analyze(parser: &mut Parser) -> Parsed {
    let mut file = None;
    let mut request = analyze::Request::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Long("json") => request.json = true,
            Arg::Long("functions") => request.functions = true,
            Arg::Long("way") => request.way = Some(parser.value()?.string()?),
            Arg::Long("memory") => {
                request.options.memory_mode = parser.value()?.parse_with(memory_mode)?;
            }
            Arg::Long("cpu") => request.options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("unreached") => {
                request.options.unreached = parser.value()?.parse_with(unreached)?;
            }
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    request.file = file.ok_or("name a module")?;
    Ok(Command::Analyze(request))
}

/// Takes an option about what is kept of compilations.
fn of_cache(arg: Arg<'_>, kept: &mut Wanted) -> std::result::Result<(), lexopt::Error> {
    match arg {
        Arg::Long("no-cache") => kept.cache = Choice::Off,
        Arg::Short('v') | Arg::Long("verbose") => kept.verbose = true,
        other => return Err(other.unexpected()),
    }
    Ok(())
}

fn compile(parser: &mut Parser) -> Parsed {
    let mut file = None;
    let mut out = None;
    let mut options = Options::default();
    let mut kept = Wanted::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("memory") => options.memory_mode = parser.value()?.parse_with(memory_mode)?,
            Arg::Long("cpu") => options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("lines") => options.lines = parser.value()?.parse_with(lines)?,
            Arg::Long("checks") => options.checks = parser.value()?.parse_with(checks)?,
            Arg::Long("unreached") => options.unreached = parser.value()?.parse_with(unreached)?,
            other => of_cache(other, &mut kept)?,
        }
    }
    let module = file.ok_or("name a module")?;
    let out = out.ok_or("say where to, with -o IMAGE")?;
    Ok(Command::Compile {
        module,
        out,
        options,
        kept,
    })
}

fn strip(parser: &mut Parser) -> Parsed {
    let (mut file, mut out) = (None, None);
    let mut names = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("names") => names = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Strip {
        file: file.ok_or("name a module or an image")?,
        out: out.ok_or("say where to, with -o OUT")?,
        names,
    })
}

fn symbols(parser: &mut Parser) -> Parsed {
    let (mut file, mut out) = (None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Symbols {
        image: file.ok_or("name an image")?,
        out: out.ok_or("say where to, with -o FILE")?,
    })
}

fn inspect(parser: &mut Parser) -> Parsed {
    let mut file = None;
    let mut views = Vec::new();
    let mut options = Options::default();
    let mut json = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Long("json") => json = true,
            Arg::Long("imports") => views.push(View::Imports),
            Arg::Long("contracts") => views.push(View::Contracts),
            Arg::Long("manifest") => views.push(View::Manifest),
            Arg::Long("functions") => views.push(View::Functions),
            Arg::Long("disassemble") => {
                let attached = parser.optional_value();
                // The arguments after the file name are functions.
                let function = attached.or_else(|| {
                    let mut rest = parser.try_raw_args().filter(|_| file.is_some())?;
                    rest.next_if(|value| !value.to_string_lossy().starts_with('-'))
                });
                let function = function.map(|f| f.to_string_lossy().into_owned());
                views.push(View::Disassembly(function));
            }
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("memory") => options.memory_mode = parser.value()?.parse_with(memory_mode)?,
            Arg::Long("cpu") => options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("lines") => options.lines = parser.value()?.parse_with(lines)?,
            Arg::Long("checks") => options.checks = parser.value()?.parse_with(checks)?,
            Arg::Long("unreached") => options.unreached = parser.value()?.parse_with(unreached)?,
            other => return Err(other.unexpected()),
        }
    }
    let file = file.ok_or("name a module or an image")?;
    Ok(Command::Inspect {
        file,
        views,
        options,
        json,
    })
}

fn image(parser: &mut Parser) -> Parsed {
    let mut out = None;
    let mut manifests = Vec::new();
    let mut programs = Vec::new();
    let mut files = Vec::new();
    let mut options = Options::default();
    let mut kept = Wanted::default();
    let mut versions = Versions::One;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Long("manifest") => manifests.push(parser.value()?.into()),
            Arg::Long("bin") => programs.push(parser.value()?.parse_with(pair)?),
            Arg::Long("versions") => versions = Versions::Any,
            Arg::Long("file") => files.push(parser.value()?.parse_with(pair)?),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("memory") => options.memory_mode = parser.value()?.parse_with(memory_mode)?,
            Arg::Long("cpu") => options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("lines") => options.lines = parser.value()?.parse_with(lines)?,
            Arg::Long("checks") => options.checks = parser.value()?.parse_with(checks)?,
            other => of_cache(other, &mut kept)?,
        }
    }
    let out = out.ok_or("say where to, with -o OUT")?;
    if manifests.is_empty() {
        return Err("name the system manifest, with --manifest FILE".into());
    }
    Ok(Command::Image(Request {
        out,
        manifests,
        programs,
        files,
        options,
        kept,
        versions,
    }))
}

fn check_one(parser: &mut Parser) -> Parsed {
    let of_system = match parser.next()? {
        Some(Arg::Value(what)) if what == "contracts" => false,
        Some(Arg::Value(what)) if what == "system" => true,
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
        Some(Arg::Long("json")) => {
            return match parser.next()? {
                None => Ok(Command::Project(project::Request::Check { json: true })),
                Some(other) => Err(other.unexpected()),
            };
        }
        Some(other) => return Err(other.unexpected()),
        None => return Ok(Command::Project(project::Request::Check { json: false })),
    };
    let mut file = None;
    let mut manifests = Vec::new();
    let mut programs = Vec::new();
    let mut limit = sing_conformance::LIMIT;
    let mut assumptions = sing_conformance::Assumptions::default();
    let (mut svg, mut json) = (None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Long("manifest") => manifests.push(parser.value()?.into()),
            Arg::Long("bin") => programs.push(parser.value()?.parse_with(pair)?),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("json") => json = true,
            other if of_system => return Err(other.unexpected()),
            Arg::Long("limit") => limit = parser.value()?.parse_with(situations)?,
            Arg::Long("any") => assumptions.any.push(parser.value()?.string()?),
            Arg::Long("closing") => assumptions.closing = true,
            Arg::Long("svg") => svg = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    let subject = match file {
        Some(file) if programs.is_empty() && manifests.is_empty() => check::Subject::File(file),
        None if !manifests.is_empty() => check::Subject::Parts {
            manifests,
            programs,
        },
        None => {
            return Err(
                "name a system image, a .system or .contract file, or --manifest FILE".into(),
            );
        }
        _ => return Err("name either a file, or --manifest and --bin".into()),
    };
    if of_system {
        return Ok(Command::CheckSystem { subject, json });
    }
    Ok(Command::Check(check::Request {
        subject,
        limit,
        assumptions,
        svg,
        json,
    }))
}

fn situations(text: &str) -> Result<usize> {
    let number: Option<usize> = text.parse().ok();
    number
        .filter(|n| *n > 0)
        .ok_or_else(|| "it must be a positive number".into())
}

fn set_once(file: &mut Option<PathBuf>, value: OsString) -> std::result::Result<(), lexopt::Error> {
    if file.is_some() {
        return Err(Arg::Value(value).unexpected());
    }
    *file = Some(value.into());
    Ok(())
}

fn memory_mode(name: &str) -> Result<MemoryMode> {
    match name {
        "guard" => Ok(MemoryMode::Guard),
        "explicit" => Ok(MemoryMode::Explicit),
        _ => Err("there are guard and explicit".into()),
    }
}

fn lines(name: &str) -> Result<bool> {
    match name {
        "keep" => Ok(true),
        "none" => Ok(false),
        _ => Err("there are keep and none".into()),
    }
}

fn checks(name: &str) -> Result<Checks> {
    match name {
        "all" => Ok(Checks::All),
        "none" => Ok(Checks::None),
        _ => Err("there are all, and none for measuring what they cost".into()),
    }
}

fn unreached(name: &str) -> Result<Unreached> {
    match name {
        "keep" => Ok(Unreached::Kept),
        "leave" => Ok(Unreached::LeftOut),
        _ => Err("there are leave and keep".into()),
    }
}

fn cpu(name: &str) -> Result<Cpu> {
    match name {
        "baseline" => Ok(Cpu::Baseline),
        "v3" => Ok(Cpu::V3),
        "native" => Cpu::native().ok_or_else(|| {
            "this machine's processor lacks a part of the baseline (x86-64-v2 with BMI1, BMI2 and \
             LZCNT); images for others are made with `--cpu baseline`"
                .into()
        }),
        _ => Err("there are baseline, v3, and native for what this machine has".into()),
    }
}

/// `NAME=FILE`.
fn pair(text: &str) -> Result<(String, PathBuf)> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.into(), file.into()))
        }
        _ => Err("it must have the form NAME=FILE".into()),
    }
}

#[cfg(test)]
mod tests;
