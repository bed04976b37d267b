//! A value that may be absent is none until it has been looked at.
#![deny(unsafe_code)]
use compile_fail::*;

pub fn set(c: Lamp::Imp<Lamp::Start>) {
    drop(c.send_set(5, None));
}

pub fn level(c: Lamp::Exp<Lamp::Start>) -> i32 {
    let Lamp::exp::Start::Set(level, _, next) = c.recv() else {
        return 0;
    };
    drop(next);
    level
}

fn main() {
    let _ = (set as fn(_), level as fn(_) -> _);
}
