//! Serves many: adds up the numbers of all clients that it was started with, until the last of them
//! has gone.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::contract!("sum.contract");

sing_sdk::manifest! {
    name: "adder",
    description: "adds up the numbers of its clients",
    endpoints: { clients: many SumContract.Exp:Start },
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let mut clients = EndpointSet::new()?;
    for client in startup::clients() {
        clients.insert(client)?;
    }
    let mut total = 0;
    while !clients.is_empty() {
        switch_receive! {
            case clients[key].Add(number) as client => {
                total += i64::from(number);
                clients.put(key, client.send_sum(total));
            }
            case clients[_].ChannelClosed() => {}
        }
    }
    Ok(())
}
