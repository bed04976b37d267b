//! What one SIP has of its own beside its linear memory: the memory's record, its tables, and which segments
//! it has dropped.
//!
//! Invariants:
//! - What compiled code reaches (the memory's record, the tables) does not move while the instance lives.
//! - A segment that was dropped, or was active, has no contents.

use crate::template::{FuncRecord, MAX_TABLE, Template};
use crate::{SipMemory, Table, Trap};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use sing_abi::ctx::{MEM_DEF_BASE, MEM_DEF_LEN};
use sing_image::meta::{Linkage, SegmentMode};

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

/// A running copy of an image.
#[repr(transparent)]
pub struct Instance(NonNull<Inner>);

/// What an instance is made of. It stays in one place, which context records point to.
#[repr(C)]
pub(crate) struct Inner {
    /// The instance itself, so that a reference to it can be had from a pointer to this. First, and never
    /// dropped: the owner's [`Instance`] does that.
    this: ManuallyDrop<Instance>,
    template: Arc<Template>,
    memory: MemoryRecord,
    /// Address of the record in use: the one above, or an imported memory's.
    memory_record: u64,
    dropped_data: Dropped,
    dropped_elements: Dropped,
    parts: Parts,
}

/// Where tables and functions are.
pub(crate) enum Parts {
    /// Most programs have one table: it needs no allocation of its own.
    Sealed {
        first: Option<Table>,
        more: Box<[Table]>,
    },
    /// Shared with other instances.
    Open(crate::open::OpenParts),
}

/// Which segments have been dropped: a bit for each. Nothing is allocated where there are none to drop.
struct Dropped(Box<[AtomicU32]>);

impl Dropped {
    fn new(segments: usize) -> Dropped {
        Dropped(
            (0..segments.div_ceil(32))
                .map(|_| AtomicU32::new(0))
                .collect(),
        )
    }

    fn set(&self, i: u32) {
        if let Some(word) = self.0.get(i as usize / 32) {
            word.fetch_or(1 << (i % 32), Relaxed);
        }
    }

    fn get(&self, i: u32) -> bool {
        self.0
            .get(i as usize / 32)
            .is_some_and(|word| word.load(Relaxed) & 1 << (i % 32) != 0)
    }
}

// SAFETY: an instance owns what it points to; everything in it that changes is atomic or locked.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and the copy of it in `this` is never dropped.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Instance {
    /// Makes an instance of a sealed image and puts its initial data into linear memory.
    ///
    /// # Errors
    /// Where an active segment does not fit: the trap that WebAssembly asks for.
    ///
    /// # Safety
    /// `memory + data_start .. memory + data_end` of the template is readable, writable, zeroed and the
    /// SIP's alone; `memory .. memory + memory_min` is its linear memory for as long as the instance lives;
    /// `committed >= data_end`.
    pub unsafe fn new(
        template: &Arc<Template>,
        memory: u64,
        committed: u64,
    ) -> Result<Instance, Trap> {
        let meta = template.meta();
        let sealed = &template.sealed;
        if meta.linkage != Linkage::Sealed || template.data_end() > committed {
            return Err(Trap::BadArgument);
        }
        if let Some(trap) = sealed.fails {
            return Err(trap);
        }
        // SAFETY: `data_end` lies in the memory, as the template has checked, and this much is committed.
        let window = unsafe { SipMemory::new(memory, committed) };
        for (at, bytes) in &sealed.runs {
            window.write(*at, bytes)?;
        }
        let mut tables = sealed
            .tables
            .iter()
            .map(|t| Table::new(t.ty, MAX_TABLE, &t.elements));
        let first = tables.next();
        let parts = Parts::Sealed {
            first,
            more: tables.collect(),
        };
        Ok(Instance::assemble(
            template,
            (memory, template.memory_min()),
            None,
            parts,
        ))
    }

    /// Puts the parts together. `record`: that of a memory which belongs to somebody else.
    pub(crate) fn assemble(
        template: &Arc<Template>,
        (base, len): (u64, u64),
        record: Option<u64>,
        parts: Parts,
    ) -> Instance {
        let meta = template.meta();
        let passive_data = meta.data.iter().any(|d| d.mode == SegmentMode::Passive);
        let passive_elements = meta.elements.iter().any(|e| e.mode == SegmentMode::Passive);
        let inner = Box::into_raw(Box::new(Inner {
            this: ManuallyDrop::new(Instance(NonNull::dangling())),
            template: template.clone(),
            memory: MemoryRecord {
                base: AtomicU64::new(base),
                len: AtomicU64::new(len),
            },
            memory_record: 0,
            dropped_data: Dropped::new(if passive_data { meta.data.len() } else { 0 }),
            dropped_elements: Dropped::new(if passive_elements {
                meta.elements.len()
            } else {
                0
            }),
            parts,
        }));
        // SAFETY: the box was made just now and is this function's alone; a box's pointer is not null.
        unsafe {
            let pointer = NonNull::new_unchecked(inner);
            (*inner).this = ManuallyDrop::new(Instance(pointer));
            (*inner).memory_record = record.unwrap_or((&raw const (*inner).memory) as u64);
            Instance(pointer)
        }
    }

    /// The instance whose address stands in a context record.
    ///
    /// # Safety
    /// `address` is [`Instance::address`] of an instance that lives for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn at<'a>(address: u64) -> &'a Instance {
        // SAFETY: the caller's; `this` stands first in `Inner` and is an `Instance`.
        unsafe { &*(address as *const Instance) }
    }

    #[inline]
    pub(crate) fn inner(&self) -> &Inner {
        // SAFETY: the pointer is valid while the instance lives, and nothing takes `&mut` to it meanwhile.
        unsafe { self.0.as_ref() }
    }

    /// What a context record holds of the instance.
    #[inline]
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    #[inline]
    fn record(&self) -> &MemoryRecord {
        // SAFETY: the record is this instance's own, or an imported memory's, which the store that linked the
        // instance keeps.
        unsafe { &*(self.inner().memory_record as *const MemoryRecord) }
    }

    /// Address of the memory's record.
    #[inline]
    #[must_use]
    pub fn memory_record(&self) -> u64 {
        self.inner().memory_record
    }

    /// Address of byte 0 of linear memory.
    #[inline]
    #[must_use]
    pub fn memory_base(&self) -> u64 {
        self.record().base.load(Relaxed)
    }

    /// Bytes of linear memory.
    #[inline]
    #[must_use]
    pub fn memory_len(&self) -> u64 {
        self.record().len.load(Acquire)
    }

    /// Sets the length after the memory has grown.
    #[inline]
    pub fn set_memory_len(&self, bytes: u64) {
        self.record().len.store(bytes, Release);
    }

    /// The image that it is a copy of.
    #[inline]
    #[must_use]
    pub fn template(&self) -> &Arc<Template> {
        &self.inner().template
    }

    /// A data segment; empty once dropped, and where it was active.
    #[must_use]
    pub fn data_segment(&self, i: u32) -> &[u8] {
        let inner = self.inner();
        match inner.template.meta().data.get(i as usize) {
            Some(d) if d.mode == SegmentMode::Passive && !inner.dropped_data.get(i) => &d.bytes,
            _ => &[],
        }
    }

    /// `data.drop`.
    pub fn data_drop(&self, i: u32) {
        self.inner().dropped_data.set(i);
    }

    /// `elem.drop`.
    pub fn elem_drop(&self, i: u32) {
        self.inner().dropped_elements.set(i);
    }

    fn element_segment(&self, i: u32) -> &[u64] {
        let inner = self.inner();
        if inner.dropped_elements.get(i) {
            return &[];
        }
        let elements = match &inner.parts {
            Parts::Sealed { .. } => &inner.template.sealed.elements,
            Parts::Open(open) => &open.elements,
        };
        elements.get(i as usize).map_or(&[], |e| e)
    }

    /// A table.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`] where there is none of this index.
    pub fn table(&self, i: u32) -> Result<&Table, Trap> {
        let i = i as usize;
        let table = match &self.inner().parts {
            Parts::Sealed { first, .. } if i == 0 => first.as_ref(),
            Parts::Sealed { more, .. } => more.get(i - 1),
            Parts::Open(open) => open.tables.get(i).map(|t| &**t),
        };
        table.ok_or(Trap::TableOutOfBounds)
    }

    /// Number of tables.
    #[must_use]
    pub fn table_count(&self) -> u32 {
        self.template().spaces.tables.len() as u32
    }

    /// `table.grow`: the old size, or -1.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`] where there is no such table.
    pub fn table_grow(&self, table: u32, init: u64, delta: u32) -> Result<i32, Trap> {
        Ok(self.table(table)?.grow(init, delta))
    }

    /// `table.fill`.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`].
    pub fn table_fill(&self, table: u32, start: u32, value: u64, len: u32) -> Result<(), Trap> {
        self.table(table)?.fill(start, value, len)
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

    /// `ref.func`: the address of the function's record.
    ///
    /// # Errors
    /// [`Trap::NullFunction`] where the function has none: an imported one of a sealed image.
    pub fn ref_func(&self, index: u32) -> Result<u64, Trap> {
        match &self.inner().parts {
            Parts::Sealed { .. } => {
                let own = index.checked_sub(self.template().spaces.imported_funcs);
                let record = own.and_then(|i| self.template().sealed.funcs.get(i as usize));
                record
                    .map(|r| (r as *const FuncRecord) as u64)
                    .ok_or(Trap::NullFunction)
            }
            Parts::Open(open) => open
                .func_refs
                .get(index as usize)
                .copied()
                .ok_or(Trap::NullFunction),
        }
    }

    /// Bytes of kernel memory that the instance takes, for accounting.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let tables: Vec<u64> = (0..self.table_count())
            .filter_map(|i| Some(self.table(i).ok()?.bytes()))
            .collect();
        size_of::<Inner>() as u64 + tables.iter().sum::<u64>()
    }
}
