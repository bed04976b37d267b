//! The primitives for `rustls`, which has none of its own: those of RustCrypto and dalek, all in
//! Rust. This module only binds them to its traits.
//!
//! Why not a provider from elsewhere: `rustls-rustcrypto` has had no release but alphas, and brings
//! RSA with a known leak by timing; `ring`, `aws-lc-rs` and `graviola` are C or assembly for
//! processors, which WebAssembly is not.
//!
//! Invariants:
//! - TLS 1.3 only, and of its suites those with the hash SHA-256.
//! - Where the source of random bytes fails, so does the handshake: nothing takes its place.

mod exchange;
mod hash;
mod seal;
mod sign;

use alloc::boxed::Box;
use alloc::vec;
use exchange::{P256, X25519};
use hash::{HmacSha256, Sha256};
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{
    CipherSuiteCommon, CryptoProvider, SecureRandom, SupportedKxGroup, WebPkiSupportedAlgorithms,
};
use rustls::{CipherSuite, SupportedCipherSuite, Tls13CipherSuite};
use seal::{Aes128Gcm, ChaCha20Poly1305};

/// Signatures are made here and not verified: a server of ours asks for no client's certificate.
const VERIFIES_NOTHING: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[],
    mapping: &[],
};

static CHACHA20_POLY1305: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        hash_provider: &Sha256,
        confidentiality_limit: u64::MAX,
    },
    hkdf_provider: &HkdfUsingHmac(&HmacSha256),
    aead_alg: &ChaCha20Poly1305,
    quic: None,
};

static AES_128_GCM: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
        hash_provider: &Sha256,
        // RFC 8446, 5.5: 2^24.5 records by one key.
        confidentiality_limit: 1 << 24,
    },
    hkdf_provider: &HkdfUsingHmac(&HmacSha256),
    aead_alg: &Aes128Gcm,
    quic: None,
};

/// The primitives, with a source of random bytes. It and what this makes of it are kept for as long
/// as the process lives: `rustls` takes them for good.
#[must_use]
pub fn provider(random: &'static dyn SecureRandom) -> CryptoProvider {
    let x25519: &'static dyn SupportedKxGroup = Box::leak(Box::new(X25519(random)));
    let p256: &'static dyn SupportedKxGroup = Box::leak(Box::new(P256(random)));
    CryptoProvider {
        // Without instructions for AES, ChaCha20 is the faster one by far.
        cipher_suites: vec![
            SupportedCipherSuite::Tls13(&CHACHA20_POLY1305),
            SupportedCipherSuite::Tls13(&AES_128_GCM),
        ],
        kx_groups: vec![x25519, p256],
        signature_verification_algorithms: VERIFIES_NOTHING,
        secure_random: random,
        key_provider: &sign::Keys,
    }
}
