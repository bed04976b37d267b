//! The context record of one thread ([`sing_abi::ctx`]): its construction, and the kernel's access
//! to it.
//!
//! Invariants:
//! - A record is written here and by the kernel only; compiled code reads it, and writes its own
//!   globals and the thread-local value.
//! - The record holds the address and length of the thread's table of allocations: the context owns
//!   both, and every function that moves the table updates the record in the same step.
//! - A [`CtxRef`] comes from compiled code, which passes its own record as the first argument of a
//!   kernel entry, or from an unsafe call; everything else about it is safe.

use crate::{Block, Entry, HEADER, Instance, NoRoom, Payer, Template, Windows, XTable};
use alloc::alloc::{Layout, alloc, dealloc};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use sing_abi::ctx;

/// The fields that differ from thread to thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextParams {
    /// Address of the kernel's entry table.
    pub kernel_table: u64,
    /// The lowest stack pointer that a function may have after its prologue.
    pub stack_limit: u64,
    /// Id of the SIP.
    pub sip_id: u32,
    /// Id of the thread.
    pub thread_id: u32,
    /// The word that the kernel keeps for the thread.
    pub kernel_word: u64,
    /// Time-stamp counter ticks a second; of use only if the code reads it
    /// ([`Template::reads_rate`]).
    pub cycles_per_second: u64,
    /// Initial value of the thread's shadow stack pointer; `None` leaves the module's own value, as
    /// for the first thread.
    pub stack_pointer: Option<u32>,
}

/// The context record of one thread, and its table of exchange-heap allocations.
pub struct Context {
    record: NonNull<u8>,
    /// How far below the record its allocation begins.
    skipped: usize,
    size: usize,
    table: XTable,
    payer: &'static dyn Payer,
    /// The instance that the record points to, unless the store that linked it owns it
    /// ([`crate::open`]).
    instance: Option<Instance>,
}

/// A function of a thread's own image that the kernel calls, with the thread's context. `F` is the
/// function's type without the context.
///
/// Only a context gives one, and it stays with its thread, like a window on memory:
///
/// ```compile_fail,E0451
/// # fn forge() -> sing_runtime::EntryPoint<fn() -> i32> {
/// sing_runtime::EntryPoint { code: 0x1000, record: core::ptr::NonNull::dangling(), ty: core::marker::PhantomData }
/// # }
/// ```
pub struct EntryPoint<F> {
    code: u64,
    record: NonNull<u8>,
    ty: PhantomData<F>,
}

impl<F> EntryPoint<F> {
    /// Returns the address of the function's code.
    #[must_use]
    pub fn code(&self) -> u64 {
        self.code
    }

    /// Returns the address of the context record.
    #[must_use]
    pub fn context(&self) -> u64 {
        self.record.as_ptr() as u64
    }

    /// Returns the lowest stack pointer that the function may run with.
    #[must_use]
    pub fn stack_limit(&self) -> u64 {
        CtxRef(self.record).stack_limit()
    }
}

// SAFETY: a context owns its record; the kernel hands the thread, and with it the record, from
// processor to processor.
unsafe impl Send for Context {}
// SAFETY: a shared reference gives access to the address only.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: what was allocated begins so far below the record, and has this layout.
        unsafe { dealloc(self.record.as_ptr().sub(self.skipped), layout(self.size)) };
        self.payer.discharge(cost(self.size));
    }
}

/// What every heap gives at once. More takes some a search, several times for each thread.
const PLAIN: usize = 16;
/// The bytes that may have to be skipped until a record can begin.
const ROOM: usize = ctx::ALIGN - PLAIN;

/// Of a record of this size, with the room in which it is aligned.
fn layout(size: usize) -> Layout {
    // The template has bounded the size, so that this cannot overflow.
    Layout::from_size_align(size + ROOM, PLAIN).unwrap_or(Layout::new::<[u64; 16]>())
}

/// Returns the cost of a record of this size.
fn cost(size: usize) -> u64 {
    (size + ROOM) as u64 + HEADER
}

/// Writes the address and mask of a table of register windows into a record.
fn show_windows(record: CtxRef, windows: &Windows) {
    record.put(ctx::IO_BASE, windows.base());
    record.put(ctx::IO_MASK, u64::from(windows.mask()));
}

impl Context {
    /// Bytes from this to the address of the context record, for debuggers.
    pub const RECORD: usize = core::mem::offset_of!(Context, record);

    /// Makes the record of a thread of a sealed instance, for which `payer` pays.
    ///
    /// # Errors
    /// If the payer or the heap has no room.
    ///
    /// # Safety
    /// `kernel_table` is the address of a table of kernel entries that is never freed. Code that
    /// gets the record runs on a stack that has room for the kernel below `stack_limit`.
    pub unsafe fn new(
        instance: &Instance,
        params: &ContextParams,
        payer: &'static dyn Payer,
    ) -> Result<Context, NoRoom> {
        let sealed = &instance.template().sealed;
        let mut context = Context::raw(&sealed.context, instance.address(), params, payer)?;
        context.instance = Some(instance.retain());
        let r = context.reference();
        let layout = &instance.template().meta().layout;
        let (tables, memories) = (layout.tables as i32, layout.memories as i32);
        for i in 0..instance.table_count() {
            let address = instance.table(i).map_or(0, |t| t.address());
            r.put(tables + i as i32 * 8, address);
        }
        for i in 0..instance.template().further().len() {
            let (base, _) = instance.further_memory(i).unwrap_or_default();
            let cell = memories + i as i32 * ctx::MEMORY_CELL;
            r.put(cell + ctx::MEMORY_CELL_BASE, base);
            let record = instance.further_record(i).unwrap_or_default();
            r.put(cell + ctx::MEMORY_CELL_DEF, record);
        }
        r.put(ctx::MEM_BASE, instance.memory_base());
        r.put(ctx::MEM_DEF, instance.memory_record());
        show_windows(r, instance.windows());
        if let (Some(at), Some(value)) = (sealed.stack_pointer, params.stack_pointer) {
            r.put(at as i32, u64::from(value));
        }
        Ok(context)
    }

    /// Makes a record from `words`, which have room for the fixed fields, and fills these in.
    pub(crate) fn raw(
        words: &[u64],
        instance: u64,
        params: &ContextParams,
        payer: &'static dyn Payer,
    ) -> Result<Context, NoRoom> {
        let size = size_of_val(words);
        debug_assert!(size >= ctx::VARS as usize);
        if !payer.charge(cost(size)) {
            return Err(NoRoom);
        }
        // SAFETY: the template has checked that the size is at least that of the fixed part, not
        // zero.
        let record = unsafe { alloc(layout(size)) };
        let Some(record) = NonNull::new(record) else {
            payer.discharge(cost(size));
            return Err(NoRoom);
        };
        let skipped = record.addr().get().wrapping_neg() % ctx::ALIGN;
        // At most `ROOM`, as the heap aligns to `PLAIN`: the size is left behind it.
        let record = record.map_addr(|at| at.saturating_add(skipped));
        // SAFETY: the record has room for all of `words`.
        unsafe { ptr::copy_nonoverlapping(words.as_ptr(), record.as_ptr().cast(), words.len()) };
        let context = Context {
            record,
            skipped,
            size,
            table: XTable::new(),
            payer,
            instance: None,
        };
        let r = context.reference();
        r.put(ctx::KERNEL_TABLE, params.kernel_table);
        r.put(ctx::STACK_LIMIT, params.stack_limit);
        r.put(
            ctx::SIP_ID,
            u64::from(params.sip_id) | u64::from(params.thread_id) << 32,
        );
        r.put(ctx::KERNEL_WORD, params.kernel_word);
        r.put(ctx::INSTANCE, instance);
        r.put(ctx::CYCLES_PER_SECOND, params.cycles_per_second);
        show_windows(r, &Windows::default());
        context.show_table();
        Ok(context)
    }

    fn entry_point<F>(&self, code: impl FnOnce(&Template) -> Option<u64>) -> Option<EntryPoint<F>> {
        Some(EntryPoint {
            code: code(self.instance.as_ref()?.template())?,
            record: self.record,
            ty: PhantomData,
        })
    }

    /// Returns the entry point of `sip_main`.
    #[must_use]
    pub fn main(&self) -> Option<EntryPoint<fn() -> i32>> {
        self.entry_point(Template::main)
    }

    /// Returns the entry point of `sip_thread`.
    #[must_use]
    pub fn thread_entry(&self) -> Option<EntryPoint<fn(u32)>> {
        self.entry_point(Template::thread_entry)
    }

    /// Returns the entry point of the start function.
    #[must_use]
    pub fn start(&self) -> Option<EntryPoint<fn()>> {
        self.entry_point(Template::start)
    }

    /// Returns the address of the record: the first argument of compiled code.
    #[inline]
    #[must_use]
    pub fn address(&self) -> u64 {
        self.record.as_ptr() as u64
    }

    /// Returns the reference that compiled code passes. It must not be used once the context is
    /// gone.
    #[inline]
    #[must_use]
    pub(crate) fn reference(&self) -> CtxRef {
        CtxRef(self.record)
    }

    /// Writes the table's address and mask into the record, which compiled code reads.
    #[inline]
    fn show_table(&self) {
        let r = self.reference();
        r.put(ctx::XTAB_BASE, self.table.base());
        r.put(ctx::XTAB_MASK, u64::from(self.table.mask()));
    }

    /// Bytes of kernel memory that record and table take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        cost(self.size) + self.table.bytes()
    }

    /// The thread's table of allocations.
    #[inline]
    #[must_use]
    pub fn table(&self) -> &XTable {
        &self.table
    }

    /// Enters an allocation ([`XTable::insert`]). Returns `None` if the table is full: see
    /// [`Context::grow_table`].
    #[inline]
    pub fn insert(&mut self, alloc: u32, block: Block, writable: bool) -> Option<u32> {
        self.table.insert(alloc, block, writable)
    }

    /// Changes the block that a handle gives access to. Returns false if the handle selects
    /// nothing.
    #[inline]
    pub fn set(&mut self, handle: u32, block: Block, writable: bool) -> bool {
        self.table.set(handle, block, writable)
    }

    /// Removes an allocation; `None` if the handle is forged, stale or another thread's.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> Option<Entry> {
        self.table.remove(handle)
    }

    /// Doubles a full table. Returns false if it has `MAX_ENTRIES`, or the kernel or the payer has
    /// no room.
    #[cold]
    pub fn grow_table(&mut self, payer: &'static dyn Payer) -> bool {
        let grown = self.table.grow(payer);
        self.show_table();
        grown
    }

    /// Removes some allocation from the table of a thread that runs no more, and returns its
    /// record's index. Compiled code can no longer reach it.
    pub fn pop(&mut self) -> Option<u32> {
        let r = self.reference();
        let nothing = XTable::new();
        r.put(ctx::XTAB_BASE, nothing.base());
        r.put(ctx::XTAB_MASK, u64::from(nothing.mask()));
        self.table.pop()
    }

    /// Returns the thread-local value.
    #[inline]
    #[must_use]
    pub fn tls(&self) -> u64 {
        self.reference().tls()
    }

    /// Sets the thread-local value.
    #[inline]
    pub fn set_tls(&self, value: u64) {
        self.reference().set_tls(value);
    }

    /// Changes the thread that the record belongs to: an open instance's record serves one thread
    /// after the other.
    #[inline]
    pub fn set_thread(&self, thread_id: u32, kernel_word: u64) {
        let r = self.reference();
        r.put(
            ctx::SIP_ID,
            u64::from(r.sip_id()) | u64::from(thread_id) << 32,
        );
        r.put(ctx::KERNEL_WORD, kernel_word);
    }
}

/// The first argument of a kernel entry: the caller's context record.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct CtxRef(NonNull<u8>);

impl CtxRef {
    /// Returns a reference to the record at this address.
    ///
    /// # Safety
    /// A context of this module has its record there; the context and its instance outlive the
    /// reference.
    #[inline]
    #[must_use]
    pub unsafe fn from_address(address: u64) -> CtxRef {
        // SAFETY: a record's address is not null.
        CtxRef(unsafe { NonNull::new_unchecked(address as *mut u8) })
    }

    /// Returns the address of the record.
    #[inline]
    #[must_use]
    pub fn address(self) -> u64 {
        self.0.as_ptr() as u64
    }

    #[inline]
    pub(crate) fn read(self, at: i32) -> u64 {
        // SAFETY: `at` is an aligned field of the fixed part, or an offset from a checked layout;
        // records outlive the references to them.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u64>().read() }
    }

    /// Writes a word; `at` is the offset of a fixed field, or from a checked layout.
    #[inline]
    pub(crate) fn put(self, at: i32, value: u64) {
        // SAFETY: as for `read`; layouts have been checked to lie inside the record.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u64>().write(value) };
    }

    /// Writes half a word, likewise.
    #[cfg(any(test, feature = "open"))]
    #[inline]
    pub(crate) fn put32(self, at: i32, value: u32) {
        // SAFETY: as for `put`.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u32>().write(value) };
    }

    /// Returns the word that the kernel keeps for the thread.
    #[inline]
    #[must_use]
    pub fn kernel_word(self) -> u64 {
        self.read(ctx::KERNEL_WORD)
    }

    /// Returns the id of the SIP.
    #[inline]
    #[must_use]
    pub fn sip_id(self) -> u32 {
        self.read(ctx::SIP_ID) as u32
    }

    /// Returns the id of the thread.
    #[inline]
    #[must_use]
    pub fn thread_id(self) -> u32 {
        (self.read(ctx::SIP_ID) >> 32) as u32
    }

    /// Returns the lowest stack pointer that a function may have after its prologue.
    #[inline]
    #[must_use]
    pub fn stack_limit(self) -> u64 {
        self.read(ctx::STACK_LIMIT)
    }

    /// Returns the address of byte 0 of the linear memory.
    #[inline]
    #[must_use]
    pub fn memory_base(self) -> u64 {
        self.read(ctx::MEM_BASE)
    }

    /// Returns the length of the linear memory in bytes.
    #[inline]
    #[must_use]
    pub fn memory_len(self) -> u64 {
        self.len_by(ctx::MEM_DEF)
    }

    /// The length of the memory whose record's address stands at `at`.
    #[inline]
    fn len_by(self, at: i32) -> u64 {
        // SAFETY: the field holds the address of a memory's record, which outlives the context.
        unsafe { ((self.read(at) + ctx::MEM_DEF_LEN as u64) as *const u64).read_volatile() }
    }

    /// Returns the address and the length in bytes of a memory, by its index.
    #[must_use]
    pub fn memory_at(self, index: u32) -> Option<(u64, u64)> {
        let Some(further) = index.checked_sub(1) else {
            return Some((self.memory_base(), self.memory_len()));
        };
        let template = self.instance().template();
        if index as usize >= template.spaces.memories.len() {
            return None;
        }
        let cell = (template.meta().layout.memories + further * ctx::MEMORY_CELL as u32) as i32;
        let len = self.len_by(cell + ctx::MEMORY_CELL_DEF);
        Some((self.read(cell + ctx::MEMORY_CELL_BASE), len))
    }

    /// Returns the caller's instance.
    #[inline]
    #[must_use]
    pub fn instance(&self) -> &Instance {
        // SAFETY: the field was set from an instance, which outlives its contexts.
        unsafe { Instance::at(self.read(ctx::INSTANCE)) }
    }

    /// Returns the thread-local value.
    #[inline]
    #[must_use]
    pub fn tls(self) -> u64 {
        self.read(ctx::TLS)
    }

    /// Sets the thread-local value.
    #[inline]
    pub fn set_tls(self, value: u64) {
        self.put(ctx::TLS, value);
    }
}
