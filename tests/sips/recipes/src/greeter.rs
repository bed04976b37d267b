//! A service: greets the clients that bind `/greeter`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

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
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let begin = GreetingContract::Exp::send_success;
    let mut service = Provider::register(&mut names, "/greeter", begin)?;
    loop {
        switch_receive! {
            case service.clients[key].Greet(name) as client => {
                let name = name.get_within(LONGEST).unwrap_or_else(|| "stranger".into());
                let text = Text::new(&format!("Hello, {name}."))?;
                service.clients.put(key, client.send_greeting(text));
            }
            case service.clients[_].ChannelClosed() => {}
            case &service.lookup => {
                // Clients bind `/greeter` itself; there is nothing below it.
                if service.answer(|path| (path == "/").then_some(())).is_err() {
                    // The name server was started again.
                    service.come_back(&mut names)?;
                }
            }
        }
    }
}
