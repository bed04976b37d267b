//! `sing diff`: two versions of contracts, and which side a change breaks.

use super::sources::{self, Program, Source};
use crate::output::{self, name_of};
use serde_json::{Value, json};
use sing_contract_tools::diff::{self, Break, Change, Version};
use sing_image::contract::identities;
use sing_image::manifest::Side;
use std::path::Path;

/// Compares the contracts of two files of any kind; returns whether they are the same.
pub fn run(old: &Path, new: &Path, json: bool) -> Result<bool, String> {
    let found = diff::diff(&version(old)?, &version(new)?);
    if json {
        let all: Vec<Value> = found.iter().map(|(name, c)| value(name, c)).collect();
        let text = serde_json::to_string_pretty(&json!({ "contracts": all }));
        output::json(text.map_err(|e| e.to_string())?);
    } else {
        for (name, change) in &found {
            print(name, change);
        }
    }
    Ok(found.is_empty())
}

fn version(file: &Path) -> Result<Version, String> {
    let mut version = Version::default();
    let all: Vec<_> = match sources::read(file)? {
        Source::Text(contracts) => {
            let tables = contracts.tables();
            let known = identities(&tables).map_err(|e| format!("{}: {e}", name_of(file)))?;
            known.into_iter().zip(tables).collect()
        }
        Source::Program(program) => program.identified().collect(),
        Source::System(_, programs) => programs.into_iter().flat_map(Program::identified).collect(),
    };
    for (identity, table) in all {
        let added = version.add(identity, table);
        added.map_err(|e| format!("{}: {e}", name_of(file)))?;
    }
    Ok(version)
}

/// The two ways in which the versions can meet: the importing side's, the exporting side's.
const MEETINGS: [(&str, &str); 2] = [("old", "new"), ("new", "old")];

fn print(name: &str, change: &Change) {
    match change {
        Change::Added => output::line(format!("{name}: only in the new version")),
        Change::Removed => output::line(format!("{name}: only in the old version")),
        Change::Refers(of) => {
            let of = match of.as_slice() {
                [] => "others".to_owned(),
                names => names.join(", "),
            };
            output::line(format!("{name}: refers to {of}, which has changed"));
        }
        Change::Changed {
            differences,
            meetings,
        } => {
            output::line(format!("{name}: changed"));
            for difference in differences {
                output::line(format!("  {difference}"));
            }
            for ((imp, exp), breaks) in MEETINGS.iter().zip(meetings.iter().flatten()) {
                print_meeting(imp, exp, breaks);
            }
        }
    }
}

fn print_meeting(imp: &str, exp: &str, breaks: &[Break]) {
    let meet = format!("{imp} importing side, {exp} exporting side");
    if breaks.is_empty() {
        output::line(format!("  {meet}: nothing breaks"));
        return;
    }
    for found in breaks {
        let version = if found.side == Side::Imp { imp } else { exp };
        let way = match found.way.as_slice() {
            [] => String::new(),
            way => format!(", after {}", way.join(" -> ")),
        };
        output::line(format!(
            "  {meet}: the {version} {} breaks in state {}{way}: {}",
            side(found.side),
            found.state,
            found.reason
        ));
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Imp => "importing side",
        Side::Exp => "exporting side",
    }
}

fn value(name: &str, change: &Change) -> Value {
    match change {
        Change::Added => json!({ "name": name, "change": "added" }),
        Change::Removed => json!({ "name": name, "change": "removed" }),
        Change::Refers(of) => json!({ "name": name, "change": "refers", "to": of }),
        Change::Changed {
            differences,
            meetings,
        } => {
            let meetings = MEETINGS.iter().zip(meetings.iter().flatten());
            let meetings: Vec<Value> = meetings
                .map(|((imp, exp), breaks)| {
                    let breaks: Vec<Value> = breaks.iter().map(broken).collect();
                    json!({ "importing": imp, "exporting": exp, "breaks": breaks })
                })
                .collect();
            json!({
                "name": name,
                "change": "changed",
                "differences": differences,
                "meetings": meetings,
            })
        }
    }
}

fn broken(found: &Break) -> Value {
    json!({
        "side": side(found.side),
        "state": found.state,
        "reason": found.reason,
        "way": found.way,
    })
}
