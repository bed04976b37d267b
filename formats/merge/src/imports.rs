//! What the two modules import, and what becomes of it.
//!
//! A program's imports become functions of the adapter. What the adapter does not have is
//! collected, so that the user reads at once all that the program needs.

use crate::component::Wanted;
use crate::parts::Parts;
use crate::program::Program;
use crate::stubs::{SENDS, Stub};
use crate::{Error, PROGRAM, UNSTABLE, WASI, interfaces};
use sing_image::shown::Shown;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use wasmparser as wp;

/// The most missing functions that an error names; it counts the others.
pub(crate) const NAMED: usize = 100;

/// Why a function cannot be had that a version of WASI has not.
const NOT_HERE: &str = "there is no such function here";

/// How the names of WASI's functions of sockets begin. Preview 1 has four, for a socket that a program is given; the
/// others are WasmEdge's.
const SOCKETS: &str = "sock_";

/// The modules of places that a dynamic linker gives.
const DYNAMIC: [&str; 2] = ["GOT.mem", "GOT.func"];

/// What an import of the adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdapterImport {
    /// The merged module imports it, too.
    Kept,
    /// A function that is made.
    Made(Stub),
}

/// Whether a module imports functions of WASI.
pub(crate) fn any_of_wasi(wasm: &[u8]) -> bool {
    any(wasm, |_| true)
}

/// Whether a module of WASI imports one of these functions of it.
#[must_use]
pub fn any_named(wasm: &[u8], names: &[&str]) -> bool {
    any(wasm, |name| names.contains(&name))
}

/// Whether a module imports functions of WASI with such names.
fn any(wasm: &[u8], is_such: impl Fn(&str) -> bool) -> bool {
    for payload in wp::Parser::new(0).parse_all(wasm) {
        match payload {
            Ok(wp::Payload::ImportSection(section)) => {
                let mut imports = section.into_imports().map_while(Result::ok);
                return imports.any(|import| WASI.contains(&import.module) && is_such(import.name));
            }
            Ok(wp::Payload::CodeSectionStart { .. }) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    false
}

/// Whether an import is a function.
pub(crate) fn is_function(import: &wp::Import<'_>) -> bool {
    matches!(import.ty, wp::TypeRef::Func(_) | wp::TypeRef::FuncExact(_))
}

/// Whether a program can send requests of HTTP.
pub(crate) fn sends(program: &Program<'_>) -> bool {
    program.wanted.iter().any(|wanted| match wanted {
        Wanted::Interface(interface, name) => {
            let plain = interface.split('@').next();
            (plain, name.as_ref()) == (Some(SENDS.0), SENDS.1)
        }
        _ => false,
    })
}

/// For each function that the program imports, the number of the adapter's function; or what the
/// program lacks.
pub(crate) fn of_program(program: &Program<'_>, adapter: &Parts<'_>) -> Result<Vec<u32>, String> {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    let mut foreign = BTreeMap::<&str, Vec<&str>>::new();
    let mut sockets = BTreeMap::<&str, Vec<&str>>::new();
    // A module may import a function under several names.
    let mut lacks = BTreeMap::<(&str, &str), BTreeSet<&str>>::new();
    // Places of data and functions of other libraries, which a program that is linked dynamically imports.
    let mut places = 0;
    for (import, wanted) in program.parts.imports.iter().zip(&program.wanted) {
        let outcome = match wanted {
            Wanted::Foreign if is_function(import) => {
                foreign.entry(import.module).or_default().push(import.name);
                continue;
            }
            Wanted::Foreign if DYNAMIC.contains(&import.module) => {
                places += 1;
                continue;
            }
            Wanted::Foreign => Err(own(import)),
            // The adapter's other names, which have these signs, are those of interfaces and versions.
            Wanted::Preview1(name) | Wanted::Unstable(name) if name.contains(['#', '-']) => {
                Err(NOT_HERE.into())
            }
            Wanted::Preview1(name) | Wanted::Unstable(name)
                if name.starts_with(SOCKETS) && adapter.exported(name).is_none() =>
            {
                sockets.entry(import.module).or_default().push(name);
                continue;
            }
            Wanted::Preview1(name) => one(program, adapter, import, name),
            Wanted::Unstable(name) => {
                let differs = format!("{UNSTABLE}#{name}");
                let export = match adapter.exported(&differs) {
                    Some(_) => &differs,
                    None => *name,
                };
                one(program, adapter, import, export)
            }
            Wanted::Interface(interface, name) => {
                match interfaces::export(adapter, interface, name) {
                    Ok(export) => one(program, adapter, import, &export),
                    Err(why) => {
                        lacks.entry((interface, why)).or_default().insert(name);
                        continue;
                    }
                }
            }
            Wanted::Wrong(why) => Err(why.clone()),
        };
        match outcome {
            Ok(function) => found.push(function),
            Err(why) => wrong.push(format!("{}.{}: {why}", import.module, import.name)),
        }
    }
    let things = |lists: usize| wrong.len() + places + lists;
    let count = things(
        foreign.values().map(Vec::len).sum::<usize>()
            + sockets.values().map(Vec::len).sum::<usize>()
            + lacks.values().map(BTreeSet::len).sum::<usize>(),
    );
    let lists = sockets.iter().chain(&foreign);
    wrong.extend(lists.map(|(module, names)| lacking(module, names)));
    if places > 0 {
        wrong.push(format!(
            "{}: {places} globals; the program is made to be linked with others when it starts: link it statically",
            DYNAMIC.join(" and ")
        ));
    }
    for ((interface, why), names) in &lacks {
        let names: Vec<&str> = names.iter().copied().collect();
        wrong.push(format!("{interface}: {}; {why}", names.join(", ")));
    }
    if wrong.is_empty() {
        return Ok(found);
    }
    let mut text = match count {
        1 => "imports what this system does not have:".into(),
        n => format!("imports {n} things that this system does not have:"),
    };
    for line in wrong.iter().take(NAMED) {
        let _ = write!(text, "\n  {}", Shown(line));
    }
    if let Some(more) = wrong.len().checked_sub(NAMED).filter(|&more| more > 0) {
        let _ = write!(text, "\n  and {more} more");
    }
    Err(text)
}

/// What is said of a module from which a program imports functions that are not WASI's.
fn lacking(module: &str, names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    let (of, rest) = match names.len() {
        1 => ("a function", String::new()),
        n if n <= SHOWN => ("functions", String::new()),
        n => ("functions", format!(" and {} more", n - SHOWN)),
    };
    let wants = if WASI.contains(&module) {
        "only WasmEdge has such: a program of WASI preview 1 opens no sockets; one that serves is given the socket \
         that listens (`sing run --tcplisten`), and takes connections by sock_accept"
    } else if module.starts_with("wasmedge_")
        || module.starts_with("wasi_ephemeral_")
        || module == "wasi_nn"
    {
        "an extension of WasmEdge and others, which is no part of WASI preview 1: build the program without it"
    } else if module.starts_with("wasix_") {
        "the program was made for Wasmer (WASIX): build it for WASI preview 1 (wasm32-wasip1)"
    } else if module.starts_with("sing_v") || module.starts_with("contract:") {
        "a program of this system imports them: `sing build` or `sing image --bin` puts it into one"
    } else if module.starts_with("wasi:") {
        "a module imports them by the names of WASI 0.2: make a component of it (wasm32-wasip2)"
    } else if module == "wasi" && names.iter().all(|name| name.starts_with("thread")) {
        "a program of WASI preview 1 starts no threads (wasi-threads): build it without them (wasm32-wasip1)"
    } else if module.contains("wbg") || module.contains("wbindgen") {
        "the program was made for JavaScript, by wasm-bindgen: build it for WASI (wasm32-wasip1)"
    } else if module == "gojs" {
        "the program was made for JavaScript, by Go: build it with GOOS=wasip1"
    } else if names.iter().any(|name| name.starts_with("napi_")) {
        "an add-on of Node.js (Node-API), which runs in Node.js only"
    } else if names.iter().any(|name| name.contains("emscripten")) || is_shortened(module, names) {
        "the program was made for JavaScript, by emscripten: link it with -sSTANDALONE_WASM, or use \
         the WASI SDK"
    } else {
        "an ordinary program imports functions of WASI preview 1 and nothing else"
    };
    format!("{module}: {of} ({shown}{rest}); {wants}")
}

/// Whether emscripten has shortened these names, as it does when it optimises: all of them are in a module `a`.
fn is_shortened(module: &str, names: &[&str]) -> bool {
    module == "a" && names.iter().all(|name| name.len() <= 2)
}

/// What is said of an import that is no function.
fn own(import: &wp::Import<'_>) -> String {
    let what = match import.ty {
        wp::TypeRef::Memory(memory) if memory.shared => {
            return "a memory that threads share (wasi-threads); build the program without threads (wasm32-wasip1)"
                .into();
        }
        wp::TypeRef::Memory(_) => "memory (link without --import-memory)",
        wp::TypeRef::Table(_) => "table (link without --import-table)",
        wp::TypeRef::Global(_) => "global",
        _ => "tag",
    };
    format!("a program brings its own {what}")
}

fn one(
    program: &Program<'_>,
    adapter: &Parts<'_>,
    import: &wp::Import<'_>,
    export: &str,
) -> Result<u32, String> {
    let (wp::TypeRef::Func(ty) | wp::TypeRef::FuncExact(ty)) = import.ty else {
        return Err(own(import));
    };
    let hidden = export.starts_with('_') || export.starts_with("sip_");
    let function = match adapter.exported(export) {
        Some(function) if !hidden => function,
        _ => return Err(NOT_HERE.into()),
    };
    let (wanted, has) = (program.parts.type_of(ty), adapter.function_type(function));
    if wanted.is_none() || wanted != has {
        let type_text = |ty: Option<&wp::FuncType>| ty.map_or("?".into(), ToString::to_string);
        return Err(format!(
            "is imported as {}, where the function here is {}",
            type_text(wanted),
            type_text(has)
        ));
    }
    Ok(function)
}

/// What each import of the adapter is.
pub(crate) fn of_adapter(adapter: &Parts<'_>) -> Result<Vec<AdapterImport>, Error> {
    let imports = adapter.imports.iter();
    imports
        .map(|import| one_of_adapter(adapter, import))
        .collect()
}

fn one_of_adapter(adapter: &Parts<'_>, import: &wp::Import<'_>) -> Result<AdapterImport, Error> {
    let fail = |why: &str| {
        let text = format!("import {}.{}: {why}", import.module, import.name);
        Err(Error::new(text).in_adapter())
    };
    let (wp::TypeRef::Func(ty) | wp::TypeRef::FuncExact(ty)) = import.ty else {
        return fail("only functions can be imported");
    };
    if import.module != PROGRAM {
        return Ok(AdapterImport::Kept);
    }
    let Some(stub) = Stub::find(import.name) else {
        return fail(
            "there are read, write, size, start, run, handle, realloc and go_on of a program",
        );
    };
    if adapter.type_of(ty) != Some(&stub.wanted()) {
        return fail(&format!("must be imported as {}", stub.wanted()));
    }
    Ok(AdapterImport::Made(stub))
}
