//! A short soak, and one of a system that keeps what it should not: the rule must tell the two apart.

use super::{Report, Run};
use crate::soak::{self, Request};
use anyhow::Result;

/// Seconds of each.
const TIME: u32 = 60;
const LONGER: u32 = 180;
const LEAKING: u32 = 20;

/// Soaks for so many seconds: what was found to be wrong, and what has grown.
fn soaked(run: &Run, time: u32) -> Result<[Vec<String>; 2]> {
    let request = Request {
        time,
        ..Request::default()
    };
    let outcome = soak::soak(&run.project, &request, &mut |line| println!("{line}"))?;
    let grown = outcome.grown().map(|judged| format!("{judged:?}"));
    let mut grown: Vec<_> = grown.collect();
    if outcome.judged.is_empty() {
        grown.push("nothing was judged".into());
    }
    Ok([outcome.findings, grown])
}

/// On the hosted system.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    if run.wants("a minute is flat") {
        let [mut wrong, grown] = soaked(run, TIME)?;
        // What moves in a minute may be a service that came to have what it keeps. What grows does so
        // in a longer time, too.
        if wrong.is_empty() && !grown.is_empty() {
            println!("  once more, for longer: {}", grown.join("; "));
            wrong = soaked(run, LONGER)?.concat();
        }
        let judged = match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("\n")),
        };
        report.count("a minute is flat", judged);
    }
    if run.wants("what stays is found") {
        let request = Request {
            time: LEAKING,
            leak: true,
            ..Request::default()
        };
        let outcome = soak::soak(&run.project, &request, &mut |line| println!("{line}"))?;
        let mut grown: Vec<_> = outcome.grown().map(|judged| judged.figure).collect();
        grown.dedup();
        let judged = match (&grown[..], outcome.findings.first()) {
            (["nodes"], None) => Ok(()),
            (_, finding) => Err(format!(
                "{grown:?} have grown, and not `nodes` alone; {finding:?}"
            )),
        };
        report.count("what stays is found", judged);
    }
    Ok(report)
}
