//! Where a program's random bytes come from.

use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::RefCell;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::rt::Closed;

/// The machine's source of random bytes.
const CHANCE: &str = "/dev/random0";

/// A source of random bytes: so many in a block, or none. A function, so that a program which is given a
/// source imports nothing by which it could find one.
pub type Chance = Box<dyn FnMut(usize) -> Option<Vector<u8>>>;

type Source = EntropyContract::Imp<EntropyContract::Ready>;

/// The source that has a name, if it is found when bytes are asked for.
#[must_use]
pub fn named(names: Rc<RefCell<Names>>) -> Chance {
    let mut client = EntropyContract::client(CHANCE);
    Box::new(move |len| {
        client
            .ask(&mut names.borrow_mut(), |source| {
                fill(source, Vector::new(len).map_err(|_| Closed)?)
            })
            .ok()?
    })
}

/// A source that the process was given.
#[must_use]
pub fn given(source: Source) -> Chance {
    let mut place = Some(source);
    Box::new(move |len| {
        // Without room for them, the source stays.
        let room = Vector::new(len).ok()?;
        let (block, source) = fill(place.take()?, room).ok()?;
        place = Some(source);
        block
    })
}

/// Asks a source for random bytes in all of this block; none if it has not enough.
fn fill(source: Source, room: Vector<u8>) -> Result<(Option<Vector<u8>>, Source), Closed> {
    use EntropyContract::imp::Ready_Fill as Reply;
    match source.call_fill(room) {
        Reply::Filled(block, source) => Ok((Some(block), source)),
        Reply::NotFilled(_, source) => Ok((None, source)),
        Reply::Closed => Err(Closed),
    }
}
