//! A disk without channels ([O] 6.2): this program is its driver, and hands requests to the device
//! itself.
//!
//! A device is given to a process that has not started, so `bench disk` starts itself once more,
//! with the machine's free disk; its contents are lost. Without a free disk there are no such rows.
//! So does `bench registers`, which needs one.

use crate::disks::Store;
use crate::stats::Row;
use crate::{Measure, cycles, startup, timed};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use core::hint::black_box;
use sing_sdk::device::{self, Device, Irq, MAX_QUEUE, Part, Queue, Registers};
use sing_sdk::io::Reader;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::sync;
use sing_sdk::time::Timeout;

/// Places in a request's own block, as the disk's driver has them.
const HEADER: u32 = 16;
const STATUS: u32 = 32;
const BLOCK: usize = 64;

/// Runs a measurement of this program with the machine's free disk: how it has ended. `None` if
/// there is none, or this is that run.
pub fn with_disk(which: &str, bursts: u32) -> Result<Option<i32>, Error> {
    // Its device is not taken by this look, as there is none at the first run.
    let all = device::all()?;
    let mine = all.iter().any(|d| d.holder == sing_sdk::process::id());
    let is_disk = |s: &str| s == "/virtio/2" || s.starts_with("/pci/01/00/1af4/");
    // The last one: the first two have drivers, which may not have begun.
    let free = all
        .iter()
        .rposition(|d| d.holder == 0 && is_disk(&d.signature) && !d.broken);
    let Some(free) = free.filter(|_| !mine) else {
        return Ok(None);
    };
    let mut child = Child::of("bench")
        .arg("bench")
        .arg(which)
        .arg(&format!("{bursts}"));
    if let Some(names) = startup::names() {
        child = child.endpoint("names", names);
    }
    // Its output comes here.
    let (imp, exp) = PipeContract::new_channel()?;
    let child = child.endpoint("stdout", imp).create();
    let child = child.map_err(|e| e.error())?;
    child.give_device(0, free as u32)?;
    child.start()?;
    let said = Reader::new(exp).read_to_end();
    println!("{}", String::from_utf8_lossy(&said).trim_end());
    Ok(Some(child.join()?.status()))
}

/// The disk that was given to this program.
pub struct Direct {
    // Dropped first: nothing is under way then.
    queue: Queue,
    irq: Irq,
    device: Device,
    own: Option<Block>,
}

impl Direct {
    /// Starts it; `None` if none was given.
    pub fn start() -> Result<Option<Direct>, Error> {
        let Some(device) = startup::disk() else {
            return Ok(None);
        };
        device.reset()?;
        device.accept(0)?;
        let irq = device.irq()?;
        let queue = device.queue(0, MAX_QUEUE)?;
        device.ready()?;
        Ok(Some(Direct {
            queue,
            irq,
            device,
            own: Some(Block::new(BLOCK)?),
        }))
    }
}

/// Accesses of a burst.
const ACCESSES: u32 = 1000;

/// Reads of one register.
struct Reads<F> {
    _device: Rc<Device>,
    registers: Registers,
    read: F,
}

impl<F: Fn(&Registers) -> u32> Measure for Reads<F> {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut sum = 0_u32;
        let took = timed(ACCESSES, || {
            sum = sum.wrapping_add((self.read)(&self.registers));
        });
        black_box(sum);
        Ok(took)
    }
}

/// Writes of one register, which says how many sectors there are: the disk takes no notice.
struct Writes(Registers);

impl Measure for Writes {
    fn burst(&mut self) -> Result<f64, Error> {
        Ok(timed(ACCESSES, || self.0.write_u32(0, 0)))
    }
}

/// Adds the measurements of a disk's registers: as programs reach them, and by a kernel call.
pub fn add_registers(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    let direct = Direct::start()?.ok_or(Error::NotFound)?;
    let row = |name: &str| cycles(None, name);
    // Handles of registers work while there is one of the device.
    let device = Rc::new(direct.device);
    let read = Reads {
        _device: Rc::clone(&device),
        registers: device.registers(0)?,
        read: |r: &Registers| r.read_u32(0),
    };
    all.push((row("register read"), Box::new(read)));
    let by_call = Reads {
        _device: Rc::clone(&device),
        registers: device.registers(0)?,
        read: |r: &Registers| r.read_u32_by_call(0),
    };
    all.push((row("register read, kernel call"), Box::new(by_call)));
    let writes = Writes(device.registers(0)?);
    all.push((row("register written"), Box::new(writes)));
    Ok(())
}

impl Store for Direct {
    fn request(&mut self, write: bool, at: u64, block: Vector<u8>) -> Result<Vector<u8>, Error> {
        let mut own = self.own.take().ok_or(Error::Closed)?;
        own.store_u32(0, write.into());
        own.store_u32(4, 0);
        own.store_u64(8, at / 512);
        own.store_u8(STATUS as usize, 0xff);
        let all = 0..block.len() as u32;
        let data = if write {
            Part::read(1, all)
        } else {
            Part::written(1, all)
        };
        let parts = [
            Part::read(0, 0..HEADER),
            data,
            Part::written(0, STATUS..STATUS + 1),
        ];
        let added = self.queue.add(vec![own, block.into_block()], &parts);
        added.map_err(|refused| refused.error)?;
        if !self.queue.notify() {
            sync::wait(&self.irq, Timeout::FOREVER)?;
            self.irq.acknowledge();
        }
        loop {
            match self.queue.take() {
                Ok(done) => {
                    let mut blocks = done.blocks.into_iter();
                    let own = blocks.next().ok_or(Error::Closed)?;
                    let answer = own.load_u8(STATUS as usize);
                    self.own = Some(own);
                    let block = blocks.next().filter(|_| answer == 0);
                    return block.map(Vector::from_block).ok_or(Error::Closed);
                }
                Err(Error::WouldBlock) => {
                    sync::wait(&self.irq, Timeout::FOREVER)?;
                    self.irq.acknowledge();
                }
                Err(error) => return Err(error),
            }
        }
    }
}
