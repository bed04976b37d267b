//! The client: finds the service by its name, and asks it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::client::Client;
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
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut service = Client::new("/clock", |names, path| {
        let (service, other_side) = ClockContract::new_channel()?;
        names.bind(path, other_side)?;
        Ok(service.recv_success()?)
    });
    for _ in 0..times {
        println!("{}", service.ask(&mut names, {{crate}}::ask)?);
    }
    Ok(())
}
