use super::*;
use alloc::string::ToString;
use alloc::vec;
use core::net::IpAddr;
use std::format;

extern crate std;

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// An answer to a question, with records as given: name as on the wire, type, time, data.
fn message(id: u16, asked: &str, kind: u16, records: &[(&[u8], u16, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = query(id, &name(asked), kind);
    bytes[2] = 0x81;
    bytes[3] = 0x80;
    bytes[7] = records.len() as u8;
    for (name, kind, seconds, data) in records {
        bytes.extend_from_slice(name);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(seconds.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend_from_slice(data);
    }
    bytes
}

/// The name of the question, by a pointer.
const ASKED: &[u8] = &[0xc0, 12];

#[test]
fn a_name_is_one_of_a_host() {
    for good in [
        "a",
        "Example.ORG",
        "example.org.",
        "_x._tcp.example.org",
        "a-b",
        "1a.2b",
    ] {
        assert!(Name::parse(good).is_some(), "{good}");
    }
    assert_eq!(name("Example.ORG.").as_str(), "example.org");
    let long = "a".repeat(64);
    let many = "a.".repeat(127);
    let bad = [
        "",
        ".",
        "a..b",
        ".a",
        "1.2.3.4",
        "1",
        "a b",
        "a/b",
        "\u{fc}.org",
        "::1",
        &long,
    ];
    for bad in bad {
        assert_eq!(Name::parse(bad), None, "{bad}");
    }
    assert!(Name::parse(&many[..253]).is_some());
    assert_eq!(Name::parse(&format!("{}aa", &many[..252])), None);
}

#[test]
fn types_have_names() {
    assert_eq!(kind("aaaa"), Some(AAAA));
    assert_eq!(kind("type65"), Some(65));
    assert_eq!(kind("TYPE"), None);
    assert_eq!(kind("none"), None);
    assert_eq!(
        (kind_name(15).as_str(), kind_name(65).as_str()),
        ("MX", "TYPE65")
    );
}

#[test]
fn an_answer_has_the_addresses_of_the_name() {
    let alias = b"\x01b\xc0\x0e";
    let bytes = message(
        7,
        "a.org",
        A,
        &[
            (ASKED, CNAME, 60, alias),
            (b"\x01b\xc0\x0e", A, 30, &[10, 0, 0, 1]),
            (b"\x01c\xc0\x0e", A, 30, &[6, 6, 6, 6]),
        ],
    );
    let answer = Answer::read(&bytes, 7, &name("A.org"), A).expect("an answer");
    let (all, seconds) = answer.addresses(&name("a.org"));
    assert_eq!((all, seconds), (vec![IpAddr::from([10, 0, 0, 1])], 30));
    assert_eq!(answer.records[0].text, "b.org");
}

#[test]
fn only_the_answer_to_the_question_is_taken() {
    let bytes = message(7, "a.org", A, &[(ASKED, A, 1, &[10, 0, 0, 1])]);
    assert!(Answer::read(&bytes, 7, &name("a.org"), A).is_some());
    assert!(Answer::read(&bytes, 8, &name("a.org"), A).is_none());
    assert!(Answer::read(&bytes, 7, &name("b.org"), A).is_none());
    assert!(Answer::read(&bytes, 7, &name("a.org"), AAAA).is_none());
    let question = query(7, &name("a.org"), A);
    assert!(Answer::read(&question, 7, &name("a.org"), A).is_none());
    let mut two = bytes;
    two[5] = 2;
    assert!(Answer::read(&two, 7, &name("a.org"), A).is_none());
}

#[test]
fn names_that_go_in_circles_end() {
    // A pointer to itself, to one that points back, and aliases in a circle.
    let at = query(7, &name("a.org"), A).len() as u8;
    let itself = message(7, "a.org", A, &[(&[0xc0, at], A, 1, &[10, 0, 0, 1])]);
    assert_eq!(Answer::read(&itself, 7, &name("a.org"), A), None);
    let back = message(
        7,
        "a.org",
        A,
        &[(&[0xc0, at + 12], A, 1, &[0xc0, at, 0xc0, at])],
    );
    assert_eq!(Answer::read(&back, 7, &name("a.org"), A), None);
    let circle = message(7, "a.org", A, &[(ASKED, CNAME, 1, ASKED)]);
    let answer = Answer::read(&circle, 7, &name("a.org"), A).expect("an answer");
    assert!(answer.addresses(&name("a.org")).0.is_empty());
}

#[test]
fn what_a_record_says_is_printable() {
    let text = b"\x05a\x1b[2J\x01\"";
    let bytes = message(
        7,
        "a.org",
        16,
        &[
            (ASKED, 16, 1, text),
            (ASKED, 15, 1, b"\0\x0a\xc0\x0c"),
            (ASKED, 99, 1, &[1, 255]),
        ],
    );
    let answer = Answer::read(&bytes, 7, &name("a.org"), 16).expect("an answer");
    let said: Vec<&str> = answer.records.iter().map(|r| r.text.as_str()).collect();
    assert_eq!(said, ["\"a\\027[2J\" \"\\034\"", "10 a.org", "\\# 2 01ff"]);
}

#[test]
fn localhost_is_this_machine() {
    let name = name("a.localhost");
    assert!(name.is_localhost() && !self::name("localhost.org").is_localhost());
    for (kind, address) in [(A, "127.0.0.1"), (AAAA, "::1")] {
        let answer = Answer::read(&localhost(&name, kind), 0, &name, kind).expect("an answer");
        assert_eq!(
            answer.addresses(&name).0,
            [address.parse::<IpAddr>().unwrap()]
        );
    }
    let answer = Answer::read(&localhost(&name, 15), 0, &name, 15).expect("an answer");
    assert!(answer.records.is_empty() && !answer.no_name);
}

#[test]
fn no_bytes_are_too_much() {
    let alias = b"\x01b\xc0\x0e";
    let whole = message(
        7,
        "a.org",
        A,
        &[
            (ASKED, CNAME, 60, alias),
            (alias, A, u32::MAX, &[10, 0, 0, 1]),
            (ASKED, 33, 1, alias),
        ],
    );
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..200_000 {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        bytes.truncate(random.usize(..=bytes.len()));
        if random.u8(..) == 0 {
            bytes.extend((0..2000).map(|_| 0xc0 | random.u8(..)));
        }
        if let Some(answer) = Answer::read(&bytes, 7, &name("a.org"), A) {
            let (all, _) = answer.addresses(&name("a.org"));
            assert!(all.len() <= 64);
            let plain = |text: &str| text.bytes().all(|b| (b' '..=b'~').contains(&b));
            for record in &answer.records {
                assert!(plain(&record.text) && plain(&record.name), "{record:?}");
                assert!(record.name.to_string().len() <= 4 * 256);
            }
        }
    }
}
