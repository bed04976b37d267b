//! Pages of the guest that a client of this machine asks for: they cross the card twice, once in
//! each direction.

use super::{GUEST, port_after, stream};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use std::time::{Duration, Instant};

/// The most of a page that is kept.
const MOST: usize = 1 << 20;
/// How long the guest may take; whoever asks is told that it was too long.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first local port, and the one behind the last.
const PORTS: (u16, u16) = (20_000, 60_000);

/// The guest's port and the page, if the path is of one: `/back/80/hello`.
pub fn asked(path: &[u8]) -> Option<(u16, String)> {
    let rest = path.strip_prefix(b"/back/")?;
    let rest = std::str::from_utf8(rest).ok()?;
    let (port, page) = rest.split_once('/')?;
    Some((port.parse().ok()?, format!("/{page}")))
}

/// What a connection of this machine's web server may have to fetch.
pub struct Errand {
    socket: SocketHandle,
    next_port: u16,
    asked: Option<Asked>,
}

struct Asked {
    port: u16,
    page: String,
    since: Instant,
    connected: bool,
    sent: bool,
    /// What has come; then what is still to be passed on.
    answer: Vec<u8>,
    whole: bool,
}

impl Errand {
    /// One that has nothing to fetch.
    pub fn new(sockets: &mut SocketSet) -> Errand {
        let socket = sockets.add(stream());
        Errand {
            socket,
            // Each has ports of its own.
            next_port: PORTS.0 + (sockets.iter().count() as u16 % 16) * 2_500,
            asked: None,
        }
    }

    /// Whether it has.
    pub fn is_under_way(&self) -> bool {
        self.asked.is_some()
    }

    /// Sets out for a page.
    pub fn begin(&mut self, port: u16, page: String) {
        self.asked = Some(Asked {
            port,
            page,
            since: Instant::now(),
            connected: false,
            sent: false,
            answer: Vec::new(),
            whole: false,
        });
    }

    /// Takes a step; at the end the client has what the guest has said, all of it or a part.
    pub fn go_on(&mut self, interface: &mut Interface, sockets: &mut SocketSet, to: SocketHandle) {
        let Some(asked) = &mut self.asked else { return };
        let socket = sockets.get_mut::<tcp::Socket>(self.socket);
        if !asked.connected {
            socket.abort();
            let port = self.next_port;
            self.next_port = port_after(port, PORTS);
            asked.connected = true;
            if socket
                .connect(interface.context(), (GUEST, asked.port), port)
                .is_err()
            {
                asked.whole = true;
            }
        }
        if socket.can_send() && !asked.sent {
            let request = format!(
                "GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                asked.page
            );
            asked.sent = socket.send_slice(request.as_bytes()).is_ok();
        }
        while !asked.whole && socket.can_recv() {
            let _ = socket.recv(|bytes| {
                asked.answer.extend_from_slice(bytes);
                (bytes.len(), ())
            });
        }
        let over = !socket.is_active() || asked.sent && !socket.may_recv();
        let late = asked.since.elapsed() > PATIENCE || asked.answer.len() > MOST;
        if !asked.whole && (over || late) {
            socket.abort();
            asked.whole = true;
            if asked.answer.is_empty() {
                asked.answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec();
            }
        }
        let client = sockets.get_mut::<tcp::Socket>(to);
        if !client.is_active() {
            self.asked = None;
        } else if asked.whole {
            let taken = client
                .send_slice(&asked.answer)
                .unwrap_or(asked.answer.len());
            asked.answer.drain(..taken);
            if asked.answer.is_empty() {
                client.close();
                self.asked = None;
            }
        }
    }
}
