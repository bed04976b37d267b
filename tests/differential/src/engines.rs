//! The results of other engines for a SIP: an interpreter; `wasmtime`, if it was built in; and if
//! these two disagree, the interpreter of the WebAssembly Binary Toolkit, if that is installed.
//!
//! The interpreter does not know exceptions, typed references to functions and atomic accesses. For
//! modules with these, V8 takes its place, if `node` is installed and knows them; else `wasmtime`
//! judges alone. `wasmtime` compiles without optimising: it takes half as long, and is one more
//! difference to our compiler. It runs the copy of the module that counts ([`crate::count`]); the
//! other engines, and the system, run the module itself.

use crate::count::{self, Counts};
use crate::features;
use crate::sip::{self, CALLS};
use crate::v8::V8;
use anyhow::{Context, Result, anyhow};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;
use wasmi::{Linker, Store, TrapCode};

/// How a run ends. Traps are distinguished as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By this exit code.
    Exit(i32),
    /// By a trap of this code.
    Trap(u8),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit {code}"),
            End::Trap(code) => write!(f, "trap {code}"),
        }
    }
}

/// The code of a stack overflow: the depth of the stack differs between engines.
pub const OVERFLOW: u8 = 9;

/// The figure of exceptions that were thrown and caught.
pub const CAUGHT: &str = "exceptions caught";

/// The code of an exception that nothing catches.
const UNCAUGHT: u8 = 20;

/// The code of an access through a null reference; here a call of one is a call of no function.
#[cfg(feature = "wasmtime")]
const NULL_REFERENCE: u8 = 18;

/// The results for a SIP.
pub struct Answer {
    /// The expected result of each run, a line each.
    pub lines: Vec<String>,
    /// Whether two engines know the module.
    pub second: bool,
    /// The figures of these runs, by name.
    pub figures: BTreeMap<String, u64>,
}

/// The engines.
pub struct Engines {
    wasmi: wasmi::Engine,
    /// In a cell, as its process answers one request after the other.
    v8: Option<RefCell<V8>>,
    #[cfg(feature = "wasmtime")]
    wasmtime: wasmtime::Engine,
}

impl Engines {
    /// All available engines.
    pub fn new() -> Result<Engines> {
        let mut config = wasmi::Config::default();
        config.set_max_recursion_depth(20_000);
        config.wasm_custom_page_sizes(true);
        config.wasm_relaxed_simd(true);
        Ok(Engines {
            wasmi: wasmi::Engine::new(&config),
            v8: V8::start().map(RefCell::new),
            #[cfg(feature = "wasmtime")]
            wasmtime: {
                let mut config = wasmtime::Config::new();
                // It wants the one that is not used to be no smaller than the other.
                config.async_stack_size(4 << 20);
                config.max_wasm_stack(4 << 20);
                config.wasm_custom_page_sizes(true);
                config.relaxed_simd_deterministic(true);
                config.wasm_exceptions(true);
                config.wasm_function_references(true);
                config.wasm_threads(true);
                config.cranelift_opt_level(wasmtime::OptLevel::None);
                // Another allocator of registers than ours, and a faster one.
                config.cranelift_regalloc_algorithm(wasmtime::RegallocAlgorithm::SinglePass);
                // A run that traps tells only by which trap.
                config.wasm_backtrace_max_frames(None);
                config.generate_address_map(false);
                wasmtime::Engine::new(&config).map_err(|e| anyhow!("wasmtime: {e:#}"))?
            },
        })
    }

    /// The results for a SIP; `None` if no engine accepts it.
    pub fn expect(&self, wasm: &[u8]) -> Result<Option<Answer>> {
        let known = self.known(wasm)?;
        if matches!(known.first, First::None) && !known.is_compiled() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        let mut counts = Counts::default();
        let (mut runs, mut uncaught) = (0, 0);
        'plans: for plan in 0..sip::plans(wasm)?.max(1) {
            // First the whole plan; then, if a call of it traps, those before that call: their
            // effects count, too.
            let mut calls = CALLS;
            loop {
                let arguments = plan * 4 + calls;
                let before = counts.begun();
                let [first, second] = self.results(&known, arguments, &mut counts)?;
                runs += 1;
                let begun = counts.begun() - before;
                if let (Some(first), Some(second)) = (first, second) {
                    uncaught += u64::from(second == End::Trap(UNCAUGHT));
                    if first == second {
                        lines.push(format!("{arguments} {first}"));
                    } else if [first, second].contains(&End::Trap(OVERFLOW)) {
                        lines.push(format!("{arguments} unknown"));
                    } else {
                        let (name, third) = (known.first.name(), third(wasm, arguments)?);
                        lines.push(format!(
                            "{arguments} differ {name}: {first}, wasmtime: {second}, wabt: {third}"
                        ));
                    }
                    if matches!(first, End::Exit(_)) {
                        break;
                    }
                    // It traps before any call.
                    if calls == 0 {
                        break 'plans;
                    }
                } else {
                    lines.push(format!("{arguments} unknown"));
                    if calls == 0 {
                        break;
                    }
                }
                calls = match known.is_compiled() {
                    true => complete(begun).min(calls - 1),
                    false => calls - 1,
                };
            }
        }
        let mut figures: BTreeMap<String, u64> = BTreeMap::new();
        for (name, n) in count::CLASSES.iter().zip(counts.0) {
            figures.insert((*name).into(), n);
        }
        figures.insert("runs".into(), runs);
        let caught = counts.thrown().saturating_sub(uncaught);
        figures.insert(CAUGHT.into(), caught);
        let by = match known.is_compiled() {
            true => format!("modules by wasmtime and {}", known.first.name()),
            false => format!("modules by {}", known.first.name()),
        };
        for feature in features::of(wasm)? {
            figures.insert(format!("{by}, with {feature}"), 1);
        }
        figures.insert(by, 1);
        Ok(Some(Answer {
            lines,
            second: known.is_compiled() && !matches!(known.first, First::None),
            figures,
        }))
    }

    /// The module in the engines that accept it.
    fn known(&self, wasm: &[u8]) -> Result<Known> {
        let first = match (wasmi::Module::new(&self.wasmi, wasm), &self.v8) {
            (Ok(module), _) => First::Wasmi(module),
            (Err(_), Some(v8)) if v8.borrow_mut().takes(wasm)? => First::V8,
            _ => First::None,
        };
        Ok(Known {
            first,
            #[cfg(feature = "wasmtime")]
            compiled: wasmtime::Module::new(&self.wasmtime, count::instrument(wasm)?)
                .map_err(|e| anyhow!("wasmtime refuses the module: {e:#}"))?,
        })
    }

    /// The results of two engines, or twice that of the only one that knows the module; adds what
    /// the run executed.
    fn results(
        &self,
        known: &Known,
        arguments: u32,
        counts: &mut Counts,
    ) -> Result<[Option<End>; 2]> {
        #[cfg(feature = "wasmtime")]
        let second = Some(self.run(&known.compiled, arguments, counts)?);
        #[cfg(not(feature = "wasmtime"))]
        let second = {
            let _ = counts;
            None
        };
        let first = match (&known.first, &self.v8) {
            (First::Wasmi(module), _) => Some(self.interpret(module, arguments)?),
            (First::V8, Some(v8)) => Some(v8.borrow_mut().run(arguments, second.flatten())?),
            _ => None,
        };
        let only = first.or(second).flatten();
        Ok([first.unwrap_or(only), second.unwrap_or(only)])
    }

    /// By the interpreter; `None` if it ends for a reason outside the program.
    fn interpret(&self, module: &wasmi::Module, arguments: u32) -> Result<Option<End>> {
        let mut store = Store::new(&self.wasmi, ());
        let mut linker = Linker::new(&self.wasmi);
        linker
            .func_wrap("sing_v1", "startup_arg_count", move || arguments as i32)
            .map_err(|e| anyhow!("{e}"))?;
        let ended = linker
            .instantiate_and_start(&mut store, module)
            .and_then(|instance| {
                let main = instance.get_typed_func::<(), i32>(&store, "sip_main")?;
                main.call(&mut store, ())
            });
        Ok(match ended {
            Ok(code) => Some(End::Exit(code)),
            Err(e) => trap_of(&e).map(End::Trap),
        })
    }

    #[cfg(feature = "wasmtime")]
    fn run(
        &self,
        module: &wasmtime::Module,
        arguments: u32,
        counts: &mut Counts,
    ) -> Result<Option<End>> {
        let mut store = wasmtime::Store::new(&self.wasmtime, ());
        let count = wasmtime::Func::wrap(&mut store, move || arguments as i32);
        let ended =
            wasmtime::Instance::new(&mut store, module, &[count.into()]).and_then(|instance| {
                let main = instance.get_typed_func::<(), i32>(&mut store, "sip_main")?;
                let ended = main.call(&mut store, ());
                for class in 0..count::COUNTERS {
                    let counter = instance.get_global(&mut store, &count::export(class));
                    let value = counter.and_then(|global| global.get(&mut store).i64());
                    counts.0[class] += value.unwrap_or_default() as u64;
                }
                ended
            });
        use wasmtime::Trap;
        Ok(match ended {
            Ok(code) => Some(End::Exit(code)),
            Err(e) => match e.downcast_ref::<Trap>() {
                Some(Trap::UnreachableCodeReached) => Some(1),
                Some(Trap::MemoryOutOfBounds) => Some(2),
                Some(Trap::TableOutOfBounds) => Some(3),
                Some(Trap::IndirectCallToNull) => Some(4),
                Some(Trap::BadSignature) => Some(5),
                Some(Trap::IntegerDivisionByZero) => Some(6),
                Some(Trap::IntegerOverflow) => Some(7),
                Some(Trap::BadConversionToInteger) => Some(8),
                Some(Trap::StackOverflow) => Some(OVERFLOW),
                Some(Trap::HeapMisaligned) => Some(15),
                Some(Trap::NullReference) => Some(NULL_REFERENCE),
                None if e.is::<wasmtime::ThrownException>() => Some(UNCAUGHT),
                _ => None,
            }
            .map(End::Trap),
        })
    }
}

/// The calls of a plan that are over when one traps, of those that were begun: the first asks for
/// the number of arguments, and the last is the one that traps.
fn complete(begun: u64) -> u32 {
    begun.saturating_sub(2).min(CALLS.into()) as u32
}

/// A module in each engine that knows it.
struct Known {
    first: First,
    #[cfg(feature = "wasmtime")]
    compiled: wasmtime::Module,
}

/// The engine beside `wasmtime`.
enum First {
    Wasmi(wasmi::Module),
    V8,
    None,
}

impl First {
    fn name(&self) -> &'static str {
        match self {
            First::Wasmi(_) => "wasmi",
            First::V8 => "V8",
            First::None => "no other",
        }
    }
}

impl Known {
    /// Whether it will run as machine code.
    fn is_compiled(&self) -> bool {
        cfg!(feature = "wasmtime")
    }
}

/// The kernel's code for a trap of the interpreter.
fn trap_of(e: &wasmi::Error) -> Option<u8> {
    use wasmi::errors::{ErrorKind, InstantiationError as I};
    let Some(code) = e.as_trap_code() else {
        // An active segment that does not fit.
        return match e.kind() {
            ErrorKind::Memory(_) => Some(2),
            ErrorKind::Table(_) => Some(3),
            ErrorKind::Instantiation(I::ElementSegmentDoesNotFit { .. }) => Some(3),
            _ => None,
        };
    };
    Some(match code {
        TrapCode::UnreachableCodeReached => 1,
        TrapCode::MemoryOutOfBounds => 2,
        TrapCode::TableOutOfBounds => 3,
        TrapCode::IndirectCallToNull => 4,
        TrapCode::BadSignature => 5,
        TrapCode::IntegerDivisionByZero => 6,
        TrapCode::IntegerOverflow => 7,
        TrapCode::BadConversionToInteger => 8,
        TrapCode::StackOverflow => OVERFLOW,
        _ => return None,
    })
}

/// The report of `wasm-interp`, in its own words: on the same module with a constant in place of
/// its import.
fn third(wasm: &[u8], arguments: u32) -> Result<String> {
    let alone = sip::alone(wasm, arguments)?;
    let file = std::env::temp_dir().join(format!("sing-differential-{}.wasm", std::process::id()));
    std::fs::write(&file, alone).context("cannot write a module for wasm-interp")?;
    let ran = Command::new("wasm-interp")
        .arg(&file)
        .args(["--run-all-exports"])
        .output();
    let _ = std::fs::remove_file(&file);
    let Ok(output) = ran else {
        return Ok("not installed".into());
    };
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said
        .lines()
        .find(|line| line.contains("sip_main"))
        .unwrap_or("nothing")
        .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{
        CodeSection, ConstExpr, DataSection, ElementSection, Elements, ExportKind, ExportSection,
        Function, FunctionSection, Instruction as I, MemorySection, MemoryType, Module, RefType,
        TableSection, TableType, TypeSection, ValType,
    };

    /// How a program ends that has a table of four elements, a page of memory, and a segment for
    /// each, at these places.
    fn with_segments(element: i32, functions: &[u32], data: i32, bytes: &[u8]) -> Option<End> {
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I32]);
        let mut declared = FunctionSection::new();
        declared.function(0);
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 4,
            maximum: None,
            shared: false,
        });
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut exports = ExportSection::new();
        exports.export("sip_main", ExportKind::Func, 0);
        let mut elements = ElementSection::new();
        let at = ConstExpr::i32_const(element);
        elements.active(None, &at, Elements::Functions(functions.into()));
        let mut main = Function::new([]);
        main.instruction(&I::I32Const(7));
        main.instruction(&I::End);
        let mut code = CodeSection::new();
        code.function(&main);
        let mut segments = DataSection::new();
        segments.active(0, &ConstExpr::i32_const(data), bytes.iter().copied());
        let mut module = Module::new();
        module.section(&types).section(&declared).section(&tables);
        module
            .section(&memories)
            .section(&exports)
            .section(&elements);
        module.section(&code).section(&segments);
        let engines = Engines::new().expect("engines");
        let module = wasmi::Module::new(&engines.wasmi, module.finish()).expect("a module");
        engines.interpret(&module, 0).expect("a run")
    }

    #[test]
    fn after_a_trap_the_calls_before_it_are_asked_for() {
        // A trap before the first question, at it, and at each call.
        assert_eq!([0, 1, 2, 3, 4].map(complete), [0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_segment_that_does_not_fit_is_a_trap_of_the_start() {
        let end = Some(End::Exit(7));
        assert_eq!(with_segments(3, &[0], 65_535, &[1]), end);
        assert_eq!(with_segments(4, &[], 65_536, &[]), end);
        let table = Some(End::Trap(3));
        assert_eq!(with_segments(4, &[0], 0, &[1]), table);
        // One without elements has to lie inside, too.
        assert_eq!(with_segments(-3_899_082, &[], 0, &[1]), table);
        assert_eq!(with_segments(5, &[], 0, &[1]), table);
        let memory = Some(End::Trap(2));
        assert_eq!(with_segments(0, &[0], 65_536, &[1]), memory);
        assert_eq!(with_segments(0, &[0], 65_537, &[]), memory);
    }
}
