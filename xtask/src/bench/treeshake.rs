//! `cargo xtask bench treeshake`: how much code the installer leaves out because nothing can call it
//! (E9), the table of [S] Table 7 for the programs of this system and for those that `--program` names.
//!
//! A program is closed, so all that can run is known when it is installed. The sizes are those of
//! machine code: with all functions of the module, and without those that nothing reaches. Compilers
//! and linkers have left out before what they could see, as most do; what is counted here is the rest.

use super::report::{self, Row};
use super::{Request, describe, write};
use crate::image::{self, MemoryMode, Programs};
use crate::project::{Maker, Project};
use crate::setup::{self, Needs};
use crate::wasi;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What all of a program is called among its peers.
const WHOLE: &str = "whole";
/// Papers' figures of programs that do what ours do: whole and shaken, in KB.
const PAPERS: [(&str, f64, f64); 2] = [("web", 2731.0, 765.0), ("virtio-blk", 1846.0, 455.0)];

/// A program before and after.
#[derive(Clone, Debug, PartialEq)]
struct Shaken {
    name: String,
    /// Bytes of machine code with all functions, and without what nothing reaches.
    whole: u64,
    code: u64,
    functions: u64,
    left_out: u64,
    /// Bytes of data in the image, with all segments and without those that nothing names.
    data: [u64; 2],
}

impl Shaken {
    /// Reads what `sing analyze --json` says, with all functions and without those that nothing calls.
    fn read(name: &str, whole: &Value, shaken: &Value) -> Option<Shaken> {
        let data = |of: &Value| of["data"]["image_bytes"].as_u64();
        Some(Shaken {
            name: name.into(),
            whole: whole["code"]["bytes"].as_u64()?,
            code: shaken["code"]["bytes"].as_u64()?,
            functions: shaken["code"]["functions"].as_u64()?,
            left_out: shaken["code"]["unreached"]["functions"].as_u64()?,
            data: [data(whole)?, data(shaken)?],
        })
    }

    fn reduction(&self) -> f64 {
        100.0 * (1.0 - self.code as f64 / (self.whole as f64).max(1.0))
    }

    fn row(&self) -> Row {
        let code = self.code as f64 / 1024.0;
        let paper = PAPERS.iter().find(|paper| paper.0 == self.name);
        Row {
            id: Some("E9".into()),
            name: self.name.clone(),
            value: code,
            unit: "KiB".into(),
            p10: code,
            p90: code,
            paper: paper.map(|paper| paper.2),
            peers: BTreeMap::from([(WHOLE.into(), self.whole as f64 / 1024.0)]),
        }
    }
}

/// Compiles all programs in both ways, prints the table and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    if request.machine.is_emulated() {
        bail!("bench treeshake: sizes are the same on all machines; leave `--machine` out");
    }
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    image::compile_programs(&project, Programs::Ordinary, MemoryMode::Guard)?;
    let mut found = Vec::new();
    for program in project.programs.iter().filter(|program| !program.test) {
        let name = match program.maker {
            Maker::Cargo(_) => program.name.clone(),
            _ => format!("{} (C)", program.name),
        };
        found.push(shaken(&project, &name, &project.module(program))?);
    }
    if !request.programs.is_empty() {
        wasi::base(&project)?;
    }
    for given in &request.programs {
        let module = PathBuf::from(given);
        let name = module.file_stem().unwrap_or_default().to_string_lossy();
        found.push(shaken(&project, &name, &module)?);
    }
    sing_files::standard::print(table(&found));
    let result = report::Result {
        bench: request.name.clone(),
        machine: describe(request),
        rows: found.iter().map(Shaken::row).collect(),
    };
    write(&project, request, &result)?;
    Ok(0)
}

/// Compiles a module in both ways.
fn shaken(project: &Project, name: &str, module: &Path) -> Result<Shaken> {
    let analyzed = |unreached: &str| -> Result<Value> {
        let mut command = Command::new(project.host_binary("sing"));
        command.arg("analyze").arg(module);
        let output = command
            .args(["--json", "--unreached", unreached])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {said}", module.display());
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    complain!("{name}");
    let found = Shaken::read(name, &analyzed("keep")?, &analyzed("leave")?);
    found.with_context(|| format!("{}: not understood", module.display()))
}

/// The table that a person reads.
fn table(programs: &[Shaken]) -> String {
    let mut text = String::new();
    let mut line = |words: [&str; 6]| {
        let [name, whole, code, reduction, functions, data] = words;
        let _ = writeln!(
            text,
            "{name:<28} {whole:>10} {code:>12} {reduction:>9} {functions:>18} {data:>12}"
        );
    };
    line([
        "program",
        "whole",
        "tree shaken",
        "reduction",
        "functions left out",
        "data left out",
    ]);
    let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
    let mut all = Shaken {
        name: "all".into(),
        whole: 0,
        code: 0,
        functions: 0,
        left_out: 0,
        data: [0; 2],
    };
    for program in programs {
        all.whole += program.whole;
        all.code += program.code;
        all.functions += program.functions;
        all.left_out += program.left_out;
        all.data[0] += program.data[0];
        all.data[1] += program.data[1];
    }
    for program in programs.iter().chain([&all]) {
        line([
            &program.name,
            &kib(program.whole),
            &kib(program.code),
            &format!("{:.1} %", program.reduction()),
            &format!("{} of {}", program.left_out, program.functions),
            &kib(program.data[0].saturating_sub(program.data[1])),
        ]);
    }
    for (name, whole, shaken) in PAPERS {
        line([
            &format!("papers: as {name}"),
            &format!("{whole:.0} KB"),
            &format!("{shaken:.0} KB"),
            &format!("{:.1} %", 100.0 * (1.0 - shaken / whole)),
            "",
            "",
        ]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_analyses_make_a_row() {
        let of = |code: u32, data: u32| {
            json!({
                "code": { "bytes": code, "functions": 20, "unreached": { "functions": 5 } },
                "data": { "image_bytes": data },
            })
        };
        let found = Shaken::read("web", &of(4096, 100), &of(1024, 60)).unwrap();
        assert!((found.reduction() - 75.0).abs() < 1e-9);
        let row = found.row();
        assert_eq!(
            (row.value, row.peers[WHOLE], row.paper),
            (1.0, 4.0, Some(765.0))
        );
        let text = table(&[found.clone(), found]);
        for part in ["4.0 KiB", "75.0 %", "5 of 20", "10 of 40", "papers: as web"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(Shaken::read("web", &json!({}), &of(1, 1)).is_none());
    }
}
