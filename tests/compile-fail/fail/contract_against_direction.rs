//! Messages are sent in their declared direction.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       out message Hello();
       state Start: Hello? -> Start;
     }"
);

fn main() {}
