//! The functions by which the adapter reaches the program. They are made here, because each of them
//! names a memory or a function that the adapter has no number for.

use crate::parts::Parts;
use crate::{ADAPTER_MEMORY, Error, PROGRAM_MEMORY};
use wasm_encoder::{Function, Instruction, ValType};
use wasmparser as wp;

/// A function of the module `program`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Stub {
    /// All of them.
    pub const ALL: [Stub; 4] = [Stub::Read, Stub::Write, Stub::Size, Stub::Start];

    /// The name by which the adapter imports it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stub::Read => "read",
            Stub::Write => "write",
            Stub::Size => "size",
            Stub::Start => "start",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Stub> {
        Stub::ALL.into_iter().find(|stub| stub.name() == name)
    }

    pub(crate) fn params(self) -> &'static [ValType] {
        match self {
            Stub::Read | Stub::Write => &[ValType::I32; 3],
            Stub::Size | Stub::Start => &[],
        }
    }

    pub(crate) fn results(self) -> &'static [ValType] {
        match self {
            Stub::Size => &[ValType::I64],
            Stub::Read | Stub::Write | Stub::Start => &[],
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
    pub(crate) fn body(self, program: &Parts<'_>, calls: &[u32]) -> Function {
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
                for &function in calls {
                    body.instruction(&Instruction::Call(function));
                }
            }
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

/// The functions of the program that start it, in their order, by their numbers in it.
pub(crate) fn entry(program: &Parts<'_>) -> Result<Vec<u32>, Error> {
    let name = ["_start", "_initialize"]
        .into_iter()
        .find(|name| program.exported(name).is_some());
    let Some((name, function)) = name.and_then(|n| Some((n, program.exported(n)?))) else {
        return Err(Error::new(
            "exports no function _start, where a program begins, and no _initialize: it is a \
             library; build a program",
        ));
    };
    let ty = program.function_type(function);
    if ty.is_none_or(|ty| !ty.params().is_empty() || !ty.results().is_empty()) {
        return Err(Error::new(format!(
            "its function {name} has parameters or results; a program of WASI begins in one without"
        )));
    }
    Ok(program.start.into_iter().chain([function]).collect())
}
