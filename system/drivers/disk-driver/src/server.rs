//! The disk's clients: their requests, on the way to the device and back.

use crate::{Answer, DiskDevice, NotBegun, PARALLEL, Request, Signal};
use alloc::collections::VecDeque;
use core::fmt;
use core::time::Duration;
use sing_sdk::contracts::NamespaceContract;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::time::{Timeout, uptime};

/// Channels at a time, of which a program has a ninth at most: with the largest block on each,
/// 1 MiB, that is well within the budget. A block for which there is no room would close an
/// innocent channel.
const CLIENTS: usize = 512;
/// How long the device may take for a request that moves a block. Then the driver ends, and its successor resets the
/// device: until then, the device may still do what it was told.
const PATIENCE: Duration = Duration::from_secs(10);

type Start = DiskContract::Exp<DiskContract::Start>;
type Ready = DiskContract::Exp<DiskContract::Ready>;

/// A client that waits for the answer to its request.
enum Asked {
    Read(DiskContract::Exp<DiskContract::Ready_Read>),
    Write(DiskContract::Exp<DiskContract::Ready_Write>),
    Flush(DiskContract::Exp<DiskContract::Ready_Flush>),
    Discard(DiskContract::Exp<DiskContract::Ready_Discard>),
}

impl Asked {
    /// How long the device may take, which has `patience` for a block. A flush may write all that a
    /// large cache has: it has longer, and less than the thirty seconds of the file system.
    fn patience(&self, patience: Duration) -> Duration {
        match self {
            Asked::Flush(_) => patience.saturating_mul(5) / 2,
            Asked::Read(_) | Asked::Write(_) | Asked::Discard(_) => patience,
        }
    }
}

/// A request, and whose it is.
struct Job {
    /// The number of requests that came before it.
    before: u64,
    key: usize,
    asked: Asked,
}

type Geometries = DiskContract::Exp<DiskContract::Ready_GetGeometry>;

/// The server of a disk.
pub struct Server<D> {
    disk: D,
    provider: Provider<Start, Ready>,
    /// Requests that the device has, by their number, and since when, as far as the clock has been
    /// looked at: those that are done at once need none.
    begun: Vec<Option<(Job, Option<Duration>)>>,
    /// How many.
    under_way: usize,
    /// Requests that wait for room.
    waiting: VecDeque<(Job, Request)>,
    /// Clients that ask for the geometry, with the number of requests that came before. They are
    /// told when all those have ended, whoever's they are: what a client that has gone had under way
    /// does not change the disk behind the back of one that comes after it.
    asking: VecDeque<(u64, usize, Geometries)>,
    /// Requests that have come so far.
    come: u64,
    patience: Duration,
}

impl<D> fmt::Debug for Server<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({:?})", self.provider)
    }
}

impl<D: DiskDevice> Server<D> {
    /// A server of this disk, for the clients that are announced on this channel. Answers on it
    /// that the driver works.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    #[inline]
    pub fn new(
        disk: D,
        lookup: NamespaceContract::Exp<NamespaceContract::Start>,
    ) -> Result<Self, Error> {
        let provider = Provider::new(lookup, DiskContract::Exp::send_success)?;
        Ok(Server::of(disk, provider, PATIENCE))
    }

    /// A server of this disk, for the clients that a provider is told of. The device may take so
    /// long for a request.
    pub fn of(disk: D, provider: Provider<Start, Ready>, patience: Duration) -> Self {
        Server {
            disk,
            provider: provider.at_most(CLIENTS),
            begun: Vec::new(),
            under_way: 0,
            waiting: VecDeque::new(),
            asking: VecDeque::new(),
            come: 0,
            patience,
        }
    }

    /// Serves until the name server or the device has gone.
    ///
    /// # Errors
    /// What [`DiskDevice::take`] says of a device that has failed, or [`Error::Timeout`]: it has not
    /// answered in time.
    pub fn run(mut self) -> Result<(), Error> {
        loop {
            let mut left = self.left();
            // Looked at in each turn: clients that ask all the time do not put it off.
            if left == Some(Duration::ZERO) {
                self.answer_all()?;
                left = self.left();
                if left == Some(Duration::ZERO) {
                    return Err(Error::Timeout);
                }
            }
            switch_receive! {
                timeout left.map_or(Timeout::FOREVER, Timeout::from) => {}
                case &*self.disk.irq() => {
                    self.disk.irq().acknowledge();
                    self.answer_all()?;
                }
                case self.provider.clients[key].GetGeometry() as client => {
                    self.asking.push_back((self.come, key, client));
                }
                case self.provider.clients[key].Read(sector, buffer, start, count) as client => {
                    let block = buffer.into_block();
                    if self.disk.geometry().holds(sector, block.len(), start, count) {
                        let request = Request::Read { sector, block, start, count };
                        self.wait(key, Asked::Read(client), request);
                    } else {
                        let block = Vector::from_block(block);
                        let client = client.send_failed(DiskFault::OutOfRange, block);
                        self.provider.clients.put(key, client);
                    }
                }
                case self.provider.clients[key].Write(sector, data, start, count) as client => {
                    let block = data.into_block();
                    let fault = if self.disk.geometry().read_only {
                        Some(DiskFault::ReadOnly)
                    } else if self.disk.geometry().holds(sector, block.len(), start, count) {
                        None
                    } else {
                        Some(DiskFault::OutOfRange)
                    };
                    if let Some(fault) = fault {
                        let client = client.send_failed(fault, Vector::from_block(block));
                        self.provider.clients.put(key, client);
                    } else {
                        let request = Request::Write { sector, block, start, count };
                        self.wait(key, Asked::Write(client), request);
                    }
                }
                case self.provider.clients[key].Flush() as client => {
                    if self.disk.geometry().flushes {
                        self.wait(key, Asked::Flush(client), Request::Flush);
                    } else {
                        self.provider.clients.put(key, client.send_flushed());
                    }
                }
                case self.provider.clients[key].Discard(sector, sectors) as client => {
                    let disk = self.disk.geometry();
                    if disk.has(sector, sectors) && disk.discards {
                        let request = Request::Discard { sector, sectors };
                        self.wait(key, Asked::Discard(client), request);
                    } else {
                        self.provider.clients.put(key, client.send_discarded());
                    }
                }
                case self.provider.clients[_].ChannelClosed() => {}
                case &self.provider.lookup => {
                    if self.provider.answer(|path| (path == "/").then_some(())).is_err() {
                        return Ok(());
                    }
                }
            }
            // What the case has added, or has made room for.
            self.begin_waiting()?;
            self.tell_geometry();
        }
    }

    /// How long until a request takes too long, from now on; `None` if the device has none.
    fn left(&mut self) -> Option<Duration> {
        if self.under_way == 0 {
            return None;
        }
        let now = uptime();
        let patience = self.patience;
        let begun = self.begun.iter_mut().flatten();
        let ends = begun.map(|(job, since)| {
            let since = *since.get_or_insert(now);
            since.saturating_add(job.asked.patience(patience))
        });
        Some(ends.min()?.saturating_sub(now))
    }

    /// Puts a request behind those that wait.
    fn wait(&mut self, key: usize, asked: Asked, request: Request) {
        let before = self.come;
        self.come += 1;
        self.waiting
            .push_back((Job { before, key, asked }, request));
    }

    /// Tells those the geometry before whom no request has been left.
    fn tell_geometry(&mut self) {
        if self.asking.is_empty() {
            return;
        }
        let waiting = self.waiting.iter().map(|(job, _)| job.before);
        let begun = self.begun.iter().flatten().map(|(job, _)| job.before);
        let oldest = waiting.chain(begun).min().unwrap_or(u64::MAX);
        let told = |asking: &mut (u64, usize, Geometries)| asking.0 <= oldest;
        while let Some((_, key, client)) = self.asking.pop_front_if(told) {
            let disk = self.disk.geometry();
            let client = client.send_geometry(
                disk.sectors,
                disk.sector(),
                disk.read_only,
                PARALLEL as u32,
                disk.most,
            );
            self.provider.clients.put(key, client);
        }
    }

    /// Begins requests that wait, as many as there is room for, and answers those that are done
    /// when the device has been told of them: then there is room for others.
    fn begin_waiting(&mut self) -> Result<(), Error> {
        while self.begin_some() && self.disk.notify() {
            self.answer_all()?;
        }
        Ok(())
    }

    /// Whether a request that waited was begun.
    fn begin_some(&mut self) -> bool {
        let mut any = false;
        while let Some((job, request)) = self.waiting.pop_front() {
            match self.disk.begin(request) {
                Ok(number) => {
                    any = true;
                    if number >= self.begun.len() {
                        self.begun.resize_with(number + 1, || None);
                    }
                    let before = self.begun[number].replace((job, None));
                    self.under_way += usize::from(before.is_none());
                }
                Err(NotBegun {
                    request,
                    reason: Error::WouldBlock,
                }) => {
                    self.waiting.push_front((job, request));
                    break;
                }
                Err(NotBegun { request, reason }) => {
                    let block = match request {
                        Request::Read { block, .. } | Request::Write { block, .. } => Some(block),
                        Request::Flush | Request::Discard { .. } => None,
                    };
                    let fault = match reason {
                        // The sectors are there; the block is one that a device cannot have.
                        Error::BadArgument => DiskFault::OutOfRange,
                        Error::Closed => DiskFault::Medium,
                        _ => DiskFault::NoResources,
                    };
                    self.answer(job, block, Err(fault));
                }
            }
        }
        any
    }

    /// Answers all requests that are done.
    fn answer_all(&mut self) -> Result<(), Error> {
        loop {
            match self.disk.take() {
                Ok(Answer {
                    number,
                    done,
                    block,
                }) => {
                    let job = self.begun.get_mut(number).and_then(Option::take);
                    if let Some((job, _)) = job {
                        self.under_way -= 1;
                        let result = if done { Ok(()) } else { Err(DiskFault::Medium) };
                        self.answer(job, block, result);
                    }
                }
                Err(Error::WouldBlock) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn answer(&mut self, job: Job, block: Option<Block>, result: Result<(), DiskFault>) {
        let Job { key, asked, .. } = job;
        let next = match (asked, block.map(Vector::from_block)) {
            (Asked::Read(client), Some(block)) => Some(match result {
                Ok(()) => client.send_data(block),
                Err(fault) => client.send_failed(fault, block),
            }),
            (Asked::Write(client), Some(block)) => Some(match result {
                Ok(()) => client.send_written(block),
                Err(fault) => client.send_failed(fault, block),
            }),
            (Asked::Flush(client), _) => Some(match result {
                Ok(()) => client.send_flushed(),
                Err(fault) => client.send_not_flushed(fault),
            }),
            // A hint: nobody counts on it.
            (Asked::Discard(client), _) => Some(client.send_discarded()),
            // Its block has not come back: its channel is closed.
            (Asked::Read(_) | Asked::Write(_), None) => None,
        };
        match next {
            Some(client) => self.provider.clients.put(key, client),
            None => {
                self.provider.clients.forget(key);
            }
        }
    }
}
