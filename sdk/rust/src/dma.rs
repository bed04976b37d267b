//! Direct memory access, for drivers of devices that an IOMMU confines (`IoDma` of [O] 5.1).
//!
//! A driver declares `dma: BYTES` in its manifest, and maps blocks of the exchange heap: the device
//! reaches them at the address that [`Device::map`] returns, and no memory else, whatever it is
//! told. A block that is mapped is out of everybody's reach until it is unmapped, but for one that
//! is [`Access::Shared`], for rings and the like: its bytes are loaded and stored by the address
//! that the device uses, too.
//!
//! Invariant: the kernel tests each access; an address outside what is shared ends the program.

use crate::Error;
use crate::device::Device;
use crate::rt::{Block, Handle};
use crate::set::Refused;
use crate::{error, sys};
use core::ops::Range;

pub use sing_abi::{MAX_DMA, MAX_DMA_COPY, MAX_MAPPINGS};

/// What a device may do with what is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Read,
    /// Write it.
    Write,
    /// Both, and so may the driver.
    Shared,
}

/// A block that a device reaches. It is freed with the device if it is not unmapped before.
#[derive(Debug)]
pub struct Mapping {
    address: u64,
}

impl Mapping {
    /// The address for the device of the first byte that was mapped.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }
}

/// A mapping that could not be undone.
#[derive(Debug)]
pub struct NotUnmapped {
    /// The mapping.
    pub mapping: Mapping,
    /// Why.
    pub error: Error,
}

/// An access of a device that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address of the page, as the device said it.
    pub page: u64,
    /// Whether it meant to write.
    pub write: bool,
}

macro_rules! accesses {
    ($($load:ident $store:ident $t:ty, $width:literal;)*) => {
        impl Device {$(
            /// Reads what is shared with the device at this address, which is a multiple of the
            /// width.
            #[must_use]
            pub fn $load(&self, address: u64) -> $t {
                sys::dma_load(self.handle().raw(), address as i64, $width) as $t
            }

            /// Writes what is shared with the device at this address, which is a multiple of the
            /// width. The device sees what was written before this no later than this.
            pub fn $store(&self, address: u64, value: $t) {
                sys::dma_store(self.handle().raw(), address as i64, $width, u64::from(value));
            }
        )*}
    };
}
accesses! {
    load_u8 store_u8 u8, 1;
    load_u16 store_u16 u16, 2;
    load_u32 store_u32 u32, 4;
    load_u64 store_u64 u64, 8;
}

impl Device {
    /// Lets the device reach bytes of a block, with the pages on which they lie: those must be the
    /// block's alone, as they are if the block has a page at least and was never split.
    ///
    /// # Errors
    /// The block, with [`Error::NotPermitted`] if the manifest declares no memory or nothing
    /// confines the device, [`Error::WouldBlock`] if as much is mapped as can be,
    /// [`Error::Held`] for bytes on pages of others, [`Error::BadArgument`] for bytes outside the
    /// block, for more than [`MAX_DMA`] or than the manifest declares, and for a read-only block
    /// that the device should write, and [`Error::Closed`] if the device was cut off.
    pub fn map(
        &self,
        block: Block,
        bytes: Range<u32>,
        access: Access,
    ) -> Result<Mapping, Refused<Block>> {
        let len = bytes.end.saturating_sub(bytes.start);
        let kind = match access {
            Access::Read => sing_abi::DMA_READ,
            Access::Write => sing_abi::DMA_WRITE,
            Access::Shared => sing_abi::DMA_SHARED,
        };
        let (device, handle) = (self.handle().raw(), block.handle().raw());
        let answer = sys::dma_map(device, handle, bytes.start, len, kind);
        match u64::try_from(answer) {
            Ok(address) => {
                // The device has it now.
                let _ = block.into_raw();
                Ok(Mapping { address })
            }
            Err(_) => Err(Refused {
                content: block,
                error: Error::from_status(answer as i32),
            }),
        }
    }

    /// Takes a block back: the device does not reach it any more.
    ///
    /// # Errors
    /// The mapping, with [`Error::NoResources`] if this thread has no room for the block,
    /// [`Error::Closed`] if the device could not be kept from it, [`Error::NotFound`] if it is
    /// another device's.
    pub fn unmap(&self, mapping: Mapping) -> Result<Block, NotUnmapped> {
        let code = sys::dma_unmap(self.handle().raw(), mapping.address as i64);
        match error::check(code) {
            // SAFETY: the kernel has just entered it into this thread's table, once.
            Ok(handle) => Ok(unsafe { Block::from_raw(Handle::from_raw(handle)) }),
            Err(error) => Err(NotUnmapped { mapping, error }),
        }
    }

    /// Copies what is shared with the device, from this address on.
    pub fn copy_out(&self, address: u64, to: &mut [u8]) {
        let steps = (address..).step_by(MAX_DMA_COPY as usize);
        for (address, to) in steps.zip(to.chunks_mut(MAX_DMA_COPY as usize)) {
            let device = self.handle().raw();
            // SAFETY: the kernel writes so many bytes, and there is room for them.
            unsafe { sys::dma_copy_out(device, address as i64, to.as_mut_ptr(), to.len()) };
        }
    }

    /// Copies to what is shared with the device, from this address on.
    pub fn copy_in(&self, address: u64, from: &[u8]) {
        let steps = (address..).step_by(MAX_DMA_COPY as usize);
        for (address, from) in steps.zip(from.chunks(MAX_DMA_COPY as usize)) {
            let device = self.handle().raw();
            // SAFETY: so many bytes are readable there.
            unsafe { sys::dma_copy_in(device, address as i64, from.as_ptr(), from.len()) };
        }
    }

    /// The last access of the device that was refused since the last call; `None` if there is none.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        let answer = u64::try_from(sys::dma_fault(self.handle().raw())).ok()?;
        Some(Fault {
            page: answer & !1,
            write: answer & 1 != 0,
        })
    }
}
