//! Takes a look at the system.
//!
//! Invariants:
//! - What is kept of a look is bounded, however much there is.
//! - A look waits for no other process longer than a moment.

use crate::background::Background;
use alloc::sync::Arc;
use core::time::Duration;
use sing_sdk::client::Client;
use sing_sdk::inspect;
use sing_sdk::inspect::{Channel, Memory, Process};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{uptime, utc};
use watch::devices::{self, Device, Link};
use watch::json::MOST_TEXT;
use watch::look::{Look, Name, Service};

/// More channels or processes than this are not asked for, and counted as left out: the answer would
/// take much of the memory that this service has.
const MOST: u64 = 4_000;
/// The most names of a directory, and of all.
const MOST_OF_ONE: usize = 48;
const MOST_NAMES: usize = 300;
/// The most services that are asked after.
const MOST_SERVICES: usize = 256;
/// The most links that are looked at for devices, of each kind.
const MOST_LINKS: usize = 256;
/// How old names may be: they change seldom, and a disk may have to be asked.
const NAMES_AGE: Duration = Duration::from_secs(5);
/// How old the services' states may be: less than the looks are apart.
const SERVICES_AGE: Duration = Duration::from_millis(500);
/// How long a look waits for both.
const PATIENCE: Duration = Duration::from_millis(500);
const MANAGER: &str = "/services";

type Manager = Client<ServicesContract::Imp<ServicesContract::Ready>>;

/// Names, and how many were left out at least.
type FoundNames = (Vec<Name>, u64);

pub struct Collector {
    services: Arc<Background<Services, Vec<Service>>>,
    names: Arc<Background<Finder, FoundNames>>,
    devices: Arc<Background<Names, Vec<Device>>>,
}

/// The processes; none where there are more than are asked for.
///
/// # Errors
/// Memory is short.
pub fn processes() -> Result<Vec<Process>, Error> {
    match inspect::memory()?.processes <= MOST {
        true => inspect::processes(),
        false => Ok(Vec::new()),
    }
}

/// What the kernel tells of memory, processes and channels; none where there are more than are asked
/// for.
///
/// # Errors
/// Memory is short.
pub fn from_kernel() -> Result<(Memory, Vec<Process>, Vec<Channel>), Error> {
    let memory = inspect::memory()?;
    let processes = processes()?;
    let channels = match memory.channels <= MOST {
        true => inspect::channels()?,
        false => Vec::new(),
    };
    Ok((memory, processes, channels))
}

fn kind(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Directory => "directory",
        NameKind::Service => "service",
        NameKind::Link => "link",
    }
}

/// What is kept of a text of a name's server, which may be any program: more than an event shows.
fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MOST_TEXT + 1) {
        text.truncate(at);
        text.shrink_to_fit();
    }
    text
}

impl Collector {
    /// The channels to the name server are for this alone: on each, somebody may keep it waiting.
    pub fn new(services: Names, names: Names, devices: Names) -> Collector {
        Collector {
            devices: Background::new(devices, NAMES_AGE, find_devices),
            services: Background::new(Services::new(services), SERVICES_AGE, Services::all),
            names: Background::new(Finder(names), NAMES_AGE, Finder::find),
        }
    }

    /// A look. What others have to be asked is waited for a moment; who has not answered by then is
    /// shown as last seen.
    ///
    /// # Errors
    /// Memory is short.
    pub fn look(&self) -> Result<Look, Error> {
        let (services, names, devices) = (&self.services, &self.names, &self.devices);
        let (wait, also, too) = (services.begin(), names.begin(), devices.begin());
        let (memory, processes, channels) = from_kernel()?;
        let end = uptime() + PATIENCE;
        if wait {
            services.settle(end);
        }
        if also {
            names.settle(end);
        }
        if too {
            devices.settle(end);
        }
        let services = services.last();
        let services = services.map(|last| last.of.clone()).unwrap_or_default();
        let devices = devices.last();
        let devices = devices.map(|last| last.of.clone()).unwrap_or_default();
        let devices = devices.into_iter().map(|d| d.now(&services)).collect();
        let (names, names_left, names_age) = match names.last() {
            Some(found) => {
                let age = uptime().saturating_sub(found.at);
                (found.of.0.clone(), found.of.1, age)
            }
            None => (Vec::new(), 0, Duration::ZERO),
        };
        Ok(Look {
            now: utc().as_millis() as u64,
            system: inspect::system()?,
            memory,
            processes,
            channels,
            services,
            devices,
            names,
            names_left,
            names_age: names_age.as_nanos() as u64,
        })
    }
}

/// Links that match a specification, with what they lead to.
fn links(names: &mut Names, spec: &str) -> Vec<Link> {
    let Ok(found) = names.search(spec) else {
        return Vec::new();
    };
    let link = |found: Result<sing_sdk::names::Found, Error>| {
        let found = found.ok()?;
        (found.kind == NameKind::Link).then(|| (cut(found.path), cut(found.detail)))
    };
    found.take(MOST_LINKS).filter_map(link).collect()
}

/// The devices, without the states of their drivers.
fn find_devices(names: &mut Names) -> Vec<Device> {
    let all = |names: &mut Names, root, last| links(names, &format!("{root}/**{last}"));
    let locations = all(names, devices::LOCATIONS, devices::DEVICE);
    let drivers = all(names, devices::DEVICES, devices::DRIVER);
    let bound = links(names, "/dev/*");
    devices::devices(&locations, &drivers, &bound)
}

/// Asks the service manager.
struct Services {
    names: Names,
    manager: Manager,
}

impl Services {
    fn new(names: Names) -> Services {
        let manager = Client::new(MANAGER, |names, path| {
            let (manager, exp) = ServicesContract::new_channel()?;
            names.bind(path, exp)?;
            Ok(manager.recv_success()?)
        });
        Services { names, manager }
    }

    /// The services, none if the manager does not say.
    fn all(&mut self) -> Vec<Service> {
        let Ok(found) = self.names.search(&format!("{MANAGER}/*")) else {
            return Vec::new();
        };
        let found: Vec<_> = found.take(MOST_SERVICES).filter_map(Result::ok).collect();
        let status = |name: &str| self.status(name).ok().flatten();
        found.iter().map(|f| f.name()).filter_map(status).collect()
    }

    fn status(&mut self, name: &str) -> Result<Option<Service>, Error> {
        use ServicesContract::imp::Ready_GetStatus as Answer;
        self.manager.ask(&mut self.names, |manager| {
            let text = Text::new(name).map_err(|_| Closed)?;
            match manager.call_get_status(text) {
                Answer::Status(state, process, restarts, since, reason, next) => {
                    let service = Service {
                        name: name.into(),
                        state: state.to_string(),
                        process,
                        restarts,
                        since,
                        reason: reason.to_lossy(),
                    };
                    Ok((Some(service), next))
                }
                Answer::NoStatus(next) => Ok((None, next)),
                Answer::Closed => Err(Closed),
            }
        })
    }
}

/// Searches the name space.
struct Finder(Names);

impl Finder {
    /// The names of the upper two levels, and how many were left out at least.
    fn find(&mut self) -> FoundNames {
        let (mut all, mut left) = (Vec::new(), 0);
        let above = self.below("/", &mut left);
        for name in above {
            let inner = match name.kind {
                "directory" => self.below(&name.path, &mut left),
                _ => Vec::new(),
            };
            for name in core::iter::once(name).chain(inner) {
                match all.len() < MOST_NAMES {
                    true => all.push(name),
                    false => left += 1,
                }
            }
        }
        (all, left)
    }

    fn below(&mut self, directory: &str, left: &mut u64) -> Vec<Name> {
        let mut names = Vec::new();
        let unknown = |error: Error| Name {
            path: directory.into(),
            kind: "unknown",
            detail: error.to_string(),
        };
        let spec = sing_sdk::pattern::under(directory, "*");
        let found = match self.0.search(&spec) {
            Ok(found) => found,
            Err(error) => return vec![unknown(error)],
        };
        for found in found {
            match found {
                Ok(_) if names.len() == MOST_OF_ONE => {
                    // There may be any number behind it.
                    *left += 1;
                    break;
                }
                Ok(found) => names.push(Name {
                    kind: kind(found.kind),
                    path: cut(found.path),
                    detail: cut(found.detail),
                }),
                Err(error) => {
                    names.push(unknown(error));
                    break;
                }
            }
        }
        names
    }
}
