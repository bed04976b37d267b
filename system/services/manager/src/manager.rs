//! The loop: what comes is heard, what is due is done.
//!
//! Invariants:
//! - The manager waits in one place only, for everything at once, until the next thing is due. Only
//!   the name server is asked and waited for, which serves everybody and waits for nobody.
//! - A service is started when all services that it uses are up, and in no other case.
//! - The end of a process is noted once, in [`Manager::ended`], whoever has ended it.

mod due;
mod places;

use crate::clients::{Clients, Services};
use crate::front::{Front, Said};
use crate::report;
use crate::service::{Probe, Service, State, how};
use crate::wards;
use core::time::Duration;
use manager::{How, Next};
use sing_sdk::device::{self, DeviceInfo};
use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::names::Names;
use sing_sdk::plan::{Dependants, HEALTH, NAMES, Plan};
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Manifest, Side, stop};
use sing_sdk::rt::{Endpoint, Handle};
use sing_sdk::set::WaitSet;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{self, Timeout};
use sing_sdk::walk::{Directories, Entry};

/// Where the manager itself is in the name space.
const PLACE: &str = "/services";
/// How long a request of a client waits for its service to come up.
const HOLD: Duration = Duration::from_secs(5);
/// How long the manager waits for memory before it tries again.
const RETRY: Duration = Duration::from_millis(100);
/// Events that are heard in a row before the ends of processes are looked at.
const ROW: usize = 32;

/// Whose endpoint has something, as a number of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The manager's own place in the name space.
    Own,
    /// The name server, at a place of a service.
    Front(usize),
    /// The service, at its place.
    Back(usize),
    /// A service, asked for its health.
    Probe(usize),
    /// A client of the manager.
    Client(usize),
}

/// Bits of a number for the position.
const BITS: u32 = 16;

impl Source {
    fn number(self) -> u32 {
        let (kind, at) = match self {
            Source::Own => (0, 0),
            Source::Front(at) => (1, at),
            Source::Back(at) => (2, at),
            Source::Probe(at) => (3, at),
            Source::Client(at) => (4, at),
        };
        kind << BITS | at as u32
    }

    fn of(number: u32) -> Source {
        let at = (number & ((1 << BITS) - 1)) as usize;
        match number >> BITS {
            0 => Source::Own,
            1 => Source::Front(at),
            2 => Source::Back(at),
            3 => Source::Probe(at),
            _ => Source::Client(at),
        }
    }
}

/// Why a service has no process.
enum NotMade {
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

/// The state of everything.
pub struct Manager {
    names: Names,
    set: WaitSet,
    own: Option<NamespaceContract::Exp<NamespaceContract::Ready>>,
    services: Vec<Service>,
    fronts: Vec<Front>,
    clients: Clients,
    /// Names are to be registered again at this time, after that wait: the name server has gone.
    again: Option<(Duration, Duration)>,
}

impl Manager {
    /// Registers all services, those that do not run yet, too.
    pub fn new(mut names: Names, plan: Plan) -> Result<Manager, Error> {
        let set = WaitSet::new()?;
        let own = names.register(PLACE)?;
        set.add(&own, Source::Own.number())?;
        let mut services: Vec<Service> = plan.services.into_iter().map(Service::new).collect();
        let mut fronts = Vec::new();
        for (i, service) in services.iter_mut().enumerate() {
            for place in &service.plan.places {
                // A path that the program registers itself has no endpoint.
                if place.endpoint.is_empty() {
                    continue;
                }
                let path = &place.path;
                let front = match names.register_as(path, &place.contract) {
                    Ok(registered) => Front::new(i, place, registered),
                    Err(e) => {
                        sing_sdk::log!("{}: cannot be at {path}: {e}", service.plan.service.name);
                        continue;
                    }
                };
                front.watch(&set, Source::Front(fronts.len()).number())?;
                service.fronts.push(fronts.len());
                fronts.push(front);
            }
        }
        Ok(Manager {
            names,
            set,
            own: Some(own),
            services,
            fronts,
            clients: Clients::default(),
            again: None,
        })
    }

    /// Starts what starts with the system, and watches over all.
    pub fn run(&mut self) -> ! {
        for i in 0..self.services.len() {
            if self.services[i].state == State::Pending {
                self.start(i, time::uptime());
            }
        }
        loop {
            let now = time::uptime();
            let due = self.tick(now);
            let timeout = due.map_or(Timeout::FOREVER, |due| due.saturating_sub(now).into());
            // Ends of processes come first, as no client can make many of them.
            let running = self.services.iter().enumerate();
            let running: Vec<(usize, Handle)> = running
                .filter_map(|(i, s)| Some((i, s.child.as_ref()?.handle())))
                .collect();
            let handles: Vec<Handle> = running
                .iter()
                .map(|(_, handle)| *handle)
                .chain([self.set.handle()])
                .collect();
            match wait_any(&handles, timeout) {
                Ok(first) => match running.get(first) {
                    Some((i, _)) => self.ended(*i, time::uptime()),
                    None => self.hear(),
                },
                Err(Error::Timeout) => {}
                // A wait takes memory, too.
                Err(_) => time::sleep(RETRY),
            }
        }
    }

    /// Hears what has come, for a while.
    fn hear(&mut self) {
        for _ in 0..ROW {
            let Ok(number) = self.set.wait(Timeout::NONE) else {
                return;
            };
            let now = time::uptime();
            match Source::of(number) {
                Source::Own => self.asked(now),
                Source::Front(at) => self.hear_names(at, now),
                Source::Back(at) => self.hear_service(at, now),
                Source::Probe(at) => self.hear_probe(at, now),
                Source::Client(at) => {
                    let mut clients = core::mem::take(&mut self.clients);
                    clients.serve(at, self);
                    self.clients = clients;
                }
            }
        }
    }

    /// Answers the name server, which asks for the manager itself.
    fn asked(&mut self, now: Duration) {
        let Some(own) = self.own.take_if(|own| own.is_ready()) else {
            return;
        };
        let mut own_place = Own { manager: self, now };
        self.own = Door::new(own)
            .answer(&mut own_place)
            .ok()
            .map(Door::into_lookup);
        if self.own.is_none() {
            self.lost_a_name(now);
        }
    }

    fn hear_names(&mut self, at: usize, now: Duration) {
        if !self.fronts[at].hear(now) {
            if self.fronts[at].is_gone() {
                self.lost_a_name(now);
            }
            return;
        }
        let i = self.fronts[at].service;
        // Pending: what it waits for may be started by nobody else.
        if matches!(self.services[i].state, State::Waiting | State::Pending) {
            self.start(i, now);
        }
        self.pass(i, now);
    }

    fn hear_service(&mut self, at: usize, now: Duration) {
        let i = self.fronts[at].service;
        match self.fronts[at].hear_service() {
            Said::Nothing => self.fronts[at].pass(now),
            Said::Closed => {
                let service = &mut self.services[i];
                // Its end is next, unless it goes on without it.
                service
                    .broken
                    .get_or_insert((now, "the endpoint of what it serves"));
            }
            Said::Up => {
                let fronts = &self.services[i].fronts;
                if fronts.iter().all(|front| self.fronts[*front].is_up()) {
                    self.up(i, now);
                }
            }
        }
    }

    fn hear_probe(&mut self, i: usize, now: Duration) {
        let service = &mut self.services[i];
        let ready = match &service.probe {
            Probe::None => false,
            Probe::Idle(probe, _) => probe.is_ready(),
            Probe::Asked(probe, _) => probe.is_ready(),
        };
        if !ready {
            return;
        }
        service.probe = match core::mem::replace(&mut service.probe, Probe::None) {
            Probe::Asked(probe, _) => match probe.recv_pong() {
                Ok(probe) => {
                    let wait = Duration::from_millis(service.plan.service.health_ms.into());
                    Probe::Idle(probe, now + wait)
                }
                Err(Closed) => Probe::None,
            },
            // It says nothing unasked.
            Probe::Idle(..) | Probe::None => Probe::None,
        };
        if matches!(service.probe, Probe::None) {
            service.broken.get_or_insert((now, "its endpoint `health`"));
        }
    }

    /// A service is ready for clients.
    fn up(&mut self, i: usize, now: Duration) {
        self.services[i].enter(State::Up, now);
        self.pass(i, now);
        for other in 0..self.services.len() {
            let service = &self.services[other];
            if service.state == State::Pending && service.plan.needs.contains(&i) {
                self.start(other, now);
            }
        }
    }

    /// Passes requests that wait for a service on to it, or refuses them if they wait in vain.
    fn pass(&mut self, i: usize, now: Duration) {
        let service = &self.services[i];
        for &at in &service.fronts {
            match service.state {
                State::Up => self.fronts[at].pass(now),
                _ if service.may_serve() => {}
                _ => self.fronts[at].refuse(),
            }
        }
    }

    /// Starts a service, or what it uses first.
    fn start(&mut self, i: usize, now: Duration) {
        if self.services[i].child.is_some() {
            return;
        }
        for n in 0..self.services[i].plan.needs.len() {
            let need = self.services[i].plan.needs[n];
            if self.services[need].state == State::Waiting {
                // What is used stands before its user, so that this ends.
                self.start(need, now);
            }
        }
        let mut needs = self.services[i].plan.needs.iter();
        if let Some(&missing) = needs.find(|n| self.services[**n].state != State::Up) {
            let reason = format!("waits for {}", self.services[missing].name());
            self.services[i].set_reason(&reason);
            self.services[i].enter(State::Pending, now);
            return;
        }
        match self.make(i) {
            Ok(child) => {
                let service = &mut self.services[i];
                service.child = Some(child);
                service.enter(State::Starting, now);
                if service.fronts.is_empty() {
                    // Nothing says when it is ready.
                    self.up(i, now);
                }
            }
            Err(NotMade::NoDevice) => {
                self.services[i].set_reason("the machine has no device for it");
                self.services[i].enter(State::Ended, now);
                self.pass(i, now);
            }
            Err(NotMade::Failed(reason)) => {
                self.disconnect(i);
                self.decide(i, How::Failed, &format!("cannot start: {reason}"), now);
            }
        }
    }

    /// Chooses the devices of a service when it starts for the first time: the first ones of the
    /// machine that its program can drive, and no other service has. False if there are none.
    fn choose_devices(&mut self, i: usize, manifest: &Manifest) -> Result<bool, Error> {
        if self.services[i].devices.len() == manifest.devices.len() {
            return Ok(true);
        }
        let all = device::all()?;
        let mut chosen: Vec<Option<u32>> = Vec::new();
        for declared in &manifest.devices {
            let taken = |index: u32| {
                let mut others = self.services.iter().flat_map(|s| &s.devices).chain(&chosen);
                others.any(|other| *other == Some(index))
            };
            let free = |d: &DeviceInfo| d.holder == 0 && !d.broken && declared.names(&d.signature);
            let mut fitting = (0..).zip(&all).filter(|(_, d)| free(d));
            let found = fitting
                .find(|(index, _)| !taken(*index))
                .map(|(index, _)| index);
            if found.is_none() && !declared.optional {
                return Ok(false);
            }
            chosen.push(found);
        }
        self.services[i].devices = chosen;
        Ok(true)
    }

    fn make(&mut self, i: usize) -> Result<process::Child, NotMade> {
        let image = &self.services[i].plan.service.image;
        let manifest = process::manifest(image).map_err(|e| format!("{image}: {e}"))?;
        if !self
            .choose_devices(i, &manifest)
            .map_err(|e| e.to_string())?
        {
            return Err(NotMade::NoDevice);
        }
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

    /// Forgets the channels to a service.
    fn disconnect(&mut self, i: usize) {
        let service = &mut self.services[i];
        service.probe = Probe::None;
        service.broken = None;
        for &at in &service.fronts {
            self.fronts[at].disconnect();
        }
    }

    /// Notes that a service's process has ended.
    fn ended(&mut self, i: usize, now: Duration) {
        let service = &mut self.services[i];
        let Some(exit) = service.child.as_ref().and_then(|child| child.exit().ok()) else {
            return;
        };
        let id = service.process();
        service.child = None;
        let (how, mut reason) = how(exit, id);
        if let Some(why) = service.stopped_for.take() {
            reason = why;
        }
        self.disconnect(i);
        self.decide(i, how, &reason, now);
    }

    /// Does what the policy says after an end.
    fn decide(&mut self, i: usize, how: How, reason: &str, now: Duration) {
        let service = &mut self.services[i];
        let up = match service.state {
            State::Up => now.saturating_sub(service.since),
            _ => Duration::ZERO,
        };
        service.set_reason(reason);
        let policy = &service.plan.service;
        let (state, follows) = match service.history.ended(policy, how, up, now) {
            Next::Again(wait) => (
                State::Delayed(now + wait),
                format!("starts again in {wait:?}"),
            ),
            Next::Rest if how == How::Clean && policy.start == sing_sdk::plan::When::Demand => {
                (State::Waiting, "starts when it is needed".into())
            }
            Next::Rest => (State::Ended, "stays so".into()),
            Next::GiveUp => {
                let limit = policy.limit;
                let text = format!(
                    "given up after {} restarts in {:?}; `services {} start` tries again",
                    limit.restarts,
                    Duration::from_millis(limit.within_ms.into()),
                    policy.name
                );
                (State::Failed, text)
            }
        };
        service.enter(state, now);
        if how == How::Failed {
            service.log(now, &format!("{reason}; {follows}"));
        }
        self.pass(i, now);
        if self.services[i].plan.service.dependants == Dependants::Stop {
            self.stop_dependants(i, now);
        }
    }

    /// Stops the services that use one which has ended; they start again after it.
    fn stop_dependants(&mut self, i: usize, now: Duration) {
        for other in 0..self.services.len() {
            let service = &self.services[other];
            if service.child.is_none() || !service.plan.needs.contains(&i) {
                continue;
            }
            let reason = format!("stopped because {} has ended", self.services[i].name());
            self.end(other);
            self.services[other].set_reason(&reason);
            self.services[other].enter(State::Pending, now);
            self.services[other].history.count();
            if self.services[other].plan.service.dependants == Dependants::Stop {
                // What uses a service stands behind it, so that this ends.
                self.stop_dependants(other, now);
            }
        }
    }

    /// Ends a service's process without what its policy says of that.
    fn end(&mut self, i: usize) {
        if let Some(child) = self.services[i].child.take() {
            // One that has ended already needs no stop.
            let _ = child.stop(stop::KILLED);
        }
        self.disconnect(i);
    }

    /// Stops a service that does not do what it should; its policy says what follows.
    fn stop_for(&mut self, i: usize, why: String, now: Duration) {
        let service = &mut self.services[i];
        service.stopped_for = Some(why);
        if let Some(child) = &service.child {
            let _ = child.stop(stop::KILLED);
        }
        self.ended(i, now);
    }
}

/// The manager's own place in the name space: itself, and a report for each service.
struct Own<'a> {
    manager: &'a mut Manager,
    now: Duration,
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
                Some(i) if i >= manager.services.len() => {
                    manager.ward(i).map(|ward| wards::text(&ward, self.now))
                }
                Some(i) => Some(report::text(
                    &manager.services[i],
                    &manager.services,
                    self.now,
                )),
                None => return Err((Refusal::NotFound, client)),
            },
        };
        let number = |place| Source::Client(place).number();
        manager
            .clients
            .take(origin, client, text, &manager.set, number)
    }
}
