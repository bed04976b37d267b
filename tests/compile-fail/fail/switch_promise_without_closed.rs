//! A broken condition that the receiver checks closes the channel, so the close needs a case.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(c: Dial::Exp<Dial::Start>, e: Echo::Exp<Echo::Start>) -> f64 {
    switch_receive! {
        case c.Turn(x) as _ => x,
        case e.Say(x) as _ => x.into(),
        else wait
    }
}

fn main() {
    let _ = serve as fn(_, _) -> _;
}
