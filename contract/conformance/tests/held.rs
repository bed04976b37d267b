//! Ends that are held as something else than the channel's contract: permissions and bases, in
//! texts and in images.

mod program;

use sing_conformance::{Assumptions, Outcome, check, installed, load};
use sing_image::elf::Image;
use sing_image::manifest::{Side, StartupEndpoint};
use std::collections::BTreeMap;
use std::path::Path;

const PERMISSION: &str = "contract P { in message A(); in message Q(); out message B();
      state Start: one { A? -> B! -> Start; Q? -> B! -> Start; } }
    contract N narrows P.Imp { A; }";

/// The derived contract lets the importer do more.
const BASE: &str = "contract L { in message A(); out message B(); state Start: A? -> B! -> Start; }
    contract D : L { in message Y(); override state Start: one { A? -> B! -> Start; Y? -> B! -> Start; } }";

/// A holder that knows only the base is at its end at the point where the derived contract begins.
const LATER: &str =
    "contract L { out message Success(); state Start: Success! -> Bound; state Bound; }
    contract D : L { in message Get(); out message Got(); override state Start: Success! -> Ready;
      state Ready: Get? -> Got! -> Ready; }";

fn text(contracts: &str, held: &str, channel: &str, behavior: &str) -> Outcome {
    let text = format!(
        "{contracts} process any: any; process k {{ {behavior} }} channel {channel}: any.x{held} -> k.k;"
    );
    let system = load("x", &text, Path::new("")).unwrap_or_else(|e| panic!("{}", e[0]));
    check(&system, 1000)
}

const ONLY_A: &str = "state S: one { k.A? -> k.B! -> S; k.ChannelClosed? -> end; }";

#[test]
fn who_holds_less_says_less() {
    for (contracts, less, channel) in [(PERMISSION, " as N", "P"), (BASE, " as L", "D")] {
        let sound = text(contracts, less, channel, ONLY_A);
        assert!(sound.complete && sound.findings.is_empty(), "{sound:?}");
        let faulty = text(contracts, "", channel, ONLY_A);
        assert_eq!(faulty.findings[0].kind.name(), "unspecified");
        // The peer must expect all that it can say nevertheless.
        let deaf = text(
            contracts,
            less,
            channel,
            "state S: k.ChannelClosed? -> end;",
        );
        assert_eq!(deaf.findings[0].kind.name(), "unspecified");
    }
}

/// A holder that knows only the base is at its end where the derived contract continues: it can
/// only close there.
#[test]
fn the_end_of_the_base_is_the_holders_end() {
    let later = "state S: k.Success! -> T; state T: one { k.Get? -> k.Got! -> T; }";
    let found = text(LATER, " as L", "D", later);
    assert_eq!(found.findings[0].kind.name(), "cut", "{found:?}");
    assert!(text(LATER, "", "D", later).findings.is_empty());
}

/// A behaviour that says what its permission does not allow is ended by the kernel.
#[test]
fn a_behaviour_keeps_its_permission() {
    let run = |behavior: &str| {
        let text = format!(
            "{PERMISSION} process p {{ {behavior} }} process any: any; channel P: p.x as N -> any.k;"
        );
        check(&load("x", &text, Path::new("")).unwrap(), 1000).findings
    };
    assert!(run("state S: x.A! -> x.B? -> S;").is_empty());
    let found = run("state S: x.Q! -> x.B? -> S;");
    assert_eq!(found[0].kind.name(), "breach");
}

/// A permission makes no channels, in a text as in an image.
#[test]
fn ends_are_held_as_what_they_can_stand_for() {
    let refused = |channel: &str| {
        let text = format!("{PERMISSION} {LATER} process p, q: any; {channel}");
        let found = load("x", &text, Path::new("")).unwrap_err();
        found.iter().map(ToString::to_string).collect::<String>()
    };
    let said = refused("channel N: p.a -> q.b;");
    assert!(
        said.contains("N is a permission, and makes no channels"),
        "{said}"
    );
    assert!(said.contains("`channel P: p.a as N -> q.b;`"), "{said}");
    for channel in [
        "channel P: p.a -> q.b as N;",
        "channel P: p.a as L -> q.b;",
        "channel L: p.a as D -> q.b;",
    ] {
        assert!(refused(channel).contains("cannot stand for"), "{channel}");
    }
    assert!(refused("channel P: p.a as X -> q.b;").contains("there is no contract X"));
}

/// A program that has an endpoint `c` of this contract.
fn program(
    contracts: &str,
    contract: &str,
    side: Side,
    imports: &[&str],
    behavior: &str,
) -> Image<'static> {
    let endpoint = StartupEndpoint {
        name: "c".into(),
        contract: contract.into(),
        side,
        state: None,
        optional: false,
        many: false,
    };
    program::program(contracts, endpoint, imports, behavior)
}

/// The checker's findings if a program without a behaviour holds its end as `held` and imports
/// this.
fn image(contracts: &str, held: &str, channel: &str, imports: &[&str]) -> Vec<&'static str> {
    let manifest = program::system(Some(channel));
    let behavior = "state S: one { c.A? -> c.B! -> S; c.ChannelClosed? -> end; }";
    let answers = format!("contract:{channel}/exp.send.B");
    let programs = BTreeMap::from([
        (
            "client".to_owned(),
            program(contracts, held, Side::Imp, imports, ""),
        ),
        (
            "server".to_owned(),
            program(contracts, channel, Side::Exp, &[&answers], behavior),
        ),
    ]);
    let system = installed("x", &manifest, &programs, &Assumptions::default())
        .unwrap_or_else(|e| panic!("{}", e[0]));
    let outcome = check(&system, 1000);
    outcome.findings.iter().map(|f| f.kind.name()).collect()
}

#[test]
fn a_manifest_says_what_its_program_holds() {
    let none: [&str; 0] = [];
    // A permission stays one, whatever else the module has.
    let all = [
        "contract:N/imp.send.A",
        "contract:P/imp.send.Q",
        "contract:P/imp.cast",
    ];
    assert_eq!(image(PERMISSION, "N", "P", &all), none);
    assert_eq!(image(PERMISSION, "P", "P", &all), ["unspecified"]);
    // A module does not send messages that it does not import.
    assert_eq!(
        image(PERMISSION, "P", "P", &["contract:P/imp.send.A"]),
        none
    );
    assert_eq!(image(BASE, "L", "D", &["contract:L/imp.send.A"]), none);
    // One that knows the derived contract too may find out that it has an endpoint of it.
    let finds = [
        "contract:L/imp.send.A",
        "contract:D/imp.send.Y",
        "contract:D/imp.cast",
    ];
    assert_eq!(image(BASE, "L", "D", &finds), ["unspecified"]);
    // Whom it gives the endpoint may be able to say more.
    let gives = ["contract:P/imp.send.A", "sing_v1/process_create"];
    assert_eq!(image(PERMISSION, "P", "P", &gives), ["unspecified"]);
}
