//! A block cannot be sent twice.
#![deny(unsafe_code)]
use compile_fail::*;

use sing_sdk::rt::Text;

fn name(a: Store::Imp<Store::Start>, b: Store::Imp<Store::Start>, name: Text) {
    a.send_name(name).close();
    b.send_name(name).close();
}

fn main() {}
