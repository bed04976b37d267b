//! An endpoint that was sent belongs to the receiver.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: Store::Imp<Store::Start>) -> Result<(), sing_sdk::Error> {
    let (_imp, exp) = Echo::new_channel()?;
    c.send_serve(exp).close();
    drop(exp.recv());
    Ok(())
}

fn main() {}
