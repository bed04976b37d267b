//! What an ordinary program's system is made of: the services and the adapter, and the kernel.
//!
//! A command that is whole has all of it inside. It compiles the services once, and keeps the image
//! as those of programs are kept ([`super::cache`]). Any other command looks beside itself for what
//! `cargo xtask wasi` has made there.

use super::cache::{Cache, Key};
use super::{BASE, KERNEL, beside, image};
use crate::{boot, carried, input, system};
use sing_compiler::Options;
use sing_image::system::{BIN, SystemImage, SystemManifest};
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
pub enum Base {
    /// A file beside this command.
    Beside(PathBuf),
    /// To be made of what is inside this command.
    Carried,
}

impl Base {
    /// Where it is.
    pub fn find() -> Result<Base, String> {
        match carried::PROGRAMS.is_empty() {
            true => beside(BASE).map(Base::Beside),
            false => Ok(Base::Carried),
        }
    }

    /// The adapter's module.
    pub fn adapter(&self) -> Result<Vec<u8>, String> {
        let Base::Beside(file) = self else {
            let adapter = carried::program(ADAPTER.0);
            return Ok(adapter.ok_or("no adapter is inside this command")?.to_vec());
        };
        let image = input::read(file)?;
        let image = SystemImage::decode(&image).map_err(|e| format!("{BASE}: {}", e.message))?;
        let adapter = image.file(ADAPTER.1);
        Ok(adapter
            .ok_or_else(|| format!("{BASE}: has no {}", ADAPTER.1))?
            .to_vec())
    }

    /// Its bytes. Those that are made are kept for the next time, if there is where.
    pub fn bytes(&self, cache: Option<&Cache>) -> Result<Vec<u8>, String> {
        if let Base::Beside(file) = self {
            return input::read(file);
        }
        let Some(cache) = cache else {
            return make();
        };
        let key = Key::of(&[
            b"services",
            env!("CARGO_PKG_VERSION").as_bytes(),
            &image::command()?,
        ]);
        if let Some(bytes) = cache.read(&key) {
            return Ok(bytes);
        }
        let made = make()?;
        // Not kept, it is made again the next time.
        let _ = cache.put(&key, &made);
        Ok(made)
    }
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
    let adapter = carried::program(ADAPTER.0).ok_or_else(|| failed(&"no adapter"))?;
    files.push((ADAPTER.1.into(), adapter.to_vec()));
    system::pack(&manifest, files).map_err(|problems| failed(&problems.join("; ")))
}
