//! Ways to misbehave on purpose: what a broken or hostile program may try. For tests of the
//! isolation that the system promises; no other program turns this feature on.
//!
//! These functions break Rust's rules deliberately. Their effect is defined all the same: in
//! WebAssembly, and by the kernel's checks.

use crate::contracts::{NamespaceContract, PipeContract};
use crate::rt::{Endpoint, Handle, TypedEndpoint, Vector};
use crate::{Error, sys};

/// Loads a byte from any address of the linear memory, or beyond it.
#[must_use]
pub fn read_memory(address: usize) -> u8 {
    // SAFETY: not safe, which is the point: the load itself must trap or stay in the SIP's memory.
    unsafe { core::ptr::read_volatile(core::ptr::without_provenance(address)) }
}

/// Divides without looking at the divisor first.
#[must_use]
#[inline(never)]
pub fn divide(dividend: u32, divisor: u32) -> u32 {
    if divisor == 0 {
        // SAFETY: not safe, which is the point: it leaves the test to the machine.
        unsafe { core::hint::unreachable_unchecked() }
    }
    dividend / divisor
}

/// Runs into an `unreachable` instruction.
pub fn unreachable() {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
}

/// Uses a handle that the kernel never gave.
pub fn forge_handle(handle: u32) {
    sys::wait_one(handle, 0);
}

/// Uses a handle of an allocation that the kernel never gave.
#[must_use]
pub fn forge_block(handle: u32) -> u8 {
    sys::xh_load8(handle, 0) as u8
}

/// Sends a second message where the contract asks for an answer first.
///
/// # Errors
/// If there is no memory for trying.
pub fn speak_out_of_turn() -> Result<(), Error> {
    let (imp, _exp) = PipeContract::new_channel()?;
    let waiting = imp.send_write(Vector::from_bytes(b"one")?);
    let handle: Handle = waiting.into_endpoint().into_raw();
    // SAFETY: not safe, which is the point: the type claims a state that the channel is not in.
    let again = unsafe {
        PipeContract::Imp::<PipeContract::Start>::from_endpoint(Endpoint::from_raw(handle))
    };
    drop(again.send_write(Vector::from_bytes(b"two")?));
    Ok(())
}

/// Answers as a name server that nobody has asked.
pub fn answer_unasked(lookup: NamespaceContract::Exp<NamespaceContract::Ready>) {
    let handle: Handle = lookup.into_endpoint().into_raw();
    // SAFETY: not safe, which is the point: the type claims a state that the channel is not in.
    let asked = unsafe {
        NamespaceContract::Exp::<NamespaceContract::Binding>::from_endpoint(Endpoint::from_raw(
            handle,
        ))
    };
    drop(asked.send_ack_bind());
}
