//! The command line.

use lexopt::Arg::{Long, Short, Value};
use sing_image::meta::MemoryMode;
use std::ffi::OsString;
use std::path::PathBuf;

/// The output of `--help`.
pub const HELP: &str = "\
Runs scripts of the WebAssembly test suite through verifier, compiler and hosted kernel.

Usage: sing-wast [--memory guard|explicit|both] [-v] PATH...

  PATH                  a .wast file, or a directory of them
  --memory MODE         how compiled code keeps inside its memory (default: both, one after the other)
  -v, --verbose         tell of each file how it went
  -h, --help            print this";

/// Runs one file in this process; for the program's own use.
pub const CHILD: &str = "in-child";

/// The command.
#[derive(Debug, PartialEq, Eq)]
pub enum Arguments {
    /// The ways to use it.
    Help,
    /// Run these.
    Run {
        /// Files and directories.
        paths: Vec<PathBuf>,
        /// Memory modes.
        modes: Vec<MemoryMode>,
        /// Whether to report each file.
        verbose: bool,
    },
    /// Run this file here.
    Child {
        /// The file.
        path: PathBuf,
        /// The memory mode.
        mode: MemoryMode,
    },
}

/// The mistake in the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Usage(pub String);

/// The name of a mode on the command line and in messages.
pub fn mode_name(mode: MemoryMode) -> &'static str {
    match mode {
        MemoryMode::Guard => "guard",
        MemoryMode::Explicit => "explicit",
    }
}

fn modes(name: &str) -> Result<Vec<MemoryMode>, Usage> {
    match name {
        "guard" => Ok(vec![MemoryMode::Guard]),
        "explicit" => Ok(vec![MemoryMode::Explicit]),
        "both" => Ok(vec![MemoryMode::Guard, MemoryMode::Explicit]),
        _ => Err(Usage(format!(
            "--memory is guard, explicit or both, not {name:?}"
        ))),
    }
}

impl Arguments {
    /// Reads the command line, without the program's name.
    pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, Usage> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let (mut paths, mut chosen, mut verbose, mut child) = (Vec::new(), None, false, false);
        let usage = |e: lexopt::Error| Usage(e.to_string());
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Value(path) => paths.push(PathBuf::from(path)),
                Short('h') | Long("help") => return Ok(Arguments::Help),
                Short('v') | Long("verbose") => verbose = true,
                Long(CHILD) => child = true,
                Long("memory") => {
                    let value = parser.value().map_err(usage)?;
                    chosen = Some(modes(&value.to_string_lossy())?);
                }
                _ => return Err(usage(argument.unexpected())),
            }
        }
        let modes = chosen.unwrap_or_else(|| vec![MemoryMode::Guard, MemoryMode::Explicit]);
        match (child, &paths[..], &modes[..]) {
            (true, [path], [mode]) => Ok(Arguments::Child {
                path: path.clone(),
                mode: *mode,
            }),
            (true, ..) => Err(Usage(format!("--{CHILD} runs one file in one mode"))),
            (false, [], _) => Err(Usage("no file to run".into())),
            (false, ..) => Ok(Arguments::Run {
                paths,
                modes,
                verbose,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemoryMode::{Explicit, Guard};

    fn parse(arguments: &[&str]) -> Result<Arguments, Usage> {
        Arguments::parse(arguments.iter().map(OsString::from))
    }

    fn run(paths: &[&str], modes: &[MemoryMode], verbose: bool) -> Arguments {
        let paths = paths.iter().map(PathBuf::from).collect();
        Arguments::Run {
            paths,
            modes: modes.to_vec(),
            verbose,
        }
    }

    #[test]
    fn reads_what_the_help_says() {
        assert_eq!(
            parse(&["a", "b"]),
            Ok(run(&["a", "b"], &[Guard, Explicit], false))
        );
        assert_eq!(
            parse(&["--memory", "guard", "a"]),
            Ok(run(&["a"], &[Guard], false))
        );
        assert_eq!(
            parse(&["a", "--memory=explicit", "-v"]),
            Ok(run(&["a"], &[Explicit], true))
        );
        assert_eq!(
            parse(&["--", "-v"]),
            Ok(run(&["-v"], &[Guard, Explicit], false))
        );
        assert_eq!(parse(&["a", "--help"]), Ok(Arguments::Help));
        let child = Arguments::Child {
            path: "a".into(),
            mode: Guard,
        };
        assert_eq!(parse(&["--in-child", "--memory", "guard", "a"]), Ok(child));
    }

    #[test]
    fn refuses_the_rest() {
        for bad in [
            &[][..],
            &["--memory"],
            &["--memory", "none", "a"],
            &["-x", "a"],
            &["--in-child", "a"],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
