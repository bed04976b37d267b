//! A set holds endpoints in one state.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn fill(set: &mut EndpointSet<Echo::Exp<Echo::Start>>, c: Echo::Exp<Echo::Start>) {
    if let Ok((_, asked)) = c.recv_say() {
        set.put(0, asked);
    }
}

fn main() {}
