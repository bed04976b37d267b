//! The result of a check, for people.

use crate::chart;
use crate::findings::Outcome;
use crate::system::System;
use std::fmt::Write as _;

/// The most steps of a run that are shown; of longer ones the last.
const MOST_STEPS: usize = 200;

/// The findings with their charts, notes, and a closing line that says how far it came.
#[must_use]
pub fn report(system: &System, outcome: &Outcome, colour: bool) -> String {
    let mut out = String::new();
    for finding in &outcome.findings {
        out += &finding.diagnostic(system).render(colour);
        out += "\n\n";
        let skipped = finding.run.len().saturating_sub(MOST_STEPS);
        if skipped > 0 {
            let _ = writeln!(out, "    ({skipped} steps before are not shown)");
        }
        for line in chart::text(system, &finding.run[skipped..], &finding.last).lines() {
            let _ = writeln!(out, "    {line}");
        }
        out.push('\n');
    }
    let assumed: Vec<&str> = system.assumed().collect();
    if !assumed.is_empty() {
        let _ = writeln!(
            out,
            "note: without a behavior, taken to do whatever the contracts allow: {}",
            assumed.join(", ")
        );
    }
    for note in &outcome.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "{}: {}", system.name, summary(outcome));
    out
}

/// How many findings there are, and how far it came.
fn summary(outcome: &Outcome) -> String {
    let found = match outcome.findings.len() {
        0 => "nothing found".into(),
        1 => "1 finding".into(),
        n => format!("{n} findings"),
    };
    let seen = format!(
        "{} situations, {} steps, up to {} steps deep",
        outcome.situations, outcome.steps, outcome.depth
    );
    if outcome.complete {
        format!("{found} in all of {seen}")
    } else {
        format!(
            "{found} in {seen}; stopped there, as there are more: raise --limit to look at them. \
             What never moves again and what is never received was not looked for"
        )
    }
}
