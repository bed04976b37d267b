//! An endpoint that the manifest does not declare does not exist.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p" }

fn ask() {
    let _ = startup::stdout();
}

fn main() {}
