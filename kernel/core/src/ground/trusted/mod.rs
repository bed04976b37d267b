//! The kernel's only unsafe code, and the types that make it safe to use.
//!
//! If mere numbers would let the kernel's other modules break memory safety, they get values of
//! types with private fields instead, which are made only when their precondition holds:
//!
//! | a value of this type | is |
//! |---|---|
//! | [`Reservation`] | the only owner of addresses that the machine has reserved |
//! | [`Committed`] | a reservation that is accessible below a mark |
//! | [`LinearMemory`] | the memory of a SIP, and the windows on it |
//! | [`Stack`] | an accessible stack with one owner |
//! | [`Fiber`] | an execution that can be switched to once, or runs |
//! | [`BootImage`], [`Program`] | code that the compiler made of a verified module |
//! | [`KernelTable`] | functions of the types that compiled code calls |
//! | [`Left`] | the outcome of a blocking entry |
//! | [`Registers`] | registers of a device that a driver may reach |
//! | [`Run`] | memory of a block, as a device sees it |
//! | [`Ended`] | the end of the system, after which what was leaked can be freed |
//! | [`DeviceMemory`] | memory of a block that a device reaches by way of an IOMMU |
//!
//! The chapter "Soundness" of the book derives from them that safe code of the kernel cannot break
//! memory safety, and names the assumptions and the guidelines that a change must keep.
#![allow(unsafe_code)]

mod blocking;
mod code;
mod committed;
mod device;
mod dma;
mod forget;
mod records;
mod reservation;
mod ring;
mod stack;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use blocking::*;
pub use code::{BootImage, GuestCall};
pub(crate) use code::{
    Compiled, Entries, KernelTable, Prepared, Program, Reading, System, ThreadParams, context,
    instance,
};
pub(crate) use committed::{Committed, LinearMemory};
pub(crate) use device::{Bell, Outside, Registers, Transport, device};
pub(crate) use dma::DeviceMemory;
pub(crate) use forget::{Ended, Kept, Restart, idles, parts_restart, variables};
pub(crate) use records::{Records, Store};
pub use reservation::{Part, Reservation};
pub(crate) use ring::{BYTES as RING_BYTES, Ring, Run};
pub(crate) use sing_image::manifest::STACK_RESERVE;
pub(crate) use stack::{Fiber, GivenUp, IDLE, Stack};
