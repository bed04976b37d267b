//! Lists the devices of the machine, who drives them, and how they reach memory.
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
    let mut table = format!(
        "{:<16} {:<24} {:>6} MEMORY\n",
        "LOCATION", "SIGNATURE", "HOLDER"
    );
    for d in device::all()? {
        let holder = match (d.holder, d.broken) {
            (_, true) => "broken".to_string(),
            (0, _) => "-".to_string(),
            (id, _) => id.to_string(),
        };
        let is_virtio = d.signature.starts_with("/virtio/") || d.signature.contains("/1af4/");
        let memory = match (d.confined, d.own_interrupts, is_virtio) {
            (true, true, _) => "by the IOMMU",
            (true, false, _) => "by the IOMMU, which does not confine its interrupts",
            (false, _, true) => "by queues",
            (false, _, false) if d.signature.starts_with("/pnp/") => "none",
            (false, _, false) => "none: no IOMMU confines it",
        };
        table.push_str(&format!(
            "{:<16} {:<24} {holder:>6} {memory}\n",
            d.location, d.signature
        ));
    }
    print!("{table}");
    Ok(())
}
