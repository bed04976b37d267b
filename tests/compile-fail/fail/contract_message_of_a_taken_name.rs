//! A message cannot have the name by which a switch reports the close.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract Chat {
       in message Say(int x);
       in message ChannelClosed();
       state Start: (Say? or ChannelClosed?) -> closed;
     }",
    const TEXT
);

fn main() {}
