//! Only the last endpoint can be many.
#![deny(unsafe_code)]



sing_sdk::manifest! { name: "p", endpoints: { a: many Echo.Imp:Start, b: Echo.Exp:Start } }

fn main() {}
