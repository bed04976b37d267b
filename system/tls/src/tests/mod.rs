//! Handshakes in memory between a client of `rustls` and [`Session`], with these primitives on both
//! sides; the primitives by known answers; what is wrong in files. Other clients are asked by the
//! part `web-hosted` of the test suite.

mod client;

use crate::config::Config;
use crate::keys::{self, File};
use crate::provider::provider;
use crate::session::{MOST_KEPT, Session};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use client::Client;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use rustls::{CipherSuite, NamedGroup, ServerConfig};

const P256: (&[u8], &[u8]) = (
    include_bytes!("p256.cert.pem"),
    include_bytes!("p256.key.pem"),
);
const ED25519: (&[u8], &[u8]) = (
    include_bytes!("ed25519.cert.pem"),
    include_bytes!("ed25519.key.pem"),
);
const RSA_KEY: &[u8] = include_bytes!("rsa.key.pem");

/// Bytes that differ from draw to draw: for tests alone.
#[derive(Debug)]
struct Counted(AtomicU8);

impl SecureRandom for Counted {
    fn fill(&self, to: &mut [u8]) -> Result<(), GetRandomFailed> {
        for byte in to {
            *byte = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(167);
        }
        Ok(())
    }
}

/// A source that has nothing.
#[derive(Debug)]
struct Dry;

impl SecureRandom for Dry {
    fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
        Err(GetRandomFailed)
    }
}

static COUNTED: Counted = Counted(AtomicU8::new(1));

fn primitives() -> CryptoProvider {
    provider(&COUNTED)
}

fn files<'a>(certificate: &'a [u8], key: &'a [u8]) -> [File<'a>; 2] {
    let file = |path, bytes| File { path, bytes };
    [file("/c.pem", certificate), file("/k.pem", key)]
}

fn config((certificate, key): (&[u8], &[u8])) -> Arc<ServerConfig> {
    let [certificate, key] = files(certificate, key);
    keys::server(primitives(), certificate, key).unwrap()
}

/// What is wrong with these files.
fn wrong(certificate: &[u8], key: &[u8]) -> String {
    let [certificate, key] = files(certificate, key);
    keys::server(primitives(), certificate, key).unwrap_err()
}

/// Lets both talk until they have nothing to say, the bytes in pieces of `piece`; what has come
/// at the server.
fn talk(client: &mut Client, server: &mut Session, piece: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    loop {
        let sent = client.take();
        for part in sent.chunks(piece) {
            server.receive(part, &mut plain).unwrap();
        }
        let answer = core::mem::take(server.outgoing());
        if sent.is_empty() && answer.is_empty() {
            return plain;
        }
        for part in answer.chunks(piece) {
            client.receive(part);
        }
    }
}

#[test]
fn each_suite_group_and_kind_of_key_carries_bytes_both_ways() {
    let suites = [
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        CipherSuite::TLS13_AES_128_GCM_SHA256,
    ];
    for suite in suites {
        for group in [NamedGroup::X25519, NamedGroup::secp256r1] {
            for pair in [P256, ED25519] {
                let mut only = primitives();
                only.cipher_suites.retain(|of| of.suite() == suite);
                only.kx_groups.retain(|of| of.name() == group);
                let mut client = Client::new(only, pair.1);
                let mut server = Session::new(config(pair)).unwrap();
                assert!(talk(&mut client, &mut server, 1000).is_empty());
                assert!(server.has_joined(), "{suite:?} {group:?}");
                client.send(b"GET / HTTP/1.1\r\n\r\n");
                let heard = talk(&mut client, &mut server, 1000);
                assert_eq!(heard, b"GET / HTTP/1.1\r\n\r\n");
                let page: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
                server.send(&page).unwrap();
                server.close().unwrap();
                talk(&mut client, &mut server, 1000);
                assert!(client.plain == page && client.is_over);
                assert!(!server.is_over());
                client.close();
                talk(&mut client, &mut server, 1000);
                assert!(server.is_over());
            }
        }
    }
}

#[test]
fn however_the_bytes_are_cut_the_handshake_is_the_same() {
    for piece in [1, 2, 5, 6, 100, 16384] {
        let mut client = Client::new(primitives(), P256.1);
        let mut server = Session::new(config(P256)).unwrap();
        talk(&mut client, &mut server, piece);
        client.send(b"whole");
        assert_eq!(talk(&mut client, &mut server, piece), b"whole", "{piece}");
    }
}

#[test]
fn a_byte_that_was_changed_on_its_way_ends_the_connection_with_an_alert() {
    let mut client = Client::new(primitives(), P256.1);
    let mut server = Session::new(config(P256)).unwrap();
    talk(&mut client, &mut server, 4096);
    client.send(b"order one");
    let mut sent = client.take();
    *sent.last_mut().unwrap() ^= 1;
    let mut plain = Vec::new();
    assert!(server.receive(&sent, &mut plain).is_err());
    assert!(plain.is_empty());
    assert!(
        !server.outgoing().is_empty(),
        "the client is not told about it"
    );
    assert!(server.send(b"more").is_err() && server.close().is_err());
}

#[test]
fn what_is_not_tls_is_refused_with_an_alert() {
    // A record of an alert that ends the connection, in the clear.
    let is_alert = |bytes: &[u8]| bytes.len() == 7 && bytes[0] == 21 && bytes[5] == 2;
    let garbage: [&[u8]; 3] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        &[0xff; 64],
    ];
    for bytes in garbage {
        let mut server = Session::new(config(P256)).unwrap();
        assert!(server.receive(bytes, &mut Vec::new()).is_err());
        let told = core::mem::take(server.outgoing());
        assert!(is_alert(&told), "{bytes:?}: {told:?}");
    }
}

#[test]
fn a_handshake_without_end_is_cut() {
    let mut server = Session::new(config(P256)).unwrap();
    // Messages of a handshake whose end never comes: of 65535 bytes, in records.
    let mut kept = 0;
    let record = |body: &[u8]| {
        let mut bytes = vec![0x16, 3, 1];
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        bytes
    };
    let mut first = vec![1, 0, 0xff, 0xff];
    first.resize(10_000, 0);
    let mut bytes = record(&first);
    while server.receive(&bytes, &mut Vec::new()).is_ok() {
        kept += bytes.len();
        assert!(kept <= MOST_KEPT);
        bytes = record(&[0; 10_000]);
    }
}

#[test]
fn without_random_bytes_there_is_no_handshake() {
    let [certificate, key] = files(P256.0, P256.1);
    let config = keys::server(provider(&Dry), certificate, key).unwrap();
    let mut client = Client::new(primitives(), P256.1);
    let hello = client.take();
    let begun = Session::new(config);
    assert!(begun.is_err() || begun.is_ok_and(|mut s| s.receive(&hello, &mut vec![]).is_err()));
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let said = wrong(P256.0, ED25519.1);
    assert!(
        said.starts_with("/k.pem: line 1: is not the key of the certificate in /c.pem, line 1")
    );
    assert!(said.ends_with("were made together"), "{said}");
}

#[test]
fn what_is_wrong_with_files_is_said_with_file_line_and_way_out() {
    let cut = &P256.0[..P256.0.len() - 40];
    let bad = String::from_utf8_lossy(P256.0).replacen('M', "!", 1);
    let late = [b"# mine\n\n", RSA_KEY].concat();
    let two = [P256.1, P256.1].concat();
    let other = String::from_utf8_lossy(P256.1).replace("PRIVATE", "PUBLIC");
    let no_certificate = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificate, key, begin) in [
        (cut, P256.1, "/c.pem: line 1: "),
        (bad.as_bytes(), P256.1, "/c.pem: line 1: "),
        (b"", P256.1, "/c.pem: line 1: has no"),
        (no_certificate, P256.1, "/c.pem: line 1: not a certificate"),
        (P256.0, other.as_bytes(), "/k.pem: line 1: has no"),
        (P256.0, &late, "/k.pem: line 3: neither"),
        (P256.0, &two, "/k.pem: line 6: a second key"),
    ] {
        let said = wrong(certificate, key);
        assert!(said.starts_with(begin), "{said}");
        assert!(
            said.contains("openssl req") || said.contains("leave one"),
            "{said}"
        );
    }
}

#[test]
fn a_configuration_is_read_and_what_is_wrong_named_with_its_line() {
    let text = "# c\nport 8443\ncertificate /a\n\nkey /b # own\nhandshake 2s\nconnections 7\n";
    let wanted = Config {
        port: 8443,
        certificate: "/a".into(),
        key: "/b".into(),
        connections: 7,
        handshake: Duration::from_secs(2),
    };
    assert_eq!(Config::read(text), Ok(wanted));
    assert_eq!(Config::read(""), Ok(Config::default()));
    for (text, begin) in [
        ("port 0", "line 1: `port` wants a number"),
        ("\nport +1", "line 2: `port` wants a number"),
        ("port 65536", "line 1: `port` wants a number"),
        ("key k.pem", "line 1: `key` wants the path"),
        ("certificate", "line 1: `certificate` wants the path"),
        ("handshake 10", "line 1: `handshake` wants a time"),
        ("connections 201", "line 1: `connections` wants"),
        ("port 1 2", "line 1: `2`: `port` has one value"),
        ("ports 1", "line 1: no setting is called `ports`"),
    ] {
        let said = Config::read(text).unwrap_err();
        assert!(said.starts_with(begin), "{text}: {said}");
    }
}
