//! A process that starts with the system, and whose successors are good for nothing: each ends by
//! itself as soon as it runs. So `kill doomed` is the last of it, and of the system.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::hint::black_box;
use core::time::Duration;
use sing_sdk::legacy;
use sing_sdk::prelude::*;
use sing_sdk::{time, wrong};

sing_sdk::manifest! {
    name: "doomed",
    description: "has successors that cannot live",
}

sing_sdk::contract!(
    "
    contract TokenContract {
      in message Take();
      state Start: Take? -> closed;
    }
    "
);

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let token = legacy::take().next();
    if token.is_some() {
        // With the token in its hands, so that the next one has it, too.
        return Ok(wrong::divide(1, black_box(0)) as i32);
    }
    // A successor knows by this that it is one.
    let (imp, _exp) = TokenContract::new_channel()?;
    legacy::keep(&imp, 0);
    time::sleep(Duration::MAX);
    Ok(0)
}
