//! The faults of a single situation, in words.

use super::{Finder, Finding, Kind};
use crate::explore::Taken;
use crate::machine::Node;
use crate::step::Fault;

impl Finder<'_> {
    /// Reports a fault that first comes about in this situation.
    pub(super) fn fault(&mut self, at: u32, fault: Fault) {
        let row = self.exploration.situation(at);
        let run = self.exploration.trace(at);
        let finding = match fault {
            Fault::Breach {
                process,
                node,
                channel,
                state,
                message,
                edge,
            } => self
                .node(process, node)
                .map(|n| self.breach(process, n, edge, (channel, state, message), run)),
            Fault::Unspecified {
                process,
                node,
                channel,
                message,
            } => self
                .node(process, node)
                .map(|n| self.unspecified(process, n, channel, message, run)),
            Fault::Cut {
                process,
                node,
                channel,
            } => self
                .node(process, node)
                .map(|n| self.cut(process, n, channel, &row, run)),
            Fault::Lost {
                channel,
                side,
                message,
            } => {
                let why = "both sides have closed the channel";
                Some(self.unreceived(channel, side, message, &row, run, why))
            }
            Fault::Table { channel, message } => Some(self.table(channel, message, run)),
        };
        if let Some(finding) = finding {
            self.add(at, finding);
        }
    }

    fn breach(
        &self,
        process: usize,
        node: &Node,
        edge: usize,
        (channel, state, message): (usize, u16, u16),
        run: Vec<Taken>,
    ) -> Finding {
        let system = self.system;
        let name = system.message(channel, message);
        let side = self.side_of(process, channel);
        let state = system.state(channel, state);
        let contract = &system.contract(channel).name;
        let end = system.end_name(channel, side);
        let who = self.process(process);
        Finding {
            kind: Kind::Breach,
            message: if state == "closed" {
                format!("{who} sends {name} on {end}, which it has closed")
            } else {
                format!("{who} sends {name} where {contract} does not allow it")
            },
            place: Some((
                node.edges[edge].span,
                format!("sent in state {}", node.name),
            )),
            notes: vec![format!(
                "{end} is in state {state}: {}",
                self.allowed(channel, side, state)
            )],
            help: "the kernel ends a process that does this",
            who: vec![(who.into(), node.name.clone())],
            run,
            last: vec![(process, format!("may not send {name}"))],
        }
    }

    fn unspecified(
        &self,
        process: usize,
        node: &Node,
        channel: usize,
        message: u16,
        run: Vec<Taken>,
    ) -> Finding {
        let name = self.system.message(channel, message);
        let side = self.side_of(process, channel);
        let end = self.system.end_name(channel, side);
        let (who, state) = (self.process(process), &node.name);
        Finding {
            kind: Kind::Unspecified,
            message: format!(
                "{who} can get {name} in state {state}, which it does not expect there"
            ),
            place: Some((node.span, format!("no case for {name} on {end}"))),
            notes: Vec::new(),
            help: "who listens at an endpoint takes whatever the contract lets come there: add the case",
            who: vec![(who.into(), state.clone())],
            run,
            last: vec![(process, format!("has no case for {name}"))],
        }
    }

    fn cut(
        &self,
        process: usize,
        node: &Node,
        channel: usize,
        row: &[u16],
        run: Vec<Taken>,
    ) -> Finding {
        let system = self.system;
        let side = self.side_of(process, channel);
        let end = system.end_name(channel, side);
        let closed = |side| self.rules.is_closed(row, channel, side);
        let several = system
            .machine(process)
            .and_then(|m| m.endpoints.iter().find(|e| e.channels.contains(&channel)))
            .filter(|e| e.channels.len() > 1);
        let who = self.process(process);
        let (end, why, help) = match (several, closed(side), closed(side.peer())) {
            (Some(e), true, _) => (
                format!("{who}.{}", e.name),
                "all of which are closed",
                "add a case for it: `endpoint.AllClosed?`",
            ),
            (_, true, false) => (
                end,
                "which it has closed itself",
                "receive before closing, or stop waiting",
            ),
            (_, true, true) => (end, "which is closed", "say what follows the close"),
            _ => (
                end,
                "which the other side has closed",
                "add a case for it: `endpoint.ChannelClosed?`",
            ),
        };
        Finding {
            kind: Kind::Cut,
            message: format!(
                "{who} waits in state {} for ever at {end}, {why}",
                node.name
            ),
            place: Some((node.span, "nothing comes any more".into())),
            notes: Vec::new(),
            help,
            who: vec![(who.into(), node.name.clone())],
            run,
            last: vec![(process, "waits for ever".into())],
        }
    }

    fn table(&self, channel: usize, message: u16, run: Vec<Taken>) -> Finding {
        let system = self.system;
        let contract = &system.contract(channel).name;
        let name = system.message(channel, message);
        Finding {
            kind: Kind::Unspecified,
            message: format!(
                "{name} of {contract} comes where the contract's table has no place for it"
            ),
            place: None,
            notes: Vec::new(),
            help: "compile the contract anew: its table contradicts itself",
            who: vec![(contract.clone(), String::new())],
            run,
            last: Vec::new(),
        }
    }
}
