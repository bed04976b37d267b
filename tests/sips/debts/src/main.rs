//! What processes leave in queues when they end is on the account of those who made them: nobody gets memory beyond
//! every budget by making processes that end. `debts`; with an argument it is one of those, and sends a block on its
//! way, itself or through one that it makes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::process::Child;

sing_sdk::contract!(
    "
    contract DebtContract {
      in message Leave(byte[] in ExHeap block);
      state Start: Leave? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "debts",
    description: "leaves blocks in queues and ends",
    privileges: [create],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        queue: optional DebtContract.Imp:Start,
    },
    memory: 16 MiB,
}

/// Bytes of a block: three fit the budget.
const BLOCK: usize = 4 << 20;

type Debtor = DebtContract::Imp<DebtContract::Start>;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match (sing_sdk::args::get(1).as_deref(), startup::queue()) {
        (Some("leave"), Some(queue)) => {
            drop(queue.send_leave(Vector::new(BLOCK)?));
            Ok(0)
        }
        // Its child outlives it by as long as it takes.
        (Some("have left"), Some(queue)) => {
            child("leave", queue)?;
            Ok(0)
        }
        _ => {
            let wrong = check("leave")? || check("have left")?;
            println!("debts: {}", if wrong { "forgotten" } else { "paid" });
            Ok(i32::from(wrong))
        }
    }
}

fn child(what: &str, queue: Debtor) -> Result<Child, Error> {
    let me = Child::of("debts").arg("debts").arg(what);
    me.no_endpoint().endpoint(queue).start()
}

/// Has blocks left in queues until there is no room, and takes them out again; whether any of that went wrong.
fn check(how: &str) -> Result<bool, Error> {
    let mut queues = Vec::new();
    while Vector::<u8>::new(BLOCK).is_ok() {
        if queues.len() > 8 {
            return Ok(true);
        }
        let (imp, exp) = DebtContract::new_channel()?;
        child(how, imp)?.join()?;
        // Whoever that one made may still be at it.
        sing_sdk::time::sleep(core::time::Duration::from_millis(20));
        queues.push(exp);
    }
    let left = queues.len();
    let mut taken = 0;
    for queue in queues {
        // Received, it is this process's own, and given back at once.
        taken += usize::from(queue.recv_leave().is_ok());
    }
    Ok(left < 2 || taken != left || Vector::<u8>::new(2 * BLOCK).is_err())
}
