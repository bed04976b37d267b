//! One half of the smallest conversation: starts `pong`, hands it one side of a channel, and
//! counts.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::error;
use sing_sdk::process::Child;

sing_sdk::manifest! {
    name: "pingpong",
    description: "talks with a child over PingContract: pingpong [ROUNDS]",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    behavior: "
        state Start: one {
          stdout.Write! -> ( stdout.Ack? -> Start or stdout.ChannelClosed? -> Unread );
          skip -> end;
        }
        state Unread: skip -> end;
    ",
}

sing_sdk::arguments! {
    /// How often it asks.
    rounds: default u32 = 3, "ROUNDS";
}

#[sing_sdk::main]
fn main(Arguments { rounds }: Arguments) -> Result<(), Box<dyn error::Error>> {
    let (mut imp, exp) = PingContract::new_channel()?;
    let pong = Child::of("pong")
        .arg("pong")
        .endpoint("ping", exp)
        .start()?;
    for number in 0..rounds {
        // The type of the endpoint is the state of the conversation: sending twice would not
        // compile.
        let (answer, next) = imp.send_ping(number).recv_pong()?;
        println!("ping {number}, pong {answer}");
        imp = next;
    }
    drop(imp);
    println!("pong: {}", pong.join()?);
    Ok(())
}
