//! A service: registers itself in the name space and tells the time to whoever binds it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::rt::TypedEndpoint;

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
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut lookup = names.register("/clock")?;
    let mut clients: EndpointSet<ClockContract::Exp<ClockContract::Ready>> = EndpointSet::new()?;
    loop {
        lookup = switch_receive! {
            case clients[key].GetUtc() as client => {
                clients.put(key, client.send_utc(sing_sdk::time::utc().as_nanos() as u64));
                continue;
            }
            case clients[_].ChannelClosed() => continue,
            // The kernel says whether it is really of our contract.
            case lookup.Bind(_, service) as next => match service.into_endpoint().cast() {
                Ok::<ClockContract::Exp<ClockContract::Start>, _>(client) => {
                    clients.insert(client.send_success())?;
                    next.send_ack_bind()
                }
                Err(other) => match other.cast() {
                    Ok(service) => next.send_nak_bind(service),
                    Err(_) => return Err(Error::BadState),
                },
            },
            case lookup.Find(_) as next => next.send_nak_find(),
            case lookup.Notify(_, watcher) as next => next.send_nak_notify(watcher),
            case lookup.Register(_, provider) as next => next.send_nak_register(provider),
            case lookup.Deregister(_) as next => next.send_nak_deregister(),
            case lookup.ChannelClosed() => return Ok(()),
        };
    }
}
