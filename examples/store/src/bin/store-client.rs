//! The writer: does what its words say, one after the other.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use store::StoreContract;

sing_sdk::manifest! {
    name: "store-client",
    description: "puts values into the store, and asks for them: store-client [KEY=VALUE|KEY…]",
    uses: { "/store": StoreContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// What to put, or to ask for.
    words: many String "KEY=VALUE|KEY";
}

#[sing_sdk::main]
fn main(Arguments { words }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let mut store = StoreContract::client("/store");
    for word in words {
        match store::client::word(&mut names, &mut store, &word)? {
            Ok(None) => {}
            Ok(Some(value)) => println!("{word}: {value}"),
            Err(reason) => {
                eprintln!("store-client: {word}: {reason:?}");
                return Ok(1);
            }
        }
    }
    Ok(0)
}
