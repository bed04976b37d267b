//! A message takes endpoints of the contract that it names.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: Store::Imp<Store::Start>) -> Result<(), sing_sdk::Error> {
    let (_imp, exp) = C1::new_channel()?;
    c.send_serve(exp).close();
    Ok(())
}

fn main() {}
