//! How quick a file system on a disk in memory is: figures for the book, and no check.

use crate::stage::Stage;
use core::time::Duration;
use sing_sdk::fs::Options;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

const PIECE: usize = 64 << 10;
const SIZE: u64 = 16 << 20;

/// Prints how often something can be done in a second.
fn measure(what: &str, mut work: impl FnMut(u64) -> Result<(), Error>) -> Result<(), Error> {
    let begun = uptime();
    let mut count = 0;
    while uptime() < begun + Duration::from_millis(500) {
        work(count)?;
        count += 1;
    }
    let nanos = (uptime() - begun).as_nanos() as u64 / count;
    println!("{what}: {} us", nanos as f64 / 1000.0);
    Ok(())
}

fn all() -> Result<(), Error> {
    let mut stage = Stage::new(64)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    for n in 0..SIZE / PIECE as u64 {
        file.write(n * PIECE as u64, Vector::new(PIECE)?, 0..PIECE)?;
    }
    let at = |n: u64, len: u64| (n * 7 * len) % SIZE;
    measure("write 64 KiB in place", |n| {
        let data = Vector::new(PIECE)?;
        file.write(at(n, PIECE as u64), data, 0..PIECE).map(drop)
    })?;
    let mut buffer = Some(Vector::new(PIECE)?);
    measure("read 64 KiB", |n| {
        let data = buffer.take().map_or_else(|| Vector::new(PIECE), Ok)?;
        buffer = Some(file.read(at(n, PIECE as u64), data)?.0);
        Ok(())
    })?;
    let mut buffer = Some(Vector::new(4096)?);
    measure("read 4 KiB", |n| {
        let data = buffer.take().map_or_else(|| Vector::new(4096), Ok)?;
        buffer = Some(file.read(at(n, 4096), data)?.0);
        Ok(())
    })?;
    let mut small = [0; 100];
    measure("read 100 bytes, one after the other", |n| {
        file.read_at((n * 100) % SIZE, &mut small).map(drop)
    })?;
    measure("write 100 bytes, one after the other", |n| {
        file.write_at((n * 100) % SIZE, &small)
    })?;
    measure("attributes", |_| root.attributes("f").map(drop))?;
    measure("make, write 100 bytes, close", |n| {
        root.open_with(&format!("g{}", n % 2000), Options::create())?
            .write_at(0, &small)
    })?;
    measure("write 100 bytes and sync", |n| {
        file.write_at((n * 100) % SIZE, &small)?;
        file.sync()
    })
}

pub fn run() -> i32 {
    match all() {
        Ok(()) => 0,
        Err(error) => {
            println!("filetest: {error}");
            1
        }
    }
}
