//! The functions by which the adapter reaches the program. They are made here, because each of them
//! names a memory or a function that the adapter has no number for.

use crate::parts::Parts;
use crate::program::Entries;
use crate::{ADAPTER_MEMORY, PROGRAM_MEMORY};
use wasm_encoder::{Function, Instruction, ValType};
use wasmparser as wp;

/// A function of the module `program`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stub {
    /// `(dst: i32, src: i32, len: i32)`: copies from the program's memory to the adapter's.
    Read,
    /// `(dst: i32, src: i32, len: i32)`: copies from the adapter's memory to the program's.
    Write,
    /// `() -> i64`: the bytes of the program's memory.
    Size,
    /// `()`: runs the program's start function, if it has one, and then what it exports as
    /// `_start`, or as `_initialize` if there is no `_start`.
    Start,
    /// `() -> i32`: the same for a component, which has `run` of `wasi:cli/run`: 0, or 1 for an error.
    Run,
    /// `(request: i32, response: i32)`: runs the start function, and then `handle` of
    /// `wasi:http/incoming-handler`.
    Handle,
    /// `(old: i32, old_len: i32, alignment: i32, len: i32) -> i32`: makes room in the program's memory, by
    /// the function which the component names for that; without one, the process traps.
    Realloc,
    /// `()`: calls what the adapter exports as [`GO_ON`], if the program can send requests of HTTP; so that a program
    /// which cannot has nothing of the code for them.
    GoOn,
}

/// The adapter's function that goes on with requests of HTTP.
pub(crate) const GO_ON: &str = "program#go-on";

/// The interface's function by which a program sends one.
pub(crate) const SENDS: (&str, &str) = ("wasi:http/outgoing-handler", "handle");

impl Stub {
    /// All of them.
    pub const ALL: [Stub; 8] = [
        Stub::Read,
        Stub::Write,
        Stub::Size,
        Stub::Start,
        Stub::Run,
        Stub::Handle,
        Stub::Realloc,
        Stub::GoOn,
    ];

    /// The name by which the adapter imports it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stub::Read => "read",
            Stub::Write => "write",
            Stub::Size => "size",
            Stub::Start => "start",
            Stub::Run => "run",
            Stub::Handle => "handle",
            Stub::Realloc => "realloc",
            Stub::GoOn => "go_on",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Stub> {
        Stub::ALL.into_iter().find(|stub| stub.name() == name)
    }

    pub(crate) fn params(self) -> &'static [ValType] {
        match self {
            Stub::Read | Stub::Write => &[ValType::I32; 3],
            Stub::Handle => &[ValType::I32; 2],
            Stub::Realloc => &[ValType::I32; 4],
            Stub::Size | Stub::Start | Stub::Run | Stub::GoOn => &[],
        }
    }

    pub(crate) fn results(self) -> &'static [ValType] {
        match self {
            Stub::Size => &[ValType::I64],
            Stub::Run | Stub::Realloc => &[ValType::I32],
            Stub::Read | Stub::Write | Stub::Start | Stub::Handle | Stub::GoOn => &[],
        }
    }

    /// Its type as the module that imports it must have it.
    pub(crate) fn wanted(self) -> wp::FuncType {
        // There are no others in the two above.
        let read = |ty: &ValType| match ty {
            ValType::I64 => wp::ValType::I64,
            _ => wp::ValType::I32,
        };
        wp::FuncType::new(
            self.params().iter().map(read),
            self.results().iter().map(read),
        )
    }

    /// Its code.
    pub(crate) fn body(self, program: &Parts<'_>, entries: &Entries) -> Function {
        let mut body = Function::new([]);
        match self {
            Stub::Read => copy(&mut body, ADAPTER_MEMORY, PROGRAM_MEMORY),
            Stub::Write => copy(&mut body, PROGRAM_MEMORY, ADAPTER_MEMORY),
            Stub::Size => {
                let page_bits = program
                    .memories
                    .first()
                    .map_or(Some(16), |m| m.page_size_log2);
                body.instruction(&Instruction::MemorySize(PROGRAM_MEMORY));
                body.instruction(&Instruction::I64ExtendI32U);
                body.instruction(&Instruction::I64Const(page_bits.unwrap_or(16).into()));
                body.instruction(&Instruction::I64Shl);
            }
            Stub::Start => {
                calls(&mut body, entries.first.iter().chain(&entries.begin));
                if let Some(run) = entries.run {
                    body.instruction(&Instruction::Call(run));
                    body.instruction(&Instruction::Drop);
                }
            }
            Stub::Run => {
                calls(&mut body, entries.first.iter().chain(&entries.begin));
                body.instruction(&match entries.run {
                    Some(run) => Instruction::Call(run),
                    None => Instruction::I32Const(0),
                });
            }
            Stub::Handle => {
                calls(&mut body, &entries.first);
                pass_on(&mut body, 2, entries.handle);
            }
            Stub::Realloc => pass_on(&mut body, 4, entries.realloc),
            Stub::GoOn => calls(&mut body, &entries.go_on),
        }
        body.instruction(&Instruction::End);
        body
    }
}

fn copy(body: &mut Function, dst_mem: u32, src_mem: u32) {
    for local in 0..3 {
        body.instruction(&Instruction::LocalGet(local));
    }
    body.instruction(&Instruction::MemoryCopy { src_mem, dst_mem });
}

fn calls<'a>(body: &mut Function, functions: impl IntoIterator<Item = &'a u32>) {
    for function in functions {
        body.instruction(&Instruction::Call(*function));
    }
}

/// Calls a function with all parameters; without one, it traps.
fn pass_on(body: &mut Function, params: u32, function: Option<u32>) {
    let Some(function) = function else {
        body.instruction(&Instruction::Unreachable);
        return;
    };
    for param in 0..params {
        body.instruction(&Instruction::LocalGet(param));
    }
    body.instruction(&Instruction::Call(function));
}
