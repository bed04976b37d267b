//! Who has a place, when an address may have two: a connection has none any more when its last bytes go, so that further
//! ones of its address neither cut its answer nor wait until its client has ended it. And what is kept of a text that is
//! packed.

use super::served::{Served, serve};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

const NAME: &str = "places of an address";
/// How long an answer may take, and what a server takes at most to see a connection.
const PATIENCE: Duration = Duration::from_secs(10);
const SEEN: Duration = Duration::from_millis(300);
/// Connections that are answered and not ended: more than the server's share of sockets of the host.
const LEFT: usize = 600;

/// Four connections, of which two may be of one address.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants(NAME) {
        return Ok(());
    }
    let served = Served {
        files: vec![
            ("f.txt", b"a file".to_vec()),
            ("large.txt", large()),
            ("packed.txt", large().repeat(4)),
        ],
        config: "connections 4\n".into(),
        // Two files, and a third packed that is too large to be kept as it is.
        shows: "kept         3 in ",
    };
    serve(run, NAME, served, report, ask)
}

/// A file that is one block with its head, and more than a client's first packets.
fn large() -> Vec<u8> {
    vec![b'x'; 60_000]
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection whose client has room for little, so that the most of an answer waits at the server's side until it reads.
fn connect_narrow(port: u16) -> Result<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_socket_recv_buffer_size(&socket, 4 << 10)?;
    rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Asks for a file as a connection's last request.
fn request(mut stream: &TcpStream, file: &str) -> Result<()> {
    let text = format!("GET /{file} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    Ok(stream.write_all(text.as_bytes())?)
}

/// The answer is whole, and the server's end comes behind it.
fn answered(mut stream: &TcpStream, file: &[u8]) -> Result<()> {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let begin = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    read.with_context(|| format!("behind {} bytes: {begin:?}", answer.len()))?;
    let whole = begin.starts_with("HTTP/1.1 200 ") && answer.ends_with(file);
    ensure!(whole, "{} bytes: {begin:?}", answer.len());
    Ok(())
}

fn get(stream: &TcpStream) -> Result<()> {
    request(stream, "f.txt")?;
    answered(stream, b"a file")
}

fn ask(port: u16) -> Result<()> {
    let waits = connect(port)?;
    std::thread::sleep(SEEN);
    // This one has its answer and the server's end, and does not close.
    let second = connect(port)?;
    get(&second).context("the second connection")?;
    let third = connect(port)?;
    std::thread::sleep(SEEN);
    get(&waits).context("the first connection, when there is a third")?;
    get(&third).context("the third connection")?;
    // This one's client reads when others have come and gone.
    let slow = connect_narrow(port)?;
    request(&slow, "large.txt")?;
    std::thread::sleep(SEEN);
    let _waits = connect(port)?;
    for number in 0..8 {
        std::thread::sleep(SEEN);
        get(&connect(port)?).with_context(|| format!("connection {number} beside a slow one"))?;
    }
    answered(&slow, &large()).context("a client that reads late")?;
    let mut packed = &connect(port)?;
    packed.write_all(b"GET /packed.txt HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n")?;
    packed.write_all(b"Connection: close\r\n\r\n")?;
    answered(packed, b"").context("a packed file")?;
    let mut left = Vec::new();
    for number in 0..LEFT {
        let stream = connect(port)?;
        get(&stream).with_context(|| format!("connection {number}, where none is ended"))?;
        left.push(stream);
    }
    Ok(())
}
