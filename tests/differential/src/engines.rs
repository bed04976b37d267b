//! The results of other engines for a SIP: an interpreter; `wasmtime`, if it was built in; and if
//! these two disagree, the interpreter of the WebAssembly Binary Toolkit, if that is installed.

use crate::sip::{self, CALLS};
use anyhow::{Context, Result, anyhow};
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

/// The engines.
pub struct Engines {
    wasmi: wasmi::Engine,
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
            #[cfg(feature = "wasmtime")]
            wasmtime: {
                let mut config = wasmtime::Config::new();
                // It wants the one that is not used to be no smaller than the other.
                config.async_stack_size(4 << 20);
                config.max_wasm_stack(4 << 20);
                config.wasm_custom_page_sizes(true);
                config.relaxed_simd_deterministic(true);
                wasmtime::Engine::new(&config).map_err(|e| anyhow!("wasmtime: {e:#}"))?
            },
        })
    }

    /// The expected result of each run of a SIP, a line each; `None` if no engine accepts the SIP.
    pub fn expect(&self, wasm: &[u8]) -> Result<Option<Vec<String>>> {
        // The interpreter cannot judge a module that it refuses.
        let Ok(module) = wasmi::Module::new(&self.wasmi, wasm) else {
            return Ok(None);
        };
        #[cfg(feature = "wasmtime")]
        let compiled = wasmtime::Module::new(&self.wasmtime, wasm)
            .map_err(|e| anyhow!("wasmtime refuses the module: {e:#}"))?;
        let mut lines = Vec::new();
        'plans: for plan in 0..sip::plans(wasm)?.max(1) {
            // From the whole plan down to the calls that do not trap: the effects before a trap
            // count, too.
            for calls in (0..=CALLS).rev() {
                let arguments = plan * 4 + calls;
                let first = self.interpret(&module, arguments)?;
                #[cfg(feature = "wasmtime")]
                let second = self.run(&compiled, arguments)?;
                #[cfg(not(feature = "wasmtime"))]
                let second = first;
                let (Some(first), Some(second)) = (first, second) else {
                    lines.push(format!("{arguments} unknown"));
                    continue;
                };
                if first == second {
                    lines.push(format!("{arguments} {first}"));
                } else if [first, second].contains(&End::Trap(OVERFLOW)) {
                    lines.push(format!("{arguments} unknown"));
                } else {
                    let third = third(wasm, arguments)?;
                    lines.push(format!(
                        "{arguments} differ wasmi: {first}, wasmtime: {second}, wabt: {third}"
                    ));
                }
                if matches!(first, End::Exit(_)) {
                    break;
                }
                // It traps before any call.
                if calls == 0 {
                    break 'plans;
                }
            }
        }
        Ok(Some(lines))
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
    fn run(&self, module: &wasmtime::Module, arguments: u32) -> Result<Option<End>> {
        let mut store = wasmtime::Store::new(&self.wasmtime, ());
        let count = wasmtime::Func::wrap(&mut store, move || arguments as i32);
        let ended =
            wasmtime::Instance::new(&mut store, module, &[count.into()]).and_then(|instance| {
                let main = instance.get_typed_func::<(), i32>(&mut store, "sip_main")?;
                main.call(&mut store, ())
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
                _ => None,
            }
            .map(End::Trap),
        })
    }
}

/// The kernel's code for a trap of the interpreter.
fn trap_of(e: &wasmi::Error) -> Option<u8> {
    use wasmi::errors::ErrorKind;
    let Some(code) = e.as_trap_code() else {
        // An active segment that does not fit.
        return match e.kind() {
            ErrorKind::Memory(_) => Some(2),
            ErrorKind::Table(_) => Some(3),
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
