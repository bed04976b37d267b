//! Endpoints have different names.
#![deny(unsafe_code)]



sing_sdk::manifest! { name: "p", endpoints: { a: Echo.Imp:Start, a: Echo.Exp:Start } }

fn main() {}
