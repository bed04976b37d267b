//! A derived contract of which no side is what its base says.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract Base {
       in message Ask();
       out message Answer();
       state Start: Ask? -> Answer! -> Start;
     }
     contract Derived : Base {
       in message Tell();
       override state Start: Tell? -> Answer! -> Start;
     }"
);

fn main() {}
