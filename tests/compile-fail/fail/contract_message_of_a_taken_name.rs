//! What a switch calls the end of a channel is no message's name.
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
