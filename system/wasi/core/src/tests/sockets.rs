//! Sockets that listen, and connections.

use super::fake::Listener;
use super::*;
use crate::abi::fdflags;

/// A program whose descriptor 4 listens, and the connections that are there.
fn listening() -> (World, Listener) {
    let mut world = world();
    let listener = Listener::default();
    assert_eq!(world.wasi.add_listener(listener.clone()), Ok(4));
    (world, listener)
}

/// A program with a connection, which is descriptor 5, and its two streams.
fn connected() -> (World, Source, Sink) {
    let (mut world, listener) = listening();
    let (source, sink) = (Source::default(), Sink::default());
    let connection = (source.clone(), sink.clone());
    listener.0.borrow_mut().0.push_back(connection);
    world.wasi.sock_accept(4, 0, OUT).unwrap();
    assert_eq!(world.u32(OUT), 5);
    (world, source, sink)
}

impl World {
    fn recv(&mut self, fd: u32, room: u32, flags: u32) -> Result<Vec<u8>> {
        let (list, count) = self.list(&[(DATA, room)]);
        self.put(OUT + 4, &[0xff; 2]);
        self.wasi.sock_recv(fd, list, count, flags, OUT, OUT + 4)?;
        assert_eq!(self.get(OUT + 4, 2), [0, 0]);
        let len = self.u32(OUT) as usize;
        Ok(self.get(DATA, len))
    }

    fn send(&mut self, fd: u32, bytes: &[u8], flags: u32) -> Result<u32> {
        let buffer = self.put(DATA, bytes);
        let (list, count) = self.list(&[buffer]);
        self.wasi.sock_send(fd, list, count, flags, OUT)?;
        Ok(self.u32(OUT))
    }
}

#[test]
fn a_connection_is_taken_read_and_written() {
    let (mut world, source, sink) = connected();
    source.0.borrow_mut().0.push_back(b"hello".to_vec());
    assert_eq!(world.recv(5, 2, 1).unwrap(), b"he", "it stays");
    assert_eq!(world.recv(5, 4, 0).unwrap(), b"hell");
    assert_eq!(world.read(5, 9).unwrap(), b"o");
    for piece in [&b"two "[..], b"pieces"] {
        source.0.borrow_mut().0.push_back(piece.to_vec());
    }
    assert_eq!(world.recv(5, 10, 2).unwrap(), b"two pieces", "all of it");
    source.0.borrow_mut().1 = true;
    assert_eq!(world.recv(5, 10, 2).unwrap(), b"");
    assert_eq!(world.send(5, b"answer", 0), Ok(6));
    assert_eq!(world.write(5, b"!"), Ok(1));
    assert_eq!(sink.0.borrow().bytes, b"answer!");
    sink.0.borrow_mut().gone = true;
    assert_eq!(world.send(5, b"x", 0), Err(Errno::Pipe));
    world.wasi.fd_fdstat_get(5, OUT).unwrap();
    assert_eq!(world.get(OUT, 1), [6], "a stream socket");
    assert_eq!(world.wasi.fd_close(5), Ok(()));
    assert_eq!(world.recv(5, 1, 0), Err(Errno::Badf));
}

#[test]
fn each_direction_is_shut_down_by_itself() {
    let (mut world, source, sink) = connected();
    source.0.borrow_mut().0.push_back(b"more".to_vec());
    assert_eq!(world.wasi.sock_shutdown(5, 2), Ok(()));
    assert_eq!(
        Rc::strong_count(&sink.0),
        1,
        "its end is what the other side sees"
    );
    assert_eq!(world.send(5, b"x", 0), Err(Errno::Pipe));
    assert_eq!(world.recv(5, 4, 0).unwrap(), b"more");
    assert_eq!(world.wasi.sock_shutdown(5, 1), Ok(()));
    assert_eq!(Rc::strong_count(&source.0), 1);
    assert_eq!(world.recv(5, 4, 0).unwrap(), b"");
    assert_eq!(world.wasi.sock_shutdown(5, 3), Ok(()));
}

#[test]
fn sockets_that_are_not_to_wait() {
    let (mut world, listener) = listening();
    let nonblock = u32::from(fdflags::NONBLOCK);
    world.wasi.fd_fdstat_set_flags(4, nonblock).unwrap();
    assert_eq!(world.wasi.sock_accept(4, 0, OUT), Err(Errno::Again));
    let connection = (Source::default(), Sink::default());
    listener.0.borrow_mut().0.push_back(connection);
    world.wasi.sock_accept(4, nonblock, OUT).unwrap();
    assert_eq!(world.recv(5, 1, 0), Err(Errno::Again));
    // The network has gone.
    listener.0.borrow_mut().1 = true;
    assert_eq!(world.wasi.sock_accept(4, 0, OUT), Err(Errno::Netdown));
}

#[test]
fn a_program_waits_for_a_connection() {
    let (mut world, _) = listening();
    world.wasi.host().comes = Some((Source::default(), Sink::default()));
    // A subscription: 8 bytes of the program's own, the kind, the descriptor.
    world.put(LIST, &[0; 48]);
    world.put(LIST + 8, &[1]);
    world.put(LIST + 16, &[4]);
    world.wasi.poll_oneoff(LIST, DATA, 1, OUT).unwrap();
    assert_eq!(world.u32(OUT), 1);
    assert_eq!(world.wasi.host().waits, 1);
    assert_eq!(world.wasi.sock_accept(4, 0, OUT), Ok(()));
}

#[test]
fn what_is_beyond_one_wait_is_looked_at_soon() {
    let (mut world, listener) = listening();
    let mut all = Vec::new();
    for fd in 5..38u32 {
        let connection = (Source::default(), Sink::default());
        listener.0.borrow_mut().0.push_back(connection);
        world.wasi.sock_accept(4, 0, OUT).unwrap();
        let mut subscription = [0; 48];
        subscription[8] = 1;
        subscription[16..20].copy_from_slice(&fd.to_le_bytes());
        all.push(subscription);
    }
    // A clock that ends in a second.
    let mut clock = [0; 48];
    clock[16] = 1;
    clock[24..32].copy_from_slice(&1_000_000_000u64.to_le_bytes());
    all.push(clock);
    world.put(LIST, all.as_flattened());
    world.wasi.poll_oneoff(LIST, DATA, 34, OUT).unwrap();
    assert_eq!(world.u32(OUT), 1);
    assert_eq!(world.wasi.host().waits, 100);
}

#[test]
fn what_is_no_such_socket_is_refused() {
    let (mut world, _, _) = connected();
    for fd in [0, 1, 3] {
        assert_eq!(world.wasi.sock_accept(fd, 0, OUT), Err(Errno::Notsock));
        assert_eq!(world.recv(fd, 1, 0), Err(Errno::Notsock));
        assert_eq!(world.send(fd, b"x", 0), Err(Errno::Notsock));
        assert_eq!(world.wasi.sock_shutdown(fd, 1), Err(Errno::Notsock));
    }
    assert_eq!(world.wasi.sock_accept(9, 0, OUT), Err(Errno::Badf));
    assert_eq!(world.wasi.sock_accept(5, 0, OUT), Err(Errno::Inval));
    assert_eq!(world.wasi.sock_accept(4, 1, OUT), Err(Errno::Inval));
    assert_eq!(world.recv(4, 1, 0), Err(Errno::Notconn));
    assert_eq!(world.recv(5, 1, 4), Err(Errno::Inval));
    assert_eq!(world.send(5, b"x", 1), Err(Errno::Inval));
    for how in [0, 4] {
        assert_eq!(world.wasi.sock_shutdown(5, how), Err(Errno::Inval));
    }
    assert_eq!(world.wasi.sock_accept(4, 0, u32::MAX), Err(Errno::Fault));
    assert_eq!(world.seek(5, 0, 1), Err(Errno::Spipe));
    // Directories behind a socket are found all the same.
    world.wasi.fd_prestat_get(4, OUT).unwrap();
    assert_eq!(world.get(OUT, 1), [1]);
}
