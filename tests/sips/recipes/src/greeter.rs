//! A service: greets the clients that bind `/greeter`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::contract!("greeting.contract", use sing_sdk::contracts::ServiceContract);

sing_sdk::manifest! {
    name: "greeter",
    description: "a service that greets, at /greeter",
    endpoints: { stderr: optional PipeContract.Imp:Start, names: NamespaceContract.Imp:Start },
}

/// The longest name that is greeted, in bytes: a client may send a text of any length.
const LONGEST: usize = 256;

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    GreetingContract::service_at(&mut names, "/greeter")?.serve(|client| {
        let (name, client) = client.recv_greet()?;
        let name = name
            .get_within(LONGEST)
            .unwrap_or_else(|| "stranger".into());
        let text = Text::new(&format!("Hello, {name}.")).map_err(|_| Closed)?;
        Ok(client.send_greeting(text))
    })
}
