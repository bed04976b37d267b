//! Open files and directories, and the requests that come over their channels.

use crate::tree::{Node, ROOT, Tree};
use sing_sdk::contracts::{DirectoryContract, FileContract, FileFault, OpenHow, Refusal};
use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::path::LONGEST;
use sing_sdk::prelude::*;
use sing_sdk::provider::CLIENTS;
use sing_sdk::rt::{Endpoint, stand_for};
use sing_sdk::slots::Slots;
use sing_sdk::walk::{self, Directories};

pub type File = FileContract::Exp<FileContract::Ready>;
pub type Directory = DirectoryContract::Exp<DirectoryContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// In which blocks files are best read. They lie in memory, so that any size will do.
const BLOCK: u32 = 16 << 10;
/// The largest request, so that none takes long.
const MOST: u32 = 1 << 20;
/// Entries of one answer, in bytes.
const ENTRIES: usize = 4 << 10;
/// Open files that each origin may have while there is room.
const LEAST: usize = 8;

pub enum Client {
    Door(Door),
    File(File, Node),
    Directory(Directory, Node),
}

pub struct Server {
    tree: Tree,
    pub clients: Slots<Client>,
}

impl Server {
    pub fn new(
        files: impl Iterator<Item = String>,
        lookup: NamespaceContract::Exp<NamespaceContract::Ready>,
    ) -> Result<Server, Error> {
        let mut clients = Slots::new(CLIENTS + 1, LEAST)?;
        let door = clients.insert(sing_sdk::share::SYSTEM, lookup, |e| {
            Client::Door(Door::new(e))
        });
        door.map_err(|(error, _)| error)?;
        let tree = Tree::new(files);
        Ok(Server { tree, clients })
    }

    /// Takes an endpoint for a place in the tree, as what it is.
    fn open(
        clients: &mut Slots<Client>,
        tree: &Tree,
        origin: u32,
        node: Node,
        endpoint: Endpoint,
    ) -> Result<(), (FileFault, Endpoint)> {
        use sing_sdk::rt::TypedEndpoint;
        type FileStart = FileContract::Exp<FileContract::Start>;
        type DirectoryStart = DirectoryContract::Exp<DirectoryContract::Start>;
        let is_file = tree.file(node).is_some();
        if FileStart::matches(&endpoint) {
            if !is_file {
                return Err((FileFault::IsDirectory, endpoint));
            }
            let file = endpoint.cast::<FileStart>();
            let file = file.map_err(|e| (FileFault::NotSupported, e))?;
            let taken = clients.insert(origin, file, |e| Client::File(e.send_success(), node));
            return match taken {
                Ok(_) => Ok(()),
                Err((_, file)) => Err((FileFault::NoResources, file.into_endpoint())),
            };
        }
        let directory = endpoint.cast::<DirectoryStart>();
        let directory = directory.map_err(|e| (FileFault::NotSupported, e))?;
        if is_file {
            return Err((FileFault::NotDirectory, directory.into_endpoint()));
        }
        let begin = |e: DirectoryStart| Client::Directory(e.send_success(), node);
        match clients.insert(origin, directory, begin) {
            Ok(_) => Ok(()),
            Err((_, directory)) => Err((FileFault::NoResources, directory.into_endpoint())),
        }
    }

    /// Answers the name server; `None` when it has gone.
    pub fn announced(&mut self, door: Door) -> Option<Door> {
        door.answer(self).ok()
    }

    /// Serves one request of a reader; `None` when it has gone.
    pub fn file(&mut self, file: File, node: Node, number: u32) -> Option<File> {
        use FileContract::exp::Ready as Request;
        const NO: FileFault = FileFault::ReadOnly;
        Some(match file.recv() {
            Request::GetAttributes(next) => next.send_attributes(self.tree.attributes(node)),
            Request::GetLimits(next) => next.send_limits(BLOCK, MOST),
            Request::Read(offset, buffer, start, count, next) => {
                match self.read(node, offset, buffer, start, count) {
                    Ok((data, count)) => next.send_data(data, count),
                    Err((fault, buffer)) => next.send_refused(fault, buffer),
                }
            }
            Request::Write(_, data, _, _, next) => next.send_refused(NO, data),
            Request::Append(data, _, _, next) => next.send_refused(NO, data),
            Request::SetSize(_, next) => next.send_failed(NO),
            Request::SetTimes(_, _, next) => next.send_failed(NO),
            // Nothing changes, so everything is safe.
            Request::Sync(next) => next.send_done(),
            Request::Another(exp, next) => match self.another(number, node, exp) {
                Ok(()) => next.send_opened(),
                Err((fault, exp)) => next.send_not_opened(fault, exp),
            },
            Request::AnotherToRead(exp, next) => match self.another(number, node, exp) {
                Ok(()) => next.send_opened(),
                Err((fault, exp)) => next.send_not_opened(fault, exp),
            },
            Request::Closed => return None,
        })
    }

    /// Reads into the reader's block.
    fn read(
        &self,
        node: Node,
        offset: u64,
        buffer: Vector<u8>,
        start: u32,
        count: u32,
    ) -> Result<(Vector<u8>, u32), (FileFault, Vector<u8>)> {
        let mut block = buffer.into_block();
        let (from, len) = (start as usize, count as usize);
        let fits = from <= block.len() && len <= block.len() - from;
        if !fits || count > MOST || block.unshare().is_err() {
            return Err((FileFault::BadRequest, Vector::from_block(block)));
        }
        let read = self.fill(node, offset, &mut block, from, len);
        let buffer = Vector::from_block(block);
        match read {
            Ok(count) => Ok((buffer, count as u32)),
            Err(_) => Err((FileFault::NoResources, buffer)),
        }
    }

    /// Fills a part of a block; how many bytes are the file's. The kernel fills whole blocks, so
    /// that a part of one goes through a small block.
    fn fill(
        &self,
        node: Node,
        offset: u64,
        block: &mut Block,
        from: usize,
        len: usize,
    ) -> Result<usize, Error> {
        let image = self.tree.file(node).ok_or(Error::NotFound)?;
        // Nothing is read beyond the end.
        let Ok(offset) = u32::try_from(offset) else {
            return Ok(0);
        };
        if len == 0 {
            return Ok(0);
        }
        if from == 0 && len == block.len() {
            return Ok(sing_sdk::boot::read(image, offset, block)? as usize);
        }
        let mut done = 0;
        while done < len {
            let mut piece = Block::new((len - done).min(BLOCK as usize))?;
            let Some(at) = offset.checked_add(done as u32) else {
                break;
            };
            let count = sing_sdk::boot::read(image, at, &mut piece)? as usize;
            block.write(from + done, &piece.prefix(count));
            done += count;
            if count < piece.len() {
                break;
            }
        }
        Ok(done)
    }

    fn another(
        &mut self,
        number: u32,
        node: Node,
        exp: Service,
    ) -> Result<(), (FileFault, Service)> {
        use sing_sdk::rt::TypedEndpoint;
        let origin = self.clients.origin(number).unwrap_or(u32::MAX);
        let opened = Self::open(
            &mut self.clients,
            &self.tree,
            origin,
            node,
            exp.into_endpoint(),
        );
        opened.map_err(|(fault, endpoint)| (fault, stand_for(endpoint)))
    }

    /// The place at a path that a client gave, relative to a directory that it has.
    fn at(&self, from: Node, path: &Text) -> Result<Node, FileFault> {
        let path = path.get_within(LONGEST).ok_or(FileFault::BadName)?;
        self.tree.resolve(from, &path)
    }

    /// Serves one request of a directory's holder; `None` when it has gone.
    pub fn directory(
        &mut self,
        directory: Directory,
        node: Node,
        number: u32,
    ) -> Option<Directory> {
        use DirectoryContract::exp::Ready as Request;
        const NO: FileFault = FileFault::ReadOnly;
        Some(match directory.recv() {
            Request::GetAttributes(path, _, next) => match self.at(node, &path) {
                Ok(node) => next.send_attributes(self.tree.attributes(node)),
                Err(fault) => next.send_failed(fault),
            },
            Request::Open(path, how, truncate, _, exp, next) => {
                let opened = match (self.at(node, &path), how) {
                    (Ok(_), OpenHow::Create) => Err((FileFault::Exists, exp)),
                    (Ok(_), _) if truncate => Err((NO, exp)),
                    (Ok(node), _) => self.another(number, node, exp),
                    (Err(FileFault::NotFound), OpenHow::Create | OpenHow::OrCreate) => {
                        Err((NO, exp))
                    }
                    (Err(fault), _) => Err((fault, exp)),
                };
                match opened {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::OpenToRead(path, _, exp, next) => {
                let opened = match self.at(node, &path) {
                    Ok(node) => self.another(number, node, exp),
                    Err(fault) => Err((fault, exp)),
                };
                match opened {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::MakeDirectory(_, next) => next.send_failed(NO),
            Request::Remove(_, next) => next.send_failed(NO),
            Request::RemoveDirectory(_, next) => next.send_failed(NO),
            Request::Rename(_, _, next) => next.send_failed(NO),
            Request::Link(_, _, next) => next.send_failed(NO),
            Request::MakeLink(_, _, next) => next.send_failed(NO),
            Request::ReadLink(path, next) => next.send_failed(match self.at(node, &path) {
                // There are no links.
                Ok(_) => FileFault::BadRequest,
                Err(fault) => fault,
            }),
            Request::SetTimes(_, _, _, _, next) => next.send_failed(NO),
            Request::List(from, buffer, next) => {
                let mut block = buffer.into_block();
                let room = block.len().min(ENTRIES);
                let packed = match block.unshare() {
                    Ok(()) => self.tree.pack(node, from, room),
                    Err(_) => Err(FileFault::BadRequest),
                };
                match packed {
                    Ok(bytes) => {
                        block.write(0, &bytes);
                        next.send_entries(Vector::from_block(block), bytes.len() as u32)
                    }
                    Err(fault) => next.send_not_listed(fault, Vector::from_block(block)),
                }
            }
            Request::Sync(next) => next.send_done(),
            Request::Closed => return None,
        })
    }
}

impl Directories for Server {
    fn list(
        &mut self,
        at: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<walk::Entry>, Refusal> {
        match self.tree.resolve(ROOT, &at[1..]) {
            Ok(node) if self.tree.file(node).is_none() => Ok(self.tree.entries(node, after, most)),
            Ok(_) => Err(Refusal::NotADirectory),
            Err(_) => Err(Refusal::NotFound),
        }
    }
}

impl Place for Server {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        let turned = |(fault, endpoint)| {
            let reason = match fault {
                FileFault::NoResources => Refusal::NoResources,
                FileFault::NotFound => Refusal::NotFound,
                _ => Refusal::OtherContract,
            };
            (reason, endpoint)
        };
        match self.tree.resolve(ROOT, &path[1..]) {
            Ok(node) => {
                Self::open(&mut self.clients, &self.tree, origin, node, client).map_err(turned)
            }
            Err(_) => Err((Refusal::NotFound, client)),
        }
    }
}
