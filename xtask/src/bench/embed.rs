//! `cargo xtask bench embed`: calls from a program into the system inside it, beside instances of
//! wasmtime in the same run.

use super::samples::Sample;
use super::{Request, finish, measure_peer, wasmtime};
use crate::project::Project;
use crate::setup::{self, Needs};
use crate::{build, embed};
use anyhow::Result;
use std::process::Command;

/// Calls of a kind in a round.
const SAMPLES: &str = "20000";

/// Measures, prints the table and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    let image = embed::image(&project)?;
    build::host(&project, &["sing-bench-embed"])?;
    let mut own = Command::new(project.host_binary("sing-bench-embed"));
    own.args(["--samples", SAMPLES]).arg(&image);
    let mut peer = wasmtime(&project);
    if let Some(peer) = &mut peer {
        peer.args(["--calls", "--samples", SAMPLES]);
    }
    let (mut ours, mut theirs): (Vec<Sample>, Vec<Sample>) = Default::default();
    for round in 1..=request.rounds {
        complain!("round {round} of {}", request.rounds);
        ours.extend(measure_peer(&mut own)?);
        if let Some(peer) = &mut peer {
            theirs.extend(measure_peer(peer)?);
        }
    }
    finish(&project, request, &ours, &theirs)
}
