//! What the two modules import, and what becomes of it.
//!
//! A program's imports become functions of the adapter. What the adapter does not have is
//! collected, so that the user reads at once all that the program needs.

use crate::parts::Parts;
use crate::stubs::Stub;
use crate::{Error, PROGRAM, WASI};
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
    for import in &program.imports {
        match one(program, adapter, import) {
            Ok(function) => found.push(function),
            Err(why) => wrong.push(format!("{}.{}: {why}", import.module, import.name)),
        }
    }
    if wrong.is_empty() {
        return Ok(found);
    }
    let mut text = match wrong.len() {
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
    if !WASI.contains(&import.module) {
        return Err(format!(
            "a program imports functions of WASI preview 1 ({}), and nothing else",
            WASI[0]
        ));
    }
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
