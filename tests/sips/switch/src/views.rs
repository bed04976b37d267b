//! Views of blocks and vectors.

use crate::{Check, Test};
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("views", views),
    ("views that can be changed", changes),
    ("two views of one vector", split),
    ("ranges", ranges),
];

fn views() -> Check {
    let vector = Vector::from_slice(&[10u32, 11, 12, 13, 14])?;
    let view = vector.view(1..4)?;
    let mut out = [0; 3];
    let copied = view.copy_to(&mut out);
    let short = view.copy_to(&mut out[..2]);
    let Some((left, right)) = vector.view(..)?.split_at(2) else {
        return Ok(false);
    };
    Ok(copied
        && !short
        && out == [11, 12, 13]
        && (view.len(), view.get(0), view.get(3)) == (3, Some(11), None)
        && left.iter().eq([10, 11])
        && right.iter().eq([12, 13, 14]))
}

fn changes() -> Check {
    let mut block = Block::new(1000)?;
    let mut view = block.view_mut(500..)?;
    let bytes: Vec<u8> = (0..500).map(|n| n as u8).collect();
    let set =
        view.copy_from(&bytes) && view.set(0, 99) && !view.set(500, 1) && !view.copy_from(&[1]);
    let mut back = vec![0; 500];
    let copied = view.copy_to(&mut back);
    Ok(set
        && copied
        && back[1..] == bytes[1..]
        && block.load_u8(499) == 0
        && block.load_u8(500) == 99
        && block.load_u8(999) == bytes[499])
}

fn split() -> Check {
    let mut vector = Vector::<u16>::new(6)?;
    let Some((mut low, mut high)) = vector.view_mut(1..5)?.split_at(1) else {
        return Ok(false);
    };
    let set = low.set(0, 1) && high.set(0, 2) && high.set(2, 3) && !low.set(1, 9);
    Ok(set && vector.iter().eq([0, 1, 2, 0, 3, 0]) && vector.view_mut(..)?.split_at(7).is_none())
}

#[allow(clippy::reversed_empty_ranges)]
fn ranges() -> Check {
    let vector = Vector::<u64>::new(4)?;
    let refused = |view: Result<_, Error>| matches!(view, Err(Error::BadArgument));
    Ok(refused(vector.view(0..5).map(drop))
        && refused(vector.view(3..2).map(drop))
        && refused(vector.view(..=usize::MAX).map(drop))
        && refused(vector.block().view(usize::MAX..).map(drop))
        && vector.view(4..)?.is_empty()
        && vector.view(..=3)?.len() == 4)
}
