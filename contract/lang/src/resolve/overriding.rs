//! The changes that a derived contract may make: exactly those that keep each side's expectations
//! true.
//!
//! Whoever holds an endpoint knows perhaps only the base B of its contract D. An endpoint of D in a
//! state that both have by name may stand for one of B's there, if no conversation of its holder as
//! one of B can go wrong: walking both machines together from that state on,
//!
//! - every message that B lets this side send can be sent in D too,
//! - every message that the peer may send in D is announced in B, and
//! - where B announces something, the peer may send something in D too: else the holder waits for
//!   ever for a peer that waits for what B does not know (where both sides of D may send and so
//!   come to different states, wherever the peer can be by then);
//! - where nothing is left to say in B, the walk ends: such a holder can only close. To begin
//!   there, though, nothing may come from the peer in D either, for nobody would receive it;
//! - and before this side sends anything, no endpoint may come in D but with messages that may come
//!   so in B, ended or not. While an endpoint travels as one of B, what comes lies in its queue,
//!   and which endpoints that can be must be known from B alone (`transfer`).
//!
//! A contract in which a state that both have by name keeps neither side's expectations is refused:
//! it is no B in any sense. Where one side's are kept, only that side's endpoints stand for those
//! of B there.

use super::limits::{self, Budget};
use super::transfer;
use crate::bounds::{Apart, side_name as name};
use crate::diagnostic::Diagnostic;
use crate::lower;
use crate::model::{Base, Contract, Model, Side, Transition};
use sing_image::contract::NONE;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The most pairs of states that one comparison looks at. All that hold are kept, by the kernel
/// too.
const MAX_PAIRS: usize = 1 << 14;
/// The most that are looked at for a whole text, those included to which a base in between leads.
const MAX_WORK: usize = 1 << 22;

/// Pairs of states of a derived contract and of a base, ascending.
type Pairs = Vec<(usize, usize)>;

/// Fills in for every contract where its endpoints stand for those of its bases.
pub(super) fn resolve(
    model: &mut Model,
    apart: &[Apart],
    budget: &mut Budget,
    found: &mut Vec<Diagnostic>,
) {
    // Bases come first: what stands for one of them stands for what that stands for.
    let mut order: Vec<usize> = (0..model.contracts.len()).collect();
    order.sort_by_key(|&i| model.contracts[i].bases.len());
    let mut work = MAX_WORK;
    let mut reports = Vec::new();
    'all: for i in order {
        let derived = &model.contracts[i];
        let mut bases = derived.bases.clone();
        for distance in 0..bases.len() {
            let name = bases[distance].name.clone();
            let Some(base) = model.contract(&name) else {
                continue;
            };
            let compared = Comparison::new(base, derived, apart.get(i), model);
            let walked = [Side::Imp, Side::Exp].map(|side| {
                let through = through(model, &bases[..distance], base, side, &mut work)?;
                compared.walk(side, through, &mut work, &mut budget.followed)
            });
            if budget.followed == 0 {
                reports.push((i, *limits::too_many_followed(derived.span)));
                break 'all;
            }
            let [Some(imp), Some(exp)] = walked else {
                reports.push((i, gave_up(derived, &name)));
                break 'all;
            };
            let walks = [imp, exp];
            if distance == 0 {
                // With respect to bases further away it was said there, or follows from it.
                let mut errors = Vec::new();
                compared.report(&walks, &mut errors);
                reports.extend(errors.into_iter().map(|error| (i, error)));
            }
            bases[distance].stands = [0, 1].map(|side| compared.kept(&walks[side].broken));
            bases[distance].pairs = walks.map(|walk| walk.pairs);
        }
        model.contracts[i].bases = bases;
    }
    // In order of the text.
    reports.sort_by_key(|&(i, _)| i);
    found.extend(reports.into_iter().map(|(_, report)| report));
}

/// The pairs that one comes to by standing for a nearer base first, and as one of that for `base`.
/// `None` where they are too many.
fn through(
    model: &Model,
    nearer: &[Base],
    base: &Contract,
    side: Side,
    work: &mut usize,
) -> Option<BTreeSet<(usize, usize)>> {
    let mut all = BTreeSet::new();
    for between in nearer {
        let further = model.contract(&between.name)?;
        let further = further.bases.iter().find(|b| b.name == base.name)?;
        let further = &further.pairs[side.index()];
        for &(derived, state) in &between.pairs[side.index()] {
            let first = further.partition_point(|pair| pair.0 < state);
            let there = further[first..].iter().take_while(|pair| pair.0 == state);
            for &(_, to) in there {
                *work = work.checked_sub(1)?;
                all.insert((to, derived));
            }
        }
    }
    Some(all)
}

fn gave_up(derived: &Contract, base: &str) -> Diagnostic {
    Diagnostic::error(
        format!(
            "contracts {} and {base} are too large to compare",
            derived.name
        ),
        derived.span,
        "among all pairs of their states no end was in sight",
    )
    .help("override fewer states, or derive from a smaller contract")
}

/// The reason for which an expectation is broken.
#[derive(Clone, Copy)]
struct Reason<'a> {
    /// The states in which it does, of the base and the derived contract.
    at: (usize, usize),
    /// The message that only one of the two contracts allows.
    said: &'a Transition,
    wrong: Wrong,
}

/// In what way that breaks it.
#[derive(Clone, Copy)]
enum Wrong {
    /// This side may send it in the base, and not in the derived contract.
    Missing,
    /// The peer may send it in the derived contract, and the base does not announce it.
    Unannounced,
    /// The base announces it, and in the derived contract the peer sends nothing at all.
    Silent,
    /// The base announces it, and in the derived contract the peer can be in this state, where it
    /// sends nothing at all.
    Apart(usize),
}

/// How the expectations of a side in a state are broken.
struct Broken<'a> {
    /// The messages that lead there.
    path: Vec<&'a Transition>,
    reason: Reason<'a>,
}

/// How a side's expectations fare.
struct Walk<'a> {
    /// For each shared state, what breaks them there.
    broken: Vec<Option<Broken<'a>>>,
    /// The pairs of states, of all that are reached, in which expectations are kept.
    pairs: Pairs,
}

/// A derived contract beside one that it derives from.
struct Comparison<'a> {
    base: &'a Contract,
    derived: &'a Contract,
    base_steps: Vec<u16>,
    derived_steps: Vec<u16>,
    /// The states that both have by name.
    shared: Vec<(usize, usize)>,
    /// For each message of the derived contract, whether an endpoint comes with it.
    brings: Vec<bool>,
    /// By side, the states of the derived contract in which it can be while its peer is in another
    /// one that lets the peer send nothing, and nothing is under way.
    alone: [HashMap<usize, usize>; 2],
}

/// A pair of states that a walk has come to.
struct Pair<'a> {
    at: (usize, usize),
    /// The pairs from which one comes here, and by what.
    before: Vec<(usize, &'a Transition)>,
    /// The fault of this very pair.
    wrong: Option<Reason<'a>>,
    /// The fault for a conversation that begins here; one that has come here is right.
    wrong_at_first: Option<Reason<'a>>,
}

impl Pair<'_> {
    fn new(at: (usize, usize)) -> Self {
        Pair {
            at,
            before: Vec::new(),
            wrong: None,
            wrong_at_first: None,
        }
    }
}

impl<'a> Comparison<'a> {
    fn new(
        base: &'a Contract,
        derived: &'a Contract,
        apart: Option<&Apart>,
        model: &Model,
    ) -> Self {
        let alone = [Side::Imp, Side::Exp].map(|side| {
            let peer = side.peer();
            let met = apart.into_iter().flatten();
            let met = met.map(|at| (at[side.index()], at[peer.index()]));
            met.filter(|&(_, at)| derived.states[at].sends(peer).next().is_none())
                .collect()
        });
        let named = base.states.iter().enumerate().filter(|(_, s)| s.is_named());
        let places: HashMap<&str, usize> = named.map(|(i, s)| (s.name.as_str(), i)).collect();
        let states = derived.states.iter().enumerate();
        let messages = derived.messages.iter();
        Comparison {
            brings: messages
                .map(|m| !transfer::endpoints(&m.arguments, model).is_empty())
                .collect(),
            base,
            derived,
            base_steps: lower::steps(base),
            derived_steps: lower::steps(derived),
            shared: states
                .filter_map(|(i, s)| Some((*places.get(s.name.as_str())?, i)))
                .collect(),
            alone,
        }
    }

    /// Why who waits here could wait for ever: it needs a peer that can go on by itself.
    fn unheard(&self, side: Side, at: (usize, usize)) -> Option<(&'a Transition, Wrong)> {
        let (ours, theirs) = (&self.base.states[at.0], &self.derived.states[at.1]);
        let awaited = ours.receives(side).next()?;
        if theirs.receives(side).next().is_none() {
            return Some((awaited, Wrong::Silent));
        }
        // A side that can send is not stuck.
        let stuck = ours.sends(side).next().is_none();
        let peer = self.alone[side.index()].get(&at.1).filter(|_| stuck)?;
        Some((awaited, Wrong::Apart(*peer)))
    }

    /// The shared states, of the derived contract, in which nothing is broken.
    fn kept(&self, broken: &[Option<Broken<'_>>]) -> Vec<usize> {
        let all = self.shared.iter().zip(broken);
        all.filter(|(_, b)| b.is_none())
            .map(|(at, _)| at.1)
            .collect()
    }

    /// The state that follows in the base; its messages have the same indices in all that derives
    /// from it.
    fn base_step(&self, state: usize, t: &Transition) -> Option<usize> {
        let count = self.base.messages.len();
        (t.message < count).then_some(())?;
        target(&self.base_steps, count, state, t)
    }

    fn derived_step(&self, state: usize, t: &Transition) -> Option<usize> {
        target(&self.derived_steps, self.derived.messages.len(), state, t)
    }

    /// An endpoint that may come in the derived contract to who begins in a shared state and says
    /// nothing, and that may not come so in the base.
    fn unannounced(
        &self,
        side: Side,
        from: (usize, usize),
        left: &mut usize,
    ) -> Option<Reason<'a>> {
        if !self.brings.contains(&true) {
            return None;
        }
        let announced = transfer::coming(self.base, side, from.0, left);
        let mut seen = vec![false; self.derived.states.len()];
        let mut todo = VecDeque::from([from.1]);
        while let Some(state) = todo.pop_front() {
            if std::mem::replace(&mut seen[state], true) {
                continue;
            }
            for said in self.derived.states[state].receives(side) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    return None; // reported by who looks at what is left
                }
                if self.brings[said.message] && !announced.contains(&said.message) {
                    let at = (from.0, state);
                    let wrong = Wrong::Unannounced;
                    return Some(Reason { at, said, wrong });
                }
                todo.push_back(said.target);
            }
        }
        None
    }

    /// Walks from the shared states on, and from further pairs. `None` where the walk has no end in
    /// sight.
    fn walk(
        &self,
        side: Side,
        further: BTreeSet<(usize, usize)>,
        work: &mut usize,
        followed: &mut usize,
    ) -> Option<Walk<'a>> {
        let mut pairs: Vec<Pair<'a>> = Vec::new();
        let mut index: HashMap<(usize, usize), usize> = HashMap::new();
        for &at in &self.shared {
            index.insert(at, pairs.len());
            let mut pair = Pair::new(at);
            pair.wrong_at_first = self.unannounced(side, at, followed);
            pairs.push(pair);
        }
        for at in further {
            index.entry(at).or_insert_with(|| {
                pairs.push(Pair::new(at));
                pairs.len() - 1
            });
        }
        let mut next = 0;
        while next < pairs.len() {
            *work = work.checked_sub(1)?;
            let at = pairs[next].at;
            let (ours, theirs) = (&self.base.states[at.0], &self.derived.states[at.1]);
            let sends = ours.sends(side).map(|t| (t, Wrong::Missing));
            let mut comes = theirs.receives(side).map(|t| (t, Wrong::Unannounced));
            if ours.transitions.is_empty() {
                // Nothing may come to who begins here; who has come here can close.
                let first = comes.next();
                if let Some((said, wrong)) = first {
                    pairs[next].wrong_at_first = Some(Reason { at, said, wrong });
                }
                next += 1;
                continue;
            }
            for (said, wrong) in sends.chain(comes).chain(self.unheard(side, at)) {
                let after = match wrong {
                    Wrong::Missing => self.derived_step(at.1, said).map(|to| (said.target, to)),
                    Wrong::Unannounced => self.base_step(at.0, said).map(|to| (to, said.target)),
                    Wrong::Silent | Wrong::Apart(_) => None,
                };
                let Some(after) = after else {
                    pairs[next].wrong = Some(Reason { at, said, wrong });
                    break;
                };
                let after = *index.entry(after).or_insert_with(|| {
                    pairs.push(Pair::new(after));
                    pairs.len() - 1
                });
                pairs[after].before.push((next, said));
            }
            if pairs.len() > MAX_PAIRS {
                return None;
            }
            next += 1;
        }
        let mut walk = self.explain(&pairs);
        // As one of B the endpoint can travel in each of these states, also where B has nothing
        // left to say: who has come there with it can send it on.
        if self.brings.contains(&true) {
            let cost = walk.pairs.len() * self.derived.states.len();
            *work = work.checked_sub(cost)?;
            walk.pairs
                .retain(|&(own, of)| self.unannounced(side, (of, own), followed).is_none());
        }
        Some(walk)
    }

    /// From where one comes to something wrong, and how, by a shortest way.
    fn explain(&self, pairs: &[Pair<'a>]) -> Walk<'a> {
        let mut way: Vec<Option<(usize, &'a Transition)>> = vec![None; pairs.len()];
        let mut seen: Vec<bool> = pairs.iter().map(|p| p.wrong.is_some()).collect();
        let mut todo: VecDeque<usize> = (0..pairs.len()).filter(|&i| seen[i]).collect();
        while let Some(i) = todo.pop_front() {
            for &(before, said) in &pairs[i].before {
                if !std::mem::replace(&mut seen[before], true) {
                    way[before] = Some((i, said));
                    todo.push_back(before);
                }
            }
        }
        let broken = |mut i: usize| {
            let mut path = Vec::new();
            while let Some((after, said)) = way[i] {
                path.push(said);
                i = after;
            }
            let at_first = pairs[i].wrong_at_first.filter(|_| path.is_empty());
            let reason = pairs[i].wrong.or(at_first)?;
            Some(Broken { path, reason })
        };
        let kept = pairs.iter().zip(&seen).filter(|(_, seen)| !**seen);
        let mut kept: Pairs = kept.map(|(p, _)| (p.at.1, p.at.0)).collect();
        kept.sort_unstable();
        Walk {
            broken: (0..self.shared.len()).map(broken).collect(),
            pairs: kept,
        }
    }

    /// Refuses the states in which neither side's expectations are kept.
    fn report(&self, walks: &[Walk<'_>; 2], found: &mut Vec<Diagnostic>) {
        let [imp, exp] = walks;
        let both = self.shared.iter().zip(imp.broken.iter().zip(&exp.broken));
        let broken: Vec<_> = both
            .filter_map(|(at, (imp, exp))| Some((at, imp.as_ref()?, exp.as_ref()?)))
            .collect();
        let inherited =
            |b: usize, d: usize| self.base.states[b].span == self.derived.states[d].span;
        let overridden = broken.iter().any(|(at, ..)| !inherited(at.0, at.1));
        for (&(b, d), imp, exp) in broken {
            let (base, derived) = (&self.base.name, &self.derived.name);
            let new = &self.derived.states[d];
            // An inherited state can come to mean something else by what follows it.
            let (place, label) = match (inherited(b, d), overridden) {
                (false, _) => (new.span, "overridden here"),
                (true, false) => (self.derived.span, "by what this contract overrides"),
                (true, true) => continue,
            };
            let mut error = Diagnostic::error(
                format!(
                    "state {} of contract {derived} keeps neither side's expectations of {base}",
                    new.name
                ),
                place,
                label,
            );
            for (side, broken) in [(Side::Imp, imp), (Side::Exp, exp)] {
                error = self.explained(error, side, broken);
            }
            found.push(error.help(format!(
                "keep them for one side: let it send here whatever {base} lets it send, receive something where \
                 {base} announces something, and nothing that {base} does not announce; or declare a state of \
                 another name"
            )));
        }
    }

    fn explained(&self, error: Diagnostic, side: Side, broken: &Broken<'_>) -> Diagnostic {
        let Reason { at, said, wrong } = broken.reason;
        let message = |t: &Transition| {
            let sign = if t.sender == Side::Imp { '?' } else { '!' };
            format!("{}{sign}", self.derived.messages[t.message].name)
        };
        let (base, derived) = (&self.base.name, &self.derived.name);
        let (old, new) = (
            &self.base.states[at.0].name,
            &self.derived.states[at.1].name,
        );
        let path: Vec<String> = broken.path.iter().map(|t| message(t)).collect();
        let after = match path.len() {
            0 => String::new(),
            1..=12 => format!("after {} ", path.join(" ")),
            n => format!("after {n} messages "),
        };
        let (what, side, said_by) = (message(said), name(side), name(said.sender));
        let (label, note) = match wrong {
            Wrong::Missing => (
                format!("{base} lets the {said_by} side send this"),
                format!(
                    "the {side} side {after}may send {what} in state {old} of {base}, but not in state {new} of {derived}"
                ),
            ),
            Wrong::Unannounced => (
                format!("the {said_by} side may send this"),
                format!(
                    "the {side} side {after}can get {what} in state {new} of {derived}, which {base} does not announce \
                     in state {old}"
                ),
            ),
            Wrong::Silent => (
                format!("{base} lets the {said_by} side send this"),
                format!(
                    "the {side} side {after}may wait for {what} in state {old} of {base}, but in state {new} of \
                     {derived} the {said_by} side sends nothing: it could wait for ever"
                ),
            ),
            Wrong::Apart(peer) => (
                format!("{base} lets the {said_by} side send this"),
                format!(
                    "the {side} side {after}may wait for {what} in state {old} of {base}, but while it is in state {new} \
                     of {derived}, the {said_by} side can be in state {}, where it sends nothing: it could wait for ever",
                    self.derived.states[peer].name
                ),
            ),
        };
        error.label(said.span, label).note(note)
    }
}

fn target(steps: &[u16], messages: usize, state: usize, t: &Transition) -> Option<usize> {
    let next = steps[(state * messages + t.message) * 2 + t.sender.index()];
    (next != NONE).then_some(usize::from(next))
}
