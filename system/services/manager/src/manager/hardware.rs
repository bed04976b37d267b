//! What the manager knows of the machine's devices and of the programs that drive them, and where
//! its services are in the name space.
//!
//! Invariants:
//! - The endpoints of drivers are below `/hardware/drivers`; the paths that the system manifest
//!   gives them are links there ([O] 5.2.5), so that programs know those paths alone. There is a
//!   link only if the machine has the device.
//! - A service that has not got a path of its plan does not start.

use super::making::fitting;
use super::{Manager, Source};
use crate::front::Front;
use crate::service::{Service, State};
use core::time::Duration;
use manager::hardware::{Device, Driver, Hardware};
use sing_sdk::device;
use sing_sdk::plan::{Place, When};
use sing_sdk::prelude::*;
use sing_sdk::process;

/// The devices, their drivers, and the tree that shows both.
pub(super) struct Known {
    devices: Vec<Device>,
    /// Of each service; `None` for one that drives nothing.
    drivers: Vec<Option<Driver>>,
    /// Whether each service finds the devices that it needs.
    finds: Vec<bool>,
    pub tree: Hardware,
    /// Paths that are links to drivers' endpoints, and those.
    pub links: Vec<(String, String)>,
}

impl Known {
    pub fn new(services: &[Service]) -> Result<Known, Error> {
        let devices = device::all()?.into_iter().map(|d| Device {
            location: d.location,
            signature: d.signature,
        });
        let devices: Vec<Device> = devices.collect();
        let drivers: Vec<Option<Driver>> = services.iter().map(driver).collect();
        let mut known = Known {
            tree: Hardware::new(&[], &[]),
            finds: finds(services)?,
            devices,
            drivers,
            links: Vec::new(),
        };
        known.reflect();
        Ok(known)
    }

    /// Makes the tree anew, after a service got its devices.
    fn reflect(&mut self) {
        let drivers: Vec<Driver> = self.drivers.iter().flatten().cloned().collect();
        self.tree = Hardware::new(&self.devices, &drivers);
    }
}

/// Whether each service will find the devices that it needs, if all start: those that start with the
/// system come first. One that drives nothing needs none.
fn finds(services: &[Service]) -> Result<Vec<bool>, Error> {
    let all = device::all()?;
    let mut taken: Vec<Option<u32>> = Vec::new();
    let mut finds = vec![true; services.len()];
    for when in [When::Boot, When::Demand] {
        let services = services.iter().zip(&mut finds);
        for (service, finds) in services.filter(|(s, _)| s.plan.service.start == when) {
            let Ok(manifest) = process::manifest(&service.plan.service.image) else {
                continue;
            };
            match fitting(&manifest, &all, &taken) {
                Some(chosen) => taken.extend(chosen.into_iter().filter(Option::is_some)),
                None => *finds = false,
            }
        }
    }
    Ok(finds)
}

/// What a service drives, as its program declares it.
fn driver(service: &Service) -> Option<Driver> {
    let policy = &service.plan.service;
    // A program that is not there is reported when it is to start.
    let manifest = process::manifest(&policy.image).ok()?;
    let devices = manifest.devices.into_iter().map(|d| (d.name, d.signatures));
    let devices: Vec<(String, Vec<String>)> = devices.collect();
    let places = service.plan.places.iter();
    let given = places.filter(|place| !place.endpoint.is_empty());
    let serves = given.map(|place| (place.endpoint.clone(), place.contract.clone()));
    (!devices.is_empty()).then(|| Driver {
        image: policy.image.clone(),
        service: policy.name.clone(),
        devices,
        has: Vec::new(),
        serves: serves.collect(),
    })
}

impl Manager {
    /// Notes which devices a service has from now on.
    pub(super) fn has_devices(&mut self, i: usize, chosen: Vec<Option<u32>>) {
        if let Some(Some(driver)) = self.hardware.drivers.get_mut(i) {
            driver.has.clone_from(&chosen);
            self.hardware.finds[i] = true;
            self.hardware.reflect();
        }
        self.services[i].devices = chosen;
    }

    /// Whether a service finds the devices that it needs.
    pub(super) fn finds_devices(&self, i: usize) -> bool {
        self.hardware.finds[i]
    }

    /// A service has nothing to drive, and does not run.
    pub(super) fn has_no_device(&mut self, i: usize, now: Duration) {
        self.services[i].set_reason("the machine has no device for it");
        self.services[i].enter(State::Ended, now);
    }

    /// Registers what a service serves, as far as that has not been done.
    ///
    /// # Errors
    /// The path that is refused, and why.
    pub(super) fn claim(&mut self, i: usize) -> Result<(), String> {
        let places = self.services[i].plan.places.clone();
        // A path that the program registers itself has no endpoint.
        for place in places.iter().filter(|place| !place.endpoint.is_empty()) {
            let claimed = match self.hardware.drivers[i].as_ref() {
                None => self.register(i, &place.path, place),
                Some(driver) => {
                    let true_path = driver.endpoint(&place.endpoint);
                    let finds = self.finds_devices(i);
                    let mut claimed = self.register(i, &true_path, place);
                    // A device that is not there has no name.
                    if finds && claimed.is_ok() {
                        claimed = self.link(&place.path, &true_path);
                    }
                    claimed
                }
            };
            claimed.map_err(|e| format!("cannot be at {}: {e}", place.path))?;
        }
        Ok(())
    }

    fn register(&mut self, i: usize, path: &str, place: &Place) -> Result<(), Error> {
        let mut mine = self.services[i].fronts.iter();
        if mine.any(|at| self.fronts[*at].place.endpoint == place.endpoint) {
            return Ok(());
        }
        let registered = self.names.register_as(path, &place.contract)?;
        let place = Place {
            path: path.into(),
            ..place.clone()
        };
        let front = Front::new(i, &place, registered);
        front.watch(&self.set, Source::Front(self.fronts.len()).number())?;
        self.services[i].fronts.push(self.fronts.len());
        self.fronts.push(front);
        Ok(())
    }

    fn link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        if !self.hardware.links.iter().any(|(link, _)| link == path) {
            self.names.link(path, target)?;
            self.hardware.links.push((path.into(), target.into()));
        }
        Ok(())
    }

    /// A service has not got its path, so that no client could reach it.
    pub(super) fn refused(&mut self, i: usize, reason: &str, now: Duration) {
        let service = &mut self.services[i];
        let reason = format!("{reason}; `services {} start` tries again", service.name());
        service.set_reason(&reason);
        // One on demand is nobody's until it is looked for, and then `services` says it.
        if service.plan.service.start == When::Boot {
            service.log(now, &reason);
        }
        service.enter(State::Failed, now);
        self.pass(i, now);
    }
}
