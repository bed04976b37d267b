//! Channels are made of contracts, not of permissions.
#![deny(unsafe_code)]
use compile_fail::*;

fn main() {
    let _ = Lister::new_channel();
}
