//! Files that a pipeline reads and writes: `<`, `>`, `>>`, and for errors `2>`, `2>>` and `2>&1`.
//!
//! The shell itself opens no file. `A < X > Y` is the pipeline `cat X | A | save Y`: reading and
//! writing are done by processes with no more authority than any other, which the shell needs not
//! wait for one by one. If one of them fails, that is the pipeline's status. Errors that go to a
//! file go to a `save` of their own, beside the pipeline; those that go where the output goes are
//! put together with it by `merge`, since a pipe has one writer.

use crate::words::Doer;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use shell::glob::Glob;
use sing_sdk::io::NOBODY_READS;
use sing_sdk::process::{Exit, NotMade};

/// The program that reads a file.
const READER: &str = "cat";
/// The program that writes one.
const WRITER: &str = "save";

/// The program that makes one pipe of two.
pub const MERGER: &str = "merge";

/// A command with its words expanded.
pub struct Stage {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// What the wildcards of each word mean; those behind the end have none.
    pub globs: Vec<Option<Glob>>,
    /// Where its errors go; to the console if nowhere else.
    pub errors: Option<Errors>,
}

/// Where the errors of a command go.
#[derive(PartialEq, Eq)]
pub enum Errors {
    /// Into the file of this path; whether at its end.
    File(String, bool),
    /// Where its output goes.
    WithOutput,
}

impl Stage {
    /// One whose errors go to the console.
    pub fn of(words: Vec<String>) -> Stage {
        Stage {
            words,
            globs: Vec::new(),
            errors: None,
        }
    }

    /// Takes this many words off its front.
    pub fn skip(&mut self, count: usize) {
        self.words.drain(..count);
        self.globs.drain(..count.min(self.globs.len()));
    }

    /// The command as shown to the person.
    fn text(&self) -> String {
        let words = self.words.join(" ");
        match &self.errors {
            None => words,
            Some(Errors::WithOutput) => words + " 2>&1",
            Some(Errors::File(path, true)) => format!("{words} 2>> {path}"),
            Some(Errors::File(path, false)) => format!("{words} 2> {path}"),
        }
    }
}

/// The command that writes its input into a file, at its end or anew.
pub fn writer(path: &str, append: bool) -> Vec<String> {
    let mut command = vec![String::from(WRITER)];
    command.extend(append.then(|| "-a".into()));
    // A path may begin like an option.
    command.extend(["--".into(), path.into()]);
    command
}

/// The files of a pipeline.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The one that the first command reads.
    pub input: Option<String>,
    /// The one that the last command writes, and whether at its end.
    pub output: Option<(String, bool)>,
}

impl Files {
    /// None.
    pub const NONE: Files = Files {
        input: None,
        output: None,
    };

    /// The pipeline as shown to the person.
    pub fn text(&self, commands: &[Stage]) -> String {
        let words: Vec<String> = commands.iter().map(Stage::text).collect();
        let mut text = words.join(" | ");
        if let Some(path) = &self.input {
            let first = words.first().map_or(0, String::len);
            text.insert_str(first, &format!(" < {path}"));
        }
        if let Some((path, append)) = &self.output {
            let sign = if *append { ">>" } else { ">" };
            text.push_str(&format!(" {sign} {path}"));
        }
        text
    }

    /// The commands, with those that read and write the files.
    pub fn stages(&self, mut commands: Vec<Stage>) -> Vec<Stage> {
        if let Some(path) = &self.input {
            // A path may begin like an option.
            let words = vec![READER.into(), "--".into(), path.clone()];
            commands.insert(0, Stage::of(words));
        }
        if let Some((path, append)) = &self.output {
            commands.push(Stage::of(writer(path, *append)));
        }
        commands
    }

    /// Adds the programs of those commands.
    pub fn doers(&self, doers: &mut Vec<Doer>) -> Result<(), NotMade> {
        if self.input.is_some() {
            doers.insert(0, Doer::program(READER)?);
        }
        if self.output.is_some() {
            doers.push(Doer::program(WRITER)?);
        }
        Ok(())
    }

    /// How reading or writing failed, if one did; and the ends of the person's own commands.
    pub fn outcome<'a>(&self, ended: &'a [(String, Exit)]) -> (Option<i32>, &'a [(String, Exit)]) {
        let (mut failed, mut rest) = (None, ended);
        if self.input.is_some()
            && let [(_, exit), others @ ..] = rest
        {
            // A command need not read all of it.
            let good = [0, NOBODY_READS].contains(&exit.status());
            failed = (!good).then(|| exit.status());
            rest = others;
        }
        if self.output.is_some()
            && let [others @ .., (_, exit)] = rest
        {
            if exit.status() != 0 {
                failed = Some(exit.status());
            }
            rest = others;
        }
        (failed, rest)
    }
}
