//! A released value is owned by the cell.
#![deny(unsafe_code)]
use sing_sdk::prelude::*;

pub fn release(cell: &sing_sdk::tref::TRef<Block>) -> Result<(), Error> {
    let block = cell.acquire()?;
    cell.release(block)?;
    cell.release(block)?;
    Ok(())
}

fn main() {}
