//! Fuzzing of what reads foreign input: the parser with mutated texts, the loader of tables with
//! mutated bytes.
//!
//! Each test runs for a second, or as long as SING_FUZZ_SECONDS says. It begins with a seed that it
//! prints where it fails; SING_FUZZ_SEED repeats a run.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use sing_contract::{Severity, compile, format, load, parse};
use sing_image::contract::{ContractTable, MAX_MESSAGES, MAX_QUEUE, MAX_STATES};
use sing_image::manifest::Side;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Everything that there is in the language.
const SEEDS: [&str; 3] = [
    "
    enum Colour : byte { Red, Green = 5, Blue = 0x7 }
    rep struct Point { int x; long y; Colour c; }
    rep struct Node { Point at; char[] in ExHeap name; Node*? in ExHeap left; Node[]? in ExHeap others; }
    public contract Tree { in message Plant(Node* in ExHeap tree, Point[] in all); out message Ok(); state S: Plant? -> Ok! -> S; }
    ",
    "
    public contract Base { out message Success(); state Start: Success! -> Bound; state Bound: one { } }
    rep struct Some { bool? on; } rep struct Other { Some? some; Other[]? in ExHeap o; }
    /// Documented.
    contract Rich : Base {
      in message Open(char[] in ExHeap path, Base.Exp:Start exp) requires true && !(1 > 2);
      in message Perhaps(int? n, Some? s, byte[]? in ExHeap b) requires !n.HasValue || n.Value > 3, s.Value.on.HasValue, b.HasValue;
      in message Move(int x, double d) requires x == 3 || d <= -1 requires -x * 7 % 5 < x / (x - 1) || !(x >= 9);
      out message Ok(); out message No(Base.Exp:Start exp); message Ball(u8 a);
      override state Start: Success! -> Ready;
      state Ready: one { Open? -> (Ok! or No!) -> Ready; Perhaps? -> Ok! -> Ready; Move? -> one { Ok! -> Ready; No! -> Ball? -> Ball! -> Ready; };
        state Inner: Ball? -> closed; Ball? -> Ball! -> Inner }
    }
    contract Richer : Rich { in message More(); override state Inner: (Ball? or More?) -> closed; }
    contract Less narrows Rich.Imp { Open; Ball; }
    contract Least narrows Less.Imp { }
    contract Lender { in message Lend(Less.Imp:Ready e); state S: Lend? -> closed; }
    ",
    "
    contract Job { in message Interrupt(); out message Finished(int status);
      state Running: one { Interrupt? -> Interrupted; Finished! -> Over; }
      state Interrupted: Finished! -> closed; state Over: Interrupt? -> closed; }
    ",
];

/// Words that a mutation puts in.
const WORDS: [&str; 37] = [
    "contract ",
    "narrows ",
    " : ",
    "{",
    "}",
    "(",
    ")",
    "state ",
    "override ",
    "one {",
    " or ",
    "->",
    "?",
    "!",
    ";",
    "closed",
    "in message M();",
    "out message N();",
    "requires ",
    "int ",
    "int? ",
    "Node? ",
    ".Value.HasValue",
    "byte[]? in ExHeap ",
    "* in ExHeap ",
    ".Imp",
    ".Exp:S",
    "rep struct ",
    "enum ",
    "import \"x\";",
    "Base",
    "Rich",
    "Node",
    "Start",
    "/*",
    "//",
    "\u{fe}\u{10ffff}",
];

struct Fuzz {
    rng: TestRng,
    seed: u64,
    rounds: u64,
    until: Instant,
}

impl Fuzz {
    fn new() -> Fuzz {
        let variable = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seed = variable("SING_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Fuzz {
            rng: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
            seed,
            rounds: 0,
            until: Instant::now() + Duration::from_secs(variable("SING_FUZZ_SECONDS").unwrap_or(1)),
        }
    }

    /// Whether there is another round.
    fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        Instant::now() < self.until
    }

    fn below(&mut self, n: usize) -> usize {
        (self.rng.next_u64() % n.max(1) as u64) as usize
    }
}

impl Drop for Fuzz {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, round {}", self.seed, self.rounds);
        }
    }
}

/// How long one input may keep it: far more than any of this size needs.
const LONG: Duration = Duration::from_secs(10);

#[test]
fn texts() {
    let mut fuzz = Fuzz::new();
    let mut sound: Vec<String> = SEEDS.iter().map(|s| (*s).to_string()).collect();
    while fuzz.goes_on() {
        let text = mutated(&mut fuzz, &sound);
        let start = Instant::now();
        let compiled = compile(&text);
        assert!(start.elapsed() < LONG, "{text}");
        match compiled {
            Err(errors) => {
                // Errors come first, and what else was noticed after them.
                assert!(
                    errors
                        .first()
                        .is_some_and(|e| e.severity == Severity::Error),
                    "{text}"
                );
                assert!(errors.iter().all(|e| !e.to_string().is_empty()), "{text}");
            }
            Ok(tables) => {
                for table in &tables {
                    table
                        .check()
                        .unwrap_or_else(|e| panic!("{}\n{text}", e.message));
                    walk(&mut fuzz, table);
                }
                let again = load(&text).map(|c| c.text()).unwrap_or_default();
                assert_eq!(compile(&again), Ok(tables), "{text}");
                // Sound texts that are not too long are mutated further.
                if text.len() < 4_000 && sound.len() < 500 {
                    sound.push(text.clone());
                }
            }
        }
        if let Ok(file) = parse(&text) {
            assert!(parse(&format::file(&file, true)).is_ok(), "{text}");
        }
    }
}

fn mutated(fuzz: &mut Fuzz, sound: &[String]) -> String {
    let from = fuzz.below(sound.len());
    let mut text: Vec<char> = sound[from].chars().collect();
    for _ in 0..=fuzz.below(4) {
        let at = fuzz.below(text.len());
        let len = fuzz.below(12).min(text.len() - at);
        match fuzz.below(6) {
            0 => drop(text.drain(at..at + len)),
            1 => {
                let word = WORDS[fuzz.below(WORDS.len())];
                text.splice(at..at, word.chars());
            }
            2 => {
                let word = WORDS[fuzz.below(WORDS.len())];
                text.splice(at..at + len, word.chars());
            }
            3 => {
                // A piece from elsewhere.
                let other: Vec<char> = sound[fuzz.below(sound.len())].chars().collect();
                let from = fuzz.below(other.len());
                let piece = &other[from..(from + fuzz.below(80)).min(other.len())];
                text.splice(at..at, piece.iter().copied());
            }
            4 => {
                let piece = text[at..at + len].to_vec();
                let to = fuzz.below(text.len());
                text.splice(to..to, piece);
            }
            _ => {
                if let Some(c) = text.get_mut(at) {
                    *c = char::from_u32(fuzz.below(0x7f) as u32).unwrap_or(' ');
                }
            }
        }
    }
    text.into_iter().collect()
}

/// Steps a table at random, and as nobody should: with states, messages and sides that are none.
fn walk(fuzz: &mut Fuzz, table: &ContractTable) {
    let mut state = 0;
    for _ in 0..40 {
        let side = [Side::Imp, Side::Exp][fuzz.below(2)];
        let message = fuzz.below(table.messages.len() + 1) as u16;
        if let Some(next) = table.step(state, message, side) {
            assert!(usize::from(next) < table.states.len());
            assert!(usize::from(message) < table.messages.len());
            state = next;
        }
        let wild = fuzz.rng.next_u32();
        if let Some(next) = table.step(wild as u16, (wild >> 16) as u16, side) {
            assert!(usize::from(next) < table.states.len());
        }
    }
    for base in &table.bases {
        for side in [Side::Imp, Side::Exp] {
            let wild = fuzz.rng.next_u32() as u16;
            for at in [(state, state), (state, wild), (wild, state)] {
                let _ = table.stands_for(&[0; 32], table, &base.hash, side, at);
            }
            let _ = table.used_as(&[0; 32], table, &base.hash, side, (wild, None));
        }
    }
}

#[test]
fn tables() {
    let mut fuzz = Fuzz::new();
    let sound: Vec<Vec<u8>> = SEEDS
        .iter()
        .flat_map(|s| compile(s).unwrap_or_default())
        .map(|t| postcard::to_allocvec(&t).unwrap_or_default())
        .collect();
    assert_eq!(sound.len(), 8);
    let (mut decoded, mut held, mut conditions) = (0u64, 0u64, [0u64; 2]);
    while fuzz.goes_on() {
        let mut bytes = sound[fuzz.below(sound.len())].clone();
        for _ in 0..=fuzz.below(3) {
            let at = fuzz.below(bytes.len());
            match fuzz.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, fuzz.below(256) as u8),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => {
                    let other = &sound[fuzz.below(sound.len())];
                    let from = fuzz.below(other.len());
                    let piece = &other[from..(from + fuzz.below(40)).min(other.len())];
                    bytes.splice(at..at, piece.iter().copied());
                }
                _ => {
                    if let Some(b) = bytes.get_mut(at) {
                        *b = [0, 1, 0x7f, 0x80, 0xff, fuzz.rng.next_u32() as u8][fuzz.below(6)];
                    }
                }
            }
        }
        let start = Instant::now();
        let Ok(table) = postcard::from_bytes::<ContractTable>(&bytes) else {
            continue;
        };
        decoded += 1;
        let checked = table.check();
        assert!(start.elapsed() < LONG, "{bytes:?}");
        if checked.is_err() {
            continue;
        }
        held += 1;
        // A kernel that indexes with a checked table relies on these.
        assert!((1..=MAX_STATES).contains(&table.states.len()));
        assert!((1..=MAX_MESSAGES).contains(&table.messages.len()));
        assert!(table.queue.iter().all(|q| *q <= MAX_QUEUE));
        assert!(table.max_words() <= sing_abi::MAX_MESSAGE_WORDS);
        let stands = table.bases.iter().flat_map(|b| b.stands.iter().flatten());
        assert!(
            stands
                .into_iter()
                .all(|p| usize::from(p.0) < table.states.len() && usize::from(p.1) < MAX_STATES)
        );
        assert!(
            table
                .narrows
                .as_ref()
                .is_none_or(|n| !n.of.is_empty() && table.bases.is_empty())
        );
        // Whatever conditions have passed can be computed of whatever words.
        for message in &table.messages {
            let words: Vec<u64> = (0..fuzz.below(14))
                .map(|_| [0, 1, u64::MAX, fuzz.rng.next_u64()][fuzz.below(4)])
                .collect();
            for condition in &message.conditions {
                if condition.holds(&words) {
                    conditions[1] += 1;
                } else {
                    conditions[0] += 1;
                }
            }
        }
        walk(&mut fuzz, &table);
        let again = postcard::to_allocvec(&table).unwrap_or_default();
        assert_eq!(postcard::from_bytes::<ContractTable>(&again), Ok(table));
    }
    // Mutations that nothing survives, or that change nothing, would test nothing.
    assert!(
        decoded > held && held > 0 && conditions.iter().all(|&n| n > 0),
        "{decoded} decoded, {held} held of {}",
        fuzz.rounds
    );
}
