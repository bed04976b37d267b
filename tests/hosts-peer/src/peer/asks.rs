//! A good client of the guest's web server: asks for a page again and again, and prints a line for each
//! that has come, with the microseconds and the attempts that it took.

use super::{GUEST, port_after, stream};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two pages.
const PAUSE: Duration = Duration::from_millis(10);
/// How long an attempt may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first local port, and the one behind the last.
const PORTS: (u16, u16) = (1_024, 20_000);

/// The client.
pub struct Asks {
    socket: SocketHandle,
    port: u16,
    page: String,
    local: u16,
    /// Since when a page is asked for, and since when in this attempt; when the next one is.
    since: Option<[Instant; 2]>,
    next: Instant,
    attempts: u32,
    sent: bool,
    answer: Vec<u8>,
    /// Whether it rests, as in the beginning.
    pub paused: bool,
}

impl Asks {
    /// Of a port of the guest, for a page.
    pub fn new(sockets: &mut SocketSet, port: u16, page: String) -> Asks {
        Asks {
            socket: sockets.add(stream()),
            port,
            page,
            local: PORTS.0,
            since: None,
            next: Instant::now(),
            attempts: 0,
            sent: false,
            answer: Vec::new(),
            paused: true,
        }
    }

    /// Takes a step.
    pub fn go_on(&mut self, interface: &mut Interface, sockets: &mut SocketSet) {
        let now = Instant::now();
        let socket = sockets.get_mut::<tcp::Socket>(self.socket);
        let Some([first, begun]) = self.since else {
            if self.paused || now < self.next {
                return;
            }
            socket.abort();
            self.local = port_after(self.local, PORTS);
            let to = (GUEST, self.port);
            // Without a way there is another attempt later.
            if socket.connect(interface.context(), to, self.local).is_ok() {
                self.since = Some([now, now]);
                (self.attempts, self.sent) = (1, false);
                self.answer.clear();
            }
            return;
        };
        if socket.can_send() && !self.sent {
            let page = &self.page;
            let request = format!("GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            self.sent = socket.send_slice(request.as_bytes()).is_ok();
        }
        while socket.can_recv() {
            let _ = socket.recv(|bytes| {
                self.answer.extend_from_slice(bytes);
                (bytes.len(), ())
            });
        }
        let over = !socket.is_active() || self.sent && !socket.may_recv();
        if !over && begun.elapsed() < PATIENCE {
            return;
        }
        if whole(&self.answer) {
            let mut out = std::io::stdout();
            let (took, attempts) = (first.elapsed().as_micros(), self.attempts);
            // Whoever reads this may have gone.
            let _ = writeln!(out, "{took} {attempts}").and_then(|()| out.flush());
            (self.since, self.next) = (None, now + PAUSE);
            return;
        }
        // Refused, reset or forgotten: at once again, as who waits for a page does.
        socket.abort();
        self.local = port_after(self.local, PORTS);
        let to = (GUEST, self.port);
        let _ = socket.connect(interface.context(), to, self.local);
        self.since = Some([first, now]);
        self.attempts += 1;
        self.sent = false;
        self.answer.clear();
    }
}

/// Whether this is an answer with all of its body.
fn whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|w| w == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    head.starts_with("HTTP/1.1 200 ") && length == Some(answer.len() - end - 4)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_part_is_not_the_whole() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert!(whole(answer));
        assert!(!whole(&answer[..answer.len() - 1]) && !whole(b"") && !whole(b"\r\n\r\n"));
        assert!(!whole(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    }
}
