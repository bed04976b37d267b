//! Has the guest go on, which listens at a port or is about to, and answers who comes with at least a byte.
//! Without that byte it was not heard, and is told again: a listener may be about to close, which takes
//! connections until it has.

use super::{GUEST, port_after, stream};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// How long an attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first local port, and the one behind the last.
const PORTS: (u16, u16) = (60_000, 65_000);

/// The port of a word `tell PORT`.
pub fn asked(word: &[u8]) -> Option<u16> {
    let port = word.strip_prefix(b"tell ")?;
    std::str::from_utf8(port).ok()?.parse().ok()
}

/// Who tells it.
pub struct Tells {
    socket: SocketHandle,
    local: u16,
    /// The guest's port, while it is told.
    port: Option<u16>,
    /// Since when this attempt is under way.
    since: Option<Instant>,
    next: Instant,
}

impl Tells {
    /// With nothing to tell.
    pub fn new(sockets: &mut SocketSet) -> Tells {
        Tells {
            socket: sockets.add(stream()),
            local: PORTS.0,
            port: None,
            since: None,
            next: Instant::now(),
        }
    }

    /// Tells it at this port.
    pub fn begin(&mut self, port: u16) {
        (self.port, self.since) = (Some(port), None);
    }

    /// Takes a step.
    pub fn go_on(&mut self, interface: &mut Interface, sockets: &mut SocketSet) {
        let Some(port) = self.port else { return };
        let now = Instant::now();
        let socket = sockets.get_mut::<tcp::Socket>(self.socket);
        let Some(since) = self.since else {
            if now < self.next {
                return;
            }
            socket.abort();
            self.local = port_after(self.local, PORTS);
            // Without a way there is another attempt later.
            match socket.connect(interface.context(), (GUEST, port), self.local) {
                Ok(()) => self.since = Some(now),
                Err(_) => self.next = now + PAUSE,
            }
            return;
        };
        if socket.can_recv() {
            // Its end is said in order, so that the guest's is not cut off.
            socket.close();
            let mut out = std::io::stdout();
            // Whoever reads this may have gone.
            let _ = writeln!(out, "told").and_then(|()| out.flush());
            (self.port, self.since) = (None, None);
            return;
        }
        let over = !socket.is_active() || socket.may_send() && !socket.may_recv();
        if over || since.elapsed() > PATIENCE {
            (self.since, self.next) = (None, now + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn a_word_names_a_port() {
        assert_eq!(asked(b"tell 81"), Some(81));
        for word in [&b"tell"[..], b"tell ", b"tell x", b"tell 65536", b"go"] {
            assert_eq!(asked(word), None);
        }
    }
}
