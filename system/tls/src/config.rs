//! The configuration: a text with a setting a line.
//!
//! ```text
//! port 443
//! certificate /tls/cert.pem
//! key /tls/key.pem
//! ```

use alloc::format;
use alloc::string::String;
use core::time::Duration;

/// The most bytes of a configuration.
pub const MOST_BYTES: usize = 16 << 10;

/// What the service is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The port at which it listens.
    pub port: u16,
    /// The file of its certificate and those above it.
    pub certificate: String,
    /// The file of its key.
    pub key: String,
    /// The most connections that have been handed on.
    pub connections: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: 443,
            certificate: "/tls/cert.pem".into(),
            key: "/tls/key.pem".into(),
            connections: 32,
            handshake: Duration::from_secs(10),
        }
    }
}

fn number(word: &str, most: u32) -> Option<u32> {
    let plain = word.bytes().all(|b| b.is_ascii_digit());
    let number = word.parse().ok().filter(|_| plain)?;
    (1..=most).contains(&number).then_some(number)
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The number of the first line that is wrong, why, and what would be right.
    pub fn read(text: &str) -> Result<Config, String> {
        let mut config = Config::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(setting) = words.next() else {
                continue;
            };
            let (value, more) = (words.next().unwrap_or_default(), words.next());
            let taken = match setting {
                "port" => number(value, 65535)
                    .map(|n| config.port = n as u16)
                    .ok_or("a number from 1 to 65535"),
                "connections" => number(value, 200)
                    .map(|n| config.connections = n as usize)
                    .ok_or("a number from 1 to 200"),
                "handshake" => value
                    .strip_suffix('s')
                    .and_then(|digits| number(digits, 60))
                    .map(|n| config.handshake = Duration::from_secs(n.into()))
                    .ok_or("a time from 1s to 60s"),
                "certificate" | "key" if value.starts_with('/') => {
                    match setting {
                        "key" => config.key = value.into(),
                        _ => config.certificate = value.into(),
                    }
                    Ok(())
                }
                "certificate" | "key" => Err("the path of a file, from `/` on"),
                _ => {
                    return Err(format!(
                        "line {}: no setting is called `{setting}`; there are port, certificate, key, connections, \
                         handshake",
                        at + 1
                    ));
                }
            };
            taken.map_err(|want| format!("line {}: `{setting}` wants {want}", at + 1))?;
            if let Some(more) = more {
                return Err(format!(
                    "line {}: `{more}`: `{setting}` has one value",
                    at + 1
                ));
            }
        }
        Ok(config)
    }
}
