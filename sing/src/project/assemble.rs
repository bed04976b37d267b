//! The system image of a project: its own programs, and those of this command that its system
//! manifest names, verified, compiled, and checked against each other.

use super::cargo::{self, Package, Program};
use super::{C, PACKAGE, SYSTEM};
use crate::kept::{Kept, Wanted};
use crate::output::name_of;
use crate::{carried, cc, input, output, system};
use serde_json::json;
use sing_compiler::Options;
use sing_image::shown::Shown;
use sing_image::system::BIN;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
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
            name_of(&self.image),
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
pub fn build(root: &Path, kept: Wanted) -> Result<Option<Built>, String> {
    let manifest_file = root.join(SYSTEM);
    let manifest = system::read(&manifest_file)?;
    let Some(Sources { package, own }) = sources(root)? else {
        return Ok(None);
    };
    let kept = Kept::open(kept);
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
        let image = compiled(&kept, &program.module, &module)?;
        add(&program.name, image, true);
    }
    for name in system::images_of(&manifest) {
        if own.iter().any(|program| program.name == name) {
            continue;
        }
        let module = carried::program(name).ok_or_else(|| missing(&manifest_file, name))?;
        add(name, compiled(&kept, Path::new(name), module)?, false);
    }
    let archive = match system::pack(&manifest, files) {
        Ok(archive) => archive,
        Err(problems) => {
            for problem in problems {
                let name = name_of(&manifest_file);
                output::complain(format!("sing: {name}: {}", Shown(problem)));
            }
            return Ok(None);
        }
    };
    let folder = package.target.join("sing");
    fs::create_dir_all(&folder)
        .map_err(|e| format!("{}: cannot be made: {e}", name_of(&folder)))?;
    let image = folder.join(package.name).with_extension("img");
    output::write(&image, &archive)?;
    Ok(Some(Built {
        image,
        bytes: archive.len(),
        programs,
    }))
}

/// A project's own programs, built.
struct Sources {
    package: Package,
    own: Vec<Program>,
}

/// Builds the project's own programs, those of its package and those in C; `None` if a compiler refuses one, which
/// it has explained.
fn sources(root: &Path) -> Result<Option<Sources>, String> {
    let (package, mut own) = if root.join(PACKAGE).is_file() {
        let package = cargo::package(root)?;
        let Some(own) = cargo::programs(root, cargo::WASM)? else {
            return Ok(None);
        };
        (package, own)
    } else {
        let name = root.file_name().unwrap_or(OsStr::new("system"));
        let package = Package {
            name: name.to_string_lossy().into_owned(),
            target: root.join("target"),
        };
        (package, Vec::new())
    };
    let place = package.target.join("sing").join(C);
    for (name, folder) in in_c(root)? {
        if own.iter().any(|program| program.name == name) {
            return Err(format!(
                "{}: the package has a program of this name, too; give one of them another",
                name_of(&folder)
            ));
        }
        fs::create_dir_all(&place)
            .map_err(|e| format!("{}: cannot be made: {e}", name_of(&place)))?;
        let mut files = cc::files(&folder, "c")?;
        for place in [root, &folder] {
            files.extend(cc::files(place, "contract")?);
        }
        let module = place.join(&name).with_extension("wasm");
        let request = cc::Request {
            files,
            out: module.clone(),
            flags: Vec::new(),
        };
        if !cc::run(&request)? {
            return Ok(None);
        }
        own.push(Program { name, module });
    }
    Ok(Some(Sources { package, own }))
}

/// The programs in C: the name and the folder of each, in the order of the names.
fn in_c(root: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let place = root.join(C);
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |e| format!("{}: cannot be read: {e}", name_of(&place));
    let mut found = Vec::new();
    for entry in fs::read_dir(&place).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        let Some(name) = folder.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        if folder.is_dir() && !cc::files(&folder, "c")?.is_empty() {
            found.push((name.into(), folder));
        }
    }
    found.sort();
    Ok(found)
}

/// A program's image. Lines of the standard library's text would be most of one with lines.
fn compiled(kept: &Kept, path: &Path, module: &[u8]) -> Result<Vec<u8>, String> {
    let options = Options {
        lines: false,
        ..Options::default()
    };
    input::elf(&kept.compile(path, module, &options)?, path)
}

/// A program that neither the project nor this command has.
fn missing(manifest: &Path, name: &str) -> String {
    let manifest = name_of(manifest);
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
