//! The manager's own places in the name space: `/services`, itself and a report for each service;
//! and `/hardware` ([O] 5.2.5).

use super::{Manager, Source};
use crate::clients::Services;
use crate::report;
use crate::service::Service;
use crate::wards;
use core::time::Duration;
use manager::hardware::{Found, Hardware};
use manager::supervised::Supervised;
use sing_sdk::device;
use sing_sdk::door::{Link, Place, Turned};
use sing_sdk::prelude::*;
use sing_sdk::rt::Endpoint;
use sing_sdk::time;
use sing_sdk::walk::{Directories, Entry};

/// The manager itself, and a report for each service.
pub(super) struct Own<'a> {
    pub manager: &'a mut Manager,
    pub now: Duration,
}

impl Directories for Own<'_> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        if at != "/" {
            let known = self.manager.find(&at[1..]).is_some();
            return Err(if known {
                Refusal::NotADirectory
            } else {
                Refusal::NotFound
            });
        }
        let wards = wards::all();
        let mut names: Vec<&str> = self.manager.services.iter().map(Service::name).collect();
        names.extend(wards.iter().map(|ward| ward.name.as_str()));
        names.sort_unstable();
        let behind = names
            .into_iter()
            .filter(|name| after.is_none_or(|after| *name > after));
        Ok(behind
            .take(most)
            .map(|name| Entry::service(name, "FileContract"))
            .collect())
    }
}

impl Place for Own<'_> {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        let manager = &mut *self.manager;
        let text = match path {
            "/" => None,
            path => match manager.find(&path[1..]) {
                Some(at) => match manager.supervised(at) {
                    Supervised::Ward(_) => {
                        manager.ward(at).map(|ward| wards::text(&ward, self.now))
                    }
                    Supervised::Service(i) => {
                        // What it says is true now, also of one that has just ended.
                        manager.notice_end(at, self.now);
                        let services = &manager.services;
                        Some(report::text(&services[i], services, self.now))
                    }
                },
                None => return Err((Refusal::NotFound, client)),
            },
        };
        let number = |place| Source::Client(place).number();
        manager
            .clients
            .take(origin, client, text, &manager.set, number)
    }
}

/// The devices of the machine and their drivers.
pub(super) struct Reflected<'a>(pub &'a mut Manager);

impl Reflected<'_> {
    fn tree(&self) -> &Hardware {
        &self.0.hardware.tree
    }
}

impl Directories for Reflected<'_> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        (&mut self.tree()).list(at, after, most)
    }
}

impl Place for Reflected<'_> {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        let number = match self.tree().find(path) {
            Ok(Found::About(number)) => number,
            Ok(Found::Link(_)) => return Err((Refusal::IsLink, client)),
            Ok(Found::Directory) => return Err((Refusal::OtherContract, client)),
            // The name server has the driver's own registration, or its path was refused.
            Ok(Found::Endpoint) => return Err((Refusal::NotFound, client)),
            Err(reason) => return Err((reason, client)),
        };
        self.0.notice_ends(time::uptime());
        let text = match device::info(number) {
            Ok(Some(device)) => report::device(&device, number, &self.0.services),
            _ => return Err((Refusal::NoResources, client)),
        };
        let number = |place| Source::Client(place).number();
        let manager = &mut *self.0;
        let (clients, set) = (&mut manager.clients, &manager.set);
        clients.take(origin, client, Some(text), set, number)
    }

    fn link(&mut self, path: &str) -> Option<Link> {
        match self.tree().find(path) {
            Ok(Found::Link(link)) => Some(link),
            _ => None,
        }
    }
}
