//! The kernels of `bench/compute` on every side: as programs of this machine, under wasmtime, and
//! as programs of the system. All sides run the same source, and must compute the same.

use crate::image::{self, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::session::Session;
use crate::{cargo, files, toolchain};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long one burst may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Flags for code without vectors on this machine.
const WITHOUT_VECTORS: &str = "-C no-vectorize-loops -C no-vectorize-slp";
/// The same for modules with them.
const WITH_SIMD: &str = "-Ctarget-feature=+simd128";

/// One burst of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The cycles of the run that was disturbed least.
    pub cycles: f64,
    /// Those of a run in the stretch of runs that was disturbed least.
    pub stretch: f64,
    /// What the kernel computed.
    pub result: u64,
}

impl Burst {
    /// Reads `LEAST STRETCH RESULT`, at the beginning of a line or behind `measured`.
    fn read(output: &str) -> Option<Burst> {
        output.lines().find_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("measured ").unwrap_or(line);
            let mut words = line.split(' ');
            let cycles = words.next()?.parse().ok()?;
            let stretch = words.next()?.parse().ok()?;
            let result = u64::from_str_radix(words.next()?, 16).ok()?;
            Some(Burst {
                cycles,
                stretch,
                result,
            })
        })
    }
}

/// How a program of the system is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Its name in the system image.
    pub program: &'static str,
    /// Whether the module has vector instructions.
    pub simd: bool,
    /// What `sing compile --memory` gets.
    pub memory: &'static str,
    /// What `--checks` gets.
    pub checks: &'static str,
    /// What `--cpu` gets.
    pub cpu: &'static str,
}

/// Where kernels run.
pub enum Side {
    /// A program of this machine.
    Native(PathBuf),
    /// wasmtime, with what it has made of a module.
    Wasmtime(PathBuf, PathBuf),
    /// A program of the system in this image, whose kernel has these options.
    Ours {
        image: PathBuf,
        program: &'static str,
        options: &'static [&'static str],
    },
}

/// The kernels, built for all sides.
pub struct Kernels {
    project: Project,
    system: Kernel,
    /// Their names, in order.
    pub names: Vec<String>,
    runs: u32,
}

impl Kernels {
    /// Builds those for this machine.
    pub fn prepare(project: Project, runs: u32) -> Result<(Kernels, Side)> {
        let native = native(&project, "bench-compute", None)?;
        let output = Command::new(&native).output()?;
        let names = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = names.lines().map(String::from).collect();
        ensure!(!names.is_empty(), "{} names no kernels", native.display());
        let system = Kernel::prepare(&project, Machine::Hosted, Acceleration::Emulated)?;
        let kernels = Kernels {
            project,
            system,
            names,
            runs,
        };
        Ok((kernels, Side::Native(native)))
    }

    /// The project, when all has been measured.
    pub fn into_project(self) -> Project {
        self.project
    }

    /// The native side without vectors.
    pub fn without_vectors(&self) -> Result<Side> {
        let folder = "bench-compute-scalar";
        native(&self.project, folder, Some(WITHOUT_VECTORS)).map(Side::Native)
    }

    /// The module, with vector instructions or without.
    fn module(&self, simd: bool) -> Result<PathBuf> {
        let folder = self.project.root.join("bench/compute");
        let name = if simd { "bench-simd" } else { "bench-module" };
        let target = self.project.target.join(name);
        let mut command = cargo::command(&folder, &["build", "--release", "--locked"]);
        command.args(["-p", "kernels", "--target", toolchain::WASM]);
        if simd {
            let wasm = toolchain::WASM;
            let flags = format!("target.{wasm}.rustflags=[\"{WITH_SIMD}\"]");
            command.args(["--config", &flags]);
        }
        command.arg("--target-dir").arg(&target);
        cargo::quiet(&mut command, "building the kernels' module")?;
        let release = target.join(toolchain::WASM).join("release");
        Ok(release.join("kernels.wasm"))
    }

    /// wasmtime's sides, if it can be built: for each module, with vectors or without.
    pub fn wasmtime(&self, simd: &[bool]) -> Result<Option<Vec<Side>>> {
        let Some(peer) = super::wasmtime(&self.project) else {
            return Ok(None);
        };
        let peer = Path::new(peer.get_program()).with_file_name("kernels");
        let mut sides = Vec::new();
        for &simd in simd {
            let module = self.module(simd)?;
            let compiled = module.with_extension("cwasm");
            let mut command = Command::new(&peer);
            command.arg("compile").arg(module).arg(&compiled);
            cargo::quiet(&mut command, "compiling the kernels for wasmtime")?;
            sides.push(Side::Wasmtime(peer.clone(), compiled));
        }
        Ok(Some(sides))
    }

    /// Makes a system image with the program compiled in all these ways; where it is.
    pub fn image(&self, ways: &[Way]) -> Result<PathBuf> {
        let project = &self.project;
        let mode = image::MemoryMode::Guard;
        let mut images = image::compile_programs(project, Programs::Ordinary, mode)?;
        let folder = project
            .out()
            .join(format!("bench-kernels-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        for way in ways {
            let image = folder.join(way.program);
            let mut command = Command::new(project.host_binary("sing"));
            command.arg("compile").arg(self.module(way.simd)?);
            command.arg("-o").arg(&image);
            command.args(["--memory", way.memory, "--checks", way.checks]);
            command.args(["--cpu", way.cpu, "--lines", "none"]);
            cargo::quiet(&mut command, &format!("compiling {}", way.program))?;
            images.push((way.program.into(), image));
        }
        let mut scripts = Vec::new();
        for way in ways {
            for name in &self.names {
                let script = script(way.program, name);
                let file = folder.join(&script);
                let text = format!("{} {name} {}\n", way.program, self.runs);
                files::write(&file, text)?;
                scripts.push((script, file));
            }
        }
        let out = folder.join("system.img");
        image::pack_with(project, &images, &out, None, &scripts)
    }

    /// Measures a burst of the kernel of this number.
    pub fn burst(&self, side: &Side, number: usize) -> Result<Burst> {
        let name = &self.names[number];
        let runs = self.runs.to_string();
        let output = match side {
            Side::Native(program) => said(Command::new(program).args([name, &runs]))?,
            Side::Wasmtime(peer, compiled) => {
                let mut command = Command::new(peer);
                command.arg("run").arg(compiled);
                said(command.args([&number.to_string(), &runs]))?
            }
            Side::Ours {
                image,
                program,
                options,
            } => {
                let script = format!("/boot/{}", script(program, name));
                let mut arguments = Vec::from(SCRIPT_ARGUMENTS.map(String::from));
                arguments[1] = script;
                let mut system = self.system.clone();
                system.options.extend(*options);
                let launch = system.launch(Some(image), &arguments, false)?;
                let session = Session::start(launch)?;
                let (output, ended) = session.finish(Instant::now() + PATIENCE);
                ensure!(
                    matches!(ended, Ok(Some(0))),
                    "{program} {name}: {ended:?}\n{output}"
                );
                output
            }
        };
        Burst::read(&output).with_context(|| format!("{name}: not understood: {output}"))
    }
}

/// The boot file that runs a kernel.
fn script(program: &str, kernel: &str) -> String {
    format!("{program}.{kernel}")
}

fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| name.clone())?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds the kernels as a program of this machine, with these flags.
fn native(project: &Project, target: &str, flags: Option<&str>) -> Result<PathBuf> {
    let folder = project.root.join("bench/compute");
    let target = project.target.join(target);
    let mut command = cargo::command(&folder, &["build", "--release", "--locked"]);
    command.args(["-p", "sing-bench-native", "--target-dir"]);
    command.arg(&target);
    if let Some(flags) = flags {
        command.env("RUSTFLAGS", flags);
    }
    cargo::quiet(&mut command, "building the kernels for this machine")?;
    Ok(target.join("release/sing-bench-native"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_read_from_what_a_side_prints() {
        let output = "booted\nmeasured 120 130 00000000000000ff\nbye\n";
        let burst = Burst::read(output).unwrap();
        assert_eq!((burst.cycles, burst.stretch), (120.0, 130.0));
        assert_eq!(burst.result, 255);
        assert!(Burst::read("120 130\n").is_none());
        assert!(Burst::read("measured a b c\n").is_none());
    }
}
