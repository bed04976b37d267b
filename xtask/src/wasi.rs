//! `cargo xtask wasi`: builds what `sing run` and `sing serve` need beside themselves: the hosted kernel, and
//! for each a system image with the services that ordinary programs use and the adapter that they are joined
//! with.

use crate::image::{self, MemoryMode};
use crate::project::{Maker, Program, Project};
use crate::setup::{self, Needs};
use crate::{build, cargo};
use anyhow::{Result, bail};
use std::path::PathBuf;

/// A system for ordinary programs, with one use for them.
struct System {
    manifests: &'static [&'static str],
    /// Programs of the ordinary system that it has.
    services: &'static [&'static str],
    /// Its main program.
    main: &'static str,
    /// The adapter, which is joined with the user's program as a module.
    adapter: &'static str,
    /// The adapter of components.
    component: &'static str,
    /// The image's name, beside `sing`.
    image: &'static str,
}

/// For `sing run`.
const RUN: System = System {
    manifests: &["system/wasi/run.json"],
    services: &["clock", "manager", "nameserver", "virtio-9p", "virtio-rng"],
    main: "wasi-launcher",
    adapter: "wasi-adapter",
    component: "wasi-component",
    image: "sing-run.img",
};

/// For programs that listen.
const LISTEN: System = System {
    manifests: &["system/wasi/run.json", "system/wasi/listen.json"],
    services: &[
        "clock",
        "host-sockets",
        "manager",
        "nameserver",
        "network",
        "virtio-9p",
        "virtio-rng",
    ],
    image: "sing-listen.img",
    ..RUN
};

/// For `sing serve`.
const SERVE: System = System {
    manifests: &["system/wasi/serve.json"],
    services: &[
        "bootfs",
        "clock",
        "host-sockets",
        "manager",
        "nameserver",
        "network",
        "virtio-9p",
        "virtio-rng",
        "web",
    ],
    main: "wasi-server",
    adapter: "wasi-cgi",
    component: "wasi-http",
    image: "sing-serve.img",
};

/// The packages of both.
pub const PACKAGES: [&str; 6] = [
    RUN.main,
    RUN.adapter,
    RUN.component,
    SERVE.main,
    SERVE.adapter,
    SERVE.component,
];

/// Builds all of it.
pub fn run() -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    let run = base(&project)?;
    let serve = serving(&project)?;
    let listen = listening(&project)?;
    say!(
        "{}, {}, {} and {} are there: {} run PROGRAM.wasm",
        project.host_binary("singularity").display(),
        run.display(),
        listen.display(),
        serve.display(),
        project.host_binary("sing").display()
    );
    Ok(0)
}

/// Builds what `sing run` needs in this project; where the image is.
pub fn base(project: &Project) -> Result<PathBuf> {
    RUN.build(project)
}

/// The same for programs that listen.
pub fn listening(project: &Project) -> Result<PathBuf> {
    LISTEN.build(project)
}

/// The same for `sing serve`.
pub fn serving(project: &Project) -> Result<PathBuf> {
    SERVE.build(project)
}

impl System {
    fn build(&self, project: &Project) -> Result<PathBuf> {
        let own = [self.main, self.adapter, self.component].map(|name| Program {
            maker: Maker::Cargo(name.into()),
            name: name.into(),
            test: false,
        });
        let services = project.programs.iter();
        let services = services.filter(|p| self.services.contains(&p.name.as_str()));
        let programs: Vec<&Program> = services.chain(&own).collect();
        build::tools_and_programs(project, &programs)?;
        let [_, adapters @ ..] = &own;
        let started = programs.into_iter().filter(|p| !adapters.contains(p));
        let started: Vec<&Program> = started.collect();
        let images = image::compile(project, &started, MemoryMode::Guard)?;
        let out = project.host_binary(self.image);
        let [first, further @ ..] = self.manifests else {
            bail!("{} has no manifest", self.image);
        };
        let mut command = image::packing(project, first, &out, images);
        for manifest in further {
            command.arg("--manifest").arg(manifest);
        }
        for (name, adapter) in ["adapter", "component"].into_iter().zip(adapters) {
            let module = project.module(adapter);
            command
                .arg("--file")
                .arg(format!("{name}.wasm={}", module.display()));
        }
        cargo::quiet(&mut command, &format!("packing {}", self.image))?;
        Ok(out)
    }
}
