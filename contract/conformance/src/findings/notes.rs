//! The parts of a behaviour that are never reached: no fault, but worth knowing.

use crate::explore::Exploration;
use crate::machine::{Act, What};
use crate::system::System;
use sing_contract::behavior::{ALL_CLOSED, CHANNEL_CLOSED};

/// The parts of a behaviour that are never reached.
pub(super) fn notes(exploration: &Exploration<'_>) -> Vec<String> {
    let system = exploration.system;
    let mut notes = system.notes.clone();
    for (p, process) in system.processes.iter().enumerate() {
        if let Some(machine) = system.machine(p)
            && exploration.was_left_open(p)
        {
            let names: Vec<&str> = machine
                .endpoints
                .iter()
                .filter(|e| e.channels.len() > 1)
                .map(|e| e.name.as_str())
                .collect();
            notes.push(format!(
                "{} does not say whether it serves {} one after the other (`serial state`) or all at once \
                 (`parallel state`): both were looked at, at each wait",
                process.name,
                names.join(" and ")
            ));
        }
        let Some(machine) = system.machine(p).filter(|_| exploration.complete) else {
            continue;
        };
        for (n, node) in machine.nodes.iter().enumerate() {
            let untaken = |e: &usize| !exploration.was_taken(p, n, *e);
            // If nothing of a node is reached, the step that leads to it has been named.
            if (0..node.edges.len()).all(|e| untaken(&e)) {
                continue;
            }
            // To be ready for a close that does not come is no oversight.
            let acts = (0..node.edges.len())
                .filter(untaken)
                .map(|e| &node.edges[e].act)
                .filter(|act| !is_precaution(act));
            let acts: Vec<String> = acts.map(|a| self::act(system, p, a)).collect();
            if !acts.is_empty() {
                let (process, state, acts) = (&process.name, &node.name, acts.join(", "));
                notes.push(format!("{process} in state {state} never comes to {acts}"));
            }
        }
    }
    notes
}

/// Whether an act is about nothing but closed channels.
fn is_precaution(act: &Act) -> bool {
    match act {
        Act::Receive(parts) => parts.iter().all(|p| !matches!(p.what, What::Message(_))),
        _ => false,
    }
}

/// An act of a behaviour, as it is written.
fn act(system: &System, process: usize, act: &Act) -> String {
    let Some(machine) = system.machine(process) else {
        return String::new();
    };
    let endpoint = |i: usize| &machine.endpoints[i];
    let message = |i: usize, m: u16| {
        let messages = &system.contracts[endpoint(i).contract].messages;
        messages[usize::from(m)].name.clone()
    };
    match act {
        Act::Send {
            endpoint: i,
            message: m,
            all,
        } => {
            let all = if *all { "all " } else { "" };
            format!("`{all}{}.{}!`", endpoint(*i).name, message(*i, *m))
        }
        Act::Receive(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|p| {
                    let what = match p.what {
                        What::Message(m) => message(p.endpoint, m),
                        What::Closed => CHANNEL_CLOSED.into(),
                        What::AllClosed => ALL_CLOSED.into(),
                    };
                    format!("{}.{what}?", endpoint(p.endpoint).name)
                })
                .collect();
            format!("`{}`", parts.join(" && "))
        }
        Act::Close(i) => format!("`close {}`", endpoint(*i).name),
        Act::Skip => "what follows `skip`".into(),
    }
}
