//! The order in which services start, inferred from what programs serve and use ([O] 5.2.4).
//!
//! Nothing here runs a program: the system manifest and the programs' own manifests are sufficient
//! to say what will start, in which order, and what cannot.
//!
//! Invariants:
//! - Every fault is found in one go, and each message says what to do about it.
//! - In a [`Plan`], a service stands behind all services that it uses.
//! - No two services of a plan have one path, or one a path below another's.

use crate::Error;
use crate::manifest::{Category, Manifest, Side, StartupEndpoint};
use crate::policy::{MOST_SERVICES, Service, When};
use crate::system::SystemManifest;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The start-up endpoint over which a service is asked for its health, and its contract.
pub const HEALTH: (&str, &str) = ("health", "HealthContract");
/// The start-up endpoint with a channel to the name server.
pub const NAMES: &str = "names";
/// The longest path of the name space, in bytes.
const LONGEST_PATH: usize = 4096;
/// The contract of the name server and of the parts of the name space.
pub const NAMESPACE: &str = "NamespaceContract";

/// A name that a service serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The program's own name for it: a start-up endpoint. Empty for a path that the program
    /// registers itself.
    pub endpoint: String,
    /// The place's path in the name space.
    pub path: String,
    /// The contract's name.
    pub contract: String,
}

/// A service with its place in the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The policy, with nothing left out.
    pub service: Service,
    /// The places where the service serves.
    pub places: Vec<Place>,
    /// The services that it uses: positions in the plan, all before its own.
    pub needs: Vec<usize>,
}

/// All services, each behind those that it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The services.
    pub services: Vec<Planned>,
}

impl Plan {
    /// The plan as a file.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        postcard::to_allocvec(self).map_err(|_| Error::new("plan: too large to be written"))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// If these bytes are none, or a service does not stand behind all that it uses.
    pub fn decode(bytes: &[u8]) -> Result<Plan, Error> {
        let plan: Plan = postcard::from_bytes(bytes)
            .map_err(|_| Error::new("plan: not a plan of services, or of another version"))?;
        let ordered = |(at, p): (usize, &Planned)| p.needs.iter().all(|n| *n < at);
        if plan.services.len() > MOST_SERVICES || !plan.services.iter().enumerate().all(ordered) {
            return Err(Error::new(
                "plan: its services are too many, or in no order",
            ));
        }
        Ok(plan)
    }
}

/// The installed programs of a system.
pub trait Programs {
    /// The manifest of an image.
    fn manifest(&self, image: &str) -> Option<&Manifest>;

    /// Whether what one image serves by a contract can be used by another image as this contract.
    fn fits(&self, server: (&str, &str), user: (&str, &str)) -> bool {
        let (_, served) = server;
        let (_, used) = user;
        served == used
    }
}

impl Programs for BTreeMap<String, Manifest> {
    fn manifest(&self, image: &str) -> Option<&Manifest> {
        self.get(image)
    }
}

/// A program that serves a path.
#[derive(Clone, Debug)]
pub struct Provider<'a> {
    /// The name of the instance.
    pub name: &'a str,
    /// Its image.
    pub image: &'a str,
    /// The place.
    pub place: Place,
    /// Its position among the services of the system manifest; `None` if the kernel starts it.
    pub service: Option<usize>,
}

/// Whether a path is another, or below it.
fn is_within(path: &str, other: &str) -> bool {
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Everything that is served when the whole system runs.
pub fn providers<'a>(manifest: &'a SystemManifest, programs: &impl Programs) -> Vec<Provider<'a>> {
    let mut all = Vec::new();
    for start in &manifest.start {
        let served = programs.manifest(&start.image).map(|m| m.serves.as_slice());
        for served in served
            .unwrap_or(&[])
            .iter()
            .filter(|s| s.registers_itself())
        {
            all.push(Provider {
                name: &start.name,
                image: &start.image,
                place: Place {
                    endpoint: String::new(),
                    path: served.name.clone(),
                    contract: served.contract.clone(),
                },
                service: None,
            });
        }
    }
    for (i, service) in manifest.services.iter().enumerate() {
        let image = image_of(service);
        for place in places(service, programs.manifest(image)) {
            all.push(Provider {
                name: &service.name,
                image,
                place,
                service: Some(i),
            });
        }
    }
    all
}

/// The provider of a path: of the path itself, or of a directory above it.
#[must_use]
pub fn provider_of<'p, 'a>(providers: &'p [Provider<'a>], path: &str) -> Option<&'p Provider<'a>> {
    providers.iter().find(|p| is_within(path, &p.place.path))
}

fn image_of(service: &Service) -> &str {
    if service.image.is_empty() {
        &service.name
    } else {
        &service.image
    }
}

fn places(service: &Service, manifest: Option<&Manifest>) -> Vec<Place> {
    let served = manifest.map_or(&[][..], |m| &m.serves);
    let place = |s: &crate::manifest::Served| Place {
        endpoint: if s.registers_itself() {
            String::new()
        } else {
            s.name.clone()
        },
        path: service.path_of(&s.name),
        contract: s.contract.clone(),
    };
    served.iter().map(place).collect()
}

/// Infers the order.
///
/// # Errors
/// All that keeps the system from starting as it says, in words.
pub fn infer(manifest: &SystemManifest, programs: &impl Programs) -> Result<Plan, Vec<String>> {
    if manifest.services.len() > MOST_SERVICES {
        // Before anything is compared with everything.
        return Err(vec![format!(
            "the system has {} services, and the manager can watch {MOST_SERVICES}; take some away",
            manifest.services.len()
        )]);
    }
    let mut faults = Faults {
        manifest,
        programs,
        found: Vec::new(),
    };
    faults.supervisors();
    faults.services();
    let providers = providers(manifest, programs);
    faults.conflicts(&providers);
    faults.drivers();
    let needs = faults.needs(&providers);
    let order = faults.order(&needs);
    if !faults.found.is_empty() {
        return Err(faults.found);
    }
    // Where each service of the manifest comes to stand.
    let mut position = vec![0; order.len()];
    for (at, &i) in order.iter().enumerate() {
        position[i] = at;
    }
    let planned = |&i: &usize| {
        let service = &manifest.services[i];
        Planned {
            places: places(service, programs.manifest(image_of(service))),
            service: service.clone().completed(),
            needs: needs[i].iter().map(|(n, _)| position[*n]).collect(),
        }
    };
    Ok(Plan {
        services: order.iter().map(planned).collect(),
    })
}

struct Faults<'a, P> {
    manifest: &'a SystemManifest,
    programs: &'a P,
    found: Vec<String>,
}

/// The services that a service uses: positions in the system manifest, each with the path.
type Needs = Vec<(usize, String)>;

impl<P: Programs> Faults<'_, P> {
    fn fault(&mut self, text: String) {
        self.found.push(text);
    }

    /// What is wrong with the programs that the kernel starts.
    fn supervisors(&mut self) {
        for start in &self.manifest.start {
            let Some(by) = &start.supervisor else {
                continue;
            };
            let known = self.manifest.start.iter().any(|s| s.name == *by);
            if !known || *by == start.name {
                self.fault(format!(
                    "the supervisor of {:?} is {by:?}, which is no other program of `start`; name \
                     one, or take the key away",
                    start.name
                ));
            }
            if start.essential || start.main {
                self.fault(format!(
                    "{:?} is essential, so that the system ends with it, and has a supervisor that \
                     starts it again; take one of the keys away",
                    start.name
                ));
            }
        }
    }

    /// What is wrong with each service by itself.
    fn services(&mut self) {
        let services = &self.manifest.services;
        for (i, service) in services.iter().enumerate() {
            self.found.extend(service.problems());
            let before = services[..i].iter().map(|s| &s.name);
            let started = self.manifest.start.iter().map(|s| &s.name);
            if before.chain(started).any(|other| *other == service.name) {
                self.fault(format!(
                    "two programs are to run under the name {:?}; give one of them another name",
                    service.name
                ));
            }
            let image = image_of(service);
            match self.programs.manifest(image) {
                Some(manifest) => self.program(service, image, manifest),
                None => self.fault(format!(
                    "service {:?} runs image {image:?}, which is not there; add it with --bin \
                     {image}=FILE, or take the service out of the system manifest",
                    service.name
                )),
            }
        }
    }

    fn program(&mut self, service: &Service, image: &str, manifest: &Manifest) {
        let name = &service.name;
        if manifest.category == Category::App {
            self.fault(format!(
                "service {name:?} runs image {image:?}, whose manifest says that it is an app; \
                 declare `category: service` in its source"
            ));
        }
        let serves: Vec<&str> = manifest.serves.iter().map(|s| s.name.as_str()).collect();
        for (named, path) in &service.names {
            if !serves.contains(&named.as_str()) {
                self.fault(format!(
                    "service {name:?} has a path for {named:?}, which image {image:?} does not serve; \
                     it serves {}",
                    listed(&serves)
                ));
            } else if named.starts_with('/') && named != path {
                self.fault(format!(
                    "service {name:?} is to be at {path:?}, but image {image:?} registers {named:?} \
                     itself; declare a name without a slash in its source"
                ));
            }
        }
        for path in serves.iter().map(|s| service.path_of(s)) {
            let normal = path.len() > 1 && path.starts_with('/') && !path.ends_with('/');
            let parts = || path.split('/').skip(1);
            let odd = parts().any(|part| matches!(part, "" | "." | ".."));
            let long = path.len() > LONGEST_PATH;
            if !normal || odd || long || path.chars().any(char::is_control) {
                self.fault(format!(
                    "service {name:?} is to be at {path:?}, which is no path: write /NAME or \
                     /FOLDER/NAME"
                ));
            }
        }
        let for_demand = serves.iter().any(|s| !s.starts_with('/'));
        if service.start == When::Demand && !for_demand {
            self.fault(format!(
                "service {name:?} starts on demand, but nobody can demand it: image {image:?} declares \
                 no name that it serves; declare one, or say \"start\": \"boot\""
            ));
        }
        if service.memory > 0 && manifest.budget() > service.memory {
            let asks = match manifest.budget() {
                u64::MAX => "has no limit of its own, as it makes processes".to_string(),
                bytes => format!("asks for {bytes} bytes"),
            };
            self.fault(format!(
                "service {name:?} may have {} bytes of memory, but image {image:?} {asks}; declare \
                 `memory: …` in its source, or raise \"memory\" in the system manifest",
                service.memory
            ));
        }
        for endpoint in &manifest.endpoints {
            if !endpoint.optional && !endpoint.many && !is_given(endpoint, manifest) {
                self.fault(format!(
                    "service {name:?}: nobody connects endpoint {:?} ({}.{}) of image {image:?}; the \
                     manager gives `names`, `health` and what is declared in `serves`: make it \
                     optional, or have the kernel start the program with a channel",
                    endpoint.name,
                    endpoint.contract,
                    endpoint.side.name()
                ));
            }
        }
    }

    /// Paths that two would serve.
    fn conflicts(&mut self, providers: &[Provider<'_>]) {
        for (i, one) in providers.iter().enumerate() {
            for other in &providers[..i] {
                let (mine, theirs) = (&one.place.path, &other.place.path);
                if is_within(mine, theirs) || is_within(theirs, mine) {
                    let what = if mine == theirs {
                        format!("both serve {mine}")
                    } else {
                        format!("serve {theirs} and {mine}, of which one is below the other")
                    };
                    self.fault(format!(
                        "{:?} and {:?} {what}; give one of them another path with \"names\", or take \
                         it away",
                        other.name, one.name
                    ));
                }
            }
        }
    }

    /// Devices that programs of two images could drive.
    fn drivers(&mut self) {
        let services = &self.manifest.services;
        for (i, one) in services.iter().enumerate() {
            for other in &services[..i] {
                let (image, rival) = (image_of(one), image_of(other));
                let devices = |image| {
                    self.programs
                        .manifest(image)
                        .map_or(&[][..], |m| &m.devices)
                };
                let both = devices(image)
                    .iter()
                    .find(|d| devices(rival).iter().any(|r| d.overlaps(r)));
                if image != rival
                    && let Some(device) = both
                {
                    self.found.push(format!(
                        "{:?} and {:?} would drive the same device: images {rival:?} and {image:?} both \
                         name {}; take one of them away",
                        other.name,
                        one.name,
                        device.signatures.join(" or ")
                    ));
                }
            }
        }
    }

    /// Which services each service uses.
    fn needs(&mut self, providers: &[Provider<'_>]) -> Vec<Needs> {
        let mut all = Vec::new();
        for service in &self.manifest.services {
            let image = image_of(service);
            let uses = self.programs.manifest(image).map_or(&[][..], |m| &m.uses);
            let mut needs: Needs = Vec::new();
            for used in uses {
                let (path, contract) = (&used.path, &used.contract);
                let Some(provider) = provider_of(providers, path) else {
                    self.found.push(format!(
                        "service {:?} uses {path} ({contract}), which nobody serves; add a service \
                         that does to the system manifest, or take this one away",
                        service.name
                    ));
                    continue;
                };
                let served = (provider.image, provider.place.contract.as_str());
                // Below a path there may be things of any contract.
                if *path == provider.place.path
                    && !self.programs.fits(served, (image, contract.as_str()))
                {
                    self.found.push(format!(
                        "service {:?} uses {path} as {contract}, but {:?} serves {} there; build both \
                         for one contract, or give one another path",
                        service.name, provider.name, provider.place.contract
                    ));
                }
                if let Some(i) = provider.service
                    && !needs.iter().any(|(n, _)| *n == i)
                {
                    needs.push((i, path.clone()));
                }
            }
            all.push(needs);
        }
        all
    }

    /// An order in which each service comes behind those that it uses, otherwise as in the
    /// manifest.
    fn order(&mut self, needs: &[Needs]) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        loop {
            let is_due =
                |i: &usize| !order.contains(i) && needs[*i].iter().all(|(n, _)| order.contains(n));
            match (0..needs.len()).find(is_due) {
                Some(next) => order.push(next),
                None if order.len() == needs.len() => return order,
                None => {
                    let circle = circle(needs, &order);
                    self.fault(self.circle_text(&circle));
                    return order;
                }
            }
        }
    }

    fn circle_text(&self, circle: &[(usize, String)]) -> String {
        let name = |i: usize| &self.manifest.services[i].name;
        let mut text = String::from("services wait for each other to start: ");
        for (at, (i, path)) in circle.iter().enumerate() {
            let next = circle[(at + 1) % circle.len()].0;
            let comma = if at == 0 { "" } else { ", and " };
            text += &format!("{comma}{:?} uses {path} of {:?}", name(*i), name(next));
        }
        text += "; take one of these `uses` out of its program's source, and bind that when it is \
                 needed instead";
        text
    }
}

/// A circle among the services that have no place in the order: each with the path by which it uses
/// the next one.
fn circle(needs: &[Needs], order: &[usize]) -> Vec<(usize, String)> {
    let left = |i: &usize| !order.contains(i);
    let Some(mut at) = (0..needs.len()).find(left) else {
        return Vec::new();
    };
    let mut way: Vec<(usize, String)> = Vec::new();
    // Each that is left uses one that is left; so the way comes back to itself.
    while let Some((next, path)) = needs[at].iter().find(|(n, _)| left(n)) {
        if let Some(start) = way.iter().position(|(i, _)| *i == at) {
            return way.split_off(start);
        }
        way.push((at, path.clone()));
        at = *next;
    }
    way
}

/// Whether the manager has something to give for a start-up endpoint.
fn is_given(endpoint: &StartupEndpoint, manifest: &Manifest) -> bool {
    let of = |contract: &str, side| endpoint.contract == contract && endpoint.side == side;
    let names = endpoint.name == NAMES && of(NAMESPACE, Side::Imp);
    let health = endpoint.name == HEALTH.0 && of(HEALTH.1, Side::Exp);
    let served = manifest.serves.iter().any(|s| s.name == endpoint.name);
    names || health || (served && of(NAMESPACE, Side::Exp))
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
