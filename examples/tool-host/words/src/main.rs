//! A tool: counts the lines, words and characters of the argument `text`. JSON comes and goes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use serde_json::{Value, json};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "words",
    description: "counts the words of a text",
    endpoints: { calls: CallContract.Exp:Start },
    memory: 4 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let mut request = startup::calls().ok_or(Error::NotFound)?.recv();
    while let Start::Call(bytes, next) = request {
        let arguments: Value = serde_json::from_slice(&bytes.to_vec()).unwrap_or_default();
        request = match arguments["text"].as_str() {
            Some(text) => {
                let found = json!({
                    "lines": text.lines().count(),
                    "words": text.split_whitespace().count(),
                    "characters": text.chars().count(),
                });
                let mut out = alloc::string::ToString::to_string(&found);
                out.push('\n');
                next.call_answer(Vector::from_bytes(out.as_bytes())?)
            }
            None => next.call_refused(Text::new("it needs the argument `text`, a string")?),
        };
    }
    Ok(())
}

extern crate alloc;
