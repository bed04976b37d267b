//! A contract whose queue would grow without bound is refused, with the cycle.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract Flood {
       in message More();
       in message Again();
       state Start: More? -> Again? -> Start;
     }"
);

fn main() {}
