//! `sing-bench-programs`: compiles and runs ordinary programs as `wasmtime compile` and
//! `wasmtime run --allow-precompiled` do, with the defaults of wasmtime, as far as they matter to a
//! program that runs once. It parses less of a command line than wasmtime, and so starts no later.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use wasmtime::error::Context as _;
use wasmtime::{Config, Engine, Linker, Module, OptLevel, Result, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtxBuilder};

/// The output of `--help`.
const HELP: &str = "\
Usage: sing-bench-programs compile [--threads 1] MODULE COMPILED
       sing-bench-programs run [--dir HOST::GUEST]... COMPILED [ARGUMENT]...

Compiles a module of WASI preview 1, and prints the seconds that this takes; or runs one that was compiled.

Options:
      --threads N    compile on one thread (1) or on all (the default)
      --dir H::G     a directory of the host, and the program's name for it
  -h, --help         print this";

/// What to do.
enum Request {
    Compile {
        module: PathBuf,
        to: PathBuf,
        parallel: bool,
    },
    Run {
        directories: Vec<(String, String)>,
        compiled: PathBuf,
        arguments: Vec<String>,
    },
}

fn engine(parallel: bool) -> Result<Engine> {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(parallel);
    Engine::new(&config)
}

fn compile(module: &Path, to: &Path, parallel: bool) -> Result<ExitCode> {
    let bytes = std::fs::read(module).with_context(|| format!("{}", module.display()))?;
    let engine = engine(parallel)?;
    let started = Instant::now();
    let compiled = engine.precompile_module(&bytes)?;
    println!("{:.4}", started.elapsed().as_secs_f64());
    std::fs::write(to, compiled).with_context(|| format!("{}", to.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn run(
    directories: &[(String, String)],
    compiled: &Path,
    arguments: &[String],
) -> Result<ExitCode> {
    let engine = engine(true)?;
    // SAFETY: the file was made by this program, for the benchmark that runs it.
    let module = unsafe { Module::deserialize_file(&engine, compiled)? };
    let mut builder = WasiCtxBuilder::new();
    builder.inherit_stdio();
    builder.arg(compiled.file_stem().unwrap_or_default().to_string_lossy());
    builder.args(arguments);
    for (host, guest) in directories {
        builder.preopened_dir(host, guest, FsPerms::ReadWrite)?;
    }
    let mut linker: Linker<WasiP1Ctx> = Linker::new(&engine);
    p1::add_to_linker_sync(&mut linker, |context| context)?;
    let mut store = Store::new(&engine, builder.build_p1());
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
    match start.call(&mut store, ()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(I32Exit(status)) => Ok(ExitCode::from(*status as u8)),
            None => Err(error),
        },
    }
}

/// Reads the command line; `None` if help was asked for.
fn parse(mut parser: lexopt::Parser) -> std::result::Result<Option<Request>, lexopt::Error> {
    use lexopt::{Arg, ValueExt as _};
    let command = match parser.next()? {
        Some(Arg::Value(command)) => command.string()?,
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(None),
        _ => return Err("say what to do: compile or run".into()),
    };
    let mut directories = Vec::new();
    let mut parallel = true;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("threads") if command == "compile" => parallel = parser.value()? != "1",
            Arg::Long("dir") if command == "run" => {
                let text = parser.value()?.string()?;
                let (host, guest) = text.split_once("::").unwrap_or((&text, &text));
                directories.push((host.to_owned(), guest.to_owned()));
            }
            Arg::Value(file) if command == "run" => {
                let arguments = parser.raw_args()?.map(|argument| argument.string());
                let arguments: std::result::Result<_, _> = arguments.collect();
                return Ok(Some(Request::Run {
                    directories,
                    compiled: file.into(),
                    arguments: arguments?,
                }));
            }
            Arg::Value(file) if command == "compile" => {
                return Ok(Some(Request::Compile {
                    module: file.into(),
                    to: parser.value()?.into(),
                    parallel,
                }));
            }
            other => return Err(other.unexpected()),
        }
    }
    Err("name a file".into())
}

fn main() -> ExitCode {
    let done = match parse(lexopt::Parser::from_env()) {
        Ok(Some(Request::Compile {
            module,
            to,
            parallel,
        })) => compile(&module, &to, parallel),
        Ok(Some(Request::Run {
            directories,
            compiled,
            arguments,
        })) => run(&directories, &compiled, &arguments),
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("sing-bench-programs: {error}\nTry `sing-bench-programs --help`.");
            return ExitCode::from(64);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("sing-bench-programs: {error:#}");
        ExitCode::FAILURE
    })
}
