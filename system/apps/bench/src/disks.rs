//! Disks and files ([O] 6.2): sequential and random requests, to a disk that this program drives
//! itself, to a disk's driver over a channel, and to a file of a file system on a third disk.
//!
//! The disks hold nothing of value: `cargo xtask bench disk` gives the machine three empty ones.

use crate::direct::Direct;
use crate::stats::Row;
use crate::{Measure, cycles, startup, timed};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use sing_sdk::fs::{File, Options};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

/// The disk for requests to its driver, and the one with the file system.
const RAW: &str = "/dev/disk0";
const FORMATTED: &str = "/dev/disk1";
/// Where its file system is mounted, and the file.
const MOUNT: &str = "/bench";
const FILE: &str = "/bench/file";
/// Bytes that the requests go to.
const SPAN: u64 = 16 << 20;
/// Requests of a burst.
const COUNT: u32 = 64;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The sizes of the papers' Figure 3, and their names.
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

/// Where the next request goes.
struct Places {
    random: bool,
    size: u64,
    next: u64,
}

impl Places {
    /// The place of the next request of this size, a multiple of it.
    fn next(&mut self) -> u64 {
        let all = SPAN / self.size;
        self.next = if self.random {
            // A generator with all of its 2^64 states ("MMIX", Knuth); its high bits are good.
            self.next
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        } else {
            self.next.wrapping_add(1)
        };
        let place = if self.random {
            self.next >> 33
        } else {
            self.next
        };
        place % all * self.size
    }
}

/// What is read or written.
pub trait Store {
    /// Reads or writes a block at a place; it comes back.
    fn request(&mut self, write: bool, at: u64, block: Vector<u8>) -> Result<Vector<u8>, Error>;
}

struct Disk(Option<DiskContract::Imp<DiskContract::Ready>>);

impl Disk {
    fn bind(names: &mut Names, path: &str) -> Result<Disk, Error> {
        let (imp, exp) = DiskContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(Disk(Some(imp.recv_success()?)))
    }
}

impl Store for Disk {
    fn request(&mut self, write: bool, at: u64, block: Vector<u8>) -> Result<Vector<u8>, Error> {
        use DiskContract::imp::{Ready_Read, Ready_Write};
        let disk = self.0.take().ok_or(Error::Closed)?;
        let (sector, count) = (at / SECTOR, block.len() as u32);
        let (block, next) = if write {
            match disk.call_write(sector, block, 0, count) {
                Ready_Write::Written(block, next) => (block, next),
                _ => return Err(Error::Closed),
            }
        } else {
            match disk.call_read(sector, block, 0, count) {
                Ready_Read::Data(block, next) => (block, next),
                _ => return Err(Error::Closed),
            }
        };
        self.0 = Some(next);
        Ok(block)
    }
}

/// The disk itself, which all its measurements share.
impl Store for Rc<RefCell<Direct>> {
    fn request(&mut self, write: bool, at: u64, block: Vector<u8>) -> Result<Vector<u8>, Error> {
        self.borrow_mut().request(write, at, block)
    }
}

impl Store for File {
    fn request(&mut self, write: bool, at: u64, block: Vector<u8>) -> Result<Vector<u8>, Error> {
        let all = 0..block.len();
        let (block, done) = if write {
            self.write(at, block, all)?
        } else {
            self.read(at, block)?
        };
        if done == block.len() {
            Ok(block)
        } else {
            Err(Error::Closed)
        }
    }
}

struct Requests<S> {
    store: S,
    write: bool,
    places: Places,
    block: Option<Vector<u8>>,
}

impl<S: Store> Requests<S> {
    fn new(store: S, write: bool, random: bool, size: usize) -> Result<Self, Error> {
        Ok(Requests {
            store,
            write,
            places: Places {
                random,
                size: size as u64,
                next: 0,
            },
            block: Some(Vector::new(size)?),
        })
    }
}

impl<S: Store> Measure for Requests<S> {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut failed = None;
        let took = timed(COUNT, || {
            let at = self.places.next();
            let Some(block) = self.block.take() else {
                return;
            };
            match self.store.request(self.write, at, block) {
                Ok(block) => self.block = Some(block),
                Err(e) => failed = Some(e),
            }
        });
        failed.map_or(Ok(took), Err)
    }
}

/// The name of a measurement, which Linux's has, too.
fn name(of: &str, write: bool, random: bool, size: &str) -> String {
    let what = if write { "written" } else { "read" };
    let order = if random { "random" } else { "sequential" };
    format!("{of} {what}, {order}, {size}")
}

/// The file, in a file system of its own.
fn file(names: &mut Names) -> Result<File, Error> {
    format_and_mount(names)?;
    let mut file = File::create(names, FILE, Options::create())?;
    let mut block = Vector::<u8>::new(64 << 10)?;
    for at in (0..SPAN).step_by(64 << 10) {
        block = Store::request(&mut file, true, at, block)?;
    }
    file.sync()?;
    Ok(file)
}

/// Adds the measurements of a file by itself: those that the targets are for. Beside disks, each
/// finds less of its data in the processor's caches.
pub fn add_file(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    let mut file = file(&mut names)?;
    for random in [false, true] {
        for write in [false, true] {
            for (size, words) in SIZES {
                let id = match (random, words) {
                    (false, "64 KiB") => "T14",
                    (true, "4 KiB") => "T15",
                    _ => "E6",
                };
                let requests = Requests::new(file.another()?, write, random, size)?;
                let row = cycles(Some(id), name("file", write, random, words));
                all.push((row, Box::new(requests)));
            }
        }
    }
    Ok(())
}

/// Adds the measurements of disks, with a file beside them.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    let mut file = file(&mut names)?;
    let direct = Direct::start()?.map(|direct| Rc::new(RefCell::new(direct)));
    for random in [false, true] {
        for write in [false, true] {
            for (size, words) in SIZES {
                if let Some(direct) = &direct {
                    let requests = Requests::new(Rc::clone(direct), write, random, size)?;
                    let row = cycles(Some("E6"), name("device", write, random, words));
                    all.push((row, Box::new(requests)));
                }
                let requests = Requests::new(file.another()?, write, random, size)?;
                let row = cycles(Some("E6"), name("file", write, random, words));
                all.push((row, Box::new(requests)));
                let disk = Disk::bind(&mut names, RAW)?;
                let requests = Requests::new(disk, write, random, size)?;
                let row = cycles(Some("E6"), name("disk", write, random, words));
                all.push((row, Box::new(requests)));
            }
        }
    }
    Ok(())
}

fn format_and_mount(names: &mut Names) -> Result<(), Error> {
    use VolumeContract::imp::{Ready_Format, Ready_Mount};
    let (imp, exp) = VolumeContract::new_channel()?;
    names.bind("/fsctrl", exp)?;
    let control = imp.recv_success()?;
    let (disk, label) = (Text::new(FORMATTED)?, Text::new("bench")?);
    let control = match control.call_format(disk, label, true) {
        Ready_Format::Done(control) => control,
        Ready_Format::Failed(reason, _) => return failed("formatted", reason),
        Ready_Format::Closed => return Err(Error::Closed),
    };
    let (disk, at) = (Text::new(FORMATTED)?, Text::new(MOUNT)?);
    match control.call_mount(disk, at, false) {
        Ready_Mount::Done(_) => Ok(()),
        Ready_Mount::Failed(reason, _) => failed("mounted", reason),
        Ready_Mount::Closed => Err(Error::Closed),
    }
}

fn failed<T>(what: &str, reason: VolumeFault) -> Result<T, Error> {
    eprintln!("bench: {FORMATTED} cannot be {what}: {reason:?}");
    Err(Error::BadState)
}
