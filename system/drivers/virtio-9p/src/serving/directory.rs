//! Requests about names, from the holder of an open directory.

use super::{Announces, Dir, Directory, FileStart, Server, Service};
use crate::{Transport, Wish};
use sing_sdk::contracts::{DirectoryContract, FileFault, OpenHow};
use sing_sdk::path::from_directory;
use sing_sdk::prelude::*;
use sing_sdk::rt::{TypedEndpoint, stand_for};

/// Bytes of one answer with entries.
const ENTRIES: usize = 16 << 10;
/// The longest text of a link.
const TARGET: usize = 4095;

impl<T: Transport<Data = Block>, D: Announces> Server<T, D> {
    /// Serves one request; `None` when the client has gone.
    pub(super) fn directory(
        &mut self,
        directory: Directory,
        dir: &mut Dir,
        number: u32,
    ) -> Option<Directory> {
        use DirectoryContract::exp::Ready as Request;
        /// Answers a request that is done, or not.
        macro_rules! done {
            ($outcome:expr, $next:expr) => {
                match $outcome {
                    Ok(()) => $next.send_done(),
                    Err(fault) => $next.send_failed(fault),
                }
            };
        }
        let fid = dir.open.fid;
        let s = &mut self.session;
        // A change, at a path that the client is allowed to change.
        let may = |path: &Text| match dir.open.write {
            true => from_directory(path),
            false => Err(FileFault::ReadOnly),
        };
        Some(match directory.recv() {
            Request::GetAttributes(path, follow, next) => {
                match from_directory(&path).and_then(|path| s.attributes_at(fid, &path, follow)) {
                    Ok(attributes) => next.send_attributes(attributes),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::Open(path, how, truncate, follow, exp, next) => {
                let write = dir.open.write;
                let wish = |file| Wish {
                    how,
                    truncate,
                    follow,
                    write,
                    file,
                };
                match self.open_below(dir, &path, wish, number, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::OpenToRead(path, follow, exp, next) => {
                let wish = |file| Wish {
                    how: OpenHow::Existing,
                    truncate: false,
                    follow,
                    write: false,
                    file,
                };
                match self.open_below(dir, &path, wish, number, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::MakeDirectory(path, next) => {
                let made = may(&path).and_then(|path| s.make_directory_at(fid, &path));
                done!(made, next)
            }
            Request::Remove(path, next) => {
                done!(may(&path).and_then(|path| s.remove_at(fid, &path)), next)
            }
            Request::RemoveDirectory(path, next) => {
                let removed = may(&path).and_then(|path| s.remove_directory_at(fid, &path));
                done!(removed, next)
            }
            Request::Rename(from, to, next) => {
                let paths = may(&from).and_then(|from| Ok((from, may(&to)?)));
                done!(
                    paths.and_then(|(from, to)| s.rename_at(fid, &from, &to)),
                    next
                )
            }
            Request::Link(from, to, next) => {
                let paths = may(&from).and_then(|from| Ok((from, may(&to)?)));
                done!(
                    paths.and_then(|(from, to)| s.link_at(fid, &from, &to)),
                    next
                )
            }
            Request::MakeLink(path, target, next) => {
                let made = may(&path).and_then(|path| {
                    let target = target.get_within(TARGET).ok_or(FileFault::BadName)?;
                    s.make_link_at(fid, &path, &target)
                });
                done!(made, next)
            }
            Request::ReadLink(path, next) => {
                let target = from_directory(&path).and_then(|path| s.read_link_at(fid, &path));
                let target = target
                    .and_then(|target| Text::new(&target).map_err(|_| FileFault::NoResources));
                match target {
                    Ok(target) => next.send_target(target),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::SetTimes(path, follow, accessed, modified, next) => {
                let times = (accessed, modified);
                let set = may(&path).and_then(|path| s.set_times_at(fid, &path, follow, times));
                done!(set, next)
            }
            Request::List(from, buffer, next) => {
                let mut block = buffer.into_block();
                match self.entries(dir, from, &mut block) {
                    Ok(count) => next.send_entries(Vector::from_block(block), count),
                    Err(fault) => next.send_not_listed(fault, Vector::from_block(block)),
                }
            }
            Request::Sync(next) => done!(s.sync_of(dir.open, true), next),
            Request::Closed => return None,
        })
    }

    fn open_below(
        &mut self,
        dir: &Dir,
        path: &Text,
        wish: impl FnOnce(bool) -> Wish,
        number: u32,
        exp: Service,
    ) -> Result<(), (FileFault, Service)> {
        let endpoint = exp.into_endpoint();
        let wish = wish(FileStart::matches(&endpoint));
        let path = match from_directory(path) {
            Ok(path) => path,
            Err(fault) => return Err((fault, stand_for(endpoint))),
        };
        let origin = self.origin(number);
        let opened = self.open_for(dir.open.fid, &path, wish, origin, endpoint);
        opened.map_err(|(fault, endpoint)| (fault, stand_for(endpoint)))
    }

    /// Fills a block with entries from a place on; how many bytes.
    fn entries(&mut self, dir: &mut Dir, from: u64, block: &mut Block) -> Result<u32, FileFault> {
        block.unshare().map_err(|_| FileFault::BadRequest)?;
        let listing = match dir.listing {
            Some(listing) => listing,
            None => self.session.open_to_list(dir.open.fid)?,
        };
        dir.listing = Some(listing);
        let room = block.len().min(ENTRIES);
        let bytes = self.session.pack_entries(listing, from, room)?;
        block.write(0, &bytes);
        Ok(bytes.len() as u32)
    }
}
