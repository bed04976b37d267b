//! `wasi:sockets/udp`.
//!
//! One datagram is under way at a time in each direction, so `check-send` permits one. Datagrams without content
//! are not carried by this system's network: sending one is not supported.

use super::poll::Pollable;
use super::resources::Resource;
use super::sockets::{ADDRESS, Family, Flat, Made, address, address_bytes, address_of};
use super::tcp_options::{BUFFER, HOPS, not_zero};
use super::{Component, Outcome, Room};
use crate::PIECE;
use crate::host::Host;
use crate::net::{Answer, Came, Code, Datagrams, Network};
use alloc::vec::Vec;
use core::net::SocketAddr;

/// Datagrams of one call of `receive`, at most; a single one is always taken, however long.
const MOST: usize = 16;
/// Datagrams that one call passes over because they come from others than the socket's remote address.
const PASSED: usize = 64;
/// The longest content of a datagram: 65,535 bytes less the heads of IPv4 and UDP.
const LONGEST: u32 = 65_507;
/// Bytes of a datagram's record, as it is sent and as it has come.
const SENT: usize = 44;
const RECEIVED: u32 = 40;

/// The datagrams of a socket that go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sends {
    pub fd: u32,
    /// How many may be sent now.
    pub permit: u64,
}

enum Stage<H: Host> {
    Made(<H::Net as Network>::Udp),
    Open(<H::Net as Network>::Datagrams),
}

/// A socket of UDP.
pub(crate) struct Socket<H: Host> {
    family: Family,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    /// How the bind went that is not finished.
    started: Option<Answer<SocketAddr>>,
    /// Streams that have not been dropped.
    streams: u8,
    hops: u8,
    stage: Stage<H>,
}

impl<H: Host> Socket<H> {
    pub fn datagrams(&self) -> Option<&<H::Net as Network>::Datagrams> {
        match &self.stage {
            Stage::Open(datagrams) => Some(datagrams),
            Stage::Made(_) => None,
        }
    }

    fn open(&mut self) -> Answer<&mut <H::Net as Network>::Datagrams> {
        match &mut self.stage {
            Stage::Open(datagrams) => Ok(datagrams),
            Stage::Made(_) => Err(Code::InvalidState),
        }
    }

    fn bind(&mut self, net: &mut H::Net, local: SocketAddr, chance: u64) -> Answer {
        if self.started.is_some() {
            return Err(Code::ConcurrencyConflict);
        }
        let Stage::Made(made) = &mut self.stage else {
            return Err(Code::InvalidState);
        };
        if !self.family.can_bind(local.ip()) {
            return Err(Code::InvalidArgument);
        }
        let opened = net.open(made, local, chance).map(|(datagrams, port)| {
            self.stage = Stage::Open(datagrams);
            SocketAddr::new(local.ip(), port)
        });
        self.started = Some(opened);
        Ok(())
    }

    /// Whether a datagram from there is for this socket.
    fn wants(&self, from: SocketAddr) -> bool {
        match self.remote {
            Some(remote) => (remote.ip(), remote.port()) == (from.ip(), from.port()),
            None => self.family.has(from.ip()),
        }
    }

    /// The datagrams that have come.
    fn receive(&mut self, most: u64) -> Answer<Vec<Came<H::Block>>> {
        let most = usize::try_from(most).unwrap_or(MOST).min(MOST);
        let (mut all, mut bytes, mut passed) = (Vec::new(), 0, 0);
        while all.len() < most && bytes < PIECE && passed < PASSED {
            match self.open()?.receive() {
                Ok(Some(came)) if self.wants(came.2) => {
                    bytes += came.1;
                    all.push(came);
                }
                Ok(Some(_)) => passed += 1,
                Ok(None) => break,
                // That what was sent has not arrived, is told who has one remote address.
                Err((Some(to), _)) if self.remote != Some(to) => passed += 1,
                Err((_, code)) if all.is_empty() => return Err(code),
                Err(_) => break,
            }
        }
        Ok(all)
    }

    /// Where a datagram goes that is sent to there.
    fn target(&self, to: Option<SocketAddr>) -> Answer<SocketAddr> {
        match (to, self.remote) {
            (None, Some(remote)) => Ok(remote),
            (Some(to), None) if self.family.has(to.ip()) => {
                match to.ip().is_unspecified() || to.port() == 0 {
                    true => Err(Code::InvalidArgument),
                    false => Ok(to),
                }
            }
            (Some(to), Some(remote)) if to == remote => Ok(to),
            _ => Err(Code::InvalidArgument),
        }
    }
}

impl<H: Room> Component<H> {
    fn of_udp(&mut self, fd: u32) -> Outcome<&mut Socket<H>> {
        match self.made(fd)? {
            Made::Udp(socket) => Ok(socket),
            _ => Err("passes a udp-socket that is none".into()),
        }
    }

    fn udp(&mut self, socket: u32) -> Outcome<&mut Socket<H>> {
        let fd = *self.table.udp(socket)?;
        self.of_udp(fd)
    }

    /// A stream of datagrams was dropped.
    pub(super) fn stream_dropped(&mut self, fd: u32) {
        if let Ok(socket) = self.of_udp(fd) {
            socket.streams = socket.streams.saturating_sub(1);
        }
    }

    /// `create-udp-socket`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn create_udp(&mut self, family: u32, out: u32) -> Outcome {
        let family = Family::of(family)?;
        let room = self.net().map(drop).and_then(|()| self.has_room());
        let made = room.and_then(|()| self.net()?.udp());
        let socket = made.map(|made| Socket {
            family,
            local: None,
            remote: None,
            started: None,
            streams: 0,
            hops: HOPS,
            stage: Stage::Made(made),
        });
        match socket.and_then(|socket| self.add_made(Made::Udp(socket))) {
            Ok(fd) => {
                self.hold(fd);
                let handle = self.table.add(Resource::Udp(fd))?;
                self.answer_handles(out, Ok(&[handle]))
            }
            Err(code) => self.answer_handles(out, Err(code)),
        }
    }

    /// `start-bind`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_start_bind(&mut self, socket: u32, network: u32, at: Flat, out: u32) -> Outcome {
        self.is_network(network)?;
        let local = address(&at)?;
        let fd = *self.table.udp(socket)?;
        let chance = self.insecure()?;
        let (host, table) = (&mut self.wasi.host, &mut self.wasi.table);
        let object = table.get(fd).map(|d| &mut d.object);
        let done = match (object, host.net()) {
            (Ok(crate::table::Object::Made(made)), Some(net)) => match &mut **made {
                Made::Udp(socket) => socket.bind(net, local, chance),
                _ => Err(Code::InvalidState),
            },
            _ => Err(Code::InvalidState),
        };
        self.answer_done(out, done)
    }

    /// `finish-bind`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_finish_bind(&mut self, socket: u32, out: u32) -> Outcome {
        let socket = self.udp(socket)?;
        let done = match socket.started.take() {
            Some(bound) => bound.map(|local| socket.local = Some(local)),
            None => Err(Code::NotInProgress),
        };
        self.answer_done(out, done)
    }

    /// `stream`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI, and if the streams before have not been dropped.
    pub fn udp_stream(&mut self, socket: u32, some: u32, remote: Flat, out: u32) -> Outcome {
        let remote = match some {
            0 => None,
            _ => Some(address(&remote)?),
        };
        let fd = *self.table.udp(socket)?;
        let socket = self.of_udp(fd)?;
        if socket.streams > 0 {
            return Err(
                "asks for the datagrams of a udp-socket whose streams it has not dropped".into(),
            );
        }
        let done = match remote {
            _ if socket.local.is_none() => Err(Code::InvalidState),
            Some(remote) if !socket.family.can_reach(remote) => Err(Code::InvalidArgument),
            _ => Ok(()),
        };
        if let Err(code) = done {
            return self.answer_handles(out, Err(code));
        }
        (socket.remote, socket.streams) = (remote, 2);
        self.hold(fd);
        self.hold(fd);
        let incoming = self.table.add(Resource::Incoming(fd))?;
        let outgoing = self
            .table
            .add(Resource::Outgoing(Sends { fd, permit: 0 }))?;
        self.answer_handles(out, Ok(&[incoming, outgoing]))
    }

    /// `local-address`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_local(&mut self, socket: u32, out: u32) -> Outcome {
        let local = self.udp(socket)?.local.ok_or(Code::InvalidState);
        self.answer_address(out, local)
    }

    /// `remote-address`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_remote(&mut self, socket: u32, out: u32) -> Outcome {
        let remote = self.udp(socket)?.remote.ok_or(Code::InvalidState);
        self.answer_address(out, remote)
    }

    /// `address-family`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_family(&mut self, socket: u32) -> Outcome<u32> {
        Ok(self.udp(socket)?.family as u32)
    }

    /// `unicast-hop-limit`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_hops(&mut self, socket: u32, out: u32) -> Outcome {
        let hops = self.udp(socket)?.hops;
        self.net_answer(out, 1, Ok(&[hops]))
    }

    /// `set-unicast-hop-limit`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_set_hops(&mut self, socket: u32, value: u32, out: u32) -> Outcome {
        let socket = self.udp(socket)?;
        let done = not_zero(value as u8).map(|value| socket.hops = value);
        self.answer_done(out, done)
    }

    /// `receive-buffer-size` and `send-buffer-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_buffer(&mut self, socket: u32, out: u32) -> Outcome {
        self.udp(socket)?;
        self.net_answer(out, 8, Ok(&BUFFER.to_le_bytes()))
    }

    /// `set-receive-buffer-size` and `set-send-buffer-size`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_set_buffer(&mut self, socket: u32, value: u64, out: u32) -> Outcome {
        self.udp(socket)?;
        self.answer_done(out, not_zero(value).map(drop))
    }

    /// `subscribe` of a socket: nothing of it takes time.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_subscribe(&mut self, socket: u32) -> Outcome<u32> {
        self.udp(socket)?;
        self.pollable(Pollable::Now)
    }

    /// `[method]incoming-datagram-stream.receive`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_receive(&mut self, incoming: u32, most: u64, out: u32) -> Outcome {
        let fd = *self.table.incoming(incoming)?;
        let all = match self.of_udp(fd)?.receive(most) {
            Ok(all) => all,
            Err(code) => return self.net_answer(out, 4, Err(code)),
        };
        let list = self.list(&all, RECEIVED, |component, at, (block, len, from)| {
            let data = component.room(1, *len)?;
            component.wasi.host.scatter(block, 0, data, *len);
            component.put(at, &super::pair(data, *len as u32))?;
            component.put_at(at, 8, &address_bytes(*from))
        })?;
        self.net_answer(out, 4, Ok(&list))
    }

    /// `[method]incoming-datagram-stream.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_subscribe_incoming(&mut self, incoming: u32) -> Outcome<u32> {
        let fd = *self.table.incoming(incoming)?;
        self.hold(fd);
        self.pollable(Pollable::Read(fd))
    }

    /// `[method]outgoing-datagram-stream.check-send`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_check_send(&mut self, outgoing: u32, out: u32) -> Outcome {
        let fd = self.table.outgoing(outgoing)?.fd;
        let room = self.of_udp(fd)?.open().and_then(Datagrams::room);
        let permit = room.map(u64::from);
        self.table.outgoing(outgoing)?.permit = permit.unwrap_or(0);
        let bytes = permit.map(u64::to_le_bytes);
        self.net_answer(out, 8, bytes.as_ref().map(|b| &b[..]).map_err(|c| *c))
    }

    /// `[method]outgoing-datagram-stream.send`.
    ///
    /// # Errors
    /// For more datagrams than were permitted, and for what breaks the canonical ABI.
    pub fn udp_send(&mut self, outgoing: u32, list: u32, count: u32, out: u32) -> Outcome {
        let sends = self.table.outgoing(outgoing)?;
        let fd = sends.fd;
        if u64::from(count) > sends.permit {
            return Err("sends more datagrams than check-send has permitted".into());
        }
        self.range(list, u64::from(count) * SENT as u64)?;
        let sent = match count {
            0 => Ok(0),
            _ => {
                self.table.outgoing(outgoing)?.permit = 0;
                self.send_datagram(fd, list)?
            }
        };
        let bytes = sent.map(u64::to_le_bytes);
        self.net_answer(out, 8, bytes.as_ref().map(|b| &b[..]).map_err(|c| *c))
    }

    /// Sends the datagram whose record is there; how many were sent.
    fn send_datagram(&mut self, fd: u32, at: u32) -> Outcome<Answer<u64>> {
        let record = self.take(at, SENT as u32, SENT)?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| record[at + i]));
        let (data, len) = (word(0), word(4));
        self.range(data, len.into())?;
        let to = match record[8] {
            0 => None,
            _ => {
                let mut bytes = [0; ADDRESS];
                bytes.copy_from_slice(&record[12..]);
                Some(address_of(&bytes)?)
            }
        };
        let to = match self.of_udp(fd)?.target(to) {
            Ok(to) => to,
            Err(code) => return Ok(Err(code)),
        };
        match len {
            0 => return Ok(Err(Code::NotSupported)),
            1..=LONGEST => {}
            _ => return Ok(Err(Code::DatagramTooLarge)),
        }
        let Ok(mut block) = self.wasi.host.block(len as usize) else {
            return Ok(Err(Code::OutOfMemory));
        };
        self.wasi.host.gather(data, &mut block, 0, len as usize);
        let sent = self
            .of_udp(fd)?
            .open()
            .and_then(|open| open.send(to, block));
        Ok(match sent {
            Ok(()) => Ok(1),
            Err(Code::WouldBlock) => Ok(0),
            Err(code) => Err(code),
        })
    }

    /// `[method]outgoing-datagram-stream.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn udp_subscribe_outgoing(&mut self, outgoing: u32) -> Outcome<u32> {
        let fd = self.table.outgoing(outgoing)?.fd;
        self.hold(fd);
        self.pollable(Pollable::Write(fd))
    }
}
