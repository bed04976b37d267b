//! A request to a collector, and its answer, within a bounded time.

use core::time::Duration;
use get::response::{Input, Response};
use get::url::{Bad, Url};
use sing_sdk::io::LARGEST;
use sing_sdk::names::Names;
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::sync::wait;
use sing_sdk::time::{Timeout, uptime};

/// How long a collector may take in all.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most bytes of an answer that are read: those that say what was rejected are few.
const ANSWER: usize = 8 << 10;

type Joined = net::Joined;
type Reading = PipeContract::Exp<PipeContract::Start>;
type Writing = PipeContract::Imp<PipeContract::Start>;

/// What a collector sends, until a moment.
struct Until {
    pipe: Option<Reading>,
    end: Duration,
    /// Bytes of all that are taken still.
    left: usize,
}

impl Input for Until {
    fn receive(&mut self) -> Option<Vec<u8>> {
        let pipe = self.pipe.take().filter(|_| self.left > 0)?;
        wait(&pipe, Timeout::until(self.end)?).ok()?;
        let (block, pipe) = pipe.recv_write().ok()?;
        self.pipe = Some(pipe.send_ack());
        self.left = self.left.saturating_sub(block.len());
        Some(block.to_vec())
    }
}

/// Waits until a moment; whether it came in time.
fn in_time(what: &dyn Waitable, end: Duration) -> bool {
    Timeout::until(end).is_some_and(|time| wait(what, time).is_ok())
}

/// A connection, if there is one in time.
fn connect(
    names: &mut Names,
    url: &Url,
    end: Duration,
) -> Result<(Writing, Until, Joined), String> {
    let said = |error: Error| error.to_string();
    let late = || "does not take a connection".to_string();
    let (tcp, exp) = TcpConnectionContract::new_channel().map_err(said)?;
    let path = format!("/tcp/{}/{}", url.host, url.port);
    names.bind(&path, exp).map_err(said)?;
    if !in_time(&tcp, end) {
        return Err(late());
    }
    let ready = tcp.recv_success().map_err(|_| said(Error::Closed))?;
    let (output, from) = PipeContract::new_channel().map_err(said)?;
    let (to, input) = PipeContract::new_channel().map_err(said)?;
    let connecting = ready.send_open(from, to);
    let joined = switch_receive! {
        case connecting.Connected() as joined => joined,
        case connecting.Failed(reason) as _ => return Err(reason.to_string()),
        case connecting.ChannelClosed() => return Err(said(Error::Closed)),
        deadline end => return Err(late()),
    };
    let input = Until {
        pipe: Some(input),
        end,
        left: ANSWER,
    };
    Ok((output, input, joined))
}

fn write(mut output: Writing, bytes: &[u8], end: Duration) -> Result<Writing, String> {
    for piece in bytes.chunks(LARGEST) {
        let block = Vector::from_bytes(piece).map_err(|e| e.to_string())?;
        let written = output.send_write(block);
        if !in_time(&written, end) {
            return Err("does not read what is sent".into());
        }
        let closed = |_| "closes the connection before it has all".to_string();
        output = written.recv_ack().map_err(closed)?;
    }
    Ok(output)
}

/// Asks over a connection; the body of the answer, or its beginning.
fn ask(url: &Url, body: &str, output: Writing, input: Until) -> Result<String, String> {
    let end = input.end;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Singularity\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        url.path,
        url.server(),
        body.len()
    );
    let output = write(output, (head + body).as_bytes(), end)?;
    let mut response = Response::read(input).map_err(|why| why.to_string())?;
    let mut text = Vec::new();
    // An answer that is cut says nothing that could be read.
    while let Ok(Some(more)) = response.next() {
        text.extend(more);
    }
    // Some servers take its end for the end of the whole connection: not before the answer.
    drop(output);
    match response.status {
        200..=299 => Ok(String::from_utf8_lossy(&text).into_owned()),
        status => Err(format!(
            "{status} {}",
            spans::record::text(&response.reason)
        )),
    }
}

/// Posts a body of JSON.
///
/// # Errors
/// Why the collector has not taken it.
pub fn post(names: &mut Names, url: &str, body: &str) -> Result<String, String> {
    let url = Url::parse(url).map_err(|why| match why {
        Bad::Protocol(protocol) => format!("{protocol} is not there; only http is"),
        Bad::Other(why) => why.into(),
    })?;
    let (output, input, joined) = connect(names, &url, uptime() + PATIENCE)?;
    let answer = ask(&url, body, output, input);
    drop(joined.send_abort());
    answer
}
