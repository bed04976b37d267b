//! `sing inspect --json`: the same parts for another program.

use super::{View, kind_of};
use serde_json::{Map, Value, json};
use sing_image::contract::{ContractTable, Direction};
use sing_image::elf::Image;
use sing_image::manifest::Side;
use sing_image::meta::{MemoryMode, Meta};
use sing_image::system::{BIN, SystemImage};

/// The contents of a system image.
pub(super) fn archived(archive: &SystemImage<'_>, size: usize) -> Value {
    let starts = archive.manifest().start.iter();
    let files = |program: bool| {
        let files = archive.files();
        let files = files.filter(move |(path, _)| path.starts_with(BIN) == program);
        let files = files.map(|(path, bytes)| {
            let name = path.strip_prefix(BIN).unwrap_or(path);
            json!({ "name": name, "bytes": bytes.len() })
        });
        files.collect::<Vec<_>>()
    };
    json!({
        "bytes": size,
        "starts": starts.map(|start| start.name.as_str()).collect::<Vec<_>>(),
        "programs": files(true),
        "files": files(false),
    })
}

/// The views of an image, each under its name; its sizes if none is named.
pub(super) fn parts(image: &Image<'_>, size: usize, views: &[View]) -> Result<Value, String> {
    let mut all = Map::new();
    if views.is_empty() {
        return Ok(summary(image, size));
    }
    for view in views {
        let (name, value) = match view {
            View::Imports => ("imports", imports(&image.meta)),
            View::Contracts => (
                "contracts",
                image.contracts.iter().map(contract).collect::<Value>(),
            ),
            View::Manifest => {
                let manifest = serde_json::to_value(&image.manifest);
                ("manifest", manifest.map_err(|e| e.to_string())?)
            }
            View::Functions => ("functions", functions(&image.meta)),
            View::Disassembly(_) => {
                return Err(
                    "inspect: machine code is shown to people alone: leave out --json, or \
                            --disassemble"
                        .into(),
                );
            }
        };
        all.insert(name.into(), value);
    }
    Ok(Value::Object(all))
}

fn summary(image: &Image<'_>, size: usize) -> Value {
    let meta = &image.meta;
    json!({
        "name": image.manifest.name,
        "version": image.manifest.version,
        "description": image.manifest.description,
        "bytes": size,
        "code": image.code.len(),
        "functions": meta.funcs.len(),
        "data": image.data.len(),
        "lines": image.lines.len(),
        "memory": meta.memory.as_ref().map(|m| json!({
            "min": m.min_bytes(),
            "max": m.limits.max.map(|max| m.bytes(max)),
        })),
        "bounds": match meta.memory_mode {
            MemoryMode::Guard => "guard",
            MemoryMode::Explicit => "explicit",
        },
        "deepest_frame": meta.max_frame,
        "imports": meta.imports.len(),
        "contracts": image.contracts.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        "privileges": image.manifest.privileges,
        "abi": meta.abi_version,
        "processor": meta.cpu_features,
    })
}

fn imports(meta: &Meta) -> Value {
    let imports = meta.imports.iter().map(|import| {
        json!({ "kind": kind_of(&import.kind), "module": import.module, "name": import.name })
    });
    imports.collect()
}

fn functions(meta: &Meta) -> Value {
    let functions = meta.funcs.iter().zip(meta.imported_funcs()..);
    let functions = functions.map(|(func, index)| {
        json!({ "index": index, "name": func.name, "offset": func.offset, "bytes": func.size })
    });
    functions.collect()
}

fn contract(table: &ContractTable) -> Value {
    let messages = table.messages.iter().map(|message| {
        let arguments = message.arguments.iter();
        let arguments = arguments.map(|a| json!({ "name": a.name, "type": a.ty }));
        json!({
            "name": message.name,
            "direction": match message.direction {
                Direction::In => "in",
                Direction::Out => "out",
                Direction::Both => "both",
            },
            "arguments": arguments.collect::<Vec<_>>(),
        })
    });
    let states = table.states.iter().zip(0u16..).map(|(name, state)| {
        let mut steps = Vec::new();
        for (message, number) in table.messages.iter().zip(0u16..) {
            for (side, sender) in [(Side::Imp, "importer"), (Side::Exp, "exporter")] {
                if let Some(next) = table.step(state, number, side) {
                    let next = table.states.get(usize::from(next));
                    steps.push(json!({ "message": message.name, "by": sender, "next": next }));
                }
            }
        }
        json!({ "name": name, "steps": steps })
    });
    json!({
        "name": table.name,
        "bases": table.bases.iter().map(|b| b.name.as_str()).collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
        "states": states.collect::<Vec<_>>(),
        "queues": { "importer": table.queue[0], "exporter": table.queue[1] },
    })
}
