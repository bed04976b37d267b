//! A server's own key: signatures by ECDSA over P-256, whose nonces follow from key and message (RFC
//! 6979), and by Ed25519.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use p256::ecdsa::signature::Signer as _;
use rustls::crypto::KeyProvider;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer, alg_id};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

/// Reads keys.
#[derive(Debug)]
pub struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let (p256, ed25519) = match &der {
            PrivateKeyDer::Pkcs8(key) => {
                let bytes = key.secret_pkcs8_der();
                let ed25519 = ed25519_dalek::SigningKey::from_pkcs8_der(bytes).ok();
                (p256::SecretKey::from_pkcs8_der(bytes).ok(), ed25519)
            }
            PrivateKeyDer::Sec1(key) => {
                let key = p256::SecretKey::from_sec1_der(key.secret_sec1_der());
                (key.ok(), None)
            }
            _ => (None, None),
        };
        let key = match (p256, ed25519) {
            (Some(key), _) => Key::P256(p256::ecdsa::SigningKey::from(key)),
            (None, Some(key)) => Key::Ed25519(Box::new(key)),
            (None, None) => {
                let why = "neither a key of P-256 nor one of Ed25519";
                return Err(Error::General(String::from(why)));
            }
        };
        Ok(Arc::new(Own(Arc::new(key))))
    }
}

enum Key {
    P256(p256::ecdsa::SigningKey),
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

impl Key {
    fn scheme(&self) -> SignatureScheme {
        match self {
            Key::P256(_) => SignatureScheme::ECDSA_NISTP256_SHA256,
            Key::Ed25519(_) => SignatureScheme::ED25519,
        }
    }
}

/// A key, which nobody sees by accident.
#[derive(Clone)]
struct Own(Arc<Key>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key for {:?}", self.0.scheme())
    }
}

impl SigningKey for Own {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&self.0.scheme());
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(match &*self.0 {
            Key::P256(key) => {
                let point = key.verifying_key().to_encoded_point(false);
                public_key_to_spki(&alg_id::ECDSA_P256, point.as_bytes())
            }
            Key::Ed25519(key) => {
                public_key_to_spki(&alg_id::ED25519, key.verifying_key().as_bytes())
            }
        })
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        match &*self.0 {
            Key::P256(_) => SignatureAlgorithm::ECDSA,
            Key::Ed25519(_) => SignatureAlgorithm::ED25519,
        }
    }
}

impl Signer for Own {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |_| Error::General(String::from("cannot sign"));
        Ok(match &*self.0 {
            Key::P256(key) => {
                let signed: p256::ecdsa::Signature = key.try_sign(message).map_err(failed)?;
                signed.to_der().as_bytes().to_vec()
            }
            Key::Ed25519(key) => key.try_sign(message).map_err(failed)?.to_bytes().to_vec(),
        })
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}
