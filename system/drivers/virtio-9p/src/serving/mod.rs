//! The clients: channels of open files and directories, and what each stands for.

use crate::device::Host;
use alloc::collections::BTreeMap;
use sing_sdk::contracts::{DirectoryContract, FileContract, FileFault};
use sing_sdk::door::Door;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::slots::Slots;
use sing_sdk::time::Timeout;
use virtio_9p::{Opened, Session};

pub type File = FileContract::Exp<FileContract::Ready>;
pub type Directory = DirectoryContract::Exp<DirectoryContract::Ready>;
pub type Service = ServiceContract::Exp<ServiceContract::Start>;
pub type FileStart = FileContract::Exp<FileContract::Start>;
type DirectoryStart = DirectoryContract::Exp<DirectoryContract::Start>;

/// Channels at a time. Each has two fids at most, and a server has 512.
const CLIENTS: usize = 192;
/// Those that each origin may have while there is room.
const LEAST: usize = 8;

/// An open directory.
#[derive(Clone, Copy)]
pub struct Dir {
    pub open: Opened,
    /// The fid over which it is listed, once it is.
    pub listing: Option<u32>,
}

pub enum Client {
    Door(Door),
    File(File, Opened),
    Directory(Directory, Dir),
}

pub struct Server {
    pub session: Session<Host>,
    pub clients: Slots<Client>,
    /// How many channels an open file has, where there is more than one.
    shared: BTreeMap<u32, usize>,
}

impl Server {
    pub fn new(
        session: Session<Host>,
        lookup: NamespaceContract::Exp<NamespaceContract::Ready>,
    ) -> Result<Server, Error> {
        let mut clients = Slots::new(CLIENTS + 1, LEAST)?;
        let door = clients.insert(sing_sdk::share::SYSTEM, lookup, |e| {
            Client::Door(Door::new(e))
        });
        door.map_err(|(error, _)| error)?;
        Ok(Server {
            session,
            clients,
            shared: BTreeMap::new(),
        })
    }

    /// Serves until the name server has gone, or the host; whether it is the host.
    pub fn run(mut self) -> Result<bool, Error> {
        loop {
            let number = self.clients.wait(Timeout::FOREVER)?;
            match self.clients.take(number) {
                Some(Client::Door(door)) => match door.answer(&mut self) {
                    Ok(door) => self.clients.put(number, Client::Door(door)),
                    Err(_) => return Ok(false),
                },
                Some(Client::File(file, open)) => match self.file(file, open, number) {
                    Some(file) => self.clients.put(number, Client::File(file, open)),
                    None => self.close(number, open),
                },
                Some(Client::Directory(directory, dir)) => {
                    let mut dir = dir;
                    match self.directory(directory, &mut dir, number) {
                        Some(d) => self.clients.put(number, Client::Directory(d, dir)),
                        None => {
                            if let Some(listing) = dir.listing {
                                self.session.clunk(listing);
                            }
                            self.close(number, dir.open);
                        }
                    }
                }
                None => {}
            }
            if self.session.is_lost() {
                return Ok(true);
            }
        }
    }

    fn close(&mut self, number: u32, open: Opened) {
        self.clients.remove(number);
        self.release(open.fid);
    }

    /// Gives up one channel's claim to a fid.
    pub fn release(&mut self, fid: u32) {
        match self.shared.get_mut(&fid) {
            Some(more) if *more > 1 => *more -= 1,
            Some(_) => {
                self.shared.remove(&fid);
            }
            None => self.session.clunk(fid),
        }
    }

    /// One channel more has this fid.
    pub fn share(&mut self, fid: u32) {
        *self.shared.entry(fid).or_default() += 1;
    }

    /// The origin of a client.
    pub fn origin(&self, number: u32) -> u32 {
        self.clients.origin(number).unwrap_or(u32::MAX)
    }

    /// Takes an endpoint for something that was opened as what the endpoint is for. Who calls it
    /// gives up the fid if it is not taken.
    pub fn take(
        &mut self,
        origin: u32,
        open: Opened,
        endpoint: Endpoint,
    ) -> Result<(), (FileFault, Endpoint)> {
        let unknown = |e| (FileFault::NotSupported, e);
        let short = |e| (FileFault::NoResources, e);
        if FileStart::matches(&endpoint) {
            let file = endpoint.cast::<FileStart>().map_err(unknown)?;
            let begin = |e: FileStart| Client::File(e.send_success(), open);
            let taken = self.clients.insert(origin, file, begin);
            return taken.map(drop).map_err(|(_, e)| short(e.into_endpoint()));
        }
        let directory = endpoint.cast::<DirectoryStart>().map_err(unknown)?;
        let listing = None;
        let begin = |e: DirectoryStart| Client::Directory(e.send_success(), Dir { open, listing });
        let taken = self.clients.insert(origin, directory, begin);
        taken.map(drop).map_err(|(_, e)| short(e.into_endpoint()))
    }
}
