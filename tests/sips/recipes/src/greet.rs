//! A client: has each person in its arguments greeted.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::contract!("greeting.contract", use sing_sdk::contracts::ServiceContract);

sing_sdk::manifest! {
    name: "greet",
    description: "has people greeted: greet [--loud] NAME…",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// In capitals.
    loud: flag "--loud";
    /// Whom.
    people: some String "NAME";
}

#[sing_sdk::main]
fn main(Arguments { loud, people }: Arguments) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    // The type of the endpoint is the state of the conversation; each step gives it back in the
    // next one.
    let mut service = GreetingContract::connect(&mut names, "/greeter")?;
    for person in people {
        let (text, next) = service.call_greet(Text::new(&person)?).greeting()?;
        let text = text.to_lossy();
        println!("{}", if loud { text.to_uppercase() } else { text });
        service = next;
    }
    Ok(())
}
