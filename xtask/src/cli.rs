//! The command line.

use crate::disk::Disk;
use crate::display::Display;
use crate::host_dir::HostDirectory;
use crate::image::MemoryMode;
use crate::machine::Machine;
use crate::network::Network;
use crate::serial_line::SerialLine;
use crate::web::Web;
use crate::{bench, doc, fresh, fuzz, iso, programs, run, soak, test, wasi, wasi_testsuite, wast};
use anyhow::{Context, Result, bail};
use lexopt::ValueExt;
use lexopt::prelude::*;
use sing_files::near::did_you_mean;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The output of `--help`.
pub const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [-c COMMANDS | --script FILE] [--machine hosted|pc|microvm|q35|pc-i440fx] [--memory guard|explicit] [--kvm]
      [--disk FILE[,ro][,nvme] ... | --fresh] [--dir HOST::PATH[,rw] ...]
      [--bin NAME=FILE ...]
      [--net LOCAL,REMOTE | --net user[,HOST:PORT] | --net host[,RANGE] | --net none ...] [--serial FILE|unix:PATH] [--display [unix:PATH]]
      [--web [PORT|none]] [--tls] [-- ARGS]
      builds and starts the system: a shell on this terminal, or the commands given and the status of the last; its
      disk is disk.img in the project's folder, which is made and kept, and cleared by --fresh, or the files given;
      --bin adds a program as a command, a module or an image; a program of WASI is joined with its adapter;
      --dir serves the directory HOST at the system's path PATH, to read, or with ,rw to change, too; --net gives it a network card,
      whose frames are datagrams between two addresses (127.0.0.1:5001,127.0.0.1:5002), or QEMU's own network, by which
      connections to the port HOST of this machine's loopback lead to the system's PORT; with ,e1000 behind it a card of that kind (q35, hosted);
      the hosted system's programs listen at this machine's loopback; --net host lets them connect to all that you reach,
      or to ranges of addresses alone (host,10.0.0.0/8), and --net none gives them no sockets of this machine at all;
      --serial joins the line /dev/serial1 to a file, or to a Unix socket at which another program listens;
      --display opens the screen of q35 or pc-i440fx with its keyboard, beside this terminal; the hosted machine joins
      both to a Unix socket at which another program listens;
      --web starts the web server at this port of the machine's loopback, or a free one, and shows the address at which a browser
      shows the system; so does `run` alone at a terminal, unless told --web none;
      --tls adds the service that ends TLS before the web server, which takes a minute to build
  image [--iso [FILE] | --container FOLDER] [-o FILE] [--memory guard|explicit]
      makes a system image, or a CD or USB image that a PC starts from, with BIOS or UEFI; or a folder that container
      images are made of (deploy)
  wasi
      builds what `target/release/sing run PROGRAM.wasm` and `sing serve` need, which run ordinary programs
  programs [--dir DIR] [--machine hosted|microvm|q35]...
      makes ordinary programs in Rust, Go and C (tests/programs) and runs them by `sing run`, and on machines as commands
      of the shell; --dir has the programs of another directory, too, and its `check` judge them
  test [--quick] [--all] [--list] [PART | TEST | PART/TEST]
      runs the whole test suite, or the parts or tests whose name contains the word given; --quick leaves out the
      emulated machines and the WebAssembly suite, --all takes the whole boot matrix (part boot);
      --list shows the parts, or the tests with the word in the name, and runs none
  test fresh-machine [--only WORD] [--tests FILTER | --run-only] [--rustup] [--keep]
      runs `cargo xtask run` and `cargo xtask test` in bare roots of Debian or Ubuntu (as root; takes hours)
  wasi-testsuite DIR...
      runs the test programs of the WASI subgroup that are built below these folders by `sing run`
  wast PATH...
      runs .wast files (or folders of them) through verifier, compiler and hosted kernel, in both memory modes
  fuzz abi [--seed N] [--time SECONDS | --rounds N] [--machine hosted|pc|microvm|q35] [--memory guard|explicit]
           [--stress] [--log]
      lets herds of SIPs loose on the kernel that call every entry with all that is wrong, and looks whom they harm;
      --stress has another thread run wherever one could, --log prints each call before it is made
  fuzz code [--seed N] [--time SECONDS] [--modules N]
      compares what random modules do here with what other engines say, and breaks modules and images for the verifier;
      --modules compares so many, or as many as it can in the time
  fuzz http [--seed N] [--time SECONDS | --rounds N] [--memory guard|explicit]
      asks the hosted web server what is right and what is broken, in random pieces, and looks at every answer
  fuzz packets [--seed N] [--time SECONDS] [--memory guard|explicit]
      sends random and changed frames to the network of a hosted system, and looks whether it goes on
  fuzz embed [--seed N] [--time SECONDS | --rounds N]
      has the threads of a host program do whatever they like with systems inside it, and looks what is left behind
  fuzz wasi [--seed N] [--time SECONDS | --rounds N] [--alone]
      has an ordinary program call the functions of WASI preview 1 with whatever it likes, and compares what it gets with what
      wasmtime gives, which takes minutes to build; --alone looks only whether it stays in its directory
  soak [--time SECONDS] [--seed N] [--json FILE] [--memory guard|explicit]
      keeps a hosted system under load, an hour if nothing else is said: requests of the web, commands, and in the first half
      of the time services that are killed; says whether memory, handles, channels and the file system are flat
  doc
      documents the system's contracts under target/doc-contracts, with who serves and who uses them
  bench basic|channels|disk|files|net|registers|web [--json FILE] [--machine hosted|pc|microvm|q35|pc-i440fx]
      [--memory guard|explicit] [--rounds N]
      measures the basic operations, what channels do beside many idle ones, disks, a file, network cards, accesses to
      registers, or the web server, with Linux's beside them (hosted), or counts their instructions (pc)
  bench programs|compile [--program 'MODULE ARGUMENT...']... [--json FILE] [--rounds N]
      measures the start of ordinary programs, or their compilation, with wasmtime's beside them
  bench embed|hello [--json FILE] [--rounds N]
      measures calls into a system inside a program, beside wasmtime; or hello in C, Rust and Go, on disk and in memory
  bench compute|safety [--json FILE] [--rounds N]
      measures work of well-known crates as programs of the system, as native code and under wasmtime; or what its
      safety costs: guard pages and explicit tests beside code without checks, each with quanta and without
  bench treeshake [--program MODULE]... [--json FILE]
      counts the code of the system's programs, and of these, with all functions and without those that nothing calls

Ctrl-A X leaves QEMU; `shutdown` leaves the system anywhere.";

/// Their names, as the usage has them.
fn names() -> impl Iterator<Item = &'static str> {
    let lines = USAGE.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = lines.filter(|line| !line.starts_with([' ', '[']));
    commands
        .filter_map(|line| line.split_whitespace().next())
        .chain(["help"])
}

/// The commands.
#[derive(Debug)]
pub enum Command {
    /// Print the usage.
    Help,
    /// Run the system.
    Run(run::Request),
    /// Make an image.
    Image(iso::Request),
    /// Run the tests.
    Test(test::Request),
    /// Test the commands on fresh machines.
    Fresh(fresh::Request),
    /// Document the contracts.
    Doc,
    /// Build what `sing run` needs.
    Wasi,
    /// Run ordinary programs of several languages.
    Programs(programs::Request),
    /// Measure.
    Bench(bench::Request),
    /// Run the test programs of WASI.
    WasiTestsuite(Vec<String>),
    /// Run the WebAssembly test suite.
    Wast(Vec<String>),
    /// Fuzz.
    Fuzz(fuzz::Request),
    /// Keep a system under load.
    Soak(soak::Request),
}

/// Reads the command line.
pub fn parse(mut parser: lexopt::Parser) -> Result<Command> {
    match parser.next()? {
        None | Some(Short('h') | Long("help")) => Ok(Command::Help),
        Some(Value(name)) => match name.string()?.as_str() {
            "help" => Ok(Command::Help),
            "run" => parse_run(parser),
            "image" => parse_image(parser),
            "test" => parse_test(parser),
            "doc" => alone(&mut parser, Command::Doc),
            "wasi" => alone(&mut parser, Command::Wasi),
            "programs" => parse_programs(parser),
            "bench" => parse_bench(parser),
            "fuzz" => parse_fuzz(parser),
            "soak" => parse_soak(parser),
            "wasi-testsuite" => Ok(Command::WasiTestsuite(rest(&mut parser)?)),
            "wast" => {
                let paths: Vec<String> = rest(&mut parser)?;
                if paths.is_empty() {
                    bail!("wast: which files or folders?");
                }
                Ok(Command::Wast(paths))
            }
            other => bail!(
                "unknown command `{other}`{}",
                did_you_mean(other, names()).trim_end_matches('?')
            ),
        },
        Some(other) => Err(other.unexpected().into()),
    }
}

/// A command without arguments.
fn alone(parser: &mut lexopt::Parser, command: Command) -> Result<Command> {
    match parser.next()? {
        None => Ok(command),
        Some(Short('h') | Long("help")) => Ok(Command::Help),
        Some(other) => Err(other.unexpected().into()),
    }
}

/// An error with its causes, without those that it names itself.
pub fn reason(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// The remaining arguments, as text.
fn rest(parser: &mut lexopt::Parser) -> Result<Vec<String>> {
    parser.raw_args()?.map(|a| Ok(a.string()?)).collect()
}

fn parse_run(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = run::Request::default();
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
            Long("disk") => request.disks.push(Disk::named(parser.value()?)),
            Long("dir") => HostDirectory::add(&mut request.directories, &parser.value()?)?,
            Long("net") => {
                let network = Network::named(&parser.value()?.string()?)?;
                request.networks.push(network);
            }
            Long("web") => request.web = web(&mut parser)?,
            Long("tls") => request.tls = true,
            Long("display") if request.display.is_some() => {
                bail!("run: --display: a machine has one screen; give it once")
            }
            Long("display") => {
                request.display = Some(display(&mut parser)?);
            }
            Long("serial") if request.serial.is_some() => {
                bail!(
                    "run: --serial: a machine has one serial port beside its console; give it once"
                )
            }
            Long("serial") => request.serial = Some(SerialLine::named(parser.value()?)),
            Long("fresh") => request.fresh = true,
            Long("bin") => {
                let text = parser.value()?.string()?;
                match text.split_once('=') {
                    Some((name, file)) if !name.is_empty() && !name.contains('/') => {
                        request.programs.push((name.into(), file.into()));
                    }
                    _ => bail!("--bin {text}: write NAME=FILE, a command's name and its module"),
                }
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if request.fresh && !request.disks.is_empty() {
        bail!("run: --fresh clears the project's own disk; with --disk it has none");
    }
    Ok(Command::Run(request))
}

/// Reads what follows `--web`: a port, `none`, or nothing.
fn web(parser: &mut lexopt::Parser) -> Result<Web> {
    // Nothing else stands there: words for the system come behind `--`.
    let is_own = |a: &OsStr| !a.as_encoded_bytes().starts_with(b"-");
    let value = match parser.optional_value() {
        Some(value) => value,
        None if parser.raw_args()?.peek().is_some_and(is_own) => parser.value()?,
        None => return Ok(Web::Free),
    };
    Web::named(&value.to_string_lossy())
}

/// Reads what follows `--display`: `unix:PATH`, or nothing.
fn display(parser: &mut lexopt::Parser) -> Result<Display> {
    let value = match parser.optional_value() {
        Some(value) => value,
        None if parser.raw_args()?.peek().is_some_and(Display::is_socket) => parser.value()?,
        None => return Ok(Display::Window),
    };
    if !Display::is_socket(&value) {
        bail!(
            "run: --display={}: not a socket; write --display unix:PATH, or --display alone for a \
             window",
            value.display()
        );
    }
    Ok(Display::Socket(value))
}

fn parse_image(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = iso::Request {
        disc: false,
        container: None,
        out: None,
        memory: MemoryMode::Guard,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("iso") => {
                request.disc = true;
                // `--iso FILE`, or `--iso` alone.
                let file = parser
                    .raw_args()?
                    .peek()
                    .filter(|a| !a.to_string_lossy().starts_with('-'))
                    .map(PathBuf::from);
                if file.is_some() {
                    request.out = file;
                    parser.value()?;
                }
            }
            Long("container") => request.container = Some(PathBuf::from(parser.value()?)),
            Short('o') => request.out = Some(PathBuf::from(parser.value()?)),
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    if request.container.is_some() && (request.disc || request.out.is_some()) {
        bail!("image: --container makes a folder; -o and --iso are for files, without it");
    }
    Ok(Command::Image(request))
}

fn parse_test(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = test::Request::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("quick") => request.quick = true,
            Long("all") => request.all = true,
            Long("list") => request.list = true,
            Value(word)
                if request.filter.is_none() && !request.quick && word == "fresh-machine" =>
            {
                return parse_fresh(parser);
            }
            Value(word) if request.filter.is_none() => request.filter = Some(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Test(request))
}

fn parse_fresh(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = fresh::Request::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("keep") => request.keep = true,
            Long("rustup") => request.rustup = true,
            Long("run-only") => request.run_only = true,
            Long("only") => request.only = Some(parser.value()?.string()?),
            Long("tests") => request.tests = Some(parser.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Fresh(request))
}

fn parse_programs(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = programs::Request::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("dir") => request.given = Some(PathBuf::from(parser.value()?)),
            Long("machine") => {
                let machine = Machine::named(&parser.value()?.string()?)?;
                request.machines.push(machine);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Programs(request))
}

fn parse_bench(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = bench::Request {
        name: String::new(),
        json: None,
        machine: Machine::Hosted,
        memory: MemoryMode::Guard,
        rounds: 5,
        programs: Vec::new(),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("program") => request.programs.push(parser.value()?.string()?),
            Long("json") => request.json = Some(PathBuf::from(parser.value()?)),
            Long("machine") => request.machine = Machine::named(&parser.value()?.string()?)?,
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            Long("rounds") => request.rounds = parser.value()?.parse_with(positive)?,
            Value(name) if request.name.is_empty() => request.name = name.string()?,
            other => return Err(other.unexpected().into()),
        }
    }
    if request.name.is_empty() {
        bail!(
            "bench: which one? There are basic, channels, disk, files, net, registers, web, programs, \
             compile, embed, hello, compute, safety and treeshake"
        );
    }
    Ok(Command::Bench(request))
}

fn parse_fuzz(mut parser: lexopt::Parser) -> Result<Command> {
    let Some(Value(what)) = parser.next()? else {
        bail!("fuzz: what? There are abi, code, http, packets, embed and wasi");
    };
    let what = match what.string()?.as_str() {
        "abi" => fuzz::What::Abi,
        "code" => fuzz::What::Code,
        "http" => fuzz::What::Http,
        "packets" => fuzz::What::Packets,
        "embed" => fuzz::What::Embed,
        "wasi" => fuzz::What::Wasi,
        other => {
            bail!("fuzz: there is no `{other}`; there are abi, code, http, packets, embed and wasi")
        }
    };
    let mut request = fuzz::Request::new(what);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("seed") => request.seed = Some(parser.value()?.parse()?),
            Long("time") => request.time = Some(parser.value()?.parse_with(positive)?.into()),
            Long("rounds") => request.rounds = Some(parser.value()?.parse_with(positive)?.into()),
            Long("modules") => request.modules = Some(parser.value()?.parse_with(positive)?.into()),
            Long("machine") => request.machine = Machine::named(&parser.value()?.string()?)?,
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            Long("stress") => request.stress = true,
            Long("log") => request.log = true,
            Long("alone") => request.alone = true,
            other => return Err(other.unexpected().into()),
        }
    }
    request.check()?;
    Ok(Command::Fuzz(request))
}

fn parse_soak(mut parser: lexopt::Parser) -> Result<Command> {
    let mut request = soak::Request::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("seed") => request.seed = parser.value()?.parse()?,
            Long("time") => request.time = parser.value()?.parse_with(positive)?,
            Long("json") => request.json = Some(PathBuf::from(parser.value()?)),
            Long("memory") => request.memory = memory_mode(&parser.value()?.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Soak(request))
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

/// Runs the command; returns the exit status.
pub fn execute(command: Command) -> Result<u8> {
    match command {
        Command::Help => {
            say!("{USAGE}");
            Ok(0)
        }
        Command::Run(request) => run::run(&request),
        Command::Image(request) => iso::run(&request),
        Command::Test(request) => test::run(&request),
        Command::Fresh(request) => fresh::run(&request),
        Command::Doc => doc::run(),
        Command::Wasi => wasi::run(),
        Command::Programs(request) => programs::run(&request),
        Command::Bench(request) => bench::run(&request),
        Command::WasiTestsuite(folders) => wasi_testsuite::run(&folders),
        Command::Wast(paths) => wast::run(&paths),
        Command::Fuzz(request) => fuzz::run(&request),
        Command::Soak(request) => soak::run(&request),
    }
}

#[cfg(test)]
mod tests;
