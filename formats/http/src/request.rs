//! The head of a request, the frame around its chunks, and the server that it is for.

use crate::Field;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

/// How the server finds the end of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// There is none, and no field says so.
    Nothing,
    /// A field says the bytes.
    Known(u64),
    /// A field of the program's says the bytes.
    Said,
    /// It comes in chunks.
    Chunked,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query, or `*`.
    pub target: String,
    /// Host and port, as the field `host` says them.
    pub host: String,
    /// Its other fields.
    pub fields: Vec<Field>,
}

/// Whether a byte may stand within a line.
fn is_of_line(byte: &u8) -> bool {
    !matches!(byte, b'\r' | b'\n' | 0)
}

impl Request {
    /// The head. The connection is for this request alone, and says so. `None` if a part of the request would be more
    /// than one line. A `content-length` behind the first is left out.
    #[must_use]
    pub fn head(&self, length: Length) -> Option<Vec<u8>> {
        let (method, target, host) = (&self.method, &self.target, &self.host);
        let first = format!("{method} {target} HTTP/1.1\r\nhost: {host}");
        let mut lines = Vec::from([first.into_bytes()]);
        let mut said = false;
        for (name, value) in &self.fields {
            if name == b"content-length" && core::mem::replace(&mut said, true) {
                continue;
            }
            lines.push([name, &b": "[..], value].concat());
        }
        match length {
            Length::Nothing | Length::Said => {}
            Length::Known(bytes) => lines.push(format!("content-length: {bytes}").into_bytes()),
            Length::Chunked => lines.push(b"transfer-encoding: chunked".to_vec()),
        }
        lines.push(b"connection: close".to_vec());
        let texts = [method, target, host].map(String::as_bytes);
        let whole = texts.iter().all(|text| text.iter().all(is_of_line));
        let mut rest = lines.iter().skip(1);
        if !whole || !rest.all(|line| line.iter().all(is_of_line)) {
            return None;
        }
        let mut head = lines.join(&b"\r\n"[..]);
        head.extend(b"\r\n\r\n");
        Some(head)
    }
}

/// The line before a chunk of so many bytes. [`BEHIND_CHUNK`] follows the chunk.
#[must_use]
pub fn before_chunk(bytes: usize) -> Vec<u8> {
    format!("{bytes:x}\r\n").into_bytes()
}

/// The bytes that follow each chunk.
pub const BEHIND_CHUNK: &[u8] = b"\r\n";

/// The last chunk with the fields behind it. A field that would be more than one line is left out.
#[must_use]
pub fn last_chunk(trailers: &[Field]) -> Vec<u8> {
    let mut end = b"0\r\n".to_vec();
    for (name, value) in trailers {
        if name.iter().chain(value).all(is_of_line) {
            end.extend([name, &b": "[..], value, b"\r\n"].concat());
        }
    }
    end.extend(b"\r\n");
    end
}

/// Host and port of a server as a URL has them, `HOST[:PORT]`; a host in brackets, an address of IPv6, is given
/// without them. `None` for others, and for port 0.
#[must_use]
pub fn server(text: &str, usual: u16) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            let none = port.is_empty().then_some("");
            (host, port.strip_prefix(':').or(none)?)
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    let port = match port {
        "" => usual,
        port => port.parse().ok().filter(|port| digits && *port != 0)?,
    };
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    (!host.is_empty() && host.bytes().all(good)).then_some((host, port))
}
