//! What owns something is always there, and a condition does not take what may be absent for a value.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "rep struct Parcel { byte[] in ExHeap data; int weight; }
     contract C {
       in message Take(Parcel? parcel);
       in message Weigh(int? weight) requires weight > 0;
       state Start: one { Take? -> closed; Weigh? -> closed; }
     }"
);

fn main() {}
