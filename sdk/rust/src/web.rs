//! Extensions of the web server ([S] 5.1): programs that answer requests of HTTP.
//!
//! ```
//! use sing_sdk::prelude::*;
//! use sing_sdk::web::{self, Response};
//!
//! type Requests = WebContract::Exp<WebContract::Start>;
//!
//! /// Greets whoever the query names.
//! fn greet(requests: Requests) -> Result<(), Error> {
//!     web::serve(requests, |request| match request.parameter("name") {
//!         Some(name) => Response::text(&format!("Hello, {name}.\n")),
//!         None => Response::text("Hello.\n"),
//!     })
//! }
//! ```
//!
//! Invariants:
//! - An answer is ended with `Done` only if its body has been written whole, or its reader has
//!   gone: a client never takes a part for the whole.

use crate::Error;
use crate::contracts::{PipeContract, WebContract};
use crate::io::{Reader, Writer};
use crate::rt::{Text, Vector};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// The most bytes of a text that a server sends with a request.
const MOST: usize = 64 << 10;

/// A request.
#[derive(Debug)]
pub struct Request {
    /// Its method: `GET`.
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    /// Its headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// What the client sends.
    pub body: Reader,
}

impl Request {
    /// The path, as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// What stands behind `?`, as it was sent.
    #[must_use]
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The first header of a name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name)?;
        Some(&found.1)
    }

    /// Whence the client has connected, as the server says.
    #[must_use]
    pub fn peer(&self) -> Option<IpAddr> {
        self.header("x-peer")?.parse().ok()
    }

    /// A parameter of the query, decoded.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut all = self.query().split('&');
        all.find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key) == name).then(|| decode(value))
        })
    }
}

/// Decodes a part of a query: `a+b%21`. What is not encoded as it should be stays as it is.
fn decode(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        rest = tail;
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                rest = &tail[2..];
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(*byte),
        }
    }
    crate::args::into_string(out)
}

type Stream = Box<dyn FnOnce(&mut Writer) -> Result<(), Error>>;

enum Body {
    Bytes(Vec<u8>),
    Stream(Stream),
}

/// An answer.
pub struct Response {
    status: u32,
    headers: String,
    body: Body,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

impl Response {
    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Response {
        Response::bytes("text/plain; charset=utf-8", text)
    }

    /// A page.
    #[must_use]
    pub fn html(text: &str) -> Response {
        Response::bytes("text/html; charset=utf-8", text)
    }

    /// Content of any type. A list or a string that is given away is not copied.
    #[must_use]
    pub fn bytes(kind: &str, content: impl Into<Vec<u8>>) -> Response {
        let content = content.into();
        let response = Response {
            status: 200,
            headers: format!("content-length: {}\n", content.len()),
            body: Body::Bytes(content),
        };
        response.header("content-type", kind)
    }

    /// Content that is written when the answer has begun. If `write` fails for another reason than
    /// that nobody reads, the client learns that a part is missing.
    pub fn stream(
        kind: &str,
        write: impl FnOnce(&mut Writer) -> Result<(), Error> + 'static,
    ) -> Response {
        let response = Response {
            status: 200,
            headers: String::new(),
            body: Body::Stream(Box::new(write)),
        };
        response.header("content-type", kind)
    }

    /// With another status than 200: from 200 to 599.
    #[must_use]
    pub fn status(mut self, status: u16) -> Response {
        self.status = u32::from(status).clamp(200, 599);
        self
    }

    /// With a header whose name and value are the program's own. The server refuses an answer with one that is none:
    /// a line's end within one never begins another. What comes from elsewhere is for [`Response::try_header`].
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Response {
        let header = format!("{name}: {value}");
        self.headers += &header.replace(['\n', '\r'], "\0");
        self.headers.push('\n');
        self
    }

    /// With a header whose name or value comes from elsewhere: from the request, or from a file.
    ///
    /// # Errors
    /// The name or the value has a byte that no header may have. The answer is lost, so that it is not sent without
    /// the header.
    pub fn try_header(self, name: &str, value: &str) -> Result<Response, WrongHeader> {
        if name.is_empty() || !name.bytes().all(is_of_header_name) {
            return Err(WrongHeader::Name);
        }
        if !value.bytes().all(is_of_header_value) {
            return Err(WrongHeader::Value);
        }
        Ok(self.header(name, value))
    }
}

/// Whether a header's name, a token, may have a byte (RFC 9110, 5.6.2).
#[must_use]
pub fn is_of_header_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a header's value may have a byte (RFC 9110, 5.5): no control character but the tab.
#[must_use]
pub fn is_of_header_value(byte: u8) -> bool {
    byte == b'\t' || byte >= b' ' && byte != 0x7f
}

/// Why something is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongHeader {
    /// Its name is empty, or has other characters than letters, digits and ``!#$%&'*+-.^_`|~``.
    Name,
    /// Its value has a line's end or another control character, which is none but a tab.
    Value,
}

impl fmt::Display for WrongHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WrongHeader::Name => {
                "not the name of a header: a name has letters, digits and some signs, and no space"
            }
            WrongHeader::Value => {
                "not the value of a header: it has a line's end or another control character"
            }
        })
    }
}

impl core::error::Error for WrongHeader {}

fn headers(bytes: &Vector<u8>) -> Vec<(String, String)> {
    let text = crate::args::into_string(bytes.block().prefix(MOST));
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.into(), value.trim().into()))
        .collect()
}

/// Writes a body; whether somebody reads it to the end.
fn write(body: Body, out: &mut Writer) -> Result<(), Error> {
    let written = match body {
        Body::Bytes(bytes) => out.write(&bytes),
        Body::Stream(write) => write(out),
    };
    // What could not be written whole is not waited for either.
    match written.and_then(|()| out.settle()) {
        // The reader has seen enough: that is its affair.
        Err(Error::Closed) => Ok(()),
        settled => settled,
    }
}

/// Answers requests, one after the other, until the server has no more for this process.
///
/// # Errors
/// Memory or handles are short, or a body could not be written whole.
pub fn serve(
    mut requests: WebContract::Exp<WebContract::Start>,
    mut answer: impl FnMut(Request) -> Response,
) -> Result<(), Error> {
    while let Ok((method, target, lines, body, asked)) = requests.recv_request() {
        let response = answer(Request {
            method: method.get_within(MOST).unwrap_or_default(),
            target: target.get_within(MOST).unwrap_or_default(),
            headers: headers(&lines),
            body: Reader::new(body),
        });
        let (imp, exp) = PipeContract::new_channel()?;
        let headers = Text::new(&response.headers)?;
        let answering = asked.send_response(response.status, headers, exp);
        let mut out = Writer::new(imp);
        write(response.body, &mut out)?;
        drop(out);
        requests = answering.send_done();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str) -> Request {
        Request {
            method: "GET".into(),
            target: target.into(),
            headers: Vec::new(),
            body: Reader::empty(),
        }
    }

    #[test]
    fn a_header_begins_no_other() {
        for (name, value) in [
            ("a", "b\nset-cookie: c"),
            ("a\nb", "c"),
            ("a", "b\rc: d\r\n"),
        ] {
            let response = Response::stream("x/y", |_| Ok(())).header(name, value);
            let lines: Vec<&str> = response.headers.lines().collect();
            assert_eq!(lines.len(), 2, "{lines:?}");
            // No header has such a byte: the server refuses the answer.
            assert!(lines[1].contains('\0'), "{lines:?}");
        }
        let response = Response::text("").header("a", "b: c");
        assert!(response.headers.ends_with("\na: b: c\n"));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        use WrongHeader::{Name, Value};
        for (name, value, outcome) in [
            ("location", "/a?b=c d\t\u{e4}", None),
            ("X-A_b", "", None),
            ("", "b", Some(Name)),
            ("a b", "c", Some(Name)),
            ("a:", "c", Some(Name)),
            ("a\n", "c", Some(Name)),
            ("\u{e4}", "c", Some(Name)),
            ("a", "b\nset-cookie: c", Some(Value)),
            ("a", "b\r", Some(Value)),
            ("a", "\0", Some(Value)),
            ("a", "\u{7f}", Some(Value)),
        ] {
            let answer = Response::text("").try_header(name, value);
            assert_eq!(
                answer.as_ref().err(),
                outcome.as_ref(),
                "{name:?}: {value:?}"
            );
            if let Ok(answer) = answer {
                assert!(answer.headers.ends_with(&format!("\n{name}: {value}\n")));
            }
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let asked = request("/a?name=Ada+L%21&x&%6e=%zz%");
        assert_eq!(asked.path(), "/a");
        assert_eq!(asked.parameter("name").as_deref(), Some("Ada L!"));
        assert_eq!(asked.parameter("x").as_deref(), Some(""));
        assert_eq!(asked.parameter("n").as_deref(), Some("%zz%"));
        assert_eq!(asked.parameter("y"), None);
        assert_eq!(request("/").parameter("x"), None);
    }
}
