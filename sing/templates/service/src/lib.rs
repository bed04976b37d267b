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
    let mut total = 0_i64;
    sing_sdk::serve::clients(clients, |client| {
        let (number, client) = client.recv_add()?;
        // A client may send any number, as often as it likes.
        total = total.saturating_add(number.into());
        Ok(client.send_sum(total))
    })?;
    Ok(total)
}

/// Has the service add these numbers; the sum after each.
///
/// # Errors
/// If the service has gone.
pub fn add(
    mut service: {{Name}}Contract::Imp<{{Name}}Contract::Start>,
    numbers: &[i32],
) -> Result<Vec<i64>, Closed> {
    let mut totals = Vec::new();
    for number in numbers {
        // The type of the endpoint is the state of the conversation; each step gives it back in the
        // next one.
        let (total, next) = service.call_add(*number).sum()?;
        totals.push(total);
        service = next;
    }
    Ok(totals)
}
