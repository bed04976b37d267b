//! `cargo xtask bench hello`: the program that says hello, in C, in Rust without and with its standard
//! library, and in Go: the module, what is installed of it, and the memory of its process ([O] 6.4).
//!
//! The programs say hello and stay for some seconds; `ps` then says how many pages each occupies.
//! What they share, the code, is not in that: it is in the installed image.

use super::samples::Sample;
use super::{PATIENCE, Request, finish};
use crate::image::{self, MemoryMode};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::{Maker, Program, Project};
use crate::run::SCRIPT_ARGUMENTS;
use crate::setup::{self, Needs};
use crate::system::session::Session;
use crate::{build, cargo, wasi};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The folder of those that are no packages of the workspace.
const SOURCES: &str = "bench/hello";
/// The package of the one in Rust without its standard library, and its program.
const WITHOUT_STD: (&str, &str) = ("test-hello-stays", "hello-stays");
/// How long each stays, and when they are looked at, in seconds: Go's start takes the longest.
const STAY: u32 = 6;
const LOOK: u32 = 3;

/// A program that says hello.
struct Hello {
    /// What it is written in.
    language: &'static str,
    /// Its name in the system.
    name: &'static str,
    module: PathBuf,
}

/// Builds, measures, prints the table and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    wasi::base(&project)?;
    let folder = project.out().join("bench-hello");
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut all = Vec::new();
    for (language, name, make) in LANGUAGES {
        let module = folder.join(format!("{name}.wasm"));
        match make(&project, &module) {
            Ok(()) => all.push(Hello {
                language,
                name,
                module,
            }),
            Err(error) => complain!("without {language}: {error:#}"),
        }
    }
    let pages = pages(&project, request.memory, &all)?;
    let mut samples = Vec::new();
    for (hello, pages) in all.iter().zip(pages) {
        let image = project.out().join("further").join(request.memory.name());
        let rows = [
            ("module", size(&hello.module)?),
            ("installed", size(&image.join(hello.name))?),
            ("memory", pages * 4.0),
        ];
        samples.extend(rows.map(|(what, median)| Sample {
            id: Some("E8".into()),
            name: format!("{}: {what}", hello.language),
            peer: None,
            unit: "KiB".into(),
            median,
            p10: None,
            p90: None,
        }));
    }
    finish(&project, request, &samples, &[])
}

type Make = fn(&Project, &Path) -> Result<()>;

/// Languages, with the names of the programs and what makes the modules.
const LANGUAGES: [(&str, &str, Make); 4] = [
    ("C", "hello-c", of_c),
    ("Rust, no_std", "hello-no-std", of_rust),
    ("Rust, std", "hello-std", of_rust_std),
    ("Go", "hello-go", of_go),
];

fn of_c(project: &Project, module: &Path) -> Result<()> {
    let mut cc = Command::new(project.host_binary("sing"));
    cc.arg("cc").arg(source(project, "hello.c"));
    cc.arg("-o").arg(module).args(["--", "-Werror"]);
    cargo::quiet(&mut cc, "compiling hello in C")
}

fn of_rust(project: &Project, module: &Path) -> Result<()> {
    let program = Program {
        maker: Maker::Cargo(WITHOUT_STD.0.into()),
        name: WITHOUT_STD.1.into(),
        test: true,
    };
    build::tools_and_programs(project, &[&program])?;
    let made = project.module(&program);
    fs::copy(&made, module).with_context(|| format!("cannot copy {}", made.display()))?;
    Ok(())
}

fn of_rust_std(project: &Project, module: &Path) -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(&project.root);
    rustc.args(["--edition", "2024", "--target", "wasm32-wasip1"]);
    rustc.args(["-C", "opt-level=s", "-C", "strip=symbols"]);
    rustc.args(["-C", "panic=abort", "-o"]).arg(module);
    rustc.arg(source(project, "hello.rs"));
    cargo::quiet(&mut rustc, "compiling hello with Rust's standard library")
        .context("`rustup target add wasm32-wasip1` installs what it needs")
}

fn of_go(project: &Project, module: &Path) -> Result<()> {
    let mut go = Command::new("go");
    go.env("GOOS", "wasip1").env("GOARCH", "wasm");
    go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"]);
    go.arg(module).arg(source(project, "hello.go"));
    cargo::quiet(&mut go, "compiling hello in Go").context("it needs Go, https://go.dev")
}

fn source(project: &Project, name: &str) -> PathBuf {
    project.root.join(SOURCES).join(name)
}

/// The size of a file in KiB.
fn size(file: &Path) -> Result<f64> {
    let data = fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(data.len() as f64 / 1024.0)
}

/// The pages that each program's process occupies while it waits.
fn pages(project: &Project, mode: MemoryMode, all: &[Hello]) -> Result<Vec<f64>> {
    let further: Vec<_> = all
        .iter()
        .map(|h| (h.name.into(), h.module.clone()))
        .collect();
    let start = |hello: &Hello| format!("{} {STAY} & ", hello.name);
    let mut script: String = all.iter().map(start).collect();
    script.push_str(&format!("sleep {LOOK}; ps; wait\n"));
    let image = image::system_with(project, mode, Some(&script), &further, None)?;
    let kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
    let arguments = SCRIPT_ARGUMENTS.map(String::from);
    let session = Session::start(kernel.launch(Some(&image), &arguments, false)?)?;
    let (output, ended) = session.finish(Instant::now() + PATIENCE);
    let _ = fs::remove_file(&image);
    if !matches!(ended, Ok(Some(0))) {
        bail!("the programs failed ({ended:?}):\n{output}");
    }
    let of = |hello: &Hello| {
        let found = pages_in(&output, hello.name);
        found.with_context(|| format!("{} is not among the processes:\n{output}", hello.name))
    };
    all.iter().map(of).collect()
}

/// The pages of a process in the table of `ps`.
fn pages_in(table: &str, name: &str) -> Option<f64> {
    let mut rows = table.lines().map(|row| row.split_whitespace().collect());
    let place = rows.by_ref().find_map(|heads: Vec<&str>| {
        let is_head = heads.first() == Some(&"ID");
        let place = heads.iter().position(|head| *head == "PAGES");
        place.filter(|_| is_head)
    })?;
    let row = rows.find(|row| row.get(1) == Some(&name))?;
    row.get(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stand_in_the_table() {
        let table = "Hello.\n   ID NAME      STATE  THREADS  PAGES EXCHANGE\n\
                     1 hello-c   blocked 1 9 0\n 2 hello-go blocked 1 300 0\n";
        assert_eq!(pages_in(table, "hello-c"), Some(9.0));
        assert_eq!(pages_in(table, "hello-go"), Some(300.0));
        assert_eq!(pages_in(table, "hello"), None);
        assert_eq!(pages_in("hello-c 1 2 3 4 5", "hello-c"), None);
    }
}
