//! A program with a plug-in: `plugin-host IMAGE`. Each call has a process of its own, which may do
//! what it likes: the program goes on.
#![forbid(unsafe_code)]

use sing_embed::{Image, System};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("usage: plugin-host IMAGE")?;
    let system = System::start(&Image::open(path.as_ref())?)?;
    let shout = system.program("shout").deadline(Duration::from_millis(100));
    for text in ["hello", "crash", "loop", "bye"] {
        match shout.call(text.as_bytes()) {
            Ok(answer) => println!("{}", String::from_utf8_lossy(&answer)),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
