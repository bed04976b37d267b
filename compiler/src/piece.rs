//! The machine code of one function, before it has a place: what [`Linker`](crate::link::Linker)
//! puts into the image.
//!
//! It depends on the function's intermediate code and the target alone: other functions are numbers
//! of names, and places in the program's text are relative to the function's.

use crate::error::{Error, ErrorKind, Result};
use crate::passes;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, TrapCode};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Context, FinalizedMachExceptionHandler, FinalizedRelocTarget};
use serde::{Deserialize, Serialize};
use sing_abi::trap::Trap;
use sing_image::limits;

/// The machine code of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) code: Vec<u8>,
    pub(crate) alignment: u32,
    /// Distances to be filled in: where, the number of the name of what is called, and what is
    /// added.
    pub(crate) calls: Vec<(u32, u32, i64)>,
    /// Instructions that can trap, with their reasons.
    pub(crate) traps: Vec<(u32, u8)>,
    /// For each call from which exceptions go on in the function: the offset behind it, the bytes of
    /// the frame below the frame pointer, and the offset to go on at.
    pub(crate) catching: Vec<[u32; 3]>,
    /// Bytes of the frame.
    pub(crate) frame: u32,
    /// Where code comes from: its offset, and a place relative to the first one of the function.
    pub(crate) places: Vec<(u32, u32)>,
}

impl Piece {
    /// About how many bytes it has in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.code.len()
            + 16 * self.calls.len()
            + 8 * (self.traps.len() + self.places.len())
            + 12 * self.catching.len()
    }

    /// Generates code for the function in `context`, with places in the text if these are wanted.
    pub(crate) fn make(
        context: &mut Context,
        registers: &mut regalloc2::Ctx,
        isa: &dyn TargetIsa,
        places: bool,
    ) -> Result<Piece> {
        let mut control = ControlPlane::default();
        let mut generate = || {
            context.optimize(isa, &mut control)?;
            passes::run(context);
            context.verify_if(isa)?;
            let (func, domtree) = (&context.func, &context.domtree);
            isa.compile_function(func, domtree, registers, false, &mut control)
        };
        let compiled = generate().map_err(|e| codegen_error(&e))?;
        let compiled = compiled.apply_params(&context.func.params);
        let buffer = &compiled.buffer;
        let mut piece = Piece {
            code: compiled.code_buffer().to_vec(),
            alignment: buffer.alignment,
            ..Piece::default()
        };
        limits::FUNCTION_CODE_BYTES
            .check(piece.code.len() as u64)
            .map_err(|e| {
                Error::new(ErrorKind::TooLarge, format!("the module has {}", e.message))
            })?;
        for reloc in buffer.relocs() {
            let target = called_function(&reloc.target)
                .filter(|_| match reloc.kind {
                    Reloc::X86CallPCRel4 => true,
                    Reloc::X86GOTPCRel4 => relax(&mut piece.code, reloc.offset),
                    _ => false,
                })
                .ok_or_else(|| {
                    Error::internal(format!(
                        "{:?} to {:?} in the code",
                        reloc.kind, reloc.target
                    ))
                })?;
            piece.calls.push((reloc.offset, target, reloc.addend));
        }
        for trap in buffer.traps() {
            piece.traps.push((trap.offset, reason(trap.code)?.code()));
        }
        for call in buffer.call_sites() {
            let [handler] = call.exception_handlers else {
                continue;
            };
            let (FinalizedMachExceptionHandler::Default(handler), Some(frame)) =
                (handler, call.frame_offset)
            else {
                return Err(Error::internal("a call with other than one handler"));
            };
            piece.catching.push([call.ret_addr, frame, *handler]);
        }
        if let Some(frame) = buffer.frame_layout() {
            // Including the return address and the saved frame pointer.
            piece.frame = frame.frame_to_fp_offset + 16;
        }
        if places {
            let first = context.func.params.base_srcloc().bits();
            let all = buffer.get_srclocs_sorted().iter();
            let all = all.filter(|part| !part.loc.is_default());
            piece.places = all
                .map(|part| (part.start, part.loc.bits().wrapping_sub(first)))
                .collect();
        }
        Ok(piece)
    }
}

/// Turns the load of an address from a table of addresses, which an image has not, into the
/// computation of the address, as linkers do: `mov` of 64 bits into `lea`. Whether it is such a load
/// whose distance stands there.
fn relax(code: &mut [u8], at: u32) -> bool {
    let before = code.get_mut(..at as usize);
    let Some([rex, opcode, _]) = before.and_then(<[u8]>::last_chunk_mut) else {
        return false;
    };
    let load = *rex & 0xf8 == 0x48 && *opcode == 0x8b;
    if load {
        *opcode = 0x8d;
    }
    load
}

/// The number of the name of what is called.
fn called_function(target: &FinalizedRelocTarget) -> Option<u32> {
    match target {
        FinalizedRelocTarget::ExternalName(ExternalName::User(name)) => Some(name.as_u32()),
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
