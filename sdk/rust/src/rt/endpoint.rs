//! Endpoints, with and without their contract, side and state as a type.
//!
//! Invariants:
//! - An [`Endpoint`] holds a handle that nobody else holds, and closes its channel when dropped.
//! - A typed endpoint is made only of one that the kernel knows as such, or on the promise of an
//!   `unsafe` call. The kernel checks every use again: a wrong type ends the SIP and reaches
//!   nothing that is not its own.

use super::object::{Handle, Waitable};
use crate::sys;
use core::mem::ManuallyDrop;

/// A side of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The importing side.
    Imp,
    /// The exporting side.
    Exp,
}

/// An endpoint whose contract is not in its type. Dropping it closes the channel.
#[derive(PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Endpoint(Handle);

impl Endpoint {
    /// Takes ownership of an endpoint's handle.
    ///
    /// # Safety
    /// `handle` names an endpoint, and nothing else owns it.
    #[must_use]
    pub const unsafe fn from_raw(handle: Handle) -> Endpoint {
        Endpoint(handle)
    }

    /// Gives up ownership without closing.
    #[must_use]
    pub fn into_raw(self) -> Handle {
        ManuallyDrop::new(self).0
    }

    /// Whether a receive would return at once: a message waits, or the channel is closed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        sys::endpoint_peek(self.0.raw()) != sing_abi::status::WOULD_BLOCK
    }

    /// The endpoint as one of `T`'s contract, side and state.
    ///
    /// # Errors
    /// The endpoint itself if it is not one: a peer may hand over another than it says.
    pub fn cast<T: TypedEndpoint>(self) -> Result<T, Endpoint> {
        if T::matches(&self) {
            // SAFETY: the kernel has just said that it is one.
            Ok(unsafe { T::from_endpoint(self) })
        } else {
            Err(self)
        }
    }
}

impl Drop for Endpoint {
    #[inline]
    fn drop(&mut self) {
        sys::handle_dispose(self.0.raw());
    }
}

impl Waitable for Endpoint {
    fn handle(&self) -> Handle {
        self.0
    }
}

/// An endpoint as one of a contract for which its own can stand in its state; from then on the
/// kernel holds its user to that one. Generated code asks for it only if the contracts say that it
/// can.
#[must_use]
pub fn stand_for<T: TypedEndpoint>(endpoint: Endpoint) -> T {
    match endpoint.cast() {
        Ok(typed) => typed,
        Err(_) => does_not_stand(T::CONTRACT),
    }
}

/// Ends a program whose types say more than the contracts with which it was installed.
#[cold]
fn does_not_stand(contract: &str) -> ! {
    panic!("the kernel does not take this endpoint for one of {contract}")
}

/// An endpoint whose type carries contract, side and state.
pub trait TypedEndpoint: Waitable + Sized {
    /// Its contract's name.
    const CONTRACT: &'static str;
    /// Its side.
    const SIDE: Side;
    /// Name of its state in the contract.
    const STATE: &'static str;

    /// The endpoint without its type.
    fn into_endpoint(self) -> Endpoint;

    /// The endpoint with this type.
    ///
    /// # Safety
    /// It is of this contract (or one derived from it), side and state. The kernel holds its user
    /// to what it really is: a wrong type ends the SIP at its first use.
    unsafe fn from_endpoint(endpoint: Endpoint) -> Self;

    /// Whether the kernel knows it as one of this contract, side and state.
    fn matches(endpoint: &Endpoint) -> bool;
}

/// A state of a contract, as a type.
pub trait State {
    /// Its name in the contract.
    const NAME: &'static str;
    /// Its index in the contract's table.
    const INDEX: u16;
}
