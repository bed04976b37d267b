//! A service: registers itself in the name space and tells the time to whoever binds it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::rt::{Handle, TypedEndpoint};
use sing_sdk::sync::WaitSet;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "clock",
    description: "a service that tells the time, at /clock",
    endpoints: { stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    behavior: "
        state Start: ( names.Success? -> Registering or names.ChannelClosed? -> Failing );
        state Registering: names.Register! -> (
          names.AckRegister? -> Serving or names.NakRegister? -> Failing or names.ChannelClosed? -> Failing );
        // From now on it speaks with those that it gets to know from the name server.
        state Serving: ( skip -> end or skip -> Failing );
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    use NamespaceContract::exp::Ready;
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut lookup = names.register("/clock")?;
    let mut clients: Vec<ClockContract::Exp<ClockContract::Ready>> = Vec::new();
    let mut set = WaitSet::new();
    loop {
        let handles: Vec<Handle> = core::iter::once(lookup.handle())
            .chain(clients.iter().map(Waitable::handle))
            .collect();
        let index = set.wait(&handles, Timeout::FOREVER)?;
        if index > 0 {
            let client = clients.swap_remove(index - 1);
            if let Ok(client) = client.recv_get_utc() {
                clients.push(client.send_utc(sing_sdk::time::utc().as_nanos() as u64));
            }
            continue;
        }
        lookup = match lookup.recv() {
            // The kernel says whether it is really of our contract.
            Ready::Bind(_, service, next) => match service.into_endpoint().cast() {
                Ok::<ClockContract::Exp<ClockContract::Start>, _>(client) => {
                    clients.push(client.send_success());
                    next.send_ack_bind()
                }
                Err(other) => match other.cast() {
                    Ok(service) => next.send_nak_bind(service),
                    Err(_) => return Err(Error::BadState),
                },
            },
            Ready::Find(_, next) => next.send_nak_find(),
            Ready::Notify(_, watcher, next) => next.send_nak_notify(watcher),
            Ready::Register(_, provider, next) => next.send_nak_register(provider),
            Ready::Deregister(_, next) => next.send_nak_deregister(),
            Ready::Closed => return Ok(()),
        };
    }
}
