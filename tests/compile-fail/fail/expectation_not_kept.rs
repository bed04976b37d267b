//! Who knows only Echo would not expect to be asked to shout.
#![deny(unsafe_code)]
use compile_fail::*;

fn quiet(service: LoudEcho::Exp<LoudEcho::Start>) -> Echo::Exp<Echo::Start> {
    service.into()
}

fn main() {}
