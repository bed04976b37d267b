//! The key: made once, when the service starts.

use core::time::Duration;
use sing_sdk::entropy;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// Bytes of a key: nobody guesses one of 128 bits.
const BYTES: usize = 16;
/// How long the device may take: the service is not up before.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Random bytes of the device, as digits.
///
/// # Errors
/// As [`entropy::draw`].
pub fn draw(names: &mut Names) -> Result<String, Error> {
    let bytes = entropy::draw(names, BYTES, uptime() + PATIENCE)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
