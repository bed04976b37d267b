//! Tables for a debugger: where the records of the kernel's objects lie, and what lies where in them.
//!
//! A debugger finds the tables by their names, which end in `layout::` and the kind of object, and
//! reads the records in the machine's memory (`sing gdb`). The kernel itself never reads any of it,
//! and no record has anything in it for a debugger: so nothing that runs is slower for it.

use core::mem::offset_of;
use sing_arch::slab::Slab;

/// The most letters of a name.
const NAME: usize = 24;

/// A part of a record: its name, and how many bytes behind the record's beginning it lies.
#[repr(C)]
pub(crate) struct Place {
    name: [u8; NAME],
    at: u64,
}

impl Place {
    /// The part of this name, so many bytes behind the record's beginning.
    ///
    /// # Panics
    /// If the name is too long.
    pub(crate) const fn new(name: &str, at: usize) -> Place {
        let (from, mut to, mut i) = (name.as_bytes(), [0; NAME], 0);
        while i < from.len() {
            to[i] = from[i];
            i += 1;
        }
        let (name, at) = (to, at as u64);
        Place { name, at }
    }
}

/// The records of a kind, as debuggers read it: seven words, and the places. What lies in a store is
/// described by numbers, too, as it has no fixed order either.
#[repr(C)]
pub(crate) struct Layout<T: 'static, const N: usize> {
    records: &'static Slab<T>,
    /// Bytes from the store's beginning to its segments' addresses.
    segments: u64,
    /// Bytes from there to the number of records, those that are free included: a `u32`.
    fresh: u64,
    first_records: u64,
    record_bytes: u64,
    /// Bytes from a record's beginning to its mark, a `u32` that is 1 while the record is in use.
    mark: u64,
    count: u64,
    places: [Place; N],
}

impl<T: Default + Sync, const N: usize> Layout<T, N> {
    /// The layout of the records in a store.
    pub(crate) const fn new(records: &'static Slab<T>, places: [Place; N]) -> Self {
        const { assert!(Slab::<T>::MARK_OF_USED == 1) };
        Layout {
            records,
            segments: Slab::<T>::SEGMENTS_AT as u64,
            fresh: Slab::<T>::FRESH_AT as u64,
            first_records: Slab::<T>::FIRST_RECORDS,
            record_bytes: Slab::<T>::RECORD,
            mark: Slab::<T>::MARK_AT as u64,
            count: N as u64,
            places,
        }
    }

    /// Has the linker keep it, which nothing else refers to.
    pub(crate) fn keep(&'static self) {
        const {
            assert!(offset_of!(Self, count) == 48);
            assert!(offset_of!(Self, places) == 56 && size_of::<Place>() == 32);
        };
        core::hint::black_box(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::thread::layout::THREADS_LAYOUT;

    #[test]
    fn a_table_is_as_debuggers_read_it() {
        let place = Place::new("wait.end", 7);
        assert_eq!(&place.name[..9], b"wait.end\0");
        assert_eq!((place.at, offset_of!(Place, at)), (7, NAME));
        assert_eq!(offset_of!(Layout<u64, 1>, record_bytes), 32);
        assert_eq!(offset_of!(Layout<u64, 1>, mark), 40);
        let table = &THREADS_LAYOUT;
        assert_eq!(table.count as usize, table.places.len());
        for (i, place) in table.places.iter().enumerate() {
            assert!(place.at < table.mark);
            let mut others = table.places[..i].iter();
            assert!(others.all(|other| other.name != place.name && other.at != place.at));
        }
    }
}
