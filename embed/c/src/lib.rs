//! The functions of `embed/include/singularity.h`, which says what they do: the system inside a C
//! program, over the crate for Rust programs.
//!
//! All that is unsafe of it stands here: pointers come from C, and what the header asks of them is what
//! each function relies on.
//!
//! Invariants:
//! - A kept process has a share of its system, so that neither outlives what it needs, whichever of them
//!   C gives back first.
//! - Bytes that are given belong to C until they come back; they are a box of this crate's, whose
//!   length includes the zero behind them.
//! - A null pointer is an error, or does nothing; it is never followed.
//! - A kept process has one call at a time: another one meanwhile is refused, whatever thread makes it.

mod talk;

pub use talk::{CChannel, CMessage, CPeer, CWord};

use sing_embed::{Error, Image, Process, Program, System};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

const OK: c_int = 0;
const REFUSED: c_int = 1;
const CRASHED: c_int = 2;
const GONE: c_int = 3;
const TIMED_OUT: c_int = 4;
const OUT_OF_TIME: c_int = 5;
const OUT_OF_MEMORY: c_int = 6;
const NOT_MADE: c_int = 7;
const BAD_CALL: c_int = 8;
const NO_SYSTEM: c_int = 9;

// C's threads share them, and the compiler does not see that.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<CSystem>();
    is_shared::<CProcess>();
};

/// What a function that got a null pointer says.
const NULL: &str = "a pointer is null that may not be";

/// The reason by which a second operation is refused where one is under way.
const IN_USE: &str = "another operation of it is under way; it has one at a time";

/// Locks for one operation; `None` while another operation holds the lock.
fn alone<T>(one: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match one.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// `sing_system`.
pub struct CSystem(Arc<System>, talk::Contracts);

/// `sing_process`.
pub struct CProcess {
    /// A call has it to itself. Dropped first, as it stands first: it refers to the system.
    process: Mutex<Process<'static>>,
    _system: Arc<System>,
}

/// `sing_limits`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CLimits {
    memory: u64,
    time: u64,
    deadline: u64,
}

impl CLimits {
    fn deadline(&self) -> u64 {
        self.deadline
    }
}

/// `sing_bytes`.
#[repr(C)]
pub struct CBytes {
    at: *mut u8,
    len: usize,
}

/// Gives C bytes of its own.
///
/// # Safety
/// `to` is null, or C has a place there for them.
unsafe fn give(mut bytes: Vec<u8>, to: *mut CBytes) {
    if to.is_null() {
        return;
    }
    let len = bytes.len();
    bytes.push(0);
    let at = Box::into_raw(bytes.into_boxed_slice()).cast::<u8>();
    // SAFETY: the caller's.
    unsafe { to.write(CBytes { at, len }) };
}

/// The text at a pointer; `None` if it is null.
///
/// # Safety
/// `text` is null or a string of C's, which stays as it is meanwhile.
unsafe fn text<'c>(text: *const c_char) -> Option<&'c CStr> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// The bytes at a pointer; `None` if it is null and there are to be some.
///
/// # Safety
/// There are `len` bytes at `at`, which stay as they are meanwhile, or `at` is null.
unsafe fn bytes<'c>(at: *const u8, len: usize) -> Option<&'c [u8]> {
    match at.is_null() {
        true => (len == 0).then_some(&[]),
        // SAFETY: the caller's.
        false => Some(unsafe { std::slice::from_raw_parts(at, len) }),
    }
}

/// A program with limits.
///
/// # Safety
/// `limits` is null, or they are there.
unsafe fn with_limits<'s>(program: Program<'s>, limits: *const CLimits) -> Program<'s> {
    if limits.is_null() {
        return program;
    }
    // SAFETY: the caller's.
    let limits = unsafe { limits.read() };
    let mut program = program;
    if limits.memory != 0 {
        program = program.memory(limits.memory);
    }
    if limits.time != 0 {
        program = program.time(Duration::from_nanos(limits.time));
    }
    if limits.deadline != 0 {
        program = program.deadline(Duration::from_nanos(limits.deadline));
    }
    program
}

/// The strings behind a pointer, up to a null pointer; none if it is null itself.
///
/// # Safety
/// `strings` is null, or strings of C's are there with a null pointer behind the last, which stay as they are
/// meanwhile.
unsafe fn strings<'c>(strings: *const *const c_char) -> impl Iterator<Item = &'c CStr> {
    let mut next = strings;
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: the caller's: the null pointer has not been found, so that there is one more.
        let found = unsafe { text(next.read()) };
        next = match found {
            // SAFETY: as above.
            Some(_) => unsafe { next.add(1) },
            None => std::ptr::null(),
        };
        found
    })
}

/// A program with words.
///
/// # Errors
/// If one of the words is none.
///
/// # Safety
/// As [`strings`], of each.
unsafe fn with_words<'s>(
    mut program: Program<'s>,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Result<Program<'s>, String> {
    let known = |word: &CStr| match word.to_str() {
        Ok(word) => Ok(word.to_owned()),
        Err(_) => Err(format!("the word {word:?} is no UTF-8")),
    };
    // SAFETY: the caller's.
    for word in unsafe { strings(arguments) } {
        program = program.arg(&known(word)?);
    }
    // SAFETY: the caller's.
    for word in unsafe { strings(environment) } {
        let word = known(word)?;
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word:?} in the environment is not NAME=VALUE"))?;
        program = program.env(name, value);
    }
    Ok(program)
}

/// The status that says which error this is.
fn status(error: &Error) -> c_int {
    match error {
        Error::Refused { .. } => REFUSED,
        Error::Crashed { .. } => CRASHED,
        Error::Gone { .. } => GONE,
        Error::TimedOut { .. } => TIMED_OUT,
        Error::OutOfTime { .. } => OUT_OF_TIME,
        Error::OutOfMemory { .. } => OUT_OF_MEMORY,
        Error::NotMade(_) => NOT_MADE,
        Error::Broken { .. } => talk::BROKEN,
        Error::Empty | Error::TooLong { .. } | Error::Words { .. } => BAD_CALL,
        _ => NO_SYSTEM,
    }
}

/// Gives C what a call has come to.
///
/// # Safety
/// As [`give`].
unsafe fn answer(result: Result<Vec<u8>, Error>, to: *mut CBytes) -> c_int {
    let (status, bytes) = match result {
        Ok(bytes) => (OK, bytes),
        Err(error) => (status(&error), error.to_string().into_bytes()),
    };
    // SAFETY: the caller's.
    unsafe { give(bytes, to) };
    status
}

/// `sing_start`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_start(image: *const c_char, error: *mut CBytes) -> *mut CSystem {
    // SAFETY: the header's.
    let started = match unsafe { text(image) } {
        Some(path) => {
            let path = OsStr::from_bytes(path.to_bytes());
            let image = Image::open(path.as_ref()).map_err(|error| error.to_string());
            image.and_then(|image| System::start(&image).map_err(|error| error.to_string()))
        }
        None => Err(NULL.to_owned()),
    };
    match started {
        Ok(system) => Box::into_raw(Box::new(CSystem(
            Arc::new(system),
            talk::Contracts::default(),
        ))),
        Err(reason) => {
            // SAFETY: the header's.
            unsafe { give(reason.into_bytes(), error) };
            std::ptr::null_mut()
        }
    }
}

/// `sing_end`.
///
/// # Safety
/// The pointer is null, or from `sing_start` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_end(system: *mut CSystem) {
    if !system.is_null() {
        // SAFETY: made by `Box::into_raw` in `sing_start`; the rest is the caller's.
        drop(unsafe { Box::from_raw(system) });
    }
}

/// `sing_call`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_call(
    system: *mut CSystem,
    program: *const c_char,
    limits: *const CLimits,
    at: *const u8,
    len: usize,
    to: *mut CBytes,
) -> c_int {
    let none = std::ptr::null();
    // SAFETY: the header's, which says the same of this.
    unsafe { sing_call_with(system, program, limits, none, none, at, len, to) }
}

/// `sing_call_with`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_call_with(
    system: *mut CSystem,
    program: *const c_char,
    limits: *const CLimits,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    at: *const u8,
    len: usize,
    to: *mut CBytes,
) -> c_int {
    // SAFETY: the header's: they are null, or valid during the call.
    let given = unsafe { (system.as_ref(), text(program), bytes(at, len)) };
    let (Some(system), Some(name), Some(bytes)) = given else {
        // SAFETY: the header's.
        unsafe { give(NULL.into(), to) };
        return BAD_CALL;
    };
    let name = name.to_string_lossy();
    // SAFETY: the header's.
    let program = unsafe { with_limits(system.0.program(&name), limits) };
    // SAFETY: the header's.
    match unsafe { with_words(program, arguments, environment) } {
        // SAFETY: the header's.
        Ok(program) => unsafe { answer(program.call(bytes), to) },
        Err(reason) => {
            // SAFETY: the header's.
            unsafe { give(reason.into_bytes(), to) };
            BAD_CALL
        }
    }
}

/// `sing_open`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_open(
    system: *mut CSystem,
    program: *const c_char,
    limits: *const CLimits,
    error: *mut CBytes,
) -> *mut CProcess {
    // SAFETY: the header's: they are null, or valid during the call.
    let given = unsafe { (system.as_ref(), text(program)) };
    let (Some(system), Some(name)) = given else {
        // SAFETY: the header's.
        unsafe { give(NULL.into(), error) };
        return std::ptr::null_mut();
    };
    let name = name.to_string_lossy();
    let shared = Arc::clone(&system.0);
    // SAFETY: the system is behind an `Arc`, so it stays where it is, and a `CProcess` has a share of
    // it until its process is dropped.
    let system: &'static System = unsafe { &*Arc::as_ptr(&shared) };
    // SAFETY: the header's.
    let program = unsafe { with_limits(system.program(&name), limits) };
    match program.open() {
        Ok(process) => Box::into_raw(Box::new(CProcess {
            process: Mutex::new(process),
            _system: shared,
        })),
        Err(reason) => {
            // SAFETY: the header's.
            unsafe { give(reason.to_string().into_bytes(), error) };
            std::ptr::null_mut()
        }
    }
}

/// `sing_ask`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_ask(
    process: *mut CProcess,
    at: *const u8,
    len: usize,
    to: *mut CBytes,
) -> c_int {
    // SAFETY: the header's: they are null, or valid during the call.
    let given = unsafe { (process.as_ref(), bytes(at, len)) };
    let (Some(process), Some(bytes)) = given else {
        // SAFETY: the header's.
        unsafe { give(NULL.into(), to) };
        return BAD_CALL;
    };
    let Some(mut process) = alone(&process.process) else {
        // SAFETY: the header's.
        unsafe { give(IN_USE.into(), to) };
        return BAD_CALL;
    };
    // SAFETY: the header's.
    unsafe { answer(process.call(bytes), to) }
}

/// `sing_close`.
///
/// # Safety
/// The pointer is null, or from `sing_open` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_close(process: *mut CProcess) {
    if !process.is_null() {
        // SAFETY: made by `Box::into_raw` in `sing_open`; the rest is the caller's.
        drop(unsafe { Box::from_raw(process) });
    }
}

/// `sing_free`.
///
/// # Safety
/// The pointer is null, or what is there was given by a function of these, or freed by this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_free(bytes: *mut CBytes) {
    // SAFETY: the header's.
    let Some(bytes) = (unsafe { bytes.as_mut() }) else {
        return;
    };
    let at = std::mem::replace(&mut bytes.at, std::ptr::null_mut());
    let len = std::mem::take(&mut bytes.len);
    if !at.is_null() {
        // SAFETY: made by `give`, of a box with a zero behind the bytes.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len + 1)) });
    }
}
