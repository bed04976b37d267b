//! A state in which both sides may send, and would misunderstand each other.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       in message Stop();
       out message Done();
       out message Again();
       state Start: one { Stop? -> Stopped; Done! -> Finished; }
       state Stopped: Again! -> closed;
       state Finished: Stop? -> closed;
     }"
);

fn main() {}
