//! The client: has the service add the numbers in its arguments.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::prelude::*;
use {{crate}}::{{Name}}Contract;

sing_sdk::manifest! {
    name: "{{name}}-client",
    description: "adds numbers: {{name}}-client [NUMBER…]",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        service: {{Name}}Contract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// What to add.
    numbers: many i32 "NUMBER";
}

#[sing_sdk::main]
fn main(Arguments { numbers }: Arguments) -> Result<(), Error> {
    let service = startup::service().ok_or(Error::NotFound)?;
    let numbers = if numbers.is_empty() { vec![1, 20, 300] } else { numbers };
    for total in {{crate}}::add(service, &numbers)? {
        println!("{total}");
    }
    Ok(())
}
