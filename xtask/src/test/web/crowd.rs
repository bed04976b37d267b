//! A crowd of clients of the hosted system's web server: ten thousand connections, hundreds at once,
//! that are opened and dropped at random. Some send nothing, or a part of a request, and go; some
//! ask, and some wait to be cut off.
//!
//! Each connection that waits must have come to its end, answered or not, within [`LIMIT`] of the
//! time when it was connected. All are played by one thread, as the host says what can go on.

use super::hostile::{GOOD, good};
use anyhow::{Context, Result, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, bind, connect, recv,
    send, shutdown, socket_with, sockopt,
};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Connections of the server's at a time.
pub const PLACES: u32 = 400;
/// Within what nine of ten of the good client's answers come, and all: hundreds wait with the host
/// to be accepted, and a connection for which it has no room is tried again after a second, and
/// after three.
pub const BOUNDS: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(12)];
/// Connections in each storm, and those of a long run.
const TOTAL: usize = 10_000;
const ALL: usize = 100_000;
/// In the first storm, by which the system gets the memory that it keeps.
const FIRST: usize = 3000;
/// Those that are open, or being opened, at a time.
const AT_ONCE: usize = 1200;
/// How long a connection may take to be answered or cut off.
const LIMIT: Duration = Duration::from_secs(20);
/// How long the good client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one is connected at most that goes by itself.
const STAY: u64 = 400;
/// The last bytes of the addresses from which they come.
const FROM: [u8; 6] = [1, 3, 4, 5, 6, 7];
/// Events that are taken from the host in one step.
const EVENTS: usize = 256;

const REQUEST: &[u8] = b"GET /hello?name=crowd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// Sends so many bytes of a request, and goes.
    Drops(usize),
    /// The same, but has the connection reset.
    Resets(usize),
    /// Asks, and waits for the answer; it may end its direction before.
    Asks(bool),
    /// Sends so many bytes, and waits to be cut off.
    Waits(usize),
}

struct Client {
    socket: OwnedFd,
    plan: Plan,
    /// How long it stays once it is connected.
    stay: Duration,
    /// Bytes that are sent.
    sent: usize,
    /// When it goes by itself, or should have been answered.
    end: Instant,
    connected: bool,
    /// The first bytes of what came.
    got: Vec<u8>,
}

/// What has become of them.
#[derive(Default)]
struct Tally {
    dropped: usize,
    answered: usize,
    cut: usize,
    /// The host had no room for these.
    not_connected: usize,
    late: usize,
}

/// How it has ended.
enum Fate {
    Goes,
    Over,
}

impl Client {
    fn open(port: u16, draw: &mut fastrand::Rng) -> Result<Client, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        let from = Ipv4Addr::new(127, 0, 0, FROM[draw.usize(..FROM.len())]);
        bind(&socket, &SocketAddrV4::new(from, 0))?;
        match connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let part = draw.usize(..REQUEST.len());
        let plan = match draw.u8(..20) {
            0..=5 => Plan::Drops(0),
            6..=10 => Plan::Drops(part),
            11..=13 => Plan::Resets(part),
            14..=16 => Plan::Asks(false),
            17 => Plan::Asks(true),
            _ => Plan::Waits(part),
        };
        let stay = match plan {
            Plan::Drops(_) | Plan::Resets(_) => Duration::from_millis(draw.u64(..STAY)),
            _ => LIMIT,
        };
        Ok(Client {
            socket,
            plan,
            stay,
            sent: 0,
            end: Instant::now() + LIMIT,
            connected: false,
            got: Vec::new(),
        })
    }

    /// Goes on as the host says that it can.
    fn go_on(&mut self, flags: EventFlags) -> Fate {
        if !self.connected && flags.intersects(EventFlags::OUT | EventFlags::HUP) {
            self.connected = !flags.contains(EventFlags::ERR);
            self.end = Instant::now() + self.stay;
        }
        let wanted = match self.plan {
            Plan::Drops(count) | Plan::Resets(count) | Plan::Waits(count) => count,
            Plan::Asks(_) => REQUEST.len(),
        };
        while self.connected && self.sent < wanted {
            match send(
                &self.socket,
                &REQUEST[self.sent..wanted],
                SendFlags::NOSIGNAL,
            ) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Fate::Goes,
                Err(_) => return Fate::Over,
            }
            if self.sent == wanted && self.plan == Plan::Asks(true) {
                let _ = shutdown(&self.socket, Shutdown::Write);
            }
        }
        loop {
            let mut block = [0; 2048];
            match recv(&self.socket, &mut block, RecvFlags::empty()) {
                Ok((0, _)) => return Fate::Over,
                Ok((count, _)) => {
                    let room = 64usize.saturating_sub(self.got.len()).min(count);
                    self.got.extend_from_slice(&block[..room]);
                }
                Err(Errno::AGAIN) => return Fate::Goes,
                Err(_) => return Fate::Over,
            }
        }
    }

    /// Counts what has become of it; `over`: the server has ended it.
    fn close(self, over: bool, tally: &mut Tally) {
        match self.plan {
            _ if !self.connected => tally.not_connected += 1,
            Plan::Drops(_) => tally.dropped += 1,
            Plan::Resets(_) => {
                let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
                tally.dropped += 1;
            }
            _ if !over => tally.late += 1,
            Plan::Asks(_) if self.got.starts_with(b"HTTP/1.1 200 ") => tally.answered += 1,
            _ => tally.cut += 1,
        }
    }
}

/// Opens and drops so many connections.
fn crowd(port: u16, seed: u64, total: usize) -> Result<Tally> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::default();
    let mut all: HashMap<u64, Client> = HashMap::new();
    let (mut opened, mut looked) = (0, Instant::now());
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: 5_000_000,
    };
    while opened < total || !all.is_empty() {
        while opened < total && all.len() < AT_ONCE {
            let client = Client::open(port, &mut draw)
                .with_context(|| format!("connection {opened} beside {}", all.len()))?;
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(
                &epoll,
                &client.socket,
                EventData::new_u64(opened as u64),
                flags,
            )?;
            all.insert(opened as u64, client);
            opened += 1;
        }
        let mut events = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        let heard = match epoll::wait(&epoll, &mut events[..], Some(&wait)) {
            Ok((heard, _)) => heard,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for event in &*heard {
            let number = event.data.u64();
            let fate = all.get_mut(&number).map(|c| c.go_on(event.flags));
            if matches!(fate, Some(Fate::Over))
                && let Some(client) = all.remove(&number)
            {
                client.close(true, &mut tally);
            }
        }
        let now = Instant::now();
        if now - looked >= Duration::from_millis(10) {
            looked = now;
            let over = all.extract_if(|_, client| client.end <= now);
            over.for_each(|(_, client)| client.close(false, &mut tally));
        }
    }
    Ok(tally)
}

/// Lets the crowd at the server; how long each of the good client's requests took, sorted.
pub fn storm(port: u16, seed: u64, long: bool) -> Result<Vec<Duration>> {
    // One of them goes on in the same place.
    debug_assert!(!FROM.contains(&GOOD));
    let total = match (long, seed) {
        (false, 1) => FIRST,
        (false, _) => TOTAL,
        (true, _) => ALL,
    };
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let (played, times) = std::thread::scope(|scope| {
        let played = scope.spawn(|| {
            let played = crowd(port, seed, total);
            over.store(true, Relaxed);
            played
        });
        let times = good(port, PATIENCE, || !over.load(Relaxed));
        (played.join().expect("a thread of the test"), times)
    });
    let (tally, mut times) = (played?, times?);
    println!(
        "  {total} connections in {:.1?}: {} dropped, {} answered, {} cut off, {} not connected",
        begun.elapsed(),
        tally.dropped,
        tally.answered,
        tally.cut,
        tally.not_connected
    );
    let late = tally.late;
    ensure!(late == 0, "{late} connections had no end after {LIMIT:?}");
    ensure!(
        tally.not_connected < total / 10 && tally.answered > total / 100,
        "too many connections have not come about, or too few were answered"
    );
    times.sort();
    Ok(times)
}
