//! Reproducible pseudo-random numbers.

/// A generator (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// One below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Bits of a number: often at an edge of some type.
    pub fn bits(&mut self) -> u64 {
        const EDGES: [u64; 24] = [
            0,
            1,
            2,
            u64::MAX,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            1 << 63,
            u64::MAX >> 1,
            0x8000_0001,
            31,
            32,
            63,
            64,
            // Of f32: NaN, 1, infinity, -0, 2^31, the least there is.
            0x7fc0_0000,
            0x3f80_0000,
            0x7f80_0000,
            0x4f00_0000,
            0x0000_0001,
            // Of f64: 1, NaN, infinity, 2^63.
            0x3ff0 << 48,
            0x7ff8 << 48,
            0x7ff0 << 48,
            0x43e0 << 48,
        ];
        let n = self.next();
        if n & 1 == 0 {
            EDGES[(n >> 1) as usize % EDGES.len()]
        } else {
            n >> (n >> 58)
        }
    }
}
