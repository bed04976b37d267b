//! HTTP/1.1 as a client speaks it (RFC 9112): the head of a request ([`request`]), the head of an answer
//! ([`answer`]) and its body ([`body`]), which are read piece by piece as the bytes come.
//!
//! Nothing here waits or owns a connection: who has one passes on what has come, and sends what is returned.
//! httparse reads the lines.
//!
//! Invariants:
//! - Whatever bytes a server sends become a value or a [`Fault`], in whatever pieces they come.
//! - At most [`answer::HEAD`] bytes of a head are kept, [`body::TRAILERS`] of trailers and [`body::LINE`] of any
//!   other line; content is passed over and not kept.
//! - What would be understood in two ways (two lengths, a length and chunks) is a fault.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answer;
pub mod body;
pub mod request;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A field of a head or of trailers: its name in lower case, and its value without spaces around it.
pub type Field = (Vec<u8>, Vec<u8>);

/// Why an answer is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not one of HTTP/1.
    Damaged,
    /// It says in two ways where its body ends.
    Contradiction,
    /// Its head has more than [`answer::HEAD`] bytes or [`answer::FIELDS`] fields.
    HeadTooLong,
    /// Its trailers have more than [`body::TRAILERS`] bytes or [`body::TRAILER_FIELDS`] fields.
    TrailersTooLong,
    /// More than [`answer::INTERIM`] heads that announce another (1xx).
    NoFinal,
    /// Its body is in a form that was not asked for: what `transfer-encoding` says, of that at most the first
    /// [`answer::CODING`] bytes.
    Coding(String),
    /// The server goes over to another protocol (101), which was not asked for.
    Upgrade,
    /// The connection has ended before it has.
    Cut,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Damaged => "the answer is not one of HTTP",
            Fault::Contradiction => "the answer contradicts itself",
            Fault::HeadTooLong => "the head of the answer is too long",
            Fault::TrailersTooLong => "the fields behind the answer's body are too long",
            Fault::NoFinal => "the server does not come to its answer",
            Fault::Coding(_) => "the answer comes in a form that was not asked for",
            Fault::Upgrade => "the server changes to another protocol",
            Fault::Cut => "the connection has ended before the answer has",
        })
    }
}

impl core::error::Error for Fault {}

/// The fields that httparse has found.
fn fields(found: &[httparse::Header<'_>]) -> Vec<Field> {
    let field = |h: &httparse::Header<'_>| {
        let name = h.name.to_ascii_lowercase().into_bytes();
        (name, h.value.trim_ascii().to_vec())
    };
    found.iter().map(field).collect()
}

/// The values of the fields with a name, which is in lower case.
pub fn values<'a>(fields: &'a [Field], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let of = fields.iter().filter(move |f| f.0 == name.as_bytes());
    of.map(|f| f.1.as_slice())
}

/// The length that fields say: none, or one in plain digits. Lines that repeat it are one.
///
/// # Errors
/// [`Fault::Contradiction`] for two lengths, [`Fault::Damaged`] for one that is no number of 64 bits.
pub fn content_length(fields: &[Field]) -> Result<Option<u64>, Fault> {
    let mut all = values(fields, "content-length");
    let Some(first) = all.next() else {
        return Ok(None);
    };
    if all.any(|other| other != first) {
        return Err(Fault::Contradiction);
    }
    let plain = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    let text = core::str::from_utf8(first).ok().filter(|_| plain);
    let number = text.and_then(|text| text.parse().ok());
    number.map(Some).ok_or(Fault::Damaged)
}
