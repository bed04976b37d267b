//! What is to run: a module of WASI preview 1, or the module of a component; and whatever is in its way.

use crate::component::{self, Wanted};
use crate::parts::Parts;
use crate::{Error, WASI, WasmFeatures, imports, lacks};
use sing_image::shown::Shown;
use wasmparser as wp;

/// The name of the function in which a module begins before all others, as other engines have it: none.
const UNNAMED: &str = "";

/// A program, taken apart.
#[derive(Default)]
pub(crate) struct Program<'a> {
    pub parts: Parts<'a>,
    /// What each import means.
    pub wanted: Vec<Wanted<'a>>,
    pub entries: Entries,
    /// Why it cannot run, as far as that does not depend on the adapter.
    pub reasons: Vec<String>,
    /// Of a component: what it exports.
    pub exports: Option<Vec<&'a str>>,
}

/// The functions that the adapter calls, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    /// Those before all others, in their order.
    pub first: Vec<u32>,
    /// The function without a name, `_start` or `_initialize`.
    pub begin: Option<u32>,
    /// That of `wasi:cli/run`.
    pub run: Option<u32>,
    /// That of `wasi:http/incoming-handler`.
    pub handle: Option<u32>,
    /// Makes room in the program's memory.
    pub realloc: Option<u32>,
    /// The adapter's, that goes on with requests of HTTP; as the merged module counts.
    pub go_on: Option<u32>,
}

impl Entries {
    /// With other numbers.
    pub fn map(&self, number: impl Fn(u32) -> Option<u32>) -> Entries {
        let number = &number;
        Entries {
            first: self.first.iter().filter_map(|f| number(*f)).collect(),
            begin: self.begin.and_then(number),
            run: self.run.and_then(number),
            handle: self.handle.and_then(number),
            realloc: self.realloc.and_then(number),
            go_on: None,
        }
    }
}

impl<'a> Program<'a> {
    /// Takes a module or a component apart. If the modules of a component are linked, that is put in `linked`.
    ///
    /// # Errors
    /// That it is neither.
    pub fn read(
        wasm: &'a [u8],
        features: WasmFeatures,
        linked: &'a mut Vec<u8>,
    ) -> Result<Program<'a>, Error> {
        match wp::Parser::is_component(wasm) {
            true => Program::of_component(wasm, features, linked),
            false => Program::of_module(wasm, features),
        }
    }

    fn of_module(wasm: &'a [u8], features: WasmFeatures) -> Result<Program<'a>, Error> {
        let reasons = lacks::features(wasm, features)?;
        let parts = Parts::take(wasm)?;
        let wanted = parts.imports.iter().map(|import| {
            match imports::is_function(import) && WASI.contains(&import.module) {
                true => Wanted::of_wasi(import.module, import.name),
                false => Wanted::Foreign,
            }
        });
        let mut program = Program {
            wanted: wanted.collect(),
            reasons,
            ..Program::default()
        };
        program.entries.first.extend(parts.start);
        program.parts = parts;
        program.begins(&[UNNAMED, "_start", "_initialize"]);
        let is_there = |name| program.parts.exported(name).is_some();
        // Such a function is called in a library that has been initialised.
        if is_there(UNNAMED) && !is_there("_start") {
            let initialize = program.entry("_initialize");
            program.entries.first.extend(initialize);
        }
        Ok(program)
    }

    fn of_component(
        wasm: &'a [u8],
        features: WasmFeatures,
        linked: &'a mut Vec<u8>,
    ) -> Result<Program<'a>, Error> {
        let reasons = lacks::features(wasm, features | WasmFeatures::COMPONENT_MODEL)?;
        let lowered = component::lower(wasm)?;
        let mut program = Program {
            parts: lowered.program,
            wanted: lowered.wanted,
            entries: Entries {
                run: lowered.run,
                handle: lowered.handle,
                realloc: lowered.realloc,
                ..Entries::default()
            },
            reasons,
            exports: Some(lowered.exports),
        };
        program.reasons.extend(lowered.reasons);
        if let Some(module) = lowered.linked {
            *linked = module;
            program.parts = Parts::take(linked)?;
            let imports = program.parts.imports.iter();
            let wanted = imports.map(|import| Wanted::Interface(import.module, import.name.into()));
            program.wanted = wanted.collect();
        }
        program.entries.first.extend(program.parts.start);
        program.entries.first.extend(lowered.starts);
        if lowered.begins {
            program.begins(&["_start"]);
        }
        Ok(program)
    }

    /// Finds the function in which it begins: the first of these that there is.
    fn begins(&mut self, names: &[&str]) {
        let is_there = |name: &&&str| self.parts.exported(name).is_some();
        if let Some(name) = names.iter().find(is_there) {
            self.entries.begin = self.entry(name);
        }
    }

    /// A function that is called as it is, if there is one of this name.
    fn entry(&mut self, name: &str) -> Option<u32> {
        let function = self.parts.exported(name)?;
        let ty = self.parts.function_type(function);
        if ty.is_some_and(|ty| ty.params().is_empty() && ty.results().is_empty()) {
            return Some(function);
        }
        let shown = if name == UNNAMED {
            "without a name"
        } else {
            name
        };
        self.reasons.push(format!(
            "its function {shown} has parameters or results; a program of WASI begins in one without"
        ));
        None
    }

    /// Why it cannot begin: it has no such function.
    pub fn cannot_begin(&self) -> Option<String> {
        if self.entries.begin.is_some() || self.entries.run.is_some() {
            return None;
        }
        let Some(exports) = &self.exports else {
            let exports = |name| self.parts.exported(name).is_some();
            // If it exports one, that is wrong, which has been said.
            let names = [UNNAMED, "_start", "_initialize"];
            return (!names.into_iter().any(exports)).then(|| {
                "exports no function _start, where a program begins, and no _initialize: it is a library; \
                 build a program"
                    .into()
            });
        };
        Some(match self.entries.handle {
            Some(_) => "exports no wasi:cli/run, where a program begins; it answers requests of HTTP: `sing serve` \
                        runs it"
                .into(),
            None => format!(
                "exports no wasi:cli/run@0.2, where a program begins{}",
                exported(exports)
            ),
        })
    }

    /// Why it cannot answer requests.
    pub fn cannot_handle(&self) -> Option<String> {
        if self.entries.handle.is_some() {
            return None;
        }
        let Some(exports) = &self.exports else {
            return Some("is a module, where a component of wasi:http is wanted".into());
        };
        let runs = self.entries.run.is_some() || self.entries.begin.is_some();
        Some(format!(
            "exports no wasi:http/incoming-handler@0.2, by which a component answers requests{}",
            match runs {
                true => "; it is a program: `sing run` runs it, and built for preview 1 (wasip1) it can answer by \
                         CGI"
                    .into(),
                false => exported(exports),
            }
        ))
    }
}

/// What is said of a component's exports.
fn exported(exports: &[&str]) -> String {
    const SHOWN: usize = 5;
    if exports.is_empty() {
        return "; it exports nothing".into();
    }
    let shown = exports[..exports.len().min(SHOWN)].join(", ");
    let more = match exports.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; it exports {}{more}", Shown(shown))
}
