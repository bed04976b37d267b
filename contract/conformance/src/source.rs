//! Systems in source form: contracts, behaviours, processes and channels in one text.

use crate::ast;
use crate::machine::{self, Endpoint};
use crate::system::{Body, Channel, End, Process, System, too_large};
use crate::view::View;
use sing_contract::{Diagnostic, Severity, Source, Sources, Span};
use sing_image::contract::{ContractTable, Hash, identities};
use sing_image::manifest::Side;
use sing_image::shown::Shown;
use std::path::Path;
use std::sync::Arc;

type Loaded<T> = Result<T, Vec<Diagnostic>>;

/// Reads a system's file and the contracts that it imports; paths in it are relative to the file.
///
/// # Errors
/// The findings of the text, or that a file cannot be read.
pub fn load_file(path: &Path) -> Loaded<System> {
    let name = Shown(path.display()).to_string();
    let text = sing_contract::read_text(path).map_err(|e| {
        let message = format!("cannot read {name}: {e}");
        vec![Diagnostic::error(message, Span::default(), "")]
    })?;
    load(&name, &text, path.parent().unwrap_or(Path::new("")))
}

/// Reads a system's text; contracts that it imports lie in `folder`.
///
/// # Errors
/// The findings of the text.
pub fn load(name: &str, text: &str, folder: &Path) -> Loaded<System> {
    let mut errors = Vec::new();
    let parsed = sing_contract::behavior::system(text, &mut errors);
    let (Some((file, ranges)), true) = (parsed, errors.is_empty()) else {
        return Err(placed(errors, &sources(name, text.into())));
    };
    // The contract language sees the contracts where they stand, and behind the text what is
    // imported.
    let mut bytes = text.as_bytes().to_vec();
    for byte in ranges.into_iter().flatten() {
        if bytes[byte] != b'\n' {
            bytes[byte] = b' ';
        }
    }
    let mut imported = String::new();
    for import in &file.imports {
        let contracts = sing_contract::load_file(&folder.join(&import.text))?;
        imported += &contracts.text();
    }
    let contracts = String::from_utf8_lossy(&bytes).into_owned() + "\n" + &imported;
    let sources = sources(name, format!("{text}\n{imported}"));
    let tables = match sing_contract::load(&contracts) {
        Ok(contracts) => contracts.tables(),
        Err(found) => return Err(placed(found, &sources)),
    };
    // The compiler's tables have all that they refer to.
    let identities = identities(&tables).unwrap_or_else(|_| vec![Hash::default(); tables.len()]);
    let system = Builder {
        file: &file,
        identities,
        errors,
        system: System {
            name: name.into(),
            contracts: tables,
            sources: Arc::clone(&sources),
            ..System::default()
        },
    }
    .build();
    system.map_err(|found| placed(found, &sources))
}

/// A contract by itself: both its sides do whatever it allows.
#[must_use]
pub fn alone(table: &ContractTable) -> System {
    let process = |name: &str, side| Process {
        name: name.into(),
        body: Body::Any {
            ends: vec![(0, side)],
            closing: false,
        },
    };
    let end = |process| {
        Some(End {
            process,
            name: "channel".into(),
            view: None,
        })
    };
    System {
        name: format!("contract {}", table.name),
        contracts: vec![table.clone()],
        processes: vec![
            process("importer", Side::Imp),
            process("exporter", Side::Exp),
        ],
        channels: vec![Channel {
            contract: 0,
            ends: [end(0), end(1)],
        }],
        ..System::default()
    }
}

fn sources(name: &str, text: String) -> Sources {
    Arc::new(vec![Source {
        name: name.into(),
        text,
    }])
}

/// The most errors that one run reports. Who has found more than that looks no further.
pub(crate) const MOST_ERRORS: usize = 50;

/// Says of findings which texts their places lie in.
pub(crate) fn placed(mut found: Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    if found.len() > MOST_ERRORS {
        found.truncate(MOST_ERRORS);
        if let Some(last) = found.pop() {
            found.push(last.note("further findings are not shown"));
        }
    }
    for d in &mut found {
        d.set_sources(sources);
    }
    found
}

struct Builder<'a> {
    file: &'a ast::File,
    errors: Vec<Diagnostic>,
    system: System,
    /// Which contract each of the system's is.
    identities: Vec<Hash>,
}

impl Builder<'_> {
    fn build(mut self) -> Loaded<System> {
        let processes = self.file.processes.iter().map(|p| p.names.len()).sum();
        if let Some(why) = too_large(processes, self.file.channels.len()) {
            return Err(vec![Diagnostic::error(why, Span::default(), "")]);
        }
        self.processes();
        self.channels();
        for item in &self.file.processes {
            for name in &item.names {
                if self.errors.len() <= MOST_ERRORS {
                    self.body(item, &name.text);
                }
            }
        }
        if self.system.processes.is_empty() && self.errors.is_empty() {
            let error = Diagnostic::error("there is no process", Span::default(), "")
                .help("declare some: `process client { state Start: …; }`");
            self.errors.push(error);
        }
        let wrong = self.errors.iter().any(|d| d.severity == Severity::Error);
        if wrong {
            Err(self.errors)
        } else {
            Ok(self.system)
        }
    }

    fn processes(&mut self) {
        for item in &self.file.processes {
            for name in &item.names {
                if self.system.processes.iter().any(|p| p.name == name.text) {
                    let text = format!("process {} is declared twice", name.text);
                    self.errors
                        .push(Diagnostic::error(text, name.span, "declared again"));
                }
                let closing = matches!(item.body, ast::Body::Any { closing: true });
                self.system.processes.push(Process {
                    name: name.text.clone(),
                    // Those that have a behaviour get it when their channels are known.
                    body: Body::Any {
                        ends: Vec::new(),
                        closing,
                    },
                });
            }
        }
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.file.behaviors {
            if names.contains(&name.text.as_str()) {
                let text = format!("behavior {} is declared twice", name.text);
                self.errors
                    .push(Diagnostic::error(text, name.span, "declared again"));
            }
            names.push(&name.text);
        }
    }

    fn channels(&mut self) {
        for item in &self.file.channels {
            let name = &item.contract;
            let tables = &self.system.contracts;
            let Some(contract) = tables.iter().position(|t| t.name == name.text) else {
                let text = format!("there is no contract {}", name.text);
                let error = Diagnostic::error(text, name.span, "not declared");
                self.errors
                    .push(error.help("declare it here, or import the file that does"));
                continue;
            };
            if let Some(narrowing) = &tables[contract].narrows {
                let of = narrowing.of.first().map_or("", |(of, _)| of.as_str());
                let text = format!("{} is a permission, and makes no channels", name.text);
                self.errors.push(Diagnostic::error(text, name.span, "of which contract is the channel?").help(
                    format!("name the contract, and the permission with the end: `channel {of}: p.a as {} -> q.b;`", name.text),
                ));
                continue;
            }
            let index = self.system.channels.len();
            let mut ends = [None, None];
            for side in [Side::Imp, Side::Exp] {
                let (process, endpoint, held) = &item.ends[side.index()];
                let view = held.as_ref().and_then(|h| self.view(contract, h, side));
                let processes = &mut self.system.processes;
                let Some(p) = processes.iter().position(|p| p.name == process.text) else {
                    let text = format!("there is no process {}", process.text);
                    self.errors
                        .push(Diagnostic::error(text, process.span, "not declared"));
                    continue;
                };
                if let Body::Any { ends, .. } = &mut processes[p].body {
                    ends.push((index, side));
                }
                ends[side.index()] = Some(End {
                    process: p,
                    name: endpoint.text.clone(),
                    view,
                });
            }
            self.system.channels.push(Channel { contract, ends });
        }
    }

    /// The operations at an end of a channel that is held under another contract.
    fn view(&mut self, contract: usize, held: &ast::Name, side: Side) -> Option<View> {
        let tables = &self.system.contracts;
        let channel = &tables[contract];
        let Some(at) = tables.iter().position(|t| t.name == held.text) else {
            let text = format!("there is no contract {}", held.text);
            self.errors
                .push(Diagnostic::error(text, held.span, "not declared"));
            return None;
        };
        let table = &tables[at];
        // A channel begins in the first state of its contract.
        let (of, wanted) = (&self.identities[contract], &self.identities[at]);
        if !channel.stands_for(of, table, wanted, side, (0, 0)) {
            let text = format!(
                "{}.{} cannot stand for {}.{}",
                channel.name,
                side.name(),
                held.text,
                side.name()
            );
            let help = "an end can be held as one of a base whose expectations the contract keeps, or of a permission of that side";
            self.errors
                .push(Diagnostic::error(text, held.span, "held as this").help(help));
            return None;
        }
        Some(View::of(channel, table, side))
    }

    /// Gives a process its behaviour.
    fn body(&mut self, item: &ast::Process, name: &str) {
        let behavior = match &item.body {
            ast::Body::Any { .. } => return,
            ast::Body::Own(behavior) => behavior,
            ast::Body::Named(wanted) => {
                let all = &self.file.behaviors;
                match all.iter().find(|(b, _)| b.text == wanted.text) {
                    Some((_, behavior)) => behavior,
                    None => {
                        let text = format!("there is no behavior {}", wanted.text);
                        let error = Diagnostic::error(text, wanted.span, "not declared");
                        let help = format!("declare it with `behavior {} {{ … }}`", wanted.text);
                        self.errors.push(error.help(help));
                        return;
                    }
                }
            }
        };
        let processes = &self.system.processes;
        let Some(p) = processes.iter().position(|p| p.name == name) else {
            return;
        };
        let endpoints = self.endpoints(p);
        let contracts = &self.system.contracts;
        let machine = machine::lower(behavior, endpoints, contracts, &mut self.errors);
        self.system.processes[p].body = Body::Machine(machine);
    }

    /// The endpoints that channels lead to, in their order. Several channels to one name make it
    /// many endpoints.
    fn endpoints(&mut self, process: usize) -> Vec<Endpoint> {
        let mut all: Vec<Endpoint> = Vec::new();
        for (index, channel) in self.system.channels.iter().enumerate() {
            for side in [Side::Imp, Side::Exp] {
                let Some(end) = &channel.ends[side.index()] else {
                    continue;
                };
                if end.process != process {
                    continue;
                }
                let alike = |c: usize| self.system.view(c, side) == end.view.as_ref();
                match all.iter_mut().find(|e| e.name == end.name) {
                    None => all.push(Endpoint {
                        name: end.name.clone(),
                        contract: channel.contract,
                        side,
                        channels: vec![index],
                    }),
                    Some(known)
                        if known.contract == channel.contract
                            && known.side == side
                            && known.channels.iter().all(|&c| alike(c)) =>
                    {
                        known.channels.push(index);
                    }
                    Some(_) => {
                        let name = &self.file.channels[index].ends[side.index()].1;
                        let text = format!("endpoint {} is of two kinds", name.text);
                        let label = "another contract or side than before";
                        self.errors
                            .push(Diagnostic::error(text, name.span, label).help(
                                "several channels may lead to one name where all are of one contract and side",
                            ));
                    }
                }
            }
        }
        all
    }
}
