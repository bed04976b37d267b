//! An argument of a message is always there.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       in message Take(byte[]? in ExHeap data);
       state Start: Take? -> closed;
     }"
);

fn main() {}
