//! A view borrows its block, which cannot be sent meanwhile.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn send(c: Store::Imp<Store::Start>, data: Vector<u8>) -> Result<Option<u8>, Error> {
    let view = data.view(..)?;
    drop(c.send_put(data, Point { x: 1, y: 1, colour: Colour::Red }));
    Ok(view.get(0))
}

fn main() {}
