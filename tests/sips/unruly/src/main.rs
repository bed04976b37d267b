//! A service that does everything which a service must not do: `unruly HOW`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::health::Health;
use sing_sdk::names::Names;
use sing_sdk::process::{self, Child};
use sing_sdk::provider::Provider;
use sing_sdk::time;

sing_sdk::manifest! {
    name: "unruly",
    description: "a service that breaks its promises",
    category: service,
    privileges: [create],
    serves: { unruly: ClockContract },
    endpoints: {
        health: optional HealthContract.Exp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 8 MiB,
}

sing_sdk::choices! {
    /// What it does.
    How: "tame" Tame, "crash" Crash, "mute" Mute, "deaf" Deaf, "silent" Silent, "closing" Closing, "crowd" Crowd,
    "once" Once, "twice" Twice,
    "flaky" Flaky, "circle" Circle
}

sing_sdk::arguments! {
    /// What it does.
    how: one How "HOW";
    /// The path that it binds before it is ready.
    path: optional String "PATH";
}

/// Children that it makes: as many as it can, and no more than these.
const CROWD: usize = 40;

fn forever() -> ! {
    loop {
        time::sleep(Duration::from_secs(1000));
    }
}

#[sing_sdk::main]
fn main(Arguments { how, path }: Arguments) -> Result<(), Error> {
    let mut health = Health::new(startup::health());
    let lookup = startup::unruly().ok_or(Error::NotFound)?;
    match how {
        How::Crash => panic!("as promised"),
        How::Mute => forever(),
        How::Closing => {
            drop(lookup.send_success());
            forever();
        }
        How::Silent => {
            let _lookup = lookup.send_success();
            forever();
        }
        How::Crowd => {
            for _ in 0..CROWD {
                // If there is no room for more, there are fewer.
                let _ = Child::of("sleep").args(["sleep", "1000"]).start();
            }
        }
        How::Circle => {
            let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
            let (_clock, exp) = ClockContract::new_channel()?;
            names.bind(path.as_deref().unwrap_or("/"), exp)?;
        }
        How::Tame | How::Deaf | How::Once | How::Twice | How::Flaky => {}
    }
    let mut clients: Provider<_, _> = Provider::new(lookup, ClockContract::Exp::send_success)?;
    // Where it dies depends on nothing that the manager knows.
    let mut left = match how {
        How::Once => 1,
        How::Twice => 2,
        How::Flaky => time::cycle_count() % 4,
        _ => u64::MAX,
    };
    loop {
        if left == 0 {
            match how {
                How::Once | How::Twice => process::exit(0),
                _ => panic!("flaky"),
            }
        }
        switch_receive! {
            case clients.clients[key].GetUtc() as client => {
                clients.clients.put(key, client.send_utc(process::id().into()));
                left -= 1;
            }
            case clients.clients[_].ChannelClosed() => {}
            case &health => if how == How::Deaf { forever() } else { health.answer() },
            case &clients.lookup => {
                if clients.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
                if how == How::Flaky {
                    left -= 1;
                }
            }
        }
    }
}
