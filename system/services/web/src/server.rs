//! What all connections share, and the loop that takes them. Each has a thread of its own.

use crate::connection;
use crate::pieces::Piece;
use crate::pool::Pool;
use crate::root::Watch;
use crate::slots::Slots;
use crate::spans::Spans;
use crate::storage;
use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use sing_sdk::fs::Directory;
use sing_sdk::names::Names;
use sing_sdk::net::Listener;
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_sdk::time::uptime;
use sing_sdk::{process, thread};
use web::cache::Cache;
use web::config::Config;
use web::target::Target;

/// Connections that wait until they are taken.
const BACKLOG: u32 = 16;
/// The waits before it listens again when the network has gone.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);
/// Between two looks whether all requests have been answered.
const LOOK: Duration = Duration::from_millis(10);

/// The name of a request, which is written only where it is shown.
#[derive(Clone, Copy)]
pub struct Id(u32);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", process::id(), self.0)
    }
}

pub struct Server {
    pub config: Config,
    pub slots: Slots,
    pub pools: Vec<Pool>,
    /// Held by who packs: its tables are large, so that one does at a time.
    pub packing: Mutex<()>,
    /// Files that were asked for.
    pub cache: Mutex<Cache<Piece>>,
    /// The channel over which the file system tells of changes to them.
    pub watch: Watch,
    /// On their way to a collector, if one is named.
    pub spans: Option<Spans>,
    names: Mutex<Names>,
    stopping: AtomicBool,
    listening: AtomicBool,
    /// The same of the service beside its port.
    listening_at: AtomicBool,
    accepted: AtomicU32,
    requests: AtomicU32,
    /// Requests that a program has not answered.
    pub failed: AtomicU32,
}

impl Server {
    pub fn new(mut names: Names, config: Config) -> Result<Server, Error> {
        let mounts = config.mounts.iter().cloned();
        let pools = mounts.map(|mount| Pool::new(mount, &mut names));
        let pools = pools.collect::<Result<_, _>>()?;
        let spans = config.spans.as_ref();
        let spans = spans.map(|url| Spans::new(url, &mut names)).transpose()?;
        Ok(Server {
            slots: Slots::new(config.connections)?,
            pools,
            packing: Mutex::new(()),
            cache: Mutex::new(Cache::new(config.cache)),
            watch: Watch::new(),
            spans,
            names: Mutex::new(names),
            stopping: AtomicBool::new(false),
            listening: AtomicBool::new(false),
            listening_at: AtomicBool::new(false),
            accepted: AtomicU32::new(0),
            requests: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            config,
        })
    }

    /// The program for a target, if it is one's.
    pub fn pool(&self, target: &Target) -> Option<&Pool> {
        self.pools
            .iter()
            .find(|pool| target.is_below(&pool.mount.path))
    }

    /// The directory of its files. [`Error::Closed`]: the file system is not there now.
    pub fn root(&self) -> Result<Directory, Error> {
        storage::find(&mut self.names.lock(), false, |names| {
            Directory::open(names, &self.config.root)?.open_directory_to_read("")
        })
    }

    /// A name for the next request, in the log and for the client.
    pub fn next_id(&self) -> Id {
        Id(self.requests.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub fn status(&self) -> String {
        let (connections, busy) = self.slots.count();
        let state = match (self.is_stopping(), self.listening.load(Ordering::Relaxed)) {
            (true, _) => "stopping",
            (false, true) => "listening",
            (false, false) => "waits for the network",
        };
        let (kept, bytes) = self.cache.lock().count();
        let mut text = format!(
            "state        {state}\nport         {}\nfiles        {}\n\
             kept         {kept} in {bytes} bytes\nconnections  {connections} of {}\nbusy         {busy}\n\
             accepted     {}\nrequests     {}\nfailed       {}\n",
            self.config.port,
            self.config.root,
            self.config.connections,
            self.accepted.load(Ordering::Relaxed),
            self.requests.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        );
        if let Some(path) = &self.config.listen {
            let state = match self.listening_at.load(Ordering::Relaxed) {
                true => "listening",
                false => "is not there",
            };
            text += &format!("listen       {path} {state}\n");
        }
        if let Some(spans) = &self.spans {
            let (sent, dropped) = spans.count();
            text += &format!("spans        {}\n", spans.url);
            text += &format!("spans-sent   {sent}\nspans-dropped {dropped}\n");
        }
        for pool in &self.pools {
            let mount = &pool.mount;
            text += &format!("mount        {} {}\n", mount.path, mount.program);
        }
        text
    }

    /// Ends the server when the requests that are under way have been answered, or their time is
    /// over.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let end = uptime() + self.config.shutdown;
        while uptime() < end {
            // Also those that have come meanwhile.
            self.slots.leave_all();
            if self.slots.count().0 == 0 {
                break;
            }
            thread::sleep(LOOK);
        }
        if let Some(spans) = &self.spans {
            spans.stop();
        }
    }

    fn listen(&self) -> Result<Listener, Error> {
        let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), self.config.port);
        let path = format!("/tcp/listen/{}", self.config.port);
        Listener::new(&mut self.names.lock(), &path, any, BACKLOG)
    }
}

/// Takes connections at its port without end.
pub fn accept(server: &Arc<Server>) {
    let what = format!("port {}", server.config.port);
    accept_of(server, &what, &server.listening, &mut || server.listen());
}

/// The same of a service that hands connections on; it says itself from which port they come. These
/// names are its own: to bind the service may wait until that has started.
pub fn accept_at(server: &Arc<Server>, path: &str, names: &mut Names) {
    let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
    let mut listen = || Listener::new(names, path, any, BACKLOG);
    accept_of(server, path, &server.listening_at, &mut listen);
}

fn accept_of(
    server: &Arc<Server>,
    what: &str,
    listening: &AtomicBool,
    listen: &mut dyn FnMut() -> Result<Listener, Error>,
) {
    let mut wait = FIRST;
    let mut said = None;
    loop {
        let error = match listen() {
            Ok(mut listener) => {
                listening.store(true, Ordering::Relaxed);
                (wait, said) = (FIRST, None);
                let error = take(server, &mut listener);
                listening.store(false, Ordering::Relaxed);
                error
            }
            Err(error) => error,
        };
        // A reason is said once.
        if said != Some(error) {
            sing_sdk::log!("{what}: {error}; tries again");
            said = Some(error);
        }
        thread::sleep(wait);
        wait = (wait * 2).min(LONGEST);
    }
}

/// Takes connections until the network has gone.
fn take(server: &Arc<Server>, listener: &mut Listener) -> Error {
    loop {
        let (connection, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(Error::Closed) => return Error::Closed,
            Err(_) => {
                thread::sleep(FIRST);
                continue;
            }
        };
        server.accepted.fetch_add(1, Ordering::Relaxed);
        // One that is to have no place is closed.
        let Some(slot) = server.slots.admit(from.ip()) else {
            continue;
        };
        let shared = Arc::clone(server);
        let run = move || {
            let place = shared.slots.hold(slot);
            if !shared.is_stopping() {
                let mut root = None;
                connection::serve(&shared, place, &mut root, connection, from.ip());
                shared.watch.leave(root, || shared.slots.count().0 > 0);
            }
        };
        if let Err(error) = thread::spawn(run) {
            // The connection is closed.
            sing_sdk::log!("no thread for a connection: {error}");
            server.slots.free(slot);
            server.watch.leave(None, || server.slots.count().0 > 0);
        }
    }
}
