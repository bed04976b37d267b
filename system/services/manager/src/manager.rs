//! The loop: what comes is heard, what is due is done.
//!
//! Invariants:
//! - The manager waits in one place only, for everything at once, until the next thing is due. Only
//!   the name server is asked and waited for, which serves everybody and waits for nobody.
//! - A service is started when all services that it uses are up, and in no other case.
//! - The end of a process is noted once, in [`Manager::ended`], whoever has ended it.

mod due;
mod hardware;
mod making;
mod own;
mod places;

use crate::clients::Clients;
use crate::front::{Front, Said};
use crate::service::{Probe, Service, State, how};
use core::time::Duration;
use hardware::Known;
use making::NotMade;
use manager::{How, Next};
use own::{Own, Reflected};
use sing_sdk::door::Door;
use sing_sdk::names::Names;
use sing_sdk::plan::{Dependants, Plan};
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::rt::Handle;
use sing_sdk::set::WaitSet;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{self, Timeout};

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
    /// The devices of the machine.
    Hardware,
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
            Source::Hardware => (5, 0),
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
            4 => Source::Client(at),
            _ => Source::Hardware,
        }
    }
}

type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;

/// The state of everything.
pub struct Manager {
    names: Names,
    set: WaitSet,
    own: Option<Lookup>,
    reflected: Option<Lookup>,
    hardware: Known,
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
        // Above the places of drivers, so before them.
        let reflected = names.register(::manager::hardware::ROOT)?;
        set.add(&reflected, Source::Hardware.number())?;
        let services: Vec<Service> = plan.services.into_iter().map(Service::new).collect();
        let mut manager = Manager {
            names,
            set,
            own: None,
            reflected: Some(reflected),
            hardware: Known::new(&services)?,
            services,
            fronts: Vec::new(),
            clients: Clients::default(),
            again: None,
        };
        for i in 0..manager.services.len() {
            if let Err(reason) = manager.claim(i) {
                manager.refused(i, &reason, time::uptime());
            } else if !manager.finds_devices(i) {
                manager.has_no_device(i, time::uptime());
            }
        }
        // The last of all: where it is, the others are, too.
        let own = manager.names.register(PLACE)?;
        manager.set.add(&own, Source::Own.number())?;
        manager.own = Some(own);
        Ok(manager)
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
                Source::Hardware => self.asked_hardware(now),
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

    /// The same for the devices of the machine.
    fn asked_hardware(&mut self, now: Duration) {
        let Some(place) = self.reflected.take_if(|place| place.is_ready()) else {
            return;
        };
        let answered = Door::new(place).answer(&mut Reflected(self));
        self.reflected = answered.ok().map(Door::into_lookup);
        if self.reflected.is_none() {
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
        if let Err(reason) = self.claim(i) {
            return self.refused(i, &reason, now);
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
                self.has_no_device(i, now);
                self.pass(i, now);
            }
            Err(NotMade::Failed(reason)) => {
                self.disconnect(i);
                self.decide(i, How::Failed, &format!("cannot start: {reason}"), now);
            }
        }
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
        let line = format!("{reason}; {follows}");
        match (state, how) {
            (State::Failed, _) => service.log_at_once(now, &line),
            (_, How::Failed) => service.log(now, &line),
            (_, How::Clean) => {}
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
