//! The SDK's promises beside its types: code in a switch sees only the program's own names, a
//! switch evaluates its operands once, a shared tree goes to one thread, a thread that overruns its
//! stack is named, a request or a cell that finds no room is unchanged, a provider answers every
//! announcement, the endpoints of a child are found by their names, and slices compare as they should.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod children;
mod compare;
mod names;
mod once;
mod pipes;
mod services;
mod threads;
mod trees;

#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use sing_sdk::prelude::*;

sing_sdk::contract!(
    "
    contract Asking {
      in message Ask(int x);
      out message Answer(int x);
      out message Refuse();
      state Start: Ask? -> (Answer! or Refuse!) -> Start;
    }

    rep struct Pair { int left; int right; }
    rep struct Link { Link*? in ExHeap next; }
    contract Things {
      in message Keep(Link* in ExHeap first, Pair* in ExHeap pair);
      state Start: Keep? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "sdk",
    description: "tries what the SDK promises",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 8 MiB,
}

type Asker = Asking::Imp<Asking::Start_Ask>;
type Answerer = Asking::Exp<Asking::Start>;

/// A channel with a waiting answer.
fn answered(x: i32) -> Result<(Asker, Answerer), Error> {
    let (imp, exp) = Asking::new_channel()?;
    let imp = imp.send_ask(x);
    let (x, exp) = exp.recv_ask()?;
    Ok((imp, exp.send_answer(x)))
}

/// A channel with a waiting question, for the answering side.
fn asked(x: i32) -> Result<(Asker, Answerer), Error> {
    let (imp, exp) = Asking::new_channel()?;
    Ok((imp.send_ask(x), exp))
}

#[sing_sdk::main]
fn main() -> i32 {
    match sing_sdk::args::get(1).as_deref() {
        Some("stack") => {
            threads::leave_the_stack();
            return 1;
        }
        Some("print") => {
            println!("outer: {}", services::Prints);
            return 0;
        }
        _ => {}
    }
    let all = [
        children::ALL,
        compare::ALL,
        names::ALL,
        once::ALL,
        pipes::ALL,
        trees::ALL,
        threads::ALL,
        services::ALL,
    ];
    checks::run("sdk", all.into_iter().flatten().copied())
}
