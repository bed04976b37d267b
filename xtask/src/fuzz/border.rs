//! Drawn attacks on two borders: that between a host program and the system inside it (`fuzz embed`), and that between an
//! ordinary program and its functions of WASI preview 1 (`fuzz wasi`).
//!
//! Both are test programs of `embed` (`embed/tests/fuzz.rs`, `embed/tests/border.rs`) that go on for as long as they are told. Calls of
//! WASI are compared with what wasmtime gives, by the peer of `bench programs`.

use super::{Request, What};
use crate::project::Project;
use crate::{bench, cargo, embed};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The default length of a run, in seconds.
const TIME: u64 = 60;

/// Runs one of both; the findings.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
    let (name, test) = match request.what {
        What::Wasi => ("wasi", "border"),
        _ => ("embed", "fuzz"),
    };
    let seed = request.seed();
    say(&format!("fuzz {name}: --seed {seed}"));
    let image = embed::image_for_tests(project)?;
    let line = ["test", "--release", "-p", "sing-embed", "--test", test];
    let mut command = cargo::command(&project.root, &line);
    command.args(["--", "--include-ignored", "--nocapture"]);
    command.env("SING_EMBED_IMAGE", &image);
    // One heap for all threads, so that what is left behind is not hidden by what each has in reserve.
    command.env("MALLOC_ARENA_MAX", "1");
    command.env("SING_FUZZ_SEED", seed.to_string());
    let seconds = match request.rounds {
        Some(rounds) => {
            command.env("SING_FUZZ_ROUNDS", rounds.to_string());
            u64::from(u32::MAX)
        }
        None => request.time.unwrap_or(TIME),
    };
    command.env("SING_FUZZ_SECONDS", seconds.to_string());
    if request.what == What::Wasi && !request.alone {
        with_peer(project, &mut command)?;
    }
    let ran = cargo::capture(&mut command, &format!("fuzzing: {name}"))?;
    let said = |line: &&str| line.starts_with(|c: char| c == ' ' || c.is_ascii_digit());
    ran.output.lines().filter(said).for_each(&mut *say);
    Ok(match ran.success {
        true => Vec::new(),
        false => vec![format!("fuzz {name} --seed {seed}:\n{}", ran.output)],
    })
}

/// Has the calls of WASI compared with wasmtime's.
fn with_peer(project: &Project, command: &mut Command) -> Result<()> {
    let peer = bench::programs::peer(project)
        .context("fuzz wasi compares with wasmtime; --alone does not")?;
    let module = embed::module(project, "border")?;
    let compiled = project.out().join("border");
    let mut compile = Command::new(&peer);
    compile
        .arg("compile")
        .args([module.as_path(), Path::new(&compiled)]);
    cargo::quiet(&mut compile, "compiling border.wasm within wasmtime")?;
    command.env("SING_BORDER_PEER", &peer);
    command.env("SING_BORDER_MODULE", &compiled);
    Ok(())
}
