//! Charts of runs: an arrow for each message, however long it lies in the queue.

use sing_conformance::{chart, check, load, svg};
use std::path::Path;

const TEXT: &str = "contract C { in message Item(); in message Count(); out message Done();
      state Start: Item? -> Count? -> Done! -> Start; }
    process buyer { state Start: s.Item! -> s.Count! -> s.Done? -> end; }
    process shop { state Start: b.Item? -> b.Count? -> b.Done! -> Start; }
    channel C: buyer.s -> shop.b;";

#[test]
fn runs_are_drawn_as_text() {
    let system = load("x", TEXT, Path::new("")).unwrap();
    let outcome = check(&system, 1000);
    let finding = &outcome.findings[0];
    let drawn = chart::text(&system, &finding.run, &finding.last);
    assert_eq!(drawn, include_str!("chart.txt"), "{drawn}");
}

#[test]
fn pictures_are_well_formed_and_whole() {
    let system = load("x", TEXT, Path::new("")).unwrap();
    let outcome = check(&system, 1000);
    let finding = &outcome.findings[0];
    let picture = svg::svg(&system, "a < b & c", &finding.run, &finding.last);
    assert!(picture.contains("a &lt; b &amp; c"));
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("url(#tip)").count(), 3, "{picture}");
    for tag in ["text", "svg", "defs"] {
        let open = picture.matches(&format!("<{tag} ")).count()
            + picture.matches(&format!("<{tag}>")).count();
        assert_eq!(open, picture.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
