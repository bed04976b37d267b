//! `sing count`: how many contracts, messages and states there are.

use super::sources::{self, Source};
use crate::output;
use sing_contract_tools::count;
use std::path::PathBuf;

/// Prints the counts of all files together, after those of each contract where asked for.
pub fn run(files: &[PathBuf], each: bool) -> Result<bool, String> {
    let mut tables = Vec::new();
    for file in files {
        match sources::read(file)? {
            Source::Text(contracts) => tables.extend(contracts.tables()),
            Source::Program(program) => tables.extend(program.contracts),
            Source::System(_, programs) => {
                tables.extend(programs.into_iter().flat_map(|p| p.contracts));
            }
        }
    }
    let report = count::count(&tables);
    if each {
        output::line(report.each());
    }
    output::line(report.to_string().trim_end());
    Ok(true)
}
