//! The models, driven as the kernel drives them, with requests as drivers might make them.

use super::disk::Disk;
use super::disk_thread::Jobs;
use super::mmio::{Model, Transport};
use super::{DiskFile, entropy::Entropy};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const SIZE: u16 = 8;

/// A queue as the kernel would lay it out, and a device behind it.
pub(super) struct Bench {
    pub(super) transport: Arc<Transport>,
    /// Descriptors, the driver's part, the device's part.
    ring: Box<[u64; 64]>,
    added: u16,
}

/// A file that goes with the test.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn scratch(bytes: &[u8]) -> Scratch {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "sing-disk-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, SeqCst)
    );
    let path = std::env::temp_dir().join(name);
    fs::write(&path, bytes).unwrap();
    Scratch(path)
}

fn disk(file: &Scratch, read_only: bool) -> Result<Bench, super::DiskError> {
    let disk = Disk::open(&DiskFile {
        path: file.0.clone(),
        read_only,
        nvme: false,
    })?;
    Bench::new(|transport| disk.start(transport))
}

impl Bench {
    /// Line 30 stays masked, so that nobody is signalled.
    pub(super) fn new(
        model: impl FnOnce(&Arc<Transport>) -> Result<Box<dyn Model>, super::DiskError>,
    ) -> Result<Bench, super::DiskError> {
        let transport = Arc::new(Transport::new(30));
        transport.install(model(&transport)?);
        let mut bench = Bench {
            transport,
            ring: Box::new([0; 64]),
            added: 0,
        };
        bench.set_up();
        Ok(bench)
    }

    fn set(&self, register: u32, value: u32) {
        assert!(!self.transport.write(register, 4, value.into()));
    }

    pub(super) fn get(&self, register: u32) -> u32 {
        self.transport.read(register, 4) as u32
    }

    fn set_up(&mut self) {
        self.ring.fill(0);
        self.added = 0;
        self.set(0x70, 0);
        assert_eq!(
            (self.get(0), self.get(4), self.get(0x70)),
            (0x7472_6976, 2, 0)
        );
        self.set(0x14, 1);
        assert_eq!(self.get(0x10) & 1, 1, "the device is not a modern one");
        self.set(0x24, 1);
        self.set(0x20, 1);
        self.set(0x70, 11);
        assert_eq!(self.get(0x70), 11, "the features were refused");
        self.lay_out(0);
        self.set(0x70, 15);
    }

    /// Has the ring be that of a queue.
    pub(super) fn lay_out(&self, queue: u32) {
        self.set(0x30, queue);
        self.set(0x38, u32::from(SIZE));
        let at = self.ring.as_ptr() as u64;
        for (register, at) in [(0x80, at), (0x90, at + 256), (0xa0, at + 384)] {
            self.set(register, at as u32);
            self.set(register + 4, (at >> 32) as u32);
        }
        self.set(0x44, 1);
        assert_eq!(self.get(0x44), 1, "the queue was refused");
    }

    pub(super) fn used(&self) -> u16 {
        // SAFETY: within the ring; a thread of the device may write it.
        let word = unsafe { self.ring.as_ptr().add(48).read_volatile() };
        (word >> 16) as u16
    }

    /// Adds a request of these pieces (address, length, whether the device writes it).
    pub(super) fn add(&mut self, pieces: &[(*const u8, usize, bool)]) {
        let first = self.added * 4 % SIZE;
        for (i, (at, len, written)) in pieces.iter().enumerate() {
            let more = i + 1 < pieces.len();
            let flags = u64::from(*written) << 1 | u64::from(more);
            let place = usize::from(first) + i;
            self.ring[place * 2] = *at as u64;
            self.ring[place * 2 + 1] = *len as u64 | flags << 32 | (place as u64 + 1) << 48;
        }
        let place = 2 + usize::from(self.added % SIZE);
        self.added += 1;
        let driver = self.ring[32..].as_mut_ptr().cast::<u16>();
        // SAFETY: within the ring, which has 128 bytes for this part.
        unsafe {
            driver.add(place).write_volatile(first);
            driver.add(1).write_volatile(self.added);
        }
    }

    fn notify(&self) {
        self.transport.write(0x50, 4, 0);
    }

    /// Runs a request to its end; the status, and the number of bytes written.
    fn run(&mut self, kind: u32, sector: u64, data: &mut [u8], write: bool) -> (u8, u32) {
        let mut header = [0; 16];
        header[..4].copy_from_slice(&kind.to_le_bytes());
        header[8..].copy_from_slice(&sector.to_le_bytes());
        let status = Box::into_raw(Box::new(0xffu8));
        let mut pieces = vec![(header.as_ptr(), 16, false)];
        if !data.is_empty() {
            pieces.push((data.as_mut_ptr().cast_const(), data.len(), write));
        }
        pieces.push((status.cast_const(), 1, true));
        let before = self.used();
        self.add(&pieces);
        self.notify();
        let start = Instant::now();
        while self.used() == before {
            assert!(start.elapsed() < Duration::from_secs(60), "no answer");
            thread::yield_now();
        }
        let entry = self.ring[48..].as_ptr().cast::<u32>();
        // SAFETY: within the ring; the status byte is ours again.
        unsafe {
            let written = entry
                .add(2 + usize::from(before % SIZE) * 2)
                .read_volatile();
            let value = status.read_volatile();
            drop(Box::from_raw(status));
            (value, written)
        }
    }
}

#[test]
fn what_is_written_is_read_and_stands_in_the_file() {
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    assert_eq!(disk.transport.read(0x100, 8), 64);
    let mut data = vec![0; 1024];
    assert_eq!(disk.run(0, 62, &mut data, true), (0, 1025));
    assert!(data.iter().all(|b| *b == 7));
    data.fill(9);
    assert_eq!(disk.run(1, 3, &mut data, false), (0, 1));
    assert_eq!(disk.run(4, 0, &mut [], false), (0, 1));
    let bytes = fs::read(&file.0).unwrap();
    assert_eq!(
        bytes[3 * 512 - 1..5 * 512 + 1]
            .iter()
            .filter(|b| **b == 9)
            .count(),
        1024
    );
    assert_eq!(disk.get(0x60), 1);
}

#[test]
fn nothing_is_done_outside_the_disk() {
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    for (sector, len) in [
        (64, 512),
        (63, 1024),
        (u64::MAX, 512),
        (1 << 55, 512),
        (0, 511),
        (0, 513),
    ] {
        let mut data = vec![1; len];
        assert_eq!(
            disk.run(0, sector, &mut data, true).0,
            1,
            "read of {sector}, {len}"
        );
        assert_eq!(
            disk.run(1, sector, &mut data, false).0,
            1,
            "write of {sector}, {len}"
        );
        assert!(data.iter().all(|b| *b == 1));
    }
    for sector in [64u64, u64::MAX - 1, 60] {
        let mut segment = [0; 16];
        segment[..8].copy_from_slice(&sector.to_le_bytes());
        segment[8] = 5;
        assert_eq!(disk.run(11, 0, &mut segment, false).0, 1);
    }
    assert_eq!(disk.run(99, 0, &mut [], false).0, 2);
    assert_eq!(fs::read(&file.0).unwrap(), [7; 64 * 512]);
}

#[test]
fn requests_without_header_or_status_are_given_back() {
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    let mut bytes = [0u8; 32];
    let at = bytes.as_mut_ptr().cast_const();
    disk.add(&[(at, 15, false), (at, 1, true)]);
    disk.add(&[(at, 16, false)]);
    disk.notify();
    assert_eq!(disk.used(), 2);
    disk.add(&[(at, 16, true)]);
    // A queue's number that the device has not.
    disk.transport.write(0x50, 4, 1);
    assert_eq!(disk.used(), 2);
    disk.notify();
    assert_eq!(disk.used(), 3);
}

#[test]
fn a_disk_that_cannot_be_written_is_not() {
    let file = scratch(&[7; 8 * 512]);
    let mut one = disk(&file, true).unwrap();
    assert_eq!(one.run(1, 0, &mut [1; 512], false).0, 1);
    assert_eq!(one.run(0, 0, &mut [0; 512], true).0, 0);
    assert_eq!(one.run(11, 0, &mut [0; 16], false).0, 2);
    // Readers share a file; a writer does not.
    assert!(disk(&file, true).is_ok());
    assert!(
        disk(&file, false)
            .err()
            .unwrap()
            .to_string()
            .contains("another system uses it")
    );
    assert_eq!(fs::read(&file.0).unwrap(), [7; 8 * 512]);
}

#[test]
fn a_device_that_was_reset_touches_nothing() {
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    for _ in 0..200 {
        let data = Box::into_raw(Box::new([1u8; 512]));
        let mut header = [0; 16];
        header[0] = 1;
        let mut flush = header;
        flush[0] = 4;
        let status = data.cast::<u8>();
        disk.add(&[
            (header.as_ptr(), 16, false),
            (data.cast::<u8>().cast_const(), 512, false),
            (status.cast_const(), 1, true),
        ]);
        disk.add(&[(flush.as_ptr(), 16, false), (status.cast_const(), 1, true)]);
        disk.notify();
        disk.set_up();
        // SAFETY: the device was reset, so the memory is ours again.
        let mut data = unsafe { Box::from_raw(data) };
        data.fill(3);
        thread::sleep(Duration::from_micros(300));
        assert_eq!(
            *data, [3; 512],
            "the flush's status was written after the reset"
        );
        assert_eq!(disk.used(), 0);
    }
}

#[test]
fn large_requests_are_served_in_turns() {
    let file = scratch(&[7; 2048 * 512]);
    let mut disk = disk(&file, false).unwrap();
    let header = [0; 16];
    let mut data = vec![0u8; 2048 * 512];
    let mut status = [9u8; 2];
    for status in &mut status {
        disk.add(&[
            (header.as_ptr(), 16, false),
            (data.as_mut_ptr().cast_const(), data.len(), true),
            (std::ptr::from_mut(status).cast_const(), 1, true),
        ]);
    }
    disk.notify();
    let start = Instant::now();
    while disk.used() < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no answer");
        thread::yield_now();
    }
    assert_eq!(status, [0, 0]);
    assert!(data.iter().all(|b| *b == 7));
}

#[test]
fn files_that_are_no_disks_are_refused_by_name() {
    for (bytes, says) in [(&[][..], "0 bytes"), (&[0; 513][..], "513 bytes")] {
        let file = scratch(bytes);
        let error = disk(&file, false).err().unwrap().to_string();
        assert!(
            error.contains(says) && error.contains("sing-disk-"),
            "{error}"
        );
    }
    let nowhere = Scratch(std::env::temp_dir());
    let error = disk(&nowhere, true).err().unwrap().to_string();
    std::mem::forget(nowhere);
    assert!(
        error.contains("neither a file nor a block device"),
        "{error}"
    );
}

#[test]
fn the_entropy_device_gives_bytes() {
    let mut device = Bench::new(|_| Ok(Box::new(Entropy))).unwrap();
    let mut bytes = [0u8; 300];
    device.add(&[(bytes.as_mut_ptr().cast_const(), 300, true)]);
    device.notify();
    assert_eq!(device.used(), 1);
    assert!(bytes[..256].iter().any(|b| *b != 0));
    assert!(bytes[256..].iter().all(|b| *b == 0));
}

extern "C" fn on_bus_error(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: Linux gives a handler with SA_SIGINFO a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let pc = &mut registers[libc::REG_RIP as usize];
    match super::resume_after(*pc as u64) {
        Some(next) => *pc = next as i64,
        None => std::process::abort(),
    }
}

fn expect_bus_errors() {
    let action = libc::sigaction {
        sa_sigaction: on_bus_error as *const () as usize,
        // SAFETY: all zeros is a set without signals.
        sa_mask: unsafe { std::mem::zeroed() },
        sa_flags: libc::SA_SIGINFO,
        sa_restorer: None,
    };
    // SAFETY: the handler does what the system's own does; no other test installs another.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
}

#[test]
fn a_file_that_has_become_shorter_fails_requests_and_nothing_else() {
    expect_bus_errors();
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    let mut data = vec![0; 1024];
    // The first time by system calls, then through the mapping.
    for kind in [1, 0, 1, 0, 1, 0] {
        assert_eq!(disk.run(kind, 30, &mut data, kind == 0).0, 0);
    }
    fs::File::options()
        .write(true)
        .open(&file.0)
        .unwrap()
        .set_len(0)
        .unwrap();
    assert_eq!(disk.run(0, 30, &mut data, true).0, 1);
    // What is written makes it longer again.
    assert_eq!(disk.run(1, 30, &mut data, false).0, 0);
    assert_eq!(disk.run(0, 30, &mut data, true).0, 0);
}

/// Requests of more than one turn are served by the disk's thread, through the mapping as well.
#[test]
fn a_file_that_has_become_shorter_fails_requests_of_later_turns_too() {
    const HALF: usize = 1024 * 512;
    expect_bus_errors();
    let file = scratch(&[7; 2 * HALF]);
    let mut disk = disk(&file, false).unwrap();
    let mut data = vec![0u8; 2 * HALF];
    // From now on Linux is known to have it.
    assert_eq!(disk.run(0, 0, &mut data, true).0, 0);
    let options = fs::File::options().write(true).open(&file.0).unwrap();
    options.set_len(HALF as u64).unwrap();
    let mut headers = [[0; 16]; 2];
    headers[1][8..10].copy_from_slice(&1024u16.to_le_bytes());
    let mut status = [9u8; 2];
    let before = disk.used();
    for (half, (header, status)) in headers.iter().zip(&mut status).enumerate() {
        disk.add(&[
            (header.as_ptr(), 16, false),
            (data[half * HALF..].as_mut_ptr().cast_const(), HALF, true),
            (std::ptr::from_mut(status).cast_const(), 1, true),
        ]);
    }
    disk.notify();
    let start = Instant::now();
    while disk.used() - before < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no answer");
        thread::yield_now();
    }
    assert_eq!(status, [0, 1]);
}

#[test]
fn what_is_written_twice_and_flushed_stands_in_the_file() {
    let file = scratch(&[7; 64 * 512]);
    let mut disk = disk(&file, false).unwrap();
    for value in 1..=9u8 {
        let mut data = vec![value; 3 * 512];
        assert_eq!(disk.run(1, 6, &mut data, false), (0, 1));
        if value % 3 == 0 {
            assert_eq!(disk.run(4, 0, &mut [], false), (0, 1));
        }
        let bytes = fs::read(&file.0).unwrap();
        assert!(bytes[6 * 512..9 * 512].iter().all(|b| *b == value));
        data.fill(0);
        assert_eq!(disk.run(0, 6, &mut data, true), (0, 1537));
        assert!(data.iter().all(|b| *b == value));
    }
    // Sectors that were given back are not written through what was known of them.
    let mut segment = [0; 16];
    segment[8] = 64;
    assert_eq!(disk.run(11, 0, &mut segment, false).0, 0);
    let mut data = vec![5; 512];
    assert_eq!(disk.run(1, 6, &mut data, false), (0, 1));
    let bytes = fs::read(&file.0).unwrap();
    assert_eq!((bytes[5 * 512], bytes[6 * 512], bytes[7 * 512]), (0, 5, 0));
}

/// A disk whose thread does nothing; each request is followed by a reset, or by an answer.
#[test]
fn what_waits_across_resets_is_bounded() {
    const LEN: usize = 4 << 20;
    let file = scratch(&[]);
    let options = fs::File::options().write(true).open(&file.0).unwrap();
    options.set_len(LEN as u64).unwrap();
    let started = |kind: u8, len: usize, most: usize| {
        let disk = Disk::open(&DiskFile {
            path: file.0.clone(),
            read_only: false,
            nvme: false,
        })
        .unwrap();
        let jobs = Arc::new(Jobs::default());
        let mut disk = Bench::new(|_| Ok(Box::new(disk.model(jobs)))).unwrap();
        // A discard waits for the thread, and all that comes behind it.
        let mut headers = [[0; 16]; 2];
        (headers[0][0], headers[1][0]) = (11, kind);
        let (segment, data, mut status) = ([0; 16], vec![1u8; len], 9u8);
        let mut ask = |pieces: &[(*const u8, usize, bool)]| {
            disk.add(pieces);
            disk.notify();
            let answered = disk.used() != 0;
            disk.set_up();
            answered
        };
        let end = (std::ptr::from_mut(&mut status).cast_const(), 1, true);
        let discard = [
            (headers[0].as_ptr(), 16, false),
            (segment.as_ptr(), 16, false),
            end,
        ];
        assert!(!ask(&discard));
        let request = [
            (headers[1].as_ptr(), 16, false),
            (data.as_ptr(), len, kind == 0),
            end,
        ];
        let taken = (0..=most).take_while(|_| !ask(&request)).count();
        (taken, status)
    };
    assert_eq!(started(1, LEN, 1000), (16, 1));
    // As much as a driver of ours has under way, twice.
    assert_eq!(started(1, 512 << 10, 64), (65, 9));
    assert_eq!(started(0, 512, 1000), (511, 1));
}
