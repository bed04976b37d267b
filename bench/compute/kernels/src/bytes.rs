//! Checksums, encodings, compression.

use crate::{Random, Ready, mix, text};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;
use sha2::Digest as _;

fn noise(len: usize) -> Vec<u8> {
    let mut random = Random(88_172_645_463_325_252);
    (0..len).map(|_| (random.next() >> 24) as u8).collect()
}

fn first_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

pub fn sha2() -> Ready {
    let input = noise(256 << 10);
    Box::new(move || first_word(&sha2::Sha256::digest(black_box(&input))))
}

pub fn blake3() -> Ready {
    let input = noise(512 << 10);
    Box::new(move || first_word(blake3::hash(black_box(&input)).as_bytes()))
}

pub fn crc32fast() -> Ready {
    let input = noise(1 << 20);
    Box::new(move || crc32fast::hash(black_box(&input)).into())
}

pub fn base64() -> Ready {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let input = noise(192 << 10);
    Box::new(move || {
        let text = engine.encode(black_box(&input));
        let back = engine.decode(black_box(&text)).unwrap_or_default();
        assert_eq!(back.len(), input.len());
        mix(text.len() as u64, first_word(&back[back.len() - 8..]))
    })
}

pub fn deflate() -> Ready {
    let input = text::article(64 << 10).into_bytes();
    Box::new(move || {
        let packed = miniz_oxide::deflate::compress_to_vec(black_box(&input), 6);
        mix(packed.len() as u64, first_word(&packed))
    })
}

pub fn inflate() -> Ready {
    let input = text::article(512 << 10).into_bytes();
    let packed = miniz_oxide::deflate::compress_to_vec(&input, 6);
    Box::new(move || {
        let back = miniz_oxide::inflate::decompress_to_vec(black_box(&packed)).unwrap_or_default();
        assert_eq!(back.len(), input.len());
        first_word(&back[back.len() - 8..])
    })
}

pub fn lz4() -> Ready {
    let input = text::article(256 << 10).into_bytes();
    let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(input.len())];
    let mut back = vec![0; input.len()];
    Box::new(move || {
        let len = lz4_flex::block::compress_into(black_box(&input), &mut packed).unwrap_or(0);
        let got = lz4_flex::block::decompress_into(black_box(&packed[..len]), &mut back);
        assert_eq!(got.ok(), Some(input.len()));
        // How well it compresses depends on the width of addresses.
        first_word(&back[back.len() - 8..])
    })
}
