//! A full disk, and disks that fail.

use crate::checks::{Check, Test};
use crate::model::Draw;
use crate::stage::{Faulty, Stage};
use sing_sdk::contracts::{FileFault, VolumeFault};
use sing_sdk::fs::Options;
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("a full disk", full),
    ("bad sectors", bad),
    ("bad sectors that are found late", late),
    ("a disk for reading only", read_only),
    ("a slow disk and other clients", slow),
    ("a long sync and other clients", long),
];

fn full() -> Check {
    let mut stage = Stage::new(4)?;
    let no_space = Error::File(FileFault::NoSpace);
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let mut root = stage.root()?;
    let mut file = root.open_with("large", Options::create())?;
    let piece = vec![7; 100_000];
    let mut size = 0;
    let fault = loop {
        match file.write_at(size, &piece) {
            Ok(()) => size += 100_000,
            Err(error) => break error,
        }
        if size > 8 << 20 {
            return Ok(false);
        }
    };
    // A part of the last piece may have been written; all of the others has been.
    let len = file.size()?;
    let bytes = file.read_to_end()?;
    let whole = len >= size && bytes.len() as u64 == len && bytes.iter().all(|b| *b == 7);
    // Small ones fail in the same way, and what stands can be read and changed.
    let mut count = 0;
    let small = loop {
        let made = root.open_with(&format!("small {count}"), Options::create());
        match made.and_then(|mut f| f.write_at(0, &[1; 4096])) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    // What stands is written in place, unless even the time of it finds no room.
    let still = match file.write_at(0, b"still") {
        Ok(()) => file
            .read_block(0, 5)?
            .is_some_and(|b| b.to_vec() == b"still"),
        Err(error) => error == no_space,
    };
    let synced = file.sync().is_ok();
    // Room again.
    drop(file);
    let (removed, then) = (root.remove("large"), root.sync());
    let mut again = false;
    for _ in 0..200 {
        let made = root.open_with("again", Options::create());
        again = made
            .and_then(|mut f| f.write_at(0, &vec![9; 1 << 20]))
            .is_ok();
        if again {
            break;
        }
        sing_sdk::time::sleep(core::time::Duration::from_millis(10));
    }
    drop(root);
    let unmounted = stage.control.unmount(&at, false)?;
    let checked = stage.control.check(&disk)?;
    let good = [
        fault == no_space,
        small == no_space,
        size >= 2 << 20,
        whole && still,
        synced && removed.is_ok() && then.is_ok(),
        again,
        unmounted == Ok(()),
        checked == Ok((0, String::new())),
    ];
    if !good.iter().all(|g| *g) {
        println!(
            "filetest: {good:?}, {still:?}, {removed:?}, {then:?}, {fault:?}, {small:?}, {size}, {checked:?}"
        );
    }
    Ok(good.iter().all(|g| *g))
}

/// A file system on a disk that fails as told.
fn faulty(mib: u32) -> Result<(Stage, Faulty), Error> {
    let mut stage = Stage::unmounted(mib)?;
    let path = format!("{}-faulty", stage.disk);
    let faulty = Faulty::new(&mut stage.names, &stage.disk, &path, false)?;
    let at = stage.at.clone();
    let made = stage.control.format(&path, "faulty", false)?;
    let mounted = stage.control.mount(&path, &at, false)?;
    match (made, mounted) {
        (Ok(()), Ok(())) => Ok((stage, faulty)),
        _ => Err(Error::BadState),
    }
}

/// What is written again and again waits in memory: that the disk refuses it, each is told who syncs,
/// and who unmounts if nobody else was.
fn late() -> Check {
    const BYTES: usize = 100_000;
    let (mut stage, mut disk) = faulty(16)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    let mut other = root.open_with("g", Options::create())?;
    let mut holds = Vec::new();
    for value in 1..=6 {
        file.write_at(0, &vec![value; BYTES])?;
        // Parts of blocks, over what waits.
        file.write_at(5000, &vec![value + 100; 7000])?;
        file.write_at(BYTES as u64 - 1, &[value + 100])?;
        let all = file.read_to_end()?;
        let marked = |i: &usize| (5000..12_000).contains(i) || *i == BYTES - 1;
        let right = |(i, b): (usize, &u8)| *b == if marked(&i) { value + 100 } else { value };
        holds.push(all.len() == BYTES && all.iter().enumerate().all(right));
        if value == 3 {
            file.sync()?;
        }
    }
    file.sync()?;
    file.write_at(4096, &vec![50; 65_536])?;
    disk.bad(0, 16 << 11)?;
    holds.push(matches!(file.sync(), Err(Error::File(FileFault::Medium))));
    disk.bad(0, 0)?;
    holds.push(file.sync().is_ok());
    holds.push(matches!(other.sync(), Err(Error::File(FileFault::Medium))));
    holds.push(other.sync().is_ok() && file.sync().is_ok());
    // It is written again, and survives.
    file.write_at(4096, &vec![60; 65_536])?;
    file.write_at(4096, &vec![61; 65_536])?;
    file.sync()?;
    drop((file, other, root));
    let unmounted = stage.control.unmount(&stage.at, false)?.is_ok();
    let checked = stage.control.check(&disk.path)?;
    let mounted = stage.control.mount(&disk.path, &stage.at, false)?.is_ok();
    let all = stage.root()?.open_file("f")?.read_to_end()?;
    let kept = all.len() == BYTES && all[4096..4096 + 65_536].iter().all(|b| *b == 61);
    holds.extend([unmounted, checked.is_ok_and(|(n, _)| n == 0), mounted, kept]);
    // Nobody has synced what is lost with the sync that comes by itself.
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.write_at(4096, &vec![70; 65_536])?;
    file.write_at(4096, &vec![71; 65_536])?;
    disk.bad(0, 16 << 11)?;
    sing_sdk::time::sleep(core::time::Duration::from_millis(1500));
    disk.bad(0, 0)?;
    let forced = stage.control.unmount(&stage.at, true)?;
    holds.push(forced == Err(VolumeFault::Medium));
    if holds.contains(&false) {
        println!("filetest: late: {holds:?}");
    }
    Ok(!holds.contains(&false))
}

fn bad() -> Check {
    let (mut stage, mut disk) = faulty(16)?;
    let mut root = stage.root()?;
    let mut draw = Draw(5);
    let bytes: Vec<u8> = (0..2 << 20).map(|_| draw.next() as u8).collect();
    root.open_with("f", Options::create())?
        .write_at(0, &bytes)?;
    root.sync()?;
    // Wherever the sectors lie, no request does more than fail.
    let (mut failed, mut read) = (0, 0);
    for place in 0..64 {
        let from = place * 512;
        // Nothing of the disk is in memory.
        drop(root);
        disk.bad(0, 0)?;
        let moved = stage.control.unmount(&stage.at, false)?;
        moved.map_err(|_| Error::BadState)?;
        let moved = stage.control.mount(&disk.path, &stage.at, false)?;
        moved.map_err(|_| Error::BadState)?;
        root = stage.root()?;
        disk.bad(from, from + 512)?;
        let mut file = match root.open_file("f") {
            Ok(file) => file,
            Err(_) => {
                failed += 1;
                continue;
            }
        };
        match file.read_to_end() {
            Ok(all) if all == bytes => read += 1,
            Ok(_) => return Ok(false),
            Err(Error::File(FileFault::Medium)) => failed += 1,
            Err(other) => {
                println!("filetest: {other:?}");
                return Ok(false);
            }
        }
        let _ = root
            .open_with("g", Options::create())
            .and_then(|mut g| g.write_at(0, &[1; 9000]));
        let _ = root.sync();
    }
    disk.bad(0, 0)?;
    let synced = root.sync().is_ok();
    let all = root.open_file("f")?.read_to_end()? == bytes;
    drop(root);
    let (path, at) = (disk.path.clone(), stage.at.clone());
    let unmounted = stage.control.unmount(&at, false)?;
    let checked = stage.control.check(&path)?;
    let good = failed >= 8 && read >= 8 && synced && all;
    if !good || unmounted != Ok(()) || checked != Ok((0, String::new())) {
        println!("filetest: {failed} {read} {synced} {all} {unmounted:?} {checked:?}");
        return Ok(false);
    }
    Ok(true)
}

fn read_only() -> Check {
    let (mut stage, mut disk) = faulty(8)?;
    let (path, at) = (disk.path.clone(), stage.at.clone());
    stage
        .root()?
        .open_with("f", Options::create())?
        .write_at(0, b"text")?;
    let unmounted = stage.control.unmount(&at, false)?;
    disk.read_only(true)?;
    let refused = stage.control.mount(&path, &at, false)? == Err(VolumeFault::ReadOnly);
    let format = stage.control.format(&path, "x", true)? == Err(VolumeFault::ReadOnly);
    let mounted = stage.control.mount(&path, &at, true)? == Ok(());
    let mut root = stage.root()?;
    let read = root.open_file("f")?.read_to_end()? == b"text";
    let no = Err(Error::File(FileFault::ReadOnly));
    Ok(unmounted == Ok(()) && refused && format && mounted && read && root.remove("f") == no)
}

fn slow() -> Check {
    let (mut stage, mut disk) = faulty(8)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    file.write_at(0, &vec![1; 1 << 20])?;
    root.sync()?;
    disk.slow(300)?;
    // While the disk works on a read, names and attributes are served.
    let reading = file.another()?.into_channel()?;
    let pending = reading.send_read(0, Vector::new(65_536)?, 0, 65_536);
    let begun = sing_sdk::time::uptime();
    let known = root.attributes("f")?.bytes == 1 << 20;
    let quick = sing_sdk::time::uptime() < begun + core::time::Duration::from_millis(250);
    let (block, count, next) = match pending.recv() {
        sing_sdk::contracts::FileContract::imp::Ready_Read::Data(block, count, next) => {
            (block, count, next)
        }
        _ => return Ok(false),
    };
    disk.slow(0)?;
    drop(next);
    Ok(known && quick && count == 65_536 && block.to_vec().iter().all(|b| *b == 1))
}

/// A sync of many small changes on a slow disk takes long, and others are served between its steps.
fn long() -> Check {
    use sing_sdk::contracts::FileContract::imp::Ready_Sync as Reply;
    const RUNS: u64 = 256;
    let (mut stage, mut disk) = faulty(16)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    let bytes = 2 * RUNS * 4096;
    for value in 1..=3 {
        file.write_at(0, &vec![value; bytes as usize])?;
    }
    file.sync()?;
    for run in 0..RUNS {
        file.write_at(2 * run * 4096, &[9])?;
    }
    disk.slow(5)?;
    let pending = file.another()?.into_channel()?.send_sync();
    let begun = sing_sdk::time::uptime();
    let (mut served, mut longest) = (0, core::time::Duration::ZERO);
    while !pending.is_ready() {
        let asked = sing_sdk::time::uptime();
        root.attributes("f")?;
        longest = longest.max(sing_sdk::time::uptime() - asked);
        served += 1;
    }
    let took = sing_sdk::time::uptime() - begun;
    disk.slow(0)?;
    let done = matches!(pending.recv(), Reply::Done(_));
    let good = done && served > 10 && longest < took / 4;
    if !good {
        println!("filetest: long: {done}, {served} served in {took:?}, one in {longest:?}");
    }
    Ok(good)
}
