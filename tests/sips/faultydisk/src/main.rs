//! A disk that fails as told: passes requests on to another disk, with faults.
//!
//! Writes are kept here until a flush, as in the cache of a real disk, so that a cut of the power
//! (`Cut`) or an end of the process loses those that were not flushed. What is lost is drawn: each
//! sector of them may have reached the medium.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::contract!("switches.contract", use sing_sdk::contracts::ServiceContract);

sing_sdk::manifest! {
    name: "faultydisk",
    description: "a disk with faults before another one",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

const SECTOR: usize = 512;
/// Requests are this large at most, however large the disk below takes them: less than file systems
/// would like.
const MOST: u32 = 32 << 10;

sing_sdk::arguments! {
    /// The disk that it is before.
    of: one String "OF";
    /// Its own path; its switches are at the same with `-switches` behind.
    path: one String "PATH";
    /// Nothing is kept here until a flush.
    through: flag "--through";
    /// Its sectors are so many of the other disk's.
    group: option u32 "--group SECTORS";
}

type Channel = DiskContract::Imp<DiskContract::Ready>;
type Switch = SwitchContract::Exp<SwitchContract::Ready>;

/// A request that is to be held: how many come before it, and who is told.
struct Hold {
    before: u32,
    key: usize,
    asked: SwitchContract::Exp<SwitchContract::Ready_Hold>,
}

struct Disk {
    below: Option<Channel>,
    /// Sectors that have not been flushed.
    cache: BTreeMap<u64, Vec<u8>>,
    bad: core::ops::Range<u64>,
    read_only: bool,
    cut: bool,
    slow: u32,
    through: bool,
    /// Sectors of the disk below that are one of this one.
    group: u64,
    hold: Option<Hold>,
}

impl Disk {
    /// The first sector below of a request, if it is of whole sectors.
    fn first(&self, sector: u64, start: u32, count: u32) -> Result<u64, DiskFault> {
        let size = self.group as u32 * SECTOR as u32;
        let whole = start.is_multiple_of(size) && count.is_multiple_of(size);
        let first = sector.checked_mul(self.group).filter(|_| whole);
        first.ok_or(DiskFault::OutOfRange)
    }

    fn channel(&mut self) -> Channel {
        match self.below.take() {
            Some(channel) => channel,
            None => panic!("the disk below has gone"),
        }
    }

    fn fault(&self, sector: u64, count: u32, write: bool) -> Option<DiskFault> {
        let end = sector + u64::from(count) / SECTOR as u64;
        if self.slow > 0 {
            sing_sdk::time::sleep(core::time::Duration::from_millis(u64::from(self.slow)));
        }
        if count > MOST {
            return Some(DiskFault::OutOfRange);
        }
        if write && self.read_only {
            return Some(DiskFault::ReadOnly);
        }
        let bad = sector < self.bad.end && self.bad.start < end;
        (bad || self.cut).then_some(DiskFault::Medium)
    }

    fn read(
        &mut self,
        sector: u64,
        buffer: Vector<u8>,
        start: u32,
        count: u32,
    ) -> Result<Vector<u8>, (DiskFault, Vector<u8>)> {
        use DiskContract::imp::Ready_Read as Reply;
        let sector = match self.first(sector, start, count) {
            Ok(first) => first,
            Err(fault) => return Err((fault, buffer)),
        };
        if let Some(fault) = self.fault(sector, count, false) {
            return Err((fault, buffer));
        }
        let (outcome, next) = match self.channel().call_read(sector, buffer, start, count) {
            Reply::Data(block, next) => (Ok(block), next),
            Reply::Failed(fault, block, next) => (Err((fault, block)), next),
            Reply::Closed => panic!("the disk below has gone"),
        };
        self.below = Some(next);
        let mut block = outcome?.into_block();
        let end = sector + u64::from(count) / SECTOR as u64;
        for (at, bytes) in self.cache.range(sector..end) {
            block.write(start as usize + (at - sector) as usize * SECTOR, bytes);
        }
        Ok(Vector::from_block(block))
    }

    fn write(
        &mut self,
        sector: u64,
        block: &Block,
        start: u32,
        count: u32,
    ) -> Result<(), DiskFault> {
        let sector = self.first(sector, start, count)?;
        if (start + count) as usize > block.len() {
            return Err(DiskFault::OutOfRange);
        }
        if let Some(fault) = self.fault(sector, count, true) {
            return Err(fault);
        }
        for n in 0..count as usize / SECTOR {
            let mut bytes = vec![0; SECTOR];
            block.read(start as usize + n * SECTOR, &mut bytes);
            self.cache.insert(sector + n as u64, bytes);
        }
        if self.through {
            self.settle(|_| true);
        }
        Ok(())
    }

    /// Hands sectors to the disk below.
    fn settle(&mut self, which: impl Fn(u64) -> bool) {
        use DiskContract::imp::Ready_Write as Reply;
        for (sector, bytes) in core::mem::take(&mut self.cache) {
            if !which(sector) {
                continue;
            }
            let Ok(block) = Vector::from_bytes(&bytes) else {
                continue;
            };
            let next = match self.channel().call_write(sector, block, 0, SECTOR as u32) {
                Reply::Written(_, next) | Reply::Failed(_, _, next) => next,
                Reply::Closed => panic!("the disk below has gone"),
            };
            self.below = Some(next);
        }
    }

    /// A request has come. If it is to be held, whoever asked for that is told, and it waits here
    /// with all others until it is released; whoever has gone releases it, too.
    fn arrived(&mut self, switches: &mut EndpointSet<Switch>) {
        let Some(mut hold) = self.hold.take() else {
            return;
        };
        if hold.before > 0 {
            hold.before -= 1;
            self.hold = Some(hold);
            return;
        }
        let held = hold.asked.send_held();
        match held.recv() {
            SwitchContract::exp::Ready_Hold_Held::Release(next) => {
                switches.put(hold.key, next.send_done());
            }
            SwitchContract::exp::Ready_Hold_Held::Closed => {
                switches.forget(hold.key);
            }
        }
    }

    /// The power fails: of what was not flushed, a part has reached the medium.
    fn cut(&mut self, seed: u64) {
        let group = self.group;
        let drawn = |sector: u64| {
            let x = ((sector / group) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (x >> 40) & 1 == 0
        };
        self.settle(drawn);
        self.cut = true;
    }
}

fn below(names: &mut Names, path: &str) -> Result<Channel, Error> {
    let (imp, exp) = DiskContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?)
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<(), Error> {
    let Arguments {
        of,
        path,
        through,
        group,
    } = arguments;
    let group = group.unwrap_or(1).max(1);
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let channel = below(&mut names, &of)?;
    let (sectors, bytes, _, _, most, channel) = channel.call_get_geometry().geometry()?;
    let mut disk = Disk {
        below: Some(channel),
        cache: BTreeMap::new(),
        bad: 0..0,
        read_only: false,
        cut: false,
        slow: 0,
        through,
        group: group.into(),
        hold: None,
    };
    let (sectors, bytes) = (sectors / u64::from(group), bytes * group);
    let switches = format!("{path}-switches");
    let begin = SwitchContract::Exp::send_success;
    let mut switches = Provider::register(&mut names, &switches, begin)?;
    let mut clients = Provider::register(&mut names, &path, DiskContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case clients.clients[key].GetGeometry() as client => {
                let client = client.send_geometry(sectors, bytes, disk.read_only, 4, most.min(MOST));
                clients.clients.put(key, client);
            }
            case clients.clients[key].Read(sector, buffer, start, count) as client => {
                disk.arrived(&mut switches.clients);
                let client = match disk.read(sector, buffer, start, count) {
                    Ok(block) => client.send_data(block),
                    Err((fault, block)) => client.send_failed(fault, block),
                };
                clients.clients.put(key, client);
            }
            case clients.clients[key].Write(sector, data, start, count) as client => {
                disk.arrived(&mut switches.clients);
                let block = data.into_block();
                let client = match disk.write(sector, &block, start, count) {
                    Ok(()) => client.send_written(Vector::from_block(block)),
                    Err(fault) => client.send_failed(fault, Vector::from_block(block)),
                };
                clients.clients.put(key, client);
            }
            case clients.clients[key].Flush() as client => {
                disk.arrived(&mut switches.clients);
                let client = if disk.cut {
                    client.send_not_flushed(DiskFault::Medium)
                } else {
                    disk.settle(|_| true);
                    client.send_flushed()
                };
                clients.clients.put(key, client);
            }
            case clients.clients[key].Discard(_, _) as client => {
                clients.clients.put(key, client.send_discarded());
            }
            case clients.clients[_].ChannelClosed() => {}
            case switches.clients[key].Bad(from, to) as client => {
                disk.bad = from..to;
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].ReadOnly(on) as client => {
                disk.read_only = on;
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].Slow(milliseconds) as client => {
                disk.slow = milliseconds;
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].Cut(seed) as client => {
                disk.cut(seed);
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].Hold(before) as asked => {
                disk.hold = Some(Hold { before, key, asked });
            }
            case switches.clients[_].ChannelClosed() => {}
            case &switches.lookup => {
                if switches.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
            case &clients.lookup => {
                if clients.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
