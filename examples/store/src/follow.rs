//! The subscriber: is told of changes.

use crate::{ChangesContract, StoreContract};
use sing_sdk::client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

/// Says the values of keys that begin so, as they are put, until so many have come.
///
/// # Errors
/// If the store refuses, or ends.
pub fn follow(
    names: &mut Names,
    prefix: &str,
    count: u32,
    mut say: impl FnMut(String),
) -> Result<(), Error> {
    use StoreContract::imp::Ready_Subscribe as Answer;
    // The system may be starting: `bind` waits a moment for the name.
    let store = client::bind(names, "/store", StoreContract::connect)?;
    let (theirs, mut changes) = ChangesContract::new_channel()?;
    match store.call_subscribe(Text::new(prefix)?, theirs) {
        Answer::Done(_) => {}
        Answer::Refused(..) => return Err(Error::NoResources),
        Answer::Closed => return Err(Error::Closed),
    }
    for _ in 0..count {
        let (key, value, next) = changes.recv_changed()?;
        say(format!("{} = {}", key.to_lossy(), value.to_lossy()));
        changes = next.send_ack();
    }
    Ok(())
}
