//! One message at a time.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: C1::Imp<C1::Start_Request>) {
    switch_receive! {
        case a.Reply(_) as _ && a.Error() as _ => {}
        else wait
    }
}

fn main() {}
