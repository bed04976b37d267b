//! The system image of a project: its own programs, and those of this command that its system
//! manifest names, verified, compiled, and checked against each other.

use super::{SYSTEM, cargo};
use crate::{carried, input, output, system};
use serde_json::json;
use sing_compiler::Options;
use sing_image::system::BIN;
use std::fmt;
use std::path::{Path, PathBuf};

/// An image that has been made.
pub struct Built {
    pub image: PathBuf,
    bytes: usize,
    programs: Vec<Part>,
}

/// A program in it.
struct Part {
    name: String,
    bytes: usize,
    own: bool,
}

impl Built {
    /// All of it, for a program to read.
    pub fn json(&self) -> String {
        let programs = self
            .programs
            .iter()
            .map(|part| json!({"name": part.name, "bytes": part.bytes, "own": part.own}));
        let programs: Vec<_> = programs.collect();
        json!({"image": self.image, "bytes": self.bytes, "programs": programs}).to_string()
    }
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.programs.len();
        write!(
            f,
            "{}: {} bytes, {count} program{}",
            self.image.display(),
            self.bytes,
            if count == 1 { "" } else { "s" }
        )?;
        for part in &self.programs {
            let whose = if part.own {
                "this project"
            } else {
                "Singularity"
            };
            write!(
                f,
                "\n  {:<20} {:>8} bytes, of {whose}",
                part.name, part.bytes
            )?;
        }
        Ok(())
    }
}

/// Builds a project; `None` if something is refused, which has been said.
pub fn build(root: &Path) -> Result<Option<Built>, String> {
    let manifest_file = root.join(SYSTEM);
    let manifest = system::read(&manifest_file)?;
    let package = cargo::package(root)?;
    let Some(own) = cargo::programs(root)? else {
        return Ok(None);
    };
    let mut files = Vec::new();
    let mut programs = Vec::new();
    let mut add = |name: &str, image: Vec<u8>, own| {
        programs.push(Part {
            name: name.into(),
            bytes: image.len(),
            own,
        });
        files.push((format!("{BIN}{name}"), image));
    };
    for program in &own {
        let module = input::read(&program.module)?;
        add(&program.name, compiled(&program.module, &module)?, true);
    }
    for name in system::images_of(&manifest) {
        if own.iter().any(|program| program.name == name) {
            continue;
        }
        let module = carried::program(name).ok_or_else(|| missing(&manifest_file, name))?;
        add(name, compiled(Path::new(name), module)?, false);
    }
    let archive = match system::pack(&manifest, files) {
        Ok(archive) => archive,
        Err(problems) => {
            for problem in problems {
                output::complain(format!("sing: {}: {problem}", manifest_file.display()));
            }
            return Ok(None);
        }
    };
    let folder = package.target.join("sing");
    std::fs::create_dir_all(&folder)
        .map_err(|e| format!("{}: cannot be made: {e}", folder.display()))?;
    let image = folder.join(package.name).with_extension("img");
    output::write(&image, &archive)?;
    Ok(Some(Built {
        image,
        bytes: archive.len(),
        programs,
    }))
}

/// A program's image. Lines of the standard library's text would be most of one with lines.
fn compiled(path: &Path, module: &[u8]) -> Result<Vec<u8>, String> {
    let options = Options {
        lines: false,
        ..Options::default()
    };
    input::elf(&input::compile(path, module, &options)?, path)
}

/// A program that neither the project nor this command has.
fn missing(manifest: &Path, name: &str) -> String {
    let manifest = manifest.display();
    if carried::PROGRAMS.is_empty() {
        return format!(
            "{manifest}: names the program {name:?}, which the project has not; {}",
            crate::boot::NOT_WHOLE
        );
    }
    let known: Vec<&str> = carried::PROGRAMS.iter().map(|(name, _)| *name).collect();
    format!(
        "{manifest}: names the program {name:?}, which neither the project has (as a binary of its \
         package) nor this command, which has {}",
        known.join(", ")
    )
}
