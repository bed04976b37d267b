//! The NVMe controller, driven as drivers might.

use super::DiskFile;
use super::disk::Disk;
use super::disk_thread::{Front, Jobs};
use super::nvme::{Nvme, Ticket, Waiting};
use super::nvme_command::Fault;
use super::pci::Function;
use super::tests::{Scratch, scratch};
use sing_abi::PAGE;
use sing_kernel::hal::DeviceAccess;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PAGES: usize = 16;
/// The first page of the window that leads to memory, and what lies where: the queues (commands and
/// answers of the admin's, and of the other's), a page with answers, a list, data.
const FIRST: u32 = 256;
pub(super) const DATA: usize = 6;
pub(super) const LIST: usize = 5;
const SECTORS: usize = 2048;
const FATAL: u32 = 2;

#[repr(align(4096))]
struct Memory([u8; PAGES * PAGE as usize]);

pub(super) struct Bench {
    pub(super) nvme: Arc<Nvme>,
    memory: Box<Memory>,
    pub(super) file: Scratch,
    /// Commands that were put into each queue, and answers that were taken.
    put: [u32; 2],
    taken: [u32; 2],
    sizes: [u32; 2],
    number: u16,
}

pub(super) fn address(page: usize) -> u64 {
    (u64::from(FIRST) + page as u64) * PAGE
}

/// A command: its kind, and the words from the tenth on.
pub(super) fn command(kind: u8, data: [u64; 2], words: [u32; 3]) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = kind;
    bytes[4] = 1;
    bytes[24..32].copy_from_slice(&data[0].to_le_bytes());
    bytes[32..40].copy_from_slice(&data[1].to_le_bytes());
    for (i, word) in words.iter().enumerate() {
        bytes[40 + 4 * i..44 + 4 * i].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl Bench {
    /// Line 30 stays masked, so that nobody is signalled.
    fn new(read_only: bool) -> Bench {
        Bench::of(read_only, |disk| Nvme::start(30, disk).unwrap())
    }

    pub(super) fn of(read_only: bool, make: impl FnOnce(&Disk) -> Arc<Nvme>) -> Bench {
        let file = scratch(&[7; SECTORS * 512]);
        let disk = Disk::open(&DiskFile {
            path: file.0.clone(),
            read_only,
            nvme: true,
        });
        let mut bench = Bench {
            nvme: make(&disk.unwrap()),
            memory: Box::new(Memory([0; PAGES * PAGE as usize])),
            file,
            put: [0; 2],
            taken: [0; 2],
            sizes: [4, 8],
            number: 0,
        };
        bench.open();
        bench
    }

    fn open(&mut self) {
        let at = self.memory.0.as_mut_ptr() as u64;
        self.nvme.window().open();
        for page in 0..PAGES as u32 {
            let to = at + u64::from(page) * PAGE;
            assert!(self.nvme.window().map(FIRST + page, to, DeviceAccess::Both));
        }
    }

    pub(super) fn get(&self, register: u32) -> u32 {
        self.nvme.read(register, 4) as u32
    }

    pub(super) fn set(&self, register: u32, value: u32) {
        self.nvme.write(register, 4, value.into());
    }

    /// Switches it on, with the admin queues at these addresses; its status.
    fn enable(&mut self, queues: [u64; 2]) -> u32 {
        self.set(0x14, 0);
        assert_eq!(self.get(0x1c), 0);
        self.memory.0[..4 * PAGE as usize].fill(0);
        (self.put, self.taken) = ([0; 2], [0; 2]);
        self.set(0x24, 3 << 16 | 3);
        self.nvme.write(0x28, 8, queues[0]);
        self.nvme.write(0x30, 8, queues[1]);
        self.set(0x14, 6 << 16 | 4 << 20 | 1);
        self.get(0x1c)
    }

    /// Switches it on, and makes the other pair of queues.
    pub(super) fn begin(&mut self) {
        assert_eq!(self.enable([address(0), address(1)]), 1);
        let sizes = (self.sizes[1] - 1) << 16 | 1;
        let made = command(5, [address(3), 0], [sizes, 3, 0]);
        assert_eq!(self.run(0, made), 0);
        let made = command(1, [address(2), 0], [sizes, 1 << 16 | 1, 0]);
        assert_eq!(self.run(0, made), 0);
    }

    pub(super) fn put(&mut self, queue: usize, command: [u8; 64]) {
        self.put_all(queue, 1, command);
    }

    /// Puts a command so many times, and rings once.
    fn put_all(&mut self, queue: usize, count: u32, mut command: [u8; 64]) {
        for _ in 0..count {
            self.number += 1;
            command[2..4].copy_from_slice(&self.number.to_le_bytes());
            let place = (self.put[queue] % self.sizes[queue]) as usize;
            let at = queue * 2 * PAGE as usize + place * 64;
            self.memory.0[at..at + 64].copy_from_slice(&command);
            self.put[queue] += 1;
        }
        let tail = self.put[queue] % self.sizes[queue];
        self.set(0x1000 + 8 * queue as u32, tail);
    }

    /// The next answer's status and number, if it is there.
    pub(super) fn answer(&self, queue: usize) -> Option<(u16, u16)> {
        let (taken, size) = (self.taken[queue], self.sizes[queue]);
        let at = address(queue * 2 + 1) + u64::from(taken % size) * 16 + 12;
        let mut word = [0; 4];
        assert!(self.nvme.window().reach().read(at, &mut word).is_ok());
        let word = u32::from_le_bytes(word);
        let phase = (taken / size).is_multiple_of(2);
        (word >> 16 & 1 == u32::from(phase)).then_some(((word >> 17) as u16, word as u16))
    }

    fn take(&mut self, queue: usize) {
        self.taken[queue] += 1;
        let head = self.taken[queue] % self.sizes[queue];
        self.set(0x1004 + 8 * queue as u32, head);
    }

    /// Runs a command to its end: the status.
    fn run(&mut self, queue: usize, command: [u8; 64]) -> u16 {
        self.put(queue, command);
        let start = Instant::now();
        loop {
            if let Some((status, number)) = self.answer(queue) {
                assert_eq!(number, self.number);
                self.take(queue);
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no answer");
            thread::yield_now();
        }
    }

    pub(super) fn page(&mut self, page: usize) -> &mut [u8] {
        &mut self.memory.0[page * PAGE as usize..][..PAGE as usize]
    }
}

#[test]
fn sectors_are_read_and_written_by_lists_of_pages() {
    let mut bench = Bench::new(false);
    bench.begin();
    assert_eq!(bench.run(0, command(6, [address(4), 0], [1, 0, 0])), 0);
    assert_eq!((bench.page(4)[77], bench.page(4)[525]), (7, 1));
    assert_eq!(bench.run(0, command(6, [address(4), 0], [0, 0, 0])), 0);
    assert_eq!(bench.page(4)[..8], (SECTORS as u64).to_le_bytes());
    // Five pages: the first begins late, so that there are six, of which five are in a list, in an
    // order of its own, that begins late too, and goes on in another page.
    let list = address(LIST) + PAGE - 24;
    let order = [3usize, 1, 5, 4, 2];
    let mut entries: Vec<u64> = order.iter().map(|i| address(DATA + i)).collect();
    entries.insert(2, address(4));
    let (first, second) = entries.split_at(3);
    for (page, at, entries) in [(LIST, PAGE as usize - 24, first), (4, 0, second)] {
        for (i, entry) in entries.iter().enumerate() {
            bench.page(page)[at + 8 * i..][..8].copy_from_slice(&entry.to_le_bytes());
        }
    }
    for (i, page) in [0].into_iter().chain(order).enumerate() {
        bench.page(DATA + page).fill(i as u8 + 1);
    }
    let data = [address(DATA) + 1024, list];
    assert_eq!(bench.run(1, command(1, data, [8, 0, 39])), 0);
    assert_eq!(bench.run(1, command(0, [0; 2], [0; 3])), 0);
    let bytes = fs::read(&bench.file.0).unwrap();
    let wanted = |at: usize| match at.checked_sub(8 * 512) {
        Some(at) if at < 3072 => 1,
        Some(at) if at < 5 * 4096 => ((at - 3072) / 4096) as u8 + 2,
        _ => 7,
    };
    assert!(bytes.iter().enumerate().all(|(at, b)| *b == wanted(at)));
    for page in DATA..PAGES {
        bench.page(page).fill(0);
    }
    assert_eq!(bench.run(1, command(2, data, [8, 0, 39])), 0);
    assert!(bench.page(DATA)[1024..].iter().all(|b| *b == 1));
    for (i, page) in order.into_iter().enumerate() {
        let len = if i == 4 { 1024 } else { 4096 };
        let (now, rest) = bench.page(DATA + page).split_at(len);
        assert!(now.iter().all(|b| *b == i as u8 + 2), "page {i}");
        assert!(rest.iter().all(|b| *b == 0), "behind page {i}");
    }
    // Sectors that are forgotten.
    bench.page(LIST)[..16].fill(0);
    bench.page(LIST)[4] = 8;
    assert_eq!(bench.run(1, command(9, [address(LIST), 0], [0, 4, 0])), 0);
    let bytes = fs::read(&bench.file.0).unwrap();
    assert_eq!((bytes[0], bytes[4095]), (0, 0));
}

#[test]
fn what_cannot_be_is_refused_and_touches_nothing() {
    let mut bench = Bench::new(false);
    bench.begin();
    let data = [address(DATA), 0];
    let end = SECTORS as u32;
    // A list that leads to itself, by a page's last entry.
    let place = PAGE as usize - 8;
    bench.page(LIST)[place..].copy_from_slice(&(address(LIST) + PAGE - 8).to_le_bytes());
    let into_itself = [address(DATA), address(LIST) + PAGE - 8];
    let nowhere = address(PAGES);
    let with = |mut command: [u8; 64], at: usize, value: u8| {
        command[at] = value;
        command
    };
    let cases = [
        (command(2, data, [end, 0, 0]), Fault::RANGE),
        (command(1, data, [end - 1, 0, 1]), Fault::RANGE),
        (command(2, data, [u32::MAX, u32::MAX, 0]), Fault::RANGE),
        (command(2, data, [0, 0, 1024]), Fault::FIELD),
        (command(1, data, [0, 0, 0xffff]), Fault::FIELD),
        (command(2, [nowhere, 0], [0, 0, 0]), Fault::TRANSFER),
        (command(1, [u64::MAX - 3, 0], [0, 0, 0]), Fault::TRANSFER),
        (command(1, [0, 0], [0, 0, 0]), Fault::TRANSFER),
        (command(2, [data[0] + 2, 0], [0, 0, 0]), Fault::OFFSET),
        (
            command(2, [data[0], data[0] + 8], [0, 0, 15]),
            Fault::OFFSET,
        ),
        (command(2, [data[0], nowhere], [0, 0, 15]), Fault::TRANSFER),
        (
            command(2, [data[0], nowhere], [0, 0, 1023]),
            Fault::TRANSFER,
        ),
        (command(2, into_itself, [0, 0, 1023]), Fault::OFFSET),
        (command(9, [nowhere, 0], [255, 4, 0]), Fault::TRANSFER),
        (command(0x7f, data, [0; 3]), Fault::KIND),
        (with(command(2, data, [0; 3]), 4, 2), Fault::NAMESPACE),
        (with(command(2, data, [0; 3]), 1, 0x40), Fault::FIELD),
    ];
    for (command, fault) in cases {
        assert_eq!(bench.run(1, command), fault.0, "{command:x?}");
    }
    let queue = |number: u32, size: u32| (size - 1) << 16 | number;
    let cases = [
        (
            command(5, [address(3), 0], [queue(1, 8), 1, 0]),
            Fault::QUEUE,
        ),
        (
            command(5, [address(3), 0], [queue(4, 8), 1, 0]),
            Fault::QUEUE,
        ),
        (
            command(5, [address(3), 0], [queue(2, 129), 1, 0]),
            Fault::QUEUE_SIZE,
        ),
        (
            command(5, [address(3), 0], [queue(2, 1), 1, 0]),
            Fault::QUEUE_SIZE,
        ),
        (
            command(5, [address(3) + 16, 0], [queue(2, 8), 1, 0]),
            Fault::OFFSET,
        ),
        (
            command(5, [address(3), 0], [queue(2, 8), 1 << 16 | 3, 0]),
            Fault::VECTOR,
        ),
        (
            command(1, [address(2), 0], [queue(2, 8), 3 << 16 | 1, 0]),
            Fault::COMPLETION_QUEUE,
        ),
        (command(4, [0; 2], [1, 0, 0]), Fault::DELETION),
        (command(4, [0; 2], [0xffff, 0, 0]), Fault::QUEUE),
        (command(0, [0; 2], [0, 0, 0]), Fault::QUEUE),
        (command(6, [nowhere, 0], [1, 0, 0]), Fault::TRANSFER),
        (command(6, data, [9, 0, 0]), Fault::FIELD),
        (
            command(2, [nowhere, 0], [0x0fff_0002, 0, 0]),
            Fault::TRANSFER,
        ),
        (command(2, data, [0x0fff_00ff, 0, 0]), Fault::LOG),
    ];
    for (command, fault) in cases {
        assert_eq!(bench.run(0, command), fault.0, "{command:x?}");
    }
    assert_eq!(bench.get(0x1c), 1);
    assert_eq!(fs::read(&bench.file.0).unwrap(), [7; SECTORS * 512]);
    // With both queues gone it goes on.
    assert_eq!(bench.run(0, command(0, [0; 2], [1, 0, 0])), 0);
    assert_eq!(bench.run(0, command(4, [0; 2], [1, 0, 0])), 0);
    assert_eq!(bench.run(0, command(6, data, [1, 0, 0])), 0);
}

#[test]
fn a_driver_that_breaks_the_rules_finds_it_stopped() {
    let mut bench = Bench::new(false);
    for queues in [
        [address(PAGES), address(1)],
        [0, address(1)],
        [u64::MAX, address(1)],
        [address(0), address(PAGES)],
    ] {
        assert_eq!(bench.enable(queues), 1);
        bench.set(0x1000, 1);
        assert_eq!(bench.get(0x1c) & FATAL, FATAL, "{queues:x?}");
    }
    for (register, value) in [
        (0x1000, 4),
        (0x1000, u32::MAX),
        (0x1004, 1),
        (0x1004, u32::MAX),
        (0x1008, 0),
        (0x100c, 0),
        (0x1ffc, 1),
    ] {
        assert_eq!(bench.enable([address(0), address(1)]), 1);
        bench.set(register, value);
        assert_eq!(bench.get(0x1c) & FATAL, FATAL, "{register:x} {value:x}");
        // It takes nothing any more.
        bench.set(0x1000, 1);
        assert!(bench.answer(0).is_none());
    }
    // Configurations that it does not understand.
    for configuration in [0x81, 1, 6 << 16 | 4 << 20 | 0x11] {
        bench.set(0x14, 0);
        bench.set(0x14, configuration);
        assert_eq!(bench.get(0x1c), FATAL, "{configuration:x}");
    }
    bench.begin();
    let read = command(2, [address(DATA), 0], [0; 3]);
    assert_eq!(bench.run(1, read), 0);
}

#[test]
fn no_answer_overtakes_one_that_was_not_taken() {
    let mut bench = Bench::new(false);
    bench.begin();
    // Twice as many commands as there is room for answers, none of which is taken.
    let read = command(2, [address(DATA), 0], [0; 3]);
    assert_eq!(bench.run(1, read), 0);
    let first = bench.number + 1;
    for _ in 0..14 {
        bench.put(1, read);
    }
    // The rest of the answers come one by one, as these are taken.
    for number in first..first + 14 {
        let start = Instant::now();
        while bench.answer(1).is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "no answer");
            thread::yield_now();
        }
        assert_eq!(bench.answer(1), Some((0, number)));
        bench.take(1);
    }
    assert!(bench.answer(1).is_none());
    assert_eq!(bench.get(0x1c), 1);
}

#[test]
fn what_cannot_be_written_is_not() {
    let mut bench = Bench::new(true);
    bench.begin();
    let data = [address(DATA), 0];
    let refused = Fault::READ_ONLY.0;
    assert_eq!(bench.run(1, command(1, data, [0; 3])), refused);
    assert_eq!(bench.run(1, command(9, data, [0, 4, 0])), refused);
    assert_eq!(bench.run(1, command(2, data, [0; 3])), 0);
    assert_eq!(fs::read(&bench.file.0).unwrap(), [7; SECTORS * 512]);
}

/// Commands whose long lists of pages are wrong at their ends: a doorbell serves a turn of them, as
/// of those that can be done.
#[test]
fn commands_that_fail_count_as_what_they_cost() {
    let jobs = Arc::new(Jobs::default());
    let mut bench = Bench::of(false, |disk| Arc::new(Nvme::new(30, disk, jobs)));
    bench.sizes[1] = 64;
    for entry in 0..127 {
        // The last one is no page.
        let bytes = (address(DATA) + entry as u64 / 126).to_le_bytes();
        bench.page(LIST)[8 * entry..][..8].copy_from_slice(&bytes);
    }
    let data = [address(DATA), address(LIST)];
    // A turn is of 256 KiB, and ends behind the command that exceeds it.
    for (command, most) in [
        (command(2, data, [0, 0, 1023]), 1),
        (command(1, data, [0, 0, 1023]), 1),
        // Ranges, the first of which is behind the disk: a page each time.
        (command(9, [address(LIST), 0], [255, 4, 0]), 52),
    ] {
        bench.begin();
        bench.put_all(1, 60, command);
        let mut answered = 0;
        while let Some((status, _)) = bench.answer(1) {
            assert_ne!(status, 0);
            bench.taken[1] += 1;
            answered += 1;
        }
        assert!((1..=most).contains(&answered), "{answered}: {command:x?}");
    }
}

/// A request that waits for the host when its queue, or the controller, goes.
#[test]
fn what_has_waited_touches_nothing_after_a_reset() {
    let jobs = Arc::new(Jobs::default());
    let mut bench = Bench::of(false, |disk| Arc::new(Nvme::new(30, disk, jobs)));
    for (reset, there) in [(0, true), (1, false), (2, false)] {
        bench.begin();
        // A discard waits, and nobody does it.
        bench.page(LIST)[..16].fill(0);
        bench.page(LIST)[4] = 1;
        bench.put(1, command(9, [address(LIST), 0], [0, 4, 0]));
        assert!(bench.answer(1).is_none());
        match reset {
            0 => {}
            1 => assert_eq!(bench.run(0, command(0, [0; 2], [1, 0, 0])), 0),
            _ => bench.begin(),
        }
        // Each start makes two queues, and each queue has a name of its own.
        let ticket = Ticket::Command(Waiting {
            queue: 1,
            name: 2 * (reset + 1),
            number: bench.number,
            to: vec![(address(DATA), 512)],
            fault: Fault::READING,
        });
        bench.page(DATA).fill(3);
        let told = bench.nvme.finish(ticket, &Ok(vec![9; 512])).told;
        assert_eq!(told, there, "{reset}");
        let written = bench.page(DATA)[0] == 9;
        assert_eq!((written, bench.answer(1).is_some()), (there, there));
    }
    bench.begin();
    bench.nvme.reset();
    bench.nvme.window().close();
    assert_eq!(
        (bench.get(0x14), bench.get(0x1c), bench.get(0x24)),
        (0, 0, 0)
    );
}
