//! Compiles every module of a folder to an image, in both memory modes, in one process.
//!
//! `sing-batch DIRECTORY` writes `NAME-guard` and `NAME-explicit` beside each `NAME.wasm`, as
//! `sing compile` would, and prints a line `NAME MODE REASON` for each that is refused. A panic of
//! the compiler's is such a reason, too: whoever asks expects none.

use sing_compiler::{MemoryMode, Options, Work};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io, panic, thread};

const MODES: [(MemoryMode, &str); 2] = [
    (MemoryMode::Guard, "guard"),
    (MemoryMode::Explicit, "explicit"),
];

/// The image of a module.
fn image(wasm: &[u8], mode: MemoryMode) -> Result<Vec<u8>, String> {
    let made = panic::catch_unwind(|| {
        let work = Work {
            threads: Some(1),
            ..Work::default()
        };
        let compiled = sing_compiler::compile_by(wasm, &Options::sip(mode), &work)?;
        compiled.to_elf()
    });
    match made {
        Ok(made) => made.map_err(|e| e.to_string()),
        Err(_) => Err("the compiler panicked".into()),
    }
}

/// Compiles one module in both modes.
fn compile(file: &Path) -> io::Result<()> {
    let wasm = fs::read(file)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    for (mode, said) in MODES {
        match image(&wasm, mode) {
            Ok(image) => fs::write(file.with_file_name(format!("{name}-{said}")), image)?,
            Err(reason) => println!("{name} {said} {}", reason.replace('\n', "; ")),
        }
    }
    Ok(())
}

/// The modules of a folder.
fn modules(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "wasm") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn run(folder: &Path) -> io::Result<()> {
    let files = modules(folder)?;
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            compile(file)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
        })
    })
}

fn main() -> ExitCode {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder] = folders.as_slice() else {
        eprintln!("usage: sing-batch DIRECTORY");
        return ExitCode::from(2);
    };
    match run(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("sing-batch: {}: {e}", folder.display());
            ExitCode::FAILURE
        }
    }
}
