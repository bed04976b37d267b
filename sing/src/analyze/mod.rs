//! `sing analyze`: what a sealed program can do at most, by its code: what it can send and to whom,
//! the kernel's entries that it reaches, the depth of its stack, the sizes of its functions and of the
//! data that they use.
//!
//! It is known because a program is closed: no code comes to it later, and every call by a table or a
//! reference goes to a function of its type. What is reported may be more than what ever happens, and
//! never less.

mod data;
mod report;
mod stack;

use crate::output::name_of;
use crate::{input, output};
use serde_json::{Value, json};
use sing_abi::{entry, names};
use sing_compiler::Options;
use sing_compiler::graph::{Graph, Import};
use sing_compiler::uses::Uses;
use sing_image::contract::ContractTable;
use sing_image::elf::Image;
use sing_image::manifest::{STACK_RESERVE, Side};
use sing_image::meta::Func;
use stack::{Depth, Frames};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub file: PathBuf,
    pub options: Options,
    /// For a program instead of for a reader.
    pub json: bool,
    /// Whether each function is listed.
    pub functions: bool,
    /// The import to which a way of calls is asked for, as the report names it.
    pub way: Option<String>,
}

/// Analyses a module and prints what was found.
pub fn run(request: &Request) -> Result<bool, String> {
    let name = name_of(&request.file);
    let bytes = input::read(&request.file)?;
    let module = input::module(&request.file, &bytes)?;
    let image = input::elf(
        &input::compile(&request.file, &bytes, &request.options)?,
        &request.file,
    )?;
    let image = Image::decode(&image).map_err(|e| format!("{name}: {e}"))?;
    let graph = Graph::of(&module).map_err(|e| format!("{name}: {e}"))?;
    let program = Program::new(&graph, &image);
    if let Some(wanted) = &request.way {
        let way = program.way(wanted)?;
        match request.json {
            true => output::json(pretty(&json!(way))?),
            false => way.iter().for_each(output::line),
        }
        return Ok(true);
    }
    let uses = Uses::of(&module, &graph).map_err(|e| format!("{name}: {e}"))?;
    let each = request.functions.then_some(Each {
        pieces: request.json,
    });
    let found = program.found(&uses, each);
    match request.json {
        true => output::json(pretty(&found)?),
        false => report::print(&found),
    }
    Ok(true)
}

fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|e| e.to_string())
}

/// What is told of each function.
struct Each {
    /// Whether all pieces of data are listed that it names: each function may name all of them, and the
    /// report has only their sum.
    pieces: bool,
}

/// A program with what is known of its calls.
struct Program<'a> {
    graph: &'a Graph,
    image: &'a Image<'a>,
    frames: Frames,
    reached: Vec<Option<usize>>,
}

/// What a program does on a contract.
#[derive(Default)]
struct Talk {
    sends: BTreeSet<String>,
    receives: bool,
    makes: bool,
}

impl<'a> Program<'a> {
    fn new(graph: &'a Graph, image: &'a Image<'a>) -> Program<'a> {
        Program {
            graph,
            image,
            frames: Frames::new(graph, image),
            reached: graph.reached(),
        }
    }

    /// The name of a node.
    fn name(&self, node: usize) -> String {
        let first = self.graph.imports.len();
        if let Some(import) = self.graph.imports.get(node) {
            return called(import);
        }
        if node < self.graph.functions {
            let func = self.image.meta.funcs.get(node - first);
            return func.map_or_else(|| format!("function {node}"), |func| func.name.to_string());
        }
        let ty = &self.graph.types[node - self.graph.functions];
        format!("any function {ty} that a table or a reference holds")
    }

    /// The shortest way of calls from an export to an import.
    fn way(&self, wanted: &str) -> Result<Vec<String>, String> {
        let find = |import: &Import| import.name == wanted || called(import) == wanted;
        let found = self.graph.imports.iter().position(find);
        let Some(mut node) = found.filter(|node| self.reached[*node].is_some()) else {
            return Err(match found {
                Some(_) => format!("nothing that can run reaches {wanted}"),
                None => format!(
                    "the module imports no {wanted:?}; without --way, its imports are listed"
                ),
            });
        };
        let mut way = vec![self.name(node)];
        while let Some(from) = self.reached[node].filter(|from| *from != node) {
            way.push(self.name(from));
            node = from;
        }
        way.reverse();
        Ok(way)
    }

    /// All that is known, as it is given to programs.
    fn found(&self, uses: &Uses, each: Option<Each>) -> Value {
        let manifest = &self.image.manifest;
        let (contracts, entries) = self.imports();
        let idle = self.unreached_imports();
        let contracts: Vec<Value> = contracts
            .iter()
            .map(|(name, talk)| {
                json!({
                    "contract": name,
                    "sends": talk.sends,
                    "receives": talk.receives,
                    "makes_channels": talk.makes,
                    "with": self.peers(name),
                    // Whoever gives it an endpoint.
                    "from_messages": true,
                })
            })
            .collect();
        let mut found = json!({
            "program": manifest.name,
            "contracts": contracts,
            "kernel_entries": entries,
            "kernel_instructions": self.instructions(),
            "privileges": manifest.privileges,
            "imports_never_reached": idle,
            "regions_without_allocation": self.regions(),
            "stack": self.stack(),
            "code": self.code(),
            "data": self.data(uses),
        });
        if let Some(each) = each {
            found["functions"] = self.functions(uses, &each);
        }
        found
    }

    /// With whom a program may talk by a contract, as its manifest says. An endpoint that is
    /// declared by a base may be used by a derived contract or a permission, and the other way
    /// round.
    fn peers(&self, contract: &str) -> Vec<String> {
        let manifest = &self.image.manifest;
        let is = |other: &str| other == contract || self.are_kin(contract, other);
        let endpoints = manifest.endpoints.iter().filter(|e| is(&e.contract));
        let endpoints = endpoints.map(|e| format!("start-up endpoint {:?}", e.name));
        let uses = manifest.uses.iter().filter(|u| is(&u.contract));
        let uses = uses.map(|u| format!("whoever serves {}", u.path));
        let serves = manifest.serves.iter().filter(|s| is(&s.contract));
        let serves = serves.map(|s| format!("its clients, as {}", s.name));
        endpoints.chain(uses).chain(serves).collect()
    }

    /// Whether one of two contracts is a base of the other, or what it narrows.
    fn are_kin(&self, one: &str, other: &str) -> bool {
        let above = |name: &str| {
            let table = self.image.contracts.iter().find(|c| c.name == name);
            table.map_or(Vec::new(), ancestors)
        };
        above(one).iter().any(|n| n == other) || above(other).iter().any(|n| n == one)
    }

    /// What is said on each contract, and the kernel's entries.
    fn imports(&self) -> (BTreeMap<String, Talk>, BTreeSet<String>) {
        let mut contracts = BTreeMap::<String, Talk>::new();
        let mut entries = BTreeSet::new();
        let imports = self.graph.imports.iter().zip(&self.reached);
        for (import, _) in imports.filter(|(_, from)| from.is_some()) {
            let Some(contract) = import.module.strip_prefix(names::CONTRACT_PREFIX) else {
                entries.insert(import.name.clone());
                continue;
            };
            let talk = contracts.entry(contract.into()).or_default();
            match import.name.as_str() {
                names::NEW_CHANNEL => talk.makes = true,
                names::IMP_RECV | names::EXP_RECV => talk.receives = true,
                names::IMP_CAST | names::EXP_CAST => {}
                operation => {
                    let prefixes = [
                        (names::IMP_SEND, Side::Imp),
                        (names::EXP_SEND, Side::Exp),
                        (names::IMP_CALL, Side::Imp),
                        (names::EXP_CALL, Side::Exp),
                    ];
                    for (prefix, side) in prefixes {
                        let Some(message) = operation.strip_prefix(prefix) else {
                            continue;
                        };
                        talk.sends.insert(format!("{}.{message}", side.name()));
                        talk.receives |= [names::IMP_CALL, names::EXP_CALL].contains(&prefix);
                    }
                }
            }
        }
        (contracts, entries)
    }

    /// The instructions that are calls of the kernel, in functions that can run.
    fn instructions(&self) -> BTreeSet<&'static str> {
        let entering = self.graph.entering.iter();
        let entering = entering.filter(|(node, _)| self.reached[*node].is_some());
        entering.map(|(_, name)| *name).collect()
    }

    fn unreached_imports(&self) -> Vec<String> {
        let imports = self.graph.imports.iter().zip(&self.reached);
        let idle = imports.filter(|(_, from)| from.is_none());
        idle.map(|(import, _)| called(import)).collect()
    }

    fn stack(&self) -> Value {
        let usable = self.image.manifest.stack_bytes() - STACK_RESERVE;
        let told = |depth: Depth| match depth {
            Depth::Bounded(bytes, path) => json!({
                "bytes": bytes,
                "path": path.iter().map(|node| self.framed(*node)).collect::<Vec<_>>(),
            }),
            Depth::Unbounded(circles, groups) => json!({
                "bytes": null,
                "groups": groups,
                "circles": circles
                    .iter()
                    .map(|circle| circle.iter().map(|node| self.name(*node)).collect())
                    .collect::<Vec<Vec<String>>>(),
            }),
        };
        json!({
            "usable": usable,
            "greatest": told(stack::depth(self.graph, &self.frames, true)),
            "without_calls_by_type": told(stack::depth(self.graph, &self.frames, false)),
        })
    }

    /// A function with its frame.
    fn framed(&self, node: usize) -> Value {
        json!({ "name": self.name(node), "frame": self.frames.of[node] })
    }

    /// The functions of the module's own, with their nodes. Behind them in the image are those that
    /// the compiler has added.
    fn own(&self) -> impl Iterator<Item = (usize, &Func)> {
        let nodes = self.graph.imports.len()..self.graph.functions;
        nodes.zip(&self.image.meta.funcs)
    }

    /// The code of the image, and what nothing reaches: how many functions, their bytes in the image,
    /// where they are left out unless that was asked for, and in the module.
    fn code(&self) -> Value {
        let idle = self.own().filter(|(node, _)| self.reached[*node].is_none());
        let (mut functions, mut bytes, mut of_module) = (0, 0, 0);
        for (node, func) in idle {
            functions += 1;
            bytes += u64::from(func.size);
            of_module += self.graph.bodies[node];
        }
        json!({
            "bytes": self.image.code.len(),
            "functions": self.own().count(),
            "unreached": {
                "bytes": bytes,
                "functions": functions,
                "module_bytes": of_module,
            },
        })
    }

    /// The parts of the program that allocate nothing, which the installer has checked.
    fn regions(&self) -> Value {
        let regions = self.graph.without_allocation().map(|region| {
            json!({
                "name": region.name,
                "function": self.name(region.function),
                "functions": self.graph.functions_of(&region),
            })
        });
        regions.collect()
    }

    /// Each function, the largest first.
    fn functions(&self, uses: &Uses, each: &Each) -> Value {
        let data = data::ByFunction::of(uses);
        let mut all: Vec<_> = self.own().collect();
        all.sort_by_key(|(node, func)| (std::cmp::Reverse(func.size), *node));
        let rows = all.iter().map(|(node, func)| {
            let mut row = json!({
                "index": node,
                "name": func.name,
                "code": func.size,
                "data": data.bytes(*node),
                "data_alone": data.alone(*node),
                "frame": self.frames.of[*node],
                "reached": self.reached[*node].is_some(),
            });
            if each.pieces {
                row["data_pieces"] = data.pieces(*node);
            }
            row
        });
        rows.collect()
    }
}

/// The names of the contracts that one is derived from, or narrows.
fn ancestors(table: &ContractTable) -> Vec<String> {
    let narrowed = table.narrows.iter().flat_map(|n| &n.of);
    let narrowed = narrowed.map(|(name, _)| name.clone());
    let bases = table.bases.iter().map(|base| base.name.clone());
    bases.chain(narrowed).collect()
}

/// An import as the report names it.
fn called(import: &Import) -> String {
    let contract = import.module.strip_prefix(names::CONTRACT_PREFIX);
    match contract {
        Some(contract) => format!("{contract}.{}", import.name),
        None => import.name.clone(),
    }
}

/// The privilege that an entry of the kernel needs.
fn privilege(name: &str) -> Option<&'static str> {
    match entry::find(name)?.access {
        entry::Access::Privileged(privilege) => Some(privilege.name()),
        _ => None,
    }
}
