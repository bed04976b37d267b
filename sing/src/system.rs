//! Checks whether a system manifest and the given programs fit together: finds errors that would
//! otherwise show only when the system starts.

use crate::input;
use crate::output::name_of;
use sing_abi::names::CONTRACT_PREFIX;
use sing_compiler::Options;
use sing_image::contract::{ContractTable, Hash};
use sing_image::elf::Image;
use sing_image::manifest::{Manifest, Side, StartupEndpoint};
use sing_image::plan::{Plan, Programs};
use sing_image::shown::Shown;
use sing_image::system::{BIN, Channel, End, PLAN, SystemImage, SystemManifest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Reads a system manifest.
pub fn read(path: &Path) -> Result<SystemManifest, String> {
    let text = input::read(path)?;
    serde_json::from_slice(&text).map_err(|e| format!("{}: does not read: {e}", name_of(path)))
}

/// Reads several system manifests as one.
pub fn read_all(paths: &[PathBuf]) -> Result<SystemManifest, String> {
    let mut whole = SystemManifest::default();
    for path in paths {
        whole.add(read(path)?);
    }
    Ok(whole)
}

/// Reads programs, and compiles those that are modules.
pub fn compiled(programs: &[(String, PathBuf)]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = Vec::new();
    for (name, file) in programs {
        let image = input::image(file, input::read(file)?, &Options::default())?;
        files.push((format!("{BIN}{name}"), image));
    }
    Ok(files)
}

/// The programs of a system, by name.
pub type Images<'a> = BTreeMap<String, Image<'a>>;

/// Reads programs, given by their paths; and what is wrong with those that do not read.
pub fn images<'a>(files: &[(&str, &'a [u8])]) -> (Images<'a>, Vec<String>) {
    let mut problems = Vec::new();
    let mut images = BTreeMap::new();
    for (path, bytes) in files {
        match Image::decode(bytes) {
            Ok(image) => {
                let name = path.strip_prefix(BIN).unwrap_or(path);
                images.insert(name.to_owned(), image);
            }
            Err(e) => problems.push(format!("{path}: {e}")),
        }
    }
    (images, problems)
}

/// The images, for questions about who serves whom.
pub struct Installed<'a, 'i>(pub &'a Images<'i>);

impl Programs for Installed<'_, '_> {
    fn manifest(&self, image: &str) -> Option<&Manifest> {
        self.0.get(image).map(|image| &image.manifest)
    }

    fn fits(&self, server: (&str, &str), user: (&str, &str)) -> bool {
        let table = |(image, contract): (&str, &str)| known(self.0.get(image)?, contract);
        let (Some(server), Some(user)) = (table(server), table(user)) else {
            // A contract that an image has not is another fault.
            return true;
        };
        server
            .0
            .stands_for(server.1, user.0, user.1, Side::Exp, (0, 0))
    }
}

/// Describes each mismatch; empty if there is none. `files` are the programs, by their paths.
pub fn check(manifest: &SystemManifest, files: &[(&str, &[u8])]) -> Vec<String> {
    plan(manifest, files).err().unwrap_or_default()
}

/// How many versions of a contract the programs of a system may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    #[default]
    One,
    /// Any number: the kernel keeps those apart who have different ones.
    Any,
}

/// Infers what starts, in which order, and describes each mismatch if there is one.
pub fn plan(manifest: &SystemManifest, files: &[(&str, &[u8])]) -> Result<Plan, Vec<String>> {
    plan_with(manifest, files, Versions::One)
}

/// The same for a system whose contracts may have these versions.
pub fn plan_with(
    manifest: &SystemManifest,
    files: &[(&str, &[u8])],
    versions: Versions,
) -> Result<Plan, Vec<String>> {
    let (images, problems) = images(files);
    let mut checker = Checker {
        started: manifest.start.iter().map(|s| s.name.as_str()).collect(),
        instances: BTreeMap::new(),
        used: BTreeSet::new(),
        problems,
    };
    checker.starts(manifest, &images);
    for channel in &manifest.channels {
        checker.channel(channel);
    }
    checker.unconnected(manifest);
    let mut problems = checker.problems;
    if versions == Versions::One {
        two_texts(&images, &mut problems);
    }
    restricted(manifest, &images, &mut problems);
    match sing_image::plan::infer(manifest, &Installed(&images)) {
        Ok(plan) if problems.is_empty() => Ok(plan),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// Programs that mean different contracts by one name. They would start, and find at run time that
/// they cannot speak with each other. Of each name, the first program of each further text is named.
fn two_texts(images: &Images<'_>, problems: &mut Vec<String>) {
    let mut all: BTreeMap<&str, Vec<(&Hash, &str)>> = BTreeMap::new();
    for (program, image) in images {
        for (table, identity) in image.contracts.iter().zip(&image.identities) {
            let texts = all.entry(&table.name).or_default();
            if texts.iter().all(|(known, _)| *known != identity) {
                texts.push((identity, program));
            }
        }
    }
    for (contract, texts) in all {
        let Some(((_, first), others)) = texts.split_first() else {
            continue;
        };
        for (_, other) in others {
            problems.push(format!(
                "programs {first:?} and {other:?} mean different contracts by the name {contract:?}; \
                 build both from the same text, or give one of the contracts another name (`sing diff` \
                 of the two programs says how they differ)"
            ));
        }
    }
}

/// Programs that could use a contract which the manifest keeps for others: under its own name, or
/// under that of a contract which can stand in for it.
fn restricted(manifest: &SystemManifest, images: &Images<'_>, problems: &mut Vec<String>) {
    // Several manifests may each add programs of their own.
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for restricted in &manifest.restricted {
        let to = restricted.to.iter().map(String::as_str);
        all.entry(&restricted.contract).or_default().extend(to);
    }
    for (contract, to) in all {
        for name in to.iter().filter(|n| !images.contains_key(**n)) {
            problems.push(format!(
                "contract {contract:?} is kept for {name:?}, which is not there; add it with --bin \
                 {name}=FILE, or take it out of \"restricted\""
            ));
        }
        for (name, image) in images {
            if to.contains(name.as_str()) {
                continue;
            }
            let speaks = image.contracts.iter().find(|table| {
                let is_it = table.name == contract;
                let derives = table.bases.iter().any(|base| base.name == contract);
                let narrows = table.narrows.iter().flat_map(|n| &n.of);
                let narrows = narrows.into_iter().any(|(of, _)| of == contract);
                (is_it || derives || narrows) && uses(image, &table.name)
            });
            if let Some(table) = speaks {
                let to: Vec<&str> = to.iter().copied().collect();
                problems.push(format!(
                    "program {name:?} can use contract {:?}, which \"restricted\" keeps for {}; take the \
                     program out, or add it there",
                    table.name,
                    to.join(", ")
                ));
            }
        }
    }
}

/// Whether an image imports something of a contract's importing side.
fn uses(image: &Image<'_>, contract: &str) -> bool {
    image.meta.imports.iter().any(|import| {
        let of = import.module.strip_prefix(CONTRACT_PREFIX);
        of == Some(contract) && import.name.starts_with("imp.")
    })
}

/// The programs that a system manifest names, by the names of their images.
pub fn images_of(manifest: &SystemManifest) -> BTreeSet<&str> {
    let started = manifest.start.iter().map(|start| start.image.as_str());
    let services = manifest.services.iter();
    let services = services.map(|service| match service.image.as_str() {
        "" => service.name.as_str(),
        image => image,
    });
    started.chain(services).collect()
}

/// Files as [`check`] takes them.
pub fn borrowed(files: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
    let all = files.iter();
    all.map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect()
}

/// A system image of a manifest and files, to which its plan is added. The programs among them are
/// checked.
///
/// # Errors
/// All that does not fit together.
pub fn pack(
    manifest: &SystemManifest,
    files: Vec<(String, Vec<u8>)>,
) -> Result<Vec<u8>, Vec<String>> {
    let files = planned(manifest, files)?;
    encode(manifest, &files).map_err(|e| vec![e])
}

/// The things that do not fit together, in one line for people: it has names of who knows whose programs.
pub fn in_a_line(problems: &[String]) -> String {
    Shown(problems.join("; ")).to_string()
}

/// The same as [`pack`], for a file that is mapped when the system starts.
pub fn pack_for_mapping(
    manifest: &SystemManifest,
    files: Vec<(String, Vec<u8>)>,
) -> Result<Vec<u8>, Vec<String>> {
    let files = planned(manifest, files)?;
    SystemImage::encode_for_mapping(manifest, &listed(&files)).map_err(|e| vec![e.to_string()])
}

/// These files with the plan of the services.
fn planned(
    manifest: &SystemManifest,
    mut files: Vec<(String, Vec<u8>)>,
) -> Result<Vec<(String, Vec<u8>)>, Vec<String>> {
    let mut programs = borrowed(&files);
    programs.retain(|(path, _)| path.starts_with(BIN));
    let plan = plan(manifest, &programs)?;
    let plan = plan.encode().map_err(|e| vec![e.to_string()])?;
    files.push((PLAN.into(), plan));
    Ok(files)
}

/// A system image of a manifest and files.
pub fn encode(manifest: &SystemManifest, files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, String> {
    SystemImage::encode(manifest, &listed(files)).map_err(|e| e.to_string())
}

/// Files as [`SystemImage::encode`] takes them.
fn listed(files: &[(String, Vec<u8>)]) -> Vec<(String, &[u8])> {
    let all = files.iter();
    all.map(|(path, bytes)| (path.clone(), bytes.as_slice()))
        .collect()
}

struct Checker<'a> {
    /// Names of instances.
    started: BTreeSet<&'a str>,
    /// Started programs by the names of their instances.
    instances: BTreeMap<&'a str, &'a Image<'a>>,
    /// Endpoints with a channel: instance and endpoint.
    used: BTreeSet<(&'a str, &'a str)>,
    problems: Vec<String>,
}

impl<'a> Checker<'a> {
    fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    fn starts(&mut self, manifest: &'a SystemManifest, images: &'a BTreeMap<String, Image<'a>>) {
        for start in &manifest.start {
            let Some(image) = images.get(&start.image) else {
                self.problem(format!(
                    "{:?} starts image {:?}, which is not there; add it with --bin {}=FILE",
                    start.name, start.image, start.image
                ));
                continue;
            };
            if self.instances.insert(&start.name, image).is_some() {
                self.problem(format!(
                    "two programs are started under the name {:?}",
                    start.name
                ));
            }
        }
    }

    fn channel(&mut self, channel: &'a Channel) {
        let images = [Side::Imp, Side::Exp].map(|side| {
            let of = channel.end(side).of.as_str();
            self.instances.get(of).copied()
        });
        let tables: Vec<Known<'_>> = images
            .iter()
            .flatten()
            .filter_map(|image| known(image, &channel.contract))
            .collect();
        let mut all_known = true;
        for side in [Side::Imp, Side::Exp] {
            let end = channel.end(side);
            let Some(image) = images[side.index()] else {
                all_known = false;
                // It is started but its image is missing; that has been reported.
                if !self.started.contains(end.of.as_str()) {
                    self.problem(format!(
                        "a channel of contract {:?} leads to {:?}, which is not started",
                        channel.contract, end.of
                    ));
                }
                continue;
            };
            self.end(channel, side, end, image, tables.first().copied());
        }
        match tables.as_slice() {
            // Two texts by one name are reported of the whole image.
            [] if all_known => {
                let declared = [Side::Imp, Side::Exp].into_iter().find_map(|side| {
                    let endpoints = &images[side.index()]?.manifest.endpoints;
                    let wanted = &channel.end(side).endpoint;
                    endpoints.iter().find(|e| e.name == *wanted)
                });
                let has = declared.map_or(String::new(), |e| {
                    format!("; endpoint {:?} is of {:?}", e.name, e.contract)
                });
                self.problem(format!(
                    "the channel between {:?} of {:?} and {:?} of {:?}: neither knows the contract {:?}{has}",
                    channel.imp.endpoint,
                    channel.imp.of,
                    channel.exp.endpoint,
                    channel.exp.of,
                    channel.contract
                ));
            }
            _ => {}
        }
    }

    fn end(
        &mut self,
        channel: &'a Channel,
        side: Side,
        end: &'a End,
        image: &Image<'_>,
        contract: Option<Known<'_>>,
    ) {
        let place = format!("endpoint {:?} of {:?}", end.endpoint, end.of);
        let declared = image
            .manifest
            .endpoints
            .iter()
            .find(|e| e.name == end.endpoint);
        let Some(declared) = declared else {
            let names: Vec<&str> = image
                .manifest
                .endpoints
                .iter()
                .map(|e| e.name.as_str())
                .collect();
            let has = if names.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            };
            self.problem(format!("there is no {place}; its manifest declares {has}"));
            return;
        };
        if declared.side != side {
            self.problem(format!(
                "{place} is the {} side, but the channel uses it as the {} side",
                declared.side.name(),
                side.name()
            ));
        }
        // One of the same name is another text, which is reported of the whole image.
        let named = declared.contract == channel.contract;
        if contract.is_some_and(|contract| !named && !stands_for(contract, declared, image)) {
            self.problem(format!(
                "{place} is of contract {:?}, but the channel is of contract {:?}",
                declared.contract, channel.contract
            ));
        }
        if let Some(state) = &declared.state {
            let table = image.contracts.iter().find(|c| c.name == declared.contract);
            let first = table.and_then(|t| t.states.first());
            if first.is_some_and(|first| first != state) {
                self.problem(format!(
                    "{place} must be in state {state:?}, but a new channel is in state {:?}",
                    first.map_or("", String::as_str)
                ));
            }
        }
        if !self.used.insert((&end.of, &end.endpoint)) && !declared.many {
            self.problem(format!("two channels lead to {place}"));
        }
    }

    /// Required endpoints that are not given.
    fn unconnected(&mut self, manifest: &'a SystemManifest) {
        for start in &manifest.start {
            let Some(image) = self.instances.get(start.name.as_str()).copied() else {
                continue;
            };
            for endpoint in &image.manifest.endpoints {
                let given = self
                    .used
                    .contains(&(start.name.as_str(), endpoint.name.as_str()));
                if !given && !endpoint.optional && !endpoint.many {
                    self.problem(format!(
                        "no channel leads to endpoint {:?} of {:?} (contract {:?}), which it must have",
                        endpoint.name, start.name, endpoint.contract
                    ));
                }
            }
        }
    }
}

/// A contract of an image, with its identity.
type Known<'a> = (&'a ContractTable, &'a Hash);

/// The contract with this name in an image.
fn known<'a>(image: &'a Image<'_>, name: &str) -> Option<Known<'a>> {
    let mut all = image.contracts.iter().zip(&image.identities);
    all.find(|(table, _)| table.name == name)
}

/// Whether an end of a new channel of a contract can be used as a program's declared endpoint: as
/// one of this contract, of a base whose expectations it keeps, or of a permission to which it can
/// be narrowed.
fn stands_for(contract: Known<'_>, declared: &StartupEndpoint, image: &Image<'_>) -> bool {
    let Some((wanted, wanted_identity)) = known(image, &declared.contract) else {
        return false;
    };
    let (contract, identity) = contract;
    // A new channel is in the first state; a declaration of another state is reported separately.
    contract.stands_for(identity, wanted, wanted_identity, declared.side, (0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_in_a_line_are_one_line_that_no_terminal_obeys() {
        let problems = [
            "/bin/a\nsing: all is well: no module".into(),
            "\u{1b}[2J".into(),
        ];
        let said = "/bin/a\\nsing: all is well: no module; \\u{1b}[2J";
        assert_eq!(in_a_line(&problems), said);
    }
}
