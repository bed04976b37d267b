//! A client, for handshakes in memory.

use alloc::sync::Arc;
use alloc::vec::Vec;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use p256::ecdsa::signature::Verifier;
use rustls::client::UnbufferedClientConnection;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// Knows the server by its key, and verifies its signature.
#[derive(Debug)]
enum Known {
    P256(p256::ecdsa::VerifyingKey),
    Ed25519(ed25519_dalek::VerifyingKey),
}

impl Known {
    fn of(key: &[u8]) -> Known {
        let key = PrivatePkcs8KeyDer::from_pem_slice(key).unwrap();
        let key = key.secret_pkcs8_der();
        match p256::ecdsa::SigningKey::from_pkcs8_der(key) {
            Ok(key) => Known::P256(*key.verifying_key()),
            Err(_) => {
                let key = ed25519_dalek::SigningKey::from_pkcs8_der(key).unwrap();
                Known::Ed25519(key.verifying_key())
            }
        }
    }
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::DecryptError)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bytes = signed.signature();
        let is_right = match self {
            Known::P256(key) => p256::ecdsa::Signature::from_der(bytes)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Known::Ed25519(key) => ed25519_dalek::Signature::from_slice(bytes)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
        };
        match is_right {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(Error::DecryptError),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        [
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ED25519,
        ]
        .into()
    }
}

#[derive(Debug)]
struct Fixed;

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(
            1_800_000_000,
        )))
    }
}

/// A client's side of a connection.
pub struct Client {
    connection: UnbufferedClientConnection,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// What the server has sent.
    pub plain: Vec<u8>,
    /// Whether the server has said that nothing more comes.
    pub is_over: bool,
}

impl Client {
    /// A client that knows the server by its key.
    pub fn new(provider: CryptoProvider, key: &[u8]) -> Client {
        let config = ClientConfig::builder_with_details(Arc::new(provider), Arc::new(Fixed))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Known::of(key)))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = Client {
            connection: UnbufferedClientConnection::new(Arc::new(config), name).unwrap(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            plain: Vec::new(),
            is_over: false,
        };
        client.step(None);
        client
    }

    pub fn receive(&mut self, bytes: &[u8]) {
        self.incoming.extend_from_slice(bytes);
        self.step(None);
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.step(Some(bytes));
    }

    pub fn close(&mut self) {
        self.step(Some(&[]));
    }

    /// What is to be sent.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.outgoing)
    }

    /// Sends these, if there are some, or that it ends, if there are none.
    fn step(&mut self, mut wants: Option<&[u8]>) {
        let mut room = alloc::vec![0; 32 << 10];
        loop {
            let UnbufferedStatus { discard, state } =
                self.connection.process_tls_records(&mut self.incoming);
            let mut goes_on = true;
            match state.unwrap() {
                ConnectionState::ReadTraffic(mut read) => {
                    while let Some(record) = read.next_record() {
                        self.plain.extend_from_slice(record.unwrap().payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    let count = data.encode(&mut room).unwrap();
                    self.outgoing.extend_from_slice(&room[..count]);
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.is_over = true,
                ConnectionState::WriteTraffic(mut write) => {
                    let count = match wants.take() {
                        Some([]) => write.queue_close_notify(&mut room).unwrap(),
                        Some(bytes) => write.encrypt(bytes, &mut room).unwrap(),
                        None => 0,
                    };
                    goes_on = count > 0;
                    self.outgoing.extend_from_slice(&room[..count]);
                }
                _ => goes_on = false,
            }
            self.incoming.drain(..discard);
            if !goes_on {
                return;
            }
        }
    }
}
