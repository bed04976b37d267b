//! Network cards of the machines, and what is behind them.

use crate::machine::Machine;
use anyhow::{Context, Result, bail};
use std::net::{SocketAddr, UdpSocket};

/// What is behind a network card.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Link {
    /// The datagrams between two addresses of the host, a frame each.
    Datagrams {
        local: SocketAddr,
        remote: SocketAddr,
    },
    /// QEMU's own network, which leads to the host's as a program's connections do. Connections to
    /// these ports of the host's loopback lead to those of the machine.
    User { forwards: Vec<(u16, u16)> },
    /// No card, but sockets of the host, or none of them: as the hosted kernel's command line has
    /// it.
    Sockets(String),
}

/// A network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    link: Link,
    /// Whether it is QEMU's `e1000`, not a virtio card.
    pub e1000: bool,
}

impl Network {
    /// A virtio card for the datagrams between two addresses.
    pub fn datagrams(local: SocketAddr, remote: SocketAddr) -> Network {
        Network {
            link: Link::Datagrams { local, remote },
            e1000: false,
        }
    }

    /// A virtio card for QEMU's own network, with forwarded ports: the host's and the machine's.
    pub fn user(forwards: &[(u16, u16)]) -> Network {
        Network {
            link: Link::User {
                forwards: forwards.into(),
            },
            e1000: false,
        }
    }

    /// What programs may do with sockets of the host: `none`, `host` or `host,RANGE,...`.
    pub fn sockets(text: &str) -> Network {
        Network {
            link: Link::Sockets(text.into()),
            e1000: false,
        }
    }

    /// Whether it says what programs may do with sockets of the host.
    pub fn is_sockets(&self) -> bool {
        matches!(self.link, Link::Sockets(_))
    }

    /// Reads `LOCAL,REMOTE`, `host` with ranges or not, `none`, or `user`, the latter with
    /// forwarded ports (`user,8080:80`), with `,e1000` behind it for another card.
    pub fn named(text: &str) -> Result<Network> {
        if matches!(text.split(',').next(), Some("host" | "none")) {
            return Ok(Network::sockets(text));
        }
        let (link, e1000) = match text.strip_suffix(",e1000") {
            Some(link) => (link, true),
            None => (text, false),
        };
        let mut parts = link.split(',');
        if parts.next() == Some("user") {
            let forwards: Option<Vec<_>> = parts.map(forward).collect();
            let Some(forwards) = forwards else {
                bail!(
                    "--net {text}: not ports behind `user`; write HOST:MACHINE, such as \
                     user,8080:80; not LOCAL,REMOTE"
                );
            };
            return Ok(Network {
                e1000,
                ..Network::user(&forwards)
            });
        }
        let read = |text: &str| text.parse::<SocketAddr>().ok().filter(|a| a.port() != 0);
        let both = link.split_once(',').map(|(a, b)| (read(a), read(b)));
        let Some((Some(local), Some(remote))) = both else {
            bail!(
                "--net {text}: not two addresses, and not `user`, `host` or `none`; write LOCAL,REMOTE, such as \
                 127.0.0.1:5001,127.0.0.1:5002"
            );
        };
        if local.is_ipv4() != remote.is_ipv4() {
            bail!("--net {text}: one address is of IPv4, the other of IPv6; write two of a kind");
        }
        Ok(Network {
            e1000,
            ..Network::datagrams(local, remote)
        })
    }

    /// Refuses one that this machine cannot have.
    pub fn check(&self, machine: Machine) -> Result<()> {
        if self.e1000 && !machine.confines() {
            bail!(
                "--net: an e1000 needs an IOMMU, which only q35 and the hosted machine have here; say `--machine q35`"
            );
        }
        if matches!(self.link, Link::User { .. }) && machine == Machine::Hosted {
            bail!(
                "--net user is for the emulated machines: microvm, q35 and pc-i440fx; write \
                 host or LOCAL,REMOTE here"
            );
        }
        if let Link::Sockets(text) = &self.link
            && machine != Machine::Hosted
        {
            bail!("--net {text} is for the hosted system; write user or LOCAL,REMOTE here");
        }
        if let Link::Datagrams { local, .. } = self.link
            && local.is_ipv6()
            && machine != Machine::Hosted
        {
            bail!(
                "--net: QEMU's cards have no datagrams of IPv6 behind them; write two addresses of \
                 IPv4, such as 127.0.0.1:5001,127.0.0.1:5002"
            );
        }
        Ok(())
    }

    /// Has connections to a port of the host's loopback lead to the same of the machine's: over
    /// QEMU's own network, which the machine has then.
    pub fn forward(all: &mut Vec<Network>, port: u16) {
        let of = all.iter_mut().find_map(|network| match &mut network.link {
            Link::User { forwards } => Some(forwards),
            _ => None,
        });
        match of {
            Some(forwards) => forwards.push((port, port)),
            None => all.push(Network::user(&[(port, port)])),
        }
    }

    /// As the hosted kernel's command line has it.
    pub fn for_hosted(&self) -> String {
        match &self.link {
            Link::Datagrams { local, remote } if self.e1000 => format!("{local},{remote},e1000"),
            Link::Datagrams { local, remote } => format!("{local},{remote}"),
            Link::User { .. } => "user".into(),
            Link::Sockets(text) => text.clone(),
        }
    }

    /// QEMU's arguments for it as network `number`, with a virtio card of this kind.
    pub fn for_qemu(&self, number: usize, virtio: &str) -> [String; 4] {
        let (backend, mac) = match &self.link {
            &Link::Datagrams { local, remote } => {
                let [high, low] = local.port().to_be_bytes();
                // As the hosted model has it: cards of one host differ.
                let mac = format!(",mac=52:54:00:53:{high:02x}:{low:02x}");
                // Every QEMU has this; `dgram`, which does the same, only from 7.2 on.
                let backend = format!("socket,id=net{number},udp={remote},localaddr={local}");
                (backend, mac)
            }
            Link::User { forwards } => {
                let mut backend = format!("user,id=net{number}");
                for (host, machine) in forwards {
                    backend += &format!(",hostfwd=tcp:127.0.0.1:{host}-:{machine}");
                }
                (backend, String::new())
            }
            // Refused before (`check`).
            Link::Sockets(_) => (String::new(), String::new()),
        };
        let card = if self.e1000 { "e1000" } else { virtio };
        // No program of its firmware's is needed to start from the network.
        let rom = if card.starts_with("virtio-net-device") {
            ""
        } else {
            ",romfile="
        };
        let device = format!("{card}{rom},netdev=net{number}{mac}");
        ["-netdev".into(), backend, "-device".into(), device]
    }
}

/// An address of the host with a port that nobody has.
pub fn free_address() -> Result<SocketAddr> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
    Ok(socket.local_addr()?)
}

/// Ports that are forwarded: `HOST:MACHINE`.
fn forward(text: &str) -> Option<(u16, u16)> {
    let (host, machine) = text.split_once(':')?;
    let port = |text: &str| text.parse().ok().filter(|port| *port != 0);
    Some((port(host)?, port(machine)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_two_addresses_or_the_users() {
        let net = Network::named("127.0.0.1:5001,127.0.0.1:5002,e1000").unwrap();
        assert!(net.e1000);
        assert_eq!(net.for_hosted(), "127.0.0.1:5001,127.0.0.1:5002,e1000");
        let line = net.for_qemu(1, "virtio-net-pci").join(" ");
        for part in [
            "socket,id=net1,udp=127.0.0.1:5002,localaddr=127.0.0.1:5001",
            "e1000,romfile=,netdev=net1,mac=52:54:00:53:13:89",
        ] {
            assert!(line.contains(part), "{part} not in {line}");
        }
        let user = Network::named("user").unwrap();
        let line = user.for_qemu(0, "virtio-net-device").join(" ");
        assert!(line.ends_with("virtio-net-device,netdev=net0"), "{line}");
        let user = Network::named("user,8080:80,8443:443,e1000").unwrap();
        let line = user.for_qemu(0, "virtio-net-device").join(" ");
        let forwards =
            "user,id=net0,hostfwd=tcp:127.0.0.1:8080-:80,hostfwd=tcp:127.0.0.1:8443-:443";
        assert!(line.contains(forwards) && user.e1000, "{line}");
    }

    #[test]
    fn a_port_is_forwarded_by_the_users_network() {
        let mut all = vec![Network::named("127.0.0.1:1,127.0.0.1:2").unwrap()];
        Network::forward(&mut all, 8080);
        Network::forward(&mut all, 8081);
        assert_eq!(all[1..], [Network::user(&[(8080, 8080), (8081, 8081)])]);
    }

    #[test]
    fn addresses_of_ipv6_are_for_hosted_machines() {
        let net = Network::named("[::1]:5001,[::1]:5002").unwrap();
        assert!(net.check(Machine::Hosted).is_ok());
        let error = net.check(Machine::Q35).unwrap_err().to_string();
        assert!(error.contains("two addresses of IPv4"), "{error}");
    }

    #[test]
    fn what_is_no_network_is_named_with_the_way_out() {
        for text in [
            "",
            "tap0",
            "127.0.0.1:1",
            "127.0.0.1:1,127.0.0.1:0",
            "a,b",
            "user,ne2k",
            "user,80",
            "user,0:80",
            "user,80:65536",
        ] {
            let error = Network::named(text).unwrap_err().to_string();
            assert!(error.contains("LOCAL,REMOTE"), "{error}");
        }
        let mixed = Network::named("127.0.0.1:1,[::1]:1").unwrap_err();
        assert!(mixed.to_string().contains("IPv6"));
        let user = Network::named("user").unwrap();
        assert!(user.check(Machine::Hosted).is_err());
        assert!(user.check(Machine::Microvm).is_ok());
        let sockets = Network::named("host,10.0.0.0/8").unwrap();
        assert_eq!(sockets.for_hosted(), "host,10.0.0.0/8");
        assert!(sockets.check(Machine::Hosted).is_ok());
        assert!(sockets.check(Machine::Q35).is_err());
        let e1000 = Network::named("user,e1000").unwrap();
        assert!(e1000.check(Machine::Microvm).is_err());
        assert!(e1000.check(Machine::Q35).is_ok());
        let e1000 = Network::named("127.0.0.1:1,127.0.0.1:2,e1000").unwrap();
        assert!(e1000.check(Machine::Hosted).is_ok());
    }
}
