//! Addresses with one owner.

use core::marker::PhantomData;
use core::ops::Range;
use sing_abi::PAGE;

/// A range of addresses that a machine has reserved, and its only owner.
///
/// It cannot be copied, and releasing it ([`crate::hal::Hal::release`]) consumes it, so it is not
/// released twice or used afterwards:
///
/// ```compile_fail,E0382
/// # fn twice(hal: &dyn sing_kernel::hal::Hal) {
/// let addresses = hal.reserve(65_536).unwrap();
/// hal.release(addresses);
/// hal.release(addresses); // use of moved value
/// # }
/// ```
///
/// ```compile_fail,E0382
/// # fn afterwards(hal: &dyn sing_kernel::hal::Hal) {
/// let mut addresses = hal.reserve(65_536).unwrap();
/// hal.release(addresses);
/// hal.commit(addresses.part(0, 4096)); // borrow of moved value
/// # }
/// ```
///
/// Nor can one be made from a number:
///
/// ```compile_fail,E0451
/// # use sing_kernel::hal::Reservation;
/// let forged = Reservation { at: 0x1000, bytes: 4096 }; // private fields
/// ```
///
/// ```compile_fail,E0133
/// # use sing_kernel::hal::Reservation;
/// let forged = Reservation::new(0x1000, 4096); // only a HAL can promise its conditions
/// ```
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "addresses that nobody owns are lost"]
pub struct Reservation {
    at: u64,
    bytes: u64,
}

impl Reservation {
    /// Bytes from a reservation to its first address, for debuggers.
    pub(super) const AT: usize = core::mem::offset_of!(Reservation, at);

    /// No addresses.
    pub const EMPTY: Self = Self { at: 0, bytes: 0 };

    /// Makes the owner of these addresses. For HALs alone.
    ///
    /// # Safety
    /// The addresses are whole pages, reserved from now on, and part of no other reservation.
    /// Nothing else in the program uses them, and [`crate::hal::Hal::commit`] of a part makes it
    /// ordinary memory.
    pub const unsafe fn new(at: u64, bytes: u64) -> Self {
        Self { at, bytes }
    }

    /// Returns the first address.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number of addresses: the requested number, rounded up by the machine.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a part, to be made accessible or taken back. It borrows the reservation mutably:
    ///
    /// ```compile_fail,E0505
    /// # fn part_outlives(hal: &dyn sing_kernel::hal::Hal) {
    /// let mut addresses = hal.reserve(65_536).unwrap();
    /// let part = addresses.part(0, 4096);
    /// hal.release(addresses); // cannot move out while borrowed
    /// hal.commit(part);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the part lies outside, or is not whole pages: a bug of the kernel.
    pub fn part(&mut self, offset: u64, bytes: u64) -> Part<'_> {
        assert!(
            offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE),
            "{bytes:#x} bytes at {offset:#x} of a reservation: not whole pages"
        );
        assert!(
            bytes <= self.bytes && offset <= self.bytes - bytes,
            "{bytes:#x} bytes at {offset:#x} of a reservation of {:#x}: not reserved",
            self.bytes
        );
        Part {
            start: self.at + offset,
            end: self.at + offset + bytes,
            of: PhantomData,
        }
    }
}

/// Whole pages of a [`Reservation`].
#[derive(Debug)]
pub struct Part<'a> {
    start: u64,
    end: u64,
    of: PhantomData<&'a mut Reservation>,
}

impl Part<'_> {
    /// Returns its addresses.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }
}
