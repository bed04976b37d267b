//! One conversation, two judges: for random contracts and conversations, what the checker says of
//! two processes that have exactly this conversation is what stepping the compiled table says of
//! it, message by message, as the kernel does.

mod random;

use random::Random;
use sing_conformance::{Kind, check, load};
use sing_contract::compile;
use sing_image::contract::ContractTable;
use sing_image::manifest::Side;
use std::fmt::Write as _;
use std::path::Path;

/// Messages that may be said in more than one place.
const COMMON: usize = 6;
const STATES: usize = 3;

/// A contract as text; even messages are the importing side's. Many are ambiguous or endless, and
/// refused.
fn contract(random: &mut Random) -> String {
    let mut messages = COMMON;
    let mut states = String::new();
    let say = |text: &mut String, m: usize| {
        let sign = if m.is_multiple_of(2) { '?' } else { '!' };
        let _ = write!(text, "M{m}{sign} -> ");
    };
    for s in 0..STATES {
        let side = random.below(2);
        let mixed = random.below(5) == 0;
        let _ = write!(states, "  state S{s}: one {{ ");
        for _ in 0..=random.below(3) {
            let side = if mixed { random.below(2) } else { side };
            messages += 2;
            say(&mut states, messages - 2 + side);
            for _ in 0..random.below(4) {
                say(&mut states, random.below(COMMON));
            }
            let _ = match random.below(STATES + 1) {
                STATES => write!(states, "closed; "),
                next => write!(states, "S{next}; "),
            };
        }
        states += "}\n";
    }
    let mut text = String::from("contract C {\n");
    for m in 0..messages {
        let direction = if m % 2 == 0 { "in" } else { "out" };
        let _ = writeln!(text, "  {direction} message M{m}();");
    }
    text + &states + "}\n"
}

/// A message and who says it.
type Said = (u16, Side);

/// All that a side can say anywhere.
fn sayable(table: &ContractTable, side: Side) -> Vec<u16> {
    let messages = 0..table.messages.len() as u16;
    let states = table.states.len() as u16;
    messages
        .filter(|&m| (0..states).any(|s| table.step(s, m, side).is_some()))
        .collect()
}

/// A conversation that keeps the contract, as far as the choices lead.
fn conversation(table: &ContractTable, random: &mut Random) -> Vec<Said> {
    let (mut state, mut all) = (0, Vec::new());
    for _ in 0..1 + random.below(20) {
        let mut may = Vec::new();
        for side in [Side::Imp, Side::Exp] {
            for m in 0..table.messages.len() as u16 {
                may.extend(table.step(state, m, side).map(|next| ((m, side), next)));
            }
        }
        if may.is_empty() {
            break;
        }
        let (said, next) = may[random.below(may.len())];
        all.push(said);
        state = next;
    }
    all
}

/// The place at which the table refuses a conversation, and the state there.
fn refused(table: &ContractTable, all: &[Said]) -> Option<(usize, u16)> {
    let mut state = 0;
    for (i, &(message, side)) in all.iter().enumerate() {
        match table.step(state, message, side) {
            Some(next) => state = next,
            None => return Some((i, state)),
        }
    }
    None
}

/// A side's part of a conversation; at `deaf` it expects another message than the one that comes.
fn part(table: &ContractTable, all: &[Said], side: Side, deaf: Option<(usize, u16)>) -> String {
    let mut text = String::new();
    for (i, &(message, speaker)) in all.iter().enumerate() {
        let expected = deaf.filter(|(at, _)| *at == i && speaker != side);
        let message = expected.map_or(message, |(_, other)| other);
        let sign = if speaker == side { '!' } else { '?' };
        let _ = write!(
            text,
            "c.{}{sign} -> ",
            table.messages[usize::from(message)].name
        );
    }
    format!("process {} {{ state S: {text}end; }}\n", side.name())
}

/// The checker's findings: kinds, and the process that each concerns first.
fn judged(text: &str, parts: [String; 2]) -> Vec<(Kind, String)> {
    let [imp, exp] = parts;
    let text = format!("{text}{imp}{exp}channel C: Imp.c -> Exp.c;\n");
    let system = load("x", &text, Path::new("")).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    let outcome = check(&system, 10_000);
    assert!(outcome.complete, "{text}");
    let findings = outcome.findings.into_iter();
    findings
        .map(|f| {
            let who = f.who.first().map_or(String::new(), |w| w.0.clone());
            (f.kind, who)
        })
        .collect()
}

#[test]
fn checker_and_table_agree_on_random_conversations() {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (mut contracts, mut sound, mut breaches, mut unexpected) = (0, 0, 0, 0);
    for _ in 0..6000 {
        let text = contract(&mut random);
        let Ok(tables) = compile(&text) else { continue };
        let table = &tables[0];
        contracts += 1;
        let parts = |all: &[Said], deaf| [Side::Imp, Side::Exp].map(|s| part(table, all, s, deaf));
        for _ in 0..6 {
            let all = conversation(table, &mut random);
            if all.is_empty() {
                continue;
            }
            assert_eq!(refused(table, &all), None);
            assert_eq!(judged(&text, parts(&all, None)), [], "{text}{all:?}");
            sound += 1;
            // One message is another, which may be as good, or come too early or late.
            let at = random.below(all.len());
            let side = all[at].1;
            let known = sayable(table, side);
            let other = known[random.below(known.len())];
            let mut changed = all.clone();
            changed[at].0 = other;
            let expected = refused(table, &changed).map(|(i, _)| changed[i].1);
            let wanted = expected.map(|who| (Kind::Breach, who.name().to_owned()));
            breaches += usize::from(wanted.is_some());
            let found = judged(&text, parts(&changed, None));
            assert_eq!(found, Vec::from_iter(wanted), "{text}{changed:?}");
            // The other side has no case for what comes.
            if other != all[at].0 {
                let found = judged(&text, parts(&all, Some((at, other))));
                let wanted = (Kind::Unspecified, side.peer().name().to_owned());
                assert_eq!(found, [wanted], "{text}{all:?} {at} {other}");
                unexpected += 1;
            }
        }
    }
    assert!(
        contracts > 300 && sound > 1000 && breaches > 500 && unexpected > 500,
        "{contracts} {sound} {breaches} {unexpected}"
    );
}
