//! `cargo xtask programs`: ordinary programs of several languages (`tests/programs`), each of which does
//! the same: words, input, files, directories, clocks, random numbers, an exit status. They run by `sing
//! run`, and as commands of the shell on a machine (`shell`), with a directory of the host and with a file system of
//! ours. Another directory of programs, with a `check` that runs each by a command given, can be named (`given`).

mod given;
mod shell;

use crate::machine::Machine;
use crate::project::Project;
use crate::setup::{self, Needs};
use crate::{build, files, wasi};
use anyhow::{Context, Result, ensure};
use given::Given;
pub use shell::copy_all;
use shell::{Desk, PLACES, Work};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a machine may take.
const TIME: Duration = Duration::from_secs(240);
/// What a program reads.
const INPUT: &str = "a\nb\n";
const FILE: &str = "one\ntwo three\n";
/// What it prints then, and the status with which it ends.
const OUTPUT: &str = "words: a b\ninput: 2 lines\nfile: 14 bytes\nmade: ONE\nTWO THREE\nlisted: true\n\
                      removed: true\nmissing: true\nclocks: true\nrandom: true\n";
const STATUS: i32 = 7;

/// A module that is written as text (`tests/ordinary`), for which no compiler is needed.
struct Text {
    name: &'static str,
    words: &'static [&'static str],
    output: &'static str,
    status: i32,
}

const TEXTS: [Text; 3] = [
    Text {
        name: "words",
        words: &["a b", "", "$x 'y'"],
        output: "in-words\0a b\0\0$x 'y'\0",
        status: 7,
    },
    Text {
        name: "copy",
        words: &[],
        output: INPUT,
        status: 0,
    },
    Text {
        name: "file",
        words: &[],
        output: FILE,
        status: 0,
    },
];

/// The options of `programs`.
#[derive(Debug, Default)]
pub struct Request {
    /// A directory of programs with a `check`.
    pub given: Option<PathBuf>,
    /// Machines on which they are commands.
    pub machines: Vec<Machine>,
}

/// A language, and the command that makes a module of its program.
struct Language {
    name: &'static str,
    source: &'static str,
    compiler: &'static str,
    arguments: &'static [&'static str],
    /// How the compiler is to be had.
    way_out: &'static str,
}

const LANGUAGES: [Language; 3] = [
    Language {
        name: "rust",
        source: "rust.rs",
        compiler: "rustc",
        arguments: &["--edition", "2024", "-O", "--target", "wasm32-wasip1"],
        way_out: "`rustup target add wasm32-wasip1` installs the target",
    },
    Language {
        name: "go",
        source: "go/main.go",
        compiler: "go",
        arguments: &["build"],
        way_out: "it needs Go, 1.21 or later",
    },
    Language {
        name: "c",
        source: "c.c",
        compiler: "clang",
        arguments: &[
            "--target=wasm32-wasi",
            "--sysroot=/usr",
            "-O2",
            "-Wall",
            "-Werror",
        ],
        way_out: "`apt-get install clang lld wasi-libc libclang-rt-dev-wasm32` installs a C library",
    },
];

/// Runs them; whether all did what they should.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    let emulated = request.machines.iter().any(|m| m.is_emulated());
    setup::prepare(&mut project, Needs::of(emulated))?;
    let place = Place::new(&project)?;
    let mut failed = 0;
    for why in &place.missing {
        say!("left out: {why}");
    }
    let mut tell = |name: String, outcome: Result<()>| match outcome {
        Ok(()) => say!("ok    {name}"),
        Err(error) => {
            failed += 1;
            say!("FAIL  {name}: {error:#}");
        }
    };
    for (name, _) in &place.modules {
        tell(format!("{name}, sing run"), place.by_sing(name));
    }
    for machine in &request.machines {
        for (name, outcome) in place.on(*machine)? {
            tell(name, outcome);
        }
    }
    if let Some(folder) = &request.given {
        let given = Given::new(&project, folder, &place.folder)?;
        tell(format!("{}, sing run", folder.display()), given.by_sing());
        for machine in &request.machines {
            for (name, outcome) in given.on(*machine)? {
                tell(name, outcome);
            }
        }
    }
    Ok(u8::from(failed > 0))
}

/// The programs, made, and what they work on.
pub struct Place<'a> {
    project: &'a Project,
    folder: PathBuf,
    /// Each with the name of its language.
    pub modules: Vec<(String, PathBuf)>,
    /// Languages that are left out, with the reason.
    pub missing: Vec<String>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Place<'_> {
    /// Makes the programs.
    pub fn new(project: &Project) -> Result<Place<'_>> {
        wasi::base(project)?;
        let folder = format!("programs-{}", std::process::id());
        let mut place = Place {
            project,
            folder: project.out().join(folder),
            modules: Vec::new(),
            missing: Vec::new(),
        };
        fs::create_dir_all(place.shared()).context("cannot make a folder for programs")?;
        files::write(&place.shared().join("in.txt"), FILE)?;
        files::write(&place.shared().join("input"), INPUT)?;
        for language in &LANGUAGES {
            let module = place.folder.join(format!("{}.wasm", language.name));
            match language.make(project, &module) {
                Ok(()) => place.modules.push((language.name.into(), module)),
                Err(why) => place.missing.push(format!("{}: {why:#}", language.name)),
            }
        }
        ensure!(!place.modules.is_empty(), "no program could be made");
        Ok(place)
    }

    fn shared(&self) -> PathBuf {
        self.folder.join("shared")
    }

    fn sing(&self) -> Command {
        let mut command = Command::new(self.project.host_binary("sing"));
        command.env("SING_CACHE", self.folder.join("cache"));
        command
    }

    /// Runs a program by `sing run`: twice, as the second run is of what the first has compiled.
    pub fn by_sing(&self, name: &str) -> Result<()> {
        let module = self.folder.join(format!("{name}.wasm"));
        for _ in 0..2 {
            let mut command = self.sing();
            command.arg("run").arg("--dir");
            command.arg(format!("{}::/data", self.shared().display()));
            command.arg(&module).args(["/data", "a", "b"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.stderr(Stdio::piped()).spawn()?;
            let mut input = child.stdin.take().context("no input")?;
            input.write_all(INPUT.as_bytes())?;
            drop(input);
            let output = child.wait_with_output()?;
            let [out, errors] =
                [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
            ensure!(
                out == OUTPUT && output.status.code() == Some(STATUS) && errors == "to errors\n",
                "{:?}, and it printed\n{out}{errors}",
                output.status
            );
        }
        Ok(())
    }

    /// Runs all, and modules of text, as commands of the shell on a machine, with a directory of the host and
    /// with our file system: what each did.
    pub fn on(&self, machine: Machine) -> Result<Vec<(String, Result<()>)>> {
        let (mut programs, mut works, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |name: &str, module: &Path, words: &[&str]| -> Result<()> {
            let program = format!("in-{name}");
            let image = self.folder.join(&program);
            shell::compiled(self.project, &self.folder.join("cache"), module, &image)?;
            programs.push((program.clone(), image));
            works.push(Work {
                program,
                words: words.iter().map(ToString::to_string).collect(),
                input: INPUT.into(),
            });
            Ok(())
        };
        for (name, module) in &self.modules {
            add(name, module, &["/", "a", "b"])?;
            wanted.push((name.clone(), OUTPUT, STATUS));
        }
        for text in &TEXTS {
            let source = format!("tests/ordinary/{}.wat", text.name);
            let module = self.folder.join(format!("{}.wasm", text.name));
            build::module_of_text(self.project, &self.project.root.join(source), &module)?;
            add(text.name, &module, text.words)?;
            wanted.push((format!("{}.wat", text.name), text.output, text.status));
        }
        let desk = Desk {
            project: self.project,
            folder: self.folder.join(machine.name()),
            files: self.shared(),
            guest: "/".into(),
            time: TIME,
        };
        let ran = desk.run(machine, &programs, &works)?;
        let mut all = Vec::new();
        for (number, (name, output, status)) in wanted.iter().enumerate() {
            for (place, of) in PLACES.iter().enumerate() {
                let title = format!("{name}, {}, {of}", machine.name());
                let did = ran.at(place, number);
                all.push((
                    title,
                    did.and_then(|did| did.expect(output.as_bytes(), *status)),
                ));
            }
        }
        Ok(all)
    }
}

impl Language {
    /// Makes its module.
    fn make(&self, project: &Project, module: &Path) -> Result<()> {
        let source = project.root.join("tests/programs").join(self.source);
        let mut command = Command::new(self.compiler);
        command.args(self.arguments).arg("-o").arg(module);
        command.arg(&source).stdin(Stdio::null());
        if self.compiler == "go" {
            command.envs([
                ("GOOS", "wasip1"),
                ("GOARCH", "wasm"),
                ("GO111MODULE", "off"),
            ]);
        }
        let output = command.output();
        let output = output.with_context(|| format!("no {}; {}", self.compiler, self.way_out))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}; {}",
            said.lines().next().unwrap_or("it does not compile"),
            self.way_out
        );
        Ok(())
    }
}
