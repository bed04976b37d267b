//! The entropy device ("5.4 Entropy Device"): random bytes of the host.

use super::mmio::{Model, Ticket};
use super::queue::{Chain, bytes};

/// The most bytes of one answer; a driver that wants more asks again.
const MOST: usize = 256;

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
        // Up to 256 bytes come whole and at once, once the host has any at all. SAFETY: the buffer
        // is valid for the call and at least as long as said.
        let got =
            unsafe { libc::getrandom(random.as_mut_ptr().cast(), wanted, libc::GRND_NONBLOCK) };
        let got = usize::try_from(got).unwrap_or(0);
        Some(chain.fill(&random[..got]) as u32)
    }
}
