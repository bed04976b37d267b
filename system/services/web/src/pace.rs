//! How long a transfer may take: a grace, and a second for each so many bytes. Whoever is slower
//! holds a connection for little.

use core::time::Duration;

/// Bytes a second that everybody manages.
const RATE: u64 = 4 << 10;
/// The time before that counts.
const GRACE: Duration = Duration::from_secs(10);

/// A transfer, from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    began: Duration,
}

impl Pace {
    /// One that begins now.
    #[must_use]
    pub fn new(now: Duration) -> Pace {
        Pace { began: now }
    }

    /// When it is too slow if no more than so many bytes have been moved.
    #[must_use]
    pub fn end(self, bytes: u64) -> Duration {
        let time = Duration::from_millis(bytes.saturating_mul(1000) / RATE);
        self.began.saturating_add(GRACE).saturating_add(time)
    }
}

/// How long a process waits with its server for a client that sends nothing.
const STALL: Duration = Duration::from_secs(2);

/// The time left to a client while a process waits for its body: it runs out while nothing comes,
/// and bytes that everybody manages give as much back, never more than there was at first.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    left: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { left: STALL }
    }
}

impl Patience {
    /// What is left of it.
    #[must_use]
    pub fn left(self) -> Duration {
        self.left
    }

    /// The client has been waited for so long.
    pub fn waited(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }

    /// So many bytes have come.
    pub fn came(&mut self, bytes: usize) {
        let time = Duration::from_millis((bytes as u64).saturating_mul(1000) / RATE);
        self.left = self.left.saturating_add(time).min(STALL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_gives_time() {
        let pace = Pace::new(Duration::from_secs(5));
        assert_eq!(pace.end(0), Duration::from_secs(15));
        assert_eq!(pace.end(40 << 10), Duration::from_secs(25));
        assert!(pace.end(u64::MAX) > Duration::from_secs(1 << 30));
    }

    #[test]
    fn who_sends_little_is_not_waited_for_long() {
        // Nothing at all, a byte now and then, and what everybody manages.
        for (bytes, seconds) in [(0, Some(2)), (100, Some(3)), (4 << 10, None)] {
            let mut patience = Patience::default();
            let over = (1..1000).find(|_| {
                patience.waited(Duration::from_secs(1));
                let over = patience.left() == Duration::ZERO;
                patience.came(bytes);
                over
            });
            assert_eq!(over, seconds, "{bytes}");
        }
        let mut patience = Patience::default();
        patience.came(usize::MAX);
        assert_eq!(patience.left(), STALL);
    }
}
