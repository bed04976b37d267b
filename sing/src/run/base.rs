//! What an ordinary program's system is made of: the services and the adapter, and the kernel.
//!
//! A command that is whole has all of it inside. It compiles the services once, and keeps the image
//! as those of programs are kept ([`crate::kept`]). Any other command looks beside itself for what
//! `cargo xtask wasi` has made there.

use super::{KERNEL, beside};
use crate::kept::cache::{Cache, Key};
use crate::{boot, carried, input, kept, system};
use sing_compiler::Options;
use sing_image::system::{BIN, SystemImage, SystemManifest};
use sing_merge::Kind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is made of a program: of each there is a system of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It runs once.
    Run,
    /// The same, with the network: it listens, or makes its own sockets.
    Listen,
    /// It answers requests of HTTP.
    Serve,
}

impl Use {
    /// The system image with the services and the adapter, beside this command.
    pub fn image(self) -> &'static str {
        match self {
            Use::Run => "sing-run.img",
            Use::Listen => "sing-listen.img",
            Use::Serve => "sing-serve.img",
        }
    }

    /// The package of the adapter for programs of this kind.
    fn adapter(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Use::Run | Use::Listen, Kind::Component) => "wasi-component",
            (Use::Run | Use::Listen, _) => "wasi-adapter",
            (Use::Serve, Kind::Component) => "wasi-http",
            (Use::Serve, _) => "wasi-cgi",
        }
    }

    /// The system manifests that are inside this command.
    fn manifests(self) -> Vec<&'static [u8]> {
        match self {
            Use::Run => vec![carried::ORDINARY],
            Use::Listen => vec![carried::ORDINARY, carried::LISTENING],
            Use::Serve => vec![carried::SERVING],
        }
    }
}

/// The adapter's module in that image, for programs of this kind.
pub fn adapter(kind: Kind) -> &'static str {
    match kind {
        Kind::Component => "component.wasm",
        Kind::Module | Kind::Own => "adapter.wasm",
    }
}

/// The kernel, as a command.
pub fn kernel() -> Result<Command, String> {
    if cfg!(feature = "whole") {
        return boot::kernel();
    }
    beside(KERNEL).map(Command::new)
}

/// The image with the services and the adapter.
pub struct Base {
    /// What for.
    pub of: Use,
    /// A file beside this command; if there is none, it is to be made of what is inside.
    pub beside: Option<PathBuf>,
}

impl Base {
    /// Where it is.
    pub fn find(of: Use) -> Result<Base, String> {
        let beside = match carried::PROGRAMS.is_empty() {
            true => Some(beside(of.image())?),
            false => None,
        };
        Ok(Base { of, beside })
    }

    /// The adapter's module for programs of this kind.
    pub fn adapter(&self, kind: Kind) -> Result<Vec<u8>, String> {
        let Some(file) = &self.beside else {
            let adapter = carried::program(self.of.adapter(kind));
            return Ok(adapter.ok_or("no adapter is inside this command")?.to_vec());
        };
        let image = input::read(file)?;
        let shown = self.of.image();
        let image = SystemImage::decode(&image).map_err(|e| format!("{shown}: {}", e.message))?;
        let name = adapter(kind);
        let adapter = image.file(name);
        Ok(adapter
            .ok_or_else(|| format!("{shown}: has no {name}"))?
            .to_vec())
    }

    /// Its bytes. Those that are made are kept for the next time, if there is where.
    pub fn bytes(&self, cache: Option<&Cache>) -> Result<Vec<u8>, String> {
        if let Some(file) = &self.beside {
            return input::read(file);
        }
        let Some(cache) = cache else {
            return make(self.of);
        };
        let key = Key::of(&[
            b"services",
            self.of.image().as_bytes(),
            env!("CARGO_PKG_VERSION").as_bytes(),
            &kept::command()?,
        ]);
        if let Some(bytes) = cache.read(&key) {
            return Ok(bytes);
        }
        let made = make(self.of)?;
        // Not kept, it is made again the next time.
        let _ = cache.put(&key, &made);
        Ok(made)
    }
}

/// Compiles and packs it.
fn make(of: Use) -> Result<Vec<u8>, String> {
    let failed = |e: &dyn std::fmt::Display| format!("the services inside this command: {e}");
    let mut manifest = SystemManifest::default();
    for part in of.manifests() {
        manifest.add(serde_json::from_slice(part).map_err(|e| failed(&e))?);
    }
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
    for kind in [Kind::Module, Kind::Component] {
        let module = carried::program(of.adapter(kind)).ok_or_else(|| failed(&"no adapter"))?;
        files.push((adapter(kind).into(), module.to_vec()));
    }
    system::pack(&manifest, files).map_err(|problems| failed(&system::in_a_line(&problems)))
}
