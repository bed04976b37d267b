//! What the words of commands mean to the shell, before any process is made: which program or
//! built-in command is asked for, and whether its manifest allows the arguments ([O] 5.2.1).
//!
//! The manifest is asked of the kernel, which has it in memory: no service can keep the shell
//! waiting here, and a start costs no more messages than before. Programs check their arguments
//! again, by the same code, since a shell is not the only one that starts programs.

use crate::builtins::{self, Builtin};
use crate::files::Stage;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use shell::{nearby, paths};
use sing_sdk::process::{self, Manifest, NotMade};
use sing_sdk::usage::parameters::{self, Declaration, Kind, Parameter};

/// Who does a command.
pub enum Doer {
    /// A process.
    Program(Box<Manifest>),
    /// The shell.
    Builtin(&'static Builtin),
    /// The shell, which explains the arguments of a program.
    Usage(String),
}

impl Doer {
    /// A program whose arguments the shell makes itself.
    pub fn program(name: &str) -> Result<Doer, NotMade> {
        Ok(Doer::Program(Box::new(manifest(name)?)))
    }
}

/// Why commands are not done.
pub enum Refused {
    /// The arguments of one are wrong; what to say.
    Words(String),
    /// The program of one cannot be started.
    Program(NotMade),
}

/// The manifest of a program.
pub fn manifest(name: &str) -> Result<Manifest, NotMade> {
    process::manifest(name).map_err(|error| NotMade::new(name, error))
}

/// That there is no program of a name, and which one may be meant: the kernel is asked for names
/// that differ by a slip of the finger, of which there are few.
pub fn no_program(name: &str) -> String {
    let is_there =
        |name: &String| builtins::find(name).is_some() || process::manifest(name).is_ok();
    match nearby::names(name).find(is_there) {
        Some(other) => format!("{name}: no such program; did you mean `{other}`?"),
        None => format!("{name}: no such program; `help` lists what there is"),
    }
}

/// The declared parameters of a program, if it declares any. Installation has checked them, but an
/// image may come from anywhere.
pub fn parameters(manifest: &Manifest) -> Option<Result<&[Parameter], String>> {
    let all = manifest.parameters.as_deref()?;
    Some(match parameters::check(all) {
        Ok(()) => Ok(all),
        Err(e) => Err(format!(
            "what its manifest declares is wrong: {}",
            e.message
        )),
    })
}

/// Who does each command, if the arguments of all are right; else the first one that is refused, by
/// its number. Arguments that are paths, by the declarations, become whole ones.
pub fn doers(commands: &mut [Stage], directory: &str) -> Result<Vec<Doer>, (usize, Refused)> {
    let all = commands.iter_mut().enumerate();
    all.map(|(i, c)| doer(&mut c.words, directory).map_err(|refused| (i, refused)))
        .collect()
}

/// The program that lists the root if no directory is named; a person means the one that `cd` has
/// chosen.
const LISTS: &str = "ls";

fn doer(words: &mut Vec<String>, directory: &str) -> Result<Doer, Refused> {
    let name = words[0].as_str();
    if let Some(builtin) = builtins::find(name) {
        return Ok(Doer::Builtin(builtin));
    }
    let manifest = manifest(name).map_err(Refused::Program)?;
    match parameters(&manifest) {
        None => {}
        Some(Err(reason)) => return Err(Refused::Words(format!("{name}: {reason}"))),
        Some(Ok(all)) => match parameters::read(all, &words[1..]) {
            Ok(_) => {
                let named = make_whole(all, &mut words[1..], directory);
                if words[0] == LISTS && !named {
                    words.push(directory.into());
                }
            }
            Err(parameters::Refused::Help) => {
                return Ok(Doer::Usage(parameters::text(all, name)));
            }
            Err(parameters::Refused::Wrong(reason)) => {
                return Err(Refused::Words(parameters::refusal(all, name, &reason)));
            }
        },
    }
    Ok(Doer::Program(Box::new(manifest)))
}

/// Makes those words whole paths that are values of that kind; whether there is one.
fn make_whole<D: Declaration>(all: &[D], words: &mut [String], directory: &str) -> bool {
    let places = parameters::places(all, words);
    let mut any = false;
    for (word, place) in words.iter_mut().zip(places) {
        if place.is_some_and(|place| matches!(all[place].kind(), Kind::Path)) {
            *word = paths::whole(directory, word);
            any = true;
        }
    }
    any
}

/// What there is to say of a program and its arguments; `None` if there is none.
pub fn explain(name: &str) -> Option<String> {
    let manifest = process::manifest(name).ok()?;
    Some(match parameters(&manifest) {
        Some(Ok(all)) => parameters::text(all, name),
        Some(Err(reason)) => format!("{name}: {reason}"),
        None => format!("{name}: its manifest does not say which arguments it takes"),
    })
}
