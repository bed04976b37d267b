//! How many messages can be under way to each side ([O] 4.1): what makes a send never wait.
//!
//! Each side steps its own copy of the state machine: the sender when it sends, the receiver when
//! it receives. Where in every state only one side may send, the other side can only wait there, so
//! at any moment only one direction has messages under way, and the most there can be is the
//! longest run of sends by one side. That is exact, and cheap to compute.
//!
//! In a state where both may send, the two copies can part ways. Such a contract is explored state
//! by state with the messages under way (`explore`): it is accepted where every message that can
//! arrive is expected where it arrives, none arrives after the end, the two sides never wait for
//! each other, and the queues stay short.

use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Side, Transition};
use sing_image::contract::MAX_QUEUE;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The most situations that are looked at before giving up.
const MAX_SITUATIONS: usize = if cfg!(test) { 1_500 } else { 40_000 };

/// The different states (by `Side::index`) in which the two sides can be while nothing is under
/// way. None if one side sends at a time: then they are in the same state.
pub(crate) type Apart = BTreeSet<[usize; 2]>;

/// The queue lengths (by `Side::index` of the receiver), and where the sides can be apart. `left`
/// is how many steps may still be explored; an error without a report says that this was too few.
pub(crate) fn queues(
    contract: &Contract,
    left: &mut usize,
) -> Result<([u16; 2], Apart), Option<Box<Diagnostic>>> {
    let reachable = contract.reachable();
    let to_exp = longest_run(contract, &reachable, Side::Imp)?;
    let to_imp = longest_run(contract, &reachable, Side::Exp)?;
    match mixed(contract, &reachable) {
        None => {
            for (length, side) in [(to_imp, Side::Imp), (to_exp, Side::Exp)] {
                if length > usize::from(MAX_QUEUE) {
                    return Err(Some(too_long(contract, length, side)));
                }
            }
            Ok(([to_imp as u16, to_exp as u16], Apart::new()))
        }
        Some(state) => match explore(contract, left) {
            Ok(explored) => Ok((explored.longest, explored.apart)),
            Err(Some(problem)) => Err(Some(Box::new(problem.report(contract, state)))),
            Err(None) => Err(None),
        },
    }
}

/// A state in which both sides may send.
fn mixed(contract: &Contract, reachable: &[bool]) -> Option<usize> {
    (0..contract.states.len()).find(|&s| reachable[s] && contract.states[s].is_mixed())
}

fn too_long(contract: &Contract, length: usize, receiver: Side) -> Box<Diagnostic> {
    let text = format!(
        "up to {length} messages of contract {} can be under way to the {} side",
        contract.name,
        side_name(receiver)
    );
    let label = format!("at most {MAX_QUEUE} may be");
    Box::new(
        Diagnostic::error(text, contract.span, label)
            .help("let the receiver answer in between: a message the other way empties the queue"),
    )
}

/// `importing` or `exporting`.
pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Imp => "importing",
        Side::Exp => "exporting",
    }
}

/// The longest run of sends by `sender`, or the cycle that has no end.
fn longest_run(
    contract: &Contract,
    reachable: &[bool],
    sender: Side,
) -> Result<usize, Box<Diagnostic>> {
    // Depth first, with a stack of our own: a state's run is known when those after it are.
    let mut run: Vec<Option<usize>> = vec![None; contract.states.len()];
    let mut open = vec![false; contract.states.len()];
    let mut longest = 0;
    for root in (0..contract.states.len()).filter(|&s| reachable[s]) {
        let mut path: Vec<(usize, Vec<&Transition>, Option<&Transition>)> = Vec::new();
        let enter = |s: usize| contract.states[s].sends(sender).collect::<Vec<_>>();
        if run[root].is_none() {
            open[root] = true;
            path.push((root, enter(root), None));
        }
        while let Some((state, todo, _)) = path.last_mut() {
            let state = *state;
            if let Some(t) = todo.pop() {
                if open[t.target] {
                    let from = path.iter().position(|p| p.0 == t.target).unwrap_or(0);
                    let cycle: Vec<&Transition> = path[from + 1..]
                        .iter()
                        .filter_map(|p| p.2)
                        .chain([t])
                        .collect();
                    return Err(Box::new(unbounded(contract, sender, t.target, &cycle)));
                }
                if run[t.target].is_none() {
                    open[t.target] = true;
                    path.push((t.target, enter(t.target), Some(t)));
                }
            } else {
                let own = contract.states[state]
                    .sends(sender)
                    .map(|t| run[t.target].unwrap_or(0) + 1)
                    .max()
                    .unwrap_or(0);
                run[state] = Some(own);
                open[state] = false;
                longest = longest.max(own);
                path.pop();
            }
        }
    }
    Ok(longest)
}

fn unbounded(contract: &Contract, sender: Side, start: usize, cycle: &[&Transition]) -> Diagnostic {
    let mut error = Diagnostic::error(
        format!("contract {} has no finite queue", contract.name),
        cycle[0].span,
        format!(
            "the {} side may send this again and again",
            side_name(sender)
        ),
    );
    let mut text = contract.states[start].name.clone();
    for (i, t) in cycle.iter().enumerate() {
        if i > 0 && i < 8 {
            error = error.label(t.span, "then this");
        }
        let sign = if sender == Side::Imp { '?' } else { '!' };
        text += &format!(
            " -> {}{sign} -> {}",
            contract.messages[t.message].name, contract.states[t.target].name
        );
    }
    error
        .note(format!("the cycle: {text}"))
        .note(format!(
            "nothing in it lets the {} side wait for the other",
            side_name(sender)
        ))
        .help("let the receiver answer in each round: a message the other way bounds the queue")
}

/// An action of a side: whether it receives, the side, the message.
type Act = (bool, Side, u16);

/// Two states and what is under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Situation {
    /// State of each side, by `Side::index`.
    at: [usize; 2],
    /// Messages under way to each side, by `Side::index`.
    queues: [Vec<u16>; 2],
}

/// Why a contract with mixed states is refused.
#[derive(Debug)]
enum Reason {
    /// A side can receive here, but not this message.
    Unexpected {
        side: Side,
        message: u16,
        state: usize,
    },
    /// A message arrives where the side has come to the end.
    Orphan {
        side: Side,
        message: u16,
        state: usize,
    },
    /// Both wait, nothing is under way.
    Deadlock { at: [usize; 2] },
    /// A queue becomes too long.
    TooLong { side: Side },
    /// Too many situations to look at.
    GaveUp,
}

/// A reason with the steps that lead there.
#[derive(Debug)]
struct Problem {
    reason: Reason,
    steps: Vec<Act>,
}

impl Problem {
    fn report(&self, contract: &Contract, mixed: usize) -> Diagnostic {
        let state = &contract.states[mixed];
        let first = |side| state.sends(side).next().map_or(state.span, |t| t.span);
        let error = Diagnostic::error(
            format!("both sides may send in state {}", state.name),
            first(Side::Imp),
            "the importing side may send this",
        )
        .label(
            first(Side::Exp),
            "and the exporting side this, at the same time",
        );
        let error = match &self.reason {
            Reason::Unexpected { side, message, state } => error.note(format!(
                "the {} side can get {} in state {}, where the contract does not expect it",
                side_name(*side),
                contract.messages[usize::from(*message)].name,
                contract.states[*state].name
            )),
            Reason::Orphan { side, message, state } => error.note(format!(
                "the {} side can be left with {} in state {}, where nothing is received any more",
                side_name(*side),
                contract.messages[usize::from(*message)].name,
                contract.states[*state].name
            )),
            Reason::Deadlock { at } => error.note(format!(
                "the sides can end up waiting for each other, the importing one in state {}, the exporting one in {}",
                contract.states[at[0]].name, contract.states[at[1]].name
            )),
            Reason::TooLong { side } => error.note(format!(
                "more than {MAX_QUEUE} messages can be under way to the {} side",
                side_name(*side)
            )),
            Reason::GaveUp => error.note(format!(
                "after {MAX_SITUATIONS} situations it could not be shown that this does no harm"
            )),
        };
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|&(receive, side, message)| {
                let verb = if receive { "receives" } else { "sends" };
                format!(
                    "{} {verb} {}",
                    side.name(),
                    contract.messages[usize::from(message)].name
                )
            })
            .collect();
        let error = if steps.is_empty() || steps.len() > 24 {
            error
        } else {
            error.note(format!("so: {}", steps.join(", ")))
        };
        error.help(
            "let one side send at a time, or say in each state after it what may still arrive",
        )
    }
}

/// The result of exploring every situation.
#[derive(Debug)]
struct Explored {
    /// The most messages that can be under way to each side.
    longest: [u16; 2],
    apart: Apart,
}

/// Looks at every situation that can come about, in no more than `left` steps.
fn explore(contract: &Contract, left: &mut usize) -> Result<Explored, Option<Problem>> {
    let start = Situation {
        at: [0, 0],
        queues: [Vec::new(), Vec::new()],
    };
    let mut from: Vec<Option<(usize, Act)>> = vec![None];
    let mut seen: HashMap<Situation, usize> = HashMap::from([(start.clone(), 0)]);
    let mut todo = VecDeque::from([start]);
    let mut longest = [0u16; 2];
    let mut apart = Apart::new();
    let trace = |from: &[Option<(usize, Act)>], mut i: usize| {
        let mut steps = Vec::new();
        while let Some((before, step)) = from[i] {
            steps.push(step);
            i = before;
        }
        steps.reverse();
        steps
    };
    while let Some(now) = todo.pop_front() {
        let index = seen[&now];
        let fail = |reason| {
            Err(Some(Problem {
                reason,
                steps: trace(&from, index),
            }))
        };
        let mut next: Vec<(Act, Situation)> = Vec::new();
        if now.at[0] != now.at[1] && now.queues.iter().all(Vec::is_empty) {
            apart.insert(now.at);
        }
        let mut can_send = false;
        let mut waits = false;
        for side in [Side::Imp, Side::Exp] {
            let (me, peer) = (side.index(), side.peer().index());
            let state = &contract.states[now.at[me]];
            for t in state.sends(side) {
                can_send = true;
                let mut after = now.clone();
                after.at[me] = t.target;
                after.queues[peer].push(t.message as u16);
                if after.queues[peer].len() > usize::from(MAX_QUEUE) {
                    return fail(Reason::TooLong { side: side.peer() });
                }
                next.push(((false, side, t.message as u16), after));
            }
            if state.transitions.is_empty()
                && let Some(&message) = now.queues[me].first()
            {
                return fail(Reason::Orphan {
                    side,
                    message,
                    state: now.at[me],
                });
            }
            if state.receives(side).next().is_none() {
                continue;
            }
            waits = true;
            if let Some(&message) = now.queues[me].first() {
                let t = state
                    .receives(side)
                    .find(|t| t.message == usize::from(message));
                let Some(t) = t else {
                    return fail(Reason::Unexpected {
                        side,
                        message,
                        state: now.at[me],
                    });
                };
                let mut after = now.clone();
                after.at[me] = t.target;
                after.queues[me].remove(0);
                next.push(((true, side, message), after));
            }
        }
        if waits && !can_send && next.is_empty() {
            return fail(Reason::Deadlock { at: now.at });
        }
        *left = left.checked_sub(next.len().max(1)).ok_or(None)?;
        for (step, after) in next {
            for (longest, queue) in longest.iter_mut().zip(&after.queues) {
                *longest = (*longest).max(queue.len() as u16);
            }
            if seen.contains_key(&after) {
                continue;
            }
            if seen.len() >= MAX_SITUATIONS {
                return Err(Some(Problem {
                    reason: Reason::GaveUp,
                    steps: Vec::new(),
                }));
            }
            from.push(Some((index, step)));
            seen.insert(after.clone(), from.len() - 1);
            todo.push_back(after);
        }
    }
    Ok(Explored { longest, apart })
}

#[cfg(test)]
mod tests;
