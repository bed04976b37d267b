//! A view that was cut in two is gone.
#![deny(unsafe_code)]
use sing_sdk::prelude::*;

pub fn change(mut data: Vector<u8>) -> Result<(), Error> {
    let mut all = data.view_mut(..)?;
    let halves = all.split_at(2);
    all.set(3, 1);
    drop(halves);
    Ok(())
}

fn main() {}
