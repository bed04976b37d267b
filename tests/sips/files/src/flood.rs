//! A program that has far more requests under way than its share, at disks that do not answer, and
//! another one beside it, which notices nothing.
//!
//! They are two commands of the shell, as each has the origin that it was started with; they tell each
//! other by files how far they are.

use crate::checks::Check;
use crate::stage::{Control, Faulty, Holding, Running, Stage, appears, connected};
use core::time::Duration;
use sing_sdk::contracts::FileContract::imp::Ready_Read as Reply;
use sing_sdk::contracts::{FileContract, FileFault};
use sing_sdk::fs::{Directory, Options};
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

/// Of a request: the largest there is.
const BYTES: usize = 1 << 20;
/// Requests for each disk, if the file system gives so many channels.
const MANY: usize = 128;
/// Where the other one works, and what they tell each other.
const AT: &str = "/test/fs0";
const CONTROL: &str = "/test/ctrl0";
const FLOODED: &str = "flooded";
const DONE: &str = "done";
const PATIENCE: Duration = Duration::from_secs(20);

type Asked = FileContract::Imp<FileContract::Ready_Read>;

/// Waits for a file of this name.
fn awaited(directory: &mut Directory, name: &str) -> Result<(), Error> {
    let until = uptime() + PATIENCE;
    while let Err(error) = directory.open_file(name) {
        if error != Error::NotFound || uptime() > until {
            println!("filetest: {name}: {error}");
            return Err(error);
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A further disk with a file system, and its processes.
fn further(stage: &mut Stage, name: &str) -> Result<(Running, Faulty, Directory), Error> {
    let (disk, held) = (format!("/test/{name}"), format!("/test/{name}-held"));
    let at = format!("/test/at-{name}");
    let ram = Running::new("ramdisk", &[&disk, "4"])?;
    appears(&mut stage.names, &disk)?;
    let faulty = Faulty::new(&mut stage.names, &disk, &held, true)?;
    let made = stage.control.format(&held, name, false)?;
    let mounted = stage.control.mount(&held, &at, false)?;
    if (made, mounted) != (Ok(()), Ok(())) {
        println!("filetest: {made:?}, {mounted:?}");
        return Err(Error::BadState);
    }
    let root = Directory::open(&mut stage.names, &at)?;
    Ok((ram, faulty, root))
}

/// Reads the same file over many channels at once, while the disk holds all requests.
fn flooded(faulty: &mut Faulty, root: &mut Directory) -> Result<(Vec<Asked>, Holding), Error> {
    let mut file = root.open_with("f", Options::create())?;
    file.write_at(0, &vec![7; BYTES])?;
    file.sync()?;
    let mut channels = Vec::new();
    while channels.len() < MANY
        && let Ok(another) = file.another()
    {
        channels.push(another.into_channel()?);
    }
    let holding = faulty.hold(0)?;
    let ask = |channel: FileContract::Imp<FileContract::Ready>| {
        let block = Vector::new(BYTES)?;
        Ok(channel.send_read(0, block, 0, BYTES as u32))
    };
    let asked: Result<Vec<Asked>, Error> = channels.into_iter().map(ask).collect();
    Ok((asked?, holding))
}

/// More requests than the file system has memory for.
pub fn flood() -> Check {
    let mut stage = Stage::new(16)?;
    if (stage.at.as_str(), stage.ctrl.as_str()) != (AT, CONTROL) {
        return Err(Error::BadState);
    }
    let mut beside = stage.root()?;
    let mut first = further(&mut stage, "one")?;
    let mut second = further(&mut stage, "two")?;
    let (mut all, one) = flooded(&mut first.1, &mut first.2)?;
    let (more, two) = flooded(&mut second.1, &mut second.2)?;
    all.extend(more);
    drop(beside.open_with(FLOODED, Options::create())?);
    let ended = awaited(&mut beside, DONE);
    for holding in [one, two] {
        drop(holding.recv_held()?.send_release().recv_done()?);
    }
    let (count, mut read, mut refused, mut lost) = (all.len(), 0, 0, 0);
    for asked in all {
        match asked.recv() {
            Reply::Data(block, BYTES_READ, _) if block.len() == BYTES => read += 1,
            Reply::Refused(FileFault::NoResources, ..) => refused += 1,
            Reply::Data(..) | Reply::Refused(..) | Reply::Closed => lost += 1,
        }
    }
    println!("filetest: of {count} requests {read} done, {refused} refused, {lost} lost");
    // All have an answer, and there was more than a share.
    Ok(ended.is_ok() && lost == 0 && read > 0 && refused > 0 && count * BYTES > 160 << 20)
}

const BYTES_READ: u32 = BYTES as u32;

/// Works as ever while the other one floods the file system.
pub fn beside() -> Check {
    let mut names = connected()?;
    let until = uptime() + PATIENCE;
    let mut root = loop {
        match Directory::open(&mut names, AT) {
            Ok(root) => break root,
            Err(error) if uptime() > until => return Err(error),
            Err(_) => sleep(Duration::from_millis(5)),
        }
    };
    awaited(&mut root, FLOODED)?;
    let mut good = true;
    for value in 0..4 {
        let mut file = root.open_with("innocent", Options::create())?;
        let wanted = vec![value; 3 * BYTES];
        file.write_at(0, &wanted)?;
        file.sync()?;
        good &= file.read_to_end()? == wanted;
    }
    let mounts = Control::new(&mut names, CONTROL)?.mounts()?;
    good &= mounts.lines().count() == 3;
    drop(root.open_with(DONE, Options::create())?);
    Ok(good)
}
