//! What the contracts promise, one thing after the other.

use crate::checks::{Check, Test};
use crate::stage::Stage;
use sing_sdk::contracts::{FileFault, FileKind, VolumeFault};
use sing_sdk::fs::{File, KEEP, Options};
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[("a first file", first)];

fn first() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("hello.txt", Options::create())?;
    file.write_at(0, b"Hello, disk.")?;
    let read = file.read_to_end()?;
    println!("{:?}", file.attributes()?);
    let names: Result<Vec<_>, Error> = root.list().collect();
    println!("{names:?}");
    file.sync()?;
    Ok(read == b"Hello, disk.")
}
