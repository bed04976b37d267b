//! A derived contract that keeps neither side's expectations of its base.
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
