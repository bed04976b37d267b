//! The program's start takes nothing but the arguments that it declares.
#![deny(unsafe_code)]

mod several {
    #[sing_sdk::main]
    fn main(_first: u32, _second: u32) {}
}

#[sing_sdk::main]
fn main(_arguments: Vec<String>) {}
