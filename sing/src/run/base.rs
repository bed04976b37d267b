//! What an ordinary program's system is made of: the services and the adapter, and the kernel.
//!
//! A command that is whole has all of it inside. It compiles the services once, and keeps the image
//! in the user's folder of caches, under a name that changes with them. Any other command looks
//! beside itself for what `cargo xtask wasi` has made there.

use super::{BASE, KERNEL, beside};
use crate::{boot, carried, input, output, system};
use sing_compiler::Options;
use sing_image::system::{BIN, PLAN, SystemImage, SystemManifest};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of the system, beside those that its manifest starts and serves.
const ADAPTER: (&str, &str) = ("wasi-adapter", "adapter.wasm");

/// The kernel, as a command.
pub fn kernel() -> Result<Command, String> {
    if cfg!(feature = "whole") {
        return boot::kernel();
    }
    beside(KERNEL).map(Command::new)
}

/// The image with the services and the adapter.
pub fn image() -> Result<PathBuf, String> {
    if carried::PROGRAMS.is_empty() {
        return beside(BASE);
    }
    let mut state = DefaultHasher::new();
    carried::PROGRAMS.hash(&mut state);
    carried::ORDINARY.hash(&mut state);
    env!("CARGO_PKG_VERSION").hash(&mut state);
    let folder = caches()?;
    let file = folder.join(format!("services-{:016x}.img", state.finish()));
    if !file.exists() {
        let made = make()?;
        std::fs::create_dir_all(&folder)
            .map_err(|e| format!("{}: cannot be made: {e}", folder.display()))?;
        output::write(&file, &made)?;
    }
    Ok(file)
}

/// The folder for what can be made again.
fn caches() -> Result<PathBuf, String> {
    // A relative path counts for nothing, as the XDG Base Directory Specification has it.
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    let folder = absolute("XDG_CACHE_HOME").or_else(home);
    let folder = folder.ok_or("neither HOME nor XDG_CACHE_HOME says where to keep the services")?;
    Ok(folder.join("sing"))
}

/// Compiles and packs it.
fn make() -> Result<Vec<u8>, String> {
    let failed = |e: &dyn std::fmt::Display| format!("the services inside this command: {e}");
    let manifest: SystemManifest =
        serde_json::from_slice(carried::ORDINARY).map_err(|e| failed(&e))?;
    let options = Options {
        lines: false,
        ..Options::default()
    };
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for name in system::images_of(&manifest) {
        let module = carried::program(name).ok_or_else(|| failed(&format!("no {name}")))?;
        let path = Path::new(name);
        let image = input::elf(&input::compile(path, module, &options)?, path)?;
        files.push((format!("{BIN}{name}"), image));
    }
    let plan = system::plan(&manifest, &system::borrowed(&files));
    let plan = plan.map_err(|problems| failed(&problems.join("; ")))?;
    files.push((PLAN.into(), plan.encode().map_err(|e| e.message)?));
    let adapter = carried::program(ADAPTER.0).ok_or_else(|| failed(&"no adapter"))?;
    files.push((ADAPTER.1.into(), adapter.to_vec()));
    let listed: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.clone(), bytes.as_slice()))
        .collect();
    SystemImage::encode(&manifest, &listed).map_err(|e| e.message)
}
