//! Devices, for drivers: registers, interrupts, and the queues of virtio devices ([O] 5.1).
//!
//! A driver declares its device in its manifest, and takes it with `startup::NAME()`. Of the device
//! it reaches what it declares there, and nothing else; the kernel tests each access. Memory goes
//! to a device as whole blocks of the exchange heap: while the device has a block, nobody else
//! does.
//!
//! Invariant: each handle is the kernel's for this program alone; dropping the device resets it,
//! after which its parts do nothing.

use crate::args::with_buffer;
use crate::handle::Object;
use crate::rt::{Block, Handle, Waitable};
use crate::set::Refused;
use crate::{Error, error, sys};
use alloc::vec::Vec;
use core::ops::Range;
use sing_abi::{MAX_PARTS, REQUEST_LOST};

pub use sing_abi::{MAX_QUEUE, MAX_REQUEST};
pub use sing_image::snapshot::DeviceInfo;

/// A device that this program drives. Dropping it resets the device and gives it back.
#[derive(Debug)]
pub struct Device(Object);

impl Device {
    /// Its handle, which stays the device's.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::from_raw(self.0.raw())
    }

    /// The device with this index in the manifest.
    pub(crate) fn take(index: u32) -> Option<Device> {
        Object::from_status(sys::startup_device(index))
            .ok()
            .map(Device)
    }

    /// A range of its registers. Of a virtio device, number 0 is its own configuration.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] for what the manifest does not declare, [`Error::NotFound`] if the
    /// device has no such range.
    pub fn registers(&self, index: u32) -> Result<Registers, Error> {
        Object::from_status(sys::device_registers(self.0.raw(), index)).map(Registers)
    }

    /// Its interrupt.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if the manifest does not declare it, [`Error::NotFound`] if it has
    /// none, [`Error::Held`] if it has been taken.
    pub fn irq(&self) -> Result<Irq, Error> {
        Object::from_status(sys::device_irq(self.0.raw())).map(Irq)
    }

    /// Resets a virtio device; the features of its kind that it offers.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is none that the kernel can speak to, or queues of it are in use.
    pub fn reset(&self) -> Result<u64, Error> {
        let answer = sys::device_reset(self.0.raw());
        u64::try_from(answer).map_err(|_| Error::from_status(answer as i32))
    }

    /// Accepts features of a virtio device that has been reset.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if the device does not agree, [`Error::BadArgument`] for what it has
    /// not offered.
    pub fn accept(&self, features: u64) -> Result<(), Error> {
        error::check(sys::device_accept(self.0.raw(), features)).map(drop)
    }

    /// Sets up a queue of a virtio device, with room for at most so many descriptors.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if the manifest declares fewer queues or the device refuses,
    /// [`Error::NotFound`] if it has fewer, [`Error::NoResources`] if memory is short.
    pub fn queue(&self, index: u32, size: u32) -> Result<Queue, Error> {
        Object::from_status(sys::queue_create(self.0.raw(), index, size)).map(Queue)
    }

    /// Tells a virtio device that its driver is ready.
    ///
    /// # Errors
    /// [`Error::BadState`] if it has agreed to no features.
    pub fn ready(&self) -> Result<(), Error> {
        error::check(sys::device_ready(self.0.raw())).map(drop)
    }
}

/// Registers of a device. An access outside, or at no multiple of its width, ends the program.
///
/// Each call is one access of its width, in the program's order. Memory-mapped registers of a PC
/// are reached by instructions in line, all others by a kernel call: the program cannot tell.
#[derive(Debug)]
pub struct Registers(Object);

macro_rules! registers {
    ($($read:ident $load:ident $write:ident $store:ident $t:ty, $word:ty;)*) => {
        impl Registers {$(
            /// Reads the register at `offset`.
            #[must_use]
            pub fn $read(&self, offset: u32) -> $t {
                sys::$load(self.0.raw(), offset) as $t
            }

            /// Writes the register at `offset`.
            pub fn $write(&self, offset: u32, value: $t) {
                sys::$store(self.0.raw(), offset, <$word>::from(value));
            }
        )*}
    };
}
registers! {
    read_u8 io_load8 write_u8 io_store8 u8, u32;
    read_u16 io_load16 write_u16 io_store16 u16, u32;
    read_u32 io_load32 write_u32 io_store32 u32, u32;
    read_u64 io_load64 write_u64 io_store64 u64, u64;
}

impl Registers {
    /// As [`Registers::read_u32`], but by a kernel call wherever the register is: for measurements.
    #[must_use]
    pub fn read_u32_by_call(&self, offset: u32) -> u32 {
        sys::io_read(self.0.raw(), offset, 4) as u32
    }

    /// How many bytes they are.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // A device has no empty range.
    pub fn len(&self) -> u32 {
        sys::io_len(self.0.raw())
    }
}

/// A device's interrupt: something to wait for.
#[derive(Debug)]
pub struct Irq(Object);

impl Irq {
    /// Acknowledges it, so that the next one can come. Look for what the device has done after this
    /// call, not before: so nothing is missed.
    pub fn acknowledge(&self) {
        sys::interrupt_ack(self.0.raw());
    }
}

impl Waitable for Irq {
    fn handle(&self) -> Handle {
        Handle::from_raw(self.0.raw())
    }
}

/// A part of a request: bytes of one of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which of the request's blocks.
    pub block: usize,
    /// Which bytes of it.
    pub bytes: Range<u32>,
    /// Whether the device writes them.
    pub writes: bool,
}

impl Part {
    /// Bytes that the device reads.
    #[must_use]
    pub const fn read(block: usize, bytes: Range<u32>) -> Part {
        Part {
            block,
            bytes,
            writes: false,
        }
    }

    /// Bytes that the device writes.
    #[must_use]
    pub const fn written(block: usize, bytes: Range<u32>) -> Part {
        Part {
            block,
            bytes,
            writes: true,
        }
    }
}

/// A request that a device has done with.
#[derive(Debug)]
pub struct Done {
    /// The number that [`Queue::add`] has given it.
    pub number: usize,
    /// How many bytes the device says it has written; `None` if it was reset before it was done.
    pub written: Option<u32>,
    /// The request's blocks, in the order of their first parts.
    pub blocks: Vec<Block>,
}

/// A queue of a virtio device. Dropping it resets the device, and frees what the device had.
#[derive(Debug)]
pub struct Queue(Object);

impl Queue {
    /// Its handle, which stays the queue's.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::from_raw(self.0.raw())
    }

    /// Hands the device a request: blocks, and the parts of them that it is to read and then those
    /// that it is to write. Each block has a part at least. The device learns of it by
    /// [`Queue::notify`]. Returns the request's number, which none other has until this one is
    /// taken back.
    ///
    /// # Errors
    /// The blocks, with [`Error::WouldBlock`] if the queue has no room now, [`Error::Closed`] if
    /// the device has been reset, [`Error::BadArgument`] for parts outside their blocks, for
    /// read-only blocks that the device should write, and for a request that is too large.
    pub fn add(
        &mut self,
        blocks: Vec<Block>,
        parts: &[Part],
    ) -> Result<usize, Refused<Vec<Block>>> {
        match self.try_add(&blocks, parts) {
            Ok(number) => {
                // The device has them now.
                for block in blocks {
                    let _ = block.into_raw();
                }
                Ok(number as usize)
            }
            Err(error) => Err(Refused {
                content: blocks,
                error,
            }),
        }
    }

    fn try_add(&self, blocks: &[Block], parts: &[Part]) -> Result<u32, Error> {
        let all_used = (0..blocks.len()).all(|i| parts.iter().any(|p| p.block == i));
        if !all_used || parts.len() > MAX_PARTS {
            return Err(Error::BadArgument);
        }
        let mut words = [[0u32; 4]; MAX_PARTS];
        for (part, words) in parts.iter().zip(&mut words) {
            let block = blocks.get(part.block).ok_or(Error::BadArgument)?;
            let len = part.bytes.end.checked_sub(part.bytes.start);
            *words = [
                block.handle().raw(),
                part.bytes.start,
                len.ok_or(Error::BadArgument)?,
                part.writes.into(),
            ];
        }
        // SAFETY: four words for each part are readable there; the kernel takes the blocks that
        // they name only if it succeeds, and `add` then gives up its own claim to them.
        error::check(unsafe {
            sys::queue_add(self.0.raw(), words.as_ptr().cast(), parts.len() as u32)
        })
    }

    /// Tells the device of the requests that have been added. Whether some are done already: those
    /// are to be [taken](Queue::take), as no interrupt may come for them.
    #[must_use = "no interrupt may come for requests that are done already"]
    pub fn notify(&self) -> bool {
        sys::queue_notify(self.0.raw()) != 0
    }

    /// Takes back a request that the device has done with.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if there is none now, [`Error::Closed`] if there will be none as the
    /// device has been reset, [`Error::NoResources`] if this thread has no room for the blocks.
    pub fn take(&mut self) -> Result<Done, Error> {
        let mut answer = [0u32; MAX_PARTS + 1];
        // SAFETY: the kernel writes so many words, and there is room for them.
        let code = unsafe { sys::queue_take(self.0.raw(), answer.as_mut_ptr()) };
        let number = error::check(code)? as usize;
        let [written, handles @ ..] = answer;
        let mut blocks: Vec<Block> = Vec::new();
        for handle in handles.into_iter().filter(|&h| h != 0) {
            if blocks.iter().all(|b| b.handle().raw() != handle) {
                // SAFETY: the kernel has just entered it into this thread's table, and each once.
                blocks.push(unsafe { Block::from_raw(Handle::from_raw(handle)) });
            }
        }
        Ok(Done {
            number,
            written: (written != REQUEST_LOST).then_some(written),
            blocks,
        })
    }
}

/// The device of the machine with this index; `None` behind the last. Needs the privilege
/// `devices`.
///
/// # Errors
/// [`Error::NoResources`] if memory is short.
pub fn info(index: u32) -> Result<Option<DeviceInfo>, Error> {
    // SAFETY: the buffer is writable for its length.
    let fill = |b: &mut [u8]| unsafe { sys::device_info(index, b.as_mut_ptr(), b.len()) };
    match with_buffer(256, fill) {
        // A form that this SDK does not know is of another version: not an error of the caller's.
        Ok(bytes) => postcard::from_bytes(&bytes)
            .map(Some)
            .map_err(|_| Error::BadState),
        Err(Error::NotFound) => Ok(None),
        Err(e) => Err(e),
    }
}

/// All devices of the machine. Needs the privilege `devices`.
///
/// # Errors
/// As [`info`].
pub fn all() -> Result<Vec<DeviceInfo>, Error> {
    let mut all = Vec::new();
    while let Some(device) = info(all.len() as u32)? {
        all.push(device);
    }
    Ok(all)
}
