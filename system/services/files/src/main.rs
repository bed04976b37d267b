//! The file system ([O] 5.4): the name space below its mount points is kept on disks.
//!
//! The control worker, at /fsctrl, serves `VolumeContract`; each of its clients has a thread
//! (`control.rs`). Each mounted file system has a thread too, with everything of it: a name-space
//! worker that takes what the name server announces below the mount point, directory and file
//! workers that serve the clients, and the channels to the disk's driver (`volume.rs`). What lies
//! where on the disk is the store's business (`formats/store`).
//!
//! Invariants:
//! - No client can stop another: a file system waits for nobody but its own disk, and for that a
//!   bounded time. Blocks and paths are bounded before they are used.
//! - What each origin has open, and has under way, is bounded by its share.
//! - A client that closes its channel, in any state, leaves nothing behind.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod alarm;
mod below;
mod cache;
mod changes;
mod connect;
mod control;
mod directory;
mod drive;
mod faults;
mod file;
mod lanes;
mod loan;
mod mounts;
mod plan;
mod queue;
mod quick;
mod sync;
mod transfer;
mod volume;
mod walk;
mod watch;

use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint};
use sing_sdk::share::Shares;
use sing_sdk::sync::Mutex;
use sing_sdk::walk::{Directories, Entry};

sing_sdk::manifest! {
    name: "files",
    description: "keeps files on disks: files [DISK=PATH…]",
    category: service,
    serves: { control: optional VolumeContract },
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    // 32 MiB are the cache's, 64 MiB those of clients' blocks (`loan.rs`).
    memory: 160 MiB,
}

/// Clients of the control worker at a time, each with a thread.
const CLIENTS: usize = 8;
/// Those that each origin may have while there is room.
const LEAST: usize = 2;
/// Of a thread: the store's own calls are deep.
pub const STACK: usize = 256 << 10;

static SHARES: Mutex<Option<Shares>> = Mutex::new(None);
static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// A further connection to the name server, for a thread.
pub fn connected() -> Result<Names, Error> {
    let mut names = NAMES.lock();
    Names::new(names.as_mut().ok_or(Error::Closed)?.connect()?)
}

/// Where the control worker is in the name space, unless the arguments say otherwise.
const CONTROL: &str = "/fsctrl";

sing_sdk::arguments! {
    /// What is mounted at the start, if there is such a disk and a file system on it: the disk and
    /// the mount point, as /dev/disk0=/ or /dev/disk1=/more. A path alone is where the control
    /// worker is to be.
    words: many String "DISK=PATH";
    /// How long a disk's driver may take for an answer, in milliseconds: 30000.
    patience: option u32 "--patience MILLISECONDS";
}

#[sing_sdk::main]
fn main(Arguments { words, patience }: Arguments) -> i32 {
    if let Some(milliseconds) = patience {
        drive::set_patience(milliseconds);
    }
    let (mounts, paths): (Vec<String>, Vec<String>) =
        words.into_iter().partition(|word| word.contains('='));
    let path = paths.first().map_or(CONTROL, String::as_str);
    match serve(path, &mounts) {
        Ok(()) => 0,
        Err(error) => {
            sing_sdk::log!("files: {path}: {error}");
            1
        }
    }
}

fn serve(path: &str, mounts: &[String]) -> Result<(), Error> {
    *SHARES.lock() = Some(Shares::new(CLIENTS, LEAST));
    let names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    *NAMES.lock() = Some(names);
    // Who has started it may say where in the name space it is.
    let control = startup::control();
    let given = control.is_some();
    let lookup = match given {
        true => None,
        false => Some(registered(path)?),
    };
    for mount in mounts {
        let Some((disk, at)) = mount.split_once('=') else {
            sing_sdk::log!("files: {mount}: not a disk and a path; write /dev/disk0=/");
            continue;
        };
        match control::mount(&Text::new(disk)?, &Text::new(at)?, false) {
            // A machine without the disk, or a disk that nobody has formatted yet.
            Ok(()) | Err(VolumeFault::NotFound | VolumeFault::NotFormatted) => {}
            Err(fault) => sing_sdk::log!("files: {disk} is not mounted at {at}: {fault:?}"),
        }
    }
    // Ready for clients, when everything is mounted.
    let lookup = match (control, lookup) {
        (Some(given), _) => given.send_success(),
        (None, Some(lookup)) => lookup,
        (None, None) => return Err(Error::NotFound),
    };
    let mut door = Door::new(lookup);
    loop {
        door = match door.answer(&mut Control) {
            Ok(next) => next,
            // Whoever started it has gone.
            Err(_) if given => return Ok(()),
            // The name server was started again.
            Err(_) => Door::new(registered(path)?),
        };
    }
}

/// Registers the control worker.
fn registered(path: &str) -> Result<NamespaceContract::Exp<NamespaceContract::Ready>, Error> {
    let mut names = NAMES.lock();
    let names = names.as_mut().ok_or(Error::Closed)?;
    names.register_as(path, "VolumeContract")
}

/// The control worker's place in the name space.
struct Control;

impl Directories for Control {
    fn list(&mut self, at: &str, _: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        Err(match at {
            "/" => Refusal::NotADirectory,
            _ => Refusal::NotFound,
        })
    }
}

impl Place for Control {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        take(path, origin, client)
    }
}

/// Takes a client of the control worker, which gets a thread.
fn take(path: &str, origin: u32, endpoint: Endpoint) -> Result<(), Turned> {
    if path != "/" {
        return Err((Refusal::NotFound, endpoint));
    }
    let client: VolumeContract::Exp<VolumeContract::Start> =
        endpoint.cast().map_err(|e| (Refusal::OtherContract, e))?;
    let charge = |f: &dyn Fn(&mut Shares) -> bool| SHARES.lock().as_mut().is_some_and(f);
    if !charge(&|shares| shares.take(origin, 1)) {
        return Err((Refusal::NoResources, client.into_endpoint()));
    }
    let give_back = move || {
        if let Some(shares) = SHARES.lock().as_mut() {
            shares.give_back(origin, 1);
        }
    };
    let serve = move || {
        control::serve(client.send_success());
        give_back();
    };
    // Without room for a thread, the client finds its channel closed.
    match sing_sdk::thread::spawn_with_stack(STACK, serve) {
        Ok(thread) => drop(thread),
        Err(_) => give_back(),
    }
    Ok(())
}
