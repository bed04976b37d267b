//! Two views of the same part cannot both change it.
#![deny(unsafe_code)]
use sing_sdk::prelude::*;

pub fn change(mut data: Vector<u8>) -> Result<(), Error> {
    let mut one = data.view_mut(0..4)?;
    let mut two = data.view_mut(2..6)?;
    one.set(3, 1);
    two.set(1, 2);
    Ok(())
}

fn main() {}
