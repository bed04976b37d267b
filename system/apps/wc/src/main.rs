//! Counts lines, words and bytes of its input.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "wc",
    description: "counts lines, words and bytes of its input",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) {
    let mut input = sing_sdk::io::stdin();
    let (mut lines, mut words, mut bytes) = (0_u64, 0_u64, 0_u64);
    let mut in_word = false;
    while let Some(block) = input.receive() {
        let text = block.to_vec();
        bytes += text.len() as u64;
        for byte in text {
            lines += u64::from(byte == b'\n');
            words += u64::from(!in_word && !byte.is_ascii_whitespace());
            in_word = !byte.is_ascii_whitespace();
        }
    }
    println!("{lines} {words} {bytes}");
}
