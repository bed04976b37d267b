//! Drawn attacks on the border between a host program and the system inside it: from a seed, several threads call, begin,
//! drop, talk and forge at random instants, and systems are dropped under them. Each round ends in time, nothing of it
//! panics, and what the process has of Linux is as before.
//!
//! A test program of its own: the counts are those of the whole process. `SING_FUZZ_SECONDS`, `SING_FUZZ_SEED` and
//! `SING_FUZZ_ROUNDS` say how long and from where on.

mod common;

use common::{handlers, image, number, path};
use rustix::process::{Signal, getpid, kill_process};
use sing_calls::{Endpoint as Asking, Limits, Message, Op};
use sing_embed::rt::{Incoming, Link, Outgoing, Wanted};
use sing_embed::{Access, Error, Image, MOST_BYTES, Options, Program, System};
use sing_hosted::embed::Running;
use sing_hosted::{Asked, Config, Port};
use sing_image::system::{Start as Main, SystemImage};
use std::collections::BTreeMap;
use std::future::Future as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

sing_embed::contract!("../tests/sips/talker/talker.contract");

use TalkContract::imp::Fetching as Fetched;
use TalkContract::{Imp, Start};

/// How long a round may take: a system that hangs is found by that.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a process may do that does not end by itself.
const FOREVER: [&[u8]; 2] = [b"loop", b"wait"];

/// After so many rounds each of these has happened.
const ENOUGH: u64 = 40;
const ALWAYS: [&str; 7] = [
    "call: done",
    "call: crashed",
    "waited: done",
    "asked: done",
    "begun and dropped: done",
    "typed: done",
    "bare: done",
];

#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A text of any characters.
    fn text(&mut self, most: usize) -> String {
        let len = self.below(most + 1);
        let chars = [
            'a',
            'z',
            '\0',
            '=',
            '/',
            '.',
            '\n',
            '\u{1f600}',
            '\u{202e}',
            '-',
            ' ',
        ];
        (0..len).map(|_| self.of(&chars)).collect()
    }

    fn pause(&mut self) {
        match self.below(4) {
            0 => thread::yield_now(),
            1 => {}
            _ => thread::sleep(Duration::from_micros(self.next() % 400)),
        }
    }
}

/// What was done, and how it ended.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<String, u64>>);

impl Counts {
    fn note(&self, what: &str, result: Result<(), &Error>) {
        let how = match result {
            Ok(()) => "done",
            Err(Error::Ended(..)) => "no system",
            Err(Error::Empty | Error::TooLong { .. } | Error::Words { .. }) => "a bad call",
            Err(Error::Directory { .. }) => "a bad directory",
            Err(Error::NotMade(_)) => "not made",
            Err(Error::Refused { .. }) => "refused",
            Err(Error::Crashed { .. }) => "crashed",
            Err(Error::Gone { .. }) => "gone",
            Err(Error::OutOfMemory { .. }) => "out of memory",
            Err(Error::OutOfTime { .. }) => "out of time",
            Err(Error::TimedOut { .. }) => "timed out",
            Err(Error::Broken { .. }) => "broken",
            Err(_) => "another",
        };
        *self
            .0
            .lock()
            .unwrap()
            .entry(format!("{what}: {how}"))
            .or_default() += 1;
    }
}

/// Bytes of a call, and whether its process ends by itself.
fn call(random: &mut Random) -> (Vec<u8>, bool) {
    let word: &[u8] = match random.below(16) {
        0 => b"crash",
        1 => b"exit",
        2 => b"greedy",
        3 => b"hoard",
        4 => b"large",
        5 => b"larger",
        6 => b"panic and say so",
        7 => b"sum 100000",
        8 => b"what",
        9 => return (random.of(&FOREVER).to_vec(), false),
        10 => {
            let len = random.of(&[
                0,
                1,
                100,
                MOST_BYTES - 1,
                MOST_BYTES,
                MOST_BYTES + 1,
                1 << 20,
            ]);
            return ((0..len).map(|at| at as u8 | 0x80).collect(), true);
        }
        11 => {
            let len = random.below(3000);
            let mut bytes = b"echo ".to_vec();
            bytes.extend((0..len).map(|_| random.next() as u8));
            return (bytes, true);
        }
        _ => b"echo on",
    };
    (word.to_vec(), true)
}

/// A program with drawn limits; a deadline in any case if `ends` is not.
fn limited<'s>(random: &mut Random, mut program: Program<'s>, ends: bool) -> Program<'s> {
    if random.one_in(4) {
        program = program.memory(random.of(&[0, 1, 4096, 100_000, 300_000, 1 << 20, u64::MAX]));
    }
    if random.one_in(4) {
        let time = random.of(&[0, 1, 10_000, 1_000_000, 50_000_000, u64::MAX]);
        program = program.time(Duration::from_nanos(time));
    }
    if !ends || random.one_in(4) {
        let most = if ends { u64::MAX } else { 7_000_000 };
        let deadline = random.of(&[0, 1, 1000, 100_000, 3_000_000, most]);
        program = program.deadline(Duration::from_nanos(deadline));
    }
    program
}

fn plugin<'s>(random: &mut Random, system: &'s System) -> Program<'s> {
    let name = match random.below(24) {
        0 => random.text(10),
        1 => "n".repeat(random.of(&[64, 65, 5000])),
        2 => random
            .of(&["hello", "brood", "talker", "host-directory", ""])
            .into(),
        _ => "plugin".into(),
    };
    system.program(&name)
}

/// An endpoint of no type.
struct Bare<'s>(Link<'s>);

impl<'s> sing_embed::Endpoint<'s> for Bare<'s> {
    const WANTED: Wanted = <Imp<'static, Start> as sing_embed::Endpoint>::WANTED;
    fn with(link: Link<'s>) -> Self {
        Bare(link)
    }
}

/// A message as a confused host would send it.
fn message(random: &mut Random) -> Outgoing {
    let mut message =
        Outgoing::new(random.of(&[0, 0, 0, 1, 3, 3, 6, 7, 9, 11, 13, 14, 99, u32::MAX]));
    for _ in 0..random.of(&[0, 1, 2, 2, 3, 5, 13, 40]) {
        message.word(random.of(&[0, 1, 2, 100, 999, 1000, 1 << 20, 1 << 31, u64::MAX]));
    }
    message
}

/// A conversation, with whatever comes kept for a while.
fn talk<'s>(
    random: &mut Random,
    system: &'s System,
    keeps: &mut Vec<Incoming<'s>>,
    counts: &Counts,
) {
    let talker = limited(random, system.program("talker"), false);
    let endpoint = match random.below(10) {
        0 => random.text(70),
        1 => "fetched".into(),
        _ => "talk".into(),
    };
    if random.one_in(2) {
        // By its types.
        let length = random.of(&[1, 100, 5000, 300_000]);
        let spoken = talker
            .connect::<Imp<'_, Start>>(&endpoint)
            .and_then(|peer| {
                let (_, peer) = peer.send_add(1, false)?.recv_sum()?;
                random.pause();
                match random.below(5) {
                    0 => return Ok(()),
                    1 => drop(peer.begin_call_misbehave(random.below(5) as u32)),
                    2 => drop(peer.send_say("to nobody")?),
                    3 => {
                        let mut call = Box::pin(peer.begin_call_fetch(length));
                        let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                        random.pause();
                    }
                    _ => {
                        let Fetched::Data(bytes, sum, peer) = peer.call_fetch(length)? else {
                            return Ok(());
                        };
                        let real = bytes
                            .iter()
                            .fold(0u32, |sum, byte| sum.wrapping_add((*byte).into()));
                        assert_eq!((bytes.len(), sum), (length as usize, real));
                        drop(peer);
                        assert_eq!(bytes.len(), length as usize);
                    }
                }
                Ok(())
            });
        return counts.note("typed", spoken.as_ref().map(|_| ()));
    }
    let link = match talker.connect::<Bare<'_>>(&endpoint) {
        Ok(Bare(link)) => link,
        Err(error) => return counts.note("connect", Err(&error)),
    };
    for _ in 0..random.below(6) {
        let done = match random.below(4) {
            0 => link.receive().map(|come| keeps.push(come)),
            1 => link.exchange(message(random)).map(|come| keeps.push(come)),
            _ => link.send(message(random)),
        };
        counts.note("bare", done.as_ref().map(|_| ()));
    }
    random.pause();
}

/// A call with words and directories that may be none.
fn with_words(random: &mut Random, system: &System, counts: &Counts) {
    let mut program = limited(random, system.program("copy"), false);
    for _ in 0..random.of(&[0, 1, 3, 1100]) {
        program = program.arg(&random.text(12));
    }
    if random.one_in(6) {
        program = program.arg(&"x".repeat(random.of(&[1 << 10, (64 << 10) - 20, 64 << 10])));
    }
    for _ in 0..random.below(4) {
        let (name, value) = (random.text(5), random.text(5));
        program = program.env(&name, &value);
    }
    for _ in 0..random.of(&[0, 0, 1, 2, 9]) {
        let host = random.of(&["/tmp", "/proc/self", "/nowhere", "/dev/null", "", "a\0b"]);
        let access = random.of(&[Access::ReadOnly, Access::Writable]);
        program = program.dir(host.as_ref(), &random.text(9), access);
    }
    let called = program.call(b"some bytes");
    counts.note("words", called.as_ref().map(|_| ()));
}

/// One step of a thread's.
fn step<'s>(
    random: &mut Random,
    system: &'s System,
    keeps: &mut Vec<Incoming<'s>>,
    counts: &Counts,
) {
    let (bytes, ends) = call(random);
    let chosen = plugin(random, system);
    let program = limited(random, chosen, ends);
    match random.below(9) {
        0 | 1 => {
            let answer = program.call(&bytes);
            if let (Ok(answer), true) = (&answer, bytes.starts_with(b"echo ")) {
                assert_eq!(answer[..], bytes[5..]);
            }
            counts.note("call", answer.as_ref().map(|_| ()));
        }
        2 => {
            let begun = program.begin(&bytes);
            random.pause();
            drop(begun);
            counts.note("begun and dropped", Ok(()));
        }
        3 => {
            let mut begun = Box::pin(program.begin(&bytes));
            let polled = begun.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            random.pause();
            drop(begun);
            counts.note(
                "polled",
                if polled.is_ready() {
                    Ok(())
                } else {
                    Err(&Error::Empty)
                },
            );
        }
        4 => {
            let answer = program.begin(&bytes).wait();
            counts.note("waited", answer.as_ref().map(|_| ()));
        }
        5 => match program.open() {
            Ok(mut kept) => {
                for _ in 0..random.below(5) {
                    match random.one_in(3) {
                        true => drop(kept.begin(&bytes)),
                        false => counts.note("asked", kept.call(&bytes).as_ref().map(|_| ())),
                    }
                }
            }
            Err(error) => counts.note("open", Err(&error)),
        },
        6 => with_words(random, system, counts),
        _ => talk(random, system, keeps, counts),
    }
    if random.one_in(5) {
        keeps.clear();
    }
}

/// Sends the process a signal that it has a handler for, on whatever thread, and waits until that has been called.
fn handled() {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(Signal::USR1.as_raw(), Arc::clone(&flag)).unwrap();
        flag
    });
    flag.store(false, SeqCst);
    kill_process(getpid(), Signal::USR1).unwrap();
    let begun = Instant::now();
    while !flag.load(SeqCst) {
        assert!(
            begun.elapsed() < PATIENCE / 4,
            "a signal of the program's own was not handled"
        );
        thread::yield_now();
    }
}

/// Threads that do whatever they like with one system, which is as good as new afterwards.
fn herd(seed: u64, counts: &Counts) {
    let mut random = Random(seed);
    let mut options = Options::default();
    options.memory = random.of(&[None, None, Some(1 << 30)]);
    options.directories = random.of(&[16, 1, 64, 1000]);
    let system = System::with(&image(), &options).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let signals = random.one_in(3).then(|| {
            scope.spawn(|| {
                // One that nobody handles, and that ends nothing; and the program's own.
                while !over.load(SeqCst) {
                    kill_process(getpid(), Signal::WINCH).unwrap();
                    thread::sleep(Duration::from_micros(300));
                    handled();
                }
            })
        });
        let threads: Vec<_> = (0..1 + random.below(6))
            .map(|number| {
                let (mut random, system) = (Random(random.next() ^ number as u64), &system);
                let small =
                    thread::Builder::new().stack_size(random.of(&[64 << 10, 256 << 10, 2 << 20]));
                let work = move || {
                    let mut keeps = Vec::new();
                    for _ in 0..30 {
                        step(&mut random, system, &mut keeps, counts);
                    }
                };
                small.spawn_scoped(scope, work).unwrap()
            })
            .collect();
        let ended: Vec<_> = threads
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        over.store(true, SeqCst);
        drop(signals);
        ended
            .into_iter()
            .for_each(|ended| ended.unwrap_or_else(|p| std::panic::resume_unwind(p)));
    });
    // All that was begun ends, so that as many may be open as ever.
    let plugin = system.program("plugin");
    let begun = Instant::now();
    let mut kept = Vec::new();
    while kept.len() < 256 {
        match plugin.open() {
            Ok(process) => kept.push(process),
            Err(error) if begun.elapsed() > PATIENCE / 4 => {
                panic!("{} kept, then {error}", kept.len())
            }
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
    assert_eq!(kept[255].call(b"asked").unwrap(), b"1");
}

/// Requests of a host that makes them up, with numbers of processes that are others' or nobody's; and a system that is
/// dropped under them.
fn forge(seed: u64, counts: &Counts) {
    const OPS: [Op; 10] = [
        Op::Call,
        Op::Open,
        Op::Serve,
        Op::Talk,
        Op::Send,
        Op::Receive,
        Op::Exchange,
        Op::Ask,
        Op::Close,
        Op::Cancel,
    ];
    let running =
        Running::start(&image(), Config::default(), sing_kernel::Options::default()).unwrap();
    let mut random = Random(seed);
    let known = AtomicU64::new(8);
    let work = |port: Arc<Port>, mut random: Random, known: &AtomicU64| {
        let wanted = <Imp<'static, Start> as sing_embed::Endpoint>::WANTED;
        for _ in 0..60 {
            let near = known.load(SeqCst) - random.next() % 8;
            let process = random.of(&[near, near, near, near, 0, u64::MAX, 1 << 32]);
            let op = random.of(&OPS);
            let (words, name) = ([random.next() % 2000; 13], random.text(12));
            let (bytes, _) = call(&mut random);
            let name = random.of(&[
                "plugin",
                "plugin",
                "talker",
                "talker",
                "host-directory",
                &name,
            ]);
            let state = random.of(&["Start", "Start", "Fetching", "none", ""]);
            let deadline = random.of(&[0, 100_000, 3_000_000, 3_000_000, 3_000_000]);
            let state = random.of(&["Start", "Start", "Start", state]);
            let directories = [near, process, near + 1, 0, 1, 2, 3, 4, 5];
            let asked = Asked {
                op,
                process,
                limits: Limits {
                    memory: random.of(&[0, 1 << 18, u64::MAX, u64::MAX, u64::MAX]),
                    time: u64::MAX,
                    deadline,
                },
                name,
                endpoint: (!random.one_in(8)).then_some(Asking {
                    name: random.of(&["talk", "talk", "talk", "calls", "random", "nothing"]),
                    contract: wanted.contract.name,
                    identity: &wanted.contract.identity,
                    state,
                    exports: !random.one_in(8),
                }),
                message: (!random.one_in(8)).then_some(Message {
                    index: (random.next() % 18) as u32,
                    words: &words[..random.of(&[0, 1, 2, 2, 2, 5, 13])],
                }),
                directories: &directories[..random.of(&[0, 0, 0, 0, 0, 0, 1, 2, 8, 9])],
                arguments: &bytes[..random.of(&[0, 0, 0, 0, 0, 0, 1, 4, 7]).min(bytes.len())],
                bytes: &bytes,
            };
            match op {
                Op::Close => port.tell(op, process),
                // A call that is withdrawn has no answer, so whoever waits for it withdraws it alone.
                Op::Cancel => port.tell(op, random.of(&[0, u64::MAX, 1 << 32])),
                _ if random.one_in(4) => {
                    let pending = port.ask(&asked);
                    known.fetch_max(pending.id(), SeqCst);
                    match random.one_in(2) {
                        true => port.tell(Op::Cancel, pending.id()),
                        false => drop(pending),
                    }
                }
                Op::Free => {}
                _ => {
                    let reply = match op {
                        // Who makes a process knows its number, and so do the others.
                        Op::Open | Op::Talk | Op::Serve => {
                            let mut pending = port.ask(&asked);
                            known.fetch_max(pending.id(), SeqCst);
                            pending.wait()
                        }
                        _ => port.call(&asked),
                    };
                    counts.note(&format!("forged {op:?} {:?}", reply.outcome), Ok(()));
                }
            }
        }
    };
    let drops = random.one_in(2);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..1 + random.below(5))
            .map(|_| {
                let (port, random, known) =
                    (Arc::clone(running.port()), Random(random.next()), &known);
                scope.spawn(move || work(port, random, known))
            })
            .collect();
        if drops {
            thread::sleep(Duration::from_micros(random.next() % 20_000));
            drop(running);
        }
        threads
            .into_iter()
            .for_each(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
    });
}

/// A system whose image is none, or whose manifest names what is not there.
fn images(seed: u64, counts: &Counts) {
    let mut random = Random(seed);
    let bytes = std::fs::read(path()).unwrap();
    let name = std::env::temp_dir().join(format!("sing-fuzz-{}", std::process::id()));
    let start = |bytes: &[u8]| {
        std::fs::write(&name, bytes).unwrap();
        let system = System::start(&Image::open(&name).unwrap());
        std::fs::remove_file(&name).unwrap();
        system
    };
    for _ in 0..4 {
        let cut = match random.below(3) {
            // `Image::open` refuses what does not begin as one.
            0 => 8 + random.below(192),
            1 => random.below(bytes.len()),
            _ => bytes.len() - 1 - random.below(100),
        };
        let cut = start(&bytes[..cut]);
        assert!(matches!(cut, Err(Error::Image(_))), "{cut:?}");
    }
    let whole = SystemImage::decode(&bytes).unwrap();
    let mut manifest = whole.manifest().clone();
    for _ in 0..random.below(4) {
        let text = random.text(20);
        manifest.start.push(Main {
            name: random.of(&["a", "b", "talker", &text]).into(),
            image: random.of(&["hello", "nothing", "plugin", &text]).into(),
            args: (0..random.below(4)).map(|_| random.text(9)).collect(),
            essential: random.one_in(2),
            main: random.one_in(3),
            supervisor: None,
        });
    }
    let files: Vec<(String, &[u8])> = whole
        .files()
        .filter(|_| !random.one_in(6))
        .map(|(path, bytes)| (path.into(), bytes))
        .collect();
    let Ok(bytes) = SystemImage::encode(&manifest, &files) else {
        return counts.note("no image", Ok(()));
    };
    match start(&bytes) {
        Ok(system) => {
            // Whether it is there is its manifest's doing; what it answers is right, and it ends.
            let plugin = system.program("plugin").deadline(Duration::from_secs(5));
            for _ in 0..3 {
                match plugin.call(b"echo on") {
                    Ok(answer) => assert_eq!(answer, b"on"),
                    Err(error) => counts.note("another image", Err(&error)),
                }
                random.pause();
            }
        }
        Err(error) => counts.note("another image", Err(&error)),
    }
}

/// A round in a thread of its own, which has to end.
fn round(seed: u64, counts: &Arc<Counts>) {
    let (tell, told) = mpsc::channel();
    let shared = Arc::clone(counts);
    let attack = [herd, herd, herd, forge, forge, images][Random(seed).below(6)];
    let thread = thread::spawn(move || {
        attack(seed, &shared);
        let _ = tell.send(());
    });
    match told.recv_timeout(PATIENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("seed {seed}: the round has not ended within {PATIENCE:?}");
            // What hangs cannot be waited for.
            std::process::exit(101);
        }
        _ => thread.join().unwrap_or_else(|p| {
            eprintln!("seed {seed}: a round has failed");
            std::panic::resume_unwind(p)
        }),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test fuzz-embed"]
fn drawn_attacks_leave_nothing_behind() {
    let first = number("SING_FUZZ_SEED").unwrap_or(1);
    let most = number("SING_FUZZ_ROUNDS").unwrap_or(u64::MAX);
    let end = Instant::now() + Duration::from_secs(number("SING_FUZZ_SECONDS").unwrap_or(5));
    let counts = Arc::new(Counts::default());
    handled();
    let before = handlers();
    // What the libraries set up once.
    for seed in 0..6 {
        round(seed, &counts);
    }
    // Linux may count a thread that has been waited for a little longer.
    thread::sleep(Duration::from_millis(50));
    let warm = common::counts();
    let mut rounds = 0;
    while rounds < most && Instant::now() < end {
        let seed = first + rounds;
        round(seed, &counts);
        rounds += 1;
        handled();
        let mut now = common::counts();
        let patience = Instant::now() + Duration::from_secs(2);
        while now[..2] != warm[..2] && Instant::now() < patience {
            thread::sleep(Duration::from_millis(1));
            now = common::counts();
        }
        if rounds % 200 == 0 {
            println!("{rounds} rounds: {now:?}");
        }
        assert_eq!(handlers(), before, "seed {seed}");
        assert_eq!(now[..2], warm[..2], "seed {seed}: descriptors, threads");
        assert!(
            now[2] <= warm[2] + 40,
            "seed {seed}: mappings: {warm:?}, then {now:?}"
        );
        assert!(
            now[3] <= warm[3] + (256 << 10),
            "seed {seed}: addresses: {warm:?}, then {now:?}"
        );
        assert!(
            now[4] <= warm[4] + (64 << 10),
            "seed {seed}: memory: {warm:?}, then {now:?}"
        );
    }
    println!(
        "{rounds} rounds from seed {first}; {warm:?}, then {:?}",
        common::counts()
    );
    let counts = counts.0.lock().unwrap();
    for (what, count) in counts.iter() {
        println!("{count:>8} {what}");
    }
    // Whatever is drawn, some of each is done in so many rounds: attacks that are all refused would show nothing.
    if rounds >= ENOUGH {
        let missing = ALWAYS.iter().find(|what| !counts.contains_key(**what));
        assert_eq!(missing, None, "in {rounds} rounds from seed {first}");
    }
}
