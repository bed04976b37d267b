//! A message that breaks what it requires closes its channel: where would the switch go on?
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(c: C1::Exp<C1::Start>, e: Echo::Exp<Echo::Start>) -> i32 {
    switch_receive! {
        case c.Request(x) as _ => x,
        case e.Say(x) as _ => x,
        else wait
    }
}

fn main() {
    let _ = serve as fn(_, _) -> _;
}
