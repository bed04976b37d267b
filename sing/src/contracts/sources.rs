//! Where contracts come from: texts, modules, images of programs, system images.

use crate::input;
use sing_compiler::Options;
use sing_contract::{Contracts, Diagnostic};
use sing_contract_tools::doc;
use sing_image::contract::{ContractTable, Hash};
use sing_image::elf::Image;
use sing_image::manifest::Manifest;
use sing_image::system::{BIN, MAGIC, SystemImage, SystemManifest};
use std::io::IsTerminal as _;
use std::path::Path;

/// A program that has contracts.
pub struct Program {
    pub manifest: Manifest,
    pub contracts: Vec<ContractTable>,
    /// Which contracts these are.
    pub identities: Vec<Hash>,
    /// Module and name of each import.
    pub imports: Vec<(String, String)>,
}

impl Program {
    /// Its contracts with their identities.
    pub fn identified(self) -> impl Iterator<Item = (Hash, ContractTable)> {
        self.identities.into_iter().zip(self.contracts)
    }

    /// What the documentation tells of it.
    pub fn speaks(self) -> doc::Program {
        doc::Program {
            manifest: self.manifest,
            imports: self.imports,
        }
    }
}

/// What a file holds.
pub enum Source {
    Text(Contracts),
    Program(Program),
    /// A system: what is started and connected, and its programs.
    System(SystemManifest, Vec<Program>),
}

/// Reads a file of any kind, told by its first bytes.
pub fn read(path: &Path) -> Result<Source, String> {
    let bytes = input::read(path)?;
    let name = path.display();
    if bytes.starts_with(MAGIC) {
        return system(&bytes).map_err(|e| format!("{name}: {e}"));
    }
    if input::kind(&bytes).is_err() {
        return text(path).map(Source::Text);
    }
    // Only an image says all that is asked for; a module is compiled.
    let image = input::image(path, bytes, &Options::default())?;
    let program = program(&image).map_err(|e| format!("{name}: {e}"))?;
    Ok(Source::Program(program))
}

/// Reads a text and what it imports; warnings go to standard error.
pub fn text(path: &Path) -> Result<Contracts, String> {
    let contracts = sing_contract::load_file(path).map_err(|found| {
        eprintln!("{}", report(&found));
        format!("{}: its contracts do not hold", path.display())
    })?;
    if !contracts.warnings.is_empty() {
        eprintln!("{}", report(&contracts.warnings));
    }
    Ok(contracts)
}

/// Findings as people read them.
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
    for path in image.paths() {
        if path.starts_with(BIN) {
            let bytes = image.file(path).unwrap_or(&[]);
            let program = program(bytes).map_err(|e| format!("{path}: {e}"))?;
            programs.push(program);
        }
    }
    Ok(Source::System(image.manifest().clone(), programs))
}
