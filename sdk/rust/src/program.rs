//! The ordinary program with which an adapter is merged.
//!
//! An adapter is a program of the system that serves another one, in the same process: when that is
//! installed, the two become one module with two memories, the program's and the adapter's. The
//! functions here are made by the merger; a module that uses them and is not merged is refused, as
//! nobody provides them. The program calls the functions that [`exports!`](crate::exports) declares.
//!
//! Invariants:
//! - What the adapter says of its own memory is a slice's; what it says of the program's is checked
//!   when it is used, as any access there: beyond its end, the process traps.
//! - The content of a [`Local`] is reached by the thread that put it there, and by one borrower at a
//!   time: calls of the program's come on that thread, and none while another is under way.

use crate::sys;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[cfg(target_arch = "wasm32")]
mod raw {
    #[link(wasm_import_module = "program")]
    unsafe extern "C" {
        pub unsafe fn read(destination: *mut u8, source: u32, len: usize);
        pub unsafe fn write(destination: u32, source: *const u8, len: usize);
        pub safe fn size() -> u64;
        pub safe fn start();
        pub safe fn run() -> i32;
        pub safe fn handle(request: u32, response: u32);
        pub safe fn realloc(old: u32, old_len: u32, alignment: u32, len: u32) -> u32;
        pub safe fn go_on();
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod raw {
    use crate::rt::not_a_sip;

    // The safety conditions are those of the merger's functions.
    pub unsafe fn read(_: *mut u8, _: u32, _: usize) {
        not_a_sip()
    }
    pub unsafe fn write(_: u32, _: *const u8, _: usize) {
        not_a_sip()
    }
    pub fn size() -> u64 {
        not_a_sip()
    }
    pub fn start() {
        not_a_sip()
    }
    pub fn run() -> i32 {
        not_a_sip()
    }
    pub fn handle(_: u32, _: u32) {
        not_a_sip()
    }
    pub fn realloc(_: u32, _: u32, _: u32, _: u32) -> u32 {
        not_a_sip()
    }
    pub fn go_on() {
        not_a_sip()
    }
}

/// Bytes of the program's memory.
#[must_use]
pub fn size() -> u64 {
    raw::size()
}

/// Copies from the program's memory. Beyond its end, the process traps.
pub fn read(from: u32, out: &mut [u8]) {
    // SAFETY: `out` is writable for its length.
    unsafe { raw::read(out.as_mut_ptr(), from, out.len()) }
}

/// Copies into the program's memory. Beyond its end, the process traps.
pub fn write(to: u32, bytes: &[u8]) {
    // SAFETY: `bytes` is readable for its length.
    unsafe { raw::write(to, bytes.as_ptr(), bytes.len()) }
}

/// Runs the program, until it returns.
pub fn start() {
    raw::start();
}

/// Runs the program, a component, until it returns; whether it says that it has done what it should.
#[must_use]
pub fn run() -> bool {
    raw::run() == 0
}

/// Has the program, a component, answer a request: handles of the request and of the place for the response.
pub fn handle(request: u32, response: u32) {
    raw::handle(request, response);
}

/// Has the program, a component, make room in its memory; the address, which may be any.
#[must_use]
pub fn realloc(old: u32, old_len: u32, alignment: u32, len: u32) -> u32 {
    raw::realloc(old, old_len, alignment, len)
}

/// Calls the function that the adapter exports as `program#go-on`, if the program can send requests of HTTP. Without
/// that, the adapter's code for them is not in the merged module.
pub fn go_on() {
    raw::go_on();
}

/// Ends the process by a trap.
pub fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    crate::rt::not_a_sip()
}

/// What an adapter keeps between calls: as a `static`, whatever is in it.
#[derive(Debug)]
pub struct Local<T> {
    content: UnsafeCell<Option<T>>,
    /// The thread whose it is; 0 as long as it is nobody's.
    owner: AtomicU32,
    borrowed: AtomicBool,
}

// SAFETY: one thread alone reaches the content: the first that did. Its number, which no other thread
// has at the same time, is compared with the caller's each time, and is never replaced.
unsafe impl<T> Sync for Local<T> {}

impl<T> Local<T> {
    /// Nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Local {
            content: UnsafeCell::new(None),
            owner: AtomicU32::new(0),
            borrowed: AtomicBool::new(false),
        }
    }

    /// Works with the content, which may be put there or taken out.
    ///
    /// # Panics
    /// In another thread than the first that did, and within another call of this.
    pub fn with<R>(&self, work: impl FnOnce(&mut Option<T>) -> R) -> R {
        let me = sys::thread_id().wrapping_add(1);
        let owner = self
            .owner
            .compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
        assert!(
            owner.is_ok_and(|_| me != 0) || owner == Err(me),
            "an adapter is called by the thread that started the program, and by no other"
        );
        assert!(
            !self.borrowed.swap(true, Ordering::Relaxed),
            "an adapter is called while it serves another call"
        );
        // SAFETY: this is the thread whose the content is, and no other borrow of it is alive: until
        // `borrowed` is false again, nobody comes by here.
        let result = work(unsafe { &mut *self.content.get() });
        self.borrowed.store(false, Ordering::Relaxed);
        result
    }
}

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares functions that the program can call, each exported under its own name, or under one that is
/// written before it.
#[macro_export]
macro_rules! exports {
    ($($export:literal fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        #[cfg_attr(target_arch = "wasm32", unsafe(export_name = $export))]
        #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
        extern "C" fn $name($($argument: $ty),*) $(-> $result)? $body
    )*};
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        #[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
        #[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
        extern "C" fn $name($($argument: $ty),*) $(-> $result)? $body
    )*};
}
