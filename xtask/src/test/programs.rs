//! Ordinary programs in several languages (`tests/programs`), by `sing run`.
//! A language is left out, by its name, where its compiler is not there.

use super::{Report, Run};
use crate::programs::Place;
use anyhow::Result;

/// By `sing run`.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let place = made(run)?;
    for (name, _) in &place.modules {
        if run.wants(name) {
            report.count(name, place.by_sing(name).map_err(|e| format!("{e:#}")));
        }
    }
    Ok(report)
}

fn made(run: &Run) -> Result<Place<'_>> {
    let place = Place::new(&run.project)?;
    for why in &place.missing {
        complain!("programs: left out: {why}");
    }
    Ok(place)
}
