//! The contract's types, and what the service does. It is tested without a system: see `tests`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use sing_sdk::prelude::*;

sing_sdk::contract!("{{name}}.contract");

/// A client, as the service has it between two requests.
pub type Client = {{Name}}Contract::Exp<{{Name}}Contract::Start>;

/// Serves these clients until the last of them has gone; the sum then.
///
/// # Errors
/// If handles are short.
pub fn serve(clients: impl Iterator<Item = Client>) -> Result<i64, Error> {
    let mut set = EndpointSet::new()?;
    for client in clients {
        set.insert(client)?;
    }
    let mut total = 0_i64;
    while !set.is_empty() {
        switch_receive! {
            case set[key].Add(number) as client => {
                // A client may send any number, as often as it likes.
                total = total.saturating_add(number.into());
                set.put(key, client.send_sum(total));
            }
            case set[_].ChannelClosed() => {}
        }
    }
    Ok(total)
}
