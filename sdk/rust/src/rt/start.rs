//! A program's start and end: its start-up endpoints, its exit code, and its stand-in on the host.
//!
//! Invariant: each start-up endpoint is taken at most once; the kernel hands out its handle to the
//! first call.

use super::endpoint::{Endpoint, TypedEndpoint};
use super::object::Handle;
use crate::device::Device;
use crate::sys;
use core::marker::PhantomData;

/// Takes the start-up endpoint with this index in the manifest, which declares it as a `T`; the
/// kernel has checked that it is one. `None` if there is none, or it has been taken.
///
/// # Safety
/// The module's manifest declares it so.
#[must_use]
pub unsafe fn startup_endpoint<T: TypedEndpoint>(index: u32) -> Option<T> {
    let handle = sys::startup_endpoint(index);
    (handle > 0).then(|| {
        // SAFETY: the kernel hands out each start-up endpoint once, and has checked its type.
        unsafe { T::from_endpoint(Endpoint::from_raw(Handle::from_raw(handle as u32))) }
    })
}

/// Takes the device with this index in the manifest. `None` if there is none, or it has been taken.
#[must_use]
pub fn startup_device(index: u32) -> Option<Device> {
    Device::take(index)
}

/// Takes one after another of the start-up endpoints from an index on: a manifest's `many`.
#[derive(Debug)]
pub struct StartupEndpoints<T> {
    next: u32,
    kind: PhantomData<T>,
}

impl<T: TypedEndpoint> StartupEndpoints<T> {
    /// From this index on.
    ///
    /// # Safety
    /// The module's manifest declares them as `T`.
    #[must_use]
    pub const unsafe fn from_index(index: u32) -> Self {
        StartupEndpoints {
            next: index,
            kind: PhantomData,
        }
    }
}

impl<T: TypedEndpoint> Iterator for StartupEndpoints<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // SAFETY: promised to `from_index`.
        let endpoint = unsafe { startup_endpoint(self.next) };
        self.next += 1;
        endpoint
    }
}

/// A result of `main`: `()`, an `i32`, or a `Result` of one with an error that can be shown.
#[diagnostic::on_unimplemented(
    message = "`main` cannot return `{Self}`",
    note = "it returns nothing, an exit code, or a `Result` of one of them"
)]
pub trait Termination {
    /// The SIP's exit code.
    fn report(self) -> i32;
}

impl Termination for () {
    fn report(self) -> i32 {
        0
    }
}

impl Termination for i32 {
    fn report(self) -> i32 {
        self
    }
}

impl Termination for core::convert::Infallible {
    fn report(self) -> i32 {
        match self {}
    }
}

/// Takes the place of a kernel entry in code that is built for another target than a SIP's.
#[cold]
pub fn not_a_sip() -> ! {
    panic!("kernel entries exist only in a SIP; this is a build for another target")
}

/// The whole of a program that was built for the host and started there: it says how to run it.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn on_the_host(name: Option<&str>) -> i32 {
    let name = name.unwrap_or("this");
    std::eprintln!(
        "{name} is a program of Singularity, built for another system; `cargo xtask run -c {name}` runs it"
    );
    2
}
