//! All branches must leave the endpoint in the same state.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: Echo::Imp<Echo::Start>, twice: bool) {
    let c = if twice { c.send_say(1) } else { c };
    c.close();
}

fn main() {}
