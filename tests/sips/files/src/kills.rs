//! Clients, drivers and the file system itself, ended at random.

use crate::checks::{Check, Test};
use crate::model::Draw;
use crate::stage::{Control, Faulty, Running, Stage, appears, connected};
use core::time::Duration;
use sing_sdk::fs::{Directory, Options, Reader};
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

pub const ALL: &[Test] = &[
    ("clients that are killed", clients),
    ("a driver that is killed", driver),
    ("a reader whose file system is killed", reader),
    ("the power fails", power),
    ("cuts of the power, with large sectors", large_sectors),
];

/// Does this and that in a directory until it is killed.
pub fn storm(at: &str) -> i32 {
    let mut draw = Draw(sing_sdk::time::cycle_count());
    let mut go = || -> Result<(), Error> {
        let mut names = connected()?;
        let mut root = Directory::open(&mut names, at)?;
        let mut open = Vec::new();
        loop {
            let name = format!("f{}", draw.below(8));
            let mut file = root.open_with(&name, Options::create())?;
            match draw.below(5) {
                0 => file.write_at(draw.below(100_000), &vec![1; draw.below(50_000) as usize])?,
                1 => file.append(&[2; 700])?,
                2 => drop(file.read_to_end()?),
                3 => file.set_size(draw.below(60_000))?,
                _ => {
                    let _ = root.remove(&name);
                    open.push(file);
                    if open.len() > 10 {
                        open.clear();
                    }
                }
            }
        }
    };
    match go() {
        Ok(()) => 0,
        Err(error) => {
            println!("filetest: storm: {error}");
            1
        }
    }
}

fn clients() -> Check {
    let mut stage = Stage::new(32)?;
    let mut draw = Draw(sing_sdk::time::cycle_count());
    for round in 0..12 {
        let directory = format!("d{}", round % 3);
        let _ = stage.root()?.make_directory(&directory);
        let at = format!("{}/{directory}", stage.at);
        let pair = [
            Running::new("filetest", &["storm", &at])?,
            Running::new("filetest", &["storm", &at])?,
        ];
        sleep(Duration::from_millis(20 + draw.below(60)));
        drop(pair);
    }
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let until = uptime() + Duration::from_secs(5);
    // Nothing that they had open stays open.
    let unmounted = loop {
        let outcome = stage.control.unmount(&at, false)?;
        if outcome.is_ok() || uptime() > until {
            break outcome;
        }
        sleep(Duration::from_millis(10));
    };
    let checked = stage.control.check(&disk)?;
    if unmounted != Ok(()) || checked != Ok((0, String::new())) {
        println!("filetest: {unmounted:?} {checked:?}");
        return Ok(false);
    }
    Ok(true)
}

fn driver() -> Check {
    let mut stage = Stage::unmounted(32)?;
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let path = format!("{disk}-faulty");
    let mut driver = Some(Faulty::new(&mut stage.names, &disk, &path, true)?);
    let made = stage.control.format(&path, "x", false)? == Ok(());
    let mounted = stage.control.mount(&path, &at, false)? == Ok(());
    let killer = sing_sdk::thread::spawn({
        let (disk, path) = (disk.clone(), path.clone());
        let mut names = connected()?;
        let first = driver.take();
        move || -> Result<(), Error> {
            let mut draw = Draw(sing_sdk::time::cycle_count());
            let mut now = first;
            for _ in 0..15 {
                sleep(Duration::from_millis(10 + draw.below(50)));
                drop(now.take());
                sleep(Duration::from_millis(draw.below(50)));
                now = Some(Faulty::new(&mut names, &disk, &path, true)?);
            }
            // Until the check has ended.
            core::mem::forget(now);
            Ok(())
        }
    })?;
    // Meanwhile no request fails, and nothing is lost.
    let mut draw = Draw(9);
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    let mut want = vec![0; 400_000];
    file.set_size(400_000)?;
    let until = uptime() + Duration::from_millis(1500);
    let mut rounds = 0;
    while uptime() < until {
        let (at, len) = (draw.below(300_000) as usize, draw.below(100_000) as usize);
        let fill = vec![draw.next() as u8; len];
        file.write_at(at as u64, &fill)?;
        want[at..at + len].copy_from_slice(&fill);
        if rounds % 4 == 0 && file.read_to_end()? != want {
            println!("filetest: round {rounds} reads something else");
            return Ok(false);
        }
        if rounds % 16 == 0 {
            root.sync()?;
        }
        rounds += 1;
    }
    killer.join()??;
    let kept = file.read_to_end()? == want;
    drop((file, root));
    let unmounted = stage.control.unmount(&at, false)? == Ok(());
    let checked = stage.control.check(&path)?;
    let good = [
        made,
        mounted,
        rounds > 10,
        kept,
        unmounted,
        checked == Ok((0, String::new())),
    ];
    if !good.iter().all(|g| *g) {
        println!("filetest: {good:?}, {rounds}, {checked:?}");
    }
    Ok(good.iter().all(|g| *g))
}

/// What becomes of a file while its reader has no file system.
type Meanwhile = fn(&mut Directory) -> Result<(), Error>;

/// Whether a reader goes on then.
const MEANWHILE: [(bool, Meanwhile); 5] = [
    (true, |_| Ok(())),
    (true, |root| root.link("f", "also")),
    (false, |root| {
        root.open_with("f", Options::write())?.write_at(4096, &[0])
    }),
    (false, |root| {
        root.remove("f")?;
        let made = root.open_with("f", Options::create());
        made?.write_at(0, &vec![7; READ])
    }),
    (false, |root| root.remove("f")),
];

/// Bytes of a file that is read.
const READ: usize = 300_000;

/// It goes on if the file is as it was, and never with another content.
fn reader() -> Check {
    for (number, (goes_on, meanwhile)) in MEANWHILE.into_iter().enumerate() {
        let mut stage = Stage::new(8)?;
        let (disk, at, ctrl) = (stage.disk.clone(), stage.at.clone(), stage.ctrl.clone());
        let bytes: Vec<u8> = (0..READ).map(|at| (at / 7) as u8).collect();
        let mut file = stage.root()?.open_with("f", Options::create())?;
        file.write_at(0, &bytes)?;
        file.sync()?;
        drop(file);
        let mut reader = Reader::open(&mut stage.names, &format!("{at}/f"))?;
        let mut read = Vec::new();
        let mut outcome = Ok(());
        while read.len() < READ {
            // In the middle, and again.
            if [0, 100_000, 200_000].contains(&read.len()) {
                stage.files = None;
                stage.files = Some(Running::new("files", &[&ctrl])?);
                appears(&mut stage.names, &ctrl)?;
                stage.control = Control::new(&mut stage.names, &ctrl)?;
                let mounted = stage.control.mount(&disk, &at, false)?;
                mounted.map_err(|_| Error::BadState)?;
                if read.len() == 100_000 {
                    let mut root = stage.root()?;
                    meanwhile(&mut root)?;
                    root.sync()?;
                }
            }
            match reader.read_block(&mut stage.names, read.len() as u64, 50_000) {
                Ok(Some(block)) => read.extend(block.to_vec()),
                other => {
                    outcome = other.map(drop);
                    break;
                }
            }
        }
        let whole = outcome == Ok(()) && read == bytes;
        let ended = outcome == Err(Error::Closed) && read == bytes[..100_000];
        if whole != goes_on || ended == goes_on {
            println!(
                "filetest: reader {number}: {outcome:?} after {}",
                read.len()
            );
            return Ok(false);
        }
    }
    Ok(true)
}

/// The bytes of the file of this number.
fn content(number: u64) -> Vec<u8> {
    let mut draw = Draw(number);
    let len = draw.below(60_000) as usize;
    (0..len).map(|at| (at as u64 * 7 + number) as u8).collect()
}

/// Makes one more file, and syncs now and then, until the power fails.
fn cut(
    root: &mut Directory,
    draw: &mut Draw,
    made: &mut u64,
    synced: &mut u64,
) -> Result<(), Error> {
    let mut file = root.open_with(&format!("f{made}"), Options::create_new())?;
    *made += 1;
    file.write_at(0, &content(*made - 1))?;
    // So that there are not too many.
    sleep(Duration::from_millis(1));
    match draw.below(12) {
        0 => file.sync()?,
        1 => root.sync()?,
        _ => return Ok(()),
    }
    *synced = *made;
    Ok(())
}

fn power() -> Check {
    cuts(&[])
}

/// With sectors of a block each: the store's own requests are smaller.
fn large_sectors() -> Check {
    cuts(&["--group", "8"])
}

fn cuts(options: &[&str]) -> Check {
    let mut stage = Stage::unmounted(64)?;
    let (disk, at, ctrl) = (stage.disk.clone(), stage.at.clone(), stage.ctrl.clone());
    let path = format!("{disk}-faulty");
    let mut draw = Draw(sing_sdk::time::cycle_count());
    let mut driver = Faulty::with(&mut stage.names, &disk, &path, options)?;
    if stage.control.format(&path, "x", false)? != Ok(()) {
        return Ok(false);
    }
    // Files up to this number have been synced.
    let (mut synced, mut made, mut lost) = (0, 0, 0);
    for round in 0..20 {
        let mounted = stage.control.mount(&path, &at, false)?;
        if mounted != Ok(()) {
            println!("filetest: round {round}: {mounted:?}");
            return Ok(false);
        }
        let mut root = stage.root()?;
        for number in 0..synced {
            let bytes = root.open_file(&format!("f{number}"))?.read_to_end()?;
            if bytes != content(number) {
                println!("filetest: round {round}: file {number} of {synced} differs");
                return Ok(false);
            }
        }
        // What is behind may be there or not, and in part; it is made anew.
        for number in synced..made {
            let _ = root.remove(&format!("f{number}"));
        }
        made = synced;
        // In the midst of whatever is going on; now and then when a commit by itself is due.
        let (wait, seed) = (
            draw.below(if round % 5 == 0 { 1200 } else { 80 }),
            draw.next(),
        );
        let cutter = sing_sdk::thread::spawn(move || {
            sleep(Duration::from_millis(wait));
            driver.cut(seed).map(|()| driver)
        })?;
        while cut(&mut root, &mut draw, &mut made, &mut synced).is_ok() {}
        driver = cutter.join()??;
        lost += made - synced;
        // The machine stops: the file system too.
        drop(root);
        stage.files = None;
        drop(driver);
        driver = Faulty::with(&mut stage.names, &disk, &path, options)?;
        stage.files = Some(Running::new("files", &[&ctrl])?);
        appears(&mut stage.names, &ctrl)?;
        stage.control = Control::new(&mut stage.names, &ctrl)?;
        let checked = stage.control.check(&path)?;
        if checked != Ok((0, String::new())) {
            println!("filetest: round {round}: {checked:?}");
            return Ok(false);
        }
    }
    println!("filetest: {synced} files synced, {lost} not");
    Ok(synced > 20 && lost > 0)
}
