//! Programs in C: `sing cc`, and `sing build` in a project that has some.
//!
//! Headers are made from the contracts, and clang and wasm-ld make the module, with the C part of the SDK, which is in this
//! command. The flags are here and nowhere else: a module made with others may be refused, or lack what
//! crash reports and threads need.

use crate::output::name_of;
use crate::{carried, contracts, output};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags for every source. Compiling and linking are two steps: if clang does both and binaryen is
/// installed, clang lets `wasm-opt` rewrite the module, which loses the names.
const COMPILE: [&str; 6] = [
    "--target=wasm32",
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Os",
    "-mmutable-globals",
];

/// Flags for linking every program. As for programs in Rust, the stack is at the bottom of memory,
/// so that overflow traps, and its pointer is exported, so that the kernel can give each thread its
/// own.
const LINK: [&str; 6] = [
    "--no-entry",
    "--stack-first",
    "-z",
    "stack-size=16384",
    "--export=__stack_pointer",
    "--export-if-defined=sip_thread",
];

/// Where the SDK has its part in C.
const SDK: &str = "sdk/c/";
/// The system's contracts; the first imports all others that programs speak.
const CONTRACTS: &str = "sdk/rust/contracts/";
const SYSTEM: &str = "sdk/rust/contracts/system.contract";

/// A program to make.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its sources (`.c`) and the contracts that it speaks (`.contract`).
    pub files: Vec<PathBuf>,
    /// The module.
    pub out: PathBuf,
    /// More words for the compiler.
    pub flags: Vec<OsString>,
}

/// Makes the module; whether the compiler took the sources. What it says of them goes to standard error.
pub fn run(request: &Request) -> Result<bool, String> {
    let mut sources = Vec::new();
    let mut texts = Vec::new();
    for file in &request.files {
        match file.extension().and_then(OsStr::to_str) {
            Some("c") => sources.push(file.clone()),
            Some("contract") => texts.push(file.clone()),
            _ => {
                return Err(format!(
                    "{}: neither a source in C (.c) nor a contract (.contract)",
                    name_of(file)
                ));
            }
        }
    }
    if sources.is_empty() {
        return Err("name at least one source in C (.c)".into());
    }
    output::is_no_input(&request.out, &request.files)?;
    let out = name_of(&request.out);
    let failed = |e| format!("{out}: cannot be made: {e}");
    let folder = sing_files::Folder::beside(&request.out).map_err(failed)?;
    let place = |name: &str| folder.path().join(name);
    for (path, contents) in carried::SDK {
        if path.starts_with(SDK) || path.starts_with(CONTRACTS) {
            let path = place(path);
            fs::create_dir_all(path.parent().unwrap_or(folder.path())).map_err(failed)?;
            fs::write(&path, contents).map_err(failed)?;
            if path.extension() == Some(OsStr::new("c")) {
                sources.push(path);
            }
        }
    }
    texts.push(place(SYSTEM));
    let include = place("include");
    contracts::bind(&texts, &include)?;
    let mut objects = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let object = place(&format!("{i}.o"));
        let mut clang = Command::new("clang");
        clang.args(COMPILE).args(&request.flags);
        clang.arg("-I").arg(&include).arg("-I").arg(place(SDK));
        clang.arg("-c").arg(source).arg("-o").arg(&object);
        if !ran(clang)? {
            return Ok(false);
        }
        objects.push(object);
    }
    let fresh = place("module.wasm");
    let mut link = Command::new("wasm-ld");
    link.args(LINK).args(&objects).arg("-o").arg(&fresh);
    if !ran(link)? {
        return Ok(false);
    }
    let module = fs::read(&fresh).map_err(failed)?;
    // An unchanged module keeps its date, and with it what is made from it.
    if fs::read(&request.out).is_ok_and(|there| there == module) {
        return Ok(true);
    }
    output::write(&request.out, &module)?;
    Ok(true)
}

/// Runs a tool; whether it was content.
fn ran(mut command: Command) -> Result<bool, String> {
    let status = command.status().map_err(|e| {
        let tool = command.get_program().to_string_lossy();
        format!(
            "{tool} cannot be started: {e}; programs in C need clang and lld (`apt-get install clang lld` on \
             Debian, `dnf install clang lld` on Fedora)"
        )
    })?;
    Ok(status.success())
}

/// The files of a folder with this extension, sorted by name.
pub fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |e| format!("{}: cannot be read: {e}", name_of(folder));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension() == Some(OsStr::new(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
