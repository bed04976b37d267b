//! What a program is given, as its process's arguments say it.
//!
//! Settings stand before the program's own words and end with `--`. They are there only if the very
//! first argument begins with `--`: whoever starts a program by its name puts the name there, so
//! nothing that is passed to a program is taken for a setting.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A directory that a program is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preopen {
    /// What the program calls it.
    pub name: String,
    /// Its path in the name space; of none, the next of the start-up endpoints.
    pub path: Option<String>,
    /// For changes, too.
    pub change: bool,
}

/// What of a network a component may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reach {
    /// It has none.
    #[default]
    Nothing,
    /// Some addresses beyond the system.
    Some,
    /// Whatever the network leads to.
    All,
}

/// What a program is given.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// Its words, its name first.
    pub arguments: Vec<String>,
    /// Its environment, each as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Its directories; `None` for those that a program has to which nothing is said.
    pub preopens: Option<Vec<Preopen>>,
    /// Whether a component may use the network that its name space leads to, as a program may to which nothing is
    /// said.
    pub network: Reach,
    /// Whether standard input, output and error say that they are terminals.
    pub terminals: [bool; 3],
}

/// The standard streams.
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];

/// What stands before a variable of the environment of a program that is called.
const ENV: &str = "--env=";

impl Settings {
    /// Reads a process's arguments.
    ///
    /// # Errors
    /// What is wrong with them, for a person.
    pub fn read(words: Vec<String>) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let mut words = words.into_iter().peekable();
        if words.peek().is_none_or(|first| !first.starts_with("--")) {
            settings.arguments = words.collect();
            settings.network = Reach::All;
            return Ok(settings);
        }
        let mut preopens = Vec::new();
        let mut usual = false;
        loop {
            let Some(word) = words.next() else {
                return Err("settings end with `--`, and behind it the program's words".into());
            };
            if word == "--" {
                break;
            }
            let (kind, value) = word.split_once('=').unwrap_or((&word, ""));
            match kind {
                "--dir" | "--read" if !value.is_empty() => {
                    preopens.push(preopen(value, kind == "--dir"));
                }
                "--usual" if value.is_empty() => usual = true,
                "--net" if value.is_empty() => settings.network = Reach::All,
                "--net" if value == "some" => settings.network = Reach::Some,
                "--env" if value.find('=').is_some_and(|at| at > 0) => {
                    settings.environment.push(value.into());
                }
                "--terminal" if let Some(at) = STREAMS.iter().position(|s| *s == value) => {
                    settings.terminals[at] = true;
                }
                _ => {
                    return Err(format!(
                        "`{word}` is no setting; there are --dir=NAME[=PATH], --read=NAME[=PATH], \
                         --usual, --net[=some], --env=NAME=VALUE and --terminal=stdin, stdout or stderr"
                    ));
                }
            }
        }
        settings.preopens = match (usual, preopens.is_empty()) {
            (false, _) => Some(preopens),
            (true, true) => None,
            (true, false) => return Err("--usual stands without --dir and --read".into()),
        };
        settings.arguments = words.collect();
        Ok(settings)
    }

    /// Reads the arguments of a process that a host program calls: its name, those of so many directories, and the
    /// program's own words. If these begin with `--` or `--env=`, settings stand before them up to a `--`: the
    /// environment, each as `--env=NAME=VALUE`.
    #[must_use]
    pub fn of_call(words: Vec<String>, directories: usize) -> Settings {
        let mut settings = Settings::default();
        let mut words = words.into_iter().peekable();
        settings.arguments.extend(words.next());
        let names = words.by_ref().take(directories);
        let given = |name| Preopen {
            name,
            path: None,
            change: true,
        };
        settings.preopens = Some(names.map(given).collect());
        while let Some(word) = words.next_if(|word| word == "--" || word.starts_with(ENV)) {
            match word.strip_prefix(ENV) {
                Some(variable) => settings.environment.push(variable.into()),
                None => break,
            }
        }
        settings.arguments.extend(words);
        settings
    }
}

fn preopen(value: &str, change: bool) -> Preopen {
    let (name, path) = match value.rsplit_once('=') {
        Some((name, path)) => (name, Some(path.to_string())),
        None => (value, None),
    };
    Preopen {
        name: name.into(),
        path,
        change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Settings, String> {
        Settings::read(line.split_whitespace().map(String::from).collect())
    }

    #[test]
    fn words_behind_a_name_are_the_programs() {
        let settings = read("rg --dir=/=/secret -- x").unwrap();
        assert_eq!(settings.arguments, ["rg", "--dir=/=/secret", "--", "x"]);
        assert_eq!(settings.preopens, None);
        let nothing = Settings {
            network: Reach::All,
            ..Settings::default()
        };
        assert_eq!(read("").unwrap(), nothing);
    }

    #[test]
    fn with_settings_there_is_no_network_but_by_one() {
        for (words, reach) in [
            ("p --net=some", Reach::All),
            ("--usual -- p --net", Reach::Nothing),
            ("--net -- p", Reach::All),
            ("--net=some -- p", Reach::Some),
        ] {
            assert_eq!(read(words).unwrap().network, reach, "{words}");
        }
        assert!(read("--net=x -- p").unwrap_err().contains("--net"));
        let called = Settings::of_call(alloc::vec!["p".into(), "--net".into()], 0);
        assert_eq!(called.network, Reach::Nothing);
    }

    #[test]
    fn directories_are_the_usual_ones_if_that_is_said() {
        let settings = read("--usual --env=A=B -- p --usual").unwrap();
        assert_eq!(settings.preopens, None);
        assert_eq!(settings.arguments, ["p", "--usual"]);
        assert_eq!(settings.environment, ["A=B"]);
        assert_eq!(read("--env=A=B -- p").unwrap().preopens, Some(Vec::new()));
    }

    #[test]
    fn settings_come_before_the_name() {
        let line = "--dir=/=/mnt/0 --read=a=b=/c --dir=x --env=A=B=C --terminal=stderr -- p -- --";
        let settings = read(line).unwrap();
        assert_eq!(settings.arguments, ["p", "--", "--"]);
        assert_eq!(settings.environment, ["A=B=C"]);
        assert_eq!(settings.terminals, [false, false, true]);
        let of = |name: &str, path: Option<&str>, change| Preopen {
            name: name.into(),
            path: path.map(String::from),
            change,
        };
        let preopens = [
            of("/", Some("/mnt/0"), true),
            of("a=b", Some("/c"), false),
            of("x", None, true),
        ];
        assert_eq!(settings.preopens.as_deref(), Some(&preopens[..]));
    }

    #[test]
    fn words_of_a_call_come_behind_its_directories() {
        let read = |line: &str, directories| {
            let words = line.split_whitespace().map(String::from);
            let settings = Settings::of_call(words.collect(), directories);
            let names = settings.preopens.unwrap_or_default();
            assert!(names.iter().all(|one| one.path.is_none() && one.change));
            let names: Vec<String> = names.into_iter().map(|one| one.name).collect();
            [settings.arguments, settings.environment, names].map(|words| words.join(" "))
        };
        assert_eq!(read("", 0), ["", "", ""]);
        assert_eq!(read("p", 0), ["p", "", ""]);
        assert_eq!(read("p / /work a --b", 2), ["p a --b", "", "/ /work"]);
        assert_eq!(
            read("p / --env=A=B --env=C=D=E -- -- x --env=F=G", 1),
            ["p -- x --env=F=G", "A=B C=D=E", "/"]
        );
        assert_eq!(read("p -- --env=A=B", 0), ["p --env=A=B", "", ""]);
        assert_eq!(read("p -- --", 0), ["p --", "", ""]);
        assert_eq!(read("p --env=A=B", 0), ["p", "A=B", ""]);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for line in [
            "--dir=/=/x p",
            "--dir -- p",
            "--env=A -- p",
            "--usual=x -- p",
            "--usual --dir=x -- p",
            "--read=a --usual -- p",
            "--env==B -- p",
            "--terminal=tty -- p",
            "--x -- p",
            "p2p --",
        ] {
            let refused = read(line).is_err();
            assert_eq!(refused, !line.starts_with('p'), "{line}");
        }
    }
}
