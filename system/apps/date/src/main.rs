//! Asks the clock service for the time.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::client::Client;
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
          names.AckBind? -> Asking or names.NakBind? -> Again or names.ChannelClosed? -> Failing );
        // The clock may be starting.
        state Again: ( skip -> Binding or skip -> Failing );
        // It asks the clock on a channel of its own. If that closes, it binds again.
        state Asking: ( skip -> Again or
          stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end )
          or skip -> Failing );
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

/// Year, month and day of a day since 1970 (the usual conversion by eras of 400 years).
fn civil(day: u64) -> (u64, u64, u64) {
    let z = day + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut clock = Client::new("/clock", |names, path| {
        let (clock, exp) = ClockContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(clock.recv_success()?)
    });
    // If the clock is restarted meanwhile, it is asked again.
    let nanoseconds = match clock.ask(&mut names, |clock| clock.call_get_utc().utc()) {
        Err(Error::NotFound) => {
            eprintln!("date: /clock: no service answers there; `services clock` says why");
            return Ok(1);
        }
        asked => asked?,
    };
    let seconds = nanoseconds / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    println!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    Ok(0)
}
