//! Makes the kernel check all its records: whether anything refers to a free one, whether all
//! counts add up.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::inspect;

sing_sdk::manifest! {
    name: "sweep",
    description: "looks for kernel records that are free and named, or counted wrongly",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let found = inspect::sweep()?;
    for wrong in &found.wrong {
        println!("sweep: {wrong}");
    }
    println!(
        "sweep: {} records, {} wrong",
        found.records,
        found.wrong.len()
    );
    Ok(i32::from(!found.wrong.is_empty() || found.records == 0))
}
