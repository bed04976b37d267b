//! The devices of the machine and who drives them, put together from the links of `/hardware` and
//! of `/dev` ([The hardware tree] in the book).
//!
//! Invariant: links are data of another process; what does not look like one is left out.
//!
//! [The hardware tree]: ../../../docs/src/service-manager.md#the-hardware-tree

use crate::look::Service;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Where places on buses are, each with the link [`DEVICE`] to what is there.
pub const LOCATIONS: &str = "/hardware/locations";
/// Where devices are, each with the link [`DRIVER`] if a service drives it.
pub const DEVICES: &str = "/hardware/devices";
/// Where the endpoints of drivers are.
pub const DRIVERS: &str = "/hardware/drivers";
/// The last component of the paths below [`LOCATIONS`].
pub const DEVICE: &str = "/device";
/// That of those below [`DEVICES`].
pub const DRIVER: &str = "/driver";

/// A link: its path, and what it leads to.
pub type Link = (String, String);

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Where it is: `/pci/00/04.0`.
    pub location: String,
    /// What it is: `/pci/01/00/1af4/1042`.
    pub signature: String,
    /// The names that its driver is bound by, such as `/dev/disk0`.
    pub names: String,
    /// The driver's program; empty without one.
    pub driver: String,
    /// The service that runs it.
    pub service: String,
    /// That service's state, as it is now.
    pub state: String,
    /// Its process; 0 for none.
    pub process: u32,
    /// How often it was started again.
    pub restarts: u32,
}

impl Device {
    /// With the state of its service.
    #[must_use]
    pub fn now(mut self, services: &[Service]) -> Device {
        if let Some(service) = services.iter().find(|s| s.name == self.service) {
            self.state.clone_from(&service.state);
            (self.process, self.restarts) = (service.process, service.restarts);
        }
        self
    }
}

/// A path's part below a directory: `/x/1` of `/a/x/1` below `/a`.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    path.strip_prefix(directory)
        .filter(|rest| rest.starts_with('/'))
}

/// The devices: of the links from locations to devices, from devices to drivers, and from `/dev` to
/// drivers' endpoints.
#[must_use]
pub fn devices(locations: &[Link], drivers: &[Link], names: &[Link]) -> Vec<Device> {
    let device = |(path, target): &Link| {
        let location = below(path, LOCATIONS)?.strip_suffix(DEVICE)?;
        // Devices of one signature are numbered.
        let (signature, _) = below(target, DEVICES)?.rsplit_once('/')?;
        let mut device = Device {
            location: location.to_string(),
            signature: signature.to_string(),
            ..Device::default()
        };
        let driven = |link: &&Link| link.0.strip_suffix(DRIVER) == Some(target.as_str());
        if let Some((_, instance)) = drivers.iter().find(driven)
            && let Some((image, service)) = below(instance, DRIVERS)
                .and_then(|rest| rest.get(1..))
                .and_then(|rest| rest.split_once('/'))
        {
            device.driver = image.to_string();
            device.service = service.to_string();
            let its = |link: &&Link| below(&link.1, instance).is_some();
            for (name, _) in names.iter().filter(its) {
                if !device.names.is_empty() {
                    device.names.push(' ');
                }
                device.names.push_str(name);
            }
        }
        Some(device)
    };
    locations.iter().filter_map(device).collect()
}
