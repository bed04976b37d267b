//! A message takes endpoints in the state that it names.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: Store::Imp<Store::Start>, e: Echo::Exp<Echo::Start_Say>) {
    c.send_serve(e).close();
}

fn main() {}
