//! The back end of a web server on Linux: one process that answers requests of HTTP over a Unix
//! socket, a thread for each connection of the server's.
//!
//! `/page?bytes=N` is a page of so many bytes; below `/spawn` a process is started for each, which
//! writes it, as CGI has it. It trusts the server before it: it is for measurements alone.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// The most bytes of a page, and of a form.
const MOST: usize = 1 << 20;

/// Serves connections without end.
pub fn serve(socket: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    loop {
        let (stream, _) = listener.accept()?;
        // A connection that ends is the server's affair.
        thread::spawn(move || connection(stream));
    }
}

/// A page.
pub fn page(bytes: usize) -> Vec<u8> {
    (0..bytes.min(MOST))
        .map(|at| b'a' + (at % 26) as u8)
        .collect()
}

fn connection(mut stream: UnixStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some((target, form)) = head(&mut reader)? {
        io::copy(&mut reader.by_ref().take(form), &mut io::sink())?;
        let bytes = target
            .split_once("bytes=")
            .and_then(|(_, text)| text.parse().ok())
            .unwrap_or(0);
        let body = match target.starts_with("/spawn") {
            true => spawned(bytes)?,
            false => page(bytes),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat())?;
    }
    Ok(())
}

/// The target of the next request, and the bytes of its form.
fn head(reader: &mut impl BufRead) -> io::Result<Option<(String, u64)>> {
    let (mut target, mut form, mut line) = (None, 0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end();
        if target.is_none() {
            target = text.split(' ').nth(1).map(String::from);
        } else if text.is_empty() {
            return Ok(target.map(|target| (target, form)));
        } else if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            form = value.trim().parse().unwrap_or(0);
        }
    }
}

fn spawned(bytes: usize) -> io::Result<Vec<u8>> {
    let own = std::env::current_exe()?;
    let output = Command::new(own)
        .args(["--page", &bytes.to_string()])
        .stdin(Stdio::null())
        .output()?;
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        let text = "POST /a/page?bytes=12 HTTP/1.1\r\nHost: x\r\ncontent-length: 3\r\n\r\nabcGET";
        let mut reader = text.as_bytes();
        let read = head(&mut reader).ok().flatten();
        assert_eq!(read, Some(("/a/page?bytes=12".into(), 3)));
        assert_eq!(reader, b"abcGET");
        assert_eq!(head(&mut &b""[..]).ok().flatten(), None);
        assert_eq!(page(28), b"abcdefghijklmnopqrstuvwxyzab");
    }
}
