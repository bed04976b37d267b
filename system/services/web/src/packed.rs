//! Content packed as gzip (RFC 1952), in one piece of bounded size.

use alloc::boxed::Box;
use alloc::vec::Vec;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress};

/// The smallest content that is packed: less gains nothing.
pub const LEAST: u64 = 256;
/// The largest: packing takes time, and one is packed after the other.
pub const MOST: u64 = 256 << 10;

/// The work space, some hundreds of KiB: more than a thread's usual stack holds.
pub struct Packer(Box<CompressorOxide>);

impl core::fmt::Debug for Packer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Packer")
    }
}

impl Default for Packer {
    fn default() -> Self {
        let mut compressor = Box::<CompressorOxide>::default();
        // Without the frame of zlib: that of gzip comes around.
        compressor.set_format_and_level(miniz_oxide::DataFormat::Raw, 5);
        Packer(compressor)
    }
}

impl Packer {
    /// Content as gzip; `None` if that is not smaller.
    pub fn pack(&mut self, content: &[u8]) -> Option<Vec<u8>> {
        const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        const TAIL: usize = 8;
        self.0.reset();
        let mut out = Vec::from(HEAD);
        out.resize(content.len().saturating_sub(TAIL).max(HEAD.len()), 0);
        let room = &mut out[HEAD.len()..];
        let (status, read, written) = compress(&mut self.0, content, room, TDEFLFlush::Finish);
        if status != TDEFLStatus::Done || read != content.len() {
            return None;
        }
        out.truncate(HEAD.len() + written);
        out.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_there_again() {
        let mut packer = Packer::default();
        for len in [256, 1000, 70_000, MOST as usize] {
            let content: Vec<u8> = (0..len).map(|at| (at % 7 + at / 1000) as u8).collect();
            let packed = packer.pack(&content).unwrap_or_default();
            assert!(packed.len() < content.len(), "{len}");
            let (inner, tail) = packed[10..].split_at(packed.len() - 18);
            let back = miniz_oxide::inflate::decompress_to_vec(inner);
            assert_eq!(back.ok().as_deref(), Some(content.as_slice()));
            assert_eq!(tail[4..], (len as u32).to_le_bytes());
            assert_eq!(packed[..3], [0x1f, 0x8b, 8]);
        }
    }

    #[test]
    fn what_does_not_shrink_is_left() {
        let mut state = 1_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let noise: Vec<u8> = (0..5000).map(|_| draw()).collect();
        let mut packer = Packer::default();
        assert_eq!(packer.pack(&noise), None);
        // It is not disturbed by having failed.
        assert!(packer.pack(&[b'a'; 5000]).is_some_and(|p| p.len() < 100));
    }
}
