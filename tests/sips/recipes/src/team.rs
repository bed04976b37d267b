//! A parent: starts `adder` with three clients, which are its own, and adds with each of them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::error;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;

sing_sdk::contract!("sum.contract");

sing_sdk::manifest! {
    name: "team",
    description: "adds with three clients of a child",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> Result<(), Box<dyn error::Error>> {
    let mut adder = Child::of("adder").arg("adder");
    let mut members = Vec::new();
    for _ in 0..3 {
        let (imp, exp) = SumContract::new_channel()?;
        // By the name in the child's manifest. `clients` is `many` there, so it can be given again
        // and again.
        adder = adder.endpoint("clients", exp);
        members.push(imp);
    }
    let adder = adder.start()?;
    for (member, number) in members.into_iter().zip([1, 20, 300]) {
        let (total, _member) = member.call_add(number).sum()?;
        println!("{total}");
    }
    // The last client has closed, so the child ends.
    println!("adder: {}", adder.join()?);
    Ok(())
}
