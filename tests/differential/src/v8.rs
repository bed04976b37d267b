//! V8, as `node` has it: the second engine for modules with exceptions, typed references to
//! functions and atomic accesses, which the interpreter does not know.
//!
//! One process answers all requests of a run (`v8.mjs`). A `node` that refuses a module with these
//! proposals is one too old to help: then the module is judged by `wasmtime` alone, and counted so.

use crate::engines::End;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("v8.mjs");

/// A process with V8 that has one module at a time.
pub struct V8 {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl V8 {
    /// Starts it; `None` if `node` is not installed.
    pub fn start() -> Option<V8> {
        let mut command = Command::new("node");
        // One thread; and a stack like those of the other engines.
        command.args(["--single-threaded", "--stack-size=3900"]);
        command.args(["--input-type=module", "--eval", SCRIPT]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let requests = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        Some(V8 {
            child,
            requests,
            answers,
        })
    }

    /// Whether it takes the module, which is the one of later runs.
    pub fn takes(&mut self, wasm: &[u8]) -> Result<bool> {
        let mut request = String::with_capacity(wasm.len() * 2 + 8);
        request.push_str("module ");
        for byte in wasm {
            write!(request, "{byte:02x}")?;
        }
        let answer = self.ask(&request)?;
        Ok(match answer.as_str() {
            "ok" => true,
            other if other.starts_with("refused ") => false,
            other => bail!("V8 answers to a module: {other}"),
        })
    }

    /// How its module ends with this number of arguments. It has one message for some traps that
    /// others tell apart: then it is the one of `like`, if that is among them. `None` if it ends
    /// for a reason outside the program.
    pub fn run(&mut self, arguments: u32, like: Option<End>) -> Result<Option<End>> {
        let answer = self.ask(&format!("run {arguments}"))?;
        end(&answer, like)
    }

    fn ask(&mut self, request: &str) -> Result<String> {
        let asked = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        asked.context("node is gone")?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            let short: String = request.chars().take(40).collect();
            bail!("node is gone; it was asked: {short}");
        }
        Ok(answer.trim_end().to_string())
    }
}

impl Drop for V8 {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer to `run`.
fn end(answer: &str, like: Option<End>) -> Result<Option<End>> {
    let not_understood = || format!("V8 answers to a run: {answer}");
    let (kind, of) = answer.split_once(' ').with_context(not_understood)?;
    Ok(match kind {
        "exit" => Some(End::Exit(of.parse().with_context(not_understood)?)),
        "trap" => {
            let codes: Result<Vec<u8>, _> = of.split('|').map(str::parse).collect();
            let codes = codes.with_context(not_understood)?;
            match like {
                Some(End::Trap(code)) if codes.contains(&code) => like,
                _ => codes.first().copied().map(End::Trap),
            }
        }
        "unknown" => None,
        _ => bail!(not_understood()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_for_two_traps_agrees_with_either() {
        let of = |answer, like| end(answer, like).expect("understood");
        assert_eq!(of("exit -5", None), Some(End::Exit(-5)));
        assert_eq!(of("trap 4|5", Some(End::Trap(5))), Some(End::Trap(5)));
        assert_eq!(of("trap 4|5", Some(End::Trap(2))), Some(End::Trap(4)));
        assert_eq!(of("trap 2", Some(End::Exit(1))), Some(End::Trap(2)));
        assert_eq!(of("unknown no memory", Some(End::Exit(1))), None);
        for broken in ["", "exit", "exit x", "trap x", "ok"] {
            assert!(end(broken, None).is_err(), "{broken}");
        }
    }
}
