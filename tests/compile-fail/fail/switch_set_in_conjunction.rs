//! Which endpoint of the set?
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(set: &mut EndpointSet<Echo::Exp<Echo::Start>>, a: Echo::Imp<Echo::Start_Say>) {
    switch_receive! {
        case set[_].Say(_) as _ && a.Said(_) as _ => {}
        else wait
    }
}

fn main() {}
