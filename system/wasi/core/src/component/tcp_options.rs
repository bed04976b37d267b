//! The options of `wasi:sockets/tcp`.

use super::{Component, Outcome, Room};
use crate::net::{Answer, Code};

/// Bytes that the network keeps of a connection, in each direction. A program's wish is rounded to that.
pub(super) const BUFFER: u64 = 64 << 10;
pub(super) const HOPS: u8 = 64;
/// Times of keeping alive, as Linux has them: nanoseconds.
const IDLE: u64 = 7200 * 1_000_000_000;
const INTERVAL: u64 = 75 * 1_000_000_000;
const PROBES: u32 = 9;

/// What a program has said of a socket. The network keeps all connections alive in its own way, and chooses hops
/// itself: what is said is told again, and nothing else comes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub keep_alive: bool,
    pub idle: u64,
    pub interval: u64,
    pub probes: u32,
    pub hops: u8,
}

impl Options {
    pub const fn new() -> Options {
        Options {
            keep_alive: false,
            idle: IDLE,
            interval: INTERVAL,
            probes: PROBES,
            hops: HOPS,
        }
    }
}

/// A value that must not be 0.
pub(super) fn not_zero<T: Default + PartialEq>(value: T) -> Answer<T> {
    match value == T::default() {
        true => Err(Code::InvalidArgument),
        false => Ok(value),
    }
}

impl<H: Room> Component<H> {
    /// `set-listen-backlog-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_backlog(&mut self, socket: u32, value: u64, out: u32) -> Outcome {
        let done = self.tcp(socket)?.1.set_backlog(value);
        self.answer_done(out, done)
    }

    /// One of the options of a socket, whose bytes `of` takes, at a place of the answer.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub(crate) fn tcp_option<const N: usize>(
        &mut self,
        socket: u32,
        at: u32,
        of: fn(&Options) -> [u8; N],
        out: u32,
    ) -> Outcome {
        let bytes = of(&self.tcp(socket)?.1.options);
        self.net_answer(out, at, Ok(&bytes))
    }

    /// Sets one of them, unless the value is none.
    fn tcp_set<T>(
        &mut self,
        socket: u32,
        value: Answer<T>,
        set: impl FnOnce(&mut Options, T),
        out: u32,
    ) -> Outcome {
        let options = &mut self.tcp(socket)?.1.options;
        let done = value.map(|value| set(options, value));
        self.answer_done(out, done)
    }

    /// `keep-alive-enabled`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_keep_alive(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 1, |o| [o.keep_alive.into()], out)
    }

    /// `set-keep-alive-enabled`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_keep_alive(&mut self, socket: u32, value: u32, out: u32) -> Outcome {
        self.tcp_set(socket, Ok(value != 0), |o, value| o.keep_alive = value, out)
    }

    /// `keep-alive-idle-time`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_idle(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 8, |o| o.idle.to_le_bytes(), out)
    }

    /// `set-keep-alive-idle-time`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_idle(&mut self, socket: u32, value: u64, out: u32) -> Outcome {
        self.tcp_set(socket, not_zero(value), |o, value| o.idle = value, out)
    }

    /// `keep-alive-interval`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_interval(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 8, |o| o.interval.to_le_bytes(), out)
    }

    /// `set-keep-alive-interval`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_interval(&mut self, socket: u32, value: u64, out: u32) -> Outcome {
        self.tcp_set(socket, not_zero(value), |o, value| o.interval = value, out)
    }

    /// `keep-alive-count`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_probes(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 4, |o| o.probes.to_le_bytes(), out)
    }

    /// `set-keep-alive-count`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_probes(&mut self, socket: u32, value: u32, out: u32) -> Outcome {
        self.tcp_set(socket, not_zero(value), |o, value| o.probes = value, out)
    }

    /// `hop-limit`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_hops(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 1, |o| [o.hops], out)
    }

    /// `set-hop-limit`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_hops(&mut self, socket: u32, value: u32, out: u32) -> Outcome {
        let value = not_zero(value as u8);
        self.tcp_set(socket, value, |o, value| o.hops = value, out)
    }

    /// `receive-buffer-size` and `send-buffer-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_buffer(&mut self, socket: u32, out: u32) -> Outcome {
        self.tcp_option(socket, 8, |_| BUFFER.to_le_bytes(), out)
    }

    /// `set-receive-buffer-size` and `set-send-buffer-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn tcp_set_buffer(&mut self, socket: u32, value: u64, out: u32) -> Outcome {
        self.tcp_set(socket, not_zero(value), |_, _| {}, out)
    }
}
