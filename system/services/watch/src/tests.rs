//! Tests of all modules: texts are bounded and what their readers take; nobody acts without the
//! key.

mod messages;

use crate::access::{may_act, may_see};
use crate::devices::{self, Device};
use crate::event;
use crate::figures::{self, Viewers};
use crate::look::{Look, Name, Service, Web};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::inspect::{Channel, ChannelEnd, Memory, Process, State, System};
use sing_sdk::io::Reader;
use sing_sdk::web::Request;

/// A name with all that could end something.
const NASTY: &str = "a\"b\\c\nd\u{2028}</script>\r\u{7}é";

fn process(id: u32, name: &str) -> Process {
    Process {
        id,
        parent: id / 2,
        name: name.into(),
        state: State::Blocked,
        threads: 1,
        pages: 3,
        exchange: 5,
        cpu_ns: 1_500_000_007,
        handles: 2,
        charged: 9,
        budget: u64::MAX,
        essential: false,
    }
}

fn look(count: u32, name: &str) -> Look {
    let end = ChannelEnd {
        owner: None,
        name: name.into(),
        state: name.into(),
        queued: 1,
        closed: false,
    };
    Look {
        now: 1,
        system: System {
            machine: name.into(),
            version: name.into(),
            scheduler: name.into(),
            cpus: 1,
            uptime_ns: u64::MAX,
            switches: u64::MAX,
            preemptions: 0,
            images: Vec::new(),
        },
        memory: Memory {
            channels: 1_000_000,
            ..Memory::default()
        },
        processes: (1..=count).map(|id| process(id, name)).collect(),
        channels: (0..count)
            .map(|id| Channel {
                id,
                contract: name.into(),
                ends: [end.clone(), end.clone()],
                traced: id,
            })
            .collect(),
        services: (0..count)
            .map(|n| Service {
                name: format!("{n}{name}"),
                state: "up".into(),
                process: 1,
                restarts: n,
                since: 1,
                reason: name.into(),
            })
            .collect(),
        names: (0..count)
            .map(|n| Name {
                path: format!("/{n}{name}"),
                kind: "link",
                detail: name.into(),
            })
            .collect(),
        names_left: 0,
        names_age: u64::MAX,
        devices: (0..count)
            .map(|n| Device {
                location: format!("/virtio-mmio/{n}"),
                signature: name.into(),
                names: name.into(),
                driver: name.into(),
                service: name.into(),
                ..Device::default()
            })
            .collect(),
    }
}

/// Reads a JSON value, without a crate for it; what is behind it. `None` if it is none.
fn value(text: &str) -> Option<&str> {
    let mut rest = text;
    match rest.chars().next()? {
        '{' | '[' => {
            let (open, close) = rest.split_at(1);
            rest = close;
            let end = if open == "{" { '}' } else { ']' };
            if let Some(behind) = rest.strip_prefix(end) {
                return Some(behind);
            }
            loop {
                if open == "{" {
                    rest = value(rest.starts_with('"').then_some(rest)?)?.strip_prefix(':')?;
                }
                rest = value(rest)?;
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => return rest.strip_prefix(end),
                }
            }
        }
        '"' => {
            let mut chars = rest.char_indices().skip(1);
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' => return Some(&rest[at + 1..]),
                    '\\' => match chars.next()?.1 {
                        '"' | '\\' => {}
                        'u' => {
                            for _ in 0..4 {
                                chars.next()?.1.to_digit(16)?;
                            }
                        }
                        _ => return None,
                    },
                    c if c < ' ' => return None,
                    _ => {}
                }
            }
            None
        }
        _ => {
            let words = ["true", "false", "null"];
            if let Some(word) = words.iter().find(|word| rest.starts_with(**word)) {
                return Some(&rest[word.len()..]);
            }
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then(|| &rest[digits..])
        }
    }
}

#[test]
fn an_event_is_one_line_of_json_and_bounded() {
    let long = NASTY.repeat(50);
    for (count, name) in [
        (0, ""),
        (3, NASTY),
        (5000, NASTY),
        (5000, &long),
        (5000, "a"),
    ] {
        let text = event::look(&look(count, name));
        assert!(text.len() <= event::MOST, "{} bytes", text.len());
        let data = text
            .strip_prefix("event: look\ndata: ")
            .expect("a beginning");
        let data = data.strip_suffix("\n\n").expect("an end");
        assert!(!data.contains(['\n', '\r', '\u{2028}']));
        assert_eq!(value(data), Some(""), "{data}");
    }
    // Rows that do not fit are counted.
    let text = event::look(&look(5000, "a"));
    let table = text.split("\"services\":").nth(1).expect("services");
    let table = table.split("\"names\":").next().expect("names behind");
    let (rows, left) = table.split_once("],\"left\":").expect("a count");
    let shown = rows.matches("\"restarts\":").count();
    assert_eq!(left, format!("{}}},", 5000 - shown));
    assert!(shown > 50);
}

#[test]
fn times_are_numbers_however_long_the_system_runs() {
    const DAY: u64 = 86_400_000_000_000;
    let mut look = look(2, "a");
    // JavaScript has whole numbers up to 2^53: in nanoseconds, 104 days.
    look.system.uptime_ns = 105 * DAY + 7_000;
    look.processes[0].cpu_ns = 104 * DAY + DAY / 2;
    look.services[0].since = 4000 * DAY;
    look.names_age = 9_000;
    let text = event::look(&look);
    for (key, value) in [
        ("uptime", 105 * DAY / 1000 + 7),
        ("cpu", (104 * DAY + DAY / 2) / 1000),
        ("since", 4000 * DAY / 1000),
        ("names_age", 9),
    ] {
        let words = format!("\"{key}\":{value},");
        assert!(text.contains(&words), "no {words} in {text}");
    }
    // The largest there is stays a number as well.
    look.system.uptime_ns = u64::MAX;
    look.processes[0].cpu_ns = u64::MAX;
    look.services[0].since = u64::MAX;
    let text = event::look(&look);
    let most = (1u64 << 53) - 1;
    for key in ["uptime", "cpu", "since"] {
        assert!(text.contains(&format!("\"{key}\":{most},")), "{text}");
        assert!(!text.contains(&format!("\"{key}\":null")), "{text}");
    }
}

#[test]
fn what_is_kept_for_figures_shows_the_same_and_is_small() {
    let mut look = look(5000, "a");
    let before = figures::text(&look, None, Viewers::default());
    look.keep_figures();
    assert_eq!(figures::text(&look, None, Viewers::default()), before);
    let kept = (look.channels.capacity(), look.names.capacity());
    assert_eq!((kept, look.devices.capacity()), ((0, 0), 0));
    assert!(look.processes.capacity() <= 2 * figures::MOST_PROCESSES);
}

#[test]
fn devices_are_put_together_from_links() {
    let link = |(path, target): &(&str, &str)| (String::from(*path), String::from(*target));
    let links = |all: &[(&str, &str)]| all.iter().map(link).collect::<Vec<_>>();
    let root = "/hardware/devices/virtio/2";
    let (first, second) = (format!("{root}/0"), format!("{root}/1"));
    let driver = format!("{first}/driver");
    let locations = [
        ("/hardware/locations/virtio-mmio/0/device", first.as_str()),
        ("/hardware/locations/pci/00/04.0/device", &second),
        // None of them leads from a place to a device.
        ("/hardware/locations/x/other", &first),
        ("/hardware/locationsx/device", &first),
        ("/hardware/locations/y/device", "/hardware/devices"),
        ("/hardware/locations/z/device", "/elsewhere/virtio/2/0"),
        ("", ""),
    ];
    let drivers = [(driver.as_str(), "/hardware/drivers/virtio-blk/disk0")];
    let names = [
        ("/dev/disk0", "/hardware/drivers/virtio-blk/disk0/disk"),
        ("/dev/other", "/hardware/drivers/virtio-blk/disk00/disk"),
        ("/dev/raw0", "/hardware/drivers/virtio-blk/disk0/raw"),
    ];
    let found = devices::devices(&links(&locations), &links(&drivers), &links(&names));
    let service = Service {
        name: "disk0".into(),
        state: "up".into(),
        process: 7,
        restarts: 2,
        since: 0,
        reason: String::new(),
    };
    let now: Vec<Device> = found
        .into_iter()
        .map(|d| d.now(core::slice::from_ref(&service)))
        .collect();
    let driven = Device {
        location: "/virtio-mmio/0".into(),
        signature: "/virtio/2".into(),
        names: "/dev/disk0 /dev/raw0".into(),
        driver: "virtio-blk".into(),
        service: "disk0".into(),
        state: "up".into(),
        process: 7,
        restarts: 2,
    };
    let idle = Device {
        location: "/pci/00/04.0".into(),
        signature: "/virtio/2".into(),
        ..Device::default()
    };
    assert_eq!(now, [driven, idle]);
    // A driver's path that names no service.
    let broken = [(driver.as_str(), "/hardware/drivers/virtio-blk")];
    let found = devices::devices(&links(&locations), &links(&broken), &links(&names));
    assert_eq!(found[0].driver, "");
}

#[test]
fn the_first_event_says_what_may_be_done() {
    assert!(event::hello(None).contains("{\"control\":true,\"why\":\"\"}\n\n"));
    assert!(event::hello(Some("a\"b")).contains("{\"control\":false,\"why\":\"a\\\"b\"}"));
}

/// Name, labels, value.
type Sample<'a> = (&'a str, Vec<(&'a str, String)>, f64);

/// Reads a line of figures as Prometheus does.
fn sample(line: &str) -> Option<Sample<'_>> {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let (name, mut rest) = line.split_at(line.find(|c| !letter(c))?);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, behind) = rest.split_once("=\"")?;
            if label.is_empty() || !label.chars().all(letter) {
                return None;
            }
            let mut text = String::new();
            let mut chars = behind.char_indices();
            rest = loop {
                match chars.next()? {
                    (at, '"') => break &behind[at + 1..],
                    (_, '\\') => match chars.next()?.1 {
                        'n' => text.push('\n'),
                        c @ ('"' | '\\') => text.push(c),
                        _ => return None,
                    },
                    (_, c) => text.push(c),
                }
            };
            labels.push((label, text));
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}')?;
    }
    let number = rest.strip_prefix(' ')?;
    Some((name, labels, number.parse().ok()?))
}

#[test]
fn figures_are_what_prometheus_reads() {
    let web = Some(Web::read(
        "connections  3 of 32\nrequests     7\naccepted 9\n",
    ));
    let text = figures::text(&look(300, NASTY), web, Viewers::default());
    assert!(
        text.ends_with('\n') && text.len() < 512 << 10,
        "{}",
        text.len()
    );
    let (mut family, mut seen, mut samples) = ("", Vec::new(), 0);
    for line in text.split_terminator('\n') {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().expect("a name");
            assert!(!seen.contains(&family), "{family} twice");
            seen.push(family);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a kind");
            assert_eq!(name, family);
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let (name, labels, number) = sample(line).unwrap_or_else(|| panic!("{line:?}"));
            assert_eq!(name, family, "{line}");
            if name == "singularity_process_cpu_seconds_total" {
                assert_eq!(labels[1], ("name", NASTY.into()));
                assert!((number - 1.500_000_007).abs() < 1e-12);
            }
            samples += 1;
        }
    }
    assert!(samples > 5 * figures::MOST_PROCESSES, "{samples}");
    assert!(text.contains("\nsingularity_web_connections 3\n"));
    assert!(text.contains("\nsingularity_web_requests_total 7\n"));
}

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn request(headers: &[(&str, &str)]) -> Request {
    Request {
        method: "POST".into(),
        target: "/system/kill?id=1".into(),
        headers: headers
            .iter()
            .map(|(n, v)| ((*n).into(), (*v).into()))
            .collect(),
        body: Reader::empty(),
    }
}

#[test]
fn nobody_acts_without_the_key_from_elsewhere_or_for_another_site() {
    let bearer = format!("Bearer {KEY}");
    let good = vec![
        ("x-peer", "127.0.0.1"),
        ("authorization", bearer.as_str()),
        ("host", "localhost:8080"),
    ];
    let with = |name, value| {
        let mut headers: Vec<_> = good.iter().filter(|(n, _)| *n != name).copied().collect();
        headers.push((name, value));
        may_act(&request(&headers), Some(KEY))
    };
    let without = |name| {
        let headers: Vec<_> = good.iter().filter(|(n, _)| *n != name).copied().collect();
        may_act(&request(&headers), Some(KEY))
    };
    assert_eq!(may_act(&request(&good), Some(KEY)), Ok(()));
    assert_eq!(with("x-peer", "::1"), Ok(()));
    assert_eq!(with("x-peer", "::ffff:127.0.0.1"), Ok(()));
    assert_eq!(with("origin", "http://localhost:8080"), Ok(()));
    assert_eq!(with("sec-fetch-site", "same-origin"), Ok(()));
    // Without a key nobody is let in, whatever is sent.
    assert!(may_act(&request(&good), None).is_err());
    assert!(without("authorization").is_err() && without("x-peer").is_err());
    for (name, value) in [
        ("authorization", ""),
        ("authorization", KEY),
        ("authorization", "Bearer "),
        ("authorization", "Bearer 0123456789abcdef0123456789abcdee"),
        ("authorization", "Bearer 0123456789abcdef0123456789abcdef0"),
        ("authorization", "Basic 0123456789abcdef0123456789abcdef"),
        ("x-peer", "10.0.2.2"),
        ("x-peer", "fe80::1"),
        ("x-peer", "127.0.0.1, 10.0.0.1"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "https://localhost:8080"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        assert!(with(name, value).is_err(), "{name}: {value}");
    }
}

#[test]
fn the_key_or_the_system_manifest_lets_one_see() {
    let bearer = format!("bearer {KEY}");
    let far = [("x-peer", "10.0.2.2"), ("authorization", bearer.as_str())];
    assert_eq!(may_see(&request(&far), Some(KEY), false), Ok(()));
    assert!(may_see(&request(&far), None, false).is_err());
    assert!(may_see(&request(&far[..1]), Some(KEY), false).is_err());
    assert_eq!(may_see(&request(&[]), None, true), Ok(()));
}
