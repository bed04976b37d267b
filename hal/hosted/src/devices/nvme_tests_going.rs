//! The NVMe controller's end, as drivers wait for it: it says that all is on the medium when it is.

use super::disk_thread::{Front, Jobs, work_once};
use super::nvme::{Nvme, Ticket};
use super::nvme_tests::{Bench, DATA, LIST, address, command};
use std::fs;
use std::io;
use std::sync::Arc;

/// The configuration: on, and the driver goes.
const ON: u32 = 6 << 16 | 4 << 20 | 1;
const GOING: u32 = ON | 1 << 14;
/// The status: ready, what was said is being written, and is.
const READY: u32 = 1;
const LEAVING: u32 = 1 << 2 | READY;
const GONE: u32 = 2 << 2 | READY;
const FATAL: u32 = 2;

/// A controller whose jobs nobody does.
fn bench() -> (Bench, Arc<Jobs<Ticket>>) {
    let jobs = Arc::new(Jobs::default());
    let own = Arc::clone(&jobs);
    let mut bench = Bench::of(false, |disk| Arc::new(Nvme::new(30, disk, own)));
    bench.begin();
    (bench, jobs)
}

/// A discard waits, and each write waits behind it.
fn discard(bench: &mut Bench) {
    bench.page(LIST)[..16].fill(0);
    bench.page(LIST)[4] = 1;
    bench.put(1, command(9, [address(LIST), 0], [0, 4, 0]));
}

fn write(bench: &mut Bench, sector: u32, value: u8) {
    bench.page(DATA).fill(value);
    bench.put(1, command(1, [address(DATA), 0], [sector, 0, 0]));
}

fn go(bench: &Bench) -> u32 {
    bench.set(0x14, GOING);
    bench.get(0x1c)
}

/// The disk's file, for who does its work.
fn opened(bench: &Bench) -> fs::File {
    let mut options = fs::File::options();
    let file = options.read(true).write(true).open(&bench.file.0);
    file.unwrap()
}

#[test]
fn a_driver_that_goes_waits_for_what_it_has_written() {
    let (mut bench, jobs) = bench();
    // Nothing was written.
    assert_eq!(go(&bench), GONE);
    bench.begin();
    discard(&mut bench);
    write(&mut bench, 4, 5);
    assert_eq!(go(&bench), LEAVING);
    let file = opened(&bench);
    let does = |bench: &Bench| work_once(&jobs, &file, &*bench.nvme);
    let at = |bench: &Bench, sector: usize| fs::read(&bench.file.0).unwrap()[sector * 512];
    // The discard, and the write; the flush is under way still.
    assert_eq!((does(&bench), does(&bench), at(&bench, 4)), (2, 1, 5));
    assert_eq!(bench.get(0x1c), LEAVING);
    assert_eq!((does(&bench), bench.get(0x1c)), (0, GONE));
    // What was under way has been answered; nothing more is taken.
    assert_eq!(bench.answer(1).map(|(status, _)| status), Some(0));
    write(&mut bench, 5, 6);
    assert_eq!(at(&bench, 5), 7);
}

#[test]
fn one_flush_waits_however_often_it_comes_and_goes() {
    let (mut bench, jobs) = bench();
    discard(&mut bench);
    assert_eq!(go(&bench), LEAVING);
    for _ in 0..3 {
        bench.set(0x14, ON);
        assert_eq!(bench.get(0x1c), READY);
        assert_eq!(go(&bench), LEAVING);
    }
    // Another write, behind the flush, and switched off and on.
    bench.set(0x14, ON);
    write(&mut bench, 4, 5);
    assert_eq!(go(&bench), LEAVING);
    let file = opened(&bench);
    let does = |bench: &Bench| work_once(&jobs, &file, &*bench.nvme);
    // The discard. Then the flush, which is not that of the last going: there is one more.
    assert_eq!((does(&bench), does(&bench)), (2, 2));
    assert_eq!(bench.get(0x1c), LEAVING);
    assert_eq!((does(&bench), bench.get(0x1c)), (1, LEAVING));
    assert_eq!((does(&bench), bench.get(0x1c)), (0, GONE));
    assert_eq!(fs::read(&bench.file.0).unwrap()[4 * 512], 5);
    // Switched off meanwhile: what comes of it is nobody's.
    bench.begin();
    discard(&mut bench);
    assert_eq!(go(&bench), LEAVING);
    bench.begin();
    assert_eq!((does(&bench), does(&bench)), (1, 0));
    assert_eq!(bench.get(0x1c), READY);
}

#[test]
fn a_medium_that_fails_is_not_said_to_have_all() {
    let (mut bench, _jobs) = bench();
    discard(&mut bench);
    assert_eq!(go(&bench), LEAVING);
    // Two queues have names before it.
    let error = Err(io::ErrorKind::StorageFull.into());
    let said = bench.nvme.finish(Ticket::Going(3), &error);
    assert!(!said.told, "the next flush is to have the error, too");
    assert_eq!(bench.get(0x1c), LEAVING | FATAL);
}
