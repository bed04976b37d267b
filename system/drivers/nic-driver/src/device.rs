//! What a driver can do with its device.

use sing_sdk::device::Irq;
use sing_sdk::prelude::*;

/// A network card, as its driver reaches it.
pub trait NicDevice {
    /// Its address.
    fn mac(&self) -> [u8; 6];

    /// Whether it has a network.
    fn is_up(&self) -> bool;

    /// Its interrupt. The server acknowledges it before it looks for frames.
    fn irq(&self) -> &Irq;

    /// Has the device lower its line, if it does so only when told; before the acknowledgement.
    fn interrupted(&mut self) {}

    /// Copies the next frame that has come, and gives its memory back to the device. Its length,
    /// or 0 for one that came damaged or is longer than `frame`.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if there is none. Any other ends the driver: the device has failed.
    fn receive(&mut self, frame: &mut [u8]) -> Result<usize, Error>;

    /// Hands the device a copy of a frame to send.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if it has no room now: an interrupt comes when it has. Any other ends
    /// the driver.
    fn send(&mut self, frame: &[u8]) -> Result<(), Error>;

    /// Tells the device of frames to send and of memory given back. Whether it may be done with
    /// some already, for which no interrupt comes.
    fn notify(&mut self) -> bool;
}
