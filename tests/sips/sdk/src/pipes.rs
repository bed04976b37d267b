//! Pipes.

use crate::{Check, Test};
use sing_sdk::contracts::PipeContract;
use sing_sdk::io::{LARGEST, Writer};
use sing_sdk::thread::spawn;

pub const ALL: &[Test] = &[("a large block is cut at the ends of lines", cut_at_lines)];

fn cut_at_lines() -> Check {
    let (imp, mut exp) = PipeContract::new_channel()?;
    let text = ("x".repeat(96) + "\n").repeat(3 * LARGEST / 97);
    let len = text.len();
    let writer = spawn(move || Writer::new(imp).write(text.as_bytes()))?;
    let (mut read, mut whole) = (0, true);
    while read < len {
        let (data, next) = exp.recv_write()?;
        let bytes = data.to_vec();
        whole &= bytes.len() <= LARGEST && bytes.ends_with(b"\n");
        read += bytes.len();
        exp = next.send_ack();
    }
    writer.join()??;
    Ok(whole && read == len)
}
