//! How a service gets its process: the devices that it drives, the endpoints that it starts with.
//!
//! Invariant: a service has the same devices whenever it starts, and no device has two services.

use super::{Manager, Source};
use crate::service::Probe;
use core::time::Duration;
use sing_sdk::device::{self, DeviceInfo};
use sing_sdk::plan::{HEALTH, NAMES};
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Manifest, Side};

/// Why a service has no process.
pub(super) enum NotMade {
    /// The machine has no device that it can drive.
    NoDevice,
    /// For this reason.
    Failed(String),
}

impl From<String> for NotMade {
    fn from(reason: String) -> NotMade {
        NotMade::Failed(reason)
    }
}

/// The first devices of the machine that a program can drive, and that are not taken; `None` if
/// there are none.
pub(super) fn fitting(
    manifest: &Manifest,
    all: &[DeviceInfo],
    taken: &[Option<u32>],
) -> Option<Vec<Option<u32>>> {
    let mut chosen: Vec<Option<u32>> = Vec::new();
    for declared in &manifest.devices {
        let free = |index: u32, d: &DeviceInfo| {
            let reaches = declared.dma == 0 || d.confined;
            let fits = d.holder == 0 && !d.broken && reaches && declared.names(&d.signature);
            fits && !taken.contains(&Some(index)) && !chosen.contains(&Some(index))
        };
        let mut numbered = (0..).zip(all);
        let found = numbered.find(|(index, d)| free(*index, d));
        if found.is_none() && !declared.optional {
            return None;
        }
        chosen.push(found.map(|(index, _)| index));
    }
    Some(chosen)
}

impl Manager {
    /// Chooses the devices of a service when it starts for the first time. False if there are none.
    fn choose_devices(&mut self, i: usize, manifest: &Manifest) -> Result<bool, Error> {
        if self.services[i].devices.len() == manifest.devices.len() {
            return Ok(true);
        }
        let taken = self.services.iter().flat_map(|s| &s.devices);
        let taken: Vec<Option<u32>> = taken.copied().filter(Option::is_some).collect();
        let chosen = fitting(manifest, &device::all()?, &taken);
        let found = chosen.is_some();
        if let Some(chosen) = chosen {
            self.has_devices(i, chosen);
        }
        Ok(found)
    }

    pub(super) fn make(&mut self, i: usize) -> Result<process::Child, NotMade> {
        let image = &self.services[i].plan.service.image;
        let manifest = process::manifest(image).map_err(|e| format!("{image}: {e}"))?;
        if !self
            .choose_devices(i, &manifest)
            .map_err(|e| e.to_string())?
        {
            return Err(NotMade::NoDevice);
        }
        // It has its devices now, if it had none to expect before.
        self.claim(i)?;
        let service = &mut self.services[i];
        let asks = |name: &str, contract: &str, side| {
            let mut all = manifest.endpoints.iter();
            all.any(|e| e.name == name && e.contract == contract && e.side == side)
        };
        let short = |e: Error| e.to_string();
        let mut names = None;
        if asks(NAMES, "NamespaceContract", Side::Imp) {
            names = Some(self.names.connect().map_err(short)?);
        }
        let mut health = None;
        service.probe = Probe::None;
        if asks(HEALTH.0, HEALTH.1, Side::Exp) {
            let (imp, exp) = HealthContract::new_channel().map_err(short)?;
            self.set
                .add(&imp, Source::Probe(i).number())
                .map_err(short)?;
            service.probe = Probe::Idle(imp, Duration::MAX);
            health = Some(exp);
        }
        let mut ends = Vec::new();
        for &at in &service.fronts {
            let number = Source::Back(at).number();
            ends.push(self.fronts[at].connect(&self.set, number).map_err(short)?);
        }
        let endpoints = service
            .fronts
            .iter()
            .map(|at| self.fronts[*at].place.endpoint.as_str());
        let served = endpoints.zip(ends).collect();
        service.broken = None;
        service.stopped_for = None;
        Ok(service.make(&manifest, names, health, served)?)
    }
}
