//! The further nodes of waits for several objects, for a debugger ([`crate::ground::layout`]).

use super::{NODES, WaitNode};
use crate::ground::layout::{Layout, Place};
use core::mem::offset_of;
use sing_arch::link::Node;

/// Nodes.
pub(crate) static NODES_LAYOUT: Layout<WaitNode, 2> = Layout::new(
    &NODES,
    [
        Place::new("thread", offset_of!(WaitNode, thread)),
        Place::new("list", offset_of!(WaitNode, node) + Node::<WaitNode>::LIST),
    ],
);
