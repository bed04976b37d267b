//! The command line.

use std::path::PathBuf;

/// The output of `--help`.
pub const HELP: &str = "\
Usage: sing-bench-linux [OPTIONS]

Measures what Linux's own processes need for what SIPs do; a line of JSON for each figure.

Options:
      --burst        one burst of each and no more, for a caller that takes turns
      --seconds S    go round for S seconds (default 2)
      --samples N    samples in a burst (default 60)
      --only WORDS   only peers whose target (T3) or name (pipe) is among these, separated by commas
      --list         say what would be measured
      --web SOCKET   be the back end of a web server at this socket instead
      --page N       write a page of N bytes instead
  -h, --help         print this";

/// The command.
#[derive(Debug)]
pub enum Command {
    Run(Request),
    /// Be a web server's back end at this socket.
    Web(PathBuf),
    /// Write a page of so many bytes.
    Page(usize),
    Help,
}

/// The options of a measurement.
#[derive(Debug)]
pub struct Request {
    /// How long to repeat the rounds.
    pub seconds: f64,
    /// Samples of each peer in a round.
    pub samples: usize,
    /// Only list the peers.
    pub list: bool,
    only: Vec<String>,
}

impl Request {
    /// Whether a peer is selected.
    pub fn wants(&self, id: &str, name: &str) -> bool {
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|word| word == id || name.contains(word))
    }
}

/// Reads the command line.
pub fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    use lexopt::prelude::*;
    let mut request = Request {
        seconds: 2.0,
        samples: 60,
        list: false,
        only: Vec::new(),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("burst") => request.seconds = 0.0,
            Long("seconds") => request.seconds = parser.value()?.parse_with(seconds)?,
            Long("samples") => request.samples = parser.value()?.parse_with(samples)?,
            Long("only") => {
                let words = parser.value()?.string()?;
                request.only.extend(words.split(',').map(String::from));
            }
            Long("list") => request.list = true,
            Long("web") => return Ok(Command::Web(parser.value()?.into())),
            Long("page") => return Ok(Command::Page(parser.value()?.parse()?)),
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Run(request))
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|s| (0.0..=86_400.0).contains(s));
    seconds.ok_or("not a number of seconds")
}

fn samples(text: &str) -> Result<usize, &'static str> {
    let samples = text
        .parse::<usize>()
        .ok()
        .filter(|n| (1..=100_000).contains(n));
    samples.ok_or("not a number of samples")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Command, lexopt::Error> {
        parse(lexopt::Parser::from_args(line.split_whitespace()))
    }

    #[test]
    fn peers_are_chosen_by_target_or_name() {
        let Ok(Command::Run(request)) = run("--burst --only T3,fork --samples 7") else {
            panic!("not understood")
        };
        assert_eq!((request.seconds, request.samples), (0.0, 7));
        assert!(request.wants("T3", "linux pipe") && request.wants("T6", "linux vfork+exec"));
        assert!(!request.wants("T6", "linux thread"));
    }

    #[test]
    fn wrong_values_are_refused() {
        for line in [
            "--seconds NaN",
            "--seconds -1",
            "--samples 0",
            "--fast",
            "--seconds",
        ] {
            assert!(run(line).is_err(), "{line}");
        }
    }
}
