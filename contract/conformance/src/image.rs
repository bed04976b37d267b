//! Systems as they are installed: programs with their manifests, connected as the system manifest
//! says.
//!
//! A program's behaviour stands in its manifest. That it is true of the module is checked as far as
//! imports tell: a module can send only what it imports, so those are the messages that its
//! behaviour sends.

mod held;

use crate::ast::Span;
use crate::machine::{self, Act, Endpoint, Machine};
use crate::source::{MOST_ERRORS, placed};
use crate::system::{Body, Channel, End, Process, System, too_large};
use sing_contract::{Diagnostic, Source};
use sing_image::contract::{ContractTable, Hash, Word};
use sing_image::elf::Image;
use sing_image::manifest::{Side, StartupEndpoint};
use sing_image::system::SystemManifest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The assumptions about processes whose behaviour is unknown.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    /// Processes that are to do whatever their contracts allow, though they have behaviours.
    pub any: Vec<String>,
    /// Whether those without a behaviour may close their endpoints at any time.
    pub closing: bool,
}

/// The system that a manifest describes. `programs` are the images that it names.
///
/// # Errors
/// Behaviours that do not parse or do not fit their programs, and what is missing.
pub fn installed(
    name: &str,
    manifest: &SystemManifest,
    programs: &BTreeMap<String, Image<'_>>,
    assumptions: &Assumptions,
) -> Result<System, Vec<Diagnostic>> {
    let mut builder = Builder {
        system: System {
            name: name.into(),
            ..System::default()
        },
        images: Vec::new(),
        identities: Vec::new(),
        sources: Vec::new(),
        errors: Vec::new(),
    };
    match too_large(manifest.start.len(), manifest.channels.len()) {
        Some(why) => builder.problem(why),
        None => {
            builder.processes(manifest, programs, assumptions.closing);
            builder.channels(manifest);
            builder.bodies(&assumptions.any);
            builder.unstarted(manifest, programs);
            builder.unfollowed();
            // Endpoints without a channel have made some.
            let system = &builder.system;
            if let Some(why) = too_large(system.processes.len(), system.channels.len()) {
                builder.problem(why);
            }
        }
    }
    let sources = Arc::new(builder.sources);
    if builder.errors.is_empty() {
        builder.system.sources = sources;
        Ok(builder.system)
    } else {
        Err(placed(builder.errors, &sources))
    }
}

struct Builder<'a> {
    system: System,
    /// The image of each process.
    images: Vec<&'a Image<'a>>,
    /// Which contract each of the system's is.
    identities: Vec<Hash>,
    sources: Vec<Source>,
    errors: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    /// Records what is wrong with no place in a text.
    fn problem(&mut self, text: String) {
        let nowhere = Span {
            source: u32::MAX,
            ..Span::default()
        };
        self.errors.push(Diagnostic::error(text, nowhere, ""));
    }

    fn processes(
        &mut self,
        manifest: &SystemManifest,
        programs: &'a BTreeMap<String, Image<'a>>,
        closing: bool,
    ) {
        for start in &manifest.start {
            let Some(image) = programs.get(&start.image) else {
                self.problem(format!(
                    "{} starts image {}, which is not there",
                    start.name, start.image
                ));
                continue;
            };
            self.images.push(image);
            self.system.processes.push(Process {
                name: start.name.clone(),
                body: Body::Any {
                    ends: Vec::new(),
                    closing,
                },
            });
        }
    }

    /// Index of a contract that one of these programs has.
    fn contract(&mut self, name: &str, holders: &[Option<usize>]) -> Option<usize> {
        if let Some(i) = self.system.contracts.iter().position(|t| t.name == name) {
            return Some(i);
        }
        let images = holders.iter().flatten().map(|&p| self.images[p]);
        let mut tables = images.flat_map(|image| image.contracts.iter().zip(&image.identities));
        match tables.find(|(t, _)| t.name == name) {
            Some((table, identity)) => {
                self.system.contracts.push(table.clone());
                self.identities.push(*identity);
                Some(self.system.contracts.len() - 1)
            }
            None => {
                self.problem(format!("no program at either end knows contract {name}"));
                None
            }
        }
    }

    fn channels(&mut self, manifest: &SystemManifest) {
        for channel in &manifest.channels {
            let holders = [Side::Imp, Side::Exp].map(|side| {
                let all = &self.system.processes;
                all.iter().position(|p| p.name == channel.end(side).of)
            });
            let Some(contract) = self.contract(&channel.contract, &holders) else {
                continue;
            };
            let index = self.system.channels.len();
            let mut ends = [None, None];
            for side in [Side::Imp, Side::Exp] {
                let end = channel.end(side);
                let Some(process) = holders[side.index()] else {
                    self.problem(format!(
                        "a channel leads to {}, which is not started",
                        end.of
                    ));
                    continue;
                };
                if let Body::Any { ends, .. } = &mut self.system.processes[process].body {
                    ends.push((index, side));
                }
                ends[side.index()] = Some(End {
                    process,
                    name: end.endpoint.clone(),
                    view: held::view(
                        self.images[process],
                        &self.system.contracts[contract],
                        &self.identities[contract],
                        &end.endpoint,
                        side,
                    ),
                });
            }
            self.system.channels.push(Channel { contract, ends });
        }
    }

    fn bodies(&mut self, any: &[String]) {
        for name in any {
            if !self.system.processes.iter().any(|p| p.name == *name) {
                let all = self.system.processes.iter().map(|p| p.name.as_str());
                let all = all.collect::<Vec<_>>().join(", ");
                self.problem(format!(
                    "there is no process {name} that could do anything; there are {all}"
                ));
            }
        }
        for p in 0..self.system.processes.len() {
            let image = self.images[p];
            let ignored = any.contains(&self.system.processes[p].name);
            if ignored || image.manifest.behavior.trim().is_empty() {
                continue;
            }
            let declared = image.manifest.endpoints.iter();
            let endpoints = declared.filter_map(|e| self.endpoint(p, e)).collect();
            if let Some(machine) = self.machine(image, endpoints) {
                self.system.processes[p].body = Body::Machine(machine);
            }
        }
    }

    /// Programs that are there but not started by the system: what they say of themselves must be
    /// true all the same.
    fn unstarted(&mut self, manifest: &SystemManifest, programs: &'a BTreeMap<String, Image<'a>>) {
        for (name, image) in programs {
            let started = manifest.start.iter().any(|s| s.image == *name);
            if started || image.manifest.behavior.trim().is_empty() {
                continue;
            }
            let tables = std::mem::replace(&mut self.system.contracts, image.contracts.clone());
            let endpoints = image
                .manifest
                .endpoints
                .iter()
                .filter_map(|e| {
                    let contract = image.contracts.iter().position(|t| t.name == e.contract);
                    Some(Endpoint {
                        name: e.name.clone(),
                        contract: contract?,
                        side: e.side,
                        channels: Vec::new(),
                    })
                })
                .collect();
            let _ = self.machine(image, endpoints);
            self.system.contracts = tables;
        }
    }

    /// The behaviour in a program's manifest, held against its module.
    fn machine(&mut self, image: &Image<'_>, endpoints: Vec<Endpoint>) -> Option<Machine> {
        if self.errors.len() > MOST_ERRORS {
            return None;
        }
        let source = self.sources.len() as u32;
        self.sources.push(Source {
            name: format!("behavior of {}", image.manifest.name),
            text: image.manifest.behavior.clone(),
        });
        let before = self.errors.len();
        let text = &image.manifest.behavior;
        let behavior = sing_contract::behavior::behavior(source, text, &mut self.errors)?;
        let contracts = &self.system.contracts;
        let machine = machine::lower(&behavior, endpoints, contracts, &mut self.errors);
        if self.errors.len() == before {
            let first = behavior.states[0].name.span;
            self.errors
                .extend(differences(image, &machine, contracts, first));
        }
        Some(machine)
    }

    /// A declared endpoint with its channels. One that was not given, to a process that starts
    /// without it, is an end of a channel whose other end is closed.
    fn endpoint(&mut self, process: usize, declared: &StartupEndpoint) -> Option<Endpoint> {
        let side = declared.side;
        let mut channels: Vec<usize> = (0..self.system.channels.len())
            .filter(|&c| {
                self.system.channels[c].ends[side.index()]
                    .as_ref()
                    .is_some_and(|e| e.process == process && e.name == declared.name)
            })
            .collect();
        let contract = match channels.first() {
            Some(&c) => self.system.channels[c].contract,
            None => self.contract(&declared.contract, &[Some(process)])?,
        };
        if channels.is_empty() && !declared.many {
            let mut ends = [None, None];
            ends[side.index()] = Some(End {
                process,
                name: declared.name.clone(),
                view: None,
            });
            channels.push(self.system.channels.len());
            self.system.channels.push(Channel { contract, ends });
        }
        Some(Endpoint {
            name: declared.name.clone(),
            contract,
            side,
            channels,
        })
    }

    /// Says which messages carry endpoints, as what is said over those is not looked at.
    fn unfollowed(&mut self) {
        let used: BTreeSet<usize> = self.system.channels.iter().map(|c| c.contract).collect();
        let mut names = Vec::new();
        for contract in used {
            let table = &self.system.contracts[contract];
            for message in &table.messages {
                if message
                    .words
                    .iter()
                    .any(|w| matches!(w, Word::Endpoint { .. }))
                {
                    names.push(format!("{} of {}", message.name, table.name));
                }
            }
        }
        if !names.is_empty() {
            self.system.notes.push(format!(
                "channels whose ends are passed on in messages are not followed: {}",
                names.join(", ")
            ));
        }
    }
}

/// The differences between the messages that a module can send at its start-up endpoints and those
/// of its behaviour.
fn differences(
    image: &Image<'_>,
    machine: &Machine,
    contracts: &[ContractTable],
    first: Span,
) -> Vec<Diagnostic> {
    let program = &image.manifest.name;
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for declared in &image.manifest.endpoints {
        let (contract, side) = (declared.contract.as_str(), declared.side);
        if !seen.insert((contract, side.index())) {
            continue;
        }
        let imported = held::imported(image, contract, side);
        let same = |endpoint: usize| {
            let name = &machine.endpoints[endpoint].name;
            let all = &image.manifest.endpoints;
            all.iter()
                .any(|e| e.name == *name && e.contract == contract && e.side == side)
        };
        let mut sent = BTreeSet::new();
        for edge in machine.nodes.iter().flat_map(|n| &n.edges) {
            let Act::Send {
                endpoint, message, ..
            } = edge.act
            else {
                continue;
            };
            if !same(endpoint) {
                continue;
            }
            let table = &contracts[machine.endpoints[endpoint].contract];
            let name = table.messages[usize::from(message)].name.as_str();
            if sent.insert(name) && !imported.contains(name) {
                let text =
                    format!("the behavior of {program} sends {name}, which its module cannot");
                found.push(
                    Diagnostic::error(
                        text,
                        edge.span,
                        format!("{contract} / {name} is not imported"),
                    )
                    .help("a behavior says what the program does: take out what it does not"),
                );
            }
        }
        for name in imported.iter().filter(|n| !sent.contains(*n)) {
            let text =
                format!("the module of {program} can send {name}, which its behavior never does");
            found.push(
                Diagnostic::error(
                    text,
                    first,
                    format!("nothing here sends {name} of {contract}"),
                )
                .help("say in the behavior where the program sends it"),
            );
        }
    }
    found
}
