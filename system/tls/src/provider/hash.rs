//! SHA-256, and HMAC with it.

use alloc::boxed::Box;
use hmac::{Hmac, Mac};
use rustls::crypto::hash::{self, HashAlgorithm, Output};
use rustls::crypto::hmac::{Hmac as Keyed, Key, Tag};
use sha2::Digest;

/// Bytes of a hash.
const LENGTH: usize = 32;

pub struct Sha256;

impl hash::Hash for Sha256 {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(Hashed(sha2::Sha256::new()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(&sha2::Sha256::digest(data))
    }

    fn output_len(&self) -> usize {
        LENGTH
    }

    fn algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
}

struct Hashed(sha2::Sha256);

impl hash::Context for Hashed {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(Hashed(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

pub struct HmacSha256;

impl Keyed for HmacSha256 {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        // HMAC takes keys of any length.
        match <Hmac<sha2::Sha256> as Mac>::new_from_slice(key) {
            Ok(keyed) => Box::new(WithKey(keyed)),
            Err(_) => unreachable!("a key of HMAC has any length"),
        }
    }

    fn hash_output_len(&self) -> usize {
        LENGTH
    }
}

struct WithKey(Hmac<sha2::Sha256>);

impl Key for WithKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        for part in middle {
            mac.update(part);
        }
        mac.update(last);
        Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        LENGTH
    }
}
