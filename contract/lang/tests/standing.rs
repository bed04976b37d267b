//! What it means that an endpoint stands for one of a base: a holder that does anything its
//! contract allows, and a peer that does anything the derived one allows, talk over queues, and
//! look for a way to get stuck.

use proptest::prelude::*;
use sing_contract::compile;
use sing_image::contract::ContractTable;
use sing_image::manifest::Side;
use std::collections::HashSet;

/// An edge as generated: who sends, which message, where it leads.
type Edge = (bool, usize, usize);
/// A state as generated: its edges, and how the derived contract differs there.
type Raw = (Vec<Edge>, Change);

const MESSAGES: usize = 3;
const STATES: usize = 3;
/// The derived contract has one state of its own.
const ALL: usize = STATES + 1;

/// The effect of overriding on a state.
#[derive(Clone, Debug)]
enum Change {
    Keep,
    Add(Edge),
    Remove(usize),
    Lead(usize, usize),
    Replace(Vec<Edge>),
}

/// Most states have one side that sends; some both.
fn edges(states: usize) -> impl Strategy<Value = Vec<Edge>> {
    let edge = (any::<bool>(), 0..MESSAGES, 0..states);
    let edges = prop::collection::vec(edge, 0..MESSAGES);
    (edges, any::<bool>(), 0..4u8).prop_map(|(mut edges, exp, mixed)| {
        if mixed > 0 {
            for edge in &mut edges {
                edge.0 = exp;
            }
        }
        edges
    })
}

fn raw() -> impl Strategy<Value = Raw> {
    let change = prop_oneof![
        Just(Change::Keep),
        (any::<bool>(), 0..MESSAGES, 0..ALL).prop_map(Change::Add),
        (0..MESSAGES).prop_map(Change::Remove),
        (0..MESSAGES, 0..ALL).prop_map(|(i, to)| Change::Lead(i, to)),
        edges(ALL).prop_map(Change::Replace),
    ];
    (edges(STATES), change)
}

fn changed((edges, change): &Raw) -> Vec<Edge> {
    let mut edges = edges.clone();
    match change {
        Change::Keep => {}
        Change::Add(edge) => edges.push(*edge),
        Change::Remove(i) if *i < edges.len() => drop(edges.remove(*i)),
        Change::Lead(i, to) => edges.iter_mut().skip(*i).take(1).for_each(|e| e.2 = *to),
        Change::Remove(_) => {}
        Change::Replace(new) => edges.clone_from(new),
    }
    edges
}

fn state(place: usize, edges: &[Edge]) -> String {
    let mut text = format!("state S{place}: one {{");
    let mut seen = HashSet::new();
    for (exp, message, to) in edges {
        if seen.insert((exp, message)) {
            let (side, sign) = if *exp { ("O", '!') } else { ("I", '?') };
            text += &format!(" {side}{message}{sign} -> S{to};");
        }
    }
    text + " }\n"
}

/// Both contracts as text.
fn source(states: &[Raw], own: &[Edge]) -> String {
    let messages: String = (0..MESSAGES)
        .map(|m| format!("in message I{m}(); out message O{m}();\n"))
        .collect();
    let mut base = format!("contract B {{ {messages}");
    let mut derived = String::from("contract D : B {\n");
    for (i, raw) in states.iter().enumerate() {
        base += &state(i, &raw.0);
        if !matches!(raw.1, Change::Keep) {
            derived += &format!("override {}", state(i, &changed(raw)));
        }
    }
    format!("{base}}}\n{derived}{}}}", state(STATES, own))
}

/// The states of both sides of a channel, and the messages under way to each.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Config {
    /// States of the derived contract, by `Side::index`.
    at: [u16; 2],
    queues: [Vec<u16>; 2],
}

impl Config {
    fn start() -> Config {
        Config {
            at: [0, 0],
            queues: Default::default(),
        }
    }

    /// The situation after a side of the derived contract has sent.
    fn sent(&self, d: &ContractTable, side: Side, message: u16) -> Option<Config> {
        let mut next = self.clone();
        next.at[side.index()] = d.step(self.at[side.index()], message, side)?;
        next.queues[side.peer().index()].push(message);
        Some(next)
    }

    /// The situation after a side has taken its next message, if it can wait for one. `Err` if it
    /// must not come.
    fn received(&self, d: &ContractTable, side: Side) -> Result<Option<Config>, String> {
        let me = side.index();
        let Some(&message) = self.queues[me].first() else {
            return Ok(None);
        };
        if !can_send(d, self.at[me], side.peer()) {
            return Ok(None);
        }
        let to = d.step(self.at[me], message, side.peer());
        let to = to.ok_or_else(|| format!("{side:?} does not expect {message} in {self:?}"))?;
        let mut next = self.clone();
        next.at[me] = to;
        next.queues[me].remove(0);
        Ok(Some(next))
    }
}

fn messages(table: &ContractTable) -> std::ops::Range<u16> {
    0..table.messages.len() as u16
}

fn can_send(table: &ContractTable, state: u16, side: Side) -> bool {
    messages(table).any(|m| table.step(state, m, side).is_some())
}

/// All that two sides that know the derived contract can come to.
fn situations(d: &ContractTable) -> HashSet<Config> {
    let mut seen = HashSet::from([Config::start()]);
    let mut todo = vec![Config::start()];
    while let Some(now) = todo.pop() {
        for side in [Side::Imp, Side::Exp] {
            let sends = messages(d).filter_map(|m| now.sent(d, side, m));
            for next in sends.chain(now.received(d, side).unwrap()) {
                if seen.insert(next.clone()) {
                    todo.push(next);
                }
            }
        }
    }
    seen
}

/// Lets a holder that knows only B go on from each of these, in a state of B: what goes wrong. Also
/// all pairs of states of B and D that the holder comes to.
fn composed(
    b: &ContractTable,
    d: &ContractTable,
    side: Side,
    from: Vec<(u16, Config)>,
) -> Result<HashSet<(u16, u16)>, String> {
    let (me, peer) = (side.index(), side.peer());
    let mut seen: HashSet<(u16, Config)> = from.iter().cloned().collect();
    let mut todo = from;
    let mut pairs = HashSet::new();
    while let Some((holds, now)) = todo.pop() {
        pairs.insert((holds, now.at[me]));
        let (sends, waits) = (can_send(b, holds, side), can_send(b, holds, peer));
        if !sends && !waits {
            continue; // it can only close
        }
        let mut next = Vec::new();
        for m in messages(b) {
            if let Some(to) = b.step(holds, m, side) {
                let Some(after) = now.sent(d, side, m) else {
                    return Err(format!("{side:?} cannot send {m} in {holds}, {now:?}"));
                };
                let queue = after.queues[peer.index()].len();
                if queue > usize::from(d.queue[peer.index()]) {
                    return Err(format!("no room for {m} in {now:?}"));
                }
                next.push((to, after));
            }
        }
        if waits && let Some(&m) = now.queues[me].first() {
            let to = b.step(holds, m, peer);
            match (to, now.received(d, side)?) {
                (Some(to), Some(after)) => next.push((to, after)),
                _ => return Err(format!("{side:?} does not expect {m} in {holds}, {now:?}")),
            }
        }
        let talks = messages(d).filter_map(|m| now.sent(d, peer, m));
        next.extend(talks.map(|after| (holds, after)));
        next.extend(now.received(d, peer)?.map(|after| (holds, after)));
        if next.is_empty() {
            return Err(format!("both wait, {side:?} in {holds} of B, in {now:?}"));
        }
        // A side that waits though it could send may hope that something comes.
        let quiet = now.queues.iter().all(Vec::is_empty) && now.at[0] == now.at[1];
        if waits && quiet && !can_send(d, now.at[peer.index()], peer) {
            return Err(format!(
                "nothing can come, {side:?} in {holds} of B, in {now:?}"
            ));
        }
        todo.extend(next.into_iter().filter(|n| seen.insert(n.clone())));
    }
    Ok(pairs)
}

fn check(b: &ContractTable, d: &ContractTable) -> Result<usize, String> {
    let all = situations(d);
    let ids = sing_image::contract::check(&[b.clone(), d.clone()]).map_err(|e| format!("{e:?}"))?;
    let mut met = 0;
    for side in [Side::Imp, Side::Exp] {
        let used = &d.bases[0].stands[side.index()];
        for &(derived, base) in used {
            let here = all.iter().filter(|c| c.at[side.index()] == derived);
            let from: Vec<_> = here.map(|c| (base, c.clone())).collect();
            let pairs =
                composed(b, d, side, from).map_err(|e| format!("as {base} in {derived}: {e}"))?;
            met += pairs.len();
            // Wherever it comes it is still one of the base: it can be sent, narrowed, used as one.
            for (base, derived) in pairs {
                let at = (derived, Some(base));
                if !d.used_as(&ids[1], b, &ids[0], side, at) {
                    return Err(format!("{side:?} comes to {base} of B in {derived} of D"));
                }
            }
        }
    }
    Ok(met)
}

/// Contracts whose states are too many to be met at random: each side stands where it should, and
/// is never stuck.
#[test]
fn crossing_messages_do_not_part_the_two() {
    let base = "contract B {
        in message I0(); in message I1(); out message O0(); out message O1();
        state S: one { I0? -> A; O0! -> C; } state A: O0! -> X; state C: I0? -> Y;
        state X: O1! -> E; state Y: O1! -> E; state E; }";
    for derived in [
        "",
        "override state X: one { O1! -> M; I1? -> L; } override state Y: one { O1! -> M; I1? -> L; }
         state L: O1! -> closed; state M: I1? -> closed;",
        "in message More(); override state E: More? -> E2; state E2;",
    ] {
        let tables = compile(&format!("{base} contract D : B {{ {derived} }}"));
        let tables = tables.unwrap_or_else(|errors| panic!("{}", errors[0]));
        let met = check(&tables[0], &tables[1]).unwrap_or_else(|e| panic!("{derived}: {e}"));
        assert!(met > 6, "{derived}: {met}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        max_global_rejects: 200_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn who_stands_for_the_base_is_never_stuck(states in prop::collection::vec(raw(), STATES), own in edges(ALL)) {
        let source = source(&states, &own);
        let Ok(tables) = compile(&source) else {
            return Err(TestCaseError::reject("endless, or no B in any sense"));
        };
        let found = check(&tables[0], &tables[1]);
        prop_assert!(found.is_ok(), "{}\n{}", source, found.unwrap_err());
    }
}
