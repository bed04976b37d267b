//! Channels are of contracts; a permission is what is left of one.
#![deny(unsafe_code)]
use compile_fail::*;

fn main() {
    let _ = Lister::new_channel();
}
