//! Two endpoints that could come to lie in each other's queue.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       in message Give(C.Exp:Start other);
       state Start: Give? -> closed;
     }"
);

fn main() {}
