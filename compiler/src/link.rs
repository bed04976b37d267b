//! The linker: places functions in one piece of code, resolves the calls between them, and collects
//! their traps.

use crate::error::{Error, ErrorKind, Result};
use cranelift_codegen::binemit::{Addend, Reloc};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, Function, TrapCode};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Context, FinalizedRelocTarget};
use sing_abi::trap::Trap;
use sing_image::limits;

/// Alignment of functions in bytes: half a cache line.
const ALIGNMENT: usize = 32;
/// Padding between functions: `int3`.
const PADDING: u8 = 0xcc;
/// Code under construction.
#[derive(Default)]
pub(crate) struct Linker {
    code: Vec<u8>,
    /// Calls to be resolved: offset in the code, called function, addend.
    calls: Vec<(u32, u32, Addend)>,
    traps: Vec<(u32, u8)>,
    max_frame: u32,
}

/// The finished code.
pub(crate) struct Linked {
    pub(crate) code: Vec<u8>,
    pub(crate) traps: Vec<(u32, u8)>,
    pub(crate) max_frame: u32,
}

impl Linker {
    /// Generates code for the function in `context` and appends it: its offset and size.
    pub(crate) fn add(&mut self, context: &mut Context, isa: &dyn TargetIsa) -> Result<(u32, u32)> {
        let mut control = ControlPlane::default();
        if let Err(e) = context.compile(isa, &mut control) {
            return Err(codegen_error(&e.inner));
        }
        let compiled = context.compiled_code();
        let compiled = compiled.ok_or_else(|| Error::internal("Cranelift gave no code"))?;
        let alignment = ALIGNMENT.max(compiled.buffer.alignment as usize);
        self.code
            .resize(self.code.len().next_multiple_of(alignment), PADDING);
        let start = self.code.len();
        let bytes = compiled.code_buffer();
        let size = bytes.len() as u64;
        limits::FUNCTION_CODE_BYTES.check(size).map_err(|e| {
            Error::new(ErrorKind::TooLarge, format!("the module has {}", e.message))
        })?;
        // Before more is compiled. Calls reach 2 GiB either way, so those within the limit always
        // do.
        limits::CODE_BYTES
            .check(start as u64 + size)
            .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image has {}", e.message)))?;
        self.code.extend_from_slice(bytes);
        let start = start as u32;
        for reloc in compiled.buffer.relocs() {
            let target = called_function(&context.func, &reloc.target)
                .filter(|_| reloc.kind == Reloc::X86CallPCRel4)
                .ok_or_else(|| {
                    Error::internal(format!(
                        "{:?} to {:?} in the code",
                        reloc.kind, reloc.target
                    ))
                })?;
            self.calls
                .push((start + reloc.offset, target, reloc.addend));
        }
        for trap in compiled.buffer.traps() {
            self.traps
                .push((start + trap.offset, reason(trap.code)?.code()));
        }
        if let Some(frame) = compiled.buffer.frame_layout() {
            // Including the return address and the saved frame pointer.
            self.max_frame = self.max_frame.max(frame.frame_to_fp_offset + 16);
        }
        Ok((start, bytes.len() as u32))
    }

    /// Resolves the calls; `offset_of` gives the offset of a function.
    pub(crate) fn finish(mut self, offset_of: impl Fn(u32) -> Option<u32>) -> Result<Linked> {
        for (at, target, addend) in self.calls {
            let target = offset_of(target)
                .ok_or_else(|| Error::internal(format!("a call of function {target}")))?;
            let distance = i64::from(target) + addend - i64::from(at);
            let distance = i32::try_from(distance)
                .map_err(|_| Error::new(ErrorKind::TooLarge, "a call is too far"))?;
            self.code[at as usize..at as usize + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.traps.sort_unstable();
        self.traps.dedup();
        Ok(Linked {
            code: self.code,
            traps: self.traps,
            max_frame: self.max_frame,
        })
    }
}

fn called_function(func: &Function, target: &FinalizedRelocTarget) -> Option<u32> {
    match target {
        FinalizedRelocTarget::ExternalName(ExternalName::User(name)) => {
            Some(func.params.user_named_funcs()[*name].index)
        }
        _ => None,
    }
}

/// The ABI's reason for a trap: user codes are the ABI's, Cranelift's own are named.
fn reason(code: TrapCode) -> Result<Trap> {
    Ok(match code {
        TrapCode::STACK_OVERFLOW => Trap::StackOverflow,
        TrapCode::INTEGER_OVERFLOW => Trap::IntegerOverflow,
        TrapCode::HEAP_OUT_OF_BOUNDS => Trap::MemoryOutOfBounds,
        TrapCode::INTEGER_DIVISION_BY_ZERO => Trap::DivisionByZero,
        TrapCode::BAD_CONVERSION_TO_INTEGER => Trap::BadConversion,
        code => Trap::from_code(code.as_raw().get())
            .ok_or_else(|| Error::internal(format!("unknown trap {code}")))?,
    })
}

fn codegen_error(e: &cranelift_codegen::CodegenError) -> Error {
    use cranelift_codegen::CodegenError as E;
    match e {
        E::CodeTooLarge | E::ImplLimitExceeded => {
            Error::new(ErrorKind::TooLarge, "the function is too large to compile")
        }
        E::Unsupported(what) => Error::new(
            ErrorKind::Unsupported,
            format!("the code generator lacks {what}"),
        ),
        e => Error::internal(format!("Cranelift: {e}")),
    }
}
