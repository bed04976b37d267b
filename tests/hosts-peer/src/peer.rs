//! The other side of a card's link in the tests of hosts: a machine at 10.0.0.1 and fd00::1, which is
//! the link's DHCP server, router, server of names, and of a file or two. Its TCP/IP is smoltcp's;
//! what smoltcp has no server for is written here by hand. Asked for `/back/PORT/PATH`, it fetches that
//! page of the guest, and answers with what it has got ([`back`]).
//!
//! Before each answer about a name come answers that must not be taken: of another number, to another
//! question, from another port, damaged.

mod asks;
mod back;
mod tells;

use asks::Asks;
use back::Errand;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::{Duration as Span, Instant};
use smoltcp::wire::{
    DhcpMessageType, DhcpOption, DhcpPacket, DhcpRepr, EthernetAddress, EthernetFrame,
    EthernetProtocol, EthernetRepr, Icmpv4DstUnreachable, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet,
    Icmpv6Repr, IpAddress, IpCidr, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, Ipv6Address,
    Ipv6Packet, Ipv6Repr, NdiscPrefixInfoFlags, NdiscPrefixInformation, NdiscRepr,
    NdiscRouterFlags, TcpPacket, UdpPacket, UdpRepr,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use tells::Tells;

const MAC: EthernetAddress = EthernetAddress([0x52, 0x54, 0, 1, 2, 3]);
const OWN: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
const GUEST: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const OWN_V6: Ipv6Address = Ipv6Address::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const PREFIX: Ipv6Address = Ipv6Address::new(0xfd00, 0, 0, 0, 0, 0, 0, 0);
const LINK: Ipv6Address = Ipv6Address::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// A port of TCP that a router on the way says cannot be reached.
const AWAY: u16 = 99;
const CHECKED: fn() -> ChecksumCapabilities = ChecksumCapabilities::default;

/// Frames on their way between a socket of the host and smoltcp.
struct Wire {
    socket: UdpSocket,
    guest: SocketAddr,
    come: VecDeque<Vec<u8>>,
}

struct Taken(Vec<u8>);
struct Room<'a>(&'a Wire);

impl RxToken for Taken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut frame = vec![0; len];
        let done = fill(&mut frame);
        self.0.send(&frame);
        done
    }
}

impl Wire {
    /// A frame that is lost is sent again by who misses it.
    fn send(&self, frame: &[u8]) {
        let _ = self.socket.send_to(frame, self.guest);
    }
}

impl Device for Wire {
    type RxToken<'a> = Taken;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Taken, Room<'_>)> {
        let frame = self.come.pop_front()?;
        Some((Taken(frame), Room(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        Some(Room(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = 1514;
        all
    }
}

/// The machine, for ever; it asks the guest for a page at a port, if there is one to ask for. What is
/// shorter than a frame is a word to it: `pause`, or `go`; and `tell PORT`, which has it tell the guest to
/// go on at that port, and print `told` when it was heard.
pub fn run(
    socket: UdpSocket,
    guest: SocketAddr,
    page: Option<(u16, String)>,
) -> std::io::Result<Infallible> {
    socket.set_read_timeout(Some(std::time::Duration::from_millis(2)))?;
    let mut wire = Wire {
        socket,
        guest,
        come: VecDeque::new(),
    };
    let mut interface = Interface::new(Config::new(MAC.into()), &mut wire, Instant::now());
    interface.update_ip_addrs(|all| {
        for (address, bits) in [(OWN.into(), 24), (OWN_V6.into(), 64), (LINK.into(), 64)] {
            let _ = all.push(IpCidr::new(address, bits));
        }
    });
    let mut sockets = SocketSet::new(Vec::new());
    let [names, forger, echo] = [53, 5353, 7].map(|port| sockets.add(datagrams(port)));
    let mut web: Vec<_> = (0..4)
        .map(|_| (sockets.add(stream()), Errand::new(&mut sockets)))
        .collect();
    let mut asks = page.map(|(port, page)| Asks::new(&mut sockets, port, page));
    let mut tells = Tells::new(&mut sockets);
    // Attempts to ask for `slow.test`: the first is not answered.
    let mut slow = 0;
    loop {
        let mut bytes = [0; 2048];
        while let Ok(len) = wire.socket.recv(&mut bytes) {
            let frame = &bytes[..len];
            if let (Some(asks), b"pause" | b"go") = (&mut asks, frame) {
                asks.paused = frame == b"pause";
                continue;
            }
            if let Some(port) = tells::asked(frame) {
                tells.begin(port);
                continue;
            }
            if let Some(answer) = lease(frame)
                .or_else(|| advert(frame))
                .or_else(|| away(frame))
            {
                wire.send(&answer);
            } else {
                wire.come.push_back(frame.to_vec());
            }
            if wire.come.len() >= 32 {
                break;
            }
        }
        interface.poll(Instant::now(), &mut wire, &mut sockets);
        let echo = sockets.get_mut::<udp::Socket>(echo);
        while let Ok((data, about)) = echo.recv().map(|(data, about)| (data.to_vec(), about)) {
            let _ = echo.send_slice(&data, about.endpoint);
        }
        answer_names(&mut sockets, names, forger, &mut slow);
        for (handle, errand) in &mut web {
            if errand.is_under_way() {
                errand.go_on(&mut interface, &mut sockets, *handle);
            } else if let Some((port, path)) = serve(sockets.get_mut(*handle)) {
                errand.begin(port, path);
            }
        }
        if let Some(asks) = &mut asks {
            asks.go_on(&mut interface, &mut sockets);
        }
        tells.go_on(&mut interface, &mut sockets);
        interface.poll(Instant::now(), &mut wire, &mut sockets);
    }
}

fn datagrams(port: u16) -> udp::Socket<'static> {
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 1 << 16]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    socket.bind(port).expect("a new socket takes a port");
    socket
}

/// The port for the next connection, of those from the first to before the end.
fn port_after(port: u16, (first, end): (u16, u16)) -> u16 {
    match port + 1 < end {
        true => port + 1,
        false => first,
    }
}

fn stream() -> tcp::Socket<'static> {
    let buffer = || tcp::SocketBuffer::new(vec![0; 1 << 14]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.set_timeout(Some(Span::from_secs(5)));
    socket
}

/// Serves one connection of the web at a time; the guest's port and the page if it is asked for one
/// of those.
fn serve(socket: &mut tcp::Socket) -> Option<(u16, String)> {
    if !socket.is_open() {
        socket.listen(80).expect("a closed socket can listen");
    }
    let request = socket.recv(|all| match all.ends_with(b"\r\n\r\n") {
        true => (all.len(), Some(all.to_vec())),
        false => (0, None),
    });
    if let Ok(Some(request)) = request {
        let path = request.split(|b| *b == b' ').nth(1).unwrap_or_default();
        if let Some(asked) = back::asked(path) {
            return Some(asked);
        }
        let answer: &[u8] = match path {
            b"/" => b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfrom afar\n",
            b"/pieces" => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  5\r\nfrom \r\n7\r\npieces\n\r\n0\r\n\r\n"
            }
            b"/short" => b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nfrom afar\n",
            b"/to" => b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
            b"/circle" => b"HTTP/1.1 302 Found\r\nLocation: circle\r\nContent-Length: 0\r\n\r\n",
            b"/trouble" => b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        };
        let _ = socket.send_slice(answer);
        socket.close();
    } else if !socket.may_recv() && socket.may_send() {
        socket.close();
    }
    None
}

/// A record: the name of the question, a type, and data.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, 12];
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 60]);
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Answers questions for names, after forgeries.
fn answer_names(
    sockets: &mut SocketSet,
    names: SocketHandle,
    forger: SocketHandle,
    slow: &mut u32,
) {
    loop {
        let socket = sockets.get_mut::<udp::Socket>(names);
        let Ok((question, from)) = socket
            .recv()
            .map(|(data, about)| (data.to_vec(), about.endpoint))
        else {
            return;
        };
        let Some((answers, forged)) = answers(&question, slow) else {
            continue;
        };
        for message in answers {
            let _ = socket.send_slice(&message, from);
        }
        let forger = sockets.get_mut::<udp::Socket>(forger);
        let _ = forger.send_slice(&forged, from);
    }
}

/// What is said to a question, and what another port says.
fn answers(question: &[u8], slow: &mut u32) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
    let end = question.get(12..)?.iter().position(|b| *b == 0)? + 13;
    let kind = u16::from_be_bytes(question.get(end..end + 2)?.try_into().ok()?);
    let name = question[12..end - 1].to_vec();
    let head = |code: u8, records: &[Vec<u8>]| {
        let mut message = question.to_vec();
        message[2..4].copy_from_slice(&[0x81, 0x80 | code]);
        message[7] = records.len() as u8;
        message.extend(records.concat());
        message
    };
    let six = OWN_V6.octets();
    let (code, records) = match (&name[..], kind) {
        (b"\x04host\x04test", 1) => (0, vec![record(1, &OWN.octets())]),
        (b"\x05alias\x04test", 1) => {
            let mut own = record(1, &OWN.octets());
            // Of the name that it stands for.
            own.splice(..2, *b"\x04host\xc0\x12");
            (0, vec![record(5, b"\x04host\xc0\x12"), own])
        }
        (b"\x03six\x04test", 28) => (0, vec![record(28, &six)]),
        (b"\x04mail\x04test", 15) => (0, vec![record(15, b"\0\x0a\x04host\xc0\x11")]),
        (b"\x04slow\x04test", 1) => {
            *slow += 1;
            if *slow == 1 {
                return None;
            }
            (0, vec![record(1, &OWN.octets())])
        }
        (b"\x06silent\x04test", _) => return None,
        (b"\x07trouble\x04test", _) => (2, Vec::new()),
        (b"\x04none\x04test", _) => (3, Vec::new()),
        _ => (0, Vec::new()),
    };
    let false_one = head(0, &[record(1, &[6, 6, 6, 6])]);
    let mut other_number = false_one.clone();
    other_number[0] ^= 1;
    let mut other_name = false_one.clone();
    other_name[13] ^= 1;
    let mut circle = head(0, &[record(1, &[6, 6, 6, 6])]);
    let at = question.len();
    circle[at..at + 2].copy_from_slice(&[0xc0, at as u8]);
    let cut = false_one[..11].to_vec();
    let all = vec![other_number, other_name, circle, cut, head(code, &records)];
    Some((all, false_one))
}

/// A frame to an address of Ethernet, with a packet.
fn frame(to: EthernetAddress, kind: EthernetProtocol, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 14 + packet.len()];
    EthernetRepr {
        src_addr: MAC,
        dst_addr: to,
        ethertype: kind,
    }
    .emit(&mut EthernetFrame::new_unchecked(&mut bytes[..]));
    bytes[14..].copy_from_slice(packet);
    bytes
}

/// A packet of IPv4 from here with what `fill` writes.
fn packet(
    from: Ipv4Address,
    kind: IpProtocol,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let repr = Ipv4Repr {
        src_addr: from,
        dst_addr: GUEST,
        next_header: kind,
        payload_len: len,
        hop_limit: 64,
    };
    let mut bytes = vec![0; 20 + len];
    repr.emit(&mut Ipv4Packet::new_unchecked(&mut bytes[..]), &CHECKED());
    fill(&mut bytes[20..]);
    bytes
}

/// The answer of the DHCP server.
fn lease(bytes: &[u8]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(bytes).ok()?;
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let udp = UdpPacket::new_checked(ip.payload()).ok()?;
    if ip.next_header() != IpProtocol::Udp || udp.dst_port() != 67 {
        return None;
    }
    let dhcp = DhcpPacket::new_checked(udp.payload()).ok()?;
    let asked = DhcpRepr::parse(&dhcp).ok()?;
    let message_type = match asked.message_type {
        DhcpMessageType::Discover => DhcpMessageType::Offer,
        _ => DhcpMessageType::Ack,
    };
    let server = OWN.octets();
    let servers = [DhcpOption {
        kind: 6,
        data: &server,
    }];
    let answer = DhcpRepr {
        message_type,
        your_ip: GUEST,
        server_ip: OWN,
        router: Some(OWN),
        subnet_mask: Some(Ipv4Address::new(255, 255, 255, 0)),
        server_identifier: Some(OWN),
        lease_duration: Some(3600),
        parameter_request_list: None,
        client_identifier: None,
        requested_ip: None,
        max_size: None,
        additional_options: &servers,
        ..asked
    };
    let ports = UdpRepr {
        src_port: 67,
        dst_port: 68,
    };
    let len = answer.buffer_len();
    let (from, to) = (IpAddress::Ipv4(OWN), IpAddress::Ipv4(GUEST));
    let packet = packet(OWN, IpProtocol::Udp, 8 + len, |room| {
        let fill = |room: &mut [u8]| {
            let _ = answer.emit(&mut DhcpPacket::new_unchecked(room));
        };
        let mut udp = UdpPacket::new_unchecked(room);
        ports.emit(&mut udp, &from, &to, len, fill, &CHECKED());
    });
    let to = asked.client_hardware_address;
    Some(frame(to, EthernetProtocol::Ipv4, &packet))
}

/// What the router says when it is asked.
fn advert(bytes: &[u8]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(bytes).ok()?;
    let ip = Ipv6Packet::new_checked(ethernet.payload()).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Ipv6 || ip.payload().first() != Some(&133) {
        return None;
    }
    let said = Icmpv6Repr::Ndisc(NdiscRepr::RouterAdvert {
        hop_limit: 64,
        flags: NdiscRouterFlags::empty(),
        router_lifetime: Span::from_secs(1800),
        reachable_time: Span::from_secs(0),
        retrans_time: Span::from_secs(0),
        lladdr: Some(MAC.into()),
        mtu: None,
        prefix_info: Some(NdiscPrefixInformation {
            prefix_len: 64,
            flags: NdiscPrefixInfoFlags::ADDRCONF | NdiscPrefixInfoFlags::ON_LINK,
            valid_lifetime: Span::from_secs(3600),
            preferred_lifetime: Span::from_secs(3600),
            prefix: PREFIX,
        }),
    });
    let all = Ipv6Address::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let repr = Ipv6Repr {
        src_addr: LINK,
        dst_addr: all,
        next_header: IpProtocol::Icmpv6,
        payload_len: said.buffer_len(),
        hop_limit: 255,
    };
    let mut packet = vec![0; 40 + said.buffer_len()];
    repr.emit(&mut Ipv6Packet::new_unchecked(&mut packet[..]));
    let mut icmp = Icmpv6Packet::new_unchecked(&mut packet[40..]);
    said.emit(&LINK, &all, &mut icmp, &CHECKED());
    let to = EthernetAddress([0x33, 0x33, 0, 0, 0, 1]);
    Some(frame(to, EthernetProtocol::Ipv6, &packet))
}

/// What a router says of a connection that it does not pass on: with no more of the packet than a
/// router must send back.
fn away(bytes: &[u8]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(bytes).ok()?;
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    if ip.next_header() != IpProtocol::Tcp || tcp.dst_port() != AWAY {
        return None;
    }
    let said = Icmpv4Repr::DstUnreachable {
        reason: Icmpv4DstUnreachable::HostUnreachable,
        header: Ipv4Repr {
            src_addr: ip.src_addr(),
            dst_addr: ip.dst_addr(),
            next_header: IpProtocol::Tcp,
            payload_len: ip.payload().len(),
            hop_limit: 64,
        },
        data: &ip.payload()[..8],
    };
    let packet = packet(OWN, IpProtocol::Icmp, said.buffer_len(), |room| {
        said.emit(&mut Icmpv4Packet::new_unchecked(room), &CHECKED());
    });
    Some(frame(ethernet.src_addr(), EthernetProtocol::Ipv4, &packet))
}
