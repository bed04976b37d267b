//! An exporter that knows only Echo would not expect a Shout.
#![deny(unsafe_code)]
use compile_fail::*;

fn quiet(service: LoudEcho::Exp<LoudEcho::Start>) -> Echo::Exp<Echo::Start> {
    service.into()
}

fn main() {}
