//! The command line.

use std::fmt;
use std::path::PathBuf;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Usage: singularity [OPTIONS] IMAGE [ARGUMENTS...]

Runs a Singularity system image as an ordinary Linux process. The arguments go to the system: its manifest
says to which programs.

Options:
      --memory-limit BYTES  the most memory to use, with K, M or G behind it if you like
                            (default: what Linux says is available)
  -h, --help                print this
  -V, --version             print the version

The exit status is the system's (its low eight bits). 64: wrong use. 65: no system image. 66: image not
readable. 70: a fault in the kernel. 71: Linux refuses something. 141: nobody reads the output any more.";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Run),
    Help,
    Version,
}

/// A system to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) image: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) memory_limit: Option<u64>,
}

/// What is wrong with the command line.
#[derive(Debug)]
pub(crate) enum Error {
    /// No image is named.
    NoImage,
    /// An amount of memory that is none.
    Memory(String),
    /// An unknown option, or a value that is missing or no text.
    Syntax(lexopt::Error),
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Syntax(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoImage => f.write_str("no system image named; `sing image` builds one"),
            Self::Memory(text) => {
                write!(
                    f,
                    "--memory-limit {text}: not an amount of memory; write 512M or 2G"
                )
            }
            Self::Syntax(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Reads an amount of memory.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse::<u64>().ok())??
        .checked_mul(1 << shift)
}

/// Reads the command line. Everything behind the image is the system's, options or not.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Command, Error> {
    use lexopt::prelude::*;
    let mut memory_limit = None;
    let image = loop {
        match parser.next()? {
            Some(Long("memory-limit")) => {
                let text = parser.value()?.string()?;
                memory_limit = Some(bytes(&text).ok_or(Error::Memory(text))?);
            }
            Some(Short('h') | Long("help")) => return Ok(Command::Help),
            Some(Short('V') | Long("version")) => return Ok(Command::Version),
            Some(Value(image)) => break PathBuf::from(image),
            Some(other) => return Err(other.unexpected().into()),
            None => return Err(Error::NoImage),
        }
    };
    let args = parser
        .raw_args()?
        .map(|arg| arg.string())
        .collect::<Result<_, _>>()?;
    Ok(Command::Run(Run {
        image,
        args,
        memory_limit,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Command, Error> {
        parse(lexopt::Parser::from_args(line.split_whitespace()))
    }

    #[test]
    fn everything_behind_the_image_is_the_systems() {
        let Ok(Command::Run(run)) = run("--memory-limit 2G os.img -c --help --memory-limit x")
        else {
            panic!("not understood")
        };
        assert_eq!(run.image, PathBuf::from("os.img"));
        assert_eq!(run.args, ["-c", "--help", "--memory-limit", "x"]);
        assert_eq!(run.memory_limit, Some(2 << 30));
    }

    #[test]
    fn wrong_use_is_named() {
        assert!(matches!(run(""), Err(Error::NoImage)));
        assert!(matches!(run("--memory-limit"), Err(Error::Syntax(_))));
        assert!(matches!(run("--fast os.img"), Err(Error::Syntax(_))));
        for text in ["G", "-1", "1T", "+5", "1.5G", "99999999999G", "0x10"] {
            assert!(
                matches!(
                    run(&format!("--memory-limit={text} i")),
                    Err(Error::Memory(_))
                ),
                "{text}"
            );
        }
    }
}
