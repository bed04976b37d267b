//! What a driver can do with its device, and requests on the way there and back.

use crate::Geometry;
use sing_sdk::device::Irq;
use sing_sdk::prelude::*;
use sing_sdk::rt::Waitable;

/// What tells of answers: the interrupt of a device.
pub trait Signal: Waitable {
    /// Makes it ready for the next one. What has been done before this call is found after it.
    fn acknowledge(&self);
}

impl Signal for Irq {
    fn acknowledge(&self) {
        Irq::acknowledge(self);
    }
}

/// A disk, as its driver reaches it.
pub trait DiskDevice {
    /// Its interrupt's type.
    type Signal: Signal;

    /// What the disk is like, which does not change.
    fn geometry(&self) -> &Geometry;

    /// Its interrupt. The server acknowledges it before it takes answers.
    fn irq(&self) -> &Self::Signal;

    /// Makes a request ready for the device; its number, which is below a bound that the driver
    /// chooses and not that of another request under way.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if there is no room now: an [`Answer`] makes some.
    /// [`Error::BadArgument`] if a device cannot have the block, [`Error::Closed`] if the device
    /// does not work any more; anything else is a lack of resources.
    fn begin(&mut self, request: Request) -> Result<usize, NotBegun>;

    /// Tells the device of what was begun. Whether it may be done with some already, for which no
    /// interrupt comes.
    fn notify(&self) -> bool;

    /// Takes a request that is done.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if none is. Any other ends the driver: the device has failed.
    fn take(&mut self) -> Result<Answer, Error>;
}

/// A request to a disk, which has what it is about.
#[derive(Debug)]
pub enum Request {
    /// Fill these bytes of the block from the disk.
    Read {
        /// The first sector.
        sector: u64,
        /// The client's block.
        block: Block,
        /// The first byte of the block.
        start: u32,
        /// How many bytes.
        count: u32,
    },
    /// Write these bytes of the block to the disk.
    Write {
        /// The first sector.
        sector: u64,
        /// The client's block.
        block: Block,
        /// The first byte of the block.
        start: u32,
        /// How many bytes.
        count: u32,
    },
    /// Make all that was written before safe. Only for a disk that [flushes](Geometry::flushes).
    Flush,
    /// Forget these sectors, or some of them: a hint. Only for a disk that
    /// [discards](Geometry::discards).
    Discard {
        /// The first one.
        sector: u64,
        /// How many, at least one.
        sectors: u64,
    },
}

/// A request that is not begun.
#[derive(Debug)]
pub struct NotBegun {
    /// The request.
    pub request: Request,
    /// Why.
    pub reason: Error,
}

/// A request that is done.
#[derive(Debug)]
pub struct Answer {
    /// Its number.
    pub number: usize,
    /// Whether the device did as asked.
    pub done: bool,
    /// The client's block, if the request has one.
    pub block: Option<Block>,
}
