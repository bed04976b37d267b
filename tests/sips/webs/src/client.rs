//! A client of HTTP that sends any bytes, in any pieces.

use core::time::Duration;
use sing_sdk::io::{Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::sync;
use sing_sdk::time::Timeout;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Client {
    output: Option<Writer>,
    input: Reader,
    bytes: Vec<u8>,
    joined: net::Joined,
}

/// An answer.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
    /// Whether its body has come to its end.
    pub whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn open(names: &mut Names, port: u16) -> Result<Client, Error> {
        Client::over(net::connect(names, &format!("/tcp/127.0.0.1/{port}"))?)
    }

    /// A client over a connection that is not open yet.
    pub fn over(connection: net::Connection) -> Result<Client, Error> {
        let (output, input, joined) = connection.into_pipes()?;
        Ok(Client {
            output: Some(output),
            input,
            bytes: Vec::new(),
            joined,
        })
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let output = self.output.as_mut().ok_or(Error::Closed)?;
        output.write(bytes)?;
        output.settle()
    }

    /// Sends no more.
    pub fn finish(&mut self) {
        self.output = None;
    }

    /// Takes more bytes; false at the end, or if nothing comes.
    pub fn more(&mut self) -> bool {
        self.more_within(PATIENCE)
    }

    pub fn more_within(&mut self, time: Duration) -> bool {
        if sync::wait(&self.input, Timeout::from(time)).is_err() {
            return false;
        }
        let Some(block) = self.input.receive() else {
            return false;
        };
        self.bytes.extend_from_slice(&block.to_vec());
        true
    }

    /// Ends the connection at once, as who closes a browser's window does.
    pub fn abort(self) {
        drop(self.joined.send_abort());
    }

    /// What has come so far and was not taken.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether the server has ended the connection.
    pub fn is_over(&mut self) -> bool {
        self.bytes.is_empty() && !self.more()
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.bytes.windows(2).position(|w| w == b"\r\n") {
                let line = String::from_utf8_lossy(&self.bytes[..at]).into_owned();
                self.bytes.drain(..at + 2);
                return Some(line);
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Moves so many bytes to a body; whether so many came.
    fn content(&mut self, mut count: usize, body: &mut Vec<u8>) -> bool {
        while count > 0 {
            if self.bytes.is_empty() && !self.more() {
                return false;
            }
            let piece = count.min(self.bytes.len());
            body.extend(self.bytes.drain(..piece));
            count -= piece;
        }
        true
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let size = self
                .line()
                .and_then(|line| usize::from_str_radix(&line, 16).ok());
            let Some(size) = size else {
                return false;
            };
            if !self.content(size, body) || self.line().as_deref() != Some("") {
                return false;
            }
            if size == 0 {
                return true;
            }
        }
    }

    /// The next answer; status 0 if none comes.
    pub fn answer(&mut self, bodiless: bool) -> Answer {
        let mut answer = Answer::default();
        let Some(first) = self.line() else {
            return answer;
        };
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        answer.status = status.unwrap_or(0);
        loop {
            match self.line() {
                Some(line) if line.is_empty() => break,
                Some(line) => answer.headers += &(line + "\n"),
                None => return answer,
            }
        }
        if bodiless || matches!(answer.status, 100 | 204 | 304) {
            answer.whole = true;
            return answer;
        }
        let mut body = Vec::new();
        let length = answer.header("content-length").and_then(|l| l.parse().ok());
        answer.whole = match length {
            Some(length) => self.content(length, &mut body),
            None if answer.header("transfer-encoding") == Some("chunked") => self.chunks(&mut body),
            None => {
                while self.content(1, &mut body) {}
                true
            }
        };
        answer.body = body;
        answer
    }
}

/// Sends these bytes over a connection of their own; the answer.
pub fn ask(names: &mut Names, port: u16, bytes: &[u8]) -> Result<Answer, Error> {
    let mut client = Client::open(names, port)?;
    client.send(bytes)?;
    Ok(client.answer(bytes.starts_with(b"HEAD")))
}

/// Asks for a path.
pub fn get(names: &mut Names, port: u16, path: &str) -> Result<Answer, Error> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    ask(names, port, request.as_bytes())
}
