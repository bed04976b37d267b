//! Trees of which others have a view.

use crate::{Check, Link, Pair, Test};
use core::cell::Cell;
use sing_sdk::prelude::*;
use sing_sdk::rt::Record;

pub const ALL: &[Test] = &[
    ("a shared tree stays whole", shared_tree),
    ("a shared vector of trees stays whole", shared_vector),
    ("a tree of which the other view is gone", shared_no_more),
    ("plain values in a part of a block", part_of_a_block),
];

fn chain(length: usize) -> Result<Record<Link>, Error> {
    let mut first = Record::new(Link { next: None })?;
    for _ in 1..length {
        first = Record::new(Link { next: Some(first) })?;
    }
    Ok(first)
}

/// The number of links in the chain.
fn length(first: &mut Record<Link>) -> Option<usize> {
    first.with(|link| match &mut link.next {
        Some(next) => length(next).map(|n| n + 1),
        None => Some(1),
    })?
}

/// A shared tree cannot be changed: nothing is taken out, and nothing done.
fn shared_tree() -> Check {
    let mut root = chain(3)?;
    let view = root.block_mut().share(0..4)?;
    let ran = Cell::new(false);
    let refused = root.with(|_| ran.set(true)).is_none() && !ran.get();
    drop(view);
    root.block_mut().unshare()?;
    Ok(refused && length(&mut root) == Some(3))
}

fn shared_vector() -> Check {
    let links = [2, 5].map(|n| chain(n).map(|next| Link { next: Some(next) }));
    let links: Result<Vec<Link>, Error> = links.into_iter().collect();
    let mut all = Vector::from_elements(links?)?;
    let view = all.block_mut().share(0..4)?;
    let ran = Cell::new(false);
    let refused = (0..2).all(|i| all.with(i, |_| ran.set(true)).is_none()) && !ran.get();
    drop(view);
    all.block_mut().unshare()?;
    let mut lengths = Vec::new();
    for link in all.into_elements().unwrap_or_default() {
        lengths.push(link.next.and_then(|mut next| length(&mut next)));
    }
    Ok(refused && lengths == [Some(2), Some(5)])
}

/// The holder of the only view can change it again without a further step.
fn shared_no_more() -> Check {
    let mut root = chain(2)?;
    drop(root.block_mut().share(0..4)?);
    let whole = length(&mut root) == Some(2);
    let cut = root.with(|link| link.next.take().is_some());
    Ok(whole && cut == Some(true) && length(&mut root) == Some(1))
}

/// A block that was cut in two is shared with no other.
fn part_of_a_block() -> Check {
    let mut first = Block::new(32)?;
    let mut second: Vector<Pair> = Vector::from_block(first.split(16)?);
    let old = second.with(1, |pair| core::mem::replace(&mut pair.left, 7));
    Ok(old == Some(0) && second.get(1) == Some(Pair { left: 7, right: 0 }))
}
