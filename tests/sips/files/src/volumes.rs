//! The control worker: formatting, mounting, checking, and what it refuses.

use crate::checks::{Check, Test};
use crate::stage::{Control, Faulty, Stage, connected};
use core::time::Duration;
use sing_sdk::contracts::VolumeFault;
use sing_sdk::fs::{Directory, Options};
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

pub const ALL: &[Test] = &[
    ("what the control worker refuses", refusals),
    ("remounted", remounted),
    ("in use", in_use),
    ("several", several),
    ("a disk that does not answer", silent),
    ("shares", shares),
    ("sectors of other sizes", sectors),
];

fn refusals() -> Check {
    let mut stage = Stage::unmounted(8)?;
    let (disk, at, ctrl) = (stage.disk.clone(), stage.at.clone(), stage.ctrl.clone());
    let control = &mut stage.control;
    let before = [
        control.mount(&disk, &at, false)? == Err(VolumeFault::NotFormatted),
        control.check(&disk)? == Err(VolumeFault::NotFormatted),
        control.mount("/test/none", &at, false)? == Err(VolumeFault::NotFound),
        control.format("/test/none", "x", false)? == Err(VolumeFault::NotFound),
        // A name, but of no disk.
        control.format("/boot/notes.txt", "x", false)? == Err(VolumeFault::NotFound),
        control.format(&ctrl, "x", false)? == Err(VolumeFault::NotFound),
        control.format(&disk, &"x".repeat(64), false)? == Err(VolumeFault::BadName),
        control.format("", "x", false)? == Err(VolumeFault::NotFound),
        control.unmount(&at, false)? == Err(VolumeFault::NotFound),
        control.space(&at)? == Err(VolumeFault::NotFound),
        control.mounts()?.is_empty(),
        control.format(&disk, "one", false)? == Ok(()),
        control.format(&disk, "two", false)? == Err(VolumeFault::InUse),
        control.format(&disk, "two", true)? == Ok(()),
        control.check(&disk)? == Ok((0, String::new())),
        control.mount(&disk, "/boot", false)? == Err(VolumeFault::Held),
        control.mount(&disk, &at, false)? == Ok(()),
        control.mount(&disk, "/test/other", false)? == Err(VolumeFault::Busy),
        control.format(&disk, "x", true)? == Err(VolumeFault::Busy),
        control.check(&disk)? == Err(VolumeFault::Busy),
        control.mounts()? == format!("{at}\t{disk}\trw\ttwo\n"),
        control.unmount(&at, false)? == Ok(()),
        control.mounts()?.is_empty(),
    ];
    if let Some(wrong) = before.iter().position(|holds| !holds) {
        println!("filetest: number {wrong} does not hold");
    }
    Ok(before.iter().all(|holds| *holds))
}

/// Requests of any place and size reach a disk with larger sectors; one whose sectors are larger
/// than a block is refused.
fn sectors() -> Check {
    let mut stage = Stage::unmounted(16)?;
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    for group in ["2", "8", "16"] {
        let path = format!("{disk}-{group}");
        let options = ["--through", "--group", group];
        let _faulty = Faulty::with(&mut stage.names, &disk, &path, &options)?;
        let made = stage.control.format(&path, "large", true)?;
        if group == "16" {
            return Ok(made == Err(VolumeFault::BadSize));
        }
        if (made, stage.control.mount(&path, &at, false)?) != (Ok(()), Ok(())) {
            println!("filetest: sectors of {group}: {made:?}");
            return Ok(false);
        }
        let mut expected = vec![0; 300_000];
        let mut file = stage.root()?.open_with("f", Options::create())?;
        file.write_at(0, &expected)?;
        for (place, len) in [
            (0, 1),
            (511, 3),
            (4095, 2),
            (70_000, 9_000),
            (12_288, 131_072),
        ] {
            let data: Vec<u8> = (0..len).map(|i| (i * 7 + place) as u8).collect();
            file.write_at(place as u64, &data)?;
            expected[place..place + len].copy_from_slice(&data);
        }
        // A client's block whose place is one of a small sector and none of a large one.
        let block = Vector::from_bytes(&expected[..16 << 10])?;
        let (_, done) = file.write(4096, block, 512..512 + 8192)?;
        expected.copy_within(512..512 + 8192, 4096);
        file.sync()?;
        drop(file);
        let unmounted = stage.control.unmount(&at, false)?;
        let checked = stage.control.check(&path)?;
        let mounted = stage.control.mount(&path, &at, false)?;
        let kept = stage.root()?.open_file("f")?.read_to_end()?;
        let again = stage.control.unmount(&at, false)?;
        let all = (unmounted, mounted, again) == (Ok(()), Ok(()), Ok(()));
        if !all || checked != Ok((0, String::new())) || kept != expected || done != 8192 {
            println!("filetest: sectors of {group}: {unmounted:?} {checked:?} {mounted:?} {done}");
            return Ok(false);
        }
    }
    Ok(false)
}

fn remounted() -> Check {
    let mut stage = Stage::new(8)?;
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    stage.root()?.make_directory("d")?;
    let file = stage.root()?.open_with("d/f", Options::create());
    file?.write_at(0, b"kept")?;
    let unmounted = stage.control.unmount(&at, false)?;
    let gone = stage.root().err() == Some(Error::NotFound);
    let mounted = stage.control.mount(&disk, &at, false)?;
    let kept = stage.root()?.open_file("d/f")?.read_to_end()?;
    let (total, free, nodes) = stage.control.space(&at)?.map_err(|_| Error::BadState)?;
    let sizes = total > 7 << 20 && total <= 8 << 20 && free < total && nodes == 3;
    Ok((unmounted, mounted) == (Ok(()), Ok(())) && gone && kept == b"kept" && sizes)
}

fn in_use() -> Check {
    let mut stage = Stage::new(8)?;
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.write_at(0, b"text")?;
    let busy = stage.control.unmount(&at, false)? == Err(VolumeFault::Busy);
    let forced = stage.control.unmount(&at, true)? == Ok(());
    let closed = file.size() == Err(Error::Closed);
    let mounted = stage.control.mount(&disk, &at, false)? == Ok(());
    let kept = stage.root()?.open_file("f")?.read_to_end()? == b"text";
    Ok(busy && forced && closed && mounted && kept)
}

fn several() -> Check {
    let mut one = Stage::new(8)?;
    let other = Stage::unmounted(8)?;
    // A second client of the first's control worker, and a second disk.
    let mut second = Control::new(&mut one.names, &one.ctrl)?;
    let made = second.format(&other.disk, "second", false)?;
    let mounted = second.mount(&other.disk, "/test/second", false)?;
    let mut root = Directory::open(&mut one.names, "/test/second")?;
    root.open_with("f", Options::create())?
        .write_at(0, b"two")?;
    one.root()?
        .open_with("f", Options::create())?
        .write_at(0, b"one")?;
    let first = one.root()?.open_file("f")?.read_to_end()?;
    let same = root.open_file("f")?.read_to_end()?;
    let lines = second.mounts()?.lines().count();
    drop(root);
    let unmounted = second.unmount("/test/second", false)?;
    let good = [made, mounted, unmounted].iter().all(Result::is_ok);
    Ok(good && first == b"one" && same == b"two" && lines == 2)
}

/// A name under which nobody answers costs only those who ask for it.
fn silent() -> Check {
    let mut stage = Stage::new(8)?;
    let (at, ctrl) = (stage.at.clone(), stage.ctrl.clone());
    let mut names = connected()?;
    let silent = names.register("/test/never")?;
    let waiting = sing_sdk::thread::spawn(move || -> Result<_, Error> {
        let mut names = connected()?;
        let mut control = Control::new(&mut names, &ctrl)?;
        let begun = uptime();
        let answer = control.mount("/test/never", "/test/nowhere", false)?;
        Ok((answer, uptime() - begun))
    })?;
    sleep(Duration::from_millis(50));
    // Others are served meanwhile: the control worker's clients, and those of file systems.
    let begun = uptime();
    let space = stage.control.space(&at)?.is_ok();
    stage
        .root()?
        .open_with("f", Options::create())?
        .write_at(0, b"x")?;
    let quick = uptime() - begun < Duration::from_millis(1500);
    let (answer, took) = waiting.join()??;
    drop(silent);
    let refused = answer == Err(VolumeFault::NotFound) && took < Duration::from_secs(8);
    // A file system cannot be its own disk.
    let own = stage
        .control
        .mount(&format!("{at}/f"), "/test/nowhere", false)?;
    Ok(space && quick && refused && own == Err(VolumeFault::NotFound))
}

/// One origin does not get all of the open files; what it closes comes back.
fn shares() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    drop(root.open_with("f", Options::create())?);
    let take_all = |root: &mut Directory| -> Result<usize, Error> {
        let mut open = Vec::new();
        loop {
            match root.open_file("f") {
                Ok(file) => open.push(file),
                Err(Error::NoResources) => return Ok(open.len()),
                Err(error) => return Err(error),
            }
        }
    };
    let first = take_all(&mut root)?;
    let again = take_all(&mut root)?;
    Ok((64..=160).contains(&first) && again.abs_diff(first) <= 2)
}
