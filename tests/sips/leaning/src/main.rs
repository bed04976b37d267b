//! A service that uses another one.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "leaning",
    description: "a service that asks another one",
    category: service,
    serves: { leaning: ClockContract },
    uses: { "/test/base": ClockContract },
    endpoints: { names: NamespaceContract.Imp:Start },
    memory: 4 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    let mut base = ClockContract::client("/test/base");
    // What it uses is up when it starts: it need not wait for it.
    let first = base.ask(&mut names, |clock| clock.call_get_utc().utc())?;
    let clients = ClockContract::service(startup::leaning())?;
    clients.serve(|client| Ok(client.recv_get_utc()?.send_utc(first)))
}
