//! What the contracts promise, one thing after the other.

use crate::checks::{Check, Test};
use crate::stage::Stage;
use sing_sdk::contracts::{FileContract, FileFault, FileKind};
use sing_sdk::fs::{Directory, Entry, File, KEEP, Options};
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("a first file", first),
    ("bytes at any place", places),
    ("blocks move whole", blocks),
    ("parts of blocks", parts),
    ("holes and sizes", holes),
    ("appends", appends),
    ("a file without a name", unlinked),
    ("times", times),
    ("many requests under way", parallel),
    ("boot files in the same way", boot),
];

pub fn fault<T>(result: Result<T, Error>) -> Option<FileFault> {
    match result {
        Err(Error::File(fault)) => Some(fault),
        Err(Error::NotFound) => Some(FileFault::NotFound),
        Err(Error::NoResources) => Some(FileFault::NoResources),
        _ => None,
    }
}

/// All that must hold, with the number of the first that does not.
pub fn all(holds: &[bool]) -> Check {
    if let Some(wrong) = holds.iter().position(|h| !h) {
        println!("filetest: number {wrong} of {} does not hold", holds.len());
    }
    Ok(holds.iter().all(|h| *h))
}

fn first() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("hello.txt", Options::create())?;
    file.write_at(0, b"Hello, disk.")?;
    let known = file.attributes()?;
    let by_path =
        File::open(&mut stage.names, &format!("{}/hello.txt", stage.at))?.read_to_end()?;
    let listed: Vec<Entry> = root.list().collect::<Result<_, _>>()?;
    file.sync()?;
    let found = stage.names.list(&stage.at)?;
    all(&[
        file.read_to_end()? == b"Hello, disk.",
        by_path == b"Hello, disk.",
        (known.bytes, known.links, known.kind) == (12, 1, FileKind::File),
        known.created > 1 << 60 && known.modified >= known.created,
        listed.len() == 1 && listed[0].name == "hello.txt" && listed[0].id == known.id,
        found.len() == 1 && found[0].name() == "hello.txt",
    ])
}

/// Bytes that tell their place.
pub fn pattern(from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64)
        .map(|at| (at * 31 + (at >> 8) * 7 + (at >> 16)) as u8)
        .collect()
}

fn places() -> Check {
    let mut stage = Stage::new(8)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let mut want = vec![0; 300_000];
    for (at, len) in [
        (0, 5000),
        (4095, 2),
        (8192, 65536),
        (100_001, 70_003),
        (12_287, 1),
        (299_999, 1),
    ] {
        let bytes = pattern(at as u64 + 1, len);
        file.write_at(at as u64, &bytes)?;
        want[at..at + len].copy_from_slice(&bytes);
    }
    let mut middle = vec![0; 9001];
    let count = file.read_at(4090, &mut middle)?;
    let mut end = vec![1; 100];
    let short = file.read_at(299_950, &mut end)?;
    all(&[
        file.read_to_end()? == want,
        count == 9001 && middle[..] == want[4090..4090 + 9001],
        short == 50 && end[..50] == want[299_950..],
        file.read_at(300_000, &mut end)? == 0,
        file.read_at(u64::MAX, &mut end)? == 0,
        file.size()? == 300_000,
    ])
}

fn blocks() -> Check {
    let mut stage = Stage::new(8)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let limits = file.limits()?;
    let bytes = pattern(0, 1 << 20);
    let (back, count) = file.write(0, Vector::from_bytes(&bytes)?, 0..1 << 20)?;
    // The writer gets its own block back, and can write into it.
    let mut back = back.into_block();
    let same = back.prefix(1 << 20) == bytes;
    back.write(0, b"mine");
    let (read, all_read) = file.read(0, Vector::new(1 << 20)?)?;
    let too_large = Vector::new((1 << 20) + 4096)?;
    let (large, refused) = (too_large.len(), fault(file.read(0, too_large)));
    // A block with another view cannot be filled; its bytes can be written.
    let mut shared = Block::from_bytes(&bytes[..8192])?;
    let view = shared.share(0..8192)?;
    let unfilled = fault(file.read(0, Vector::from_block(view)));
    let view = shared.share(0..4096)?;
    let (_, written) = file.write(4096, Vector::from_block(view), 0..4096)?;
    let mut moved = vec![0; 4096];
    file.read_at(4096, &mut moved)?;
    all(&[
        limits.block == 4096 && limits.most == 1 << 20,
        count == 1 << 20 && same,
        all_read == 1 << 20 && read.to_vec() == bytes,
        large > limits.most && refused == Some(FileFault::BadRequest),
        unfilled == Some(FileFault::BadRequest),
        written == 4096 && moved[..] == bytes[..4096],
    ])
}

fn parts() -> Check {
    let mut stage = Stage::new(8)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let bytes = pattern(7, 40_000);
    file.write_at(0, &bytes)?;
    let mut holds = Vec::new();
    for (offset, start, count) in [
        (0, 0, 4096),
        (4096, 512, 8192),
        (0, 100, 5000),
        (1, 1, 10_000),
        (39_000, 3, 2000),
        (4000, 416, 20_000),
        (36_864, 0, 4096),
        (39_999, 30_000, 0),
    ] {
        let (block, got) = file.read_part(offset, Vector::new(32_768)?, start..start + count)?;
        let expected = count.min(40_000 - offset as usize);
        let block = block.to_vec();
        let from = offset as usize;
        holds.push(got == expected && block[start..start + got] == bytes[from..from + got]);
        // Nothing is written before the part, or behind it.
        holds.push(
            block[..start]
                .iter()
                .chain(&block[start + count..])
                .all(|b| *b == 0),
        );
    }
    let outside = file.read_part(0, Vector::new(10)?, 5..11).err();
    holds.push(outside == Some(Error::BadArgument));
    all(&holds)
}

fn holes() -> Check {
    let mut stage = Stage::new(8)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    file.write_at(0, &[1; 6000])?;
    file.set_size(3000)?;
    file.write_at(20_000, &[2; 10])?;
    let mut want = vec![0; 20_010];
    want[..3000].fill(1);
    want[20_000..].fill(2);
    let gap = file.read_to_end()? == want;
    file.set_size(25_000)?;
    want.resize(25_000, 0);
    let grown = file.read_to_end()? == want;
    // Bytes that were cut off do not come back.
    file.set_size(20_005)?;
    file.set_size(25_000)?;
    want[20_005..].fill(0);
    let cut = file.read_to_end()? == want;
    file.set_size(1 << 40)?;
    let large = file.attributes()?;
    let too_large = fault(file.set_size(1 << 60));
    let beyond = fault(file.write_at(1 << 50, b"x"));
    file.set_size(0)?;
    all(&[
        gap,
        grown,
        cut,
        large.bytes == 1 << 40 && large.allocated < 1 << 16,
        too_large == Some(FileFault::TooLarge),
        beyond == Some(FileFault::TooLarge),
        file.read_to_end()?.is_empty(),
    ])
}

fn appends() -> Check {
    let mut stage = Stage::new(8)?;
    let mut one = stage.root()?.open_with("log", Options::create())?;
    let mut two = one.another()?;
    for _ in 0..50 {
        one.append(&[1; 100])?;
        two.append(&[2; 333])?;
    }
    let (_, count, at) = two.append_block(Vector::from_bytes(&[3; 9])?, 4..9)?;
    let bytes = one.read_to_end()?;
    let of = |n| bytes.iter().filter(|b| **b == n).count();
    all(&[
        bytes.len() == 50 * 433 + 5,
        (of(1), of(2), of(3)) == (5000, 16_650, 5),
        (count, at) == (5, 50 * 433),
    ])
}

fn unlinked() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.sync()?;
    let at = stage.at.clone();
    let free = |stage: &mut Stage| {
        let space = stage.control.space(&at)?;
        space
            .map(|(_, free, nodes)| (free, nodes))
            .map_err(|_| Error::BadState)
    };
    let (mut holds, mut left) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let mut file = root.open_with("f", Options::create())?;
        file.write_at(0, &pattern(0, 1 << 20))?;
        root.remove("f")?;
        holds.push(file.attributes()?.links == 0 && fault(root.attributes("f")).is_some());
        file.write_at(1 << 20, b"more")?;
        holds.push(file.read_to_end()?.len() == (1 << 20) + 4);
        drop(file);
        // Its place comes back, in steps and with commits.
        for _ in 0..20 {
            root.sync()?;
            sing_sdk::time::sleep(core::time::Duration::from_millis(2));
        }
        left.push(free(&mut stage)?);
    }
    // Metadata takes what it needs, once.
    holds.push(left[4].0 + (256 << 10) >= left[1].0 && left.iter().all(|(_, nodes)| *nodes == 1));
    if !holds[10] {
        println!("filetest: free and nodes: {left:?}");
    }
    all(&holds)
}

fn times() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut file = root.open_with("f", Options::create())?;
    file.set_times(1_000, 2_000)?;
    let set = file.attributes()?;
    root.set_times("f", KEEP, 3_000)?;
    let again = file.attributes()?;
    file.write_at(0, b"x")?;
    let written = file.attributes()?;
    all(&[
        (set.accessed, set.modified) == (1_000, 2_000) && set.changed > 1 << 60,
        (again.accessed, again.modified) == (1_000, 3_000),
        written.modified > 1 << 60 && written.accessed == 1_000,
    ])
}

fn parallel() -> Check {
    let mut stage = Stage::new(16)?;
    let mut file = stage.root()?.open_with("f", Options::create())?;
    let mut channels = Vec::new();
    for _ in 0..15 {
        channels.push(file.another()?.into_channel()?);
    }
    // Each writes at its own place; their answers come in any order.
    let (mut asked, mut at) = (EndpointSet::new()?, 0);
    for (n, channel) in channels.into_iter().enumerate() {
        let len = 10_000 + 1_000 * n;
        let data = Vector::from_bytes(&pattern(at, len))?;
        asked.insert(channel.send_write(at, data, 0, len as u32))?;
        at += len as u64;
    }
    let mut idle = Vec::new();
    while idle.len() < 15 {
        switch_receive! {
            case asked[key].Written(_block, _count) as file => {
                asked.release(key, &file);
                idle.push(file);
            }
            case asked[_].Refused(_fault, _block) as _file => return Ok(false),
            case asked[_].ChannelClosed() => return Ok(false),
        }
    }
    let whole = file.read_to_end()? == pattern(0, at as usize);
    // A request that is withdrawn leaves the file to others.
    let channel: FileContract::Imp<_> = idle.pop().ok_or(Error::NotFound)?;
    drop(channel.send_write(0, Vector::from_bytes(&[9; 8192])?, 0, 8192));
    file.write_at(0, &[7; 4096])?;
    let mut start = [0; 4096];
    file.read_at(0, &mut start)?;
    drop(idle);
    let mut space = Err(sing_sdk::contracts::VolumeFault::Busy);
    drop(file);
    let at = stage.at.clone();
    for _ in 0..100 {
        space = stage.control.unmount(&at, false)?;
        if space.is_ok() {
            break;
        }
        sing_sdk::time::sleep(core::time::Duration::from_millis(5));
    }
    all(&[
        whole,
        start == [7; 4096] || start == [9; 4096],
        space == Ok(()),
    ])
}

fn boot() -> Check {
    let mut names = crate::stage::connected()?;
    let mut boot = Directory::open(&mut names, "/boot")?;
    let entries: Vec<Entry> = boot.list().collect::<Result<_, _>>()?;
    let no = Some(FileFault::ReadOnly);
    let mut notes = boot.open_file("notes.txt")?;
    let bytes = notes.read_to_end()?;
    let mut part = vec![0; 10];
    notes.read_at(5, &mut part)?;
    let (mid, count) = notes.read_part(3, Vector::new(20)?, 10..20)?;
    all(&[
        entries
            .iter()
            .any(|e| e.name == "notes.txt" && e.kind == FileKind::File),
        boot.attributes("notes.txt")?.bytes == bytes.len() as u64,
        part[..] == bytes[5..15],
        count == 10 && mid.to_vec()[10..] == bytes[3..13],
        fault(notes.write_at(0, b"x")) == no,
        fault(boot.open_with("new", Options::create())) == no,
        fault(boot.open_with("notes.txt", Options::create_new())) == Some(FileFault::Exists),
        fault(boot.remove("notes.txt")) == no,
        fault(boot.make_directory("x")) == no,
        fault(boot.open_file("../fs")) == Some(FileFault::Outside),
        fault(boot.open_file("notes.txt/x")) == Some(FileFault::NotDirectory),
        fault(File::open(&mut names, "/boot/none")) == Some(FileFault::NotFound),
        fault(boot.open_directory("notes.txt")) == Some(FileFault::NotDirectory),
    ])
}
