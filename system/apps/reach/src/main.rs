//! Asks a host whether it answers, and how fast. (`ping` is another program, which shows what a
//! contract is.)
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net::Echo;
use sing_sdk::{thread, time};

sing_sdk::manifest! {
    name: "reach",
    description: "asks a host whether it answers, by echoes of ICMP: reach HOST [COUNT]",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// How many bytes it is to send back, up to 1024.
    bytes: option u32 "-s BYTES";
    /// The host: a name or an address.
    host: one String "HOST";
    /// How often, once a second.
    count: default u32 = 4, "COUNT";
}

/// How long each answer may take, and the time between two requests.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN: Duration = Duration::from_secs(1);

#[sing_sdk::main]
fn main(Arguments { bytes, host, count }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let mut echo = match Echo::new(&mut names, &host) {
        Ok(echo) => echo,
        Err(Error::NotFound) => {
            eprintln!("reach: {host}: neither the name nor the address of a host");
            return Ok(2);
        }
        Err(error) => return Err(error),
    };
    let mut came = Vec::new();
    for number in 1..=count {
        let next = time::uptime() + BETWEEN;
        match echo.ask(bytes.unwrap_or(56), PATIENCE) {
            Ok((from, took)) => {
                println!("{from}  {number}  {:.3} ms", took.as_secs_f64() * 1000.0);
                came.push(took);
            }
            Err(Error::Network(fault @ (TcpFault::TimedOut | TcpFault::Unreachable))) => {
                println!("{host}  {number}  {fault}");
            }
            Err(error) => {
                eprintln!("reach: {host}: {error}");
                return Ok(1);
            }
        }
        if number < count {
            thread::sleep(next.saturating_sub(time::uptime()));
        }
    }
    println!("{host}: {} of {count} came back", came.len());
    Ok(i32::from(came.is_empty()))
}
