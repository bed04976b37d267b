//! Copies that go on while the file system that they are made on is ended, and are there then.

use crate::checks::{Check, Test};
use crate::stage::{Control, Faulty, Holding, Running, Stage, appears};
use core::time::Duration;
use sing_sdk::fs::{Directory, Options};
use sing_sdk::prelude::*;
use sing_sdk::process::Exit;
use sing_sdk::time::{Timeout, uptime};

pub const ALL: &[Test] = &[
    (
        "a file system that is killed at each request of a copy",
        killed,
    ),
    ("a file system that is killed after a move to it", moved),
];

/// The files of the tree that is copied: their paths and sizes.
const FILES: [(&str, usize); 6] = [
    ("a", 3),
    ("b", 70_000),
    ("empty", 0),
    ("below/c", 5_000),
    ("below/d", 4_096),
    ("e", 33_000),
];
/// The text of its link.
const LINK: &str = "below/c";
/// Requests of the disk in a copy and its sync are more than this.
const LEAST: u32 = 12;
/// And fewer than this, or the check does not end.
const MOST: u32 = 200;

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + size) as u8).collect()
}

fn make(root: &mut Directory) -> Result<(), Error> {
    root.make_directory("tree")?;
    root.make_directory("tree/below")?;
    for (path, size) in FILES {
        let mut file = root.open_with(&format!("tree/{path}"), Options::create_new())?;
        file.write_at(0, &content(size))?;
    }
    root.make_link("tree/link", LINK)
}

/// Whether the whole tree is there; says what is not.
fn whole(root: &mut Directory) -> bool {
    let differs = |path: &str, why: String| {
        println!("filetest: copy/{path}: {why}");
        false
    };
    for (path, size) in FILES {
        let read = root.open_file(&format!("copy/{path}"));
        match read.and_then(|mut file| file.read_to_end()) {
            Ok(bytes) if bytes == content(size) => {}
            Ok(bytes) => return differs(path, format!("{} bytes, not {size}", bytes.len())),
            Err(error) => return differs(path, error.to_string()),
        }
    }
    match root.read_link("copy/link") {
        Ok(text) if text == LINK => true,
        Ok(text) => differs("link", text),
        Err(error) => differs("link", error.to_string()),
    }
}

/// Waits until the copy has ended, or the disk holds a request before; whether that is so.
fn is_held(copy: &Running, held: &Holding) -> Result<bool, Error> {
    let until = uptime() + Duration::from_secs(30);
    while uptime() < until {
        if held.is_ready() {
            return Ok(true);
        }
        if copy
            .0
            .join_within(Timeout::from(Duration::from_millis(2)))?
        {
            return Ok(false);
        }
    }
    println!("filetest: the copy does not end, and asks nothing of the disk");
    Err(Error::Timeout)
}

/// Copies or moves, with a kill when the disk has had so many requests, and one when that has ended.
/// Whether it has needed more requests than that; an error if anything is wrong.
fn round(stage: &mut Stage, words: &[&str], before: u32) -> Result<bool, Error> {
    let (disk, at, ctrl) = (stage.disk.clone(), stage.at.clone(), stage.ctrl.clone());
    let path = format!("{disk}-faulty");
    let mut driver = Faulty::with(&mut stage.names, &disk, &path, &[])?;
    let mounts = |disk: &str| Running::new("files", &[&ctrl, &format!("{disk}={at}")]);
    if stage.control.format(&path, "x", true)? != Ok(()) {
        return Err(Error::BadState);
    }
    if stage.control.mount(&path, &at, false)? != Ok(()) {
        return Err(Error::BadState);
    }
    let held = driver.hold(before)?;
    let to = format!("{at}/copy");
    let copy = Running::new(words[0], &[&words[1..], &[&to]].concat())?;
    let reached = is_held(&copy, &held)?;
    if reached {
        stage.files = None;
        let holding = held.recv_held()?;
        drop(holding.call_release().done()?);
        stage.files = Some(mounts(&path)?);
    }
    let exit = copy.0.join()?;
    // What it has made is on the disk now: nothing that is in any memory is needed any more.
    stage.files = None;
    drop(driver);
    stage.files = Some(mounts(&disk)?);
    appears(&mut stage.names, &at)?;
    stage.control = Control::new(&mut stage.names, &ctrl)?;
    let good = exit == Exit::Code(0) && whole(&mut stage.root()?);
    let unmounted = stage.control.unmount(&at, false)?;
    let checked = stage.control.check(&disk)?;
    if good && unmounted == Ok(()) && checked == Ok((0, String::new())) {
        return Ok(reached);
    }
    println!("filetest: killed after {before} requests: {exit}, {unmounted:?}, {checked:?}");
    Err(Error::BadState)
}

/// Whenever the file system is killed under a copy, the copy goes on; and when it has ended with
/// status 0, another kill finds all files there, whole.
fn killed() -> Check {
    let mut source = Stage::new(8)?;
    make(&mut source.root()?)?;
    let from = format!("{}/tree", source.at);
    let mut stage = Stage::unmounted(8)?;
    let mut before = 0;
    while round(&mut stage, &["cp", "-r", &from], before)? {
        before += 1;
        if before >= MOST {
            println!("filetest: a copy takes more than {MOST} requests");
            return Ok(false);
        }
    }
    println!("filetest: a copy takes {before} requests");
    Ok(before >= LEAST)
}

/// When the original of a move to another file system is gone, a kill does not take the copy.
fn moved() -> Check {
    let mut source = Stage::new(8)?;
    make(&mut source.root()?)?;
    let from = format!("{}/tree", source.at);
    let mut stage = Stage::unmounted(8)?;
    let reached = round(&mut stage, &["mv", &from], MOST)?;
    let gone = source.root()?.attributes("tree") == Err(Error::NotFound);
    Ok(gone && !reached)
}
