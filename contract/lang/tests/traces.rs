//! Random contracts: table and model allow exactly the conversations that the text describes, and
//! whatever the two sides do within it, what arrives is expected and the queues suffice.
//!
//! The text is read a second time here, by an interpreter that knows nothing of state machines:
//! what may come next is computed from what is left of the sequences. Both are walked side by side.

use proptest::prelude::*;
use sing_contract::ast::{Item, Sequence, Side, Step};
use sing_contract::{compile, load, parse};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

/// A sequence as generated.
#[derive(Clone, Debug)]
enum Part {
    Message(usize),
    Choice(Vec<Vec<Part>>),
}

/// Messages that may be said in more than one place.
const COMMON: usize = 6;
const STATES: usize = 3;

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let leaf = (0..COMMON).prop_map(Part::Message);
    let part = leaf.prop_recursive(3, 16, 3, |inner| {
        let sequence = prop::collection::vec(inner, 1..3);
        prop::collection::vec(sequence, 1..4).prop_map(Part::Choice)
    });
    prop::collection::vec(part, 1..4)
}

/// Gives the alternatives of each choice different first messages of one side; else few contracts
/// would be sound. `first` is the side of the first message, where it matters.
fn settle(parts: &mut [Part], first: Option<usize>, count: &mut usize) {
    for (i, part) in parts.iter_mut().enumerate() {
        let first = first.filter(|_| i == 0);
        match part {
            Part::Message(m) => {
                if let Some(side) = first {
                    *m = COMMON + 2 * *count + side;
                    *count += 1;
                }
            }
            Part::Choice(all) => {
                let side = first.unwrap_or(*count % 2);
                for alternative in all {
                    settle(alternative, Some(side), count);
                }
            }
        }
    }
}

/// A sequence as text. Even messages are the importing side's.
fn write_parts(parts: &[Part], text: &mut String) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            text.push_str(" -> ");
        }
        match part {
            Part::Message(m) => {
                let _ = write!(text, "M{m}{}", if m % 2 == 0 { '?' } else { '!' });
            }
            Part::Choice(all) => {
                text.push('(');
                for (j, alternative) in all.iter().enumerate() {
                    if j > 0 {
                        text.push_str(" or ");
                    }
                    write_parts(alternative, text);
                }
                text.push(')');
            }
        }
    }
}

fn contract(mut states: Vec<(Vec<Part>, usize)>) -> String {
    let mut count = 0;
    for (body, _) in &mut states {
        settle(body, None, &mut count);
    }
    let mut text = String::from("contract C {\n");
    for m in 0..COMMON + 2 * count {
        let _ = writeln!(
            text,
            "{} message M{m}();",
            if m % 2 == 0 { "in" } else { "out" }
        );
    }
    for (i, (body, next)) in states.iter().enumerate() {
        let _ = write!(text, "state S{i}: ");
        write_parts(body, &mut text);
        let _ = writeln!(
            text,
            " -> {};",
            if *next < STATES {
                format!("S{next}")
            } else {
                "closed".into()
            }
        );
    }
    text + "}\n"
}

/// The steps that are left: a stack of step lists, innermost first.
type Rest<'a> = Vec<&'a [Step]>;

/// The messages that may come next, each with the steps left after it.
fn next<'a>(
    rest: &[&'a [Step]],
    states: &'a [(String, Vec<Sequence>)],
    out: &mut Vec<((String, Side), Rest<'a>)>,
) {
    let Some((first, outer)) = rest.split_first() else {
        return;
    };
    match first.split_first() {
        None => next(outer, states, out),
        Some((Step::Message { name, sender }, left)) => {
            let mut after = vec![left];
            after.extend(outer);
            out.push(((name.text.clone(), *sender), after));
        }
        Some((Step::Choice(all, _), left)) => {
            for alternative in all {
                let mut inside = vec![&alternative.steps[..], left];
                inside.extend(outer);
                next(&inside, states, out);
            }
        }
        Some((Step::State(name), _)) => {
            // Whatever is left around it is left behind.
            for (_, body) in states.iter().filter(|(s, _)| *s == name.text) {
                for sequence in body {
                    next(&[&sequence.steps], states, out);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_mean_what_the_text_says(
        states in prop::collection::vec((parts(), 0..=STATES), STATES..=STATES),
        choices in prop::collection::vec(any::<u8>(), 40),
    ) {
        let text = contract(states);
        // Many are ambiguous or endless, and refused.
        let Ok(tables) = compile(&text) else { return Err(TestCaseError::reject("refused")) };
        let table = &tables[0];
        let model = &load(&text).unwrap().model.contracts[0];
        let file = parse(&text).unwrap();
        let Item::Contract(parsed) = &file.items[0] else { unreachable!() };
        let bodies: Vec<(String, Vec<Sequence>)> =
            parsed.states.iter().map(|s| (s.name.text.clone(), s.body.clone())).collect();
        let mut rest: Rest<'_> = vec![&bodies[0].1[0].steps];
        let mut state = 0u16;
        for choice in choices {
            let mut acts = Vec::new();
            next(&rest, &bodies, &mut acts);
            let said: BTreeSet<(String, usize)> =
                acts.iter().map(|((m, s), _)| (m.clone(), s.index())).collect();
            let mut allowed = BTreeSet::new();
            for m in 0..table.messages.len() as u16 {
                for side in [Side::Imp, Side::Exp] {
                    if table.step(state, m, side).is_some() {
                        allowed.insert((table.messages[usize::from(m)].name.clone(), side.index()));
                    }
                }
            }
            // All that is not said is refused: traces that do not conform end here.
            prop_assert_eq!(&said, &allowed, "in {} of\n{}", &table.states[usize::from(state)], text);
            let modelled = model.states[usize::from(state)].transitions.iter();
            let modelled: BTreeSet<(String, usize)> = modelled
                .map(|t| {
                    assert_eq!(table.step(state, t.message as u16, t.sender), Some(t.target as u16));
                    (model.messages[t.message].name.clone(), t.sender.index())
                })
                .collect();
            prop_assert_eq!(&modelled, &allowed);
            if acts.is_empty() {
                break;
            }
            let ((message, side), left) = acts.swap_remove(usize::from(choice) % acts.len());
            state = table.step(state, table.message(&message).unwrap(), side).unwrap();
            rest = left;
        }
    }

    #[test]
    fn queues_suffice_whatever_the_sides_do(
        states in prop::collection::vec((parts(), 0..=STATES), STATES..=STATES),
        mixed in any::<bool>(),
        choices in prop::collection::vec(any::<u16>(), 120),
    ) {
        // In some contracts both may speak at once; what crosses is said to be expected.
        let text = if mixed { CROSSING.to_string() } else { contract(states) };
        let Ok(tables) = compile(&text) else { return Err(TestCaseError::reject("refused")) };
        let table = &tables[0];
        let mut at = [0u16; 2];
        let mut queues = [VecDeque::new(), VecDeque::new()];
        for choice in choices {
            // The actions that each side may take by its own copy of the machine.
            let mut acts: Vec<(Side, Option<u16>)> = Vec::new();
            for side in [Side::Imp, Side::Exp] {
                let own = at[side.index()];
                let all = 0..table.messages.len() as u16;
                acts.extend(all.filter(|&m| table.step(own, m, side).is_some()).map(|m| (side, Some(m))));
                if !queues[side.index()].is_empty() {
                    acts.push((side, None));
                }
            }
            if acts.is_empty() {
                // Nobody waits for what never comes, unless the conversation is over.
                prop_assert_eq!(at[0], at[1], "{}", text);
                break;
            }
            let (side, act) = acts[usize::from(choice) % acts.len()];
            let (me, peer) = (side.index(), side.peer().index());
            if let Some(message) = act {
                at[me] = table.step(at[me], message, side).unwrap();
                queues[peer].push_back(message);
                prop_assert!(queues[peer].len() <= usize::from(table.queue[peer]), "{}", text);
            } else {
                let message = queues[me].pop_front().unwrap();
                let next = table.step(at[me], message, side.peer());
                prop_assert!(next.is_some(), "{} arrives unexpected\n{}", message, text);
                at[me] = next.unwrap();
            }
        }
    }
}

/// Interrupts and answers may cross.
const CROSSING: &str = "contract C {
  in message Ask(); in message Stop(); out message Answer(); out message More();
  state S: Ask? -> Busy;
  state Busy: one { Stop? -> Stopping; More! -> Busier; Answer! -> Done; }
  state Busier: one { Stop? -> Stopping2; Answer! -> Done; }
  state Stopping: one { More! -> Stopping2; Answer! -> closed; }
  state Stopping2: Answer! -> closed;
  state Done: Stop? -> closed;
}";
