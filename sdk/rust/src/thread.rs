//! Threads of the caller's SIP. They share its memory and are pre-emptive.
//!
//! Each has a shadow stack from the heap (where Rust keeps what has an address) beside the machine
//! stack that the kernel gives it. A program that spawns threads exports `sip_thread`, which lives
//! here.
//!
//! The machine stack has a guard, and the shadow stack of a program's first thread lies at the
//! bottom of its memory, so that leaving either traps at once. The shadow stack of a further thread
//! has no such neighbour: a thread that needs more than it has writes first over a mark of 1 KiB,
//! which is there for this, and then over the program's own heap. It is found out afterwards: if
//! the mark has changed when the thread ends or is joined, the program is ended with a message. One
//! that jumps over the mark, with a variable that is larger than it, or never ends is not found
//! out, and what it has written over may end the program in another way before. Nothing outside the
//! program can be reached in any case. A thread of unknown needs is given plenty:
//! [`spawn_with_stack`].

use crate::handle::Object;
use crate::rt::{Handle, Waitable};
use crate::sync::Mutex;
use crate::time::Timeout;
use crate::{Error, allocator, sys};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

pub use crate::time::sleep;

/// Bytes of a thread's shadow stack if nothing else is said.
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

/// The mark below a shadow stack, whole as long as the thread has not left it.
const MARK: u128 = 0x656e_645f_6f66_5f74_6865_5f73_7461_636b;
/// How often: 1 KiB of it.
const MARKS: usize = 64;

/// The address of the mark below a shadow stack, as long as that is kept.
#[derive(Clone, Copy, Debug)]
struct End(usize);

impl End {
    /// Ends the program if a thread has run beyond this end.
    fn check(self) {
        let mark = core::ptr::with_exposed_provenance::<u128>(self.0);
        // Word by word: a copy would need as much of a stack. SAFETY: so many words are there, and
        // are kept until the thread has ended and been looked after (`Running`). The reads are
        // volatile, since no code that the compiler can see changes them.
        let whole = (0..MARKS).all(|i| unsafe { mark.add(i).read_volatile() } == MARK);
        if !whole {
            beyond_the_stack();
        }
    }
}

#[cold]
fn beyond_the_stack() -> ! {
    panic!(
        "a thread has run beyond its stack and written over the program's heap; spawn_with_stack gives it a larger one"
    )
}

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
struct Start {
    run: Box<dyn FnOnce() + Send>,
}

/// The first function of every further thread: `argument` is what [`spawn_with_stack`] gave the
/// kernel.
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
    end: End,
    /// The memory of the thread's stack. Never read here.
    _stack: Vec<u128>,
}

impl Running {
    /// Whether it has, in good order.
    fn ended(&self) -> bool {
        self.end.check();
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
    /// [`Error::BadState`] if it left no result.
    pub fn join(mut self) -> Result<T, Error> {
        if let Some(running) = self.running.take() {
            sys::thread_join(running.thread.raw(), Timeout::FOREVER.nanos());
            running.end.check();
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
/// [`Error::NoResources`] if memory or threads are short.
pub fn spawn<T, F>(f: F) -> Result<JoinHandle<T>, Error>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn_with_stack(DEFAULT_STACK, f)
}

/// Runs `f` in a thread of its own with a shadow stack of so many bytes. A thread that needs more
/// writes over the program's heap, which is noticed when it ends, if at all.
///
/// # Errors
/// [`Error::NoResources`] if memory or threads are short.
pub fn spawn_with_stack<T, F>(stack: usize, f: F) -> Result<JoinHandle<T>, Error>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    DETACHED.lock().retain(|r| !r.ended());
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    let words = stack.div_ceil(size_of::<u128>()).max(64);
    let words = words.saturating_add(MARKS);
    let mut memory: Vec<u128> = Vec::new();
    memory
        .try_reserve_exact(words)
        .map_err(|_| Error::NoResources)?;
    memory.resize(MARKS, MARK);
    memory.resize(words, 0);
    let Range {
        start: low,
        end: top,
    } = memory.as_mut_ptr_range();
    let end = End(low.expose_provenance());
    let run: Box<dyn FnOnce() + Send> = Box::new(move || {
        let value = f();
        // Before anything on the heap is used, which may be what the thread has written over.
        end.check();
        *place.lock() = Some(value);
    });
    let start = Box::into_raw(Box::new(Start { run }));
    allocator::not_alone();
    // SAFETY: `start` stays valid until `sip_thread` takes it back; the stack below `top` is kept
    // until the thread has ended (`Running`).
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
            end,
            _stack: memory,
        }),
        result,
    })
}
