//! The head of an answer, in whatever pieces it comes.

use crate::body::Body;
use crate::{Fault, Field, content_length, fields, values};
use alloc::string::String;
use alloc::vec::Vec;

/// The most bytes of a head.
pub const HEAD: usize = 64 << 10;
/// The most fields of one.
pub const FIELDS: usize = 128;
/// The most heads that announce another.
pub const INTERIM: usize = 8;

/// The most bytes that are told of a coding that was not asked for.
pub const CODING: usize = 64;

/// The head of an answer, whose body follows.
#[derive(Debug)]
pub struct Answer {
    /// The status, from 200 to 999.
    pub status: u16,
    /// The words for it, which may be none.
    pub reason: String,
    /// The fields, in their order.
    pub fields: Vec<Field>,
    /// How the body is read.
    pub body: Body,
}

/// Reads the head of an answer, and passes over those before it (1xx).
#[derive(Debug)]
pub struct Heads {
    bytes: Vec<u8>,
    /// Bytes of the line that comes, without its end.
    line: usize,
    interim: usize,
    head_only: bool,
}

impl Heads {
    /// For a request with this method.
    #[must_use]
    pub fn new(method: &str) -> Heads {
        Heads {
            bytes: Vec::new(),
            line: 0,
            interim: 0,
            head_only: method == "HEAD",
        }
    }

    /// Whether any byte has come.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.bytes.is_empty() || self.interim > 0
    }

    /// Takes bytes that have come: how many of them are of heads, and the answer when its head is whole.
    ///
    /// # Errors
    /// Why it is none. Nothing more can be taken then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Answer>), Fault> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.bytes.len() == HEAD {
                return Err(Fault::HeadTooLong);
            }
            self.bytes.push(byte);
            match byte {
                b'\r' => {}
                b'\n' if self.line > 0 => self.line = 0,
                b'\n' => {
                    if let Some(answer) = self.read()? {
                        return Ok((at + 1, Some(answer)));
                    }
                }
                _ => self.line += 1,
            }
        }
        Ok((bytes.len(), None))
    }

    /// Reads a whole head; `None` if it announces another.
    fn read(&mut self) -> Result<Option<Answer>, Fault> {
        let bytes = core::mem::take(&mut self.bytes);
        let mut room = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut room);
        match response.parse(&bytes) {
            Ok(httparse::Status::Complete(used)) if used == bytes.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLong),
            _ => return Err(Fault::Damaged),
        }
        let status = response.code.unwrap_or_default();
        match status {
            101 => return Err(Fault::Upgrade),
            100..=199 if self.interim == INTERIM => return Err(Fault::NoFinal),
            100..=199 => {
                self.interim += 1;
                return Ok(None);
            }
            200..=999 => {}
            _ => return Err(Fault::Damaged),
        }
        let modern = response.version == Some(1);
        let fields = fields(response.headers);
        let body = match self.head_only || matches!(status, 204 | 304) {
            true => Body::nothing(),
            false => body(&fields, modern)?,
        };
        Ok(Some(Answer {
            status,
            reason: response.reason.unwrap_or_default().into(),
            fields,
            body,
        }))
    }
}

/// How the body ends (RFC 9112, 6.3).
fn body(fields: &[Field], modern: bool) -> Result<Body, Fault> {
    let length = content_length(fields)?;
    let mut codings = values(fields, "transfer-encoding");
    match (codings.next(), length) {
        (Some(_), Some(_)) => Err(Fault::Contradiction),
        (Some(_), None) if !modern => Err(Fault::Contradiction),
        (Some(coding), None) => {
            let chunked = coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none();
            let told = &coding[..coding.len().min(CODING)];
            let said = || Fault::Coding(String::from_utf8_lossy(told).into_owned());
            chunked.then(Body::chunked).ok_or_else(said)
        }
        (None, Some(bytes)) => Ok(Body::of(bytes)),
        (None, None) => Ok(Body::until_closed()),
    }
}
