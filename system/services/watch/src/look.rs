//! A look at the system, as it was taken.

use crate::devices::Device;
use crate::figures::MOST_PROCESSES;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::inspect::{Channel, Memory, Process, State, System};

/// A service, as the manager tells of it.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// What it does: `up`, `waiting`.
    pub state: String,
    /// Its process; 0 for none.
    pub process: u32,
    /// How often it was started again.
    pub restarts: u32,
    /// Nanoseconds in this state.
    pub since: u64,
    /// Why it is in it.
    pub reason: String,
}

/// A name of the upper two levels of the name space.
#[derive(Clone, Debug)]
pub struct Name {
    /// Its path.
    pub path: String,
    /// `directory`, `service`, `link`, or `unknown` for a directory that does not answer.
    pub kind: &'static str,
    /// The contract, a link's target, or why the directory does not answer.
    pub detail: String,
}

/// What the web server has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Web {
    /// Connections that are open.
    pub connections: u64,
    /// Connections taken since it has started.
    pub accepted: u64,
    /// Requests since then.
    pub requests: u64,
    /// Those that a program has not answered.
    pub failed: u64,
    /// Spans that a collector has taken, and those that were dropped, if one is named.
    pub spans: Option<(u64, u64)>,
}

impl Web {
    /// Reads what the server says of itself, a name and a value a line.
    #[must_use]
    pub fn read(text: &str) -> Web {
        let of = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let (_, value) = lines.find(|(key, _)| *key == name)?;
            value.split_whitespace().next()?.parse().ok()
        };
        let sent = of("spans-sent");
        let spans = sent.map(|sent| (sent, of("spans-dropped").unwrap_or(0)));
        let of = |name| of(name).unwrap_or(0);
        Web {
            connections: of("connections"),
            accepted: of("accepted"),
            requests: of("requests"),
            failed: of("failed"),
            spans,
        }
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Look {
    /// Milliseconds since 1970.
    pub now: u64,
    /// The machine.
    pub system: System,
    /// Memory, and counts of what there is.
    pub memory: Memory,
    /// All processes, by number.
    pub processes: Vec<Process>,
    /// Channels; none if there are more than are asked for.
    pub channels: Vec<Channel>,
    /// All services.
    pub services: Vec<Service>,
    /// Names of the upper levels.
    pub names: Vec<Name>,
    /// Names that were left out.
    pub names_left: u64,
    /// Nanoseconds since the names were found.
    pub names_age: u64,
    /// Devices of the machine.
    pub devices: Vec<Device>,
}

impl Look {
    /// Gives up what figures do not show: a look is kept for them until there is another.
    pub fn keep_figures(&mut self) {
        self.channels = Vec::new();
        self.names = Vec::new();
        self.devices = Vec::new();
        self.processes.truncate(MOST_PROCESSES);
        self.processes.shrink_to_fit();
    }
}

/// The word for a process's state.
#[must_use]
pub fn word(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::Ready => "ready",
        State::Blocked => "blocked",
        State::Suspended => "suspended",
        State::Ended => "ended",
    }
}
