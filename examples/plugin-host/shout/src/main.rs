//! A plug-in: answers in capitals, and misbehaves when it is told to.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "shout",
    description: "answers in capitals",
    endpoints: { calls: CallContract.Exp:Start },
    memory: 1 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let mut request = startup::calls().ok_or(Error::NotFound)?.recv();
    while let Start::Call(bytes, next) = request {
        let mut text = bytes.to_vec();
        match &text[..] {
            b"crash" => panic!("as it was told"),
            b"loop" => loop {
                core::hint::spin_loop();
            },
            _ => text.make_ascii_uppercase(),
        }
        request = next.call_answer(Vector::from_bytes(&text)?);
    }
    Ok(())
}
