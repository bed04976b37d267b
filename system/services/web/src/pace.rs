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
}
