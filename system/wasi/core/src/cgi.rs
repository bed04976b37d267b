//! The Common Gateway Interface 1.1 (RFC 3875): a request of HTTP as an environment, and the head of an
//! answer as a program writes it.
//!
//! Invariants:
//! - No header of a client's becomes a variable that the server's own word, or a program's library, would
//!   be found in: names with `_`, which would be another's, are passed over, and so are `Proxy` and what
//!   the operator has given.
//! - A program's head has at most [`MOST`] bytes, and no line of it is anything but one header.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::web::{is_of_header_name, is_of_header_value};

/// The most bytes of an answer's head.
pub const MOST: usize = 16 << 10;
/// How much of a line that is no header is shown.
const SHOWN: usize = 60;

/// What a request says, as the web server passes it on.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a str,
    /// Path and query, as they were sent.
    pub target: &'a str,
    /// Its headers: lines of a name in lower case, a colon and a value.
    pub headers: &'a [u8],
}

impl<'a> Request<'a> {
    /// Its headers one by one, in their order.
    fn headers(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let lines = self.headers.split(|byte| *byte == b'\n');
        lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = core::str::from_utf8(&line[..colon]).ok()?;
            Some((name, line[colon + 1..].trim_ascii()))
        })
    }

    /// The first header of a name in lower case.
    #[must_use]
    pub fn header(self, name: &str) -> Option<&'a [u8]> {
        let mut found = self.headers().filter(|(n, _)| *n == name);
        found.next().map(|(_, value)| value)
    }

    /// Its headers, each a name and a value.
    #[must_use]
    pub fn fields(self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.headers()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()))
            .collect()
    }

    /// The environment of the program that answers: the request's variables, and those `given` that
    /// have other names. A header of a client's takes the place of none of them. Each is `NAME=VALUE`.
    #[must_use]
    pub fn environment(self, given: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let target = match self.target.split_once("://") {
            // Named whole, as to a proxy.
            Some((_, rest)) if !self.target.starts_with('/') => {
                rest.find('/').map_or("/", |at| &rest[at..])
            }
            _ => self.target,
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let host = self.header("host").unwrap_or(b"localhost");
        let (host, port) = host_and_port(host);
        let mut all = Variables(Vec::new());
        all.set("GATEWAY_INTERFACE", b"CGI/1.1");
        all.set("SERVER_SOFTWARE", b"Singularity");
        all.set("SERVER_PROTOCOL", b"HTTP/1.1");
        all.set("SERVER_NAME", host);
        if !given.iter().any(|one| name_of(one) == b"SERVER_PORT") {
            all.set("SERVER_PORT", port);
        }
        all.set("REQUEST_METHOD", self.method.as_bytes());
        all.set("REQUEST_URI", self.target.as_bytes());
        all.set("SCRIPT_NAME", b"");
        let path = path.strip_prefix('*').unwrap_or(path);
        all.set("PATH_INFO", &decoded(path));
        all.set("QUERY_STRING", query.as_bytes());
        all.set("REMOTE_ADDR", self.header("x-peer").unwrap_or_default());
        for (name, value) in self.headers() {
            match name {
                "content-length" => all.set("CONTENT_LENGTH", value),
                // Of several, the first: a variable is there once.
                "content-type" if all.has(b"CONTENT_TYPE") => {}
                "content-type" => all.set("CONTENT_TYPE", value),
                "x-peer" | "proxy" => {}
                _ if name.contains('_') => {}
                _ => {
                    let name = format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"));
                    if !given.iter().any(|one| name_of(one) == name.as_bytes()) {
                        all.add(&name, value);
                    }
                }
            }
        }
        let given = given.into_iter();
        let given: Vec<_> = given.filter(|one| !all.has(name_of(one))).collect();
        all.0.extend(given);
        all.0
    }
}

/// The name of a variable in `NAME=VALUE`.
fn name_of(variable: &[u8]) -> &[u8] {
    let end = variable.iter().position(|byte| *byte == b'=');
    end.map_or(variable, |end| &variable[..end])
}

/// The parts of a `Host`; port 80 if it names none.
fn host_and_port(host: &[u8]) -> (&[u8], &[u8]) {
    let digits = host.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (name, port) = host.split_at(host.len() - digits);
    match name.strip_suffix(b":") {
        Some(name) if digits > 0 => (name, port),
        _ => (host, b"80"),
    }
}

/// A path without its encoding: `%20` is a space. What is not encoded as it should be, and a zero, which
/// no variable can have, stay as they are.
fn decoded(path: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), path.as_bytes());
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        rest = tail;
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) if high + low > 0 => {
                out.push((high << 4 | low) as u8);
                rest = &tail[2..];
            }
            (byte, ..) => out.push(*byte),
        }
    }
    out
}

/// Variables, each `NAME=VALUE`.
struct Variables(Vec<Vec<u8>>);

impl Variables {
    fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|one| name_of(one) == name)
    }

    fn set(&mut self, name: &str, value: &[u8]) {
        self.0.push([name.as_bytes(), b"=", value].concat());
    }

    /// Adds a header's variable; several of one name are one list.
    fn add(&mut self, name: &str, value: &[u8]) {
        let between: &[u8] = match name {
            "HTTP_COOKIE" => b"; ",
            _ => b", ",
        };
        let mut same = self.0.iter_mut();
        match same.find(|one| name_of(one) == name.as_bytes()) {
            Some(one) => one.extend_from_slice(&[between, value].concat()),
            None => self.set(name, value),
        }
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its status.
    pub status: u16,
    /// Its headers, a line each, without `Status`.
    pub headers: String,
    /// The bytes of the body, if it says so.
    pub length: Option<u64>,
}

/// A head that is read line by line.
#[derive(Default)]
struct Lines {
    status: Option<u16>,
    headers: String,
    length: Option<u64>,
    redirects: bool,
}

/// Reads the head of an answer from what has come of it: the head, and where the body begins; `None`
/// if more has to come.
///
/// # Errors
/// Why it is none, for the log.
pub fn head(bytes: &[u8]) -> Result<Option<(Head, usize)>, String> {
    let mut lines = Lines::default();
    let mut at = 0;
    for number in 1.. {
        let rest = &bytes[at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        if at + end.unwrap_or(rest.len()) > MOST {
            return Err(format!("its head has more than {MOST} bytes"));
        }
        let Some(end) = end else {
            break;
        };
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        at += end + 1;
        if line.is_empty() {
            return lines.end().map(|head| Some((head, at)));
        }
        lines.read(line).map_err(|why| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            format!("line {number} of its head, {shown:?}, {why}")
        })?;
    }
    Ok(None)
}

impl Lines {
    fn read(&mut self, line: &[u8]) -> Result<(), &'static str> {
        const NONE: &str = "is no header, which is NAME: VALUE";
        let text = core::str::from_utf8(line).map_err(|_| "is not UTF-8")?;
        let (name, value) = text.split_once(':').ok_or(NONE)?;
        let value = value.trim_matches([' ', '\t']);
        if name.is_empty() || !name.bytes().all(is_of_header_name) {
            return Err(NONE);
        }
        if !value.bytes().all(is_of_header_value) {
            return Err("has a control character");
        }
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().filter(|code| code.len() == 3);
            let code = code.and_then(|code| code.parse().ok());
            let code = code.filter(|code| (200..=599).contains(code));
            let code = code.ok_or("is no status from 200 to 599")?;
            return match self.status.replace(code) {
                None => Ok(()),
                Some(_) => Err("is a second status"),
            };
        }
        if name.eq_ignore_ascii_case("content-length") {
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            let length = value.parse().ok().filter(|_| digits);
            let length = length.ok_or("is no number of bytes")?;
            if self.length.replace(length).is_some() {
                return Err("is a second length");
            }
        }
        self.redirects |= name.eq_ignore_ascii_case("location");
        self.headers.push_str(name);
        self.headers.push_str(": ");
        self.headers.push_str(value);
        self.headers.push('\n');
        Ok(())
    }

    fn end(self) -> Result<Head, String> {
        if self.status.is_none() && self.headers.is_empty() {
            return Err("its head has no header: `Content-Type`, `Location` or `Status`".into());
        }
        let usual = if self.redirects { 302 } else { 200 };
        Ok(Head {
            status: self.status.unwrap_or(usual),
            headers: self.headers,
            length: self.length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn environment(target: &str, headers: &str, given: &[&str]) -> Vec<String> {
        let request = Request {
            method: "POST",
            target,
            headers: headers.as_bytes(),
        };
        let given = given.iter().map(|one| one.as_bytes().to_vec()).collect();
        let all = request.environment(given).into_iter();
        all.map(|one| String::from_utf8_lossy(&one).into_owned())
            .collect()
    }

    #[test]
    fn a_request_is_an_environment() {
        let headers = "host: [::1]:8080\nx-peer:127.0.0.1\ncontent-length: 3\ncontent-type: a/b\n\
                       accept: x\naccept: y\ncookie: a=1\ncookie: b=2\nx-request-id:7-1\n";
        let given = ["A=1", "SERVER_PORT=81", "REMOTE_ADDR=1.2.3.4"];
        let all = environment("/a%20b/%C3%A4%00%zz?q=%20&r", headers, &given);
        assert_eq!(
            all,
            [
                "GATEWAY_INTERFACE=CGI/1.1",
                "SERVER_SOFTWARE=Singularity",
                "SERVER_PROTOCOL=HTTP/1.1",
                "SERVER_NAME=[::1]",
                "REQUEST_METHOD=POST",
                "REQUEST_URI=/a%20b/%C3%A4%00%zz?q=%20&r",
                "SCRIPT_NAME=",
                "PATH_INFO=/a b/ä%00%zz",
                "QUERY_STRING=q=%20&r",
                "REMOTE_ADDR=127.0.0.1",
                "HTTP_HOST=[::1]:8080",
                "CONTENT_LENGTH=3",
                "CONTENT_TYPE=a/b",
                "HTTP_ACCEPT=x, y",
                "HTTP_COOKIE=a=1; b=2",
                "HTTP_X_REQUEST_ID=7-1",
                "A=1",
                "SERVER_PORT=81",
            ]
        );
        let all = environment("http://h:1/p?q", "host: h\n", &[]);
        for wanted in ["SERVER_NAME=h", "SERVER_PORT=80", "PATH_INFO=/p"] {
            assert!(all.iter().any(|one| one == wanted), "{wanted}");
        }
        let all = environment("*", "", &[]);
        assert!(all.iter().any(|one| one == "PATH_INFO="));
    }

    #[test]
    fn no_header_is_taken_for_another_variable() {
        let headers = "proxy: http://evil\ncontent_length: 7\nx_peer: 8\nx-peer: 9\ncontent-type: a/b\n\
                       content-type: c/d\nx-key: theirs\n";
        let all = environment("/", headers, &["HTTP_PROXY=mine", "HTTP_X_KEY=mine"]);
        let of = |name: &str| {
            let found: Vec<_> = all.iter().filter(|one| one.starts_with(name)).collect();
            found
        };
        assert_eq!(of("HTTP_"), ["HTTP_PROXY=mine", "HTTP_X_KEY=mine"]);
        assert_eq!(of("REMOTE_ADDR"), ["REMOTE_ADDR=9"]);
        assert!(of("CONTENT_LENGTH").is_empty());
        assert_eq!(of("CONTENT_TYPE"), ["CONTENT_TYPE=a/b"]);
    }

    #[test]
    fn a_head_ends_with_an_empty_line() {
        let text = b"Status: 404 Not Found\r\nContent-Type: text/plain\nX:\tb \r\n\r\nbody\n\n";
        let wanted = Head {
            status: 404,
            headers: "Content-Type: text/plain\nX: b\n".into(),
            length: None,
        };
        let body = text.len() - 6;
        assert_eq!(head(text), Ok(Some((wanted.clone(), body))));
        // However it comes.
        for end in 0..body {
            assert_eq!(head(&text[..end]), Ok(None), "{end}");
        }
        assert_eq!(head(&text[..body]), Ok(Some((wanted, body))));
        let status = |text: &str| head(text.as_bytes()).unwrap().unwrap().0.status;
        assert_eq!(status("Location: /there\n\n"), 302);
        assert_eq!(status("Location: /there\nStatus: 303\n\n"), 303);
        assert_eq!(status("Status: 204\n\n"), 204);
        let (read, _) = head(b"Content-Length: 12\n\n").unwrap().unwrap();
        assert_eq!((read.status, read.length), (200, Some(12)));
    }

    #[test]
    fn what_is_no_head_is_refused_with_the_reason() {
        for (text, why) in [
            (
                "Hello, world\n",
                "line 1 of its head, \"Hello, world\", is no header",
            ),
            ("A: b\n<p>\n", "line 2"),
            ("A b: c\n", "is no header"),
            (": c\n", "is no header"),
            ("\n", "has no header"),
            ("A: b\rC: d\n", "control character"),
            ("Status: 99\n", "is no status"),
            ("Status: 200\nStatus: 200\n", "second status"),
            ("Status: OK\n", "is no status"),
            ("Content-Length: -1\n", "is no number"),
            ("Content-Length: 1\nContent-Length: 1\n", "second length"),
        ] {
            let said = head(text.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{text:?}: {said}");
        }
        assert!(head(b"A: \xff\n").unwrap_err().contains("not UTF-8"));
        let long = vec![b'a'; MOST + 1];
        assert!(head(&long).unwrap_err().contains("more than 16384 bytes"));
        let many = b"A: b\n".repeat(MOST / 5 + 1);
        assert!(head(&many).unwrap_err().contains("more than 16384 bytes"));
    }
}
