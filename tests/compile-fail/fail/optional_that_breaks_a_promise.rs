//! A constant that may be absent is checked against what the message requires of it.
#![deny(unsafe_code)]
use compile_fail::*;

pub fn set(c: Lamp::Imp<Lamp::Start>) {
    drop(c.send_set_checked(const { Lamp::checked_set(Some(101)) }, None));
}

fn main() {
    let _ = set as fn(_);
}
