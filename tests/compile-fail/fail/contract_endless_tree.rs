//! A tree whose nodes always have a child.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "rep struct Node { int value; Node* in ExHeap next; }
     contract C {
       in message Take(Node* in ExHeap all);
       state Start: Take? -> closed;
     }"
);

fn main() {}
