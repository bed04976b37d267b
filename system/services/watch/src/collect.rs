//! Takes a look at the system.
//!
//! Invariant: what is kept of a look is bounded, however much there is.

use core::time::Duration;
use sing_sdk::client::Client;
use sing_sdk::inspect;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{uptime, utc};
use watch::look::{Look, Name, Service};

/// More channels or processes than this are not asked for: the answer would take much of the memory
/// that this service has.
const MOST: u64 = 20_000;
/// The most names of a directory, and of all.
const MOST_OF_ONE: usize = 48;
const MOST_NAMES: usize = 300;
/// The most services that are asked after.
const MOST_SERVICES: usize = 256;
/// How old names may be: they change seldom, and a disk may have to be asked.
const NAMES_AGE: Duration = Duration::from_secs(5);
const MANAGER: &str = "/services";

type Manager = Client<ServicesContract::Imp<ServicesContract::Ready>>;

pub struct Collector {
    names: Names,
    manager: Manager,
    /// The names that were found last, how many were left out, and when.
    found: (Vec<Name>, u64),
    again: Duration,
}

fn kind(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Directory => "directory",
        NameKind::Service => "service",
        NameKind::Link => "link",
    }
}

impl Collector {
    pub fn new(names: Names) -> Collector {
        let manager = Client::new(MANAGER, |names, path| {
            let (manager, exp) = ServicesContract::new_channel()?;
            names.bind(path, exp)?;
            Ok(manager.recv_success()?)
        });
        Collector {
            names,
            manager,
            found: (Vec::new(), 0),
            again: Duration::ZERO,
        }
    }

    pub fn look(&mut self) -> Result<Look, Error> {
        if uptime() >= self.again {
            self.found = self.find();
            self.again = uptime() + NAMES_AGE;
        }
        let services = self.services();
        let memory = inspect::memory()?;
        let processes = match memory.processes <= MOST {
            true => inspect::processes()?,
            false => Vec::new(),
        };
        let channels = match memory.channels <= MOST {
            true => inspect::channels()?,
            false => Vec::new(),
        };
        let (names, names_left) = self.found.clone();
        Ok(Look {
            now: utc().as_millis() as u64,
            system: inspect::system()?,
            memory,
            processes,
            channels,
            services,
            names,
            names_left,
        })
    }

    /// The services, none if the manager does not say.
    fn services(&mut self) -> Vec<Service> {
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

    /// The names of the upper two levels, and how many were left out at least.
    fn find(&mut self) -> (Vec<Name>, u64) {
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
        let found = match self.names.search(&spec) {
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
                    path: found.path,
                    detail: found.detail,
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
