//! `sing doc`: contracts as web pages.

use super::sources::{self, Source};
use crate::output::name_of;
use crate::{input, output};
use sing_contract_tools::doc::{self, Usage};
use std::path::{Path, PathBuf};

/// Writes the pages of all texts; programs and systems among the files show which processes use the
/// contracts.
pub fn run(files: &[PathBuf], system: Option<&PathBuf>, out: &Path) -> Result<bool, String> {
    let mut texts = Vec::new();
    let mut usage = Usage::default();
    for file in files {
        match sources::read(file)? {
            Source::Text(contracts) => texts.push(contracts),
            Source::Program(program) => usage.programs.push(program.speaks()),
            Source::System(manifest, programs) => {
                usage.systems.push(manifest);
                usage
                    .programs
                    .extend(programs.into_iter().map(sources::Program::speaks));
            }
        }
    }
    if let Some(file) = system {
        let manifest = serde_json::from_slice(&input::read(file)?);
        let manifest =
            manifest.map_err(|e| format!("{}: no system manifest: {e}", name_of(file)))?;
        usage.systems.push(manifest);
    }
    if texts.is_empty() {
        return Err(
            "doc: name at least one text of contracts; programs alone have no documentation".into(),
        );
    }
    let pages = doc::pages(&texts, &usage)?;
    std::fs::create_dir_all(out).map_err(|e| format!("{}: cannot be made: {e}", name_of(out)))?;
    for page in &pages {
        let inputs = files.iter().chain(system);
        output::is_no_input(&out.join(&page.name), inputs)?;
    }
    for page in &pages {
        output::file(&out.join(&page.name), &page.text)?;
    }
    output::line(format!(
        "{}: {} contracts",
        name_of(&out.join("index.html")),
        pages.len() - 2
    ));
    Ok(true)
}
