//! Greets.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "{{name}}",
    description: "greets: {{name}} [NAME…]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Whom to greet.
    people: many String "NAME";
}

#[sing_sdk::main]
fn main(Arguments { people }: Arguments) {
    println!("{}", {{crate}}::greeting(&people));
}
