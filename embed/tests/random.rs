//! Random bytes of the host's for processes that are called: of programs that ask for them by the contract, and of
//! ordinary programs. One system may be in a process, so the tests take turns.

mod common;

use common::{start, turn};
use sing_embed::{Error, Program};
use std::collections::HashSet;
use std::time::Duration;

fn text(answer: Result<Vec<u8>, Error>) -> String {
    let bytes = answer.unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(bytes).unwrap()
}

fn reason(answer: Result<Vec<u8>, Error>) -> String {
    match answer {
        Err(Error::Refused { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// The processor's time of this process, to a hundredth of a second.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// No two of these pieces of random bytes are the same.
fn differ(pieces: &[Vec<u8>]) {
    let all: HashSet<&Vec<u8>> = pieces.iter().collect();
    assert_eq!(all.len(), pieces.len(), "the same bytes twice");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn each_call_of_an_ordinary_program_has_random_numbers_of_its_own() {
    let _turn = turn();
    let system = start();
    let call = system.program("call");
    // A map of Rust's standard library, with a seed of each call's own.
    let hashes: HashSet<String> = (0..50)
        .map(|_| {
            let said = text(call.call(b"map"));
            let (sum, hash) = said.trim().split_once(' ').unwrap();
            assert_eq!(sum, "328350");
            hash.to_owned()
        })
        .collect();
    assert_eq!(hashes.len(), 50, "two calls have had the same seed");
    // Many bytes come in many pieces, none of which is another.
    let many = 100_000;
    let firsts: HashSet<String> = (0..4)
        .map(|_| {
            let said = text(call.call(format!("random {many}").as_bytes()));
            let (different, first) = said.trim().split_once(' ').unwrap();
            assert_eq!(different, (many / 8).to_string());
            first.to_owned()
        })
        .collect();
    assert_eq!(firsts.len(), 4, "two calls have had the same bytes");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn calls_under_way_together_share_no_random_bytes() {
    let _turn = turn();
    let system = start();
    let dice = system.program("dice");
    let draw = || -> Vec<Vec<u8>> {
        let each = (0..100).map(|_| dice.call(b"fill 16").unwrap());
        each.collect()
    };
    let mut all: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
        let drawn = threads.into_iter().map(|thread| thread.join().unwrap());
        drawn.flatten().collect()
    });
    let begun: Vec<_> = (0..50).map(|_| dice.begin(b"fill 16")).collect();
    all.extend(begun.into_iter().map(|call| call.wait().unwrap()));
    let mut kept = [dice.open().unwrap(), dice.open().unwrap()];
    for _ in 0..50 {
        all.extend(kept.iter_mut().map(|one| one.call(b"fill 16").unwrap()));
    }
    differ(&all);
    // Half of all bits, give or take five times the deviation: 550 times 128 of them.
    let ones: u32 = all.iter().flatten().map(|byte| byte.count_ones()).sum();
    assert!((34_500..35_900).contains(&ones), "{ones} of 70400 bits");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_cannot_be_filled_comes_back_as_it_was() {
    let _turn = turn();
    let system = start();
    let mut dice = system.program("dice").open().unwrap();
    for len in [1, 255, 256, 257, 4095, 4096] {
        let bytes = dice.call(format!("fill {len}").as_bytes()).unwrap();
        assert_eq!(bytes.len(), len);
        // As long as one piece, so that a part that is not filled would show.
        let parts: Vec<Vec<u8>> = bytes.chunks_exact(16).map(<[u8]>::to_vec).collect();
        differ(&parts);
    }
    assert_eq!(reason(dice.call(b"fill 4097")), "it is not filled");
    assert_eq!(reason(dice.call(b"fill 100000")), "it is not filled");
    assert_eq!(text(dice.call(b"shared 64")), "not filled");
    assert_eq!(text(dice.call(b"cut 64")), "not filled");
    // It goes on after that, and without a source, too.
    assert_eq!(dice.call(b"fill 64").unwrap().len(), 64);
    assert_eq!(text(dice.call(b"close")), "closed");
    assert_eq!(reason(dice.call(b"fill")), "its source is closed");
    assert_eq!(system.program("dice").call(b"fill").unwrap().len(), 64);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn asking_for_random_bytes_is_within_the_budgets_of_the_call() {
    let _turn = turn();
    let system = start();
    let budgets = |name| {
        let program: Program<'_> = system.program(name);
        let time = program.clone().time(Duration::from_millis(200));
        (time, program.deadline(Duration::from_millis(50)))
    };
    for (name, call) in [
        ("dice", "forever 4096"),
        ("dice", "forever 1"),
        ("call", "forever 256"),
    ] {
        let (time, deadline) = budgets(name);
        let before = used();
        let ended = time.call(call.as_bytes());
        assert!(
            matches!(ended, Err(Error::OutOfTime { .. })),
            "{name} {call}: {ended:?}"
        );
        // What the kernel does for it is its time, too, and that is most of it.
        let took = used() - before;
        assert!(took < Duration::from_millis(500), "{name} {call}: {took:?}");
        let ended = deadline.call(call.as_bytes());
        assert!(
            matches!(ended, Err(Error::TimedOut { .. })),
            "{name} {call}: {ended:?}"
        );
    }
    // 8 MB of random bytes take no more memory than the first of them.
    let small = system.program("dice").memory(400 << 10);
    assert_eq!(small.call(b"again 2000").unwrap().len(), 4096);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_process_that_leaves_its_request_behind_harms_nobody() {
    let _turn = turn();
    let system = start();
    let dice = system.program("dice");
    for _ in 0..200 {
        let gone = dice.call(b"leave 4096");
        assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
        assert_eq!(text(dice.call(b"behind 4096")), "asked");
        let mut kept = dice.open().unwrap();
        assert_eq!(text(kept.call(b"behind 4096")), "asked");
        assert_eq!(reason(kept.call(b"fill")), "its source is closed");
        drop(kept);
        drop(dice.begin(b"forever 4096"));
    }
    assert_eq!(dice.call(b"fill").unwrap().len(), 64);
}
