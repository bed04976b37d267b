//! Hostile clients of the hosted system's web server, all at once, beside a good one of another
//! address: its answers come, whole and within a bound, and nothing is left behind. The same of a
//! crowd ([`super::crowd`]).

use super::{crowd, ready, requests, scan};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long all may take.
const TIME: Duration = Duration::from_secs(120);
/// How long the good client is measured alone, before all storms.
const QUIET: Duration = Duration::from_secs(2);
/// How long a storm goes on.
const STORM: Duration = Duration::from_secs(4);
/// How long any answer of the good client's may take, and nine of ten. They take 16 ms where the machine has nothing else
/// to do, and took 140 to 420 when it waited behind all connections that the others had opened.
const WORST: Duration = Duration::from_secs(4);
const MOST: Duration = Duration::from_millis(250);
/// How long connections that still wait with the host, hundreds of them, are given to be served and
/// ended behind a storm.
const CALM: Duration = Duration::from_secs(6);
/// The least number of its requests: there are hundreds where the machine has nothing else to do.
const LEAST: usize = 40;
/// The addresses of the good client, and of the others. One address has half of the places.
pub const GOOD: u8 = 2;
const HOSTILE: [u8; 3] = [1, 3, 4];
/// Connections that are opened and dropped at random points of a request.
const DROPPED: u32 = 2000;
/// How long a hostile client waits for what the server says to it.
const WAIT: Duration = Duration::from_millis(700);

/// What is no request, or one that is refused.
const NONE: [&[u8]; 8] = [
    b"\x00\xff\xfe\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\nA: b\n\n",
    b"GET /%2e%2e/%2e%2e/boot/notes.txt HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST /try/count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
];

/// A request from which a part is sent.
const CUT: &[u8] =
    b"POST /try/count?a=b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";

/// On the hosted system.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let crowd = |port: u16, seed: u64| crowd::storm(port, seed, run.all);
    let cases: [(&str, Storm<'_>, [Duration; 2]); 2] = [
        ("hostile clients", &storm, [MOST, WORST]),
        ("ten thousand connections", &crowd, crowd::BOUNDS),
    ];
    for (name, storm, bounds) in cases {
        if run.wants(name) {
            let judged = judge(run, storm, bounds);
            report.count(name, judged.map_err(|e| format!("{e:#}")));
        }
    }
    Ok(report)
}

/// Lets hostile clients at a port, from a seed; how long each of the good client's requests took,
/// sorted.
type Storm<'a> = &'a dyn Fn(u16, u64) -> Result<Vec<Duration>>;

/// Whether nine of ten answers and all of them come within the bounds, and nothing is left behind.
fn judge(run: &Run, storm: Storm<'_>, bounds: [Duration; 2]) -> Result<()> {
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let [port, control] = [free_port()?, free_port()?];
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,192.0.2.0/24")];
    // What a system of files and programs has room for, beside a share of its network's sockets.
    let connections = if bounds == crowd::BOUNDS {
        crowd::PLACES
    } else {
        32
    };
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web && cp /boot/notes.txt /web\n\
         echo port {port} > /1; echo mount /hello web-hello ahead 2 > /2\n\
         echo mount /try web-try deadline 1s > /3; echo header 2s > /4\n\
         echo connections {connections} > /5; cat /1 /2 /3 /4 /5 > /web.conf; httpd; echo ready\n\
         echo | nc -l {control}; webs beside {port} {control}\n\
         httpd; sweep && echo swept; httpd stop\n"
    );
    let time = if run.all { TIME * 10 } else { TIME };
    let deadline = Instant::now() + time;
    let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
    let played = ready(&mut session, deadline).and_then(|_| {
        let end = [port, control];
        play(&mut session, end, storm, bounds)
    });
    if played.is_err() {
        // The system waits for this.
        for _ in 0..2 {
            drop(TcpStream::connect((Ipv4Addr::LOCALHOST, control)));
        }
    }
    let (output, ended) = session.finish(deadline);
    let said = played.with_context(|| output.clone())?;
    for whole in ["nothing left behind\n", "swept\n", "busy         0\n"] {
        let whole_there = output.contains(whole);
        ensure!(whole_there, "no `{}`, {ended:?}\n{output}", whole.trim());
    }
    println!("  {said}");
    Ok(())
}

/// Two storms: what programs keep for good they have after the first.
fn play(
    session: &mut Session,
    [port, control]: [u16; 2],
    storm: Storm<'_>,
    [most_wanted, worst_wanted]: [Duration; 2],
) -> Result<String> {
    requests(port).context("before the storm")?;
    let end = Instant::now() + QUIET;
    let mut quiet = good(port, WORST * 2, || Instant::now() < end).context("without a storm")?;
    quiet.sort();
    storm(port, 1).context("the first storm")?;
    std::thread::sleep(CALM);
    tell(control)?;
    ready(session, Instant::now() + TIME).context("before the second storm")?;
    let times = storm(port, 2).context("the second storm")?;
    requests(port).context("behind the storm")?;
    std::thread::sleep(CALM);
    tell(control)?;
    let said = format!(
        "{} to the good client; without a storm {}",
        shown(&times),
        shown(&quiet)
    );
    let [most, worst] = [9, 10].map(|tenths| within(&times, tenths));
    ensure!(
        times.len() >= LEAST && most <= most_wanted && worst <= worst_wanted,
        "{said}; the bounds are {LEAST}, {most_wanted:?} and {worst_wanted:?}"
    );
    Ok(said)
}

/// Within what so many tenths of sorted times are.
pub fn within(times: &[Duration], tenths: usize) -> Duration {
    let at = times.len() * tenths / 10;
    times.get(at).or(times.last()).copied().unwrap_or_default()
}

/// Sorted times of answers, for people.
pub fn shown(times: &[Duration]) -> String {
    let [half, most, all] = [5, 9, 10].map(|tenths| within(times, tenths));
    format!(
        "{} answers, half within {half:.1?}, nine of ten within {most:.1?}, all within {all:.1?}",
        times.len()
    )
}

/// A connection to the server from 127.0.0.`from`.
pub fn reach(port: u16, from: u8) -> Result<TcpStream> {
    let own = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&own, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, from), 0))?;
    connect(&own, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    let stream = TcpStream::from(own);
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// This thread, one that sends without end, runs when the server and the good client need no processor. It would be on
/// a machine of its own: what is measured is what it costs the server, not what its work costs this machine.
fn yields() {
    // Where this may not be, the test is the harder.
    let _ = rustix::process::nice(19);
}

/// Lets all at the server; how long each of the good client's requests took, sorted.
fn storm(port: u16, seed: u64) -> Result<Vec<Duration>> {
    let end = Instant::now() + STORM;
    let (over, dropped) = (AtomicBool::new(false), AtomicU32::new(0));
    let first = Mutex::new(None);
    let attacks: [fn(u16, u8, Instant); 5] = [drip, endless, giant, nonsense, half_closed];
    let (mut times, scanned) = std::thread::scope(|scope| {
        let scanned = scope.spawn(|| scan::all(port, seed));
        for from in HOSTILE {
            for attack in attacks {
                for _ in 0..4 {
                    scope.spawn(move || {
                        yields();
                        attack(port, from, end);
                    });
                }
            }
            let dropped = &dropped;
            scope.spawn(move || drops(port, from, seed, dropped));
        }
        let last = end + Duration::from_secs(20);
        let goes_on = || {
            let now = Instant::now();
            now < end || dropped.load(Relaxed) < DROPPED && now < last
        };
        let good = good(port, WORST * 2, goes_on);
        over.store(true, Relaxed);
        let good = good
            .map_err(|error| first.lock().map(|mut first| *first = Some(error)))
            .unwrap_or_default();
        (good, scanned.join().expect("a thread of the test"))
    });
    if let Ok(Some(error)) = first.into_inner() {
        return Err(error);
    }
    scanned?;
    let dropped = dropped.into_inner();
    ensure!(
        dropped >= DROPPED,
        "only {dropped} connections were dropped"
    );
    times.sort();
    Ok(times)
}

/// The good client: a connection for each request, as long as the storm goes on.
pub fn good(port: u16, patience: Duration, goes_on: impl Fn() -> bool) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut buffer = vec![0; 4096];
    while goes_on() {
        let since = Instant::now();
        let (path, wanted) = match times.len() % 2 {
            0 => (
                "/hello?name=good",
                "Hello, good, from a process of your own",
            ),
            _ => ("/notes.txt", "Notes on this system"),
        };
        let stream = reach(port, GOOD).context("the good client cannot connect")?;
        stream.set_read_timeout(Some(patience))?;
        write!(
            &stream,
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )?;
        let mut text = Vec::new();
        let mut reader = BufReader::new(stream);
        loop {
            let count = reader
                .read(&mut buffer)
                .with_context(|| format!("no answer in {:?}", since.elapsed()))?;
            if count == 0 {
                break;
            }
            text.extend_from_slice(&buffer[..count]);
        }
        let text = String::from_utf8_lossy(&text);
        ensure!(
            text.starts_with("HTTP/1.1 200 ") && text.contains(wanted),
            "the good client is answered {text:?} after {:?}",
            since.elapsed()
        );
        times.push(since.elapsed());
    }
    Ok(times)
}

/// Reads what the server says until it ends, or says nothing for a while.
fn hear(stream: &TcpStream) {
    let mut reader = stream;
    // A hostile client does not care how it ends.
    while matches!(reader.read(&mut [0; 4096]), Ok(1..)) {}
}

/// Slow-loris: a head that comes byte by byte and never ends.
fn drip(port: u16, from: u8, end: Instant) {
    while Instant::now() < end {
        let Ok(mut stream) = reach(port, from) else {
            continue;
        };
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX: ");
        while Instant::now() < end && stream.write_all(b"y").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A head without end.
fn endless(port: u16, from: u8, end: Instant) {
    while Instant::now() < end {
        let Ok(mut stream) = reach(port, from) else {
            continue;
        };
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n");
        while Instant::now() < end && stream.write_all(b"Name: and a value\r\n").is_ok() {}
    }
}

/// Bodies that are said to be large, or have no end, to a program and to a file.
fn giant(port: u16, from: u8, end: Instant) {
    let block = [b"8000\r\n".as_slice(), &[b'z'; 0x8000], b"\r\n"].concat();
    while Instant::now() < end {
        for (path, framing) in [
            ("/try/count", "Transfer-Encoding: chunked"),
            ("/try/echo", "Transfer-Encoding: chunked"),
            ("/notes.txt", "Content-Length: 1000000"),
            ("/hello", "Content-Length: 1000000000000"),
        ] {
            let Ok(mut stream) = reach(port, from) else {
                continue;
            };
            let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            for _ in 0..40 {
                if Instant::now() >= end || stream.write_all(&block).is_err() {
                    break;
                }
            }
            hear(&stream);
        }
    }
}

/// Requests that are none.
fn nonsense(port: u16, from: u8, end: Instant) {
    for bytes in NONE.iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        if let Ok(mut stream) = reach(port, from) {
            let _ = stream.write_all(bytes);
            hear(&stream);
        }
    }
}

/// Connections whose client has ended its direction, before or behind a request, and reads nothing.
fn half_closed(port: u16, from: u8, end: Instant) {
    let requests: [&[u8]; 3] = [
        b"",
        b"GET /notes.txt HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /try/stream?bytes=10000000 HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    for request in requests.iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        if let Ok(mut stream) = reach(port, from) {
            let _ = stream.write_all(request);
            let _ = stream.shutdown(Shutdown::Write);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Connections that are dropped at random points of a request.
fn drops(port: u16, from: u8, seed: u64, dropped: &AtomicU32) {
    let mut state = seed.wrapping_mul(2) + u64::from(from) * 1_000_003;
    while dropped.fetch_add(1, Relaxed) < DROPPED {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let Ok(mut stream) = reach(port, from) else {
            continue;
        };
        let _ = stream.write_all(&CUT[..(state >> 33) as usize % (CUT.len() + 1)]);
    }
}
