//! Two receives in a row, although the contract has a send between them.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: Echo::Imp<Echo::Start_Say>) -> Result<(), sing_sdk::rt::Closed> {
    let (_, c) = c.recv_said()?;
    let (_, c) = c.recv_said()?;
    c.close();
    Ok(())
}

fn main() {}
