//! A server's certificates and key, as PEM has them: `openssl` writes both so.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{Error, InconsistentKeys, ServerConfig};

/// The most bytes of either file.
pub const MOST_BYTES: usize = 64 << 10;

/// How to make both, for whoever has none.
pub const HOW: &str = "`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 \
     -subj /CN=NAME -addext subjectAltName=DNS:NAME -keyout key.pem -out cert.pem` makes both";

/// Nothing here depends on the time: tickets, which would, are not given out.
#[derive(Debug)]
struct NoTime;

impl TimeProvider for NoTime {
    fn current_time(&self) -> Option<UnixTime> {
        None
    }
}

/// A file of PEM, for what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its path.
    pub path: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// The line of the `at`-th section of a kind, or of the end of the text.
fn line(bytes: &[u8], kind: &str, at: usize) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let is = |line: &&str| line.starts_with("-----BEGIN") && line.contains(kind);
    let lines = || text.lines().enumerate();
    let mut found = lines().filter(|(_, line)| is(line)).map(|(n, _)| n + 1);
    found.nth(at).unwrap_or_else(|| lines().count().max(1))
}

/// All of a kind, in their order.
fn read<T: PemObject>(file: File<'_>, kind: &str) -> Result<Vec<(usize, T)>, String> {
    let mut found = Vec::new();
    for (at, section) in T::pem_slice_iter(file.bytes).enumerate() {
        let line = line(file.bytes, kind, at);
        match section {
            Ok(section) => found.push((line, section)),
            Err(why) => {
                let why = match why {
                    pem::Error::MissingSectionEnd { .. } => "has no line `-----END`",
                    pem::Error::Base64Decode(_) => "is not base64",
                    pem::Error::IllegalSectionStart { .. } => "begins with a line that is none",
                    _ => "cannot be read",
                };
                let path = file.path;
                return Err(format!(
                    "{path}: line {line}: what begins here {why}; {HOW}"
                ));
            }
        }
    }
    match found.is_empty() {
        true => Err(format!(
            "{}: line 1: has no `-----BEGIN {kind}`; {HOW}",
            file.path
        )),
        false => Ok(found),
    }
}

/// What a server shows and signs with, from the files of its certificates (its own first) and its
/// key.
///
/// # Errors
/// The file, the line, why, and what helps.
pub fn server(
    provider: CryptoProvider,
    certificates: File<'_>,
    key: File<'_>,
) -> Result<Arc<ServerConfig>, String> {
    let chain = read::<CertificateDer<'static>>(certificates, "CERTIFICATE")?;
    let first = chain.first().map_or(1, |(line, _)| *line);
    let chain = chain.into_iter().map(|(_, certificate)| certificate);
    let mut keys = read::<PrivateKeyDer<'static>>(key, "PRIVATE KEY")?;
    if let Some((line, _)) = keys.get(1) {
        let path = key.path;
        return Err(format!("{path}: line {line}: a second key; leave one"));
    }
    let (line, secret) = keys.remove(0);
    let secret = provider.key_provider.load_private_key(secret);
    let secret = secret.map_err(|_| {
        let path = key.path;
        format!(
            "{path}: line {line}: neither a key of P-256 nor one of Ed25519, in PKCS#8 without a password; {HOW}"
        )
    })?;
    let own = CertifiedKey::new(chain.collect(), secret);
    own.keys_match().map_err(|error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => format!(
            "{}: line {line}: is not the key of the certificate in {}, line {first}; give the two that were \
             made together",
            key.path, certificates.path
        ),
        other => format!(
            "{}: line {first}: not a certificate ({other}); {HOW}",
            certificates.path
        ),
    })?;
    let unusable = |error: Error| format!("{}: {error}", certificates.path);
    let builder = ServerConfig::builder_with_details(Arc::new(provider), Arc::new(NoTime));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]);
    let shown: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(own));
    let builder = builder.map_err(unusable)?.with_no_client_auth();
    let mut config = builder.with_cert_resolver(shown);
    // Nothing is kept of a connection that has ended.
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
