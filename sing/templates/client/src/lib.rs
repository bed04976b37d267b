//! What the client asks. It is tested without a system: see `tests`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use sing_sdk::client::Client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

/// A client of the service; it is given another channel if the service is restarted.
pub type Clock = Client<ClockContract::Imp<ClockContract::Ready>>;

/// Asks for the time.
///
/// # Errors
/// If nobody serves the path, or no service answers.
pub fn ask(names: &mut Names, clock: &mut Clock) -> Result<String, Error> {
    let nanoseconds = clock.ask(names, |clock| clock.call_get_utc().utc())?;
    let seconds = nanoseconds / 1_000_000_000;
    Ok(format!("{seconds} seconds since 1970"))
}
