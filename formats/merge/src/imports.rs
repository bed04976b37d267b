//! What the two modules import, and what becomes of it.
//!
//! A program's imports become functions of the adapter. What the adapter does not have is
//! collected, so that the user reads at once all that the program needs.

use crate::parts::Parts;
use crate::stubs::Stub;
use crate::{Error, PROGRAM, WASI};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use wasmparser as wp;

/// The most missing functions that an error names; it counts the others.
const NAMED: usize = 100;

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
    for payload in wp::Parser::new(0).parse_all(wasm) {
        match payload {
            Ok(wp::Payload::ImportSection(section)) => {
                let mut imports = section.into_imports().map_while(Result::ok);
                return imports.any(|import| WASI.contains(&import.module));
            }
            Ok(wp::Payload::CodeSectionStart { .. }) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    false
}

/// For each function that the program imports, the number of the adapter's function.
pub(crate) fn of_program(program: &Parts<'_>, adapter: &Parts<'_>) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    let mut foreign = BTreeMap::<&str, Vec<&str>>::new();
    for import in &program.imports {
        let is_function = matches!(import.ty, wp::TypeRef::Func(_) | wp::TypeRef::FuncExact(_));
        if is_function && !WASI.contains(&import.module) {
            foreign.entry(import.module).or_default().push(import.name);
            continue;
        }
        match one(program, adapter, import) {
            Ok(function) => found.push(function),
            Err(why) => wrong.push(format!("{}.{}: {why}", import.module, import.name)),
        }
    }
    let count = wrong.len() + foreign.values().map(Vec::len).sum::<usize>();
    wrong.extend(foreign.iter().map(|(module, names)| lacking(module, names)));
    if wrong.is_empty() {
        return Ok(found);
    }
    let mut text = match count {
        1 => "imports what this system does not have:".into(),
        n => format!("imports {n} things that this system does not have:"),
    };
    for line in wrong.iter().take(NAMED) {
        let _ = write!(text, "\n  {}", line.escape_debug());
    }
    if let Some(more) = wrong.len().checked_sub(NAMED).filter(|&more| more > 0) {
        let _ = write!(text, "\n  and {more} more");
    }
    Err(Error::new(text))
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
    let wants = if module.starts_with("sing_v") || module.starts_with("contract:") {
        "a program of this system imports them: `sing build` or `sing image --bin` puts it into one"
    } else if module.starts_with("wasi:") {
        "the program was made for WASI 0.2: build it for preview 1 (wasip1)"
    } else if module.contains("wbg") || module.contains("wbindgen") {
        "the program was made for JavaScript, by wasm-bindgen: build it for WASI (wasm32-wasip1)"
    } else if names.iter().any(|name| name.contains("emscripten")) {
        "the program was made for JavaScript, by emscripten: link it with -sSTANDALONE_WASM, or use \
         the WASI SDK"
    } else {
        "an ordinary program imports functions of WASI preview 1 and nothing else"
    };
    format!("{module}: {of} ({shown}{rest}); {wants}")
}

fn one(program: &Parts<'_>, adapter: &Parts<'_>, import: &wp::Import<'_>) -> Result<u32, String> {
    let (wp::TypeRef::Func(ty) | wp::TypeRef::FuncExact(ty)) = import.ty else {
        let what = match import.ty {
            wp::TypeRef::Memory(_) => "memory (link without --import-memory)",
            wp::TypeRef::Table(_) => "table (link without --import-table)",
            wp::TypeRef::Global(_) => "global",
            _ => "tag",
        };
        return Err(format!("a program brings its own {what}"));
    };
    let hidden = import.name.starts_with('_') || import.name.starts_with("sip_");
    let function = match adapter.exported(import.name) {
        Some(function) if !hidden => function,
        _ => return Err("there is no such function here".into()),
    };
    let (wanted, has) = (program.type_of(ty), adapter.function_type(function));
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
        return fail("there are read, write, size and start of a program");
    };
    if adapter.type_of(ty) != Some(&stub.wanted()) {
        return fail(&format!("must be imported as {}", stub.wanted()));
    }
    Ok(AdapterImport::Made(stub))
}
