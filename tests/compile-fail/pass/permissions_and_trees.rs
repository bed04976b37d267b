//! Permissions and trees, as programs are meant to write them.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::Error;
use sing_sdk::rt::{Closed, Content, Record, Text, Vector};

/// From the contract to the permission, in every state.
pub fn narrow(store: Store::Imp<Store::Start>, name: Text) -> Result<(), Closed> {
    let lister: Lister::Imp<Lister::Start> = store.into();
    let waiting = lister.send_name(name);
    let _lister: Lister::Imp<Lister::Start> = waiting.recv_ok()?;
    Ok(())
}

pub fn narrow_while_waiting(store: Store::Imp<Store::Start>, name: Text) -> Result<(), Closed> {
    let waiting: Lister::Imp<Lister::Start_Name> = store.send_name(name).into();
    waiting.recv_ok().map(|lister| lister.close())
}

/// As an argument.
pub fn visit(store: Store::Imp<Store::Start>, forest: Forest::Imp<Forest::Start>) {
    forest.send_visit(store.into()).close();
}

/// An endpoint with fewer messages is still understood.
pub fn quiet(loud: LoudEcho::Imp<LoudEcho::Start>) -> Result<i32, Closed> {
    let echo: Echo::Imp<Echo::Start> = loud.into();
    echo.call_say(1).said().map(|(x, _)| x)
}

fn leaf(value: i32) -> Result<Node, Error> {
    Ok(Node { value, name: Text::new("leaf")?, left: None, others: None })
}

pub fn grow() -> Result<Record<Node>, Error> {
    let others = Vector::from_elements(vec![leaf(2)?, leaf(3)?])?;
    let left = Record::new(leaf(1)?)?;
    Record::new(Node { left: Some(left), others: Some(others), ..leaf(0)? })
}

pub fn sum(node: &mut Node) -> i32 {
    let left = node.left.as_mut().and_then(|left| left.with(sum)).unwrap_or(0);
    let mut others = 0;
    if let Some(vector) = &mut node.others {
        for i in 0..vector.len() {
            others += vector.with(i, sum).unwrap_or(0);
        }
    }
    node.value + left + others
}

pub fn prune(mut tree: Record<Node>) -> Option<(Record<Node>, Vec<Node>)> {
    let others = tree.with(|node| node.others.take())??;
    Some((tree, others.into_elements()?))
}

pub fn leftmost(mut tree: Record<Node>) -> Option<i32> {
    loop {
        let node = tree.into_inner()?;
        match node.left {
            Some(left) => tree = left,
            None => return Some(node.value),
        }
    }
}

fn main() {
    // As C lays them out: parts take four bytes, and nothing stands there.
    assert_eq!((<Node as Content>::SIZE, <Node as Content>::ALIGN), (16, 4));
}
