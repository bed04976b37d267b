//! A service: tells the time to every client that binds it. The service manager starts it, and says
//! where in the name space it is.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "clock",
    description: "a service that tells the time, at /clock",
    category: service,
    serves: { clock: ClockContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        health: optional HealthContract.Exp:Start,
    },
    memory: 4 MiB,
    behavior: "
        // Asked for its usage, it prints that and serves nothing.
        state Start: ( clock.Success! -> Serving or skip -> Failing
          or stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end ) );
        state Serving: one {
          clock.Bind? -> ( clock.AckBind! or clock.NakBind! ) -> Serving;
          clock.Find? -> ( clock.AckFind! or clock.NakFind! ) -> Serving;
          clock.Notify? -> clock.NakNotify! -> Serving;
          clock.Register? -> clock.NakRegister! -> Serving;
          clock.Deregister? -> clock.NakDeregister! -> Serving;
          clock.Link? -> clock.NakLink! -> Serving;
          clock.ReadLink? -> ( clock.AckReadLink! or clock.NakReadLink! ) -> Serving;
          clock.ChannelClosed? -> end;
          health.Ping? -> health.Pong! -> Serving;
          health.ChannelClosed? -> Serving;
        }
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let clock = ClockContract::service(startup::clock())?.health(startup::health());
    clock.serve(|client| {
        let now = sing_sdk::time::utc().as_nanos() as u64;
        Ok(client.recv_get_utc()?.send_utc(now))
    })
}
