//! A short soak, and one of a system that keeps what it should not: the rule must tell the two apart.

use super::{Report, Run};
use crate::soak::{self, Request};
use anyhow::Result;

/// Seconds of each.
const TIME: u32 = 60;
const LEAKING: u32 = 20;

/// Soaks: what was found to be wrong, and what has grown.
fn soaked(run: &Run) -> Result<Vec<String>> {
    let request = Request {
        time: TIME,
        ..Request::default()
    };
    let outcome = soak::soak(&run.project, &request, &mut |line| println!("{line}"))?;
    let grown = outcome.grown().map(|judged| format!("{judged:?}"));
    let mut wrong = outcome.findings.clone();
    wrong.extend(grown);
    if outcome.judged.is_empty() {
        wrong.push("nothing was judged".into());
    }
    Ok(wrong)
}

/// On the hosted system.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    if run.wants("a minute is flat") {
        let wrong = soaked(run)?;
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
            ([soak::LEAKING], None) => Ok(()),
            (_, finding) => Err(format!(
                "{grown:?} have grown, and not `nodes` alone; {finding:?}"
            )),
        };
        report.count("what stays is found", judged);
    }
    Ok(report)
}
