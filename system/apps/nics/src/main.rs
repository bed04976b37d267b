//! Lists the network cards: their addresses, whether they have a network, and what came and went.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "nics",
    description: "lists the network cards, and what they have received and sent",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// The cards; those in /dev if left out.
    paths: many Path "PATH";
}

/// What a card says of itself.
fn describe(names: &mut Names, path: &str) -> Result<String, Error> {
    let (nic, exp) = NicContract::new_channel()?;
    names.bind(path, exp)?;
    let nic = nic.recv_success()?;
    let (mac, mtu, up, nic) = nic.call_get_info().info()?;
    let (received, received_bytes, sent, sent_bytes, dropped, errors, _) =
        nic.call_get_statistics().statistics()?;
    let [a, b, c, d, e, f, ..] = mac.to_le_bytes();
    let link = if up { "up" } else { "down" };
    Ok(format!(
        "{path}  {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}  {link}  {mtu} bytes a packet\n  \
         received  {received} frames, {received_bytes} bytes, {dropped} dropped, {errors} bad\n  \
         sent      {sent} frames, {sent_bytes} bytes"
    ))
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    // A name stands there for each card that the system can have; a card that the machine lacks
    // has nobody behind it.
    let all = paths.is_empty();
    let paths = if all {
        names
            .find("/dev/nic*")?
            .into_iter()
            .map(|f| f.path)
            .collect()
    } else {
        paths
    };
    let (mut shown, mut status) = (0, 0);
    for path in paths {
        match describe(&mut names, &path) {
            Ok(text) => {
                println!("{text}");
                shown += 1;
            }
            Err(_) if all => {}
            Err(error) => {
                eprintln!("nics: {path}: {error}");
                status = 1;
            }
        }
    }
    if all && shown == 0 {
        println!("no network card; `--net LOCAL,REMOTE` gives the machine one");
    }
    Ok(status)
}
