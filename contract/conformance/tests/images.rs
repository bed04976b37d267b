//! Systems of installed programs: behaviours in manifests, held against what the modules import.

mod program;

use sing_conformance::{Assumptions, System, check, installed};
use sing_image::elf::Image;
use sing_image::manifest::{Side, StartupEndpoint};
use std::collections::BTreeMap;

const CONTRACT: &str = "contract C { in message Ask(); in message Stop(); out message Answer();
    state Start: one { Ask? -> Answer! -> Start; Stop? -> Over; } state Over; }";

/// A program with one endpoint that imports these messages.
fn program(side: Side, optional: bool, imports: &[&str], behavior: &str) -> Image<'static> {
    let endpoint = StartupEndpoint {
        name: "c".into(),
        contract: "C".into(),
        side,
        state: None,
        optional,
        many: false,
    };
    let imports: Vec<String> = imports.iter().map(|i| format!("contract:C/{i}")).collect();
    let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
    program::program(CONTRACT, endpoint, &imports, behavior)
}

/// A client and a server, as images.
fn system(
    client: Image<'static>,
    server: Image<'static>,
    connected: bool,
) -> Result<System, String> {
    assuming(client, server, connected, &Assumptions::default())
}

fn assuming(
    client: Image<'static>,
    server: Image<'static>,
    connected: bool,
    assumptions: &Assumptions,
) -> Result<System, String> {
    let manifest = program::system(connected.then_some("C"));
    let programs = BTreeMap::from([("client".into(), client), ("server".into(), server)]);
    installed("x", &manifest, &programs, assumptions)
        .map_err(|found| found.iter().map(ToString::to_string).collect())
}

const ASKS: &str = "state Start: one { c.Ask! -> c.Answer? -> Start; c.Stop! -> end; }";
const ANSWERS: &str =
    "state Start: one { c.Ask? -> c.Answer! -> Start; c.Stop? -> c.ChannelClosed? -> end; }";

#[test]
fn a_long_behavior_takes_no_stack() {
    let behavior = format!("state S: {} S;", "skip->".repeat(40_000));
    let client = program(Side::Imp, false, &["imp.send.Stop"], &behavior);
    let server = program(Side::Exp, false, &["exp.send.Answer"], ANSWERS);
    let refused = system(client, server, true).unwrap_err();
    assert!(refused.contains("more than 4096 places"), "{refused}");
}

#[test]
fn programs_that_keep_their_word_pass() {
    let client = program(
        Side::Imp,
        false,
        &["imp.call.Ask", "imp.send.Stop", "imp.recv"],
        ASKS,
    );
    let server = program(
        Side::Exp,
        false,
        &["exp.send.Answer", "exp.call.Answer"],
        ANSWERS,
    );
    let system = system(client, server, true).unwrap();
    let outcome = check(&system, 1000);
    assert!(
        outcome.complete && outcome.findings.is_empty(),
        "{outcome:?}"
    );
}

#[test]
fn what_a_module_can_send_stands_in_its_behavior_and_the_other_way_round() {
    let server = || program(Side::Exp, false, &["exp.send.Answer"], ANSWERS);
    let silent = program(
        Side::Imp,
        false,
        &["imp.send.Ask", "imp.send.Stop"],
        "state Start: c.Ask! -> c.Answer? -> Start;",
    );
    let error = system(silent, server(), true).unwrap_err();
    assert!(
        error.contains("can send Stop, which its behavior never does"),
        "{error}"
    );
    let boastful = program(Side::Imp, false, &["imp.send.Ask"], ASKS);
    let error = system(boastful, server(), true).unwrap_err();
    assert!(
        error.contains("sends Stop, which its module cannot"),
        "{error}"
    );
    assert!(error.contains("behavior of program:1:"), "{error}");
}

/// A program without a behaviour is assumed to do anything; the report says so.
#[test]
fn unknown_programs_are_named() {
    let client = |imports: &[&str]| program(Side::Imp, false, imports, "");
    let server = || {
        program(
            Side::Exp,
            false,
            &["exp.send.Answer"],
            "state Start: c.Ask? -> c.Answer! -> Start;",
        )
    };
    // The client's module does not import `Stop`, so it cannot send it.
    let asks = system(client(&["imp.send.Ask"]), server(), true).unwrap();
    assert!(check(&asks, 1000).findings.is_empty());
    let system = system(client(&["imp.send.Ask", "imp.call.Stop"]), server(), true).unwrap();
    let outcome = check(&system, 1000);
    let report = sing_conformance::report(&system, &outcome, false);
    assert!(
        report.contains("whatever the contracts allow: client"),
        "{report}"
    );
    // It may say Stop, for which the server has no case.
    assert!(
        report.contains("server can get Stop in state Start"),
        "{report}"
    );
}

/// An endpoint that was not given is like one whose other side has closed.
#[test]
fn what_was_not_given_is_closed() {
    let alone = |behavior| {
        let client = program(Side::Imp, true, &["imp.send.Ask"], behavior);
        let server = program(Side::Exp, true, &["exp.send.Answer"], "");
        check(&system(client, server, false).unwrap(), 1000)
    };
    let ready = alone("state Start: c.Ask! -> ( c.Answer? -> Start or c.ChannelClosed? -> end );");
    assert!(ready.findings.is_empty(), "{ready:?}");
    let waits = alone("state Start: c.Ask! -> c.Answer? -> Start;");
    assert_eq!(waits.findings[0].kind.name(), "cut");
}

#[test]
fn a_behavior_that_does_not_parse_is_an_error() {
    let server = program(Side::Exp, false, &[], "state Start c.Ask?");
    let client = program(Side::Imp, false, &[], "");
    let error = system(client, server, true).unwrap_err();
    assert!(error.contains("expected `;`"), "{error}");
}

/// A process can be taken for any other that keeps its contracts: its server must stand that.
#[test]
fn a_server_can_be_held_against_any_client() {
    let check = |behavior, assumptions| {
        let client = program(Side::Imp, false, &["imp.send.Ask", "imp.send.Stop"], ASKS);
        let server = program(Side::Exp, false, &["exp.send.Answer"], behavior);
        let system = assuming(client, server, true, &assumptions).unwrap();
        check(&system, 1000).findings
    };
    let any = |closing| Assumptions {
        any: vec!["client".into()],
        closing,
    };
    assert!(check(ANSWERS, Assumptions::default()).is_empty());
    assert!(check(ANSWERS, any(false)).is_empty());
    // It has no case for a client that goes while nothing is asked.
    assert_eq!(check(ANSWERS, any(true))[0].kind.name(), "cut");
    let client = program(Side::Imp, false, &[], "");
    let server = program(Side::Exp, false, &[], "");
    let nobody = Assumptions {
        any: vec!["nobody".into()],
        closing: false,
    };
    let error = assuming(client, server, true, &nobody).unwrap_err();
    assert!(error.contains("no process nobody"), "{error}");
    assert!(error.contains("there are "), "{error}");
}
