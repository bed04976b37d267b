//! The tree `/hardware` ([O] 5.2.5): the devices of the machine and the programs that drive them,
//! as names with links between them. Tested on the host.
//!
//! ```text
//! locations/virtio-mmio/0/device        -> /hardware/devices/virtio/2/0
//! registrations/virtio/2/driver         -> /hardware/drivers/virtio-blk
//! devices/virtio/2/0/about                 what the device is doing, as a text
//! devices/virtio/2/0/location           -> /hardware/locations/virtio-mmio/0
//! devices/virtio/2/0/driver             -> /hardware/drivers/virtio-blk/disk0
//! drivers/virtio-blk/image              -> /boot/bin/virtio-blk
//! drivers/virtio-blk/disk0/device       -> /hardware/devices/virtio/2/0
//! drivers/virtio-blk/disk0/service      -> /services/disk0
//! drivers/virtio-blk/disk0/disk            the endpoint at which clients bind the driver
//! ```
//!
//! Invariants:
//! - The tree holds names alone, and its size is bounded by the devices and services that there
//!   are. What changes while the system runs is said when it is asked for.
//! - A name that is taken stays what it is, so that no manifest replaces a part of the tree.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Bound;
use sing_sdk::contracts::Refusal;
use sing_sdk::door::Link;
use sing_sdk::path;
use sing_sdk::walk::{Directories, Entry};

/// Where the tree is in the name space.
pub const ROOT: &str = "/hardware";

/// A device of the machine, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Where it is: `/pci/00/04.0`.
    pub location: String,
    /// What it is: `/pci/01/00/1af4/1042`.
    pub signature: String,
}

/// A service that drives devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its program.
    pub image: String,
    /// The service's name.
    pub service: String,
    /// The program's names for its devices, each with the signatures of those that it can drive.
    pub devices: Vec<(String, Vec<String>)>,
    /// Which devices it has, by their numbers, in the same order.
    pub has: Vec<Option<u32>>,
    /// The program's names for what it serves, each with the contract.
    pub serves: Vec<(String, String)>,
}

impl Driver {
    /// Where clients bind what it serves under this name.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> String {
        format!("{}/{name}", self.instance())
    }

    fn instance(&self) -> String {
        format!("{ROOT}/drivers/{}/{}", self.image, self.service)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Directory(BTreeMap<String, Node>),
    /// A link with its target.
    Link(String),
    /// The text about the device with this number.
    About(u32),
    /// An endpoint of a driver, of this contract: the name server passes its clients on.
    Endpoint(String),
}

/// What is at a path of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory.
    Directory,
    /// The text about the device with this number.
    About(u32),
    /// A driver's endpoint.
    Endpoint,
    /// A link on the way.
    Link(Link),
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Hardware(Node);

impl Hardware {
    /// The tree of these devices, numbered in this order, and drivers.
    #[must_use]
    pub fn new(devices: &[Device], drivers: &[Driver]) -> Hardware {
        let mut tree = Hardware(Node::Directory(BTreeMap::new()));
        for name in ["locations", "registrations", "devices", "drivers"] {
            tree.put(name, Node::Directory(BTreeMap::new()));
        }
        let mut places: Vec<String> = Vec::new();
        for (at, device) in devices.iter().enumerate() {
            let same = |d: &&Device| d.signature == device.signature;
            let number = devices[..at].iter().filter(same).count();
            let place = format!("devices{}/{number}", device.signature);
            let location = format!("locations{}", device.location);
            tree.link(&format!("{location}/device"), &place);
            tree.link(&format!("{place}/location"), &location);
            tree.put(&format!("{place}/about"), Node::About(at as u32));
            places.push(place);
        }
        for driver in drivers {
            let above = format!("drivers/{}", driver.image);
            let image = Node::Link(format!("/boot/bin/{}", driver.image));
            tree.put(&format!("{above}/image"), image);
            for (_, signatures) in &driver.devices {
                for signature in signatures {
                    tree.link(&format!("registrations{signature}/driver"), &above);
                }
            }
            let instance = format!("{above}/{}", driver.service);
            for (name, contract) in &driver.serves {
                let endpoint = Node::Endpoint(contract.clone());
                tree.put(&format!("{instance}/{name}"), endpoint);
            }
            for ((name, _), has) in driver.devices.iter().zip(&driver.has) {
                if let Some(place) = has.and_then(|number| places.get(number as usize)) {
                    tree.link(&format!("{instance}/{name}"), place);
                    tree.link(&format!("{place}/driver"), &instance);
                }
            }
            let service = Node::Link(format!("/services/{}", driver.service));
            tree.put(&format!("{instance}/service"), service);
        }
        tree
    }

    /// Adds a link to another place of the tree.
    fn link(&mut self, at: &str, target: &str) {
        self.put(at, Node::Link(format!("{ROOT}/{target}")));
    }

    /// Adds a name with the directories above it, if nothing is in its way.
    fn put(&mut self, at: &str, node: Node) {
        if !path::is_relative(at) || at.ends_with('/') {
            return;
        }
        let (above, name) = at.rsplit_once('/').unwrap_or(("", at));
        let mut here = &mut self.0;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            let Node::Directory(names) = here else {
                return;
            };
            let empty = || Node::Directory(BTreeMap::new());
            here = names.entry(part.to_string()).or_insert_with(empty);
        }
        if let Node::Directory(names) = here {
            names.entry(name.to_string()).or_insert(node);
        }
    }

    /// What is at a path, `/` being the tree; a link on the way ends it.
    fn at(&self, path: &str) -> Result<(&Node, usize), Refusal> {
        let (mut here, mut used) = (&self.0, 0);
        for part in path.split('/').filter(|part| !part.is_empty()) {
            here = match here {
                Node::Directory(names) => names.get(part).ok_or(Refusal::NotFound)?,
                Node::Link(_) => return Ok((here, used)),
                Node::About(_) | Node::Endpoint(_) => return Err(Refusal::NotADirectory),
            };
            used += 1 + part.len();
        }
        Ok((here, used))
    }

    /// What is at a normalized path, `/` being the tree.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], or [`Refusal::NotADirectory`] of a part of the path.
    pub fn find(&self, path: &str) -> Result<Found, Refusal> {
        let (node, used) = self.at(path)?;
        Ok(match node {
            Node::Directory(_) => Found::Directory,
            Node::About(number) => Found::About(*number),
            Node::Endpoint(_) => Found::Endpoint,
            Node::Link(target) => Found::Link(Link {
                used,
                target: target.clone(),
            }),
        })
    }
}

impl Directories for &Hardware {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let names = match self.at(at)?.0 {
            Node::Directory(names) => names,
            Node::Link(_) => return Err(Refusal::IsLink),
            Node::About(_) | Node::Endpoint(_) => return Err(Refusal::NotADirectory),
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = names.range::<str, _>((from, Bound::Unbounded)).take(most);
        let entry = |(name, node): (&String, &Node)| match node {
            Node::Directory(_) => Entry::directory(name),
            Node::Link(target) => Entry::link(name, target),
            Node::About(_) => Entry::service(name, "FileContract"),
            Node::Endpoint(contract) => Entry::service(name, contract),
        };
        Ok(behind.map(entry).collect())
    }
}

#[cfg(test)]
#[path = "hardware/tests.rs"]
mod tests;
