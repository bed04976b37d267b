//! The command line.

use crate::analyze;
use crate::check;
use crate::contracts;
use crate::disk;
use crate::image::Request;
use crate::inspect::View;
use crate::run;
use lexopt::{Arg, Parser, ValueExt as _};
use sing_compiler::{Cpu, MemoryMode, Options};
use std::ffi::OsString;
use std::path::PathBuf;

/// The output of `sing help`.
pub const HELP: &str = "\
sing: verify, compile and inspect the programs of a Singularity system, and their contracts

  sing verify FILE...
      Says of each module or image whether it may become a SIP, and if not, why and where.

  sing verify --limits
      Lists how large a program may be. The kernel applies the same limits.

  sing compile MODULE -o IMAGE [--memory guard|explicit] [--cpu baseline|v3|native] [--lines keep|none]
      Verifies a WebAssembly module and compiles it to an installed image (ELF).
      guard: memory accesses are bounded by guard pages; explicit: by tests. Where the module has debug
      information, the image keeps the lines of its text, which crash reports name.

  sing strip FILE -o OUT [--names]
      Takes the debug information out of a module, or the lines out of an image; --names: the names of functions, too.

  sing symbols IMAGE -o FILE
      Writes an ELF file with the image's code, functions and lines in the form that objdump, addr2line and gdb read.

  sing inspect FILE [--imports] [--contracts] [--manifest] [--functions] [--disassemble [FUNCTION]]
      Shows what a module or an image consists of; without a choice, its sizes. A module is compiled
      first (--memory, --cpu and --lines as above). Of a system image, it lists the programs and files.

  sing analyze MODULE [--json] [--functions] [--way IMPORT]
      Says what a program can do at most, by its code: what it can send, by which contract and to whom, which of the
      kernel's entries it reaches, and how deep its stack gets, or which calls make that unbounded. --functions: the sizes
      of its functions; --way: how calls lead to an import, such as debug_print. (--memory and --cpu as above.)

  sing run [--dir HOST[::GUEST]]... [--env NAME[=VALUE]]... [--no-cache] [-v] MODULE [ARGUMENT]...
      Runs an ordinary program, a module of WASI preview 1, in a system of its own: with the standard streams and the
      exit status of this command, and with these directories of the host, which it can change. Nothing else of the host
      can be reached. A program that traps ends with status 134. The compiled program is kept for the next run, unless
      --no-cache: in $SING_CACHE (off: nowhere), or singularity in the user's directory for caches. -v says what is done.

  sing image -o OUT --manifest SYSTEM.json... [--bin NAME=FILE]... [--file PATH=FILE]...
      Builds a system image, of one system manifest or of several that belong together. A program may be an image or a module, which is compiled on the way
      (--memory, --cpu and --lines as above). Refused where a program, an endpoint or a contract does not fit.

  sing fmt [--check] FILE.contract...
      Lays contracts out, with all their comments; - reads standard input. With --check it changes nothing and
      names the files that are not laid out.

  sing doc -o DIR [--system SYSTEM.json] FILE.contract... [PROGRAM | SYSTEM.img]...
      Writes web pages: messages, states and their diagram for each contract, and, from the programs (modules or
      images, also as --bin FILE) and systems given, who serves and who uses it.

  sing count [--each] FILE...
      Counts contracts, messages and states in texts, modules, images and system images.

  sing bind c -o DIR FILE.contract...
      Writes a C header for each contract of the texts and of what they import.

  sing check system SYSTEM.img
  sing check system --manifest SYSTEM.json... [--bin NAME=FILE]...
      Says what will start, in which order, and which programs can run, without running anything; or why the system
      cannot start as it says: parts that are missing, that wait for each other, or that are in each other's way.

  sing check contracts SYSTEM.img | FILE.system | FILE.contract [--any PROCESS]... [--closing] [--limit N] [--svg FILE]
  sing check contracts --manifest SYSTEM.json [--bin NAME=FILE]... (and the same choices)
      Looks for deadlocks, messages that nobody expects or receives, and states that nobody leaves, and shows a
      shortest run that leads to each. Looks at N situations at most. --any: the process may do whatever its
      contracts allow, as those without a behavior do; --closing: and close its channels at any time (both for images;
      a .system file says so itself). --svg: draws the first run.

  sing disk create FILE SIZE [--label NAME] [--force]
  sing disk ls FILE [PATH]; get FILE PATH TO; put FILE FROM PATH; rm FILE PATH; mkdir FILE PATH
  sing disk check FILE; df FILE
      Makes a disk image with a file system (SIZE such as 64M), and works with what is in it. TO may be - for standard
      output; PATH a directory to put the file in. check looks for contradictions; df shows how the space is used.

`sing --version` (-V) prints the version.

Exit status: 0 done, 1 refused or failed, 2 the command line was not understood, 3 a check had to stop early.";

/// A parsed command line.
pub enum Command {
    Help,
    Version,
    Verify {
        files: Vec<PathBuf>,
    },
    Limits,
    Compile {
        module: PathBuf,
        out: PathBuf,
        options: Options,
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
    },
    Analyze(analyze::Request),
    Image(Request),
    Contracts(contracts::Request),
    Check(check::Request),
    CheckSystem(check::Subject),
    Run(run::Request),
    Disk(disk::Request),
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
        "help" => Ok(Command::Help),
        "verify" => verify(&mut parser),
        "compile" => compile(&mut parser),
        "strip" => strip(&mut parser),
        "symbols" => symbols(&mut parser),
        "inspect" => inspect(&mut parser),
        "analyze" => analyze(&mut parser),
        "image" => image(&mut parser),
        "run" => run_program(&mut parser),
        name if contracts::COMMANDS.contains(&name) => contracts::parse(name, &mut parser)
            .map(|request| request.map_or(Command::Help, Command::Contracts)),
        "check" => check_one(&mut parser),
        "disk" => {
            disk::parse(&mut parser).map(|request| request.map_or(Command::Help, Command::Disk))
        }
        other => return Err(format!("there is no command {other:?}")),
    };
    parsed.map_err(|e| format!("{command}: {e}"))
}

type Parsed = std::result::Result<Command, lexopt::Error>;

fn verify(parser: &mut Parser) -> Parsed {
    let mut files = Vec::new();
    let mut limits = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => files.push(file.into()),
            Arg::Long("limits") => limits = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    if limits {
        return if files.is_empty() {
            Ok(Command::Limits)
        } else {
            Err("--limits takes no files".into())
        };
    }
    if files.is_empty() {
        return Err("name at least one file".into());
    }
    Ok(Command::Verify { files })
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
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    request.file = file.ok_or("name a module")?;
    Ok(Command::Analyze(request))
}

fn compile(parser: &mut Parser) -> Parsed {
    let mut file = None;
    let mut out = None;
    let mut options = Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("memory") => options.memory_mode = parser.value()?.parse_with(memory_mode)?,
            Arg::Long("cpu") => options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("lines") => options.lines = parser.value()?.parse_with(lines)?,
            other => return Err(other.unexpected()),
        }
    }
    let module = file.ok_or("name a module")?;
    let out = out.ok_or("say where to, with -o IMAGE")?;
    Ok(Command::Compile {
        module,
        out,
        options,
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
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
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
            other => return Err(other.unexpected()),
        }
    }
    let file = file.ok_or("name a module or an image")?;
    Ok(Command::Inspect {
        file,
        views,
        options,
    })
}

fn image(parser: &mut Parser) -> Parsed {
    let mut out = None;
    let mut manifests = Vec::new();
    let mut programs = Vec::new();
    let mut files = Vec::new();
    let mut options = Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('o') | Arg::Long("output") => out = Some(parser.value()?.into()),
            Arg::Long("manifest") => manifests.push(parser.value()?.into()),
            Arg::Long("bin") => programs.push(parser.value()?.parse_with(pair)?),
            Arg::Long("file") => files.push(parser.value()?.parse_with(pair)?),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("memory") => options.memory_mode = parser.value()?.parse_with(memory_mode)?,
            Arg::Long("cpu") => options.cpu = parser.value()?.parse_with(cpu)?,
            Arg::Long("lines") => options.lines = parser.value()?.parse_with(lines)?,
            other => return Err(other.unexpected()),
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
    }))
}

/// The options of `sing run` stand before the module; what follows it is the program's.
fn run_program(parser: &mut Parser) -> Parsed {
    let mut request = run::Request::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("dir") => request.add_directory(&parser.value()?.string()?)?,
            Arg::Long("env") => request.add_variable(&parser.value()?.string()?)?,
            Arg::Long("no-cache") => request.cache = run::Choice::Off,
            Arg::Short('v') | Arg::Long("verbose") => request.verbose = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Value(file) => {
                request.file = file.into();
                for argument in parser.raw_args()? {
                    request.arguments.push(argument.string()?);
                }
                return Ok(Command::Run(request));
            }
            other => return Err(other.unexpected()),
        }
    }
    Err("name a module".into())
}

fn check_one(parser: &mut Parser) -> Parsed {
    let of_system = match parser.next()? {
        Some(Arg::Value(what)) if what == "contracts" => false,
        Some(Arg::Value(what)) if what == "system" => true,
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
        Some(other) => return Err(other.unexpected()),
        None => return Err("say what to check: contracts or a system".into()),
    };
    let mut file = None;
    let mut manifests = Vec::new();
    let mut programs = Vec::new();
    let mut limit = sing_conformance::LIMIT;
    let mut assumptions = sing_conformance::Assumptions::default();
    let mut svg = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => set_once(&mut file, value)?,
            Arg::Long("manifest") => manifests.push(parser.value()?.into()),
            Arg::Long("bin") => programs.push(parser.value()?.parse_with(pair)?),
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
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
        return Ok(Command::CheckSystem(subject));
    }
    Ok(Command::Check(check::Request {
        subject,
        limit,
        assumptions,
        svg,
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
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Command> {
        parse(
            ["sing"]
                .into_iter()
                .chain(text.split_whitespace())
                .map(OsString::from),
        )
    }

    #[test]
    fn command_lines_are_understood() {
        assert!(matches!(line("help"), Ok(Command::Help)));
        assert!(matches!(line("compile --help"), Ok(Command::Help)));
        assert!(matches!(line("-V"), Ok(Command::Version)));
        assert!(matches!(line("--version"), Ok(Command::Version)));
        let Ok(Command::Compile { options, .. }) = line("compile a.wasm -o a --memory explicit")
        else {
            panic!("compile");
        };
        assert_eq!(options.memory_mode, MemoryMode::Explicit);
        let Ok(Command::Image(request)) = line("image -o o --manifest m --bin a=x --file p/q=y")
        else {
            panic!("image");
        };
        assert_eq!(request.programs, [("a".to_string(), PathBuf::from("x"))]);
        assert_eq!(request.files, [("p/q".to_string(), PathBuf::from("y"))]);
    }

    #[test]
    fn commands_about_contracts_are_understood() {
        use contracts::Request;
        for (text, fits) in [
            (
                "fmt --check -",
                |r: &Request| matches!(r, Request::Fmt { check: true, files } if files == &[PathBuf::from("-")]),
            ),
            ("count a --each", |r: &Request| {
                matches!(r, Request::Count { each: true, .. })
            }),
            (
                "bind c -o d a",
                |r: &Request| matches!(r, Request::Bind { files, .. } if files == &[PathBuf::from("a")]),
            ),
            (
                "doc a --system s -o d --bin b",
                |r: &Request| matches!(r, Request::Doc { files, system: Some(_), .. } if files.len() == 2),
            ),
        ] as [(&str, fn(&Request) -> bool); 4]
        {
            let Ok(Command::Contracts(request)) = line(text) else {
                panic!("{text}")
            };
            assert!(fits(&request), "{text}");
        }
        assert!(matches!(line("bind --help"), Ok(Command::Help)));
    }

    #[test]
    fn the_function_to_disassemble_follows_the_file() {
        for (text, wanted) in [
            ("inspect a --disassemble main", Some("main")),
            ("inspect a --disassemble=main", Some("main")),
            ("inspect --disassemble=main a", Some("main")),
            ("inspect --disassemble a", None),
            ("inspect a --disassemble --imports", None),
            ("inspect a --disassemble", None),
        ] {
            let Ok(Command::Inspect { file, views, .. }) = line(text) else {
                panic!("{text}")
            };
            assert_eq!(file, PathBuf::from("a"), "{text}");
            let View::Disassembly(function) = &views[0] else {
                panic!("{text}")
            };
            assert_eq!(function.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("", "say what to do"),
            ("frobnicate", "no command \"frobnicate\""),
            ("verify", "at least one file"),
            ("verify --limits a", "takes no files"),
            ("compile a", "-o IMAGE"),
            ("compile a b -o c", "\"b\""),
            ("compile a -o c --memory none", "guard and explicit"),
            ("image -o o", "--manifest FILE"),
            ("image -o o --manifest m --bin a", "NAME=FILE"),
            ("inspect a --frobnicate", "--frobnicate"),
            ("fmt", "fmt: name at least one file"),
            ("fmt a --each", "--each"),
            ("count --check a", "--check"),
            ("doc a", "-o DIR"),
            ("doc -o d", "at least one file"),
            ("bind", "for which language"),
            ("bind pascal -o d a", "there are no bindings for \"pascal\""),
            ("bind c a", "-o DIR"),
            ("check", "contracts"),
            ("check contracts", "--manifest FILE"),
            ("check contracts a --manifest b", "either a file"),
            ("check contracts a --limit 0", "positive number"),
            ("check system", "--manifest FILE"),
            ("check system a --limit 2", "--limit"),
        ] {
            let message = line(text).err().unwrap_or_default();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
