//! A selection of modules to be kept: small ones that together have every instruction that the
//! generators make, and execute each counted class several times, with results on which two engines
//! agree.

use crate::count::CLASSES;
use crate::engines::{Answer, CAUGHT, Engines};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use wasmparser::{Parser, Payload};

/// The names of a module's instructions.
fn instructions(wasm: &[u8]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload? else {
            continue;
        };
        for op in body.get_operators_reader()? {
            let text = format!("{:?}", op?);
            let name = text.split(|c: char| !c.is_alphanumeric()).next();
            names.extend(name.map(String::from));
        }
    }
    Ok(names)
}

/// Modules that execute a class, at least.
const EACH: usize = 8;

/// Whether two engines know all results, and agree.
fn is_sure(answer: &Answer) -> bool {
    let sure = |line: &String| line.contains(" exit ") || line.contains(" trap ");
    let differ = |line: &String| line.contains("differ");
    answer.second && !answer.lines.is_empty() && answer.lines.iter().all(|l| sure(l) && !differ(l))
}

/// The modules of a folder that no seed makes: those whose names are other than `m` and a number.
pub fn by_hand(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let of_seed = |name: &str| {
            let seed = name.strip_prefix('m');
            seed.is_some_and(|seed| seed.parse::<u64>().is_ok())
        };
        if path.extension().is_some_and(|e| e == "wasm") && !of_seed(&name) {
            found.push((name.into_owned(), fs::read(&path)?));
        }
    }
    found.sort();
    Ok(found)
}

/// Those of the modules that are kept: the smallest ones first, each of which has an instruction
/// that no smaller one has, or executes a class that few smaller ones execute.
pub fn select(mut modules: Vec<(String, Vec<u8>)>) -> Result<Vec<(String, Vec<u8>)>> {
    let engines = Engines::new()?;
    modules.sort_by_key(|(_, wasm)| wasm.len());
    let mut seen = BTreeSet::new();
    let mut executed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for (name, wasm) in modules {
        let Some(answer) = engines.expect(&wasm)?.filter(is_sure) else {
            continue;
        };
        let its = instructions(&wasm)?;
        let ran = |class: &&str| answer.figures.get(*class).is_some_and(|n| *n > 0);
        let classes = CLASSES.into_iter().chain([CAUGHT]).filter(ran);
        let classes: Vec<&str> = classes.collect();
        let rare = |class: &&str| executed.get(class).is_none_or(|n| *n < EACH);
        if its.is_subset(&seen) && !classes.iter().any(rare) {
            continue;
        }
        seen.extend(its);
        for class in classes {
            *executed.entry(class).or_default() += 1;
        }
        kept.push((name, wasm));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_hand_are_kept_with_their_results() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let found = by_hand(&folder).expect("the corpus");
        assert!(!found.is_empty());
        let engines = Engines::new().expect("engines");
        for (name, wasm) in found {
            // Those with exceptions need an engine that may not be there.
            let answer = engines.expect(&wasm).expect(&name);
            let lines = answer.map(|answer| answer.lines);
            assert!(lines.is_none_or(|lines| !lines.is_empty()), "{name}");
        }
    }
}
