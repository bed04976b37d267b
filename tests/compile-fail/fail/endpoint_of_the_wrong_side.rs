//! A message that carries an exporting endpoint takes no importing one.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: Store::Imp<Store::Start>) -> Result<(), sing_sdk::Error> {
    let (imp, _exp) = Echo::new_channel()?;
    c.send_serve(imp).close();
    Ok(())
}

fn main() {}
