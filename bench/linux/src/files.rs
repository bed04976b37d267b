//! E6, T14, T15: reads and writes of a file that Linux has in memory, as the system's disk is.

use crate::measure::Peer;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// The rows beside which they are shown; they are matched by their names.
pub const ID: &str = "E6";

/// Bytes that the requests go to.
const SPAN: u64 = 16 << 20;
/// Requests in a sample.
const COUNT: u32 = 64;

/// As the measuring program's.
const SIZES: [(usize, &str); 8] = [
    (512, "512 B"),
    (1 << 10, "1 KiB"),
    (2 << 10, "2 KiB"),
    (4 << 10, "4 KiB"),
    (8 << 10, "8 KiB"),
    (16 << 10, "16 KiB"),
    (32 << 10, "32 KiB"),
    (64 << 10, "64 KiB"),
];

/// A file that nobody else sees, in the folder of temporary files, or the one that `TMPDIR` names.
fn scratch() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("sing-bench-{}", std::process::id()));
    let options = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path);
    let file = options?;
    fs::remove_file(&path)?;
    let block = vec![1; 64 << 10];
    for at in (0..SPAN).step_by(block.len()) {
        file.write_all_at(&block, at)?;
    }
    file.sync_all()?;
    Ok(file)
}

fn peer(
    file: &Rc<File>,
    id: &'static str,
    of: &str,
    (write, random): (bool, bool),
    (size, words): (usize, &str),
) -> Peer {
    let file = Rc::clone(file);
    let mut block = vec![0; size];
    let mut state = 0_u64;
    let once = move || {
        let all = SPAN / size as u64;
        // As the measuring program's places.
        state = if random {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        } else {
            state.wrapping_add(1)
        };
        let place = if random { state >> 33 } else { state };
        let at = place % all * size as u64;
        if write {
            file.write_all_at(&block, at)
        } else {
            file.read_exact_at(&mut block, at)
        }
    };
    let (what, call) = if write {
        ("written", "pwrite")
    } else {
        ("read", "pread")
    };
    let order = if random { "random" } else { "sequential" };
    let name = format!("linux {call}: {of} {what}, {order}, {words}");
    Peer::in_turns(id, name, COUNT, once)
}

/// The peers; makes their files. Each of the measuring program's three has data of its own, so these
/// have, too: what one leaves in the processor's caches is as likely to be there on both sides.
pub fn peers() -> io::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for of in ["device", "file", "disk"] {
        let file = Rc::new(scratch()?);
        for random in [false, true] {
            for write in [false, true] {
                for size in SIZES {
                    peers.push(peer(&file, "E6", of, (write, random), size));
                }
            }
        }
    }
    Ok(peers)
}
