//! `sing-bench-embed IMAGE`: the cost of a call from this program into a process of its own, or a
//! kept one, of the system inside it, and back (target T18); in bytes, and by messages of a contract.
//! Prints a line of JSON for each.

#![forbid(unsafe_code)]

use sing_arch::cycles;
use sing_embed::{Error, Image, System};
use std::process::ExitCode;
use std::time::{Duration, Instant};

sing_embed::contract!("../../tests/sips/talker/talker.contract");

use TalkContract::imp::{Start_Add, Start_Say};
use TalkContract::{Imp, Start};

/// The output of `--help`.
const HELP: &str = "\
Usage: sing-bench-embed [OPTIONS] IMAGE

Measures calls of the programs `plugin`, `copy` and `talker` in a system image, as `cargo xtask bench embed` makes it.

Options:
      --burst        accepted, as of the other measuring programs
      --samples N    calls of a kind (default 20000)
  -h, --help         print this";

/// What is asked: an echo of 16 bytes.
const CALL: &[u8] = b"echo 0123456789abcdef";
/// The same in a message.
const TEXT: &str = "0123456789abcdef";

/// Measures calls, and prints how many cycles one takes, and how many there are in a second.
fn measure(
    kind: &str,
    samples: usize,
    mut call: impl FnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
    for _ in 0..samples / 10 {
        call()?;
    }
    let mut took = Vec::with_capacity(samples);
    let begun = Instant::now();
    for _ in 0..samples {
        let start = cycles();
        let right = call()?;
        took.push(cycles() - start);
        assert!(
            right,
            "{kind}: another answer has come than the one to this call"
        );
    }
    let rate = samples as f64 / begun.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize];
    println!(
        "{{\"id\":\"T18\",\"name\":\"call, {kind}\",\"unit\":\"cycles\",\"median\":{},\"p10\":{},\"p90\":{}}}",
        at(0.5),
        at(0.1),
        at(0.9)
    );
    println!(
        "{{\"id\":\"T18\",\"name\":\"99th percentile, {kind}\",\"unit\":\"cycles\",\"median\":{}}}",
        at(0.99)
    );
    println!(
        "{{\"id\":\"T18\",\"name\":\"calls a second, {kind}\",\"unit\":\"calls/s\",\"median\":{rate:.0}}}"
    );
    Ok(())
}

fn run(path: &std::path::Path, samples: usize) -> Result<(), Box<dyn std::error::Error>> {
    let system = System::start(&Image::open(path)?)?;
    let plugin = system.program("plugin");
    let echoes = |answer: Result<Vec<u8>, Error>| Ok(answer? == CALL[5..]);
    measure("a process for each", samples, || echoes(plugin.call(CALL)))?;
    let second = Duration::from_secs(1);
    let limited = plugin.clone().memory(2 << 20).time(second).deadline(second);
    let name = "a process for each, with budgets and a deadline";
    measure(name, samples, || echoes(limited.call(CALL)))?;
    let mut kept = plugin.open()?;
    measure("a kept process", samples, || echoes(kept.call(CALL)))?;
    let mut kept = limited.open()?;
    let name = "a kept process, with budgets and a deadline";
    measure(name, samples, || echoes(kept.call(CALL)))?;
    // Its standard input, which is what the plug-in answers.
    let copy = system.program("copy");
    let name = "an ordinary program, a process for each";
    measure(name, samples, || echoes(copy.call(&CALL[5..])))?;
    converse(&system, samples)
}

/// Measures conversations: a message of the host's and the answer, on an endpoint that is kept, and with a
/// process that is made for it and has ended with it.
fn converse(system: &System, samples: usize) -> Result<(), Box<dyn std::error::Error>> {
    let talker = system.program("talker");
    let connect = || talker.connect::<Imp<'_, Start>>("talk");
    let mut kept = Some(connect()?);
    let mut sent = 0;
    measure("a kept endpoint", samples, || {
        let endpoint = kept.take().map_or_else(connect, Ok)?;
        let Start_Add::Sum(sum, next) = endpoint.call_add(1, false)?;
        kept = Some(next);
        sent += 1;
        Ok(sum == sent)
    })?;
    measure("a kept endpoint, with a block each way", samples, || {
        let endpoint = kept.take().map_or_else(connect, Ok)?;
        let Start_Say::Said(text, next) = endpoint.call_say(TEXT)?;
        kept = Some(next);
        Ok(text.to_str() == Ok(TEXT))
    })?;
    measure("an endpoint and a process for each", samples, || {
        let Start_Add::Sum(sum, _) = connect()?.call_add(1, false)?;
        Ok(sum == 1)
    })?;
    Ok(())
}

fn main() -> ExitCode {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_env();
    let mut samples = 20_000;
    let mut image = None;
    loop {
        match parser.next() {
            Ok(Some(Long("burst"))) => {}
            Ok(Some(Long("samples"))) => match parser.value().and_then(|v| v.parse()) {
                Ok(number) if number > 0 => samples = number,
                _ => return wrong("--samples: a number above zero is needed"),
            },
            Ok(Some(Short('h') | Long("help"))) => {
                println!("{HELP}");
                return ExitCode::SUCCESS;
            }
            Ok(Some(Value(path))) => image = Some(path),
            Ok(Some(other)) => return wrong(&other.unexpected().to_string()),
            Ok(None) => break,
            Err(error) => return wrong(&error.to_string()),
        }
    }
    let Some(image) = image else {
        return wrong("no system image named");
    };
    match run(image.as_ref(), samples) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sing-bench-embed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn wrong(reason: &str) -> ExitCode {
    eprintln!("sing-bench-embed: {reason}\nTry `sing-bench-embed --help`.");
    ExitCode::from(64)
}
