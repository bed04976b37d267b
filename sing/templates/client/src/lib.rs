//! What the client does with its channel. It is tested without a system: see `tests`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use sing_sdk::prelude::*;
use sing_sdk::rt::Closed;

/// The service's channel between two requests.
pub type Service = ClockContract::Imp<ClockContract::Ready>;

/// Asks for the time, and gives the channel back.
///
/// # Errors
/// If the service ends before it has answered, and its channel with it.
pub fn ask(service: Service) -> Result<(String, Service), Closed> {
    let (nanoseconds, service) = service.call_get_utc().utc()?;
    let seconds = nanoseconds / 1_000_000_000;
    Ok((format!("{seconds} seconds since 1970"), service))
}
