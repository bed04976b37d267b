//! Machine code of functions from earlier compilations.
//!
//! A function's machine code depends on its intermediate code and the target alone (see
//! [`Piece`]). So it is kept under a digest of these: a function that has not changed has its code
//! already, wherever it stands in a module, and whatever the functions that it calls have become.
//!
//! What is kept is trusted as the compiler is; the compiler tests only that it has the form of a
//! piece, so that damage is an omission and no panic.

use crate::options::Options;
use crate::piece::Piece;
use cranelift_codegen::ir::Function;
use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};

/// The name of a function's code: a digest of all that it depends on, but for the compiler.
pub type Name = [u8; 32];

/// A place for the code of functions. Whoever makes one sees to it that it holds what this very
/// compiler has put there.
pub trait Keeper: Sync {
    /// What was put there under this name.
    fn get(&self, name: &Name) -> Option<&[u8]>;
    /// Takes the code of a function that was not there.
    fn put(&self, name: Name, code: Vec<u8>);
}

/// What is hashed, in one piece. Numbers are mostly small, and have as many bytes as they need: 7
/// bits in each, and the highest bit where more follow.
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// The kinds of numbers, all written alike.
macro_rules! numbers {
    ($($write:ident $ty:ty),*) => {
        $(fn $write(&mut self, number: $ty) {
            self.number(number as u64);
        })*
    };
}

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    numbers!(write_u16 u16, write_u32 u32, write_u64 u64, write_usize usize);
    numbers!(write_i16 i16, write_i32 i32, write_i64 i64, write_isize isize);

    fn finish(&self) -> u64 {
        0
    }
}

/// The name of the code of a translated function.
pub(crate) fn name(func: &Function, options: &Options, places: bool) -> Name {
    let mut bytes = Bytes(Vec::with_capacity(1 << 14));
    options.cpu.features().hash(&mut bytes);
    places.hash(&mut bytes);
    func.stencil.hash(&mut bytes);
    Sha256::digest(&bytes.0).into()
}

impl Piece {
    /// The bytes under which it is kept.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(self).ok()
    }

    /// What was kept, if it has the form of a piece.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Piece> {
        let piece: Piece = postcard::from_bytes(bytes).ok()?;
        let size = u32::try_from(piece.code.len()).ok()?;
        let inside = |at: u32| at <= size;
        let sound = piece.alignment.is_power_of_two()
            && piece.alignment <= 4096
            && piece
                .calls
                .iter()
                .all(|call| call.0.checked_add(4).is_some_and(inside))
            && piece.traps.iter().all(|trap| inside(trap.0))
            && piece
                .catching
                .iter()
                .all(|[behind, _, to]| inside(*behind) && inside(*to))
            && piece.places.iter().all(|place| inside(place.0));
        sound.then_some(piece)
    }
}
