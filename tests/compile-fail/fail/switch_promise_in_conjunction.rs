//! Messages received together with one that breaks its condition could not be put back.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(c: Dial::Exp<Dial::Start>, e: Echo::Exp<Echo::Start>) -> f64 {
    switch_receive! {
        case e.Say(x) as _ && c.Turn(y) as _ => f64::from(x) + y,
        case c.ChannelClosed() => 0.0,
        else wait
    }
}

fn main() {
    let _ = serve as fn(_, _) -> _;
}
