//! Which connection of an address makes way when that has half of all places: one that has been answered,
//! before one that waits for its first bytes, whichever is older.

use super::served::{Served, serve};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const NAME: &str = "places of an address";
/// How long an answer may take, and what a server takes at most to see a connection.
const PATIENCE: Duration = Duration::from_secs(10);
const SEEN: Duration = Duration::from_millis(300);

/// Four connections, of which two may be of one address.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants(NAME) {
        return Ok(());
    }
    let served = Served {
        files: vec![("f.txt", b"a file".to_vec())],
        config: "connections 4\n".into(),
    };
    serve(run, NAME, served, report, ask)
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Asks for the file as a connection's last request; the answer is whole.
fn get(mut stream: &TcpStream) -> Result<()> {
    stream.write_all(b"GET /f.txt HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let whole = answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("a file");
    ensure!(whole, "answered {answer:?}");
    Ok(())
}

fn ask(port: u16) -> Result<()> {
    let waits = connect(port)?;
    std::thread::sleep(SEEN);
    // This one has its answer and the server's end, and does not close.
    let answered = connect(port)?;
    get(&answered).context("the second connection")?;
    let further = connect(port)?;
    std::thread::sleep(SEEN);
    get(&waits).context("the first connection, when there is a third")?;
    get(&further).context("the third connection")
}
