//! Input and output by datagrams: each block of the input is one, and what comes is printed.
//!
//! It ends a while after its input has, if nothing comes; one that listens answers those who sent
//! last, and goes on without an input.

use core::time::Duration;
use sing_sdk::io;
use sing_sdk::names::Names;
use sing_sdk::net::Datagrams;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// How long answers are waited for when the input has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is next.
enum Event {
    Input,
    Came,
    Over,
}

/// Exchanges datagrams with a host and port, or with those who send to a port.
pub fn exchange(names: &mut Names, listen: Option<u32>, to: &[String]) -> Result<(), Error> {
    use DatagramContract::exp::Start as Came;
    use DatagramContract::imp::Written;
    let path = match (listen, to) {
        (Some(port), []) => format!("/udp/listen/{port}"),
        (None, [host, port]) => format!("/udp/{host}/{port}"),
        _ => return Err(Error::BadArgument),
    };
    let ends = Datagrams::open(names, &path)?.into_ends();
    let (mut output, mut input) = ends.ok_or(Error::Closed)?;
    let (mut reader, mut writer) = (io::stdin(), io::take_stdout().ok_or(Error::Closed)?);
    // To where the path says, until somebody else has sent something.
    let mut peer = (IpAddress { high: 0, low: 0 }, 0);
    let (mut reads, mut end) = (true, None);
    loop {
        let event = match (reads, end) {
            (true, _) => switch_receive! {
                case &reader => Event::Input,
                case &input => Event::Came,
            },
            (false, Some(end)) => switch_receive! {
                case &input => Event::Came,
                deadline end => Event::Over,
            },
            (false, None) => Event::Came,
        };
        match event {
            Event::Input => match reader.receive() {
                Some(block) => match output.call_datagram(peer.0, peer.1, block) {
                    Written::Ack(next) => output = next,
                    Written::NotSent(reason, _) => return Err(Error::Network(reason)),
                    Written::Closed => return Err(Error::Closed),
                },
                None => {
                    reads = false;
                    end = listen.is_none().then(|| uptime() + PATIENCE);
                }
            },
            Event::Came => match input.recv() {
                Came::Datagram(address, port, data, next) => {
                    if listen.is_some() {
                        peer = (address, port);
                    }
                    writer.send(data)?;
                    end = end.map(|_| uptime() + PATIENCE);
                    input = next.send_ack();
                }
                Came::Lost(_, _, reason, _) => return Err(Error::Network(reason)),
                Came::Closed => return Err(Error::Closed),
            },
            Event::Over => return writer.settle(),
        }
    }
}
