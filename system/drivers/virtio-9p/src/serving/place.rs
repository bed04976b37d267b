//! What the name server asks about the names below the mount point, and takes there.

use super::{Announces, FileStart, Server};
use crate::{ROOT, Transport, Wish};
use sing_sdk::contracts::{FileFault, OpenHow, Refusal};
use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::time::uptime;
use sing_sdk::walk::{Directories, Entry};

impl<T: Transport<Data = Block>> Directories for Server<T, Door> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        self.session.names(at, after, most, uptime())
    }

    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        self.session.name(at, name)
    }
}

impl<T: Transport<Data = Block>> Place for Server<T, Door> {
    fn bind(&mut self, path: &str, origin: u32, endpoint: Endpoint) -> Result<(), Turned> {
        let wish = Wish {
            how: OpenHow::Existing,
            truncate: false,
            follow: true,
            write: true,
            file: FileStart::matches(&endpoint),
        };
        let path = path.strip_prefix('/').unwrap_or(path);
        let opened = self.open_for(ROOT, path, wish, origin, endpoint);
        opened.map_err(|(fault, endpoint)| match fault {
            FileFault::NoResources => (Refusal::NoResources, endpoint),
            FileFault::NotDirectory | FileFault::IsDirectory | FileFault::NotSupported => {
                (Refusal::OtherContract, endpoint)
            }
            FileFault::Loop => (Refusal::Loop, endpoint),
            _ => (Refusal::NotFound, endpoint),
        })
    }
}

impl<T: Transport<Data = Block>, D: Announces> Server<T, D> {
    /// Opens what is at a path below a directory, for an endpoint.
    pub(super) fn open_for(
        &mut self,
        base: u32,
        path: &str,
        wish: Wish,
        origin: u32,
        endpoint: Endpoint,
    ) -> Result<(), (FileFault, Endpoint)> {
        // Before anything is made or thrown away.
        if !self.clients.has_room(origin) {
            return Err((FileFault::NoResources, endpoint));
        }
        let open = match self.session.open_at(base, path, wish) {
            Ok(open) => open,
            Err(fault) => return Err((fault, endpoint)),
        };
        let taken = self.take(origin, open, endpoint);
        if taken.is_err() {
            self.session.clunk(open.fid);
        }
        taken
    }
}
