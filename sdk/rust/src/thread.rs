//! Threads of the caller's SIP. They share its memory and are pre-emptive.
//!
//! Each has a shadow stack from the heap (where Rust keeps what has an address) beside the machine stack
//! that the kernel gives it. A program that spawns threads exports `sip_thread`, which lives here.

use crate::handle::Object;
use crate::rt::{Handle, Waitable};
use crate::sync::Mutex;
use crate::time::Timeout;
use crate::{Error, sys};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

pub use crate::time::sleep;

/// Bytes of a thread's shadow stack where nothing else is said.
pub const DEFAULT_STACK: usize = 64 << 10;

/// Lets others run.
#[inline]
pub fn yield_now() {
    sys::yield_now();
}

/// The caller's thread id.
#[must_use]
pub fn id() -> u32 {
    sys::thread_id()
}

/// The caller's thread-local value; 0 at first.
#[must_use]
pub fn local() -> u64 {
    sys::tls_get()
}

/// Sets the caller's thread-local value.
pub fn set_local(value: u64) {
    sys::tls_set(value);
}

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
struct Start {
    run: Box<dyn FnOnce() + Send>,
}

/// The first function of every further thread: `argument` is what [`spawn_with_stack`] gave the kernel.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
extern "C" fn sip_thread(argument: *mut Start) {
    // SAFETY: the kernel runs this once for each thread made below, with the pointer given there.
    let start = unsafe { Box::from_raw(argument) };
    (start.run)();
}

/// A thread that may still run on its shadow stack, which is kept until the thread has ended.
#[derive(Debug)]
struct Running {
    thread: Object,
    /// What the thread stands on. Never read here.
    _stack: Vec<u128>,
}

impl Running {
    fn ended(&self) -> bool {
        sys::thread_join(self.thread.raw(), 0) >= 0
    }
}

/// Threads whose handles were dropped while they ran.
static DETACHED: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// The right to wait for a thread. Dropping it lets the thread go on by itself.
#[derive(Debug)]
pub struct JoinHandle<T> {
    running: Option<Running>,
    result: Arc<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end and takes its result.
    ///
    /// # Errors
    /// [`Error::BadState`] where it left no result.
    pub fn join(mut self) -> Result<T, Error> {
        if let Some(running) = self.running.take() {
            sys::thread_join(running.thread.raw(), Timeout::FOREVER.nanos());
        }
        self.result.lock().take().ok_or(Error::BadState)
    }

    /// Execution time of the thread.
    #[must_use]
    pub fn time(&self) -> Duration {
        let nanos = self
            .running
            .as_ref()
            .map_or(0, |r| sys::thread_time(r.thread.raw()));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}

impl<T> Waitable for JoinHandle<T> {
    fn handle(&self) -> Handle {
        self.running
            .as_ref()
            .map_or(Handle::NONE, |r| Handle::from_raw(r.thread.raw()))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take()
            && !running.ended()
        {
            DETACHED.lock().push(running);
        }
    }
}

/// Runs `f` in a thread of its own.
///
/// # Errors
/// [`Error::NoResources`] where memory or threads are short.
pub fn spawn<T, F>(f: F) -> Result<JoinHandle<T>, Error>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn_with_stack(DEFAULT_STACK, f)
}

/// Runs `f` in a thread of its own with a shadow stack of so many bytes.
///
/// # Errors
/// [`Error::NoResources`] where memory or threads are short.
pub fn spawn_with_stack<T, F>(stack: usize, f: F) -> Result<JoinHandle<T>, Error>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    DETACHED.lock().retain(|r| !r.ended());
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    let run: Box<dyn FnOnce() + Send> = Box::new(move || *place.lock() = Some(f()));
    let words = stack.div_ceil(size_of::<u128>()).max(64);
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(words)
        .map_err(|_| Error::NoResources)?;
    memory.resize(words, 0_u128);
    let top = memory.as_mut_ptr_range().end;
    let start = Box::into_raw(Box::new(Start { run }));
    // SAFETY: `start` stays valid until `sip_thread` takes it back; the stack below `top` is kept until the
    // thread has ended (`Running`).
    let code = unsafe { sys::thread_create(start as usize, top as usize) };
    let thread = match Object::from_status(code) {
        Ok(thread) => thread,
        Err(e) => {
            // SAFETY: no thread was made, so nobody else has the pointer.
            drop(unsafe { Box::from_raw(start) });
            return Err(e);
        }
    };
    sys::thread_start(thread.raw());
    Ok(JoinHandle {
        running: Some(Running {
            thread,
            _stack: memory,
        }),
        result,
    })
}
