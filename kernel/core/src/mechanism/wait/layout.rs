//! The parts of a record of waiting, for a debugger ([`crate::ground::layout`]).

use super::{Place, Wait, WaitNode};
use core::mem::offset_of;
use sing_arch::link::Node;

/// From a node of a wait list to the address of the list.
const LIST: usize = offset_of!(WaitNode, node) + Node::<WaitNode>::LIST;

impl Wait {
    /// Bytes to the address of the endpoint that it receives, or has received, at.
    pub(crate) const END: usize = offset_of!(Wait, place) + offset_of!(Place, end);
    /// Bytes to the address of the set that it waits for, or has waited for.
    pub(crate) const SET: usize = offset_of!(Wait, place) + offset_of!(Place, set);
    /// Bytes to the address of the list that it is in by its own node.
    pub(crate) const OWN: usize = offset_of!(Wait, own) + LIST;
    /// Bytes to the address of the list of the first object that it waits for among several.
    pub(crate) const ONE: usize = offset_of!(Wait, one) + LIST;
}
