//! The head of a request: its first line and its headers, read by httparse, and the rules about
//! them that keep requests from being smuggled (RFC 9112, 2.2, 5.1, 6.1, 6.3 and 11.2).

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The most bytes of a head.
pub const MOST_BYTES: usize = 16 << 10;
/// The most bytes of a request's first line.
pub const MOST_LINE: usize = 8 << 10;
/// The most headers.
pub const MOST_HEADERS: usize = 64;
/// The most bytes of empty lines before a request.
pub const MOST_EMPTY: usize = 8;

/// Why a request is not served: the status, and the reason for the person who has made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status of the answer.
    pub status: u16,
    /// The reason.
    pub reason: &'static str,
}

impl Fault {
    /// A request that is none.
    #[must_use]
    pub const fn bad(reason: &'static str) -> Fault {
        Fault {
            status: 400,
            reason,
        }
    }

    /// Another fault.
    #[must_use]
    pub const fn new(status: u16, reason: &'static str) -> Fault {
        Fault { status, reason }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.reason)
    }
}

/// How the end of a request's body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes; 0 where there is none.
    Length(u64),
    /// Chunks, each with its length before it.
    Chunked,
}

/// A header: the name in lower case, the value without spaces around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Vec<u8>,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method, as it was sent.
    pub method: String,
    /// Path and query, as they were sent; `*` for the server as a whole.
    pub target: String,
    /// Whether the client speaks HTTP/1.1 and not 1.0.
    pub modern: bool,
    /// All headers, in their order.
    pub headers: Vec<Header>,
    /// How its body ends.
    pub framing: Framing,
    /// Whether the client wants to send further requests over the connection.
    pub keep_alive: bool,
    /// Whether the client waits for 100 Continue before it sends the body.
    pub expects: bool,
}

impl Head {
    /// The value of a header, by its name in lower case, if there is one such line and it is text.
    #[must_use]
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut found = all(&self.headers, name);
        let (first, second) = (found.next()?, found.next());
        core::str::from_utf8(first)
            .ok()
            .filter(|_| second.is_none())
    }

    /// The value of a header that is a list, which may be in several lines (RFC 9110, 5.3); `None` if
    /// there is none, or it is no text.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut found = all(&self.headers, name).map(core::str::from_utf8);
        let mut list = Cow::Borrowed(found.next()?.ok()?);
        for more in found {
            list.to_mut().push_str(", ");
            list.to_mut().push_str(more.ok()?);
        }
        Some(list)
    }

    /// Reads a whole head, the empty line at its end included.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn read(bytes: &[u8]) -> Result<Head, Fault> {
        lines_are_whole(bytes)?;
        let bytes = &*known_version(bytes);
        let mut room = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut room);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
            Ok(_) => return Err(Fault::bad("the head of the request is incomplete")),
            Err(e) => return Err(fault_of(e, bytes)),
        }
        let method = request.method.unwrap_or_default();
        let modern = request.version == Some(1);
        let target = request.path.unwrap_or_default();
        if !target.is_ascii() {
            return Err(Fault::bad("the target has bytes that are no ASCII"));
        }
        let header = |h: &httparse::Header<'_>| Header {
            name: h.name.to_ascii_lowercase(),
            value: h.value.trim_ascii().into(),
        };
        let headers: Vec<Header> = request.headers.iter().map(header).collect();
        let target = origin_form(method, target)?;
        host(&headers, modern)?;
        let framing = framing(&headers, modern)?;
        Ok(Head {
            method: method.into(),
            target: target.into_owned(),
            modern,
            keep_alive: keep_alive(&headers, modern),
            expects: expects(&headers, modern, framing)?,
            headers,
            framing,
        })
    }
}

fn fault_of(error: httparse::Error, bytes: &[u8]) -> Fault {
    // What stands in the place of the version is one only as the third word of the line.
    let line = bytes.split(|b| *b == b'\r').next().unwrap_or_default();
    let mut words = line.split(|b| *b == b' ').skip(2);
    let is_version =
        words.next().is_some_and(|w| w.starts_with(b"HTTP/")) && words.next().is_none();
    match error {
        httparse::Error::TooManyHeaders => Fault::new(431, "the request has too many headers"),
        httparse::Error::Version if is_version => {
            Fault::new(505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
        }
        httparse::Error::HeaderName => {
            Fault::bad("a header's name is none, or is not followed by a colon")
        }
        httparse::Error::HeaderValue => {
            Fault::bad("a header's value has bytes that it may not have")
        }
        _ => Fault::bad("the first line is not a request's"),
    }
}

/// A line ends with a carriage return and a line feed, and neither is anywhere else: readers differ
/// in what they take for the end of a line otherwise.
fn lines_are_whole(bytes: &[u8]) -> Result<(), Fault> {
    let mut before = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if (byte == b'\n') != (before == b'\r') {
            return Err(Fault::bad("a line does not end with CR LF"));
        }
        // A line that goes on in the next one, which begins with a space.
        if before == b'\n' && matches!(byte, b' ' | b'\t') && at > 0 {
            return Err(Fault::bad("a header goes on in the next line"));
        }
        before = byte;
    }
    Ok(())
}

/// A head of a later HTTP/1, which is to be read as one of HTTP/1.1 (RFC 9110, 2.5): with that version.
fn known_version(bytes: &[u8]) -> Cow<'_, [u8]> {
    let end = bytes.iter().position(|b| *b == b'\r');
    let line = &bytes[..end.unwrap_or_default()];
    match line {
        [
            ..,
            b' ',
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            b'1',
            b'.',
            b'2'..=b'9',
        ] => {
            let mut known = Vec::from(bytes);
            known[line.len() - 1] = b'1';
            known.into()
        }
        _ => bytes.into(),
    }
}

/// The path and query of a target, which may be written with scheme and host.
fn origin_form<'a>(method: &str, target: &'a str) -> Result<Cow<'a, str>, Fault> {
    if method == "CONNECT" {
        return Err(Fault::new(501, "this server is not a proxy"));
    }
    if target.starts_with('/') || target == "*" && method == "OPTIONS" {
        return Ok(target.into());
    }
    let scheme = target.get(..7).unwrap_or_default();
    if scheme.eq_ignore_ascii_case("http://") {
        let rest = target.get(7..).unwrap_or_default();
        let path = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path);
        if !authority.is_empty() && !authority.contains('@') {
            return Ok(match (path.bytes().next(), method) {
                (Some(b'/'), _) => path.into(),
                // The server as a whole (RFC 9112, 3.2.4).
                (None, "OPTIONS") => "*".into(),
                // The path of a URL may be left out.
                _ => format!("/{path}").into(),
            });
        }
    }
    Err(Fault::bad("the target is neither a path nor a URL"))
}

fn all<'a, 'n>(
    headers: &'a [Header],
    name: &'n str,
) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
    let of = headers.iter().filter(move |h| h.name == name);
    of.map(|h| h.value.as_slice())
}

fn host(headers: &[Header], modern: bool) -> Result<(), Fault> {
    let mut hosts = all(headers, "host");
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            let may = |b: &u8| b.is_ascii_graphic() && !b"/?#@\\<>\"".contains(b);
            match host.iter().all(may) {
                true => Ok(()),
                false => Err(Fault::bad("the Host header is no name of a host")),
            }
        }
        (None, _) if !modern => Ok(()),
        (None, _) => Err(Fault::bad("there is no Host header")),
        (Some(_), Some(_)) => Err(Fault::bad("there is more than one Host header")),
    }
}

fn framing(headers: &[Header], modern: bool) -> Result<Framing, Fault> {
    let mut codings = all(headers, "transfer-encoding");
    let mut lengths = all(headers, "content-length");
    let (coding, length) = (codings.next(), lengths.next());
    if coding.is_some() && length.is_some() {
        return Err(Fault::bad("there are Content-Length and Transfer-Encoding"));
    }
    if let Some(coding) = coding {
        if !modern {
            return Err(Fault::bad("HTTP/1.0 has no Transfer-Encoding"));
        }
        if codings.next().is_some() {
            return Err(Fault::bad("there is more than one Transfer-Encoding"));
        }
        if coding.eq_ignore_ascii_case(b"chunked") {
            return Ok(Framing::Chunked);
        }
        let parts = coding.split(|b| *b == b',').map(<[u8]>::trim_ascii);
        let chunked = parts.filter(|c| c.eq_ignore_ascii_case(b"chunked"));
        let last = coding.rsplit(|b| *b == b',').next().unwrap_or_default();
        // A coding that others may know, if the end of the body can be found at all.
        return Err(
            match chunked.count() == 1 && last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                true => Fault::new(501, "no Transfer-Encoding but chunked is known here"),
                false => Fault::bad("the Transfer-Encoding does not end with chunked, once"),
            },
        );
    }
    let Some(length) = length else {
        return Ok(Framing::Length(0));
    };
    if lengths.next().is_some() {
        return Err(Fault::bad("there is more than one Content-Length"));
    }
    let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
    let number = core::str::from_utf8(length).ok().filter(|_| digits);
    match number.map(str::parse) {
        Some(Ok(bytes)) => Ok(Framing::Length(bytes)),
        Some(Err(_)) => Err(Fault::new(413, "the body is larger than numbers go")),
        None => Err(Fault::bad("the Content-Length is no number")),
    }
}

fn keep_alive(headers: &[Header], modern: bool) -> bool {
    let says = |word: &str| {
        let mut tokens = all(headers, "connection").flat_map(|v| v.split(|b| *b == b','));
        tokens.any(|t| t.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    !says("close") && (modern || says("keep-alive"))
}

fn expects(headers: &[Header], modern: bool, framing: Framing) -> Result<bool, Fault> {
    match all(headers, "expect").next() {
        // A client of HTTP/1.0 does not know the answer.
        None => Ok(false),
        Some(_) if !modern => Ok(false),
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => {
            Ok(framing != Framing::Length(0))
        }
        Some(_) => Err(Fault::new(
            417,
            "nothing but 100-continue can be expected here",
        )),
    }
}
