//! What a process leaves to its successor: endpoints that stay open when it ends.
//!
//! A process that is supervised ([`crate::process::Child::supervise`], or the key `supervisor` of the
//! system manifest) goes on in another one of the same image. The endpoints that it has marked with
//! [`keep`] stay open meanwhile, in the protocol states that they are in; the other sides notice
//! nothing. The successor takes them with [`take`] and finds out the state of each with
//! [`Endpoint::cast`]: what was under way it answers as well as it can, for it knows nothing else of
//! its predecessor.
//!
//! ```
//! use sing_sdk::legacy;
//! use sing_sdk::prelude::*;
//!
//! /// A client of a process that may be a successor, ready for its next request.
//! fn client() -> Option<ClockContract::Exp<ClockContract::Ready>> {
//!     let (_, endpoint) = legacy::take().next()?;
//!     let client = endpoint.cast::<ClockContract::Exp<ClockContract::Ready>>().ok()?;
//!     legacy::keep(&client, 1);
//!     Some(client)
//! }
//! ```
//!
//! In a process that is not supervised, [`keep`] has no effect.

use crate::rt::{Endpoint, Handle, Waitable};
use crate::{Error, error, sys, time};
use core::time::Duration;

/// How long a successor waits for room in its table.
const RETRY: Duration = Duration::from_millis(20);

/// Leaves an endpoint to the caller's successor, with a number that tells what it is. It stays so
/// as long as the caller has the endpoint, in all states.
pub fn keep(endpoint: &impl Waitable, tag: u32) {
    // No other answer than that it is kept: the handle is that of an endpoint.
    sys::endpoint_keep(endpoint.handle().raw(), tag);
}

/// The endpoints that the caller's predecessor has left, each with its number; none if the caller is
/// the first of its line. They are kept on with the same numbers. What is not taken stays open.
pub fn take() -> impl Iterator<Item = (u32, Endpoint)> {
    core::iter::from_fn(|| {
        loop {
            let mut tag = 0;
            // SAFETY: the kernel writes one word, and `tag` has room for it.
            return match error::check(unsafe { sys::startup_kept(&raw mut tag) }) {
                // SAFETY: the kernel has just made this handle of an endpoint.
                Ok(raw) => Some((tag, unsafe { Endpoint::from_raw(Handle::from_raw(raw)) })),
                Err(Error::NoResources) => {
                    time::sleep(RETRY);
                    continue;
                }
                Err(_) => None,
            };
        }
    })
}
