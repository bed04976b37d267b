//! The key: made once, when the service starts.

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

const PATH: &str = "/dev/random0";
/// Bytes of a key: nobody guesses one of 128 bits.
const BYTES: usize = 16;
/// How long the device may take: the service is not up before.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Random bytes of the device, as digits.
///
/// # Errors
/// The machine has no such device, or it does not answer in time.
pub fn draw(names: &mut Names) -> Result<String, Error> {
    let end = uptime() + PATIENCE;
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?;
    let names = switch_receive! {
        case names.Success() as ready => ready,
        case names.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let (source, exp) = EntropyContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(PATH)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(_reason, _exp) as _ => return Err(Error::NotFound),
        case binding.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    }
    let source = switch_receive! {
        case source.Success() as ready => ready,
        case source.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let asked = source.send_fill(Vector::new(BYTES)?);
    let bytes = switch_receive! {
        case asked.Filled(block) as _ => block.to_vec(),
        case asked.NotFilled(_block) as _ => return Err(Error::NoResources),
        case asked.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    match bytes.len() {
        BYTES => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        _ => Err(Error::BadState),
    }
}
