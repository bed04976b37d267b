//! What is due at a time: restarts, time-outs, pings; and what the manager's clients are told and
//! want.

use super::{HOLD, Manager};
use crate::clients::{Services, Wish};
use crate::service::{Probe, State};
use crate::wards::{self, Ward};
use ::manager::supervised::Supervised;
use core::time::Duration;
use sing_sdk::plan::Dependants;
use sing_sdk::prelude::*;
use sing_sdk::time;

impl Manager {
    /// Does what is due; returns when the next thing is.
    pub(super) fn tick(&mut self, now: Duration) -> Option<Duration> {
        for i in 0..self.services.len() {
            self.tick_service(i, now);
        }
        let mut due = self.register_again(now);
        let mut at = |time: Duration| due = Some(due.map_or(time, |other| other.min(time)));
        for service in &self.services {
            let policy = &service.plan.service;
            let answer = Duration::from_millis(policy.answer_ms.into());
            match service.state {
                State::Delayed(until) => at(until),
                State::Starting => at(service.since + Duration::from_millis(policy.up_ms.into())),
                _ => {}
            }
            match service.probe {
                Probe::Idle(_, next) if next < Duration::MAX => at(next),
                Probe::Asked(_, since) => at(since + answer),
                _ => {}
            }
            if let Some((since, _)) = service.broken {
                at(since + answer);
            }
            for front in service.fronts.iter().map(|f| &self.fronts[*f]) {
                if let Some(since) = front.waits_since() {
                    at(since + HOLD);
                }
                if let Some(since) = front.owes_since() {
                    at(since + answer);
                }
            }
        }
        due
    }

    fn tick_service(&mut self, i: usize, now: Duration) {
        let service = &mut self.services[i];
        let policy = &service.plan.service;
        let answer = Duration::from_millis(policy.answer_ms.into());
        let is_over = |since: Duration, limit: Duration| now >= since.saturating_add(limit);
        let up = Duration::from_millis(policy.up_ms.into());
        match service.state {
            State::Delayed(until) if now >= until => return self.start(i, now),
            State::Starting if is_over(service.since, up) => {
                let why = format!("was not ready for clients within {up:?}");
                return self.stop_for(i, why, now);
            }
            _ => {}
        }
        if let Some((since, what)) = service.broken
            && service.child.is_some()
            && is_over(since, answer)
        {
            let why = format!("closed {what} and went on");
            return self.stop_for(i, why, now);
        }
        if service.state == State::Up && policy.health_ms > 0 {
            let wait = Duration::from_millis(policy.health_ms.into());
            service.probe = match core::mem::replace(&mut service.probe, Probe::None) {
                Probe::Idle(probe, Duration::MAX) => Probe::Idle(probe, now + wait),
                Probe::Idle(probe, next) if now >= next => Probe::Asked(probe.send_ping(), now),
                same => same,
            };
            if let Probe::Asked(_, since) = service.probe
                && is_over(since, answer)
            {
                let why = format!("did not answer a ping within {answer:?}");
                return self.stop_for(i, why, now);
            }
        }
        let mut owes = false;
        for &at in &service.fronts {
            let front = &mut self.fronts[at];
            if front
                .waits_since()
                .is_some_and(|since| is_over(since, HOLD))
            {
                front.refuse();
            }
            owes |= front
                .owes_since()
                .is_some_and(|since| is_over(since, answer));
        }
        if owes {
            let why = format!("did not answer a client's bind within {answer:?}");
            self.stop_for(i, why, now);
        }
    }
}

impl Manager {
    /// Notes the end of a service's process, if it has ended and nobody has noticed yet: its clients are
    /// told, and get, what is true now.
    pub(super) fn notice_end(&mut self, at: usize, now: Duration) {
        if let Supervised::Service(service) = self.supervised(at) {
            self.ended(service, now);
        }
    }

    /// The same of all.
    pub(super) fn notice_ends(&mut self, now: Duration) {
        for service in 0..self.services.len() {
            self.ended(service, now);
        }
    }

    /// Who is at a position.
    pub(super) fn supervised(&self, at: usize) -> Supervised {
        Supervised::at(at, self.services.len())
    }

    /// The ward at a position.
    pub(super) fn ward(&self, at: usize) -> Option<Ward> {
        match self.supervised(at) {
            Supervised::Ward(at) => wards::all().get(at).cloned(),
            Supervised::Service(_) => None,
        }
    }
}

impl Services for Manager {
    fn find(&self, name: &str) -> Option<usize> {
        let ward = || wards::all().iter().position(|w| w.name == name);
        let service = self.services.iter().position(|s| s.name() == name);
        let found = service.map(Supervised::Service);
        let found = found.or_else(|| ward().map(Supervised::Ward));
        found.map(|who| who.position(self.services.len()))
    }

    fn status(&mut self, service: usize) -> (ServiceState, u32, u32, u64, String) {
        let now = time::uptime();
        self.notice_end(service, now);
        if let Some(ward) = self.ward(service) {
            let time = now.saturating_sub(ward.since).as_nanos() as u64;
            return (
                ServiceState::Up,
                ward.process,
                ward.restarts,
                time,
                ward.reason,
            );
        }
        let service = &self.services[service];
        let time = now.saturating_sub(service.since);
        (
            service.state.told(),
            service.process(),
            service.history.restarts(),
            time.as_nanos() as u64,
            service.reason.clone(),
        )
    }

    fn processes(&mut self) -> Vec<ServiceProcess> {
        self.notice_ends(time::uptime());
        let running = self.services.iter().filter(|s| s.child.is_some());
        let services = running.map(|s| ServiceProcess {
            process: s.process(),
            restarts: s.history.restarts(),
        });
        let wards = wards::all().into_iter().map(|ward| ServiceProcess {
            process: ward.process,
            restarts: ward.restarts,
        });
        services.chain(wards).collect()
    }

    fn wish(&mut self, i: usize, wish: Wish) -> Result<(), ServiceRefusal> {
        let now = time::uptime();
        if let Some(ward) = self.ward(i) {
            match wish {
                Wish::Start => return Err(ServiceRefusal::SoAlready),
                Wish::Stop => return Err(ServiceRefusal::Needed),
                Wish::Restart => wards::restart(ward.process),
            }
            return Ok(());
        }
        self.notice_end(i, now);
        let runs = self.services[i].child.is_some();
        match wish {
            Wish::Start if runs => return Err(ServiceRefusal::SoAlready),
            Wish::Stop if self.services[i].state == State::Stopped => {
                return Err(ServiceRefusal::SoAlready);
            }
            Wish::Stop => {
                self.end(i);
                self.services[i].set_reason("stopped on request");
                self.services[i].enter(State::Stopped, now);
                self.pass(i, now);
                if self.services[i].plan.service.dependants == Dependants::Stop {
                    self.stop_dependants(i, now);
                }
                return Ok(());
            }
            Wish::Restart if runs => {
                self.end(i);
                self.services[i].set_reason("restarted on request");
                self.services[i].history.count();
            }
            Wish::Start | Wish::Restart => {}
        }
        self.services[i].history.forget();
        self.start(i, now);
        Ok(())
    }
}
