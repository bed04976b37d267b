//! `sing count`: the numbers of contracts, messages and states.

use super::sources::{self, Program, Source};
use crate::output;
use sing_contract_tools::count;
use sing_image::contract::identities;
use std::path::PathBuf;

/// Prints the counts of all files together; before these, on request, the counts of each contract.
pub fn run(files: &[PathBuf], each: bool) -> Result<bool, String> {
    let mut all = Vec::new();
    for file in files {
        match sources::read(file)? {
            Source::Text(contracts) => {
                let tables = contracts.tables();
                let known = identities(&tables).map_err(|e| e.to_string())?;
                all.extend(known.into_iter().zip(tables));
            }
            Source::Program(program) => all.extend(program.identified()),
            Source::System(_, programs) => {
                all.extend(programs.into_iter().flat_map(Program::identified));
            }
        }
    }
    let report = count::count(all.iter().map(|(identity, table)| (*identity, table)));
    if each {
        output::lines(report.each());
    }
    output::lines(report.to_string().trim_end());
    Ok(true)
}
