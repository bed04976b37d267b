//! A permission has one side.
#![deny(unsafe_code)]

sing_sdk::manifest! {
    name: "program",
    endpoints: { store: compile_fail::Lister.Exp:Start },
}

fn main() {}
