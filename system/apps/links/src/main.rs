//! Shows the network's links: addresses, routers, and the servers that know names. (`nics` shows the
//! cards, as their drivers see them.)
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::net::{self, Link};

sing_sdk::manifest! {
    name: "links",
    description: "shows the network's links: addresses, routers, servers of names",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {}

fn show(link: &Link) {
    let [a, b, c, d, e, f] = link.card;
    match link.card {
        [0, 0, 0, 0, 0, 0] => println!("this machine  {} bytes a packet", link.mtu),
        _ => println!(
            "card {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}  {} bytes a packet",
            link.mtu
        ),
    }
    for (address, bits) in &link.addresses {
        println!("  address  {address}/{bits}");
    }
    for router in &link.routers {
        println!("  router   {router}");
    }
    for server in &link.servers {
        println!("  names    {server}");
    }
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let links = net::links(&mut names)?;
    links.iter().for_each(show);
    if links.len() < 2 {
        println!(
            "no network card; `--net LOCAL,REMOTE` gives the machine one, or `--net user` an \
             emulated one"
        );
    }
    Ok(0)
}
