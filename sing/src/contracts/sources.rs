//! Sources of contracts: texts, modules, images of programs, system images.

use crate::input;
use crate::output::{self, name_of};
use sing_compiler::Options;
use sing_contract::{Contracts, Diagnostic};
use sing_contract_tools::doc;
use sing_image::contract::{ContractTable, Hash};
use sing_image::elf::Image;
use sing_image::manifest::Manifest;
use sing_image::shown::Shown;
use sing_image::system::{BIN, MAGIC, SystemImage, SystemManifest};
use std::io::IsTerminal as _;
use std::path::Path;

/// A program that has contracts.
pub struct Program {
    pub manifest: Manifest,
    pub contracts: Vec<ContractTable>,
    /// The identities of its contracts.
    pub identities: Vec<Hash>,
    /// Module and name of each import.
    pub imports: Vec<(String, String)>,
}

impl Program {
    /// Its contracts with their identities.
    pub fn identified(self) -> impl Iterator<Item = (Hash, ContractTable)> {
        self.identities.into_iter().zip(self.contracts)
    }

    /// Its part in the documentation.
    pub fn speaks(self) -> doc::Program {
        doc::Program {
            manifest: self.manifest,
            imports: self.imports,
        }
    }
}

/// The contents of a file.
pub enum Source {
    Text(Contracts),
    Program(Program),
    /// A system: its processes, their connections, and its programs.
    System(SystemManifest, Vec<Program>),
}

/// Reads a file of any kind, recognised by its first bytes.
pub fn read(path: &Path) -> Result<Source, String> {
    let bytes = input::read(path)?;
    let name = name_of(path);
    if bytes.starts_with(MAGIC) {
        return system(&bytes).map_err(|e| format!("{name}: {e}"));
    }
    if input::kind(&bytes).is_err() {
        let wanted = "a FILE.contract, a module, an image or a system image";
        input::is_text(path, &bytes, wanted)?;
        return text(path).map(Source::Text);
    }
    // Only an image has all the information needed, so a module is compiled.
    let image = input::image(path, bytes, &Options::default())?;
    let program = program(&image).map_err(|e| format!("{name}: {e}"))?;
    Ok(Source::Program(program))
}

/// Reads a text and its imports; warnings go to standard error.
pub fn text(path: &Path) -> Result<Contracts, String> {
    is_text(path)?;
    let contracts = sing_contract::load_file(path).map_err(|found| {
        output::complain_in_colour(report(&found));
        format!("{}: its contracts do not hold", name_of(path))
    })?;
    if !contracts.warnings.is_empty() {
        output::complain_in_colour(report(&contracts.warnings));
    }
    Ok(contracts)
}

/// Refuses a file of another kind. One that cannot be read is refused by who reads it.
pub fn is_text(path: &Path) -> Result<(), String> {
    match input::read(path) {
        Ok(bytes) => input::is_text(path, &bytes, "a FILE.contract"),
        Err(_) => Ok(()),
    }
}

/// Formats findings for people.
pub fn report(found: &[Diagnostic]) -> String {
    let colour = std::io::stderr().is_terminal();
    let all: Vec<String> = found.iter().map(|d| d.render(colour)).collect();
    all.join("\n")
}

fn program(bytes: &[u8]) -> Result<Program, String> {
    let image = Image::decode(bytes).map_err(|e| e.to_string())?;
    let imports = image.meta.imports.into_iter();
    Ok(Program {
        manifest: image.manifest,
        contracts: image.contracts,
        identities: image.identities,
        imports: imports.map(|i| (i.module, i.name)).collect(),
    })
}

fn system(bytes: &[u8]) -> Result<Source, String> {
    let image = SystemImage::decode(bytes).map_err(|e| e.to_string())?;
    let mut programs = Vec::new();
    for (path, bytes) in image.files() {
        if path.starts_with(BIN) {
            let program = program(bytes).map_err(|e| format!("{}: {e}", Shown(path)))?;
            programs.push(program);
        }
    }
    Ok(Source::System(image.manifest().clone(), programs))
}
