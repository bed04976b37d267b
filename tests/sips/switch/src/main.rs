//! `switch_receive!`, sets of endpoints, `TRef` and views, against the real kernel.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod cells;
mod sets;
mod switches;
mod views;

#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use sing_sdk::prelude::*;

sing_sdk::contract!(
    "
    // The papers' first example.
    contract C1 {
      in message Request(int x) requires x > 0;
      out message Reply(int y);
      out message Error();
      state Start: Request? -> (Reply! or Error!) -> Start;
    }

    contract Echo {
      in message Say(int x);
      in message Bye();
      out message Said(int x);
      state Start: one { Say? -> Said! -> Start; Bye? -> closed; }
    }

    contract Mover {
      in message Move(Echo.Exp:Start endpoint, byte[] in ExHeap data);
      state Start: Move? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "switch",
    description: "tries everything that can be waited for",
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> i32 {
    if sing_sdk::args::get(1).as_deref() == Some("stuck") {
        switches::wait_for_ever();
        return 1;
    }
    if sing_sdk::args::get(1).as_deref() == Some("empty") {
        sets::wait_for_nobody();
        return 1;
    }
    let all = [switches::ALL, sets::ALL, cells::ALL, views::ALL];
    checks::run("switch", all.into_iter().flatten().copied())
}
