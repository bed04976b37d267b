//! Builds the parts: host tools, programs, the PC HAL. `setup` has found the tools for that.

use crate::project::{Maker, Program, Project};
use crate::{cargo, clang, toolchain};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The host binaries that every run of the system needs. They are always built together, so that
/// cargo resolves the features of their shared dependencies once. Here `sing` has the kernel inside, and
/// does without the programs that it carries for others (`whole`): it would be made anew after each
/// change of one.
const TOOLS: [&str; 2] = ["sing-cli", "sing-hosted"];

/// Builds `sing` and the hosted kernel. In each run of xtask that is once, and again when somebody else has
/// put others in their place: `cargo test` for the whole workspace makes a `sing` with all that it carries.
pub fn tools(project: &Project) -> Result<()> {
    static BUILT: Mutex<Option<[Which; 2]>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let there = || {
        let which = |name| which(&project.host_binary(name));
        Some([which("sing")?, which("singularity")?])
    };
    if built.is_none() || *built != there() {
        let mut arguments = vec!["build", "--release", "--no-default-features"];
        arguments.extend(["--features", "sing-cli/kernel"]);
        for package in TOOLS {
            arguments.extend(["-p", package]);
        }
        let what = format!("building {}", TOOLS.join(" and "));
        cargo::build(&project.root, &arguments, &what)?;
        *built = there();
    }
    Ok(())
}

/// Which file a program is: its inode and the time of its last change.
type Which = (u64, i64, i64);

fn which(program: &Path) -> Option<Which> {
    let about = std::fs::metadata(program).ok()?;
    Some((about.ino(), about.mtime(), about.mtime_nsec()))
}

/// Builds binaries for this machine (packages of the workspace), optimised.
pub fn host(project: &Project, packages: &[&str]) -> Result<()> {
    let mut arguments = vec!["build", "--release"];
    for package in packages {
        arguments.extend(["-p", package]);
    }
    let what = format!("building {}", packages.join(" and "));
    cargo::build(&project.root, &arguments, &what)
}

/// Makes a WebAssembly module from its text, for a test.
pub fn module_of_text(project: &Project, text: &Path, module: &Path) -> Result<()> {
    static BUILT: AtomicBool = AtomicBool::new(false);
    if !BUILT.load(Ordering::Relaxed) {
        host(project, &["sing-wat"])?;
        BUILT.store(true, Ordering::Relaxed);
    }
    let mut command = Command::new(project.host_binary("sing-wat"));
    command.args([text, module]);
    cargo::quiet(&mut command, &format!("reading {}", text.display()))
}

/// Builds the hosted kernel with an additional feature, beside the usual one; returns the path of
/// its binary.
pub fn hosted_with(project: &Project, feature: &str) -> Result<PathBuf> {
    let target = project.target.join(feature);
    let arguments = ["build", "--release", "-p", "sing-hosted", "--features"];
    let mut command = cargo::command(&project.root, &arguments);
    command.arg(feature).arg("--target-dir").arg(&target);
    cargo::quiet(
        &mut command,
        &format!("building the hosted kernel with {feature}"),
    )?;
    Ok(target.join("release").join("singularity"))
}

/// Builds the hosted kernel without any library of this machine's beside it, for a container; returns
/// the path of its binary.
pub fn hosted_static(project: &Project) -> Result<PathBuf> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let flags = format!("target.{TARGET}.rustflags=[\"-Ctarget-feature=+crt-static\"]");
    let mut arguments = vec!["build", "--release", "--no-default-features"];
    arguments.extend(["-p", "sing-hosted", "--target", TARGET, "--config", &flags]);
    cargo::build(
        &project.root,
        &arguments,
        "building the hosted kernel statically",
    )?;
    let release = project.target.join(TARGET).join("release");
    Ok(release.join("singularity"))
}

/// Builds the tools, and programs to WebAssembly modules. Those of cargo's are built at the same
/// time: neither build keeps all processors busy from its first crate to its last.
pub fn tools_and_programs(project: &Project, programs: &[&Program]) -> Result<()> {
    let (mut packages, mut folders) = (BTreeSet::new(), Vec::new());
    for program in programs {
        match &program.maker {
            Maker::Cargo(package) => drop(packages.insert(package.as_str())),
            Maker::Clang(folder) => folders.push((program.name.as_str(), folder)),
        }
    }
    thread::scope(|scope| {
        let building = scope.spawn(|| of_cargo(project, &packages));
        let tools = tools(project);
        let programs = building.join();
        tools.and(programs.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    // `sing` makes their headers.
    for (name, folder) in folders {
        clang::module(project, name, folder)?;
    }
    Ok(())
}

/// Builds the programs of these packages.
fn of_cargo(project: &Project, packages: &BTreeSet<&str>) -> Result<()> {
    if packages.is_empty() {
        // Without a name, cargo would build its default members.
        return Ok(());
    }
    let folder = project.programs_target();
    let folder = folder.to_str().with_context(|| {
        let shown = folder.display();
        format!("the name of {shown} is not UTF-8; put the project, or CARGO_TARGET_DIR, elsewhere")
    })?;
    let mut arguments = vec!["build", "--release", "--target", toolchain::WASM];
    arguments.extend(["--target-dir", folder]);
    // Crash reports take the names of functions, which are kept, and nothing else of what a debugger
    // would read: a tenth of the time of these builds.
    for setting in [
        "profile.release.debug=0",
        "profile.release.strip=\"none\"",
        "profile.release.package.redb.opt-level=3",
        // Only the macros use it here.
        "profile.release.package.sing-contract.opt-level=0",
    ] {
        arguments.extend(["--config", setting]);
    }
    for package in packages {
        arguments.extend(["-p", package]);
    }
    cargo::build(&project.root, &arguments, "building the programs")
}

/// Builds the PC kernel, once in each run of xtask; answers where it is.
pub fn pc(project: &Project) -> Result<PathBuf> {
    static DONE: AtomicBool = AtomicBool::new(false);
    bare(project, "sing-pc", "building the PC kernel", &DONE)
}

/// Builds the PC HAL's test of itself, likewise: a kernel of its own on the same library.
pub fn pc_selftest(project: &Project) -> Result<PathBuf> {
    static DONE: AtomicBool = AtomicBool::new(false);
    bare(
        project,
        "sing-pc-selftest",
        "building the PC's self-test",
        &DONE,
    )
}

/// Builds a binary of the PC HAL's, where that is not done.
fn bare(project: &Project, binary: &str, what: &str, done: &AtomicBool) -> Result<PathBuf> {
    let target = ["--target", toolchain::BARE, "-p", "sing-pc"];
    if !done.load(Ordering::Relaxed) {
        let arguments = [&["build", "--release"][..], &target, &["--bin", binary]].concat();
        cargo::build(&project.root, &arguments, what)?;
        done.store(true, Ordering::Relaxed);
    }
    let release = project.target.join(toolchain::BARE).join("release");
    Ok(release.join(binary))
}
