//! The index: which word is in which lines.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::prelude::*;

sing_sdk::contract!("../search.contract");

sing_sdk::manifest! {
    name: "search",
    description: "an index of lines",
    endpoints: { index: SearchContract.Exp:Start },
    memory: 16 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use SearchContract::exp::Start;
    let mut words: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut count = 0;
    let mut request = startup::index().ok_or(Error::NotFound)?.recv();
    loop {
        request = match request {
            Start::Add(line, next) => {
                count += 1;
                for word in line.to_lossy().split(|c: char| !c.is_alphanumeric()) {
                    let lines = words.entry(word.to_lowercase()).or_default();
                    if lines.last() != Some(&count) {
                        lines.push(count);
                    }
                }
                next.send_added(count).recv()
            }
            Start::Find(word, answer) => match words.get(&word.to_lossy().to_lowercase()) {
                Some(lines) => answer.send_found(Vector::from_slice(lines)?).recv(),
                None => answer.send_unknown().recv(),
            },
            Start::Closed => return Ok(()),
        };
    }
}
