//! The context record of one thread ([`sing_abi::ctx`]): who makes it, and how the kernel reads it.
//!
//! Invariants:
//! - A record is written here and by the kernel only; compiled code reads it, and writes its own globals and
//!   the thread-local value.
//! - A [`CtxRef`] is had from compiled code, which passes its own record as the first argument of a kernel
//!   entry, or by an unsafe call; everything else about it is safe.

use crate::{Instance, SipMemory};
use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use core::ptr::{self, NonNull};
use sing_abi::ctx;

/// What differs from thread to thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextParams {
    /// Address of the kernel's entry table.
    pub kernel_table: u64,
    /// The lowest stack pointer that a function may have.
    pub stack_limit: u64,
    /// Id of the SIP.
    pub sip_id: u32,
    /// Id of the thread.
    pub thread_id: u32,
    /// The kernel's own word.
    pub kernel_word: u64,
    /// Time-stamp counter ticks a second.
    pub cycles_per_second: u64,
    /// Where the thread's shadow stack starts; `None` leaves the module's own value, as the first thread does.
    pub stack_pointer: Option<u32>,
}

/// The context record of one thread. The instance must outlive it.
pub struct Context {
    record: NonNull<u8>,
    size: usize,
}

// SAFETY: a context owns its record; the kernel hands the thread, and with it the record, from processor to
// processor.
unsafe impl Send for Context {}
// SAFETY: through a shared reference only the address is had.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the record was allocated with this layout.
        unsafe { dealloc(self.record.as_ptr(), layout(self.size)) };
    }
}

fn layout(size: usize) -> Layout {
    // The template has bounded the size, so that this cannot overflow.
    Layout::from_size_align(size, ctx::ALIGN).unwrap_or(Layout::new::<[u64; 16]>())
}

impl Context {
    /// Makes the record of a thread of a sealed instance.
    #[must_use]
    pub fn new(instance: &Instance, params: &ContextParams) -> Context {
        let sealed = &instance.template().sealed;
        let context = Context::raw(&sealed.context, instance.address(), params);
        let r = context.reference();
        let tables = instance.template().meta().layout.tables as i32;
        for i in 0..instance.table_count() {
            let address = instance.table(i).map_or(0, |t| t.address());
            r.put(tables + i as i32 * 8, address);
        }
        r.put(ctx::MEM_BASE, instance.memory_base());
        r.put(ctx::MEM_DEF, instance.memory_record());
        if let (Some(at), Some(value)) = (sealed.stack_pointer, params.stack_pointer) {
            r.put(at as i32, u64::from(value));
        }
        context
    }

    /// Makes a record from these words and the fields that every one has, for which they have room.
    pub(crate) fn raw(words: &[u64], instance: u64, params: &ContextParams) -> Context {
        let size = size_of_val(words);
        debug_assert!(size >= ctx::VARS as usize);
        // SAFETY: the template has checked that the size is at least that of the fixed part, not zero.
        let record = unsafe { alloc(layout(size)) };
        let Some(record) = NonNull::new(record) else {
            handle_alloc_error(layout(size))
        };
        // SAFETY: the record has room for as many words.
        unsafe { ptr::copy_nonoverlapping(words.as_ptr(), record.as_ptr().cast(), words.len()) };
        let context = Context { record, size };
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
        let empty = crate::XTable::new();
        r.set_xtab(empty.base(), empty.mask());
        context
    }

    /// Address of the record: the first argument of compiled code.
    #[inline]
    #[must_use]
    pub fn address(&self) -> u64 {
        self.record.as_ptr() as u64
    }

    /// The same as compiled code passes it. It must not be used once the context is gone.
    #[inline]
    #[must_use]
    pub(crate) fn reference(&self) -> CtxRef {
        CtxRef(self.record)
    }

    /// Puts the thread's exchange-heap table into the record.
    #[inline]
    pub fn set_xtab(&self, base: u64, mask: u32) {
        self.reference().set_xtab(base, mask);
    }

    /// The thread-local value.
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

    /// Changes the stack limit, where the thread gets another stack.
    #[inline]
    pub fn set_stack_limit(&self, limit: u64) {
        self.reference().put(ctx::STACK_LIMIT, limit);
    }

    /// Changes whose record it is: an open instance's record serves one thread after the other.
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

/// What a kernel entry gets as its first argument: the caller's context record.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct CtxRef(NonNull<u8>);

impl CtxRef {
    /// The record at this address.
    ///
    /// # Safety
    /// A context made here has its record there, and outlives the reference together with its instance.
    #[inline]
    #[must_use]
    pub unsafe fn from_address(address: u64) -> CtxRef {
        // SAFETY: a record's address is not null.
        CtxRef(unsafe { NonNull::new_unchecked(address as *mut u8) })
    }

    /// Address of the record.
    #[inline]
    #[must_use]
    pub fn address(self) -> u64 {
        self.0.as_ptr() as u64
    }

    #[inline]
    pub(crate) fn read(self, at: i32) -> u64 {
        // SAFETY: `at` is an aligned field of the fixed part, or lies where a checked layout says; records outlive the
        // references to them.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u64>().read() }
    }

    /// Writes a word; `at` is a field's offset, or one that a checked layout gave.
    #[inline]
    pub(crate) fn put(self, at: i32, value: u64) {
        // SAFETY: as for `read`; layouts have been checked to lie inside the record.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u64>().write(value) };
    }

    /// The same for half a word.
    #[inline]
    pub(crate) fn put32(self, at: i32, value: u32) {
        // SAFETY: as for `put`.
        unsafe { self.0.as_ptr().add(at as usize).cast::<u32>().write(value) };
    }

    /// The kernel's own word.
    #[inline]
    #[must_use]
    pub fn kernel_word(self) -> u64 {
        self.read(ctx::KERNEL_WORD)
    }

    /// Id of the SIP.
    #[inline]
    #[must_use]
    pub fn sip_id(self) -> u32 {
        self.read(ctx::SIP_ID) as u32
    }

    /// Id of the thread.
    #[inline]
    #[must_use]
    pub fn thread_id(self) -> u32 {
        (self.read(ctx::SIP_ID) >> 32) as u32
    }

    /// The lowest stack pointer that a function may have.
    #[inline]
    #[must_use]
    pub fn stack_limit(self) -> u64 {
        self.read(ctx::STACK_LIMIT)
    }

    /// Time-stamp counter ticks a second.
    #[inline]
    #[must_use]
    pub fn cycles_per_second(self) -> u64 {
        self.read(ctx::CYCLES_PER_SECOND)
    }

    /// Address of byte 0 of the linear memory.
    #[inline]
    #[must_use]
    pub fn memory_base(self) -> u64 {
        self.read(ctx::MEM_BASE)
    }

    /// Bytes of linear memory.
    #[inline]
    #[must_use]
    pub fn memory_len(self) -> u64 {
        // SAFETY: the field holds the address of the memory's record, which outlives the context.
        unsafe {
            ((self.read(ctx::MEM_DEF) + ctx::MEM_DEF_LEN as u64) as *const u64).read_volatile()
        }
    }

    /// The caller's linear memory. All of it must be accessible, or become so when the kernel touches it.
    #[inline]
    #[must_use]
    pub fn memory(self) -> SipMemory {
        // SAFETY: base and length are those of the caller's memory, which lives while the caller does.
        unsafe { SipMemory::new(self.memory_base(), self.memory_len()) }
    }

    /// The caller's instance.
    #[inline]
    #[must_use]
    pub fn instance(&self) -> &Instance {
        // SAFETY: the field was set from an instance, which outlives its contexts.
        unsafe { Instance::at(self.read(ctx::INSTANCE)) }
    }

    /// Puts the thread's exchange-heap table into the record: after each insert that may have moved it.
    #[inline]
    pub fn set_xtab(self, base: u64, mask: u32) {
        self.put(ctx::XTAB_BASE, base);
        self.put(ctx::XTAB_MASK, u64::from(mask));
    }

    /// The thread-local value.
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
