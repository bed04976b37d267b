//! A system as it is explored: processes, and the channels between their start-up endpoints.

use crate::machine::Machine;
use crate::view::View;
use sing_contract::Sources;
use sing_image::contract::ContractTable;
use sing_image::manifest::Side;

/// The most processes of a system, and the most channels.
pub const MOST: usize = 4096;

/// Why a system is too large to be looked at, if it is.
#[must_use]
pub(crate) fn too_large(processes: usize, channels: usize) -> Option<String> {
    (processes.max(channels) > MOST)
        .then(|| format!("{processes} processes and {channels} channels; {MOST} of each may be"))
}

/// A system.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Its name in reports.
    pub name: String,
    /// The contracts of its channels.
    pub contracts: Vec<ContractTable>,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Its channels.
    pub channels: Vec<Channel>,
    /// The texts that places lie in.
    pub sources: Sources,
    /// The parts that the check leaves out, in words.
    pub notes: Vec<String>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Its behaviour.
    pub body: Body,
}

/// The behaviour of a process.
#[derive(Clone, Debug)]
pub enum Body {
    /// A declared behaviour.
    Machine(Machine),
    /// Whatever its contracts allow, on each endpoint by itself.
    Any {
        /// Its endpoints: channel and side.
        ends: Vec<(usize, Side)>,
        /// Whether it may close them at any time, not only where nothing else is left.
        closing: bool,
    },
}

/// A channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Index of its contract.
    pub contract: usize,
    /// The holders of its ends, by `Side::index`. An endpoint that was not given to a process that
    /// starts without it has nobody at the other end.
    pub ends: [Option<End>; 2],
}

/// One end of a channel.
#[derive(Clone, Debug)]
pub struct End {
    /// Index of the process.
    pub process: usize,
    /// The name that the process has for it.
    pub name: String,
    /// The operations of the process there, if those are fewer than the channel's contract has.
    pub view: Option<View>,
}

impl System {
    /// The contract of a channel.
    #[must_use]
    pub fn contract(&self, channel: usize) -> &ContractTable {
        &self.contracts[self.channels[channel].contract]
    }

    /// The process at one end.
    #[must_use]
    pub fn holder(&self, channel: usize, side: Side) -> Option<usize> {
        self.channels[channel].ends[side.index()]
            .as_ref()
            .map(|e| e.process)
    }

    /// The state that follows where this side sends a message, and may and can.
    #[must_use]
    pub fn sends(&self, channel: usize, side: Side, state: u16, message: u16) -> Option<u16> {
        let view = self.view(channel, side);
        let can = view.is_none_or(|v| v.sends(state, message));
        let next = self.contract(channel).step(state, message, side);
        next.filter(|_| can)
    }

    /// The operations of an end's holder, if those are fewer than the contract has.
    #[must_use]
    pub fn view(&self, channel: usize, side: Side) -> Option<&View> {
        let end = self.channels[channel].ends[side.index()].as_ref();
        end.and_then(|e| e.view.as_ref())
    }

    /// The name of a message.
    #[must_use]
    pub fn message(&self, channel: usize, message: u16) -> &str {
        let messages = &self.contract(channel).messages;
        messages.get(usize::from(message)).map_or("?", |m| &m.name)
    }

    /// The name of a contract's state.
    #[must_use]
    pub fn state(&self, channel: usize, state: u16) -> &str {
        let states = &self.contract(channel).states;
        states
            .get(usize::from(state))
            .map_or("closed", String::as_str)
    }

    /// `process.endpoint`, and which one where a process has several of that name.
    #[must_use]
    pub fn end_name(&self, channel: usize, side: Side) -> String {
        let Some(end) = &self.channels[channel].ends[side.index()] else {
            return "nobody".into();
        };
        let same: Vec<usize> = (0..self.channels.len())
            .filter(|&c| {
                self.channels[c]
                    .ends
                    .iter()
                    .flatten()
                    .any(|e| e.process == end.process && e.name == end.name)
            })
            .collect();
        let place = same.iter().position(|&c| c == channel);
        let name = format!("{}.{}", self.processes[end.process].name, end.name);
        match place {
            Some(i) if same.len() > 1 => format!("{name}[{i}]"),
            _ => name,
        }
    }

    /// Names of the processes that were assumed to do whatever their contracts allow.
    pub fn assumed(&self) -> impl Iterator<Item = &str> {
        self.processes
            .iter()
            .filter(|p| matches!(p.body, Body::Any { .. }))
            .map(|p| p.name.as_str())
    }

    /// The machine of a process that has one.
    #[must_use]
    pub fn machine(&self, process: usize) -> Option<&Machine> {
        match &self.processes[process].body {
            Body::Machine(machine) => Some(machine),
            Body::Any { .. } => None,
        }
    }
}
