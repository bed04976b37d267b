//! What ICMP says of packets that this machine has sent, and of the link's routers.
//!
//! A packet is only read here; who has sent it cannot be known. Whoever acts on it looks whether it
//! is about something that there is.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    Icmpv4DstUnreachable, Icmpv4Message, Icmpv4Packet, Icmpv6DstUnreachable, Icmpv6Message,
    Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv4Packet, Ipv6Packet, NdiscPrefixInfoFlags, NdiscRepr,
};

/// Bytes before the packet in a frame.
const FRAME_HEAD: usize = 14;
/// The hops of a packet that comes from the link itself.
const FROM_LINK: u8 = 255;
/// Bits of a prefix that addresses are made of.
const PREFIX: u8 = 64;

/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A connection's.
    Tcp,
    /// A datagram.
    Udp,
    /// The request for an echo.
    Echo,
}

/// Why a packet has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nobody has the port.
    NoPort,
    /// Something on the way does not pass it on.
    NoWay,
}

/// A packet of this machine has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What it was.
    pub protocol: Protocol,
    /// Why it has not.
    pub why: Why,
    /// The address that it is from.
    pub from: IpAddr,
    /// The port that it is from, or the identifier of an echo.
    pub port: u16,
    /// Where it was to go.
    pub to: (IpAddr, u16),
}

/// What a router of the link says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advert {
    /// Its address on the link.
    pub router: Ipv6Addr,
    /// For how many seconds it passes on packets; 0: no more.
    pub seconds: u64,
    /// A prefix of 64 bits of which each machine of the link makes an address, and for how many
    /// seconds.
    pub prefix: Option<(Ipv6Addr, u64)>,
}

/// What is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A packet has not arrived.
    Lost(Lost),
    /// A router is there.
    Advert(Advert),
}

/// Reads a frame of Ethernet.
#[must_use]
pub fn read_frame(frame: &[u8]) -> Option<Heard> {
    matches!(frame.get(12..FRAME_HEAD)?, [0x08, 0x00] | [0x86, 0xdd])
        .then(|| read(&frame[FRAME_HEAD..], Sums::Checked))?
}

/// Whether packets have checksums: those that never leave the machine need none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// One whose checksum is wrong is not read.
    Checked,
    /// They have none.
    Absent,
}

/// Reads a packet of IP.
#[must_use]
pub fn read(packet: &[u8], sums: Sums) -> Option<Heard> {
    match packet.first()? >> 4 {
        4 => read_v4(packet, sums).map(Heard::Lost),
        6 => read_v6(packet, sums),
        _ => None,
    }
}

fn read_v4(packet: &[u8], sums: Sums) -> Option<Lost> {
    let packet = Ipv4Packet::new_checked(packet).ok()?;
    let whole = !packet.more_frags() && packet.frag_offset() == 0;
    if packet.next_header() != IpProtocol::Icmp || !whole {
        return None;
    }
    let icmp = Icmpv4Packet::new_checked(packet.payload()).ok()?;
    let why = match icmp.msg_type() {
        Icmpv4Message::DstUnreachable => match Icmpv4DstUnreachable::from(icmp.msg_code()) {
            Icmpv4DstUnreachable::PortUnreachable => Why::NoPort,
            // It is sent again, in smaller pieces.
            Icmpv4DstUnreachable::FragRequired => return None,
            _ => Why::NoWay,
        },
        Icmpv4Message::TimeExceeded => Why::NoWay,
        _ => return None,
    };
    if sums == Sums::Checked && !icmp.verify_checksum() {
        return None;
    }
    // Only the head and eight bytes of the packet need to be there, whatever it says of itself.
    let lost = icmp.data();
    let first = *lost.first()?;
    let head = usize::from(first & 15) * 4;
    if first >> 4 != 4 || head < 20 {
        return None;
    }
    let address = |at: usize| {
        let octets: [u8; 4] = lost.get(at..at + 4)?.try_into().ok()?;
        Some(IpAddr::from(Ipv4Addr::from(octets)))
    };
    let ends = [address(12)?, address(16)?];
    let protocol = *lost.get(9)?;
    about(protocol, why, lost.get(head..)?, ends)
}

fn read_v6(packet: &[u8], sums: Sums) -> Option<Heard> {
    let packet = Ipv6Packet::new_checked(packet).ok()?;
    if packet.next_header() != IpProtocol::Icmpv6 {
        return None;
    }
    let icmp = Icmpv6Packet::new_checked(packet.payload()).ok()?;
    let why = match icmp.msg_type() {
        Icmpv6Message::DstUnreachable => match Icmpv6DstUnreachable::from(icmp.msg_code()) {
            Icmpv6DstUnreachable::PortUnreachable => Why::NoPort,
            _ => Why::NoWay,
        },
        Icmpv6Message::TimeExceeded => Why::NoWay,
        Icmpv6Message::RouterAdvert => return advert(&packet, &icmp).map(Heard::Advert),
        _ => return None,
    };
    let (from, to) = (packet.src_addr(), packet.dst_addr());
    if sums == Sums::Checked && !icmp.verify_checksum(&from, &to) {
        return None;
    }
    let lost = icmp.payload();
    let address = |at: usize| {
        let octets: [u8; 16] = lost.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(octets)))
    };
    let ends = [address(8)?, address(24)?];
    let protocol = *lost.get(6)?;
    about(protocol, why, lost.get(40..)?, ends).map(Heard::Lost)
}

/// What the packet was that has not arrived, from its first bytes behind the head.
fn about(protocol: u8, why: Why, lost: &[u8], [from, to]: [IpAddr; 2]) -> Option<Lost> {
    let word = |at: usize| Some(u16::from_be_bytes(lost.get(at..at + 2)?.try_into().ok()?));
    let (protocol, port, there) = match IpProtocol::from(protocol) {
        IpProtocol::Tcp => (Protocol::Tcp, word(0)?, word(2)?),
        IpProtocol::Udp => (Protocol::Udp, word(0)?, word(2)?),
        IpProtocol::Icmp | IpProtocol::Icmpv6 => (Protocol::Echo, word(4)?, 0),
        _ => return None,
    };
    Some(Lost {
        protocol,
        why,
        from,
        port,
        to: (to, there),
    })
}

fn advert(packet: &Ipv6Packet<&[u8]>, icmp: &Icmpv6Packet<&[u8]>) -> Option<Advert> {
    let (from, to) = (packet.src_addr(), packet.dst_addr());
    if packet.hop_limit() != FROM_LINK || !from.is_unicast_link_local() {
        return None;
    }
    let said = Icmpv6Repr::parse(&from, &to, icmp, &ChecksumCapabilities::default()).ok()?;
    let Icmpv6Repr::Ndisc(NdiscRepr::RouterAdvert {
        router_lifetime,
        prefix_info,
        ..
    }) = said
    else {
        return None;
    };
    let prefix = prefix_info.filter(|p| {
        let autonomous = p.flags.contains(NdiscPrefixInfoFlags::ADDRCONF);
        let short = p.preferred_lifetime > p.valid_lifetime;
        autonomous && !short && p.prefix_len == PREFIX && is_prefix(p.prefix)
    });
    Some(Advert {
        router: from,
        seconds: router_lifetime.secs(),
        prefix: prefix.map(|p| (p.prefix, p.valid_lifetime.secs())),
    })
}

/// Whether addresses that begin so are those of single machines, beyond the link.
fn is_prefix(prefix: Ipv6Addr) -> bool {
    !prefix.is_multicast() && !prefix.is_unicast_link_local() && prefix.segments()[0] != 0
}

/// The address that a machine with this address of Ethernet has behind a prefix of 64 bits
/// (RFC 4291, appendix A).
#[must_use]
pub fn own_address(prefix: Ipv6Addr, mac: [u8; 6]) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let mut octets = prefix.octets();
    octets[8..].copy_from_slice(&[a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    octets.into()
}

/// The prefix of addresses of the link itself.
pub const LINK: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);

/// The frame that asks the routers of the link for what they have to say.
#[must_use]
pub fn solicit(mac: [u8; 6]) -> [u8; FRAME_HEAD + 56] {
    const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let from = own_address(LINK, mac);
    let mut frame = [0; FRAME_HEAD + 56];
    frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 2]);
    frame[6..12].copy_from_slice(&mac);
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    let packet = &mut frame[FRAME_HEAD..];
    packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 16, 58, FROM_LINK]);
    packet[8..24].copy_from_slice(&from.octets());
    packet[24..40].copy_from_slice(&ROUTERS.octets());
    packet[40] = 133;
    packet[48..50].copy_from_slice(&[1, 1]);
    packet[50..56].copy_from_slice(&mac);
    Icmpv6Packet::new_unchecked(&mut packet[40..]).fill_checksum(&from, &ROUTERS);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];

    fn sum(bytes: &[u8]) -> u16 {
        let words = bytes
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
        let sum = words.sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// That a datagram from port 4000 to port 7 of 10.0.0.9 was lost: only its first bytes are there.
    fn lost_v4(kind: u8, code: u8) -> Vec<u8> {
        let mut packet = vec![
            0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend([kind, code, 0, 0, 0, 0, 0, 0]);
        packet.extend([
            0x45, 0, 2, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 9,
        ]);
        packet.extend([15, 160, 0, 7, 1, 236, 0, 0]);
        let check = sum(&packet[20..]);
        packet[22..24].copy_from_slice(&check.to_be_bytes());
        packet
    }

    /// What a router says: for how long it is one, and a prefix.
    fn router(flags: u8, prefix: [u8; 16], bits: u8) -> Vec<u8> {
        let from = own_address(LINK, [2; 6]);
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        let mut packet = vec![0x60, 0, 0, 0, 0, 48, 58, 255];
        packet.extend(from.octets());
        packet.extend(all.octets());
        packet.extend([134, 0, 0, 0, 64, 0, 7, 8]);
        packet.extend([0; 8]);
        packet.extend([3, 4, bits, flags, 0, 0, 14, 16, 0, 0, 14, 16, 0, 0, 0, 0]);
        packet.extend(prefix);
        Icmpv6Packet::new_unchecked(&mut packet[40..]).fill_checksum(&from, &all);
        packet
    }

    const SITE: [u8; 16] = [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn a_lost_packet_is_found_by_its_ports() {
        let lost = |why| {
            Some(Heard::Lost(Lost {
                protocol: Protocol::Udp,
                why,
                from: [10, 0, 0, 2].into(),
                port: 4000,
                to: ([10, 0, 0, 9].into(), 7),
            }))
        };
        assert_eq!(read(&lost_v4(3, 3), Sums::Checked), lost(Why::NoPort));
        assert_eq!(read(&lost_v4(3, 1), Sums::Checked), lost(Why::NoWay));
        assert_eq!(read(&lost_v4(11, 0), Sums::Checked), lost(Why::NoWay));
        assert_eq!(read(&lost_v4(3, 4), Sums::Checked), None);
        assert_eq!(read(&lost_v4(8, 0), Sums::Checked), None);
        let mut damaged = lost_v4(3, 3);
        damaged[50] ^= 1;
        assert_eq!(read(&damaged, Sums::Checked), None);
        assert!(read(&damaged, Sums::Absent).is_some());
    }

    #[test]
    fn a_router_gives_a_prefix_that_addresses_can_be_made_of() {
        let Some(Heard::Advert(said)) = read(&router(0xc0, SITE, 64), Sums::Checked) else {
            panic!("not read");
        };
        assert_eq!(
            (said.router, said.seconds),
            (own_address(LINK, [2; 6]), 1800)
        );
        let (prefix, seconds) = said.prefix.expect("a prefix");
        assert_eq!(seconds, 3600);
        assert_eq!(
            own_address(prefix, MAC),
            "fec0::5054:ff:fe01:203".parse::<Ipv6Addr>().unwrap()
        );
    }

    #[test]
    fn no_address_is_made_of_a_prefix_that_is_none() {
        let multicast = [0xff; 16];
        let bad = [
            router(0x80, SITE, 64),
            router(0xc0, SITE, 48),
            router(0xc0, multicast, 64),
            router(0xc0, [0; 16], 64),
            router(0xc0, LINK.octets(), 64),
        ];
        for packet in bad {
            let Some(Heard::Advert(said)) = read(&packet, Sums::Checked) else {
                panic!("not read");
            };
            assert_eq!(said.prefix, None);
        }
        // Not from the link.
        let mut far = router(0xc0, SITE, 64);
        far[7] = 254;
        assert_eq!(read(&far, Sums::Checked), None);
    }

    #[test]
    fn any_bytes_are_read() {
        let mut random = fastrand::Rng::with_seed(3);
        let all = [lost_v4(3, 3), router(0xc0, SITE, 64)];
        for round in 0..200_000 {
            let mut bytes = all[round % 2].clone();
            for _ in 0..random.usize(0..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes.truncate(random.usize(..=bytes.len()));
            let mut frame = vec![0; 12];
            frame.extend(if bytes.first().is_some_and(|b| b >> 4 == 6) {
                [0x86, 0xdd]
            } else {
                [8, 0]
            });
            frame.extend(&bytes);
            assert_eq!(read_frame(&frame), read(&bytes, Sums::Checked));
        }
    }

    #[test]
    fn routers_are_asked() {
        let frame = solicit(MAC);
        let packet = Ipv6Packet::new_checked(&frame[FRAME_HEAD..]).expect("a packet");
        let icmp = Icmpv6Packet::new_checked(packet.payload()).expect("a message");
        assert!(icmp.verify_checksum(&packet.src_addr(), &packet.dst_addr()));
        assert_eq!(icmp.msg_type(), Icmpv6Message::RouterSolicit);
    }
}
