//! Lists the devices of the machine, and who drives them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::device;

sing_sdk::manifest! {
    name: "devices",
    description: "lists the devices of the machine",
    privileges: [devices],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut table = format!("{:<16} {:<24} {:>6}\n", "LOCATION", "SIGNATURE", "HOLDER");
    for d in device::all()? {
        let holder = match (d.holder, d.broken) {
            (_, true) => "broken".to_string(),
            (0, _) => "-".to_string(),
            (id, _) => id.to_string(),
        };
        table.push_str(&format!(
            "{:<16} {:<24} {holder:>6}\n",
            d.location, d.signature
        ));
    }
    print!("{table}");
    Ok(())
}
