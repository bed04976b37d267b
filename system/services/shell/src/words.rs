//! What the words of commands mean to the shell, before any process is made: which program or
//! built-in command is asked for, and whether its manifest allows the arguments ([O] 5.2.1).
//!
//! The manifest is asked of the kernel, which has it in memory: no service can keep the shell
//! waiting here, and a start costs no more messages than before. Programs check their arguments
//! again, by the same code, since a shell is not the only one that starts programs.

use crate::builtins::{self, Builtin};
use crate::console::Console;
use crate::files::Stage;
use crate::session::Session;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use shell::variables::Variables;
use shell::{nearby, paths};
use sing_sdk::Error;
use sing_sdk::contracts::{JobContract, Refusal};
use sing_sdk::pattern;
use sing_sdk::process::{
    self, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Manifest, NotMade, StartupEndpoint,
};
use sing_sdk::time;
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
    /// Ctrl-C came while names were looked for.
    Interrupted,
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
pub fn doers(session: &mut Session, commands: &mut [Stage]) -> Result<Vec<Doer>, (usize, Refused)> {
    let mut looking = Looking::default();
    let all = commands.iter_mut().enumerate();
    all.map(|(i, c)| doer(session, c, &mut looking).map_err(|refused| (i, refused)))
        .collect()
}

/// The program that lists the root if no directory is named; a person means the one that `cd` has
/// chosen.
const LISTS: &str = "ls";

fn doer(session: &mut Session, stage: &mut Stage, looking: &mut Looking) -> Result<Doer, Refused> {
    let name = stage.words[0].clone();
    if let Some(builtin) = builtins::find(&name) {
        expand::<Parameter>(None, stage, session, looking)?;
        return Ok(Doer::Builtin(builtin));
    }
    let manifest = manifest(&name).map_err(Refused::Program)?;
    let declared = parameters(&manifest);
    let all = declared.as_ref().and_then(|all| all.as_ref().ok());
    expand(all.copied(), stage, session, looking)?;
    let directory = session.directory.as_str();
    let words = &mut stage.words;
    let name = name.as_str();
    match declared {
        None => {}
        Some(Err(reason)) => return Err(Refused::Words(format!("{name}: {reason}"))),
        Some(Ok(all)) => match parameters::read(all, &words[1..]) {
            Ok(_) => {
                let named = make_whole(all, &mut words[1..], directory);
                if words[0] == LISTS && !named {
                    words.push(pattern::literal(directory));
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
    let given = arguments(words, &manifest, &session.variables);
    // Each has its length before it.
    let bytes = given.iter().map(|word| word.len() + 4).sum::<usize>();
    if given.len() > MAX_ARGUMENTS as usize || bytes > ALL_BYTES {
        return Err(Refused::Words(format!(
            "{name}: would have {} arguments of {bytes} bytes, with what is exported; a process has \
             {MAX_ARGUMENTS} of {ALL_BYTES} at most",
            given.len()
        )));
    }
    Ok(Doer::Program(Box::new(manifest)))
}

/// The most bytes of the words of a pipeline, and of the arguments of a process.
pub const ALL_BYTES: usize = MAX_ARGUMENT_BYTES as usize;

/// How long the names that match are looked for, for all commands of a pipeline.
const PATIENCE: Duration = Duration::from_secs(10);

/// A look for names that match, which begins with the first word that has wildcards.
#[derive(Default)]
struct Looking {
    begun: Option<Begun>,
}

struct Begun {
    until: Duration,
    /// The channel over which the console tells of Ctrl-C; none where no person can type it.
    told: Option<JobContract::Exp<JobContract::Start>>,
}

impl Looking {
    /// Begins, if it has not.
    fn begin(&mut self, console: &mut Console) -> &Begun {
        self.begun.get_or_insert_with(|| Begun {
            until: time::uptime() + PATIENCE,
            told: match console.is_terminal() {
                // Where this fails, the time ends it.
                true => console.foreground(false).ok().map(|f| f.job),
                false => None,
            },
        })
    }
}

impl Begun {
    /// Whether it may go on with a word.
    fn goes_on(&self, word: &str) -> Result<(), Refused> {
        if self.told.as_ref().is_some_and(|told| told.is_ready()) {
            return Err(Refused::Interrupted);
        }
        match time::uptime() < self.until {
            true => Ok(()),
            false => Err(Refused::Words(format!(
                "{word}: the names that match are not found within {} seconds; begin further down",
                PATIENCE.as_secs()
            ))),
        }
    }
}

/// Whether an error says that there is no directory in which to look, so that nothing matches.
fn is_nowhere(error: Error) -> bool {
    matches!(
        error,
        Error::NotFound | Error::Refused(Refusal::NotADirectory)
    )
}

/// The most names that the wildcards of a command stand for, and the most bytes in them: a process
/// gets few more.
const NAMES: usize = 4000;
const BYTES: usize = 256 << 10;

/// Puts the names that match in the place of words with wildcards: all of them, or the command is
/// refused. A word that nothing matches stays as it is. So does one for a parameter that is a
/// pattern, which the program looks for itself: there what was quoted is quoted for it.
fn expand<D: Declaration>(
    all: Option<&[D]>,
    stage: &mut Stage,
    session: &mut Session,
    looking: &mut Looking,
) -> Result<(), Refused> {
    let directory = session.directory.as_str();
    let globs = core::mem::take(&mut stage.globs);
    let places = match all {
        Some(all) => parameters::places(all, &stage.words[1..]),
        None => Vec::new(),
    };
    let is_pattern = |at: usize| {
        let place = places.get(at).copied().flatten().zip(all);
        place.is_some_and(|(place, all)| matches!(all[place].kind(), Kind::Pattern))
    };
    if !globs.iter().any(Option::is_some) && !(0..places.len()).any(is_pattern) {
        return Ok(());
    }
    let mut given = core::mem::take(&mut stage.words).into_iter();
    // The name of a command is none of a file.
    stage.words.extend(given.next());
    let (mut count, mut bytes) = (0, 0);
    let mut globs = globs.into_iter().skip(1);
    for (at, word) in given.enumerate() {
        let glob = globs.next().flatten();
        let spec = glob.as_ref().map(|glob| glob.specification(directory));
        match (glob, spec) {
            (_, Some(spec)) if is_pattern(at) => stage.words.push(spec),
            _ if is_pattern(at) => stage.words.push(pattern::literal(&word)),
            (Some(glob), Some(spec)) => {
                let before = stage.words.len();
                let looking = looking.begin(&mut session.console);
                let refused = |error| Refused::Words(format!("{word}: {error}"));
                for found in session.names.search(&spec).map_err(refused)? {
                    looking.goes_on(&word)?;
                    let found = match found {
                        Ok(found) => found,
                        Err(error) if stage.words.len() == before && is_nowhere(error) => break,
                        Err(error) => return Err(refused(error)),
                    };
                    let name = glob.word(directory, &found.path);
                    (count, bytes) = (count + 1, bytes + name.len());
                    if count > NAMES || bytes > BYTES {
                        return Err(Refused::Words(format!(
                            "{}: {word}: matches more than {NAMES} names or {BYTES} bytes of them; \
                             name fewer at a time",
                            stage.words[0]
                        )));
                    }
                    stage.words.push(name);
                }
                if stage.words.len() == before {
                    stage.words.push(word);
                }
            }
            _ => stage.words.push(word),
        }
    }
    Ok(())
}

/// Makes those words whole paths that are values of that kind; whether there is one.
fn make_whole<D: Declaration>(all: &[D], words: &mut [String], directory: &str) -> bool {
    let places = parameters::places(all, words);
    let literal = pattern::literal(directory);
    let mut any = false;
    for (word, place) in words.iter_mut().zip(places) {
        let from = match place.map(|place| all[place].kind()) {
            Some(Kind::Path) => directory,
            Some(Kind::Pattern) => &literal,
            _ => continue,
        };
        *word = paths::whole(from, word);
        any = true;
    }
    any
}

/// Whether a program is an ordinary one, which has an environment: its adapter takes settings
/// before the program's own words.
fn is_ordinary(manifest: &Manifest) -> bool {
    let mut all = manifest.endpoints.iter();
    all.any(|e| e.many && e.name == "directories" && e.contract == "DirectoryContract")
}

/// The arguments of a program's process. Those of an ordinary one say its environment, if anything
/// is exported, and, as they are settings then, that it has the directories that it has without.
pub fn arguments(words: &[String], manifest: &Manifest, variables: &Variables) -> Vec<String> {
    let mut all = Vec::new();
    if is_ordinary(manifest) && variables.exported().next().is_some() {
        all.extend(
            variables
                .exported()
                .map(|(name, value)| format!("--env={name}={value}")),
        );
        all.extend(["--usual".into(), "--".into()]);
    }
    all.extend_from_slice(words);
    all
}

/// What a program's manifest says of it, for a person; `None` if there is no such program.
pub fn manual(name: &str) -> Option<String> {
    let manifest = process::manifest(name).ok()?;
    let mut text = format!("{name}: {}\n\n", manifest.description);
    text += &match parameters(&manifest) {
        Some(Ok(all)) => parameters::text(all, name),
        Some(Err(reason)) => reason,
        None if is_ordinary(&manifest) => {
            format!("It is an ordinary program, which reads its arguments itself: {name} --help")
        }
        None => "Its manifest does not say which arguments it takes.".into(),
    };
    let list = |title: &str, all: Vec<String>| match all.is_empty() {
        true => String::new(),
        false => format!("\n{title:<12}{}", all.join(", ")),
    };
    text.push('\n');
    text += &list(
        "version",
        Vec::from_iter(Some(manifest.version.clone()).filter(|v| !v.is_empty())),
    );
    text += &list("kind", [manifest.category.name().into()].into());
    text += &list("privileges", manifest.privileges.clone());
    let endpoint = |e: &StartupEndpoint| {
        let some = match (e.many, e.optional) {
            (true, _) => " (any number)",
            (_, true) => " (optional)",
            _ => "",
        };
        format!("{} of {}{some}", e.name, e.contract)
    };
    text += &list(
        "is given",
        manifest.endpoints.iter().map(endpoint).collect(),
    );
    let served = manifest
        .serves
        .iter()
        .map(|s| format!("{} ({})", s.name, s.contract));
    text += &list("serves", served.collect());
    let used = manifest
        .uses
        .iter()
        .map(|u| format!("{} ({})", u.path, u.contract));
    text += &list("uses", used.collect());
    text += &list(
        "memory",
        match manifest.budget() {
            u64::MAX => Vec::new(),
            bytes => [format!("{} KiB at most", bytes >> 10)].into(),
        },
    );
    Some(text)
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
