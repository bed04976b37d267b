//! One service: its process, its state, and the reason for it.

use core::time::Duration;
use manager::lines::Lines;
use manager::{History, How};
use sing_sdk::inspect;
use sing_sdk::plan::{Planned, When};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit, Manifest, stop};

/// The most bytes of a reason that are kept.
const REASON: usize = 200;

/// What a service is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It starts when a client binds it.
    Waiting,
    /// It starts when the services that it uses are up.
    Pending,
    /// It runs, and is not ready for clients yet.
    Starting,
    /// It serves.
    Up,
    /// It starts again at this time.
    Delayed(Duration),
    /// It was stopped on request.
    Stopped,
    /// It is given up.
    Failed,
    /// It has ended, and stays so.
    Ended,
}

impl State {
    /// The same for clients.
    pub fn told(self) -> ServiceState {
        match self {
            State::Waiting => ServiceState::Waiting,
            State::Pending => ServiceState::Pending,
            State::Starting => ServiceState::Starting,
            State::Up => ServiceState::Up,
            State::Delayed(_) => ServiceState::Delayed,
            State::Stopped => ServiceState::Stopped,
            State::Failed => ServiceState::Failed,
            State::Ended => ServiceState::Ended,
        }
    }

    /// The same in a word.
    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Pending => "pending",
            State::Starting => "starting",
            State::Up => "up",
            State::Delayed(_) => "delayed",
            State::Stopped => "stopped",
            State::Failed => "failed",
            State::Ended => "ended",
        }
    }
}

/// The questions after a service's health.
pub enum Probe {
    /// It is not asked.
    None,
    /// It is asked next at this time.
    Idle(HealthContract::Imp<HealthContract::Start>, Duration),
    /// It was asked at this time.
    Asked(HealthContract::Imp<HealthContract::Asked>, Duration),
}

/// A service.
pub struct Service {
    /// Its policy and what it serves.
    pub plan: Planned,
    /// Its places in the name space.
    pub fronts: Vec<usize>,
    pub state: State,
    /// Since when it is in this state.
    pub since: Duration,
    pub history: History,
    pub child: Option<Child>,
    /// The devices that it drives, by their indexes, one for each that its manifest declares; the
    /// same ones whenever it starts.
    pub devices: Vec<Option<u32>>,
    pub probe: Probe,
    /// Why it ended last, or does not start.
    pub reason: String,
    /// Why the manager has stopped it, until its end is noted.
    pub stopped_for: Option<String>,
    /// Since when one of its endpoints is closed though it should not be, and which.
    pub broken: Option<(Duration, &'static str)>,
    /// Its lines in the log.
    lines: Lines,
}

impl Service {
    pub fn new(plan: Planned) -> Service {
        let state = match plan.service.start {
            When::Boot => State::Pending,
            When::Demand => State::Waiting,
        };
        Service {
            plan,
            fronts: Vec::new(),
            state,
            since: Duration::ZERO,
            history: History::default(),
            child: None,
            devices: Vec::new(),
            probe: Probe::None,
            reason: String::new(),
            stopped_for: None,
            broken: None,
            lines: Lines::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.plan.service.name
    }

    /// Its process, 0 if there is none.
    pub fn process(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    pub fn enter(&mut self, state: State, now: Duration) {
        self.state = state;
        self.since = now;
    }

    /// Whether it will serve a client that waits.
    pub fn may_serve(&self) -> bool {
        !matches!(self.state, State::Stopped | State::Failed | State::Ended)
    }

    pub fn set_reason(&mut self, reason: &str) {
        let end = (0..=REASON.min(reason.len()))
            .rev()
            .find(|i| reason.is_char_boundary(*i));
        self.reason.clear();
        self.reason.push_str(&reason[..end.unwrap_or(0)]);
    }

    /// Makes its process, with endpoints that the caller connects: one for each front, given by
    /// `connect`, and the far end of a probe.
    pub fn make(
        &self,
        manifest: &Manifest,
        names: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
        health: Option<HealthContract::Exp<HealthContract::Start>>,
        served: Vec<(&str, NamespaceContract::Exp<NamespaceContract::Start>)>,
    ) -> Result<Child, String> {
        let policy = &self.plan.service;
        let mut child = Child::of(&policy.image)
            .args(&policy.args)
            .manifest(manifest);
        if let Some(names) = names {
            child = child.endpoint(sing_sdk::plan::NAMES, names);
        }
        if let Some(health) = health {
            child = child.endpoint(sing_sdk::plan::HEALTH.0, health);
        }
        for (name, end) in served {
            child = child.endpoint(name, end);
        }
        let child = child.create().map_err(|e| e.to_string())?;
        for (usage, device) in (0..).zip(&self.devices) {
            if let Some(device) = device {
                let given = child.give_device(usage, *device);
                given.map_err(|e| format!("its device: {e}"))?;
            }
        }
        child.start().map_err(|e| e.to_string())?;
        Ok(child)
    }

    /// Puts a line into the log, unless it had one a moment ago: a service that ends again and
    /// again does not fill it.
    pub fn log(&mut self, now: Duration, text: &str) {
        if let Some(before) = self.lines.next(now) {
            sing_sdk::log!("{}: {text}{before}", self.name());
        }
    }

    /// Puts a line into the log that does not come again: what it says needs a person.
    pub fn log_at_once(&mut self, now: Duration, text: &str) {
        let before = self.lines.at_once(now);
        sing_sdk::log!("{}: {text}{before}", self.name());
    }
}

/// How a process ended, for the policy and in words.
pub fn how(exit: Exit, id: u32) -> (How, String) {
    match exit {
        Exit::Code(0) => (How::Clean, "exit 0".into()),
        Exit::Stopped(stop::KILLED) => (How::Failed, "killed".into()),
        // The kernel keeps the first lines of the last reports.
        Exit::Trapped(_) => {
            let report = inspect::crashes().unwrap_or_default();
            let report = report.into_iter().rev().find(|crash| crash.id == id);
            let text = report.map_or_else(|| exit.to_string(), |crash| crash.text);
            (How::Failed, format!("crash: {text}"))
        }
        other => (How::Failed, other.to_string()),
    }
}
