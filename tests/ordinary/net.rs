//! A program of Rust's standard library that uses the network: `cargo xtask test ordinary` builds it for
//! `wasm32-wasip2`, and is on the other side of its connections.
//!
//! `net WAY WORD...` does what WAY says, writes what came of it, and ends with 1 if something was not as it should be.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["denied", address] => denied(address),
        ["talk", address] => talk(address),
        ["refused", address] => refused(address),
        ["many", address] => many(address),
        ["killed", address] => killed(address),
        ["hold", address] => hold(address),
        ["listen", address, count] => listen(address, count.parse().unwrap()),
        ["datagrams", address] => datagrams(address),
        ["client", address] => client(address),
        ["own"] => own(),
        ["names", name] => names(name),
        _ => Err(io::Error::other("no such way")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

fn is(condition: bool, what: &str) -> io::Result<()> {
    match condition {
        true => Ok(()),
        false => Err(io::Error::other(what)),
    }
}

/// Bytes that differ, so many.
fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 / 7 + seed) as u8).collect()
}

/// Nothing of the network may be used.
fn denied(address: &str) -> io::Result<()> {
    for error in [
        TcpStream::connect(address).err(),
        TcpListener::bind("127.0.0.1:0").err(),
        UdpSocket::bind("127.0.0.1:0").err(),
    ] {
        println!("{:?}", error.map(|e| e.kind()));
    }
    println!("{}", "localhost:80".to_socket_addrs().is_err());
    Ok(())
}

/// Sends much, ends its direction, and has it back: the other side answers when it has all.
fn talk(address: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let peer = stream.peer_addr()?;
    is(peer == address.parse().unwrap(), "the other end")?;
    println!("{}", stream.local_addr()?);
    stream.set_nodelay(true)?;
    let sent = pattern(1_000_003, 0);
    stream.write_all(&sent)?;
    stream.shutdown(Shutdown::Write)?;
    is(stream.write(b"x").is_err(), "its direction has ended")?;
    let mut back = Vec::new();
    stream.read_to_end(&mut back)?;
    is(back == sent, "all of it comes back")?;
    // A direction that is not read any more ends at once.
    let stream = TcpStream::connect(address)?;
    stream.shutdown(Shutdown::Both)?;
    is((&stream).read(&mut [0])? == 0, "its other direction, too")
}

fn refused(address: &str) -> io::Result<()> {
    let error = TcpStream::connect(address).err().map(|e| e.kind());
    println!("{error:?}");
    Ok(())
}

/// A hundred connections at once, which the other side answers in its own order.
fn many(address: &str) -> io::Result<()> {
    let mut all = Vec::new();
    for number in 0..100 {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(&[number])?;
        stream.set_nonblocking(true)?;
        all.push(Some(stream));
    }
    let end = Instant::now() + Duration::from_secs(20);
    let mut answered = 0;
    while answered < all.len() {
        is(Instant::now() < end, "all are answered in time")?;
        for (number, place) in all.iter_mut().enumerate() {
            let Some(stream) = place else { continue };
            let mut answer = [0; 1];
            match stream.read(&mut answer) {
                Ok(1) => {
                    is(usize::from(answer[0]) == number, "each has its own answer")?;
                    (*place, answered) = (None, answered + 1);
                }
                Ok(_) => return Err(io::Error::other("an end before the answer")),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{answered}");
    Ok(())
}

/// The other side is killed in the middle.
fn killed(address: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"now")?;
    let mut came = [0; 4];
    stream.read_exact(&mut came)?;
    println!("{}", String::from_utf8_lossy(&came));
    io::stdout().flush()?;
    // Its end, or that it was reset.
    let ended = stream.read_to_end(&mut Vec::new()).map_err(|e| e.kind());
    is(
        matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)),
        "its end is seen",
    )?;
    let end = Instant::now() + Duration::from_secs(20);
    let error = loop {
        is(Instant::now() < end, "a write fails in time")?;
        match stream.write(&[0; 1000]) {
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => break error.kind(),
        }
    };
    println!("{error:?}");
    Ok(())
}

/// Takes a connection, says so, and reads nothing of it.
fn hold(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("{}", listener.local_addr()?);
    io::stdout().flush()?;
    let (mut stream, _) = listener.accept()?;
    stream.write_all(b"came")?;
    println!("taken");
    io::stdout().flush()?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}

/// Takes so many connections and sends back what comes by each; the port is said first.
fn listen(address: &str, count: usize) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("{}", listener.local_addr()?);
    io::stdout().flush()?;
    listener.set_nonblocking(true)?;
    let none = listener.accept().err().map(|e| e.kind());
    is(none == Some(ErrorKind::WouldBlock), "nobody has come")?;
    listener.set_nonblocking(false)?;
    // All at once.
    let all: io::Result<Vec<_>> = (0..count).map(|_| listener.accept()).collect();
    for (mut stream, peer) in all? {
        is(peer == stream.peer_addr()?, "from there")?;
        is(
            stream.local_addr()?.port() == listener.local_addr()?.port(),
            "at this port",
        )?;
        let mut data = Vec::new();
        stream.read_to_end(&mut data)?;
        stream.write_all(&data)?;
    }
    let again = TcpListener::bind(listener.local_addr()?);
    println!("{:?}", again.err().map(|e| e.kind()));
    Ok(())
}

/// Datagrams with a server of the host's, which sends back what comes, and two from a further port.
fn datagrams(address: &str) -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    println!("{}", socket.local_addr()?);
    io::stdout().flush()?;
    let there: SocketAddr = address.parse().unwrap();
    let mut room = vec![0; 70_000];
    for len in [1, 1_000, 60_000] {
        let sent = pattern(len, len);
        is(socket.send_to(&sent, there)? == len, "it is sent")?;
        let (came, from) = socket.recv_from(&mut room)?;
        is(from == there && room[..came] == sent, "it comes back")?;
    }
    let long = socket.send_to(&room, there).err();
    is(long.is_some(), "it is too long")?;
    socket.set_nonblocking(true)?;
    let none = socket.recv_from(&mut room).err().map(|e| e.kind());
    is(none == Some(ErrorKind::WouldBlock), "nothing has come")?;
    socket.set_nonblocking(false)?;
    // With one other side, what comes from others is not seen.
    socket.connect(there)?;
    is(socket.peer_addr()? == there, "the other side")?;
    socket.send(b"two")?;
    let came = socket.recv(&mut room)?;
    is(&room[..came] == b"two", "from there alone")
}

/// A client whose address is any.
fn client(address: &str) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.send_to(b"two", address)?;
    let mut room = [0; 20];
    let there = address.parse().unwrap();
    // What comes from another port first, may come.
    loop {
        let (came, from) = socket.recv_from(&mut room)?;
        if from == there {
            return is(&room[..came] == b"two", "it comes back");
        }
    }
}

/// Within the program: a connection and datagrams between its own sockets.
fn own() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, from) = listener.accept()?;
    is(from == client.local_addr()?, "where it comes from")?;
    client.write_all(b"ping")?;
    let mut four = [0; 4];
    server.read_exact(&mut four)?;
    server.write_all(&four)?;
    drop(server);
    let mut back = String::new();
    client.read_to_string(&mut back)?;
    is(back == "ping", "there and back")?;
    let (one, two) = (
        UdpSocket::bind("127.0.0.1:0")?,
        UdpSocket::bind("127.0.0.1:0")?,
    );
    one.send_to(b"datagram", two.local_addr()?)?;
    let mut room = [0; 20];
    let (came, from) = two.recv_from(&mut room)?;
    is(
        &room[..came] == b"datagram" && from == one.local_addr()?,
        "from one to the other",
    )?;
    println!("there and back");
    Ok(())
}

fn names(name: &str) -> io::Result<()> {
    for name in [name, "127.0.0.1", "localhost"] {
        let mut all: Vec<_> = (name, 80).to_socket_addrs()?.collect();
        all.dedup();
        println!("{name} {all:?}");
    }
    println!("{}", "no.such.host.invalid:80".to_socket_addrs().is_err());
    Ok(())
}
