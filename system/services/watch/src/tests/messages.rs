//! Messages for the chart: bounded, named, each once, and gaps are counted.

use super::{NASTY, process, value};
use crate::messages::{Filter, KEPT, MOST, Messages, Strange, refused};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::inspect::{Channel, ChannelEnd, Contract, TraceEvent, TraceKind};

const ME: u32 = 9;

fn event(kind: TraceKind, sip: u32, a: u32, b: u32, c: u64) -> TraceEvent {
    TraceEvent {
        time_ns: 5_000,
        kind: kind as u32,
        sip,
        a,
        b,
        c,
    }
}

/// A message on channel 3 of contract 2.
fn sent(from: u32, to: u32, message: u32) -> TraceEvent {
    event(TraceKind::Send, from, 3, message, 2 << 32 | u64::from(to))
}

fn messages(name: &str) -> Messages {
    let contract = |id| Contract {
        id,
        name: format!("{name}{id}"),
        messages: vec![name.into()],
    };
    let mut all = Messages::new(ME, vec![name.into()]);
    all.learn_contracts(vec![contract(4), contract(2)]);
    let named: Vec<_> = (1..=ME).map(|id| process(id, name)).collect();
    all.learn(&named, &[]);
    all
}

/// The events that are lost before an event's rows, and how many those are.
fn counts(text: &str) -> (u64, usize) {
    let lost = text.split("\"lost\":").nth(1).expect("a count");
    let lost = lost.split(',').next().expect("an end");
    (
        lost.parse().expect("a number"),
        text.matches("\"kind\":").count(),
    )
}

#[test]
fn an_event_of_messages_is_one_line_of_json_and_bounded() {
    let long = NASTY.repeat(50);
    for name in ["a", NASTY, &long] {
        let mut all = messages(name);
        let mut cursor = all.cursor();
        for n in 0..2 * KEPT as u32 {
            // Processes without end, each made and ended.
            let id = 100 + n;
            all.note(&[
                event(TraceKind::Create, 1, id, 0, 1),
                sent(id, 1, 0),
                event(TraceKind::End, id, id, 2, 7),
            ]);
        }
        let text = all
            .event(&mut cursor, &Filter::new("", false))
            .expect("an event");
        assert!(text.len() <= MOST, "{} bytes", text.len());
        let data = text
            .strip_prefix("event: messages\ndata: ")
            .expect("a beginning");
        let data = data.strip_suffix("\n\n").expect("an end");
        assert!(!data.contains(['\n', '\r', '\u{2028}']));
        assert_eq!(value(data), Some(""), "{data}");
        let (lost, rows) = counts(&text);
        let left: u64 = text
            .rsplit("\"left\":")
            .next()
            .and_then(|rest| rest.trim_end().trim_end_matches('}').parse().ok())
            .expect("how many did not fit");
        assert_eq!(lost + left + rows as u64, 6 * KEPT as u64);
        assert!(rows > 10);
    }
    let text = refused("a\"b");
    assert!(
        text.contains("{\"on\":false,\"why\":\"a\\\"b\"}\n\n"),
        "{text}"
    );
}

#[test]
fn each_viewer_gets_each_message_once() {
    let mut all = messages("name");
    let (mut one, everything) = (all.cursor(), Filter::new("", false));
    // The first event says that there are some to come.
    let text = all.event(&mut one, &everything).expect("the first");
    assert_eq!(counts(&text), (0, 0));
    assert_eq!(all.event(&mut one, &everything), None);
    all.note(&[sent(1, 2, 0), sent(2, 1, 5)]);
    let mut other = all.cursor();
    let text = all.event(&mut one, &everything).expect("both");
    for words in [
        "\"contract\":\"name2\",\"message\":\"name\"",
        "\"message\":\"message 5\"",
        "\"time\":5,\"from\":1,\"to\":2,\"kind\":\"message\",\"channel\":3,",
        "{\"id\":2,\"name\":\"name\"}",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    assert_eq!(all.event(&mut one, &everything), None);
    all.note(&[sent(3, 4, 0)]);
    let text = all.event(&mut other, &everything).expect("the last");
    assert_eq!(counts(&text), (0, 1));
    // What the kernel lost is told to each viewer, once.
    all.note(&[event(TraceKind::Lost, 0, 70, 0, 0)]);
    for cursor in [&mut one, &mut other] {
        let text = all.event(cursor, &everything).expect("what is lost");
        assert_eq!(counts(&text).0, 70);
        assert_eq!(all.event(cursor, &everything), None);
    }
}

#[test]
fn what_is_not_known_is_said_once() {
    let mut all = messages("name");
    let mut strange = |event| {
        all.note(&[event]);
        let strange = all.take_strange();
        assert_eq!(all.take_strange(), Strange::default());
        (strange.process, strange.contract)
    };
    assert_eq!(strange(sent(1, 0, 0)), (false, false));
    assert_eq!(strange(sent(1, 70, 0)), (true, false));
    assert_eq!(strange(sent(70, 1, 0)), (true, false));
    let other = event(TraceKind::Send, 1, 3, 0, 3 << 32 | 2);
    assert_eq!(strange(other), (false, true));
    // Nothing is to be learnt of those that are not kept.
    assert_eq!(
        strange(event(TraceKind::Send, ME, 3, 0, 3 << 32 | 70)),
        (false, false)
    );
}

/// However many clients come and go, the servers that they ask keep their names, though they are the
/// oldest; who has ended is forgotten.
#[test]
fn names_of_the_oldest_stay_as_long_as_they_are_heard_of() {
    let mut all = messages("server");
    let mut cursor = all.cursor();
    for client in 100..20_100 {
        all.note(&[
            event(TraceKind::Create, 1, client, 0, 1),
            sent(client, 2, 0),
            event(TraceKind::End, client, client, 2, 7),
        ]);
    }
    assert_eq!(all.take_strange(), Strange::default());
    let text = all.event(&mut cursor, &Filter::new("2", false));
    let text = text.expect("an event");
    assert!(text.contains("{\"id\":2,\"name\":\"server\"}"), "{text}");
    // One that is not heard of is asked for when it is.
    for (id, is_strange) in [
        (1, false),
        (2, false),
        (20_099, false),
        (3, true),
        (100, true),
    ] {
        all.note(&[sent(id, 0, 0)]);
        assert_eq!(all.take_strange().process, is_strange, "{id}");
    }
    all.learn_names(&[process(3, "server")]);
    all.note(&[sent(3, 0, 0)]);
    assert!(!all.take_strange().process);
}

#[test]
fn messages_of_the_service_and_of_the_pages_way_are_left_out() {
    let mut all = messages("name");
    let end = |owner| ChannelEnd {
        owner: Some(owner),
        name: String::new(),
        state: String::new(),
        queued: 0,
        closed: false,
    };
    let channel = |contract: &str, a, b| Channel {
        id: 1,
        contract: contract.into(),
        ends: [end(a), end(b)],
        traced: 0,
    };
    // The web server is 5, the network 6, its driver 7; 8 is another client of the network, and 4
    // has a web server of its own.
    let channels = [
        channel("NicContract", 6, 7),
        channel("TcpConnectionContract", 5, 6),
        channel("TcpConnectionContract", 8, 6),
        channel("WebServiceContract", 5, ME),
        channel("WebContract", 4, 3),
    ];
    all.learn(&[], &channels);
    let way = [
        sent(ME, 5, 0),
        sent(5, ME, 0),
        sent(5, 6, 0),
        sent(6, 5, 0),
        sent(7, 6, 0),
    ];
    let others = [sent(8, 6, 0), sent(5, 8, 0), sent(4, 3, 0), sent(1, 0, 0)];
    let shown = |all: &mut Messages, filter: &Filter| {
        let mut cursor = all.cursor();
        all.note(&way);
        all.note(&others);
        counts(&all.event(&mut cursor, filter).expect("an event")).1
    };
    assert_eq!(shown(&mut all, &Filter::new("", false)), 4);
    // To see the way as well does not show this service.
    assert_eq!(shown(&mut all, &Filter::new("", true)), 7);
}

#[test]
fn a_filter_names_processes_by_number_or_part_of_the_name() {
    let mut all = messages("other");
    all.learn(&[process(1, "Shell"), process(2, "files")], &[]);
    let mut shown = |of: &str| {
        let mut cursor = all.cursor();
        all.note(&[sent(1, 3, 0), sent(3, 2, 0), sent(3, 4, 0)]);
        counts(
            &all.event(&mut cursor, &Filter::new(of, false))
                .expect("an event"),
        )
        .1
    };
    for (of, count) in [
        ("", 3),
        (" , ,", 3),
        ("shel", 1),
        ("SHELL,2", 2),
        ("nobody", 0),
        ("3", 3),
        ("33", 0),
    ] {
        assert_eq!(shown(of), count, "{of:?}");
    }
    let long = "a,".repeat(100_000);
    assert_eq!(
        Filter::new(&long, false),
        Filter::new("a a a a a a a a a a a a a", false)
    );
}
