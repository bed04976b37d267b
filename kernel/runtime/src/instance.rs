//! The state of one SIP beside its linear memory: the memory's record, its tables, and the set of
//! segments that it has dropped.
//!
//! Invariants:
//! - The memory's record and the tables, which compiled code reaches, never move.
//! - A segment that was dropped, or was active, has no contents.

mod parts;

pub(crate) use parts::Parts;

use crate::template::{FuncRecord, Template, memory_cost};
use crate::{Charged, HEADER, NoRoom, Payer, Table, Trap, Windows};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use parts::Dropped;
use sing_abi::ctx::{MEM_DEF_BASE, MEM_DEF_LEN};
use sing_image::meta::{Linkage, MemoryType, SegmentMode};

/// The record of a linear memory, as compiled code reads it.
#[repr(C)]
pub(crate) struct MemoryRecord {
    base: AtomicU64,
    len: AtomicU64,
}

const _: () = {
    assert!(offset_of!(MemoryRecord, base) == MEM_DEF_BASE as usize);
    assert!(offset_of!(MemoryRecord, len) == MEM_DEF_LEN as usize);
};

/// A memory behind the first, which a sealed instance owns.
pub(crate) struct Further {
    record: MemoryRecord,
    /// Bytes that it can grow to.
    reserved: u64,
}

/// The references in an element segment.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a>(&'a [u64]);

/// A running copy of an image. The contexts of its threads hold references to it.
#[repr(transparent)]
pub struct Instance(NonNull<Inner>);

/// An element of a table: a function's record, an external reference, or null. Compiled code passes
/// it to the kernel and gets it back; nothing else makes one.
///
/// ```compile_fail,E0423
/// let forged = sing_runtime::Reference(0x1000); // private field
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(u64);

#[cfg(test)]
impl Reference {
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) const NULL: Reference = Reference(0);
}

/// The shared contents of an instance. Their address is fixed, as context records point to them.
#[repr(C)]
pub(crate) struct Inner {
    /// The instance itself, so that a pointer to this record gives a reference to it. First, and
    /// never dropped: the owner's [`Instance`] does that.
    this: ManuallyDrop<Instance>,
    template: Arc<Template>,
    memory: MemoryRecord,
    /// Bytes that the memory can grow to.
    reserved: u64,
    /// Address of the record in use: the one above, or an imported memory's.
    memory_record: u64,
    dropped_data: Dropped,
    dropped_elements: Dropped,
    parts: Parts,
    /// Registers of devices that code reaches.
    windows: Windows,
    /// Reference count: the owner, and the contexts of its threads.
    references: AtomicU32,
    /// The payer of this record.
    payer: &'static dyn Payer,
}

// SAFETY: an instance owns what it points to; everything in it that changes is atomic or locked.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.inner().references.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let payer = self.inner().payer;
        // SAFETY: the pointer came from the heap as a box's would, this was the last reference, and
        // the copy of it in `this` is never dropped.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        payer.discharge(COST);
    }
}

/// Cost of the record.
const COST: u64 = size_of::<Inner>() as u64 + HEADER;

impl Instance {
    /// Makes an instance of a sealed image whose linear memory starts at `memory`. Does not write
    /// the initial data: [`Template::initial_from`] returns it. `payer` pays for the record and the
    /// tables, and for the growth of these.
    ///
    /// # Errors
    /// [`Trap::BadArgument`] if the image is an open one, or more must be reserved for it
    /// ([`Template::reservation`]). [`Trap::OutOfMemory`] if the payer or the heap has no room.
    ///
    /// # Safety
    /// `memory .. memory + reserved` is reserved for the SIP's memory while the instance lives; and
    /// so is what `further` names, an address and a number of bytes, for each further memory.
    pub unsafe fn new(
        template: &Arc<Template>,
        memory: u64,
        reserved: u64,
        further: impl Fn(usize) -> (u64, u64),
        payer: &'static dyn Payer,
    ) -> Result<Instance, Trap> {
        let limits = template.further();
        let room = |(i, m): (usize, &MemoryType)| m.min_bytes() <= further(i).1;
        let fits = template.reservation() <= reserved && limits.iter().enumerate().all(room);
        if template.meta().linkage != Linkage::Sealed || !fits {
            return Err(Trap::BadArgument);
        }
        let record = |i: usize| {
            let (base, reserved) = further(i);
            let len = limits[i].min_bytes();
            Further {
                record: MemoryRecord {
                    base: AtomicU64::new(base),
                    len: AtomicU64::new(len),
                },
                reserved,
            }
        };
        let no_room = |NoRoom| Trap::OutOfMemory;
        let further = Charged::from_fn(limits.len(), payer, record).map_err(no_room)?;
        let memory = (memory, template.memory_min());
        let parts = Parts::Sealed {
            first: None,
            more: Charged::new(),
            further,
        };
        Instance::assemble(template, memory, reserved, None, parts, payer).map_err(no_room)
    }

    /// Builds the instance. `record`: the record of a memory that another instance owns.
    pub(crate) fn assemble(
        template: &Arc<Template>,
        (base, len): (u64, u64),
        reserved: u64,
        record: Option<u64>,
        parts: Parts,
        payer: &'static dyn Payer,
    ) -> Result<Instance, NoRoom> {
        if !payer.charge(COST) {
            return Err(NoRoom);
        }
        let mut place = Vec::new();
        if place.try_reserve_exact(1).is_err() {
            payer.discharge(COST);
            return Err(NoRoom);
        }
        // What needs memory of its own follows when the record has its place: it is large, and is
        // not moved about.
        #[expect(
            clippy::disallowed_methods,
            reason = "there is room, and it is paid for"
        )]
        place.push(Inner {
            this: ManuallyDrop::new(Instance(NonNull::dangling())),
            template: template.clone(),
            memory: MemoryRecord {
                base: AtomicU64::new(base),
                len: AtomicU64::new(len),
            },
            reserved,
            memory_record: 0,
            dropped_data: Dropped::default(),
            dropped_elements: Dropped::default(),
            parts,
            windows: Windows::default(),
            references: AtomicU32::new(1),
            payer,
        });
        // A slice of one record is allocated as a record is.
        let mut place = place.into_boxed_slice();
        if place.iter_mut().try_for_each(Inner::furnish).is_err() {
            drop(place);
            payer.discharge(COST);
            return Err(NoRoom);
        }
        let place = Box::into_raw(place).cast::<Inner>();
        // SAFETY: the record was allocated just now and is this function's alone; a box's pointer
        // is not null.
        unsafe {
            let pointer = NonNull::new_unchecked(place);
            (*place).this = ManuallyDrop::new(Instance(pointer));
            (*place).memory_record = record.unwrap_or((&raw const (*place).memory) as u64);
            Ok(Instance(pointer))
        }
    }

    /// Gives it a table of register windows, for which its payer pays. Contexts show the table to
    /// code, so this comes before the first of them; later it changes nothing.
    ///
    /// # Errors
    /// If the payer or the heap has no room.
    pub fn furnish_windows(&mut self) -> Result<(), NoRoom> {
        if self.is_alone() {
            // SAFETY: valid while the instance lives, nobody else keeps it, and it is borrowed
            // mutably.
            let inner = unsafe { self.0.as_mut() };
            inner.windows = Windows::new(inner.payer)?;
        }
        Ok(())
    }

    /// Returns its table of register windows.
    #[must_use]
    pub fn windows(&self) -> &Windows {
        &self.inner().windows
    }

    /// Returns the instance whose address a context record holds.
    ///
    /// # Safety
    /// `address` is [`Instance::address`] of an instance that outlives the use of the result.
    #[inline]
    pub(crate) unsafe fn at<'a>(address: u64) -> &'a Instance {
        // SAFETY: the caller's; `this` stands first in `Inner` and is an `Instance`.
        unsafe { &*(address as *const Instance) }
    }

    /// Returns another reference to the instance.
    #[must_use]
    pub fn retain(&self) -> Instance {
        self.inner().references.fetch_add(1, Relaxed);
        Instance(self.0)
    }

    #[inline]
    pub(crate) fn inner(&self) -> &Inner {
        // SAFETY: the pointer is valid while the instance lives; nothing takes `&mut` to it.
        unsafe { self.0.as_ref() }
    }

    /// Returns the address of the instance, for a context record.
    #[inline]
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    #[inline]
    fn record(&self) -> &MemoryRecord {
        // SAFETY: the record is this instance's own, or an imported memory's, which the store that
        // linked the instance keeps.
        unsafe { &*(self.inner().memory_record as *const MemoryRecord) }
    }

    /// Returns the address of the memory's record.
    #[inline]
    #[must_use]
    pub fn memory_record(&self) -> u64 {
        self.inner().memory_record
    }

    /// Returns the address of byte 0 of linear memory.
    #[inline]
    #[must_use]
    pub fn memory_base(&self) -> u64 {
        self.record().base.load(Relaxed)
    }

    /// Returns the length of linear memory in bytes.
    #[inline]
    #[must_use]
    pub fn memory_len(&self) -> u64 {
        self.record().len.load(Acquire)
    }

    /// Whether this is the only reference: no thread has a context of the instance.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.inner().references.load(Acquire) == 1
    }

    /// Gives one of its tables back where nobody else keeps it: how many bytes that is. `None`
    /// where there is none, or somebody could run in it.
    pub fn give_table_back(&mut self) -> Option<u64> {
        if !self.is_alone() {
            return None;
        }
        // SAFETY: valid while the instance lives, nobody else keeps it, and it is borrowed mutably.
        let inner = unsafe { self.0.as_mut() };
        match &mut inner.parts {
            Parts::Sealed { first, more, .. } => {
                let table = more.pop().or_else(|| first.take())?;
                Some(table.bytes())
            }
            #[cfg(any(test, feature = "open"))]
            Parts::Open(_) => None,
        }
    }

    fn further(&self, i: usize) -> Option<&Further> {
        match &self.inner().parts {
            Parts::Sealed { further, .. } => further.get(i),
            #[cfg(any(test, feature = "open"))]
            Parts::Open(_) => None,
        }
    }

    /// Returns the address and the length in bytes of a memory behind the first.
    #[must_use]
    pub fn further_memory(&self, i: usize) -> Option<(u64, u64)> {
        let further = self.further(i)?;
        let record = &further.record;
        Some((record.base.load(Relaxed), record.len.load(Acquire)))
    }

    /// Returns the address of the record of a memory behind the first.
    pub(crate) fn further_record(&self, i: usize) -> Option<u64> {
        Some((&raw const self.further(i)?.record) as u64)
    }

    /// Bytes that a memory behind the first can have.
    #[must_use]
    pub fn further_reserved(&self, i: usize) -> u64 {
        self.further(i).map_or(0, |f| f.reserved)
    }

    /// Sets the length of a memory behind the first after it has grown.
    ///
    /// # Panics
    /// If the memory has no room for the length: code would reach beyond the reservation.
    pub fn set_further_len(&self, i: usize, bytes: u64) {
        let room = self.further_reserved(i);
        assert!(bytes <= room, "a memory of {bytes:#x} bytes in {room:#x}");
        if let Some(further) = self.further(i) {
            further.record.len.store(bytes, Release);
        }
    }

    /// Returns the bytes that all its memories together cost.
    #[must_use]
    pub fn all_memories_cost(&self) -> u64 {
        let further = (0..self.template().further().len()).filter_map(|i| self.further_memory(i));
        let further = further.map(|(_, len)| memory_cost(len));
        memory_cost(self.memory_len()) + further.sum::<u64>()
    }

    /// Bytes that linear memory can have.
    #[inline]
    #[must_use]
    pub fn memory_reserved(&self) -> u64 {
        self.inner().reserved
    }

    /// Sets the length after the memory has grown.
    ///
    /// # Panics
    /// If the memory has no room for the length: code would reach beyond the reservation.
    #[inline]
    pub fn set_memory_len(&self, bytes: u64) {
        let room = self.inner().reserved;
        assert!(bytes <= room, "a memory of {bytes:#x} bytes in {room:#x}");
        self.record().len.store(bytes, Release);
    }

    /// Returns the image of the instance.
    #[inline]
    #[must_use]
    pub fn template(&self) -> &Arc<Template> {
        &self.inner().template
    }

    /// Returns a data segment; empty once dropped, and for active segments.
    #[must_use]
    pub fn data_segment(&self, i: u32) -> &[u8] {
        let inner = self.inner();
        match inner.template.meta().data.get(i as usize) {
            Some(d) if d.mode == SegmentMode::Passive && !inner.dropped_data.get(i) => {
                inner.template.data(d)
            }
            _ => &[],
        }
    }

    /// `data.drop`: empties a data segment.
    pub fn data_drop(&self, i: u32) {
        self.inner().dropped_data.set(i);
    }

    /// `elem.drop`: empties an element segment.
    pub fn elem_drop(&self, i: u32) {
        self.inner().dropped_elements.set(i);
    }

    /// Returns an element segment as it is now; empty once dropped, and for active segments.
    #[must_use]
    pub fn elements(&self, i: u32) -> Elements<'_> {
        Elements(self.element_segment(i))
    }

    fn element_segment(&self, i: u32) -> &[u64] {
        let inner = self.inner();
        if inner.dropped_elements.get(i) {
            return &[];
        }
        let elements = match &inner.parts {
            Parts::Sealed { .. } => &inner.template.sealed.elements,
            #[cfg(any(test, feature = "open"))]
            Parts::Open(open) => &open.elements,
        };
        elements.get(i as usize).map_or(&[], |e| e)
    }

    /// Returns a table.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`] if there is none of this index.
    pub fn table(&self, i: u32) -> Result<&Table, Trap> {
        let i = i as usize;
        let table = match &self.inner().parts {
            Parts::Sealed { first, .. } if i == 0 => first.as_ref(),
            Parts::Sealed { more, .. } => more.get(i - 1),
            #[cfg(any(test, feature = "open"))]
            Parts::Open(open) => open.tables.get(i).map(|t| &**t),
        };
        table.ok_or(Trap::TableOutOfBounds)
    }

    /// Returns the number of tables.
    #[must_use]
    pub fn table_count(&self) -> u32 {
        self.template().spaces.tables.len() as u32
    }

    /// `table.grow`: the old size, or -1.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`] if there is no such table.
    pub fn table_grow(&self, table: u32, init: Reference, delta: u32) -> Result<i32, Trap> {
        Ok(self.table(table)?.grow(init.0, delta))
    }

    /// `table.fill`.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`].
    pub fn table_fill(
        &self,
        table: u32,
        start: u32,
        value: Reference,
        len: u32,
    ) -> Result<(), Trap> {
        self.table(table)?.fill(start, value.0, len)
    }

    /// `table.copy`.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`].
    pub fn table_copy(
        &self,
        to: u32,
        from: u32,
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        self.table(to)?
            .copy(self.table(from)?, destination, source, len)
    }

    /// `table.init`.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`].
    pub fn table_init(
        &self,
        table: u32,
        segment: u32,
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        self.table(table)?
            .init(self.element_segment(segment), destination, source, len)
    }

    /// `table.init` from a segment looked up before: a caller that works in pieces uses one segment
    /// for all, though another thread may drop it meanwhile.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`].
    pub fn table_init_from(
        &self,
        table: u32,
        segment: &Elements<'_>,
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        self.table(table)?.init(segment.0, destination, source, len)
    }

    /// `ref.func`: the address of the function's record.
    ///
    /// # Errors
    /// [`Trap::NullFunction`] if the function has none: an imported one of a sealed image.
    pub fn ref_func(&self, index: u32) -> Result<Reference, Trap> {
        self.record_of(index).map(Reference)
    }

    /// Returns the address of a function's record.
    pub(crate) fn record_of(&self, index: u32) -> Result<u64, Trap> {
        match &self.inner().parts {
            Parts::Sealed { .. } => {
                let own = index.checked_sub(self.template().spaces.imported_funcs);
                let record = own.and_then(|i| self.template().sealed.funcs.get(i as usize));
                record
                    .map(|r| (r as *const FuncRecord) as u64)
                    .ok_or(Trap::NullFunction)
            }
            #[cfg(any(test, feature = "open"))]
            Parts::Open(open) => open
                .func_refs
                .get(index as usize)
                .copied()
                .ok_or(Trap::NullFunction),
        }
    }

    /// Returns the bytes of kernel memory that the instance takes, for accounting.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let tables = (0..self.table_count()).filter_map(|i| Some(self.table(i).ok()?.bytes()));
        let inner = self.inner();
        let dropped = inner.dropped_data.bytes() + inner.dropped_elements.bytes();
        let more = match &inner.parts {
            Parts::Sealed { more, further, .. } => more.bytes() + further.bytes(),
            #[cfg(any(test, feature = "open"))]
            Parts::Open(_) => 0,
        };
        COST + dropped + more + inner.windows.bytes() + tables.sum::<u64>()
    }
}
