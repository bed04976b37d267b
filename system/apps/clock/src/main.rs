//! A service: registers itself in the name space and tells the time to every client that binds it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "clock",
    description: "a service that tells the time, at /clock",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    behavior: "
        // Asked for its usage, it prints that and binds nothing.
        state Start: ( names.Success? -> Registering or names.ChannelClosed? -> Failing or skip -> Failing
          or stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end ) );
        state Registering: names.Register! -> (
          names.AckRegister? -> Serving or names.NakRegister? -> Failing or names.ChannelClosed? -> Failing );
        // From now on it communicates only with clients that the name server hands over.
        state Serving: ( skip -> end or skip -> Failing );
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut clock = Provider::register(&mut names, "/clock", ClockContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case clock.clients[key].GetUtc() as client => {
                let now = sing_sdk::time::utc().as_nanos() as u64;
                clock.clients.put(key, client.send_utc(now));
            }
            case clock.clients[_].ChannelClosed() => {}
            case &clock.lookup => {
                if clock.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
