//! The head of an answer, and the small pages of errors.

use crate::date;
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use sing_sdk::web::{is_of_header_name, is_of_header_value};

/// Bytes that a head usually takes.
const USUAL: usize = 512;

/// The words for a status.
#[must_use]
pub fn words(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

/// The length of an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// There is none, and nothing is said of it: 204 and 304.
    None,
    /// So many bytes.
    Known(u64),
    /// In chunks.
    Chunked,
    /// Up to the end of the connection.
    Open,
}

/// The head of an answer: its first line and headers, ended by an empty line.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    text: String,
}

impl Answer {
    /// An answer at a time in seconds since 1970.
    #[must_use]
    pub fn new(status: u16, now: u64) -> Answer {
        let mut text = String::with_capacity(USUAL);
        let _ = write!(text, "HTTP/1.1 {status} ");
        text.push_str(words(status));
        text.push_str("\r\nDate: ");
        text.push_str(&date::show(now));
        text.push_str("\r\nServer: Singularity\r\n");
        Answer { status, text }
    }

    /// With a header, whose name is the server's own. Bytes that no value may have are written as in a URL, `%0A`: so
    /// none begins another header, or ends the head.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl core::fmt::Display) -> Answer {
        let _ = write!(self.text, "{name}: ");
        let _ = write!(Value(&mut self.text), "{value}");
        self.text.push_str("\r\n");
        self
    }

    /// The same with a text as its value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Answer {
        for part in [name, ": "] {
            self.text.push_str(part);
        }
        let _ = Value(&mut self.text).write_str(value);
        self.text.push_str("\r\n");
        self
    }

    /// With the headers of an extension.
    #[must_use]
    pub fn given(mut self, given: &Given) -> Answer {
        self.text.push_str(&given.lines);
        self
    }

    /// Its bytes. `stays`: whether the connection goes on behind it.
    #[must_use]
    pub fn finish(mut self, length: Length, stays: bool, modern: bool) -> String {
        match length {
            Length::Known(bytes) => {
                let _ = write!(self.text, "Content-Length: {bytes}\r\n");
            }
            Length::Chunked => self.text.push_str("Transfer-Encoding: chunked\r\n"),
            Length::None | Length::Open => {}
        }
        match (stays, modern) {
            (false, _) => self.text.push_str("Connection: close\r\n"),
            (true, false) => self.text.push_str("Connection: keep-alive\r\n"),
            (true, true) => {}
        }
        self.text.push_str("\r\n");
        self.text
    }
}

/// Writes the value of a header.
struct Value<'a>(&'a mut String);

impl core::fmt::Write for Value<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        if text.bytes().all(is_of_header_value) {
            self.0.push_str(text);
            return Ok(());
        }
        for c in text.chars() {
            // What no value may have is ASCII.
            match u8::try_from(c) {
                Ok(byte) if !is_of_header_value(byte) => write!(self.0, "%{byte:02X}")?,
                _ => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// The page of an error. `id` is that of the request, where the log says more.
#[must_use]
pub fn page(status: u16, reason: &str, id: Option<&str>) -> String {
    let words = words(status);
    let id = id.map_or(String::new(), |id| {
        format!("<p>Request {id}; the log has more.</p>\n")
    });
    format!(
        "<!doctype html>\n<title>{status} {words}</title>\n<h1>{status} {words}</h1>\n\
         <p>{}.</p>\n{id}",
        escaped(reason)
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// The headers of an extension's answer that go to the client, and the length that it has said.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// As they are sent, each line ended.
    lines: String,
    /// The length of the body, if it says one.
    pub length: Option<u64>,
}

/// The most bytes of an extension's headers.
pub const MOST_GIVEN: usize = 16 << 10;

/// Reads the headers of an extension's answer, a line each. Those that are about the connection are
/// the server's and are passed over. `None` if they could be taken for something else.
#[must_use]
pub fn given(text: &str) -> Option<Given> {
    const SERVERS: [&str; 9] = [
        "connection",
        "keep-alive",
        "transfer-encoding",
        "trailer",
        "te",
        "upgrade",
        "date",
        "server",
        "proxy-connection",
    ];
    let mut given = Given::default();
    for line in text.lines() {
        let (name, value) = line.split_once(':')?;
        let value = value.trim_matches([' ', '\t']);
        let plain = value.bytes().all(is_of_header_value);
        if name.is_empty() || !name.bytes().all(is_of_header_name) || !plain {
            return None;
        }
        if SERVERS.iter().any(|s| s.eq_ignore_ascii_case(name)) {
            continue;
        }
        if name.eq_ignore_ascii_case("content-length") {
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            if !digits || given.length.is_some() {
                return None;
            }
            given.length = Some(value.parse().ok()?);
            continue;
        }
        let _ = write!(given.lines, "{name}: {value}\r\n");
    }
    Some(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn an_extension_cannot_forge_an_answer() {
        let read = |text| given(text);
        let is = |lines: &str, length| {
            Some(Given {
                lines: lines.into(),
                length,
            })
        };
        assert_eq!(read(""), is("", None));
        assert_eq!(
            read("A: b\ncontent-length: 7\nX-Y:z \n"),
            is("A: b\r\nX-Y: z\r\n", Some(7))
        );
        assert_eq!(
            read("Connection: close\nTransfer-Encoding: chunked\n"),
            is("", None)
        );
        for bad in [
            "A",
            ": b",
            "A b: c",
            "A: b\rC: d",
            "A: \u{1}",
            "content-length: 7\ncontent-length: 7",
            "content-length: -1",
            "content-length: 99999999999999999999",
            "\u{e4}: b",
            "A\t: b",
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn no_value_begins_another_header() {
        let lines = |answer: Answer| {
            let text = answer.finish(Length::None, true, true);
            let headers = text
                .split_once("Singularity\r\n")
                .map(|(_, rest)| rest.to_string());
            headers.unwrap_or_default()
        };
        for (value, sent) in [
            ("/a?b\r\nSet-Cookie: c", "/a?b%0D%0ASet-Cookie: c"),
            ("a\n\nb", "a%0A%0Ab"),
            ("\0\u{1}\u{7f}", "%00%01%7F"),
            ("tab\tand space", "tab\tand space"),
            ("\u{e4}\u{20ac}", "\u{e4}\u{20ac}"),
            ("\u{e4}\r\u{20ac}", "\u{e4}%0D\u{20ac}"),
            ("", ""),
        ] {
            let expected = format!("Location: {sent}\r\n\r\n");
            let answer = Answer::new(301, 0);
            assert_eq!(lines(answer.with("Location", value)), expected);
            let answer = Answer::new(301, 0);
            assert_eq!(
                lines(answer.header("Location", format_args!("{value}"))),
                expected
            );
        }
    }

    #[test]
    fn a_page_shows_text_as_text() {
        let page = page(404, "no <b>&", Some("3-1"));
        assert!(page.contains("no &lt;b&gt;&amp;") && page.contains("Request 3-1"));
    }
}
