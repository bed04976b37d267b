//! The short way against the long way, and both against contracts at random.

use super::*;
use crate::model::{Direction, Message, Span, State};
use proptest::prelude::*;

/// More steps than any contract here takes.
fn plenty() -> usize {
    1 << 30
}

/// A contract with these transitions: state, message, sender, target.
fn contract(states: usize, transitions: &[(usize, usize, bool, usize)]) -> Contract {
    let span = Span::default();
    let message = |i: usize| Message {
        docs: Vec::new(),
        name: format!("M{i}"),
        direction: Direction::Both,
        arguments: Vec::new(),
        requires: Vec::new(),
        span,
    };
    let mut contract = Contract {
        docs: Vec::new(),
        public: false,
        name: "Random".into(),
        bases: Vec::new(),
        narrows: None,
        messages: (0..4).map(message).collect(),
        states: (0..states)
            .map(|i| State {
                docs: Vec::new(),
                name: format!("S{i}"),
                transitions: Vec::new(),
                span,
            })
            .collect(),
        queue: [0, 0],
        span,
    };
    for &(state, message, exp, target) in transitions {
        let sender = if exp { Side::Exp } else { Side::Imp };
        let own = &mut contract.states[state].transitions;
        if own
            .iter()
            .all(|t| t.message != message || t.sender != sender)
        {
            own.push(Transition {
                message,
                sender,
                target,
                span,
            });
        }
    }
    contract
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// If only one side sends in each state, the short way and the long way agree.
    #[test]
    fn longest_runs_are_exact(
        senders in prop::collection::vec(any::<bool>(), 1..7),
        raw in prop::collection::vec((0usize..7, 0usize..4, 0usize..7), 0..14),
    ) {
        let n = senders.len();
        let transitions: Vec<_> =
            raw.iter().map(|&(s, m, t)| (s % n, m, senders[s % n], t % n)).collect();
        let c = contract(n, &transitions);
        prop_assert!(c.states.iter().all(|s| !s.is_mixed()));
        match (queues(&c, &mut plenty()), explore(&c, &mut plenty())) {
            (Ok((short, _)), Ok(long)) => prop_assert_eq!(short, long.longest),
            (Ok(_), Err(Some(Problem { reason: Reason::GaveUp, .. }))) => {}
            (Err(_), Err(Some(p))) => prop_assert!(
                matches!(p.reason, Reason::TooLong { .. } | Reason::GaveUp), "{p:?}"
            ),
            (short, long) => prop_assert!(false, "{short:?} against {long:?}"),
        }
    }

    /// Whatever is accepted, no run at random overflows a queue, surprises a receiver or gets
    /// stuck.
    #[test]
    fn accepted_contracts_run(
        raw in prop::collection::vec((0usize..4, 0usize..4, any::<bool>(), 0usize..4), 1..10),
        choices in prop::collection::vec(any::<u16>(), 60),
    ) {
        let c = contract(4, &raw);
        let Ok((queue, _)) = queues(&c, &mut plenty()) else { return Ok(()) };
        let mut at = [0usize; 2];
        let mut queues: [VecDeque<usize>; 2] = Default::default();
        for choice in choices {
            let mut acts = Vec::new();
            for side in [Side::Imp, Side::Exp] {
                let state = &c.states[at[side.index()]];
                acts.extend(state.sends(side).map(|t| (false, side, *t)));
                if let Some(&m) = queues[side.index()].front() {
                    let t = state.receives(side).find(|t| t.message == m);
                    prop_assert!(t.is_some() || state.receives(side).next().is_none());
                    acts.extend(t.map(|t| (true, side, *t)));
                }
            }
            let waits = |s: Side| c.states[at[s.index()]].receives(s).next().is_some();
            prop_assert!(!acts.is_empty() || !(waits(Side::Imp) || waits(Side::Exp)));
            let Some(&(receive, side, t)) = acts.get(usize::from(choice) % acts.len().max(1))
            else { break };
            at[side.index()] = t.target;
            if receive {
                queues[side.index()].pop_front();
            } else {
                let peer = side.peer().index();
                queues[peer].push_back(t.message);
                prop_assert!(queues[peer].len() <= usize::from(queue[peer]));
            }
        }
    }
}

#[test]
fn crossing_messages_that_both_expect_do_no_harm() {
    // Either may speak first; each then still expects the other's word.
    let diamond = [
        (0, 0, false, 1),
        (0, 1, true, 2),
        (1, 1, true, 3),
        (2, 0, false, 3),
    ];
    let (queue, _) = queues(&contract(4, &diamond), &mut plenty()).unwrap();
    assert_eq!(queue, [1, 1]);
    // Without the fourth transition, the exporting side gets a word that it does not expect.
    let problem = explore(
        &contract(4, &[&diamond[..3], &[(2, 2, false, 3)]].concat()),
        &mut plenty(),
    );
    assert!(matches!(
        problem.unwrap_err().unwrap().reason,
        Reason::Unexpected {
            side: Side::Exp,
            ..
        }
    ));
}

#[test]
fn both_waiting_for_ever_is_found() {
    let c = contract(
        4,
        &[
            (0, 0, false, 1),
            (0, 1, true, 2),
            (1, 1, true, 1),
            (2, 0, false, 3),
        ],
    );
    // After both have spoken at once, importer in 1 waits for M1 again, exporter is done: no
    // deadlock is possible only if someone can still move.
    assert!(explore(&c, &mut plenty()).is_err());
}
