//! Sockets: those that listen come from outside, and the others from these.
//!
//! A connection is a stream that is read and one that is written; each can be given up by itself. What a
//! connection's other side does shows as on a stream: its end reads as the end, and nothing is written
//! to who has gone.

use crate::Wasi;
use crate::abi::{fdflags, filetype, rights};
use crate::data::so_far;
use crate::errno::{Errno, Result};
use crate::host::{Host, Listener};
use crate::table::{Descriptor, Object, OpenSocket, OpenSource, known_flags};

/// How `sock_recv` receives: what comes stays there; all buffers are filled.
const PEEK: u32 = 1;
const WAITALL: u32 = 2;
/// What `sock_shutdown` ends.
const RECEIVING: u32 = 1;
const SENDING: u32 = 2;

impl<H: Host> Wasi<H> {
    /// Gives the program a socket that listens; its descriptor.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add_listener(&mut self, listener: H::Listener) -> Result<u32> {
        self.table.insert(Descriptor {
            object: Object::Listener(listener),
            rights: rights::LISTENER,
            inheriting: rights::SOCKET,
            flags: 0,
            filetype: filetype::SOCKET_STREAM,
        })
    }

    /// `sock_accept`.
    ///
    /// # Errors
    /// `Badf`, `Notsock`, `Inval` for a socket that does not listen and for flags, `Notcapable`, `Mfile`,
    /// `Again`, `Fault`, and the network's.
    pub fn sock_accept(&mut self, fd: u32, flags: u32, out: u32) -> Result {
        self.check(out, 4)?;
        let flags = known_flags(flags)
            .ok()
            .filter(|flags| flags & !fdflags::NONBLOCK == 0);
        match &self.table.get(fd)?.object {
            Object::Listener(_) => {}
            Object::Socket(_) => return Err(Errno::Inval),
            _ => return Err(Errno::Notsock),
        }
        let flags = flags.ok_or(Errno::Inval)?;
        // A connection that would have no number stays where it is.
        self.table.next()?;
        let listening = self.table.get(fd)?;
        listening.has(rights::SOCK_ACCEPT)?;
        let waits = !listening.is(fdflags::NONBLOCK);
        let rights = listening.inheriting & rights::SOCKET;
        let Object::Listener(listener) = &mut listening.object else {
            return Err(Errno::Notsock);
        };
        if !waits && !listener.is_ready() {
            return Err(Errno::Again);
        }
        let (source, sink) = listener.accept()?;
        let connection = self.table.insert(Descriptor {
            object: Object::Socket(OpenSocket {
                input: Some(OpenSource { source, rest: None }),
                output: Some(sink),
            }),
            rights,
            inheriting: 0,
            flags,
            filetype: filetype::SOCKET_STREAM,
        })?;
        self.store_u32(out, connection)
    }

    /// That this is a connection.
    fn is_connected(&mut self, fd: u32) -> Result {
        match self.table.get(fd)?.object {
            Object::Socket(_) => Ok(()),
            Object::Listener(_) => Err(Errno::Notconn),
            _ => Err(Errno::Notsock),
        }
    }

    /// `sock_recv`.
    ///
    /// # Errors
    /// `Badf`, `Notsock`, `Notconn`, `Fault`, `Inval`, `Again`.
    pub fn sock_recv(
        &mut self,
        fd: u32,
        list: u32,
        count: u32,
        flags: u32,
        out: u32,
        out_flags: u32,
    ) -> Result {
        self.check(out, 4)?;
        self.check(out_flags, 2)?;
        self.is_connected(fd)?;
        if flags & !(PEEK | WAITALL) != 0 {
            return Err(Errno::Inval);
        }
        let (mut cursor, total) = self.buffers(list, count)?;
        let stays = flags & PEEK != 0;
        let mut done = 0;
        loop {
            let moved = match self.read_source(fd, &mut cursor, total - done, stays) {
                Ok(moved) => moved,
                Err(reason) => {
                    done = so_far(done, reason)?;
                    break;
                }
            };
            done += moved;
            if moved == 0 || done == total || stays || flags & WAITALL == 0 {
                break;
            }
        }
        self.store(out_flags, &[0; 2])?;
        self.store_u32(out, done as u32)
    }

    /// `sock_send`.
    ///
    /// # Errors
    /// `Badf`, `Notsock`, `Notconn`, `Fault`, `Inval`, `Again`, `Pipe`.
    pub fn sock_send(&mut self, fd: u32, list: u32, count: u32, flags: u32, out: u32) -> Result {
        self.check(out, 4)?;
        self.is_connected(fd)?;
        if flags != 0 {
            return Err(Errno::Inval);
        }
        let (mut cursor, total) = self.buffers(list, count)?;
        let done = self.write_sink(fd, &mut cursor, total)?;
        self.store_u32(out, done as u32)
    }

    /// `sock_shutdown`.
    ///
    /// # Errors
    /// `Badf`, `Notsock`, `Notconn`, `Inval`, `Notcapable`.
    pub fn sock_shutdown(&mut self, fd: u32, how: u32) -> Result {
        self.is_connected(fd)?;
        if how == 0 || how & !(RECEIVING | SENDING) != 0 {
            return Err(Errno::Inval);
        }
        let descriptor = self.table.get(fd)?;
        descriptor.has(rights::SOCK_SHUTDOWN)?;
        if let Object::Socket(socket) = &mut descriptor.object {
            if how & RECEIVING != 0 {
                socket.input = None;
            }
            if how & SENDING != 0 {
                socket.output = None;
            }
        }
        Ok(())
    }
}
