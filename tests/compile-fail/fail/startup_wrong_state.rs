//! A start-up endpoint is used in its declared state.
#![deny(unsafe_code)]

use compile_fail::Echo;

sing_sdk::manifest! { name: "p", endpoints: { a: Echo.Imp:Start } }

fn ask() {
    if let Some(a) = startup::a() {
        let _ = a.recv();
    }
}

fn main() {}
