//! A text with escapes is counted from its beginning, and one without a state is no behavior.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", behavior: "// nothing\n" }

fn main() {}
