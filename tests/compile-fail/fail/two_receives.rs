//! Two receives in a row, where the contract has a send between them.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: Echo::Imp<Echo::Start_Say>) -> Result<(), sing_sdk::rt::Closed> {
    let (_, c) = c.recv_said()?;
    let (_, c) = c.recv_said()?;
    c.close();
    Ok(())
}

fn main() {}
