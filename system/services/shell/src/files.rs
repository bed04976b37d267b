//! Files that a pipeline reads and writes: `<`, `>` and `>>`.
//!
//! The shell itself opens no file. `A < X > Y` is the pipeline `cat X | A | save Y`: reading and
//! writing are done by processes with no more authority than any other, which the shell needs not
//! wait for one by one. If one of them fails, that is the pipeline's status.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::io::NOBODY_READS;
use sing_sdk::process::Exit;

/// The program that reads a file.
const READER: &str = "cat";
/// The program that writes one.
const WRITER: &str = "save";

/// The files of a pipeline.
#[derive(PartialEq, Eq)]
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
    pub fn text(&self, commands: &[Vec<String>]) -> String {
        let words: Vec<String> = commands.iter().map(|c| c.join(" ")).collect();
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
    pub fn stages(&self, mut commands: Vec<Vec<String>>) -> Vec<Vec<String>> {
        if let Some(path) = &self.input {
            // A path may begin like an option.
            commands.insert(0, vec![READER.into(), "--".into(), path.clone()]);
        }
        if let Some((path, append)) = &self.output {
            let mut command = vec![String::from(WRITER)];
            command.extend(append.then(|| "-a".into()));
            command.extend(["--".into(), path.clone()]);
            commands.push(command);
        }
        commands
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
