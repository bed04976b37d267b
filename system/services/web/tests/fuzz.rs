//! Fuzzing of what reads a connection's bytes, against a model: requests of which the content is
//! known, broken at random places, cut into random pieces.
//!
//! Runs for a second, or as long as SING_FUZZ_SECONDS says. It begins with a seed that it prints
//! where it fails; SING_FUZZ_SEED repeats a run.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use web::conditions::{self, Answer, State};
use web::head::{Fault, Head};
use web::requests::{Event, Requests};
use web::target::Target;

/// The most bytes of a body.
const MOST: u64 = 20_000;
/// The most bytes that a fault may leave waiting beside what was fed at once: a head.
const HELD: usize = 20 << 10;

/// A request of which all is known.
struct Known {
    method: &'static str,
    target: String,
    body: Vec<u8>,
    bytes: Vec<u8>,
}

fn below(rng: &mut TestRng, most: usize) -> usize {
    (rng.next_u64() % most.max(1) as u64) as usize
}

fn known(rng: &mut TestRng) -> Known {
    let method = ["GET", "POST", "HEAD", "PUT", "DELETE"][below(rng, 5)];
    let target = format!("/{}?{}", below(rng, 100), below(rng, 9));
    let len = match below(rng, 4) {
        0 => 0,
        1 => below(rng, 10),
        2 => below(rng, 300),
        _ => below(rng, MOST as usize),
    };
    let body: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
    let mut bytes = b"\r\n".repeat(below(rng, 2));
    bytes.extend(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n").bytes());
    for number in 0..below(rng, 5) {
        let space = ["", " ", "\t "][below(rng, 3)];
        bytes.extend(format!("X-{number}:{space}{}\r\n", below(rng, 1000)).bytes());
    }
    if below(rng, 2) == 0 {
        bytes.extend(format!("Content-Length: {len}\r\n\r\n").bytes());
        bytes.extend(&body);
    } else {
        bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(1 + below(rng, rest.len()));
            let extension = ["", ";a", ";a=b"][below(rng, 3)];
            bytes.extend(format!("{:x}{extension}\r\n", piece.len()).bytes());
            bytes.extend(piece);
            bytes.extend(b"\r\n");
            rest = behind;
        }
        bytes.extend([b"0\r\n\r\n".as_slice(), b"0\r\nA: b\r\n\r\n"][below(rng, 2)]);
    }
    Known {
        method,
        target,
        body,
        bytes,
    }
}

/// Changes bytes at random places.
fn broken(rng: &mut TestRng, bytes: &mut Vec<u8>) {
    const PIECES: [&[u8]; 12] = [
        b"\r\n",
        b"\n",
        b"\r",
        b":",
        b" ",
        b"\0",
        b"0",
        b"ffffffffffffffffff",
        b"chunked",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
    ];
    for _ in 0..=below(rng, 3) {
        let at = below(rng, bytes.len());
        match below(rng, 5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = rng.next_u32() as u8,
            2 => {
                let end = (at + below(rng, 50)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let long = vec![b'a'; below(rng, 30_000)];
                bytes.splice(at..at, long);
            }
            _ => {
                let piece = PIECES[below(rng, PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
}

/// What has been found of a request: its head, its body, whether it is over.
type Request = (Head, Vec<u8>, bool);

/// What is found in bytes that come in these pieces: bodies joined, and the fault that ends it.
fn found(rng: &mut TestRng, bytes: &[u8], largest: usize) -> (Vec<Request>, Option<Fault>) {
    let mut requests = Requests::new(MOST);
    let mut all: Vec<Request> = Vec::new();
    let mut rest = bytes;
    loop {
        loop {
            match requests.event() {
                Ok(Some(Event::Head(head))) => {
                    assert!(all.last().is_none_or(|(_, _, over)| *over), "two heads");
                    all.push((head, Vec::new(), false));
                }
                Ok(Some(Event::Content(content))) => {
                    let (_, body, over) = all.last_mut().expect("content behind a head");
                    assert!(!*over && !content.is_empty());
                    body.extend(content);
                    assert!(body.len() as u64 <= MOST, "a body beyond the limit");
                }
                Ok(Some(Event::End)) => all.last_mut().expect("an end behind a head").2 = true,
                Ok(None) => break,
                Err(fault) => {
                    assert_eq!(requests.event(), Err(fault), "a fault that goes away");
                    return (all, Some(fault));
                }
            }
        }
        assert!(requests.waiting() <= HELD + largest, "too much is kept");
        if rest.is_empty() {
            return (all, None);
        }
        let (piece, behind) = rest.split_at((1 + below(rng, largest)).min(rest.len()));
        requests.feed(piece);
        rest = behind;
    }
}

/// What a head leads to is within the file's bounds, and no target is outside.
fn judged(rng: &mut TestRng, head: &Head) {
    if let Ok(target) = Target::read(&head.target) {
        let bad = |part: &str| part.is_empty() || part == ".." || part.contains(['/', '\0']);
        assert!(!target.parts.iter().any(|part| bad(part)), "{target:?}");
    }
    let bytes = [0, 1, 100, u64::MAX][below(rng, 4)];
    let state = State {
        tag: "\"a\"",
        modified: 1_000_000,
        bytes,
        now: 1_669_248_000,
    };
    if let Answer::Part(first, last) = conditions::answer(head, state) {
        assert!(first <= last && last < bytes, "{first}-{last} of {bytes}");
    }
}

/// A head with conditions and ranges made of random words.
fn conditional(rng: &mut TestRng) -> Vec<u8> {
    const NAMES: [&str; 7] = [
        "Range",
        "If-Range",
        "If-Match",
        "If-None-Match",
        "If-Modified-Since",
        "If-Unmodified-Since",
        "Accept-Encoding",
    ];
    const WORDS: [&str; 16] = [
        "bytes=",
        "-",
        "0",
        "99",
        "100",
        "18446744073709551615",
        "18446744073709551616",
        ",",
        "\"a\"",
        "W/",
        "*",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "gzip",
        ";q=0",
        " ",
        "lines=",
    ];
    let mut text = String::from("GET /a HTTP/1.1\r\nHost: a\r\n");
    for name in NAMES {
        if below(rng, 3) == 0 {
            let count = below(rng, 6);
            let value: String = (0..count).map(|_| WORDS[below(rng, WORDS.len())]).collect();
            text += &format!("{name}: {value}\r\n");
        }
    }
    text += "\r\n";
    text.into_bytes()
}

fn seed() -> u64 {
    let given = std::env::var("SING_FUZZ_SEED").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_millis() as u64 % 1_000_000_000
    })
}

fn rounds(mut round: impl FnMut(&mut TestRng)) {
    let seconds = std::env::var("SING_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = seed();
    while Instant::now() < end {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| round(&mut rng)));
        if let Err(panic) = done {
            eprintln!("SING_FUZZ_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
        seed += 1;
    }
}

#[test]
fn requests_are_found_as_they_were_sent() {
    rounds(|rng| {
        let sent: Vec<Known> = (0..1 + below(rng, 4)).map(|_| known(rng)).collect();
        let bytes: Vec<u8> = sent.iter().flat_map(|known| known.bytes.clone()).collect();
        let largest = [1, 7, 1500, 65_536][below(rng, 4)];
        let (all, fault) = found(rng, &bytes, largest);
        assert_eq!((all.len(), fault), (sent.len(), None));
        for ((head, body, over), known) in all.iter().zip(&sent) {
            assert!(*over && *body == known.body, "another body");
            assert_eq!(
                (head.method.as_str(), &head.target),
                (known.method, &known.target)
            );
        }
    });
}

#[test]
fn broken_requests_are_bounded_and_cutting_changes_nothing() {
    rounds(|rng| {
        let mut bytes: Vec<u8> = (0..1 + below(rng, 3))
            .flat_map(|_| known(rng).bytes)
            .collect();
        broken(rng, &mut bytes);
        let whole = found(rng, &bytes, usize::MAX >> 1);
        for largest in [1, 100, 5_000] {
            assert_eq!(found(rng, &bytes, largest), whole, "pieces of {largest}");
        }
        for (head, ..) in &whole.0 {
            judged(rng, head);
        }
    });
}

#[test]
fn conditions_and_parts_stay_within_the_file() {
    rounds(|rng| {
        let mut bytes = conditional(rng);
        if below(rng, 4) == 0 {
            broken(rng, &mut bytes);
        }
        for (head, ..) in found(rng, &bytes, 1_000).0 {
            judged(rng, &head);
        }
    });
}
