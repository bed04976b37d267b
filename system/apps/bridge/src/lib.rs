//! The protocol of NATS as its clients speak it: lines and messages are read from bytes that come in
//! any pieces, and written. A library without channels, so that it is tested on the host.
//!
//! Invariants:
//! - What the other side sends is bounded before it is kept: a line, the headers of a message, its
//!   content. A message beyond the bounds, which is another client's doing, is passed over and named.
//! - For what is no line of this protocol the connection is at its end: there is no way to find the
//!   next line.
//! - What is written holds no line's end but its own: subjects and headers are checked before.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

// What makes the code for contracts runs when the bridge is built, and is tested here.
#[cfg(test)]
#[path = "../build/generate.rs"]
mod generate;
#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The most bytes of a message's content.
pub const MOST: usize = 64 << 10;
/// The most bytes of its headers.
pub const HEADERS: usize = 4 << 10;
/// The most bytes of a line. That of a server about itself names its neighbours, too.
pub const LINE: usize = 32 << 10;
/// The most bytes of a subject.
pub const SUBJECT: usize = 256;
/// The most bytes of a message that is passed over: servers of NATS have none that are longer.
const PASSED: usize = 64 << 20;

/// Why a bridge cannot use a server that greets so: `about` is what stands behind INFO, fields of
/// JSON.
#[must_use]
pub fn unfit(about: &str) -> Option<String> {
    // Without spaces, as most servers write them.
    let about: String = about.chars().filter(|c| !c.is_whitespace()).collect();
    let says = |field: &str| about.contains(field);
    if says("\"tls_required\":true") {
        return Some("it wants TLS, which is not there yet".into());
    }
    if says("\"auth_required\":true") {
        return Some("it wants a user and a password, which a bridge has not".into());
    }
    if !says("\"headers\":true") {
        return Some("it passes on no headers: take version 2.2 or later".into());
    }
    let most = about.split_once("\"max_payload\":")?.1;
    let digits = most.find(|c: char| !c.is_ascii_digit());
    let most: usize = most[..digits.unwrap_or(most.len())].parse().ok()?;
    // The longer ones would end the connection, each time.
    (most < MOST + HEADERS).then(|| {
        let needs = MOST + HEADERS;
        format!("its longest message is of {most} bytes (max_payload): a bridge needs {needs}")
    })
}

/// Why a server cannot be understood any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// A line without end.
    LongLine,
    /// A line that is none of this protocol.
    Line,
    /// A message that is longer than any server's.
    LongMessage,
    /// No line's end behind a message, or a head that is longer than the whole.
    Message,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bad::LongLine => "it sends a line without end",
            Bad::Line => "it sends a line that NATS does not know",
            Bad::LongMessage => "it sends a message that is too long",
            Bad::Message => "it sends a message that is not as long as it says",
        })
    }
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// About itself, as JSON.
    Info(String),
    /// A message.
    Message(Message),
    /// A message that is longer than it may be, or whose headers are none: where it was sent, and
    /// where an answer is waited for. Nothing else of it is kept.
    Useless(Message),
    /// It asks whether somebody is there.
    Ping,
    /// Somebody is there.
    Pong,
    /// What came before was understood.
    Ok,
    /// What came before was not.
    Error(String),
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// To where it was sent.
    pub subject: String,
    /// Where an answer is waited for.
    pub reply: Option<String>,
    /// The status of a message of the server's own: 503 where nobody hears a request.
    pub status: Option<u16>,
    /// Its headers, in order.
    pub headers: Vec<(String, String)>,
    /// Its content.
    pub payload: Vec<u8>,
}

impl Message {
    /// The first header of a name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        let found = all.find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }
}

/// What has come of a server's lines.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// So many of them have been taken.
    at: usize,
    /// So many of the next ones are of a message that is passed over.
    passed: usize,
}

impl Lines {
    /// More bytes have come.
    pub fn push(&mut self, bytes: &[u8]) {
        let passed = self.passed.min(bytes.len());
        self.passed -= passed;
        let bytes = &bytes[passed..];
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next thing that was said, if it is there as a whole.
    ///
    /// # Errors
    /// [`Bad`]: nothing that comes behind can be understood.
    pub fn said(&mut self) -> Result<Option<Said>, Bad> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|b| *b == b'\n') else {
            return if rest.len() > LINE {
                Err(Bad::LongLine)
            } else {
                Ok(None)
            };
        };
        if end > LINE {
            return Err(Bad::LongLine);
        }
        let line = rest[..end].strip_suffix(b"\r").ok_or(Bad::Line)?;
        let line = core::str::from_utf8(line).map_err(|_| Bad::Line)?;
        let (word, about) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let said = if is("MSG") || is("HMSG") {
            let behind = &rest[end + 1..];
            let (said, bytes) = match message(is("HMSG"), about, behind)? {
                Some(whole) => whole,
                None => return Ok(None),
            };
            let used = bytes.min(behind.len());
            self.passed = bytes - used;
            self.at += used;
            said
        } else if is("PING") {
            Said::Ping
        } else if is("PONG") {
            Said::Pong
        } else if is("INFO") {
            Said::Info(about.trim().to_owned())
        } else if is("+OK") {
            Said::Ok
        } else if is("-ERR") {
            Said::Error(about.trim().to_owned())
        } else {
            return Err(Bad::Line);
        };
        self.at += end + 1;
        Ok(Some(said))
    }
}

/// A message of which the first line is `about`, and how many bytes behind that it has: of one that is
/// passed over, they need not be there.
fn message(has_headers: bool, about: &str, rest: &[u8]) -> Result<Option<(Said, usize)>, Bad> {
    let words: Vec<&str> = about.split_ascii_whitespace().collect();
    let lengths = 1 + usize::from(has_headers);
    let named = words.len().checked_sub(lengths).ok_or(Bad::Line)?;
    let (names, lengths) = words.split_at(named);
    let (subject, reply) = match names {
        [subject, _number] => (*subject, None),
        [subject, _number, reply] => (*subject, Some(*reply)),
        _ => return Err(Bad::Line),
    };
    let number = |text: &str| text.parse::<usize>().map_err(|_| Bad::Line);
    let (head, all) = match *lengths {
        [head, all] => (number(head)?, number(all)?),
        [all] => (0, number(all)?),
        _ => return Err(Bad::Line),
    };
    if all > PASSED || subject.len() > SUBJECT {
        return Err(Bad::LongMessage);
    }
    if head > all {
        return Err(Bad::Message);
    }
    let useless = || Message {
        subject: subject.to_owned(),
        reply: reply.filter(|r| r.len() <= SUBJECT).map(ToOwned::to_owned),
        ..Message::default()
    };
    let is_long = head > HEADERS || all - head > MOST;
    if is_long || reply.is_some_and(|reply| reply.len() > SUBJECT) {
        return Ok(Some((Said::Useless(useless()), all + 2)));
    }
    let Some(bytes) = rest.get(..all + 2) else {
        return Ok(None);
    };
    let content = bytes.strip_suffix(b"\r\n").ok_or(Bad::Message)?;
    let found = match has_headers {
        true => headers(&content[..head]),
        false => Some((None, Vec::new())),
    };
    let said = match found {
        Some((status, headers)) => Said::Message(Message {
            status,
            headers,
            payload: content[head..].to_vec(),
            ..useless()
        }),
        None => Said::Useless(useless()),
    };
    Ok(Some((said, bytes.len())))
}

type Headers = (Option<u16>, Vec<(String, String)>);

/// The headers, if they are some: no server looks at what its clients write there.
fn headers(bytes: &[u8]) -> Option<Headers> {
    let text = core::str::from_utf8(bytes).ok()?;
    let text = text.strip_suffix("\r\n\r\n")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().and_then(|line| line.strip_prefix("NATS/1.0"));
    let status = first?.trim();
    let status = status.split(' ').next().and_then(|word| word.parse().ok());
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    Some((status, lines.map(pair).collect::<Option<_>>()?))
}

/// Why a text is no subject to which messages can be sent, if it is none.
#[must_use]
pub fn not_a_subject(text: &str) -> Option<&'static str> {
    if text.is_empty() || text.len() > SUBJECT {
        return Some("a subject has 1 to 256 bytes");
    }
    if text.split('.').any(str::is_empty) {
        return Some("a part of a subject is empty");
    }
    let strange = |c: char| c.is_whitespace() || c.is_control() || c == '*' || c == '>';
    text.contains(strange)
        .then_some("spaces, `*` and `>` are not in a subject to which something is sent")
}

/// How a client begins.
pub const CONNECT: &[u8] = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\
    \"lang\":\"singularity\",\"version\":\"0.1\",\"protocol\":1,\"headers\":true,\"no_responders\":true,\
    \"name\":\"bridge\"}\r\nPING\r\n";
/// The answer to [`Said::Ping`].
pub const PONG: &[u8] = b"PONG\r\n";

/// Asks for what is sent to a subject; of those who do so for one group, one gets each message.
#[must_use]
pub fn subscribe(subject: &str, group: Option<&str>) -> Vec<u8> {
    let group = group.map(|group| format!("{group} ")).unwrap_or_default();
    format!("SUB {subject} {group}1\r\n").into_bytes()
}

/// Sends a message. Headers with a line's end within them are left out.
#[must_use]
pub fn publish(
    subject: &str,
    reply: Option<&str>,
    headers: &[(&str, &str)],
    payload: &[u8],
) -> Vec<u8> {
    let mut head = String::from("NATS/1.0\r\n");
    for (name, value) in headers {
        if !value.contains(['\r', '\n']) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += "\r\n";
    let reply = reply.map(|reply| format!("{reply} ")).unwrap_or_default();
    let all = head.len() + payload.len();
    let mut bytes = format!("HPUB {subject} {reply}{} {all}\r\n{head}", head.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(b"\r\n");
    bytes
}
