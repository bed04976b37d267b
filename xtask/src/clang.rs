//! Programs in C: headers from the system's contracts, modules by clang and wasm-ld.

use crate::cargo;
use crate::packages::Tools;
use crate::project::Project;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler and the linker.
pub const TOOLS: Tools = Tools {
    name: "clang and lld",
    programs: &["clang", "wasm-ld"],
    packages: &["clang", "lld"],
    elsewhere: "`dnf install clang lld` on Fedora, `pacman -S clang lld` on Arch",
};

/// Flags for every source. Compiling and linking are two steps: if clang does both and binaryen is
/// installed, clang lets `wasm-opt` rewrite the module, which loses the names.
const COMPILE: [&str; 7] = [
    "--target=wasm32",
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
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

/// Builds one program from the sources in its folder and those of the SDK. Its headers are made
/// from the system's contracts and from those in its folder. `sing` must have been built.
pub fn module(project: &Project, name: &str, folder: &Path) -> Result<()> {
    let (sdk, folder) = (project.root.join("sdk/c"), project.root.join(folder));
    let mut contracts = files(&folder, "contract")?;
    contracts.push(project.root.join("system/contracts/system.contract"));
    let include = project.out().join("c").join(name);
    let mut bind = Command::new(project.host_binary("sing"));
    bind.args(["bind", "c", "-o"]).arg(&include).args(contracts);
    cargo::quiet(&mut bind, &format!("binding the contracts of {name} to C"))?;
    let mut sources = files(&folder, "c")?;
    sources.extend(files(&sdk, "c")?);
    let out = project.c_module(name);
    let mut objects = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let object = include.join(format!("{i}.o"));
        let mut clang = Command::new("clang");
        clang.current_dir(&project.root).args(COMPILE);
        clang.arg("-I").arg(&include).arg("-I").arg(&sdk);
        clang.arg("-c").arg(source).arg("-o").arg(&object);
        cargo::quiet(&mut clang, &format!("compiling {name}"))?;
        objects.push(object);
    }
    let fresh = out.with_extension("new");
    let mut link = Command::new("wasm-ld");
    link.args(LINK).args(&objects).arg("-o").arg(&fresh);
    cargo::quiet(&mut link, &format!("linking {name}"))?;
    let read =
        |file: &Path| fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    // An unchanged module keeps its date, and with it the image made from it.
    if out.exists() && read(&out)? == read(&fresh)? {
        fs::remove_file(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))
    } else {
        fs::rename(&fresh, &out).with_context(|| format!("cannot write {}", out.display()))
    }
}

/// The files of a folder with this extension, sorted by name.
pub fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
