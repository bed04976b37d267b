//! A value that may be absent is none until it has been looked at.
#![deny(unsafe_code)]
use compile_fail::*;

pub fn set(c: Lamp::Imp<Lamp::Start>) {
    drop(c.send_set(5, None));
}

pub fn level(c: Lamp::Exp<Lamp::Start>) -> i32 {
    let (level, _, next) = c.recv_set().expect("a level");
    drop(next);
    level
}

fn main() {
    let _ = (set as fn(_), level as fn(_) -> _);
}
