//! Messages go the way that they are declared.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       out message Hello();
       state Start: Hello? -> Start;
     }"
);

fn main() {}
