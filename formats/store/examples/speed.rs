//! How fast the store is on this machine, on a disk in memory:
//! `cargo run --release -p sing-store --example speed`.

use sing_store::{BLOCK, Disk, DiskFault, FormatOptions, MountOptions, ROOT, Store};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Ram {
    data: Vec<u8>,
    reads: u64,
    writes: u64,
    written: u64,
    flushes: u64,
}

impl Disk for Ram {
    fn bytes(&self) -> u64 {
        self.data.len() as u64
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        self.reads += 1;
        let end = offset as usize + buffer.len();
        let data = self
            .data
            .get(offset as usize..end)
            .ok_or(DiskFault::OutOfRange)?;
        buffer.copy_from_slice(data);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        self.writes += 1;
        self.written += data.len() as u64;
        let end = offset as usize + data.len();
        let place = self
            .data
            .get_mut(offset as usize..end)
            .ok_or(DiskFault::OutOfRange)?;
        place.copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        self.flushes += 1;
        Ok(())
    }
}

fn say(what: &str, count: u64, took: Duration) {
    let each = took.as_nanos() as f64 / count as f64 / 1000.0;
    println!(
        "{what:<52} {each:>9.2} us each, {:>9.0} a second",
        1e6 / each
    );
}

fn main() -> Result<(), sing_store::Error> {
    let disk = Ram {
        data: vec![0; 512 << 20],
        ..Ram::default()
    };
    let options = FormatOptions {
        label: String::new(),
        uuid: [1; 16],
        now: 1,
    };
    let disk = Store::format(disk, &options)?;
    let options = MountOptions {
        cache: 8 << 20,
        ..MountOptions::default()
    };
    let mut store = Store::mount(disk, &options)?;

    let count = 100_000;
    let names: Vec<String> = (0..count).map(|n| format!("file {n}")).collect();
    let start = Instant::now();
    for name in &names {
        store.create(ROOT, name, 1)?;
    }
    store.sync()?;
    say("create, with its share of syncs", count, start.elapsed());

    let start = Instant::now();
    for name in &names {
        let node = store.lookup(ROOT, name)?.node;
        store.attributes(node)?;
    }
    say("lookup and attributes", count, start.elapsed());

    let mut cookie = 0;
    let start = Instant::now();
    loop {
        let entries = store.list(ROOT, cookie, 100)?;
        let Some(last) = entries.last() else { break };
        cookie = last.cookie;
    }
    say("list, for each entry", count, start.elapsed());

    let file = store.lookup(ROOT, "file 0")?.node;
    let before = store.with_disk(|disk| (disk.writes, disk.written, disk.flushes));
    let start = Instant::now();
    for n in 0..1000 {
        store.set_times(file, None, Some(n), n)?;
        store.sync()?;
    }
    say(
        "a change and its sync, among 100,000 files",
        1000,
        start.elapsed(),
    );
    store.with_disk(|disk| {
        println!(
            "  each with {:.1} writes of {:.1} KiB in all and {:.1} flushes",
            (disk.writes - before.0) as f64 / 1000.0,
            (disk.written - before.1) as f64 / 1_024_000.0,
            (disk.flushes - before.2) as f64 / 1000.0,
        );
    });

    let start = Instant::now();
    let pieces = 4096;
    for n in 0..pieces {
        let writing = store.prepare_write(file, n * 65_536, 65_536, 64)?;
        let end = writing.end();
        store.written(writing, end, n)?;
    }
    say(
        "prepare and record 64 KiB, appending",
        pieces,
        start.elapsed(),
    );
    let mut random = fastrand::Rng::with_seed(1);
    let start = Instant::now();
    for n in 0..100_000 {
        let at = random.u64(..pieces * 16) * BLOCK;
        let writing = store.prepare_write(file, at, BLOCK, 1)?;
        let end = writing.end();
        store.written(writing, end, n)?;
    }
    say(
        "prepare and record 4 KiB in place, anywhere",
        100_000,
        start.elapsed(),
    );
    let start = Instant::now();
    for n in 0..100_000 {
        let reading = store.map(file, n % (pieces * 16) * BLOCK, 65_536, 64)?;
        store.done(reading);
    }
    say("map 64 KiB", 100_000, start.elapsed());

    let sparse = store.lookup(ROOT, "file 1")?.node;
    let start = Instant::now();
    for n in 0..20_000 {
        let at = random.u64(..1 << 24) * BLOCK;
        let writing = store.prepare_write(sparse, at, BLOCK, 1)?;
        let end = writing.end();
        store.written(writing, end, n)?;
    }
    store.sync()?;
    say(
        "prepare and record 4 KiB, new ones anywhere",
        20_000,
        start.elapsed(),
    );
    let start = Instant::now();
    for _ in 0..100_000 {
        let at = random.u64(..1 << 24) * BLOCK;
        let reading = store.map(sparse, at, BLOCK, 1)?;
        store.done(reading);
    }
    say(
        "map 4 KiB anywhere, of 20,000 extents",
        100_000,
        start.elapsed(),
    );

    let start = Instant::now();
    let report = store.check(3)?;
    println!("check: {:?}, {} problems", start.elapsed(), report.problems);
    let disk = store.unmount()?;
    for verify in [true, false] {
        let options = MountOptions {
            verify,
            cache: 8 << 20,
            read_only: true,
            changes: 4096,
        };
        let copy = Ram {
            data: disk.data.clone(),
            ..Ram::default()
        };
        let start = Instant::now();
        let store = Store::mount(copy, &options)?;
        let metadata = store.space().metadata >> 20;
        println!(
            "mount, verify {verify}: {:?}, metadata {metadata} MiB",
            start.elapsed()
        );
    }
    Ok(())
}
