//! `sing check contracts`: finds faults between the processes of a system before it runs.

use crate::output::name_of;
use crate::{input, output, system};
use serde_json::{Value, json};
use sing_conformance::{Assumptions, Outcome, System, chart, svg};
use sing_contract::Diagnostic;
use sing_image::elf::Image;
use sing_image::shown::Shown;
use sing_image::system::{BIN, MAGIC, SystemImage, SystemManifest};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What to name, where a file is of another kind.
const WANTED: &str = "a system image, a FILE.system or a FILE.contract, or a system's manifest and programs \
                      with --manifest and --bin";

/// The subject of a check.
pub enum Subject {
    /// A system image, a system's text or contracts.
    File(PathBuf),
    /// A system manifest and the programs that it names.
    Parts {
        /// The manifest, in one file or several.
        manifests: Vec<PathBuf>,
        /// Programs: name, module or image.
        programs: Vec<(String, PathBuf)>,
    },
}

impl Subject {
    /// The files that are named for it.
    fn files(&self) -> Vec<&PathBuf> {
        match self {
            Subject::File(path) => vec![path],
            Subject::Parts {
                manifests,
                programs,
            } => {
                let programs = programs.iter().map(|(_, path)| path);
                programs.chain(manifests).collect()
            }
        }
    }
}

/// The options of `sing check contracts`.
pub struct Request {
    /// The subject.
    pub subject: Subject,
    /// The most situations to explore.
    pub limit: usize,
    /// The assumptions about processes without a behaviour.
    pub assumptions: Assumptions,
    /// The file for a drawing of the first finding's run.
    pub svg: Option<PathBuf>,
    /// Whether another program reads the result.
    pub json: bool,
}

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A complete exploration found nothing.
    Sound,
    /// There is a finding.
    Faulty,
    /// Nothing was found, but the exploration is incomplete.
    Unknown,
    /// An option has no meaning for this subject; the error has been printed.
    Misused,
}

/// Checks every given system.
pub fn run(request: &Request) -> Result<Verdict, String> {
    if let Some(svg) = &request.svg {
        output::is_no_input(svg, request.subject.files())?;
    }
    let systems = match &request.subject {
        Subject::Parts {
            manifests,
            programs,
        } => vec![parts(manifests, programs, &request.assumptions)?],
        Subject::File(path) => {
            let bytes = input::read(path)?;
            let contracts = path.extension().is_some_and(|e| e == "contract");
            if !bytes.starts_with(MAGIC) {
                input::is_text(path, &bytes, WANTED)?;
            }
            if bytes.starts_with(MAGIC) {
                vec![packed(path, &bytes, &request.assumptions)?]
            } else if !request.assumptions.any.is_empty() || request.assumptions.closing {
                let instead = if contracts {
                    "both sides of a contract do whatever it allows; put them into a .system file, where \
                     `process client: any closing;` may close too"
                } else {
                    "a .system file says so itself: `process shell: any;` or `process shell: any closing;`"
                };
                output::complain(format!(
                    "sing: check: --any and --closing are for images, and {} is text; {instead}",
                    name_of(path)
                ));
                return Ok(Verdict::Misused);
            } else if contracts {
                let contracts = sing_contract::load_file(path).map_err(|e| all(&e))?;
                let tables = contracts.tables();
                if tables.is_empty() {
                    return Err(format!(
                        "{}: there is nothing to check: it declares no contract and imports none",
                        name_of(path)
                    ));
                }
                tables.iter().map(sing_conformance::alone).collect()
            } else {
                vec![sing_conformance::load_file(path).map_err(|e| all(&e))?]
            }
        }
    };
    let colour = std::io::stdout().is_terminal();
    let (mut faulty, mut complete) = (false, true);
    let mut drawn = false;
    let mut all = Vec::new();
    for system in &systems {
        let outcome = sing_conformance::check(system, request.limit);
        faulty |= !outcome.findings.is_empty();
        complete &= outcome.complete;
        if request.json {
            all.push(in_json(system, &outcome));
        } else {
            output::report(sing_conformance::report(system, &outcome, colour).trim_end());
        }
        if let (Some(path), Some(finding), false) = (&request.svg, outcome.findings.first(), drawn)
        {
            let picture = svg::svg(system, &finding.message, &finding.run, &finding.last);
            output::write(path, picture.as_bytes())?;
            drawn = true;
        }
    }
    if request.json {
        output::lines(format!("{:#}", Value::Array(all)));
    } else if request.svg.is_some() && !drawn {
        output::line("nothing to draw: no run leads to a finding");
    }
    Ok(match (faulty, complete) {
        (true, _) => Verdict::Faulty,
        (false, true) => Verdict::Sound,
        (false, false) => Verdict::Unknown,
    })
}

/// The result for a system, with each finding as the report has it.
fn in_json(system: &System, outcome: &Outcome) -> Value {
    let findings = outcome.findings.iter().map(|finding| {
        let who = finding.who.iter();
        let who = who.map(|(process, state)| json!({ "process": process, "state": state }));
        json!({
            "kind": finding.kind.name(),
            "message": finding.message,
            "report": finding.diagnostic(system).render(false),
            "notes": finding.notes,
            "help": finding.help,
            "who": who.collect::<Vec<_>>(),
            "run": chart::text(system, &finding.run, &finding.last),
            "steps": finding.run.len(),
        })
    });
    json!({
        "system": system.name,
        "complete": outcome.complete,
        "situations": outcome.situations,
        "steps": outcome.steps,
        "depth": outcome.depth,
        "findings": findings.collect::<Vec<_>>(),
        "notes": outcome.notes,
        "without_behavior": system.assumed().collect::<Vec<_>>(),
    })
}

/// Prints diagnostics one below the other.
fn all(found: &[Diagnostic]) -> String {
    let colour = std::io::stderr().is_terminal();
    let texts: Vec<String> = found.iter().map(|d| d.render(colour)).collect();
    format!("the system cannot be checked\n{}", texts.join("\n\n"))
}

/// The system in an archive.
fn packed(path: &Path, bytes: &[u8], assumptions: &Assumptions) -> Result<System, String> {
    let archive = SystemImage::decode(bytes).map_err(|e| format!("{}: {e}", name_of(path)))?;
    let programs: Vec<(&str, &[u8])> = archive
        .files()
        .filter(|(path, _)| path.starts_with(BIN))
        .collect();
    build(path, archive.manifest(), &programs, assumptions)
}

/// The system that a manifest and programs make.
fn parts(
    manifests: &[PathBuf],
    programs: &[(String, PathBuf)],
    assumptions: &Assumptions,
) -> Result<System, String> {
    let manifest = system::read_all(manifests)?;
    let files = system::compiled(programs)?;
    let path = manifests.first().map_or(Path::new(""), PathBuf::as_path);
    build(path, &manifest, &system::borrowed(&files), assumptions)
}

fn build(
    path: &Path,
    manifest: &SystemManifest,
    files: &[(&str, &[u8])],
    assumptions: &Assumptions,
) -> Result<System, String> {
    let name = name_of(path).to_string();
    let problems = system::check(manifest, files);
    if !problems.is_empty() {
        return Err(format!(
            "{name}: {}",
            problems
                .iter()
                .map(|problem| Shown(problem).to_string())
                .collect::<Vec<_>>()
                .join(&format!("\nsing: {name}: "))
        ));
    }
    let mut programs = BTreeMap::new();
    for (file, bytes) in files {
        let image = Image::decode(bytes).map_err(|e| format!("{}: {e}", Shown(file)))?;
        let name = file.strip_prefix(BIN).unwrap_or(file);
        programs.insert(name.to_owned(), image);
    }
    sing_conformance::installed(&name, manifest, &programs, assumptions).map_err(|e| all(&e))
}
