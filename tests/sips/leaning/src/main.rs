//! A service that uses another one.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::client::Client;
use sing_sdk::names::Names;
use sing_sdk::provider::Provider;

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
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut base = Client::new("/test/base", |names, path| {
        let (clock, exp) = ClockContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(clock.recv_success()?)
    });
    // What it uses is up when it starts: it need not wait for it.
    let first = base.ask(&mut names, |clock| clock.call_get_utc().utc())?;
    let lookup = startup::leaning().ok_or(Error::NotFound)?;
    let mut clients: Provider<_, _> = Provider::new(lookup, ClockContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case clients.clients[key].GetUtc() as client => {
                clients.clients.put(key, client.send_utc(first));
            }
            case clients.clients[_].ChannelClosed() => {}
            case &clients.lookup => {
                if clients.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
