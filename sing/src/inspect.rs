//! `sing inspect`: shows the parts of a module or an image.

mod json;

use crate::output::name_of;
use crate::{disassemble, input, output};
use sing_compiler::Options;
use sing_image::contract::{ContractTable, Direction};
use sing_image::elf::Image;
use sing_image::lines::Table;
use sing_image::manifest::Side;
use sing_image::meta::{
    Checks, ConstExpr, Data, ImportKind, MemoryMode, MemoryType, Meta, SegmentMode,
};
use sing_image::parameters;
use sing_image::system::{BIN, SystemImage, is_of_any_version};
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
pub fn run(file: &Path, views: &[View], options: &Options, in_json: bool) -> Result<bool, String> {
    let bytes = input::read(file)?;
    if views.is_empty() && is_of_any_version(&bytes) {
        let archive = SystemImage::decode(&bytes);
        let archive = archive.map_err(|e| format!("{}: {e}", name_of(file)))?;
        match in_json {
            true => output::json(format!("{:#}", json::archived(&archive, bytes.len()))),
            false => archived(&archive, bytes.len()),
        }
        return Ok(true);
    }
    let bytes = input::image(file, bytes, options)?;
    let image = Image::decode(&bytes).map_err(|e| format!("{}: {e}", name_of(file)))?;
    if in_json {
        let parts = json::parts(&image, bytes.len(), views)?;
        output::json(format!("{parts:#}"));
        return Ok(true);
    }
    if views.is_empty() {
        summary(&image, bytes.len());
    }
    for view in views {
        match view {
            View::Imports => imports(&image.meta),
            View::Contracts if image.contracts.is_empty() => output::line("no contracts"),
            View::Contracts => image.contracts.iter().for_each(contract),
            View::Manifest => {
                let text = serde_json::to_string_pretty(&image.manifest);
                output::json(text.map_err(|e| e.to_string())?);
            }
            View::Functions => functions(&image.meta),
            View::Disassembly(wanted) => disassemble::run(&image, wanted.as_deref())?,
        }
    }
    Ok(true)
}

/// Prints the contents of a system image.
fn archived(archive: &SystemImage<'_>, size: usize) {
    let row = |what: &str, text: String| output::line(format!("{what:<14} {text}"));
    row("system image", format!("{size} bytes"));
    let starts = archive.manifest().start.iter();
    let starts: Vec<&str> = starts.map(|start| start.name.as_str()).collect();
    row("starts", starts.join(", "));
    type Files<'a> = Vec<(&'a str, &'a [u8])>;
    let (programs, files): (Files<'_>, Files<'_>) =
        archive.files().partition(|(path, _)| path.starts_with(BIN));
    for (what, files) in [("program", programs), ("file", files)] {
        for (path, bytes) in files {
            let bytes = bytes.len();
            let name = path.strip_prefix(BIN).unwrap_or(path);
            row(what, format!("{name:<14} {bytes} bytes"));
        }
    }
}

fn summary(image: &Image<'_>, file: usize) {
    let meta = &image.meta;
    let mode = match meta.memory_mode {
        MemoryMode::Guard => "guard pages",
        MemoryMode::Explicit => "explicit tests",
    };
    let left = meta.funcs.iter().filter(|f| f.size == 0).count();
    let left = match left {
        0 => String::new(),
        _ => format!(", of which {left} are left out, as nothing calls them"),
    };
    let checks = match meta.checks {
        Checks::All => "all",
        Checks::None => "left out; runs only in a system that was started with --measure",
    };
    let data = image.data.len();
    let passive = |d: &&Data| d.mode == SegmentMode::Passive;
    let vector = |(_, value): &&(_, ConstExpr)| matches!(value, ConstExpr::Vector(_));
    let pieces = meta.initial.len()
        + meta.data.iter().filter(passive).count()
        + meta.globals.iter().filter(vector).count();
    let size = |bytes: u64| match bytes % 1024 {
        0 => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} bytes"),
    };
    let described = |m: &MemoryType| {
        let max = m.limits.max.map(|max| size(m.bytes(max)));
        let max = max.unwrap_or("as its budget allows".into());
        let wide = if m.index64 {
            ", addresses of 64 bits"
        } else {
            ""
        };
        format!("{} at first, at most {max}{wide}", size(m.min_bytes()))
    };
    let mut memory = match &meta.memory {
        Some(m) if m.is_plain() => format!("{}; bounded by {mode}", described(m)),
        Some(m) => format!("{}; bounded by explicit tests", described(m)),
        None => "none".into(),
    };
    for m in &meta.further {
        memory += &format!("; and {}; bounded by explicit tests", described(m));
    }
    let elements: u64 = meta.tables.iter().map(|t| t.limits.min).sum();
    let names: Vec<&str> = image.contracts.iter().map(|c| c.name.as_str()).collect();
    let rows = Table::new(image.lines).rows().count();
    let lines = match rows {
        0 => String::new(),
        _ => format!("{} bytes, {rows} places", image.lines.len()),
    };
    let parameters = match &image.manifest.parameters {
        None => "not declared".into(),
        Some(all) => {
            let line = parameters::line(all, &image.manifest.name);
            line.trim_start_matches("usage: ").to_owned()
        }
    };
    for (what, text) in [
        (
            "program",
            format!("{} {}", image.manifest.name, image.manifest.version),
        ),
        ("description", image.manifest.description.clone()),
        ("image", format!("{file} bytes")),
        (
            "code",
            format!(
                "{} bytes, {} functions{left}",
                image.code.len(),
                meta.funcs.len()
            ),
        ),
        ("data", format!("{data} bytes in {} pieces", pieces)),
        ("lines", lines),
        ("memory", memory),
        ("checks", checks.into()),
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
        ("parameters", parameters),
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

/// The name of an import's kind.
fn kind_of(kind: &ImportKind) -> &'static str {
    match kind {
        ImportKind::Func(_) => "function",
        ImportKind::Memory(_) => "memory",
        ImportKind::Table(_) => "table",
        ImportKind::Global(_) => "global",
        ImportKind::Tag(_) => "tag",
    }
}

fn imports(meta: &Meta) {
    if meta.imports.is_empty() {
        output::line("no imports");
    }
    for import in &meta.imports {
        let kind = kind_of(&import.kind);
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
