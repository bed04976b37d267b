//! Ordinary programs as commands of the shell on a machine. All of them run in one system, twice: with their
//! files in a directory of the host, and with the same files on a disk of the machine.

use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::{cargo, files};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Where a machine has the programs' files, as a directory of the host; and where it has their inputs and
/// outputs. A program's first directory is the former, as long as nothing is mounted at `/`.
const SHARED: &str = "/mnt/files";
const WORK: &str = "/mnt/work";

/// The places that files have.
pub const PLACES: [&str; 2] = ["the host's directory", "our file system"];

/// One run of a program.
#[derive(Debug)]
pub struct Work {
    /// The name of its command.
    pub program: String,
    /// Its arguments; those that are paths begin with the name that the files' directory has for it.
    pub words: Vec<String>,
    /// Its standard input.
    pub input: Vec<u8>,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Did {
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its status.
    pub status: i32,
}

impl Did {
    /// Fails if it is not this.
    pub fn expect(&self, output: &[u8], status: i32) -> Result<()> {
        ensure!(
            self.output == output && self.status == status,
            "status {}, and it printed\n{}",
            self.status,
            String::from_utf8_lossy(&self.output)
        );
        Ok(())
    }
}

/// What all did on a machine.
#[derive(Debug)]
pub struct Ran {
    /// For each of [`PLACES`] what each run did, if it has ended.
    pub did: [Vec<Option<Did>>; 2],
    /// What the system said.
    pub said: String,
}

impl Ran {
    /// What a run did at a place.
    pub fn at(&self, place: usize, number: usize) -> Result<&Did> {
        let did = self.did[place].get(number).and_then(Option::as_ref);
        did.with_context(|| format!("it has not ended; the system said\n{}", self.said))
    }
}

/// Commands on their way to a machine.
pub struct Desk<'a> {
    pub project: &'a Project,
    /// A folder of its own.
    pub folder: PathBuf,
    /// What the programs work on.
    pub files: PathBuf,
    /// The name that the directory of these has for the programs: `/`, or a path.
    pub guest: String,
    /// How long the machine may take.
    pub time: Duration,
}

impl Desk<'_> {
    /// Runs all works on a machine. Of each program its name and compiled image.
    pub fn run(
        &self,
        machine: Machine,
        programs: &[(String, PathBuf)],
        works: &[Work],
    ) -> Result<Ran> {
        let (shared, work) = (self.folder.join("files"), self.folder.join("work"));
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&work).context("cannot make a folder for programs")?;
        copy_all(&self.files, &shared)?;
        copy_all(&self.files, &work.join("files"))?;
        for (number, one) in works.iter().enumerate() {
            files::write(&work.join(format!("{number}.in")), &one.input)?;
        }
        let mut images =
            image::compile_programs(self.project, Programs::Ordinary, MemoryMode::Guard)?;
        for (name, image) in programs {
            ensure!(
                images.iter().all(|(other, _)| other != name),
                "the system has a command `{name}` itself; give the program another name"
            );
            images.push((name.clone(), image.clone()));
        }
        let mut kernel = Kernel::prepare(self.project, machine, Acceleration::Emulated)?;
        kernel.entropy = true;
        kernel.directories = [(&shared, SHARED), (&work, WORK)]
            .map(|(path, at)| HostDirectory {
                path: path.clone(),
                at: at.into(),
                read_only: false,
            })
            .into();
        let script = self.script(works)?;
        let session = Session::start(launch(self.project, &images, &kernel, Some(&script))?)?;
        let (said, ended) = session.finish(Instant::now() + self.time);
        let did = [0, 1].map(|place| {
            let one = |number| self.did(&work, place, number);
            (0..works.len()).map(one).collect::<Vec<_>>()
        });
        let whole = did.iter().flatten().all(Option::is_some);
        if whole && !matches!(ended, Ok(Some(0))) {
            bail!("{}: {ended:?}\n{said}", machine.name());
        }
        let said = format!("{said}\n({ended:?})");
        Ok(Ran { did, said })
    }

    /// The commands of the shell.
    fn script(&self, works: &[Work]) -> Result<String> {
        let mut script = String::new();
        for place in 0..PLACES.len() {
            if place == 1 {
                script += &self.move_in()?;
            }
            for (number, work) in works.iter().enumerate() {
                script += &work.program;
                for word in &work.words {
                    let word = match place {
                        0 => shared(word, &self.guest),
                        _ => word.clone(),
                    };
                    script += &format!(" {}", quoted(&word));
                }
                let name = format!("{WORK}/{place}-{number}");
                script += &format!(" < {WORK}/{number}.in > {name}.out\n");
                script += &format!("echo $? > {name}.status\n");
            }
        }
        Ok(script)
    }

    /// The commands that put the files on a disk.
    fn move_in(&self) -> Result<String> {
        let mut commands = String::from("format --force /dev/disk0 && mount /dev/disk0 /\n");
        if self.guest != "/" {
            commands += &format!("mkdir -p {}\n", quoted(&self.guest));
        }
        for entry in fs::read_dir(&self.files).context("cannot read the programs' files")? {
            let name = entry?.file_name();
            let name = name.to_str().context("a file's name is no text")?;
            let from = quoted(&format!("{WORK}/files/{name}"));
            let to = format!("{}/{name}", self.guest.trim_end_matches('/'));
            commands += &format!("cp -r {from} {}\n", quoted(&to));
        }
        Ok(commands)
    }

    /// What a run left.
    fn did(&self, work: &Path, place: usize, number: usize) -> Option<Did> {
        let read = |what| fs::read(work.join(format!("{place}-{number}.{what}"))).ok();
        let status = String::from_utf8(read("status")?).ok()?;
        let mut output = read("out")?;
        if place == 0 {
            output = named_as_before(&output, &self.guest);
        }
        let status = status.trim().parse().ok()?;
        Some(Did { output, status })
    }
}

/// Compiles a module: the image.
pub fn compiled(project: &Project, cache: &Path, module: &Path, image: &Path) -> Result<()> {
    let mut command = Command::new(project.host_binary("sing"));
    command.env("SING_CACHE", cache);
    command.arg("compile").arg(module).arg("-o").arg(image);
    cargo::quiet(&mut command, &format!("compiling {}", module.display()))
}

/// A word of the shell that means this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// An argument in which the directory of files is the one at [`SHARED`].
fn shared(word: &str, guest: &str) -> String {
    match word.strip_prefix(guest.trim_end_matches('/')) {
        Some("" | "/") if !word.is_empty() => SHARED.into(),
        Some(rest) if rest.starts_with('/') => format!("{SHARED}{rest}"),
        _ => word.into(),
    }
}

/// Output in which that directory has the name again that it had.
fn named_as_before(output: &[u8], guest: &str) -> Vec<u8> {
    let (from, to) = (SHARED.as_bytes(), guest.trim_end_matches('/').as_bytes());
    let mut named = Vec::with_capacity(output.len());
    let mut rest = output;
    while let Some(at) = rest.windows(from.len()).position(|w| w == from) {
        named.extend_from_slice(&rest[..at]);
        named.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    named.extend_from_slice(rest);
    named
}

/// Copies a directory with all below it. Links are left out: the copy has only what lies in it.
pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let copied = || format!("cannot copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to).with_context(copied)?;
    for entry in fs::read_dir(from).with_context(copied)? {
        let entry = entry.with_context(copied)?;
        let place = to.join(entry.file_name());
        let kind = entry.file_type().with_context(copied)?;
        if kind.is_dir() {
            copy_all(&entry.path(), &place)?;
        } else if kind.is_file() {
            // Not its permissions: programs change it.
            files::write(&place, fs::read(entry.path()).with_context(copied)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_shared_directory() {
        for (word, guest, wanted) in [
            ("/in.txt", "/", "/mnt/files/in.txt"),
            ("/", "/", "/mnt/files"),
            ("a/b", "/", "a/b"),
            ("", "/", ""),
            ("/data", "/data", "/mnt/files"),
            ("/data/x", "/data", "/mnt/files/x"),
            ("/database", "/data", "/database"),
            ("select '/data/x'", "/data", "select '/data/x'"),
        ] {
            assert_eq!(shared(word, guest), wanted, "{word} in {guest}");
        }
        assert_eq!(
            named_as_before(b"[\"/mnt/files/in.txt\"] /mnt/files", "/"),
            b"[\"/in.txt\"] "
        );
        assert_eq!(
            named_as_before(b"\xff/mnt/files/x", "/data"),
            b"\xff/data/x"
        );
    }

    #[test]
    fn a_quoted_word_means_its_text() {
        assert_eq!(quoted("a|c $x"), "'a|c $x'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
