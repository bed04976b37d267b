//! The client: finds the service by its name, and asks it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "{{name}}",
    description: "asks the service at /clock: {{name}} [TIMES]",
    uses: { "/clock": ClockContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// How often it asks.
    times: default u32 = 1, "TIMES";
}

#[sing_sdk::main]
fn main(Arguments { times }: Arguments) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    let mut clock = ClockContract::client("/clock");
    for _ in 0..times {
        println!("{}", {{crate}}::ask(&mut names, &mut clock)?);
    }
    Ok(())
}
