//! The processes of a mount: one for each request, made for it or a little before, or some that are
//! kept; or the service that answers in their place.
//!
//! Invariants:
//! - There are never more processes than the mount says, those made ahead beside.
//! - A process that has not ended its request well gets no other one.

use crate::grants::Grants;
use crate::service::Service;
use alloc::sync::Arc;
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Child, Manifest};
use sing_sdk::sync::{self, AutoEvent, Mutex};
use sing_sdk::time::{Timeout, uptime};
use web::config::{Life, Mount};

/// How long a request waits for its turn, at most; its deadline if that is less.
const TURN: Duration = Duration::from_secs(2);

pub type Start = WebContract::Imp<WebContract::Start>;

/// Who waits for a request.
pub struct Process {
    /// The process; a service's is not of this server.
    pub child: Option<Child>,
    pub channel: Start,
}

#[derive(Default)]
struct State {
    ready: Vec<Process>,
    busy: usize,
    /// Those that are being made ahead.
    making: usize,
}

pub struct Pool {
    pub mount: Mount,
    service: Option<Service>,
    grants: Grants,
    /// The program's manifest, once it has been found good: an installed image never changes.
    manifest: Mutex<Option<Arc<Manifest>>>,
    state: Mutex<State>,
    freed: AutoEvent,
}

/// Why there is no process for a request.
pub enum None {
    /// All are busy.
    Busy,
    /// It cannot be made, for this reason.
    NotMade(String),
}

impl Pool {
    pub fn new(mount: Mount, names: &mut Names) -> Result<Pool, Error> {
        let service = mount.is_service().then(|| Service::new(names));
        Ok(Pool {
            service: service.transpose()?,
            grants: Grants::new(&mount, names)?,
            manifest: Mutex::new(Option::None),
            state: Mutex::new(State::default()),
            freed: AutoEvent::new(false)?,
            mount,
        })
    }

    /// The program's manifest, if the program is there and asks for no more memory than it may have.
    fn manifest(&self) -> Result<Arc<Manifest>, String> {
        if let Some(manifest) = &*self.manifest.lock() {
            return Ok(Arc::clone(manifest));
        }
        let program = &self.mount.program;
        let manifest = process::manifest(program).map_err(|e| format!("{program}: {e}"))?;
        let most = self.mount.memory;
        match manifest.memory {
            0 => Err(format!(
                "{program}: its manifest states no memory budget; {most} bytes may be"
            )),
            asked if asked > most => Err(format!(
                "{program}: its manifest asks for {asked} bytes of memory; {most} may be"
            )),
            _ => {
                let manifest = Arc::new(manifest);
                *self.manifest.lock() = Some(Arc::clone(&manifest));
                Ok(manifest)
            }
        }
    }

    /// The time for one request. As long as the manifest has not been read, that of the mount.
    pub fn deadline(&self) -> Duration {
        let manifest = self.manifest.lock();
        self.mount.time(manifest.as_ref().map_or(0, |m| m.deadline))
    }

    fn make(&self) -> Result<Process, String> {
        let program = &self.mount.program;
        if let Some(service) = &self.service {
            let (child, channel) = (None, service.connect(program)?);
            return Ok(Process { child, channel });
        }
        let manifest = self.manifest()?;
        let (channel, requests) =
            WebContract::new_channel().map_err(|e| format!("{program}: {e}"))?;
        let child = Child::of(program)
            .manifest(&manifest)
            .endpoint("requests", requests);
        let child = match self.mount.words.as_slice() {
            [] => child.arg(program),
            words => child.args(words),
        };
        let child = self.grants.give(&self.mount, child)?;
        let child = child.start().map_err(|e| e.to_string())?;
        let child = Some(child);
        Ok(Process { child, channel })
    }

    /// A process for a request, and a place among those that may be.
    pub fn take(&self) -> Result<Process, None> {
        let end = uptime() + self.deadline().min(TURN);
        loop {
            let mut state = self.state.lock();
            if state.busy < self.mount.at_once {
                state.busy += 1;
                let room = state.busy < self.mount.at_once;
                let ready = state.ready.pop();
                drop(state);
                if room {
                    // Another that waits may have been passed over.
                    self.freed.set();
                }
                return self.alive(ready);
            }
            drop(state);
            if Timeout::until(end).is_none_or(|time| sync::wait(&self.freed, time).is_err()) {
                return Err(None::Busy);
            }
        }
    }

    /// This process if it has not ended, else another.
    fn alive(&self, mut ready: Option<Process>) -> Result<Process, None> {
        while let Some(process) = ready {
            let runs = |child: &Child| child.join_within(Timeout::NONE) == Ok(false);
            if process.child.as_ref().is_none_or(runs) {
                return Ok(process);
            }
            ready = self.state.lock().ready.pop();
        }
        self.make().map_err(|why| {
            self.leave();
            None::NotMade(why)
        })
    }

    fn leave(&self) {
        self.state.lock().busy -= 1;
        self.freed.set();
    }

    /// Gives a process back that has answered its request; `None` for one that has ended.
    pub fn give_back(&self, process: Option<Process>) {
        if let Some(process) = process {
            match self.mount.life {
                Life::Kept => {
                    let mut state = self.state.lock();
                    if state.ready.len() + state.making < self.mount.at_once {
                        state.ready.push(process);
                    } else {
                        drop(state);
                        end(&process.child);
                    }
                }
                Life::Fresh => end(&process.child),
            }
        }
        self.leave();
    }

    /// Makes the processes that are to be there before they are needed.
    pub fn fill(&self) {
        loop {
            let mut state = self.state.lock();
            // Others fill it at the same time.
            if state.ready.len() + state.making >= self.mount.ahead {
                return;
            }
            state.making += 1;
            drop(state);
            let made = self.make();
            let mut state = self.state.lock();
            state.making -= 1;
            match made {
                Ok(process) => state.ready.push(process),
                // The request that needs it says why.
                Err(_) => return,
            }
        }
    }
}

/// Ends a process; its resources are free then. A service goes on.
pub fn end(child: &Option<Child>) {
    if let Some(child) = child {
        // One that has ended already is no fault.
        let _ = child.stop(process::stop::KILLED);
    }
}
