//! Inherited states are replaced only with `override`.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract Base { out message Success(); state Start: Success! -> closed; }
     contract Derived : Base { state Start: Success! -> Start2; state Start2; }"
);

fn main() {}
