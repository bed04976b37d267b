//! How two sides come to a secret: Diffie and Hellman's way, over X25519 and over P-256.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use p256::elliptic_curve::sec1::ToEncodedPoint;
use rustls::crypto::{ActiveKeyExchange, SecureRandom, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// Bytes of a secret of either group.
const SECRET: usize = 32;
/// How often a secret of P-256 is drawn: of 2^32, one is none.
const DRAWS: usize = 4;

const BAD: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

/// X25519 (RFC 7748).
pub struct X25519(pub &'static dyn SecureRandom);
/// P-256, secp256r1.
pub struct P256(pub &'static dyn SecureRandom);

impl fmt::Debug for X25519 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("X25519")
    }
}

impl fmt::Debug for P256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("P256")
    }
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; SECRET];
        self.0.fill(&mut bytes)?;
        let secret = x25519_dalek::StaticSecret::from(bytes);
        let public = x25519_dalek::PublicKey::from(&secret);
        Ok(Box::new(OfX25519 { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct OfX25519 {
    secret: x25519_dalek::StaticSecret,
    public: x25519_dalek::PublicKey,
}

impl ActiveKeyExchange for OfX25519 {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = <[u8; SECRET]>::try_from(peer).map_err(|_| BAD)?;
        let shared = self.secret.diffie_hellman(&peer.into());
        // A peer's key of low order makes a secret that everybody knows (RFC 8446, 7.4.2).
        if !shared.was_contributory() {
            return Err(BAD);
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl SupportedKxGroup for P256 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        for _ in 0..DRAWS {
            let mut bytes = [0; SECRET];
            self.0.fill(&mut bytes)?;
            // Zero and what is beyond the group's order is none.
            if let Ok(secret) = p256::SecretKey::from_bytes(&bytes.into()) {
                let public = secret.public_key().to_encoded_point(false);
                let public = public.as_bytes().to_vec();
                return Ok(Box::new(OfP256 { secret, public }));
            }
        }
        Err(Error::FailedToGetRandomBytes)
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

struct OfP256 {
    secret: p256::SecretKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for OfP256 {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        // As TLS 1.3 wants it, uncompressed (RFC 8446, 4.2.8.2); a point that is not on the curve is
        // none.
        if peer.first() != Some(&4) {
            return Err(BAD);
        }
        let peer = p256::PublicKey::from_sec1_bytes(peer).map_err(|_| BAD)?;
        let shared = p256::ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), peer.as_affine());
        Ok(SharedSecret::from(&shared.raw_secret_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}
