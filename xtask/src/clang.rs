//! Programs in C of this repository, and the tools that they need.

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

/// Builds one program from the sources and contracts in its folder, by `sing cc`, which must have been built: it has the SDK,
/// the flags and the system's contracts. An unchanged module keeps its date, and with it the image made from it.
pub fn module(project: &Project, name: &str, folder: &Path) -> Result<()> {
    let folder = project.root.join(folder);
    let out = project.c_module(name);
    let place = out.parent().context("a module without a folder")?;
    fs::create_dir_all(place).with_context(|| format!("cannot create {}", place.display()))?;
    let mut cc = Command::new(project.host_binary("sing"));
    cc.arg("cc").args(files(&folder, "c")?);
    cc.args(files(&folder, "contract")?).arg("-o").arg(&out);
    cc.args(["--", "-Werror"]);
    cargo::quiet(&mut cc, &format!("compiling {name}"))
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
