//! Records of TLS 1.3, encrypted and authenticated (RFC 8446, 5.2).

use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{AeadCore, AeadInPlace, KeyInit};
use alloc::boxed::Box;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
    UnsupportedOperationError, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

/// Bytes of a tag.
const TAG: usize = 16;

/// A cipher whose nonces and tags are as TLS 1.3 has them.
trait Cipher: AeadInPlace + AeadCore<NonceSize = U12, TagSize = U16> + Send + Sync {}

impl<C: AeadInPlace + AeadCore<NonceSize = U12, TagSize = U16> + Send + Sync> Cipher for C {}

/// One direction of a connection.
struct Sealed<C> {
    cipher: C,
    iv: Iv,
}

impl<C: Cipher> MessageEncrypter for Sealed<C> {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        number: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&[message.typ.into()]);
        let nonce = Nonce::new(&self.iv, number).0;
        let seal = self.cipher.encrypt_in_place_detached(
            &nonce.into(),
            &make_tls13_aad(length),
            payload.as_mut(),
        );
        payload.extend_from_slice(&seal.map_err(|_| Error::EncryptError)?);
        // Records of TLS 1.3 say that they are of 1.2, with data (RFC 8446, 5.2).
        let (kind, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        Ok(OutboundOpaqueMessage::new(kind, version, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + TAG
    }
}

impl<C: Cipher> MessageDecrypter for Sealed<C> {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let payload = &mut message.payload;
        let length = payload.len();
        let plain = length.checked_sub(TAG).ok_or(Error::DecryptError)?;
        let nonce = Nonce::new(&self.iv, number).0;
        let (data, seal) = payload.split_at_mut(plain);
        let seal: [u8; TAG] = (&*seal).try_into().map_err(|_| Error::DecryptError)?;
        self.cipher
            .decrypt_in_place_detached(&nonce.into(), &make_tls13_aad(length), data, &seal.into())
            .map_err(|_| Error::DecryptError)?;
        payload.truncate(plain);
        message.into_tls13_unpadded_message()
    }
}

macro_rules! algorithm {
    ($(#[$what:meta])* $name:ident, $cipher:ty, $key:literal, $secrets:ident) => {
        $(#[$what])*
        pub struct $name;

        impl $name {
            fn sealed(key: &AeadKey, iv: Iv) -> Sealed<$cipher> {
                let mut bytes = [0; $key];
                // `rustls` derives keys of the length that `key_len` says.
                bytes.copy_from_slice(key.as_ref());
                Sealed { cipher: <$cipher>::new(&bytes.into()), iv }
            }
        }

        impl Tls13AeadAlgorithm for $name {
            fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
                Box::new($name::sealed(&key, iv))
            }

            fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
                Box::new($name::sealed(&key, iv))
            }

            fn key_len(&self) -> usize {
                $key
            }

            fn extract_keys(
                &self,
                key: AeadKey,
                iv: Iv,
            ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                Ok(ConnectionTrafficSecrets::$secrets { key, iv })
            }
        }
    };
}

algorithm! {
    /// ChaCha20 with Poly1305 (RFC 8439).
    ChaCha20Poly1305, chacha20poly1305::ChaCha20Poly1305, 32, Chacha20Poly1305
}
algorithm! {
    /// AES of 128 bits in Galois' counter mode, by tables of bits: its time says nothing of the key.
    Aes128Gcm, aes_gcm::Aes128Gcm, 16, Aes128Gcm
}
