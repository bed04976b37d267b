//! `cargo xtask wasi`: builds what `sing run` needs beside itself: the hosted kernel, and a system
//! image with the services that ordinary programs use and the adapter that they are joined with.

use crate::image::{self, MemoryMode};
use crate::project::{Maker, Program, Project};
use crate::setup::{self, Needs};
use crate::{build, cargo};
use anyhow::Result;
use std::path::PathBuf;

/// The system manifest.
const SYSTEM: &str = "system/wasi/run.json";
/// Programs of the ordinary system that it has.
const SERVICES: [&str; 6] = [
    "bootfs",
    "clock",
    "manager",
    "nameserver",
    "virtio-9p",
    "virtio-rng",
];
/// The program that starts the user's.
const LAUNCHER: &str = "wasi-launcher";
/// The adapter, which is joined with the user's program as a module.
const ADAPTER: &str = "wasi-adapter";
/// The packages of both.
pub const PACKAGES: [&str; 2] = [LAUNCHER, ADAPTER];
/// The image's name, beside `sing`.
const IMAGE: &str = "sing-run.img";

/// Builds all of it.
pub fn run() -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    let image = base(&project)?;
    say!(
        "{} and {} are there: {} run PROGRAM.wasm",
        project.host_binary("singularity").display(),
        image.display(),
        project.host_binary("sing").display()
    );
    Ok(0)
}

/// Builds it in this project; where the image is.
pub fn base(project: &Project) -> Result<PathBuf> {
    let own = PACKAGES.map(|name| Program {
        maker: Maker::Cargo(name.into()),
        name: name.into(),
        test: false,
    });
    let services = project.programs.iter();
    let services = services.filter(|p| SERVICES.contains(&p.name.as_str()));
    let programs: Vec<&Program> = services.chain(&own).collect();
    build::tools_and_programs(project, &programs)?;
    let [_, adapter] = &own;
    let started: Vec<&Program> = programs.into_iter().filter(|p| *p != adapter).collect();
    let images = image::compile(project, &started, MemoryMode::Guard)?;
    let out = project.host_binary(IMAGE);
    let mut command = image::packing(project, SYSTEM, &out, images);
    let module = project.module(adapter);
    command
        .arg("--file")
        .arg(format!("adapter.wasm={}", module.display()));
    cargo::quiet(&mut command, "packing the image for `sing run`")?;
    Ok(out)
}
