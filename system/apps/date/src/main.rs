//! Asks the clock service for the time.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "date",
    description: "asks the service at /clock for the time",
    uses: { "/clock": ClockContract },
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    behavior: "
        // Asked for its usage, it prints that and binds nothing.
        state Start: ( names.Success? -> Binding or names.ChannelClosed? -> Failing or skip -> Failing
          or stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end ) );
        state Binding: names.Bind! -> (
          names.AckBind? -> Asking or names.NakBind? -> Refused or names.ChannelClosed? -> Failing );
        // What is there, if it is of another contract.
        state Refused: ( skip -> Again or names.Find! -> (
          names.AckFind? -> Again or names.NakFind? -> Again or names.ChannelClosed? -> Failing ) );
        // The clock may be starting.
        state Again: ( skip -> Binding or skip -> Failing );
        // It asks the clock on a channel of its own. If that closes, it binds again.
        state Asking: ( skip -> Again or
          stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end )
          or skip -> Failing );
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let mut clock = ClockContract::client("/clock");
    // If the clock is restarted meanwhile, it is asked again.
    let nanoseconds = match clock.ask(&mut names, |clock| clock.call_get_utc().utc()) {
        Err(Error::NotFound) => {
            eprintln!("date: /clock: no service answers there; `services clock` says why");
            return Ok(1);
        }
        asked => asked?,
    };
    println!("{}", sing_sdk::calendar::show(nanoseconds));
    Ok(0)
}
