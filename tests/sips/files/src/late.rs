//! Disks that answer late or never: what they do late destroys nothing that was made after it.
//!
//! The disk's driver keeps one request back and does the others. The times are short ones: the file
//! system waits [`PATIENCE`] for an answer, the driver without end or for [`SHORT`].

use crate::checks::{Check, Test};
use crate::slow::Slow;
use crate::stage::Stage;
use core::time::Duration;
use sing_sdk::contracts::DiskContract::imp::{Ready_Read as Read, Ready_Write as Answered};
use sing_sdk::contracts::{FileContract, FileFault, VolumeFault};
use sing_sdk::fs::{File, Options};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

pub const ALL: &[Test] = &[
    ("the geometry comes after earlier requests", geometry),
    ("a device that does not answer ends its driver", ends),
    ("an answer that comes late", late),
    ("new blocks of a write that was given up", blocks),
    ("a write in place that was given up", in_place),
    ("what is read beside a write that was given up", beside),
    ("a file with a write that was given up is emptied", emptied),
    ("the store's own write that was given up", own),
    ("a driver that ends while it has a request", dies),
    ("a driver that does not wait for its device", impatient),
    ("unmounted with a write under way", unmounted),
];

/// In milliseconds: the file system's, and an impatient driver's.
const PATIENCE: u32 = 600;
const SHORT: u32 = 200;
/// Bytes of a write.
const BYTES: usize = 64 << 10;
/// By then a request has an answer, and a file system works again.
const SOON: Duration = Duration::from_secs(10);

type Disk = DiskContract::Imp<DiskContract::Ready>;

/// The bytes of a sector.
fn read(disk: Disk, sector: u64) -> Result<Vec<u8>, Error> {
    match disk.call_read(sector, Vector::new(512)?, 0, 512) {
        Read::Data(block, _) => Ok(block.to_vec()),
        Read::Failed(..) | Read::Closed => Err(Error::BadState),
    }
}

fn bind(names: &mut Names, path: &str) -> Result<Disk, Error> {
    let (imp, exp) = DiskContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?)
}

/// A disk is asked for its geometry while a client that has gone has a write under way, and tells it
/// when that has ended; others are served meanwhile.
fn geometry() -> Check {
    let mut stage = Stage::unmounted(8)?;
    let path = format!("{}-slow", stage.disk);
    let mut slow = Slow::new(&mut stage.names, &stage.disk, &path, None)?;
    let first = bind(&mut stage.names, &path)?;
    let second = bind(&mut stage.names, &path)?;
    let third = bind(&mut stage.names, &path)?;
    slow.keep(true, 0)?;
    drop(first.send_write(8, Vector::from_bytes(&[7; 512])?, 0, 512));
    slow.kept()?;
    let asked = second.send_get_geometry();
    read(third, 0)?;
    sleep(Duration::from_millis(200));
    let early = asked.is_ready();
    slow.release()?;
    let (.., second) = asked.recv_geometry()?;
    let written = read(second, 8)? == [7; 512];
    if early || !written {
        println!("filetest: geometry: early {early}, written {written}");
    }
    Ok(!early && written)
}

/// The driver ends, and its clients' channels close: also while others ask all the time.
fn ends() -> Check {
    let mut stage = Stage::unmounted(8)?;
    let path = format!("{}-slow", stage.disk);
    let mut slow = Slow::new(&mut stage.names, &stage.disk, &path, Some(SHORT))?;
    let first = bind(&mut stage.names, &path)?;
    let mut second = Some(bind(&mut stage.names, &path)?);
    slow.keep(false, 0)?;
    let read = first.send_read(0, Vector::new(512)?, 0, 512);
    let begun = uptime();
    while let Some(disk) = second.take()
        && uptime() < begun + SOON
    {
        second = match disk.call_write(8, Vector::new(512)?, 0, 512) {
            Answered::Written(_, next) => Some(next),
            Answered::Failed(..) | Answered::Closed => None,
        };
    }
    let took = uptime() - begun;
    let closed = matches!(read.recv(), Read::Closed);
    slow.running.0.join()?;
    let good = closed && took >= Duration::from_millis(SHORT.into()) && took < SOON / 2;
    if !good {
        println!("filetest: ends: closed {closed}, after {took:?}");
    }
    Ok(good)
}

/// A file system on a slow disk, whose driver waits so long.
fn slow(mib: u32, patience: Option<u32>, own: u32) -> Result<(Stage, Slow), Error> {
    let own = own.to_string();
    let mut stage = Stage::with(mib, &["--patience", &own])?;
    let path = format!("{}-slow", stage.disk);
    let slow = Slow::new(&mut stage.names, &stage.disk, &path, patience)?;
    let at = stage.at.clone();
    let made = stage.control.format(&path, "slow", false)?;
    let mounted = stage.control.mount(&path, &at, false)?;
    match (made, mounted) {
        (Ok(()), Ok(())) => Ok((stage, slow)),
        _ => Err(Error::BadState),
    }
}

type Writing = FileContract::Imp<FileContract::Ready_Write>;

/// Begins a write of a whole file, which the disk keeps back.
fn begin(slow: &mut Slow, file: &mut File, value: u8) -> Result<Writing, Error> {
    let channel = file.another()?.into_channel()?;
    slow.keep(true, 0)?;
    let block = Vector::from_bytes(&vec![value; BYTES])?;
    let writing = channel.send_write(0, block, 0, BYTES as u32);
    slow.kept()?;
    Ok(writing)
}

/// Waits for the answer, and whether the write is done.
fn answer(writing: Writing) -> Result<bool, Error> {
    use FileContract::imp::Ready_Write as Reply;
    let until = uptime() + SOON;
    while !writing.is_ready() {
        if uptime() > until {
            println!("filetest: a write has no answer");
            return Err(Error::Timeout);
        }
        sleep(Duration::from_millis(5));
    }
    match writing.recv() {
        Reply::Written(mut block, count, _) => {
            // It is the client's again.
            block.set(0, 0);
            Ok(count as usize == BYTES)
        }
        Reply::Refused(FileFault::Medium, mut block, _) => {
            block.set(0, 0);
            Ok(false)
        }
        Reply::Refused(..) | Reply::Closed => Err(Error::BadState),
    }
}

/// Writes a file of this name and syncs it.
fn make(stage: &mut Stage, name: &str, value: u8) -> Result<(), Error> {
    let mut file = stage.root()?.open_with(name, Options::create())?;
    file.write_at(0, &vec![value; BYTES])?;
    file.sync()
}

/// The same, as soon as the file system works again.
fn made_soon(stage: &mut Stage, name: &str, value: u8) -> Result<(), Error> {
    let until = uptime() + SOON;
    loop {
        match make(stage, name, value) {
            Err(Error::File(FileFault::Medium)) if uptime() < until => {
                sleep(Duration::from_millis(20));
            }
            outcome => return outcome,
        }
    }
}

/// Mounts the disk again: whether each of these files is as it should be, and the disk without faults.
fn stands(stage: &mut Stage, slow: &Slow, files: &[(String, u8)]) -> Check {
    let at = stage.at.clone();
    let unmounted = stage.control.unmount(&at, false)?;
    let checked = stage.control.check(&slow.path)?;
    let mounted = stage.control.mount(&slow.path, &at, false)?;
    let mut good = (unmounted, mounted) == (Ok(()), Ok(())) && checked == Ok((0, String::new()));
    if !good {
        println!("filetest: {unmounted:?}, {checked:?}, {mounted:?}");
    }
    for (name, value) in files {
        let bytes = stage.root()?.open_file(name)?.read_to_end()?;
        if bytes.len() != BYTES || bytes.iter().any(|b| b != value) {
            println!("filetest: {name} is not all {value}");
            good = false;
        }
    }
    Ok(good)
}

/// A disk that takes its time is waited for.
fn late() -> Check {
    let (mut stage, mut slow) = slow(8, None, 30_000)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.sync()?;
    let writing = begin(&mut slow, &mut file, 1)?;
    // Longer than the look for late answers.
    sleep(Duration::from_millis(1500));
    make(&mut stage, "g", 2)?;
    slow.release()?;
    let written = answer(writing)?;
    drop(file);
    Ok(written && stands(&mut stage, &slow, &[("f".into(), 1), ("g".into(), 2)])?)
}

/// The file is removed and others take all the room, as far as the file system lets them.
fn blocks() -> Check {
    let (mut stage, mut slow) = slow(4, None, PATIENCE)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    root.sync()?;
    let writing = begin(&mut slow, &mut file, 1)?;
    let written = answer(writing)?;
    drop(file);
    let _ = root.remove("f");
    let _ = root.sync();
    let mut synced = Vec::new();
    for number in 0..100 {
        let name = format!("g{number}");
        match make(&mut stage, &name, 2) {
            Ok(()) => synced.push((name, 2)),
            Err(_) => break,
        }
    }
    let before = synced.len();
    slow.release()?;
    // It works again, and has room.
    let _ = root.remove("f");
    if let Some((name, _)) = synced.pop() {
        root.remove(&name)?;
        root.sync()?;
    }
    made_soon(&mut stage, "h", 3)?;
    synced.push(("h".into(), 3));
    drop(root);
    let stands = stands(&mut stage, &slow, &synced)?;
    println!("filetest: given up: written {written}, {before} made while the write was out");
    Ok(stands)
}

/// What is written over it later stays.
fn in_place() -> Check {
    let (mut stage, mut slow) = slow(8, None, PATIENCE)?;
    make(&mut stage, "f", 1)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let writing = begin(&mut slow, &mut file, 2)?;
    answer(writing)?;
    drop(file);
    let begun = uptime();
    let mut synced = false;
    while !synced && uptime() < begun + Duration::from_secs(2) {
        synced = make(&mut stage, "f", 3).is_ok();
    }
    slow.release()?;
    if !synced {
        made_soon(&mut stage, "f", 3)?;
    }
    stands(&mut stage, &slow, &[("f".into(), 3)])
}

/// What a reader got before a write that was given up came late is not kept for the next one.
fn beside() -> Check {
    let (mut stage, mut slow) = slow(8, None, PATIENCE)?;
    make(&mut stage, "f", 1)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let writing = begin(&mut slow, &mut file, 2)?;
    let read = |stage: &mut Stage| {
        let mut bytes = [0; 100];
        let mut file = stage.root()?.open_file("f")?;
        // Not a whole block: kept at the first time.
        file.read_at(10, &mut bytes)?;
        Ok::<u8, Error>(bytes[0])
    };
    let before = read(&mut stage)?;
    let written = answer(writing)?;
    drop(file);
    slow.release()?;
    made_soon(&mut stage, "g", 3)?;
    let after = read(&mut stage)?;
    let stands = stands(&mut stage, &slow, &[("f".into(), 2), ("g".into(), 3)])?;
    if (before, written, after) != (1, false, 2) {
        println!("filetest: beside: {before}, written {written}, then {after}");
        return Ok(false);
    }
    Ok(stands)
}

/// As soon as the disk answers, though nobody else needs it for data.
fn emptied() -> Check {
    let (mut stage, mut slow) = slow(8, None, PATIENCE)?;
    make(&mut stage, "f", 1)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let writing = begin(&mut slow, &mut file, 2)?;
    let written = answer(writing)?;
    drop(file);
    let empty = |stage: &mut Stage| {
        let mut root = stage.root()?;
        root.open_with("f", Options::create().truncate())
    };
    let early = empty(&mut stage).map(drop);
    slow.release()?;
    let until = uptime() + SOON;
    let mut file = loop {
        match empty(&mut stage) {
            Err(Error::File(FileFault::Medium | FileFault::Busy)) if uptime() < until => {
                sleep(Duration::from_millis(20));
            }
            outcome => break outcome?,
        }
    };
    let size = file.size()?;
    drop(file);
    make(&mut stage, "f", 3)?;
    let busy = Err(Error::File(FileFault::Busy));
    if written || early != busy || size != 0 {
        println!("filetest: emptied: written {written}, early {early:?}, {size} bytes");
        return Ok(false);
    }
    stands(&mut stage, &slow, &[("f".into(), 3)])
}

/// A sync is not answered in time, fails, and is made again when the disk answers.
fn own() -> Check {
    let (mut stage, mut slow) = slow(8, None, PATIENCE)?;
    make(&mut stage, "f", 1)?;
    let mut root = stage.root()?;
    root.rename("f", "g")?;
    slow.keep(true, 0)?;
    let begun = uptime();
    let failed = root.sync();
    let took = uptime() - begun;
    slow.kept()?;
    // Others are told soon, too.
    let begun = uptime();
    let again = root.sync();
    let next = uptime() - begun;
    slow.release()?;
    made_soon(&mut stage, "h", 2)?;
    root.sync()?;
    drop(root);
    let medium = Err(Error::File(FileFault::Medium));
    let quick = took < SOON / 2 && next < Duration::from_millis(500);
    let good = failed == medium && again == medium && quick;
    if !good {
        println!("filetest: own: {failed:?} after {took:?}, {again:?} after {next:?}");
    }
    Ok(good && stands(&mut stage, &slow, &[("g".into(), 1), ("h".into(), 2)])?)
}

/// Before it is given up, and after that: the file system goes on with the next driver.
fn dies() -> Check {
    for given_up in [false, true] {
        let (mut stage, mut driver) = slow(8, None, PATIENCE)?;
        make(&mut stage, "e", 9)?;
        let mut file = stage.root()?.open_with("f", Options::create())?;
        file.sync()?;
        let mut writing = Some(begin(&mut driver, &mut file, 1)?);
        let mut written = None;
        if given_up {
            written = writing.take().map(answer).transpose()?;
        }
        let path = driver.path.clone();
        drop(driver);
        let driver = Slow::new(&mut stage.names, &stage.disk, &path, None)?;
        if let Some(writing) = writing {
            written = Some(answer(writing)?);
        }
        drop(file);
        if written != Some(!given_up) {
            println!("filetest: dies: given up {given_up}, written {written:?}");
            return Ok(false);
        }
        made_soon(&mut stage, "g", 2)?;
        let mut files = vec![("e".into(), 9), ("g".into(), 2)];
        if !given_up {
            files.push(("f".into(), 1));
        }
        if !stands(&mut stage, &driver, &files)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A driver that ends because its device does not answer: the request is made of its successor.
fn impatient() -> Check {
    let (mut stage, mut driver) = slow(8, Some(SHORT), 10 * PATIENCE)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.sync()?;
    let writing = begin(&mut driver, &mut file, 1)?;
    driver.running.0.join()?;
    let path = driver.path.clone();
    drop(driver);
    let driver = Slow::new(&mut stage.names, &stage.disk, &path, Some(SHORT))?;
    let written = answer(writing)?;
    drop(file);
    Ok(written && stands(&mut stage, &driver, &[("f".into(), 1)])?)
}

/// Who unmounts is told that a write may still come.
fn unmounted() -> Check {
    let (mut stage, mut slow) = slow(8, None, PATIENCE)?;
    make(&mut stage, "e", 9)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.sync()?;
    let at = stage.at.clone();
    let writing = begin(&mut slow, &mut file, 1)?;
    let answered = stage.control.unmount(&at, true)?;
    let closed = answer(writing).is_err();
    slow.release()?;
    let mounted = stage.control.mount(&slow.path, &at, false)?;
    drop(file);
    let good = answered == Err(VolumeFault::Medium) && closed && mounted == Ok(());
    if !good {
        println!("filetest: unmounted: {answered:?}, closed {closed}, {mounted:?}");
    }
    Ok(good && stands(&mut stage, &slow, &[("e".into(), 9)])?)
}
