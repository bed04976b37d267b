//! Conversations by a contract with a process of a system inside this program.

mod common;

use common::{image, runtime, start, turn, within};
use sing_embed::{Error, Image, MOST_ANSWER, Options, System};
use sing_image::system::{Start as Main, SystemImage};
use std::future::Future as _;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

sing_embed::contract!("../tests/sips/talker/talker.contract");
sing_embed::contract!("../system/contracts/entropy.contract");

use TalkContract::imp::{Fetching as Fetched, Start_Add, Start_Count, Start_Draw, Start_Misbehave};
use TalkContract::{Fetching, Imp, Start};

fn connect(system: &System) -> Imp<'_, Start> {
    system.program("talker").connect("talk").unwrap()
}

fn broken<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Broken { program, reason }) => {
            assert_eq!(program, "talker");
            reason
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was sent"),
    }
}

fn not_made<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::NotMade(reason)) => reason,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was made"),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn messages_go_and_come_in_their_states() {
    let _turn = turn();
    let system = start();
    let peer = connect(&system);
    let (sum, peer) = peer.send_add(2, false).unwrap().recv_sum().unwrap();
    assert_eq!(sum, 2);
    // A process of its own, which remembers.
    let other = connect(&system);
    let (sum, peer) = peer.send_add(-10, true).unwrap().recv_sum().unwrap();
    assert_eq!(sum, -18);
    let TalkContract::imp::Start_Add::Sum(sum, _other) = other.call_add(5, false).unwrap();
    assert_eq!(sum, 5);
    // Several in a row, which wait until they are received.
    let peer = peer.send_count().unwrap();
    std::thread::sleep(Duration::from_millis(10));
    let (one, peer) = peer.recv_tick().unwrap();
    let (two, peer) = peer.recv_tick().unwrap();
    let (three, peer) = peer.recv_tick().unwrap();
    assert_eq!((one, two, three), (1, 2, 3));
    let (text, _peer) = peer.send_say("grüß dich").unwrap().recv_said().unwrap();
    assert_eq!(text.to_str(), Ok("grüß dich"));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn values_and_blocks_of_all_kinds_come_as_they_were_sent() {
    let _turn = turn();
    let system = start();
    let mut peer = connect(&system);
    for (width, note) in [(None, None), (Some(7), Some(&[1u8, 2, 3][..]))] {
        let at = Point { x: 1, y: -1 };
        let line = [Point { x: 10, y: 20 }, Point { x: i32::MIN, y: -5 }];
        let drawn = peer.call_draw(at, Shade::Dark, &line, width, note).unwrap();
        let Start_Draw::Drawn(to, shade, last, new_width, new_note, next) = drawn;
        assert_eq!(
            to,
            Point {
                x: i32::MIN + 11,
                y: 14
            }
        );
        assert_eq!(
            (shade, new_width),
            (Shade::Light, width.map(|width| width + 1))
        );
        assert_eq!(last.get(), Some(line[1]));
        assert_eq!(new_note.as_deref(), note);
        peer = next;
    }
    let (text, _peer) = peer.send_say("").unwrap().recv_said().unwrap();
    assert!(text.is_empty() && text.to_string().is_empty());
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn blocks_are_read_in_place_and_outlive_the_process() {
    let _turn = turn();
    let system = start();
    let fetch = |length: u32| match connect(&system).call_fetch(length).unwrap() {
        // The endpoint is dropped, and the process with it.
        Fetched::Data(bytes, sum, _) => (bytes, sum),
        Fetched::Nothing(_) => panic!("it has no room for {length} bytes"),
    };
    let good = |bytes: &[u8], sum: u32| {
        assert!(
            bytes
                .iter()
                .zip(0..)
                .all(|(byte, at): (_, usize)| *byte == at as u8)
        );
        assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), sum);
    };
    let (first, first_sum) = fetch(3_000_000);
    let (small, small_sum) = fetch(5);
    for length in [1, 100, 4096, 2_000_000] {
        let (bytes, sum) = fetch(length);
        assert_eq!(bytes.len(), length as usize);
        good(&bytes, sum);
    }
    good(&first, first_sum);
    good(&small, small_sum);
    // Another thread may have it.
    std::thread::scope(|scope| {
        scope.spawn(move || good(&first, first_sum));
    });
    good(&small, small_sum);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_message_that_breaks_the_contract_is_refused() {
    let _turn = turn();
    let system = start();
    let reason = broken(connect(&system).send_add(1000, false));
    assert_eq!(reason, "TalkContract.Add requires number < 1000");
    // About a length: the kernel does not judge that, and the types do.
    let reason = broken(connect(&system).send_cut(b"abc", 3));
    assert_eq!(reason, "TalkContract.Cut requires offset < bytes.Length");
    assert!(connect(&system).send_cut(b"abc", 2).is_ok());
    let reason = broken(connect(&system).send_cut(b"", 0));
    assert_eq!(reason, "TalkContract.Cut requires offset < bytes.Length");
    let reason =
        broken(connect(&system).call_draw(Point { x: 0, y: 0 }, Shade::Dark, &[], None, None));
    assert!(reason.contains("no bytes"), "{reason}");
    match connect(&system).send_cut(&vec![0; MOST_ANSWER + 1], 0) {
        Err(Error::TooLong { bytes, most, .. }) => {
            assert_eq!((bytes, most), (MOST_ANSWER + 1, MOST_ANSWER))
        }
        other => panic!("{other:?}"),
    }
    let cut = connect(&system).call_cut(&vec![7; MOST_ANSWER], 1).unwrap();
    assert!(matches!(cut, Fetched::Data(bytes, ..) if bytes.len() == MOST_ANSWER - 1));
}

/// The kernel's own checks, for which the types leave no room: by what the types stand on.
#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn the_kernel_holds_the_host_to_the_contract_too() {
    use sing_embed::rt::{Link, Outgoing};
    struct Bare<'s>(Link<'s>);
    impl<'s> sing_embed::Endpoint<'s> for Bare<'s> {
        const WANTED: sing_embed::rt::Wanted =
            <Imp<'static, Start> as sing_embed::Endpoint>::WANTED;
        fn with(link: Link<'s>) -> Self {
            Bare(link)
        }
    }
    let _turn = turn();
    let system = start();
    let connect = || -> Bare<'_> { system.program("talker").connect("talk").unwrap() };
    let message = |index: u32, words: &[u64]| {
        let mut message = Outgoing::new(index);
        words.iter().for_each(|word| message.word(*word));
        message
    };
    let refused = |index, words: &[u64], why: &str| {
        let reason = broken(connect().0.send(message(index, words)));
        assert!(reason.contains(why), "{reason}");
    };
    // `Sum` is the process's to send.
    refused(
        2,
        &[1],
        "TalkContract.Sum may not be sent in the state Start",
    );
    refused(0, &[1000, 0], "TalkContract.Add requires number < 1000");
    refused(0, &[1, 2], "twice is a value of bool");
    refused(0, &[1], "no such message");
    refused(99, &[], "no such message");
    // Blocks that are longer than the bytes, or have none.
    refused(6, &[1, 0], "no bytes");
    refused(6, &[0, 0], "no bytes");
    refused(6, &[u64::MAX, 0], "no bytes");
    let peer = connect().0;
    peer.send(message(0, &[1, 0])).unwrap();
    let reason = broken(peer.send(message(0, &[1, 0])));
    assert!(
        reason.contains("may not be sent in the state Start'Add"),
        "{reason}"
    );
    // What was refused has changed nothing: the answer to the first comes.
    assert_eq!(peer.receive().unwrap().index, 2);
}

mod other {
    sing_embed::contract!(
        "
        contract TalkContract {
            in message Add(int number);
            out message Sum(long sum);
            state Start: Add? -> Sum! -> Start;
        }
        contract MissingContract {
            in message Add(int number);
            out message Sum(long sum);
            state Start: Add? -> Sum! -> Start;
        }
        "
    );
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_cannot_be_connected_is_refused_with_the_reason() {
    let _turn = turn();
    let system = start();
    let talker = system.program("talker");
    let other: Result<other::TalkContract::Imp<'_, other::TalkContract::Start>, _> =
        talker.connect("talk");
    let reason = not_made(other);
    assert!(reason.contains("another than the one"), "{reason}");
    let missing: Result<other::MissingContract::Imp<'_, other::MissingContract::Start>, _> =
        talker.connect("talk");
    assert!(not_made(missing).contains("no start-up endpoint"));
    let reason = not_made(talker.connect::<Imp<'_, Start>>("nothing"));
    assert!(reason.contains("no start-up endpoint"), "{reason}");
    let reason = not_made(talker.connect::<Imp<'_, Fetching>>("talk"));
    assert!(reason.contains("no start-up endpoint"), "{reason}");
    let reason = not_made(talker.connect::<TalkContract::Exp<'_, Start>>("talk"));
    assert!(reason.contains("no start-up endpoint"), "{reason}");
    let reason = not_made(system.program("gone").connect::<Imp<'_, Start>>("talk"));
    assert!(reason.contains("no such program"), "{reason}");
    let reason = not_made(talker.memory(1000).connect::<Imp<'_, Start>>("talk"));
    assert!(reason.contains("talker"), "{reason}");
    // It is called as little as the other one is talked with.
    assert!(not_made(system.program("talker").call(b"?")).contains("takes no calls"));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_host_has_either_side_and_any_state() {
    let _turn = turn();
    let system = start();
    let talker = system.program("talker");
    let fetched: Imp<'_, Fetching> = talker.connect("fetched").unwrap();
    match fetched.recv().unwrap() {
        Fetched::Data(bytes, 3, peer) => {
            assert_eq!(bytes[..], [0, 1, 2]);
            assert!(peer.call_add(1, false).is_ok());
        }
        other => panic!("{other:?}"),
    }
    // The process asks, and this program answers.
    let mut peer: TalkContract::Exp<'_, Start> = talker.connect("asks").unwrap();
    for number in 1..50 {
        match peer.recv().unwrap() {
            TalkContract::exp::Start::Add(asked, twice, next) => {
                assert_eq!((asked, twice), (number, false));
                peer = next.send_sum(i64::from(number) + 1).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}

fn misbehave(system: &System, how: u32) -> Result<i64, Error> {
    let peer = within(system.program("talker"), 100).connect::<Imp<'_, Start>>("talk");
    let Start_Misbehave::Sum(sum, _) = peer.unwrap().call_misbehave(how)?;
    Ok(sum)
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_process_can_die_in_the_middle() {
    let _turn = turn();
    let system = start();
    match misbehave(&system, 0) {
        Err(Error::Crashed { program, report }) => {
            assert_eq!(program, "talker");
            assert!(report.contains("unreachable"), "{report}");
            let said = "; it said last: panicked at tests/sips/talker/src/main.rs:";
            assert!(report.contains(said), "{report}");
            assert!(report.ends_with(": it crashes as it was told"), "{report}");
        }
        other => panic!("{other:?}"),
    }
    match misbehave(&system, 1) {
        Err(Error::Gone { how, .. }) => assert!(how.contains('9'), "{how}"),
        other => panic!("{other:?}"),
    }
    match misbehave(&system, 2) {
        Err(Error::Gone { how, .. }) => assert!(how.contains("closed its channel"), "{how}"),
        other => panic!("{other:?}"),
    }
    // Also if it dies while nobody waits for it: then the next receive says so, or the next send.
    let peer = connect(&system).send_misbehave(0).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    match peer.recv() {
        Err(Error::Crashed { report, .. }) => {
            assert!(report.ends_with(": it crashes as it was told"), "{report}");
        }
        other => panic!("{other:?}"),
    }
    // What it has said before is received first.
    let peer = connect(&system).send_misbehave(5).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let (last, peer) = peer.recv_sum().unwrap();
    assert_eq!(last, 7);
    match peer.send_add(1, false) {
        Err(Error::Gone { how, .. }) => assert!(how.contains('9'), "{how}"),
        other => panic!("{other:?}"),
    }
    let log = system.log().join("\n");
    assert!(log.contains("it crashes as it was told"), "{log}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_receive_has_a_deadline_and_a_budget() {
    let _turn = turn();
    let system = start();
    for how in [3, 4] {
        let begun = Instant::now();
        match misbehave(&system, how) {
            Err(Error::TimedOut { program, time }) => {
                assert_eq!((&program[..], time), ("talker", Duration::from_millis(100)));
            }
            other => panic!("{other:?}"),
        }
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(100), "{took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    // Changed in between; and anew for each receive.
    let mut peer = connect(&system).within(Duration::from_millis(150));
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(60));
        peer = peer.send_add(1, false).unwrap().recv_sum().unwrap().1;
    }
    let peer = peer.within(Duration::from_millis(20)).send_misbehave(4);
    assert!(matches!(peer.unwrap().recv(), Err(Error::TimedOut { .. })));
    let timed = system.program("talker").time(Duration::from_millis(250));
    let peer: Imp<'_, Start> = timed.connect("talk").unwrap();
    assert!(matches!(
        peer.call_misbehave(3),
        Err(Error::OutOfTime { .. })
    ));
    // What it has used between two receives counts, too.
    let peer: Imp<'_, Start> = timed.connect("talk").unwrap();
    let peer = peer.send_misbehave(3).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let begun = Instant::now();
    assert!(matches!(peer.recv(), Err(Error::OutOfTime { .. })));
    assert!(
        begun.elapsed() < Duration::from_millis(250),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn blocks_are_paid_for_by_who_has_them() {
    let _turn = turn();
    let system = start();
    // The process: a block that it is sent has to fit its memory, as one that it makes.
    let small = system.program("talker").memory(1 << 20);
    let peer: Imp<'_, Start> = small.connect("talk").unwrap();
    let reason = not_made(peer.send_cut(&vec![0; MOST_ANSWER], 0));
    assert!(reason.contains("no room in its memory"), "{reason}");
    let peer: Imp<'_, Start> = small.connect("talk").unwrap();
    let Fetched::Nothing(mut peer) = peer.call_fetch(1 << 20).unwrap() else {
        panic!("it has made a block that is larger than its memory");
    };
    // What the host has of it is the process's no more: it makes more than its memory in all.
    let mut held = Vec::new();
    for _ in 0..20 {
        let Fetched::Data(bytes, _, next) = peer.call_fetch(200_000).unwrap() else {
            panic!("it has no room after {} blocks", held.len());
        };
        held.push(bytes);
        peer = next;
    }
    held.clear();
    // The host: what it holds has a limit, and what it drops is free again.
    let mut peer = connect(&system);
    for _ in 0..100 {
        match peer.call_fetch(1 << 20) {
            Ok(Fetched::Data(bytes, _, next)) => {
                held.push(bytes);
                peer = next;
            }
            Ok(Fetched::Nothing(_)) => panic!("it has no room"),
            Err(error) => {
                assert!(not_made::<()>(Err(error)).contains("drop some first"));
                break;
            }
        }
        assert!(held.len() < 65, "the host holds {} MiB", held.len());
        peer = match held.len() {
            64.. => connect(&system),
            _ => peer,
        };
    }
    assert!(held.len() > 60, "the host holds {} MiB", held.len());
    // Others without blocks go on.
    assert!(connect(&system).call_add(1, false).is_ok());
    held.clear();
    let mut peer = connect(&system);
    for _ in 0..200 {
        let Fetched::Data(bytes, _, next) = peer.call_fetch(1 << 20).unwrap() else {
            panic!("it has no room");
        };
        assert_eq!(bytes.len(), 1 << 20);
        peer = next;
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_part_of_a_block_keeps_nothing_of_its_process() {
    let _turn = turn();
    let mut options = Options::default();
    options.memory = Some(64 << 20);
    let system = System::with(&image(), &options).unwrap();
    // The last byte of 2 MiB each: all of them would be more than the system has.
    let mut held = Vec::new();
    for number in 0..100 {
        let shares = number % 2 == 0;
        let fetched = connect(&system).call_part(2 << 20, (2 << 20) - 1, shares);
        let Fetched::Data(bytes, _, _) = fetched.unwrap() else {
            panic!("it has no room after {number} parts");
        };
        assert_eq!(bytes.len(), 1);
        held.push(bytes);
    }
    // A copy is what it was, and as long as one may be.
    let offset = (2 << 20) - MOST_ANSWER as u32;
    let fetched = connect(&system).call_part(2 << 20, offset, true);
    let Fetched::Data(bytes, _, _) = fetched.unwrap() else {
        panic!("it has no room");
    };
    assert_eq!(bytes.len(), MOST_ANSWER);
    assert!(bytes.iter().all(|byte| *byte == 0));
    let reason = not_made(connect(&system).call_part(3 << 20, 1 << 20, false));
    assert!(reason.contains("divided"), "{reason}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn the_host_can_be_the_source_of_random_bytes() {
    let _turn = turn();
    let mut options = Options::default();
    options.memory = Some(32 << 20);
    let system = System::with(&image(), &options).unwrap();
    // Each would leave a channel and an account behind, if the kernel had the same endpoint, too.
    let talker = system.program("talker");
    for _ in 0..20_000 {
        let source: EntropyContract::Exp<'_, EntropyContract::Ready> =
            talker.connect("random").unwrap();
        drop(source);
    }
}

/// One conversation that ends somewhere.
fn end_somewhere(system: &System, number: usize) {
    let peer = connect(system);
    match number % 12 {
        0 => drop(peer),
        1 => drop(peer.send_add(1, false).unwrap()),
        2 => drop(peer.call_add(1, false).unwrap()),
        3 => drop(peer.send_fetch(100_000).unwrap()),
        4 => drop(peer.call_fetch(100_000).unwrap()),
        // Messages that have come and are not received, with and without blocks.
        5 => {
            let peer = peer.send_count().unwrap();
            std::thread::sleep(Duration::from_micros(200));
            drop(peer);
        }
        6 => {
            let peer = peer.send_fetch(50_000).unwrap();
            std::thread::sleep(Duration::from_millis(1));
            drop(peer);
        }
        7 => {
            let Start_Count::Tick(_, peer) = peer.call_count().unwrap();
            drop(peer.recv().unwrap());
        }
        8 => drop(peer.begin_call_fetch(50_000)),
        9 => {
            let wait = peer.begin_call_misbehave(4);
            std::thread::sleep(Duration::from_micros(500));
            drop(wait);
        }
        // The block goes before the endpoint, and after.
        10 => {
            let Fetched::Data(bytes, _, peer) = peer.call_fetch(50_000).unwrap() else {
                panic!("no room")
            };
            drop(bytes);
            drop(peer);
        }
        _ => drop(peer.call_misbehave(0)),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn endpoints_that_are_dropped_anywhere_leave_nothing() {
    let _turn = turn();
    let mut options = Options::default();
    // Too little for what would be left of a thousand conversations.
    options.memory = Some(48 << 20);
    let system = System::with(&image(), &options).unwrap();
    (0..1200).for_each(|number| end_somewhere(&system, number));
    // As many processes may be kept as ever; the last are still to end, perhaps.
    let begun = Instant::now();
    let mut all: Vec<Imp<'_, Start>> = Vec::new();
    while all.len() < 20 {
        match system.program("talker").memory(1 << 20).connect("talk") {
            Ok(peer) => all.push(peer),
            Err(error) => {
                let late = begun.elapsed() > Duration::from_secs(10);
                assert!(!late, "{} processes, then: {error}", all.len());
            }
        }
    }
    for peer in all {
        assert!(peer.call_add(1, false).is_ok());
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn eight_threads_end_conversations_anywhere() {
    let _turn = turn();
    let system = start();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let system = &system;
            // Each begins elsewhere.
            scope.spawn(move || (0..120).for_each(|number| end_somewhere(system, thread + number)));
        }
    });
    let peer = connect(&system);
    let (sum, peer) = peer.send_add(3, false).unwrap().recv_sum().unwrap();
    assert_eq!(sum, 3);
    let Fetched::Data(bytes, _, _) = peer.call_fetch(2_000_000).unwrap() else {
        panic!("no room")
    };
    assert_eq!(bytes.len(), 2_000_000);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn receives_are_futures() {
    let _turn = turn();
    let system = start();
    runtime().block_on(async {
        let (first, second) = (connect(&system), connect(&system));
        let (first, second) = (
            first.begin_call_add(1, false),
            second.begin_call_add(2, true),
        );
        let Start_Add::Sum(sum, second) = second.await.unwrap();
        assert_eq!(sum, 4);
        let Start_Add::Sum(sum, first) = first.await.unwrap();
        assert_eq!(sum, 1);
        let waits = first.send_count().unwrap();
        let Start_Count::Tick(1, waits) = waits.begin_recv().await.unwrap() else {
            panic!("another tick")
        };
        drop(waits);
        let Fetched::Data(bytes, _, second) = second.begin_call_fetch(9).await.unwrap() else {
            panic!("no room")
        };
        assert_eq!(bytes[..], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        // What else the executor has goes on meanwhile; dropping the receive ends the process.
        let wait = tokio::time::timeout(Duration::from_millis(30), second.begin_call_misbehave(3));
        assert!(wait.await.is_err());
        let crash = connect(&system).begin_call_misbehave(0).await;
        assert!(matches!(crash, Err(Error::Crashed { .. })));
        // What is refused is, with nothing sent.
        let reason = broken(connect(&system).begin_call_add(1000, false).await);
        assert_eq!(reason, "TalkContract.Add requires number < 1000");
        let late = within(system.program("talker"), 30).connect::<Imp<'_, Start>>("talk");
        let late = late.unwrap().begin_call_misbehave(4).await;
        assert!(matches!(late, Err(Error::TimedOut { .. })));
        assert_eq!(bytes.len(), 9);
    });
}

/// A system that ends by itself after a while: its main program does.
fn start_for_a_while() -> System {
    let bytes = std::fs::read(common::path()).unwrap();
    let image = SystemImage::decode(&bytes).unwrap();
    let mut manifest = image.manifest().clone();
    manifest.start.push(Main {
        name: "talker".into(),
        image: "talker".into(),
        args: vec!["talker".into()],
        essential: false,
        main: true,
        supervisor: None,
    });
    let files: Vec<(String, &[u8])> = (image.files())
        .map(|(path, bytes)| (path.into(), bytes))
        .collect();
    let bytes = SystemImage::encode(&manifest, &files).unwrap();
    let path = std::env::temp_dir().join(format!("sing-talks-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let system = System::start(&Image::open(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    system
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn blocks_stay_when_the_system_has_ended_by_itself() {
    let _turn = turn();
    for forgets in [false, true] {
        let system = start_for_a_while();
        let Fetched::Data(bytes, _, mut peer) = connect(&system).call_fetch(300_000).unwrap()
        else {
            panic!("no room")
        };
        let ended = loop {
            match peer.call_add(1, false) {
                Ok(Start_Add::Sum(_, next)) => peer = next,
                Err(error) => break error,
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(matches!(ended, Error::Ended(..)), "{ended:?}");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(bytes.len(), 300_000);
        assert!(
            bytes
                .iter()
                .zip(0..)
                .all(|(byte, at): (_, usize)| *byte == at as u8)
        );
        match forgets {
            true => std::mem::forget(bytes),
            false => drop(bytes),
        }
        let begun = Instant::now();
        drop(system);
        assert!(begun.elapsed() < Duration::from_secs(5));
        // All of it has gone: another can be started.
        assert!(connect(&start()).call_add(1, false).is_ok());
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn many_threads_talk_at_once() {
    let _turn = turn();
    let system = start();
    std::thread::scope(|scope| {
        for thread in 1..9 {
            let system = &system;
            scope.spawn(move || {
                let mut peer = connect(system);
                for number in 1..60 {
                    let (sum, next) = peer.send_add(thread, false).unwrap().recv_sum().unwrap();
                    assert_eq!(sum, i64::from(thread * number));
                    peer = next;
                }
            });
        }
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_cancelled_future_is_polled_no_more_and_leaves_the_others() {
    let _turn = turn();
    let system = start();
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..300 {
        let mut wait = Box::pin(connect(&system).begin_call_misbehave(4));
        assert!(wait.as_mut().poll(&mut context).is_pending());
        drop(wait);
        let wait = connect(&system).begin_call_fetch(100_000);
        drop(wait);
    }
    assert!(connect(&system).begin_call_add(1, false).wait().is_ok());
}
