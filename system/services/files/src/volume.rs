//! A mounted file system: its thread, its clients, its commits.
//!
//! Invariants:
//! - Every channel is in one slot, with all that is kept for it; a slot is freed when its client
//!   goes, and the file it had open is released then.
//! - Changes wait at most [`COMMIT`] for a sync, while the disk works.

use crate::alarm::Clock;
use crate::changes::{self, Changes, Watched};
use crate::drive::Drive;
use crate::lanes::Lane;
use crate::loan::Loan;
use crate::mounts::Use;
use crate::queue::Queue;
use crate::sync::{COMMIT, Sweep, Sync};
use crate::transfer::{Busy, Ranges};
use crate::watch::Watches;
use crate::{connected, faults};
use alloc::collections::BTreeMap;
use core::time::Duration;
use sing_sdk::contracts::{DirectoryContract, FileContract, FileFault, VolumeFault};
use sing_sdk::door::Door;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::share::SYSTEM;
use sing_sdk::slots::Slots;
use sing_sdk::time::{Timeout, uptime, utc};
use sing_store::{Error as Fault, Kind, MountOptions, NodeId, Progress, Store, Writing};

sing_sdk::contract!(
    "
    // Between the control worker and the thread of a mounted file system.
    contract Work {
      out message Mounted(char[] in ExHeap label);
      out message NotMounted(uint reason);
      in message Unmount(bool force);
      out message Unmounted();
      // Unmounted, and the last changes are lost.
      out message Lost(uint reason);
      out message Refused(uint reason);
      in message GetSpace();
      out message Space(ulong total, ulong free, ulong nodes);

      state Start: (Mounted! -> Ready or NotMounted! -> closed);
      state Ready: one {
        Unmount? -> (Unmounted! -> closed or Lost! -> closed or Refused! -> Ready);
        GetSpace? -> Space! -> Ready;
      }
    }
    "
);

pub type Mounted = Work::Imp<Work::Ready>;
pub type File = FileContract::Exp<FileContract::Ready>;
pub type Directory = DirectoryContract::Exp<DirectoryContract::Ready>;
type FileStart = FileContract::Exp<FileContract::Start>;
type DirectoryStart = DirectoryContract::Exp<DirectoryContract::Start>;

/// The wait before a path is registered again that could not be.
const ABSENT: Duration = Duration::from_secs(1);
/// Metadata in memory.
pub const CACHE: usize = 4 << 20;
/// Channels of a file system: open files and directories, and its own.
const SLOTS: usize = 1024;
/// Those that each origin may have while there is room.
const LEAST: usize = 16;
/// Events between two looks at what else is to be done.
const TURN: usize = 64;

/// What a client has open.
#[derive(Clone, Copy)]
pub struct At {
    pub node: NodeId,
    /// It may change it, or what is below.
    pub write: bool,
    /// How often dirty blocks had been lost when it was opened, or last synced.
    pub lost: u64,
}

/// What is kept for a channel.
pub enum Client {
    Door(Door),
    Control(Work::Exp<Work::Ready>),
    Lane(Lane),
    Alarm(Clock),
    File(File, At),
    Directory(Directory, At),
    /// A request that moves data.
    Busy(Box<Busy>),
    Syncing(Sync, At),
    /// What it watches is in [`Volume::watches`].
    Watcher,
    Changes(Changes),
}

pub struct Volume {
    pub slots: Slots<Client>,
    pub store: Store<Drive>,
    pub read_only: bool,
    /// Writes under way, by file.
    pub ranges: BTreeMap<NodeId, Ranges>,
    /// Requests whose next step needs the disk.
    pub queue: Queue,
    /// The channels for file data, by their slots.
    pub lanes: Vec<u32>,
    pub idle: Vec<u32>,
    /// The number of the driver that they lead to.
    pub driver: u32,
    /// Since when the driver has a request, by channel.
    pub flights: BTreeMap<u32, Duration>,
    /// Writes that a driver which was given up may still do.
    pub withheld: Vec<Writing>,
    /// Since when changes wait.
    pub dirty: Option<Duration>,
    /// Who waits for the next sync.
    pub syncs: Vec<u32>,
    /// For the blocks that clients have sent, or may not have received back yet, by channel.
    pub loans: BTreeMap<u32, Loan>,
    pub sweep: Option<Sweep>,
    pub watches: Watches,
    pub watched: Watched,
    /// How often dirty blocks had been lost when anybody was told last.
    pub told: u64,
    /// The same when those who watch for changes were told last.
    seen_lost: u64,
    pub tidying: bool,
    /// It is mounted at the root of the name space.
    pub root: bool,
    /// The connection that holds the registration. The name server answers what is asked over it
    /// by itself: it does not ask this file system.
    pub names: Names,
    at: String,
    /// The slot of the alarm, which is to ring, or has rung. Without one, waits have time-outs.
    pub alarm: Option<u32>,
    pub alarmed: bool,
    pub rung: bool,
    /// When to register again, if the name server was started again.
    absent: Option<Duration>,
    _use: Use,
}

/// The time that files show.
pub fn now() -> u64 {
    u64::try_from(utc().as_nanos()).unwrap_or(u64::MAX - 1)
}

/// How the service of a file system ends.
enum End {
    Unmount(Work::Exp<Work::Ready_Unmount>, bool),
    NoNames,
}

/// Mounts the file system on a disk and serves it until it is unmounted.
pub fn run(disk: &str, at: &str, read_only: bool, asker: Work::Exp<Work::Start>, used: Use) {
    let mut volume = match mount(disk, at, read_only, used) {
        Ok(volume) => volume,
        Err(fault) => return drop(asker.send_not_mounted(faults::number(fault))),
    };
    let Ok(label) = Text::new(&volume.store.volume().label) else {
        return drop(asker.send_not_mounted(faults::number(VolumeFault::NoResources)));
    };
    let control = asker.send_mounted(label);
    if volume
        .slots
        .insert(SYSTEM, control, Client::Control)
        .is_err()
    {
        return;
    }
    loop {
        match volume.serve() {
            End::Unmount(asked, force) => match volume.unmount(asked, force) {
                Some(still) => volume = still,
                None => return,
            },
            End::NoNames => {
                // The system ends; there is nobody to tell.
                let _ = volume.sync();
                let _ = volume.store.unmount();
                return;
            }
        }
    }
}

fn mount(disk: &str, at: &str, read_only: bool, mut used: Use) -> Result<Volume, VolumeFault> {
    let short = |_| VolumeFault::NoResources;
    let drive = Drive::new(connected().map_err(short)?, disk)?;
    if drive.geometry.read_only && !read_only {
        return Err(VolumeFault::ReadOnly);
    }
    let lanes = drive.geometry.parallel.clamp(2, 16);
    let options = MountOptions {
        read_only,
        cache: CACHE,
        ..MountOptions::default()
    };
    let mut store = used.mount(drive, &options)?;
    let identity = store.volume().uuid;
    store.with_disk(|drive| drive.know(identity));
    let mut names = connected().map_err(short)?;
    let lookup = names.register(at).map_err(|error| match error {
        Error::NoResources => VolumeFault::NoResources,
        _ => VolumeFault::Held,
    })?;
    let mut volume = Volume {
        slots: Slots::new(SLOTS, LEAST).map_err(short)?,
        store,
        read_only,
        ranges: BTreeMap::new(),
        queue: Queue::default(),
        lanes: Vec::new(),
        idle: Vec::new(),
        driver: 0,
        flights: BTreeMap::new(),
        withheld: Vec::new(),
        dirty: None,
        syncs: Vec::new(),
        loans: BTreeMap::new(),
        sweep: None,
        watches: Watches::default(),
        watched: Watched::default(),
        told: 0,
        seen_lost: 0,
        tidying: true,
        root: at == "/",
        names,
        at: at.into(),
        alarm: None,
        alarmed: false,
        rung: false,
        absent: None,
        _use: used,
    };
    volume
        .connect(lanes as usize)
        .map_err(|_| VolumeFault::Medium)?;
    let door = volume
        .slots
        .insert(SYSTEM, lookup, |e| Client::Door(Door::new(e)));
    door.map_err(|_| VolumeFault::NoResources)?;
    if !read_only && let Ok(clock) = Clock::start() {
        volume.alarm = volume
            .slots
            .insert(SYSTEM, clock, |c| Client::Alarm(Clock::Silent(c)))
            .ok();
    }
    Ok(volume)
}

impl Volume {
    fn serve(&mut self) -> End {
        loop {
            for _ in 0..TURN {
                let patience = self.patience();
                let found = self.slots.wait(patience);
                let Ok(number) = found else { break };
                if let Some(end) = self.step(number) {
                    return end;
                }
                self.issue();
            }
            self.housekeeping();
        }
    }

    /// Registers its path again, if it is time: it is tried without end.
    fn come_back(&mut self) {
        if self.absent.is_none_or(|next| uptime() < next) {
            return;
        }
        let registered = self.names.register(&self.at).ok();
        let door = registered.map(|lookup| {
            self.slots
                .insert(SYSTEM, lookup, |e| Client::Door(Door::new(e)))
        });
        self.absent = match door {
            Some(Ok(_)) => None,
            _ => Some(uptime() + ABSENT),
        };
    }

    /// How long to wait for an event.
    fn patience(&mut self) -> Timeout {
        if self.tidying || self.rung || !self.syncs.is_empty() || self.sweep.is_some() {
            return Timeout::NONE;
        }
        if let Some(next) = self.absent {
            return Timeout::from(next.saturating_sub(uptime()).min(COMMIT));
        }
        let dirty = self.dirty;
        match dirty {
            Some(since) if !self.will_ring(since) => {
                Timeout::from((since + COMMIT).saturating_sub(uptime()))
            }
            // From time to time, whether the driver still answers.
            _ if !self.flights.is_empty() => Timeout::from(COMMIT),
            _ => Timeout::FOREVER,
        }
    }

    /// Serves one channel.
    fn step(&mut self, number: u32) -> Option<End> {
        match self.slots.take(number)? {
            Client::Door(door) => match self.announced(door) {
                Some(door) => self.slots.put(number, Client::Door(door)),
                // The name server was started again. Clients have their channels still.
                None => {
                    self.slots.remove(number);
                    self.absent = Some(uptime());
                    self.come_back();
                }
            },
            Client::Control(control) => {
                use Work::exp::Ready as Request;
                match control.recv() {
                    Request::Unmount(force, asked) => {
                        self.slots.remove(number);
                        return Some(End::Unmount(asked, force));
                    }
                    Request::GetSpace(next) => {
                        let space = self.store.space();
                        let next = next.send_space(space.total, space.free, space.nodes);
                        self.slots.put(number, Client::Control(next));
                    }
                    Request::Closed => return Some(End::NoNames),
                }
            }
            Client::Lane(lane) => self.answered(number, lane),
            Client::Alarm(clock) => self.heard_alarm(number, clock),
            Client::File(file, at) => self.file(number, file, at),
            Client::Directory(directory, at) => self.directory(number, directory, at),
            // The client has gone: nobody else is to send now.
            Client::Busy(mut busy) => {
                busy.withdraw();
                self.slots.put(number, Client::Busy(busy));
            }
            Client::Watcher => self.heard(number),
            Client::Changes(channel) => self.changes(number, channel),
            Client::Syncing(_, at) => {
                self.syncs.retain(|n| *n != number);
                if let Some(sweep) = &mut self.sweep {
                    sweep.syncs.retain(|n| *n != number);
                }
                self.close(number, at);
            }
        }
        None
    }

    /// A client has gone.
    pub fn close(&mut self, number: u32, at: At) {
        self.slots.remove(number);
        self.loans.remove(&number);
        // A node that cannot be released now is removed at the next mount.
        let _ = self.store.release(at.node);
        self.tidying = true;
    }

    fn housekeeping(&mut self) {
        self.rung = false;
        self.come_back();
        if !self.flights.is_empty() {
            self.expire();
        }
        self.ended();
        if self.tidying {
            self.tidying = matches!(self.store.tidy(), Ok(Progress::More));
        }
        self.sync_in_steps();
        // Blocks that the disk has lost read as they were before they were written.
        let lost = self.lost().count;
        if core::mem::replace(&mut self.seen_lost, lost) != lost {
            self.tell_changed();
        }
    }

    /// Opens a node for an endpoint, as what it is.
    pub fn open(
        &mut self,
        origin: u32,
        at: At,
        kind: Kind,
        endpoint: Endpoint,
    ) -> Result<(), (FileFault, Endpoint)> {
        let lost = self.lost().count;
        let at = At { lost, ..at };
        let short = |endpoint| (FileFault::NoResources, endpoint);
        let is_file = FileStart::matches(&endpoint);
        if kind == Kind::Directory && changes::Start::matches(&endpoint) {
            return self.open_changes(origin, at.node, endpoint);
        }
        let refused = match kind {
            Kind::File if !is_file => Some(FileFault::NotDirectory),
            Kind::Directory if is_file => Some(FileFault::IsDirectory),
            Kind::Link => Some(FileFault::Loop),
            _ => self.store.hold(at.node).err().map(faults::file),
        };
        if let Some(fault) = refused {
            return Err((fault, endpoint));
        }
        let opened = if is_file {
            let unknown = |e| (FileFault::NotSupported, e);
            endpoint
                .cast::<FileStart>()
                .map_err(unknown)
                .and_then(|file| {
                    let begin = |e: FileStart| Client::File(e.send_success(), at);
                    let taken = self.slots.insert(origin, file, begin);
                    taken.map_err(|(_, file)| short(file.into_endpoint()))
                })
        } else {
            let unknown = |e| (FileFault::NotSupported, e);
            endpoint
                .cast::<DirectoryStart>()
                .map_err(unknown)
                .and_then(|directory| {
                    let begin = |e: DirectoryStart| Client::Directory(e.send_success(), at);
                    let taken = self.slots.insert(origin, directory, begin);
                    taken.map_err(|(_, directory)| short(directory.into_endpoint()))
                })
        };
        if opened.is_err() {
            let _ = self.store.release(at.node);
        }
        opened.map(drop)
    }

    /// The name-space worker: answers the name server; `None` when it has gone.
    fn announced(&mut self, door: Door) -> Option<Door> {
        door.answer(self).ok()
    }

    /// Whether anybody has something open.
    fn in_use(&self) -> bool {
        let mut clients = self.slots.numbers().filter_map(|n| self.slots.get(n));
        let own = |client: &Client| {
            use Client::{Alarm, Changes, Door, Lane, Watcher};
            matches!(client, Alarm(_) | Changes(_) | Door(_) | Lane(_) | Watcher)
        };
        clients.any(|client| !own(client))
    }

    /// Takes it out of the name space; the file system itself if it stays mounted.
    fn unmount(mut self, asked: Work::Exp<Work::Ready_Unmount>, force: bool) -> Option<Volume> {
        let synced = self.sync();
        let lost = self.lost();
        let refused = match synced {
            _ if force => None,
            Err(_) => Some(VolumeFault::Medium),
            // Only once: who tries again knows of it.
            Ok(()) if lost.since(self.told).is_some() => {
                self.told = lost.count;
                Some(VolumeFault::Medium)
            }
            Ok(()) if self.in_use() => Some(VolumeFault::Busy),
            Ok(()) => None,
        };
        if let Some(fault) = refused {
            let control = asked.send_refused(faults::number(fault));
            // The slot that this channel had is free.
            let _ = self.slots.insert(SYSTEM, control, Client::Control);
            return Some(self);
        }
        // A write that is still under way may destroy what the next user of the disk does, unless
        // the driver tells that it has ended.
        let ended = match self.drain() {
            true => self.store.with_disk(|drive| {
                drive.leave();
                drive.search()
            }),
            false => Ok(()),
        };
        let settled = ended.and(self.store.with_disk(Drive::settle_all));
        // Closes all channels, so that the name is free before this is answered.
        let Volume {
            slots,
            store,
            mut names,
            at,
            told,
            _use: used,
            ..
        } = self;
        // So that the name server does not take it for one that has died and comes back.
        let _ = names.deregister(&at);
        drop((slots, names));
        let outcome = store.unmount();
        let outcome = settled.map_err(Fault::from).and(outcome);
        // Who is told can use the disk at once.
        drop(used);
        let lost = match outcome {
            Ok(drive) => drive.lost().since(told).map(Fault::from),
            Err(error) => Some(error),
        };
        match lost {
            None => drop(asked.send_unmounted()),
            Some(error) => drop(asked.send_lost(faults::number(faults::volume(error)))),
        }
        None
    }
}
