//! The linker: places functions in one piece of code, resolves the calls between them, and collects
//! their traps.

use crate::error::{Error, ErrorKind, Result};
use crate::piece::Piece;
use crate::translate::{
    CODE, FUNCTIONS, PLACES, ROUTINES, Routine, TABLE, TABLE_HEAD, routine_code,
};
use cranelift_codegen::binemit::Addend;
use cranelift_codegen::ir::UserExternalName;
use sing_abi::trap::Trap;
use sing_image::limits;

/// Alignment of functions in bytes: half a cache line.
const ALIGNMENT: usize = 32;
/// Padding between functions: `int3`.
const PADDING: u8 = 0xcc;
/// The code of functions that nothing can call: `ud2`.
const STUB: [u8; 2] = [0x0f, 0x0b];

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
    /// Where the last stub lies.
    stub: Option<usize>,
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
    /// Appends a function's code, whose names are `names`: its offset and size.
    pub(crate) fn add(&mut self, piece: &Piece, names: &[UserExternalName]) -> Result<(u32, u32)> {
        let alignment = ALIGNMENT.max(piece.alignment as usize);
        self.code
            .resize(self.code.len().next_multiple_of(alignment), PADDING);
        let start = self.code.len();
        // Before more is compiled. Calls reach 2 GiB either way, so those within the limit always
        // do.
        limits::CODE_BYTES
            .check((start + piece.code.len()) as u64)
            .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image has {}", e.message)))?;
        self.code.extend_from_slice(&piece.code);
        let start = start as u32;
        for &(at, name, addend) in &piece.calls {
            let name = names.get(name as usize).cloned();
            let name = name.ok_or_else(|| Error::internal("a call of something without a name"))?;
            self.calls.push((start + at, name, addend));
        }
        let traps = piece.traps.iter();
        self.traps
            .extend(traps.map(|&(at, code)| (start + at, code)));
        let catching = piece.catching.iter();
        self.catching
            .extend(catching.map(|&[behind, frame, to]| [start + behind, frame, start + to]));
        self.max_frame = self.max_frame.max(piece.frame);
        Ok((start, piece.code.len() as u32))
    }

    /// Places a function that nothing can call: its offset, at which there is a trap that belongs to no
    /// function, should it be called all the same. It has no bytes; those that follow each other share
    /// a trap, which fills a gap.
    pub(crate) fn left_out(&mut self) -> Result<u32> {
        if let Some(at) = self.stub.filter(|at| at + STUB.len() == self.code.len()) {
            return Ok(at as u32);
        }
        let at = self.code.len();
        limits::CODE_BYTES
            .check((at + STUB.len()) as u64)
            .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image has {}", e.message)))?;
        self.stub = Some(at);
        self.code.extend_from_slice(&STUB);
        self.traps.push((at as u32, Trap::Unreachable.code()));
        Ok(at as u32)
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

    /// Appends those of the routines for all that functions call.
    fn append_called(&mut self) {
        for routine in Routine::FOR_ALL {
            let of = |name: &UserExternalName| {
                (name.namespace, name.index) == (ROUTINES, routine.index())
            };
            let called = self.calls.iter().any(|(_, name, _)| of(name));
            if let Some((code, accesses)) = routine_code(routine).filter(|_| called) {
                self.append(routine, &code);
                let start = (self.code.len() - code.len()) as u32;
                let trap = Trap::MemoryOutOfBounds.code();
                self.traps
                    .extend(accesses.iter().map(|at| (start + at, trap)));
            }
        }
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
        // Behind the table: exceptions go through functions only.
        self.append_called();
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
