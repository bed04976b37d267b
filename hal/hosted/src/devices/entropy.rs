//! The entropy device ("5.4 Entropy Device"): random bytes of the host.

use super::mmio::{Model, Ticket};
use super::queue::{Chain, bytes};

/// The most bytes of one answer; a driver that wants more asks again.
pub(crate) const MOST: usize = 256;

/// The device.
pub(super) struct Entropy;

impl Model for Entropy {
    fn id(&self) -> u32 {
        4
    }

    fn most(&self) -> usize {
        MOST
    }

    fn serve(&mut self, chain: &mut Chain, _: Ticket) -> Option<u32> {
        let mut random = [0; MOST];
        let wanted = bytes(&chain.writable).min(MOST);
        let got = draw(&mut random[..wanted]);
        Some(chain.fill(&random[..got]) as u32)
    }
}

/// Fills this with random bytes of Linux's, without waiting: how many have come. Up to [`MOST`] come whole,
/// once Linux has any at all.
pub(crate) fn draw(bytes: &mut [u8]) -> usize {
    let (at, len) = (bytes.as_mut_ptr().cast(), bytes.len().min(MOST));
    // SAFETY: there are at least so many bytes to be written.
    let got = unsafe { libc::getrandom(at, len, libc::GRND_NONBLOCK) };
    usize::try_from(got).unwrap_or(0)
}
