//! A view is of a block, which belongs to one thread.
#![deny(unsafe_code)]
use sing_sdk::view::{View, ViewMut};

fn needs_send<T: Send>(_: T) {}

fn give(view: View<'static, u8>, change: ViewMut<'static, u8>) {
    needs_send(view);
    needs_send(change);
}

fn main() {}
