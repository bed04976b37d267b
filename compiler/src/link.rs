//! The linker: places functions in one piece of code, resolves the calls between them, and collects
//! their traps.

use crate::error::{Error, ErrorKind, Result};
use crate::translate::{CODE, FUNCTIONS, PLACES, ROUTINES, Routine, TABLE, TABLE_HEAD};
use cranelift_codegen::binemit::{Addend, Reloc};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, Function, TrapCode, UserExternalName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Context, FinalizedMachExceptionHandler, FinalizedRelocTarget};
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
    calls: Vec<(u32, UserExternalName, Addend)>,
    traps: Vec<(u32, u8)>,
    /// Routines with their offsets.
    routines: Vec<(Routine, u32)>,
    /// The exception table: for each call from which exceptions go on in its function, the offset
    /// behind it, the bytes of the frame below the frame pointer, and the offset to go on at.
    catching: Vec<[u32; 3]>,
    max_frame: u32,
}

/// The finished code.
pub(crate) struct Linked {
    pub(crate) code: Vec<u8>,
    pub(crate) traps: Vec<(u32, u8)>,
    pub(crate) max_frame: u32,
    /// The offset of the exception table, if there is one.
    pub(crate) catching: Option<u32>,
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
                .filter(|_| match reloc.kind {
                    Reloc::X86CallPCRel4 => true,
                    Reloc::X86GOTPCRel4 => self.relax(start + reloc.offset),
                    _ => false,
                })
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
        for call in compiled.buffer.call_sites() {
            let [handler] = call.exception_handlers else {
                continue;
            };
            let (FinalizedMachExceptionHandler::Default(handler), Some(frame)) =
                (handler, call.frame_offset)
            else {
                return Err(Error::internal("a call with other than one handler"));
            };
            self.catching
                .push([start + call.ret_addr, frame, start + handler]);
        }
        if let Some(frame) = compiled.buffer.frame_layout() {
            // Including the return address and the saved frame pointer.
            self.max_frame = self.max_frame.max(frame.frame_to_fp_offset + 16);
        }
        Ok((start, bytes.len() as u32))
    }

    /// Turns the load of an address from a table of addresses, which an image has not, into the
    /// computation of the address, as linkers do: `mov` of 64 bits into `lea`. Whether it is such a
    /// load whose distance stands there.
    fn relax(&mut self, at: u32) -> bool {
        let Some([rex, opcode, _]) = self.code[..at as usize].last_chunk_mut() else {
            return false;
        };
        let load = *rex & 0xf8 == 0x48 && *opcode == 0x8b;
        if load {
            *opcode = 0x8d;
        }
        load
    }

    /// Places a routine at the offset.
    pub(crate) fn routine(&mut self, routine: Routine, offset: u32) {
        self.routines.push((routine, offset));
    }

    /// Appends a routine that has code already.
    pub(crate) fn append(&mut self, routine: Routine, code: &[u8]) {
        self.code
            .resize(self.code.len().next_multiple_of(ALIGNMENT), PADDING);
        self.routine(routine, self.code.len() as u32);
        self.code.extend_from_slice(code);
    }

    /// Appends the exception table, where there are routines that use it: its offset.
    fn table(&mut self) -> Result<u32> {
        self.code
            .resize(self.code.len().next_multiple_of(ALIGNMENT), PADDING);
        let at = self.code.len() as u32;
        self.catching.sort_unstable();
        let size = u64::from(TABLE_HEAD) + self.catching.len() as u64 * 16;
        limits::CODE_BYTES
            .check(u64::from(at) + size)
            .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image has {}", e.message)))?;
        let head = [at, self.catching.len() as u32, 0, 0];
        let entries = self
            .catching
            .iter()
            .map(|&[behind, frame, to]| [behind, frame, to, 0]);
        for word in [head].into_iter().chain(entries).flatten() {
            self.code.extend_from_slice(&word.to_le_bytes());
        }
        Ok(at)
    }

    /// Resolves the calls; `offset_of` gives the offset of a function.
    pub(crate) fn finish(mut self, offset_of: impl Fn(u32) -> Option<u32>) -> Result<Linked> {
        let table = match self.routines.is_empty() {
            true => None,
            false => Some(self.table()?),
        };
        for (at, target, addend) in self.calls {
            let offset = match (target.namespace, target.index) {
                (FUNCTIONS, func) => offset_of(func),
                (ROUTINES, routine) => {
                    let mut routines = self.routines.iter();
                    routines.find(|r| r.0.index() == routine).map(|r| r.1)
                }
                (PLACES, CODE) => Some(0),
                (PLACES, TABLE) => table,
                _ => None,
            };
            let target = offset.ok_or_else(|| Error::internal(format!("a call of {target:?}")))?;
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
            catching: table,
        })
    }
}

fn called_function(func: &Function, target: &FinalizedRelocTarget) -> Option<UserExternalName> {
    match target {
        FinalizedRelocTarget::ExternalName(ExternalName::User(name)) => {
            Some(func.params.user_named_funcs()[*name].clone())
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
