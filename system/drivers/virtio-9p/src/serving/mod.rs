//! The clients of a session: channels of open files and directories, and what each stands for.

mod directory;
mod file;
mod place;

use crate::{Opened, ROOT, Session, Transport, Wish};
use alloc::collections::BTreeMap;
use core::convert::Infallible;
use sing_sdk::contracts::{DirectoryContract, FileContract, FileFault, OpenHow};
use sing_sdk::door::Door;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::slots::Slots;
use sing_sdk::time::Timeout;

type File = FileContract::Exp<FileContract::Ready>;
type Directory = DirectoryContract::Exp<DirectoryContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;
type FileStart = FileContract::Exp<FileContract::Start>;
type DirectoryStart = DirectoryContract::Exp<DirectoryContract::Start>;

/// Channels at a time. Each has two fids at most, and a server has 512, or fewer if there are many
/// directories, and refuses others.
const CLIENTS: usize = 192;
/// The same where one program has all of them: more than an ordinary program has descriptors.
const OF_ONE: usize = 1152;
/// Those that each origin may have while there is room.
const LEAST: usize = 8;

/// An open directory.
#[derive(Clone, Copy)]
struct Dir {
    open: Opened,
    /// The fid over which it is listed, once it is.
    listing: Option<u32>,
}

enum Client<D> {
    Door(D),
    File(File, Opened),
    Directory(Directory, Dir),
}

/// A session's files and directories, served to clients until there are none.
pub struct Server<T, D> {
    session: Session<T>,
    clients: Slots<Client<D>>,
    /// How many channels an open file has, where there is more than one.
    shared: BTreeMap<u32, usize>,
}

impl<T, D> core::fmt::Debug for Server<T, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Server({:?})", self.clients)
    }
}

/// Where further clients are announced. A program that names the name server's in no way need not be
/// able to speak with it.
pub trait Announces: Sized {
    /// Answers one announcement.
    ///
    /// # Errors
    /// Nobody announces clients any more.
    fn answer<T: Transport<Data = Block>>(
        self,
        server: &mut Server<T, Self>,
    ) -> Result<Self, Closed>;
}

impl Announces for Door {
    fn answer<T: Transport<Data = Block>>(
        self,
        server: &mut Server<T, Self>,
    ) -> Result<Self, Closed> {
        Door::answer(self, server)
    }
}

/// Nowhere: all clients are there from the beginning, or opened by others.
impl Announces for Infallible {
    fn answer<T: Transport<Data = Block>>(self, _: &mut Server<T, Self>) -> Result<Self, Closed> {
        match self {}
    }
}

impl<T: Transport<Data = Block>> Server<T, Door> {
    /// Serves the clients that the name server announces over this channel. Each origin has its share, or
    /// all that there is if it is the `only` one in the system.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short.
    pub fn announced(
        session: Session<T>,
        lookup: NamespaceContract::Exp<NamespaceContract::Ready>,
        only: bool,
    ) -> Result<Self, Error> {
        let (most, least) = match only {
            true => (OF_ONE, OF_ONE),
            false => (CLIENTS, LEAST),
        };
        let mut server = Self::new(session, most, least)?;
        let door = |e| Client::Door(Door::new(e));
        let taken = server.clients.insert(sing_sdk::share::SYSTEM, lookup, door);
        taken.map_err(|(error, _)| error)?;
        Ok(server)
    }
}

impl<T: Transport<Data = Block>> Server<T, Infallible> {
    /// Serves the holder of this channel, and whatever channels it opens, the whole directory of the
    /// session: to be changed, too, if that is said.
    ///
    /// # Errors
    /// [`Error::NoResources`] if handles are short, [`Error::Closed`] if the session is lost.
    pub fn held(session: Session<T>, holder: Directory, write: bool) -> Result<Self, Error> {
        // There is one client: all channels are its.
        let mut server = Self::new(session, OF_ONE, OF_ONE)?;
        let wish = Wish {
            how: OpenHow::Existing,
            truncate: false,
            follow: false,
            write,
            file: false,
        };
        let open = server.session.open_at(ROOT, "", wish);
        let open = open.map_err(|_| Error::Closed)?;
        let listing = None;
        let begin = |e| Client::Directory(e, Dir { open, listing });
        let taken = server
            .clients
            .insert(sing_sdk::share::SYSTEM, holder, begin);
        taken.map_err(|(error, _)| error)?;
        Ok(server)
    }
}

impl<T: Transport<Data = Block>, D: Announces> Server<T, D> {
    fn new(session: Session<T>, most: usize, least: usize) -> Result<Self, Error> {
        Ok(Server {
            session,
            clients: Slots::new(most + 1, least)?,
            shared: BTreeMap::new(),
        })
    }

    /// Serves until the name server has gone, the last client if there is none, or the host; whether
    /// it is the host.
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub fn run(mut self) -> Result<bool, Error> {
        while !self.clients.is_empty() {
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
        Ok(false)
    }

    fn close(&mut self, number: u32, open: Opened) {
        self.clients.remove(number);
        self.release(open.fid);
    }

    /// Gives up one channel's claim to a fid.
    fn release(&mut self, fid: u32) {
        match self.shared.get_mut(&fid) {
            Some(more) if *more > 1 => *more -= 1,
            Some(_) => {
                self.shared.remove(&fid);
            }
            None => self.session.clunk(fid),
        }
    }

    /// One channel more has this fid.
    fn share(&mut self, fid: u32) {
        *self.shared.entry(fid).or_default() += 1;
    }

    /// The origin of a client.
    fn origin(&self, number: u32) -> u32 {
        self.clients.origin(number).unwrap_or(u32::MAX)
    }

    /// Takes an endpoint for something that was opened as what the endpoint is for. Who calls it
    /// gives up the fid if it is not taken.
    fn take(
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
