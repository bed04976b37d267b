//! A directory of programs with a `check`, which runs each by a command that it is given, in the order of
//! `wasmtime run`, and compares output and status. So that it can judge what programs do on a machine, it runs
//! twice: the first command only notes what it is asked to run; the second one repeats what a machine made of
//! that.

use super::shell::{Desk, Did, PLACES, Ran, Work, compiled};
use crate::files;
use crate::machine::Machine;
use crate::project::Project;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a machine may take for all of them.
const TIME: Duration = Duration::from_secs(600);

/// Notes arguments, input and directory of a run.
const NOTES: &str = r#"#!/bin/sh
here="$NOTED/$(ls "$NOTED" | wc -l)"
mkdir "$here" && cat > "$here/input" && printf '%s\0' "$@" > "$here/words" || exit 2
[ "$2" != --dir ] || cp -r "${3%%::*}" "$here/files"
"#;
/// Repeats what a run did.
const REPEATS: &str = r#"#!/bin/sh
number=$(cat "$NOTED/next") || exit 2
echo $((number + 1)) > "$NOTED/next"
cat "$NOTED/$number.out" && exit "$(cat "$NOTED/$number.status")"
"#;

/// Programs with a `check`.
pub struct Given<'a> {
    project: &'a Project,
    check: PathBuf,
    /// For files of its own.
    folder: PathBuf,
}

/// What `check` would have run.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    guest: String,
    module: PathBuf,
    words: Vec<String>,
}

impl<'a> Given<'a> {
    /// Those of a directory.
    pub fn new(project: &'a Project, given: &Path, folder: &Path) -> Result<Given<'a>> {
        let check = given.join("check");
        ensure!(check.is_file(), "{}: it has no `check`", given.display());
        let folder = folder.join("given");
        fs::create_dir_all(&folder).context("cannot make a folder for given programs")?;
        Ok(Given {
            project,
            check: fs::canonicalize(&check)?,
            folder,
        })
    }

    /// Has each run by `sing run`.
    pub fn by_sing(&self) -> Result<()> {
        let mut command = Command::new(&self.check);
        command.arg(self.project.host_binary("sing"));
        let status = command
            .env("SING_CACHE", self.folder.join("cache"))
            .status();
        let status = status.with_context(|| format!("{}", self.check.display()))?;
        ensure!(status.success(), "{status}");
        Ok(())
    }

    /// Has each run on a machine, as a command of the shell: what `check` says of each place of files.
    pub fn on(&self, machine: Machine) -> Result<Vec<(String, Result<()>)>> {
        let noted = self.noted()?;
        let files = self.folder.join("noted/0/files");
        let guest = noted[0].guest.clone();
        let mut images = BTreeMap::new();
        let (mut works, mut places) = (Vec::new(), Vec::new());
        let mut all = Vec::new();
        for (number, one) in noted.iter().enumerate() {
            ensure!(
                one.guest == guest,
                "run {number} has the directory at {}, the first one at {guest}; give all the same",
                one.guest
            );
            let made = images
                .entry(one.module.clone())
                .or_insert_with(|| self.compile(&one.module).map_err(|e| format!("{e:#}")));
            match made {
                Ok((program, _)) => {
                    places.push(number);
                    works.push(Work {
                        program: program.clone(),
                        words: one.words.clone(),
                        input: fs::read(self.folder.join(format!("noted/{number}/input")))?,
                    });
                }
                Err(why) => all.push((
                    one.module.display().to_string(),
                    Err(anyhow::anyhow!("{why}")),
                )),
            }
        }
        let programs: Vec<_> = images.into_values().filter_map(Result::ok).collect();
        let desk = Desk {
            project: self.project,
            folder: self.folder.join(machine.name()),
            files,
            guest,
            time: TIME,
        };
        let ran = desk.run(machine, &programs, &works)?;
        for (place, name) in PLACES.iter().enumerate() {
            let title = format!("{}, {}, {name}", self.check.display(), machine.name());
            all.push((title, self.judged(&ran, place, &places)));
        }
        Ok(all)
    }

    /// Compiles a module: the name of its command, and the image.
    fn compile(&self, module: &Path) -> Result<(String, PathBuf)> {
        let name = module.file_stem().and_then(|name| name.to_str());
        let name = name.context("its name is no text")?.to_string();
        let image = self.folder.join(format!("{name}.sip"));
        compiled(self.project, &self.folder.join("cache"), module, &image)?;
        Ok((name, image))
    }

    /// What `check` wants to be run.
    fn noted(&self) -> Result<Vec<Noted>> {
        let noted = self.folder.join("noted");
        let _ = fs::remove_dir_all(&noted);
        fs::create_dir(&noted).context("cannot make a folder for notes")?;
        // It judges an output that is none, so that it does not succeed.
        let mut check = self.check_by("notes", NOTES, &noted)?;
        let ended = check.stdout(Stdio::null()).stderr(Stdio::null()).status();
        ended.with_context(|| format!("{}", self.check.display()))?;
        let parent = self.check.parent().unwrap_or(Path::new("/"));
        let read = |number: usize| -> Option<Result<Noted>> {
            let words = fs::read(noted.join(format!("{number}/words"))).ok()?;
            Some(Noted::parse(&words, parent).with_context(|| format!("run {number} of `check`")))
        };
        let all: Vec<_> = (0..).map_while(read).collect::<Result<_>>()?;
        ensure!(
            !all.is_empty(),
            "{} runs no program by the command that it is given",
            self.check.display()
        );
        Ok(all)
    }

    /// What `check` says of the runs at a place, each of which has a number there.
    fn judged(&self, ran: &Ran, place: usize, numbers: &[usize]) -> Result<()> {
        let did = self.folder.join("did");
        let _ = fs::remove_dir_all(&did);
        fs::create_dir(&did).context("cannot make a folder for outputs")?;
        files::write(&did.join("next"), "0\n")?;
        for (run, number) in numbers.iter().enumerate() {
            // Of one that has not ended there is nothing to repeat.
            if let Some(Did { output, status }) = &ran.did[place][run] {
                files::write(&did.join(format!("{number}.out")), output)?;
                files::write(&did.join(format!("{number}.status")), format!("{status}\n"))?;
            }
        }
        let mut check = self.check_by("repeats", REPEATS, &did)?;
        let status = check
            .status()
            .with_context(|| format!("{}", self.check.display()))?;
        if !status.success() {
            bail!("{status}; the system said\n{}", ran.said);
        }
        Ok(())
    }

    /// `check` with a command of ours.
    fn check_by(&self, name: &str, text: &str, noted: &Path) -> Result<Command> {
        let runner = self.folder.join(name);
        files::write(&runner, text)?;
        fs::set_permissions(&runner, fs::Permissions::from_mode(0o755))?;
        let mut command = Command::new(&self.check);
        command.arg(&runner).env("NOTED", noted);
        Ok(command)
    }
}

impl Noted {
    /// Reads arguments, each with a zero behind it.
    fn parse(words: &[u8], parent: &Path) -> Result<Noted> {
        let words = String::from_utf8(words.to_vec()).context("its words are no text")?;
        let mut words = words.split_terminator('\0').map(String::from);
        let known = (words.next(), words.next(), words.next());
        let (Some(run), Some(option), Some(directory)) = known else {
            bail!("it is not `run --dir HOST::GUEST MODULE`");
        };
        ensure!(
            (&*run, &*option) == ("run", "--dir"),
            "it begins with `{run} {option}`, not with `run --dir`"
        );
        let (_, guest) = directory
            .rsplit_once("::")
            .with_context(|| format!("--dir {directory}: it is not HOST::GUEST"))?;
        ensure!(
            guest.starts_with('/'),
            "--dir {directory}: {guest} is not absolute"
        );
        let module = words.next().context("no module")?;
        ensure!(
            !module.starts_with('-'),
            "{module}: on a machine a program gets no further options"
        );
        Ok(Noted {
            guest: guest.into(),
            module: parent.join(module),
            words: words.collect(),
        })
    }
}
