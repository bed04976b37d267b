//! `sing inspect`: shows the parts of a module or an image.

use crate::{disassemble, input, output};
use sing_compiler::Options;
use sing_image::contract::{ContractTable, Direction};
use sing_image::elf::Image;
use sing_image::manifest::Side;
use sing_image::meta::{Data, ImportKind, MemoryMode, Meta, SegmentMode};
use std::path::Path;

/// The views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    Imports,
    Contracts,
    Manifest,
    Functions,
    /// One function, or all.
    Disassembly(Option<String>),
}

/// Prints the views of a file; its sizes if none is named.
pub fn run(file: &Path, views: &[View], options: &Options) -> Result<bool, String> {
    let bytes = input::image(file, input::read(file)?, options)?;
    let image = Image::decode(&bytes).map_err(|e| format!("{}: {e}", file.display()))?;
    if views.is_empty() {
        summary(&image, bytes.len());
    }
    for view in views {
        match view {
            View::Imports => imports(&image.meta),
            View::Contracts => image.contracts.iter().for_each(contract),
            View::Manifest => {
                let text = serde_json::to_string_pretty(&image.manifest);
                output::line(text.map_err(|e| e.to_string())?);
            }
            View::Functions => functions(&image.meta),
            View::Disassembly(wanted) => disassemble::run(&image, wanted.as_deref())?,
        }
    }
    Ok(true)
}

fn summary(image: &Image<'_>, size: usize) {
    let meta = &image.meta;
    let mode = match meta.memory_mode {
        MemoryMode::Guard => "guard pages",
        MemoryMode::Explicit => "explicit tests",
    };
    let data = image.data.len();
    let passive = |d: &&Data| d.mode == SegmentMode::Passive;
    let pieces = meta.initial.len() + meta.data.iter().filter(passive).count();
    let limits = |n: u32| format!("{} KiB", u64::from(n) * 64);
    let memory = meta.memory.map_or("none".into(), |m| {
        let max = m.max.map_or("as its budget allows".into(), limits);
        format!(
            "{} at first, at most {max}; bounded by {mode}",
            limits(m.min)
        )
    });
    let elements: u64 = meta.tables.iter().map(|t| u64::from(t.limits.min)).sum();
    let names: Vec<&str> = image.contracts.iter().map(|c| c.name.as_str()).collect();
    for (what, text) in [
        (
            "program",
            format!("{} {}", image.manifest.name, image.manifest.version),
        ),
        ("description", image.manifest.description.clone()),
        ("image", format!("{size} bytes")),
        (
            "code",
            format!("{} bytes, {} functions", image.code.len(), meta.funcs.len()),
        ),
        ("data", format!("{data} bytes in {} pieces", pieces)),
        ("memory", memory),
        (
            "tables",
            format!("{} with {elements} elements", meta.tables.len()),
        ),
        ("globals", meta.globals.len().to_string()),
        ("context", format!("{} bytes a thread", meta.layout.size)),
        ("traps", format!("{} places", meta.traps.len())),
        ("deepest frame", format!("{} bytes", meta.max_frame)),
        ("imports", meta.imports.len().to_string()),
        ("contracts", names.join(", ")),
        ("privileges", image.manifest.privileges.join(", ")),
        ("ABI", format!("version {}", meta.abi_version)),
        ("processor", meta.cpu_features.join(" ")),
    ] {
        let text = if text.trim().is_empty() {
            "none"
        } else {
            text.trim()
        };
        output::line(format!("{what:<14} {text}"));
    }
}

fn imports(meta: &Meta) {
    for import in &meta.imports {
        let kind = match import.kind {
            ImportKind::Func(_) => "function",
            ImportKind::Memory(_) => "memory",
            ImportKind::Table(_) => "table",
            ImportKind::Global(_) => "global",
        };
        output::line(format!("{kind} {:?} {:?}", import.module, import.name));
    }
}

fn functions(meta: &Meta) {
    let first = meta.imported_funcs();
    for (func, index) in meta.funcs.iter().zip(first..) {
        output::line(format!(
            "{:#010x} {:>7} {index:>6} {}",
            func.offset, func.size, func.name
        ));
    }
}

/// Prints a contract from its table: messages, then the possible sends in each state.
fn contract(table: &ContractTable) {
    let bases: String = table
        .bases
        .iter()
        .map(|b| format!(" : {}", b.name))
        .collect();
    output::line(format!("contract {}{bases}", table.name));
    for message in &table.messages {
        let direction = match message.direction {
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::Both => "",
        };
        let arguments: Vec<String> = message
            .arguments
            .iter()
            .map(|a| format!("{} {}", a.ty, a.name))
            .collect();
        output::line(format!(
            "  {direction}message {}({})",
            message.name,
            arguments.join(", ")
        ));
    }
    for (name, state) in table.states.iter().zip(0u16..) {
        let mut steps = Vec::new();
        for (message, number) in table.messages.iter().zip(0u16..) {
            for (side, mark) in [(Side::Imp, '?'), (Side::Exp, '!')] {
                if let Some(next) = table.step(state, number, side) {
                    let next = table
                        .states
                        .get(usize::from(next))
                        .map_or("", String::as_str);
                    steps.push(format!("{}{mark} -> {next}", message.name));
                }
            }
        }
        let steps = if steps.is_empty() {
            "closed".into()
        } else {
            steps.join(" or ")
        };
        output::line(format!("  state {name}: {steps}"));
    }
    let [to_imp, to_exp] = table.queue;
    output::line(format!("  queues: {to_imp} to Imp, {to_exp} to Exp"));
}
