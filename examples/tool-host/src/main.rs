//! A host of tools for a language model: `tool-host IMAGE [FOLDER]`. A line of standard input is a call, a
//! line of standard output its result, both in JSON. Each call has a process of its own with a budget and a
//! deadline, and gets what the call brings and a directory of its tool's own in the folder, if it is to
//! have one. It gets nothing else: no other tool's files, no network, no other call's data.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sing_embed::{Access, Error, Image, Program, System};
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A tool: its program in the image, and what a call of it may use.
struct Tool {
    name: &'static str,
    description: &'static str,
    memory: u64,
    time: Duration,
    deadline: Duration,
    /// Whether it has a directory.
    keeps: bool,
}

/// What tools call their directory.
const AT: &str = "/work";

/// The tools. One that the host trusts as little as the model that calls it.
const TOOLS: [Tool; 3] = [
    Tool {
        name: "words",
        description: "counts the lines, words and characters of a text",
        memory: 4 << 20,
        time: Duration::from_millis(200),
        deadline: Duration::from_secs(2),
        keeps: false,
    },
    Tool {
        name: "notes",
        description: "writes and reads notes",
        memory: 4 << 20,
        time: Duration::from_millis(200),
        deadline: Duration::from_secs(2),
        keeps: true,
    },
    Tool {
        name: "rogue",
        description: "does all that a tool should not",
        memory: 4 << 20,
        time: Duration::from_millis(100),
        deadline: Duration::from_millis(500),
        keeps: true,
    },
];

/// A call.
#[derive(Deserialize)]
struct Call {
    id: u64,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

/// A result.
#[derive(Serialize)]
struct Answer {
    /// None of a line that is no call.
    id: Option<u64>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Result(Value),
    Error { kind: &'static str, text: String },
}

/// What the model is told of an error: what to do about it differs.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Refused { .. } => "refused",
        Error::Crashed { .. } | Error::Gone { .. } => "crashed",
        Error::TimedOut { .. } => "deadline",
        Error::OutOfTime { .. } => "time",
        Error::OutOfMemory { .. } => "memory",
        Error::Empty | Error::TooLong { .. } => "call",
        _ => "host",
    }
}

fn wrong(kind: &'static str, text: String) -> Outcome {
    Outcome::Error { kind, text }
}

/// Calls a tool; what it says is JSON or an error.
fn call(tool: &Program<'_>, arguments: &Value) -> Outcome {
    match tool.call(arguments.to_string().as_bytes()) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value) => Outcome::Result(value),
            Err(_) => wrong(
                "answer",
                format!("{} has not answered in JSON", tool.name()),
            ),
        },
        Err(error) => wrong(kind(&error), error.to_string()),
    }
}

/// The tool's program with what a call of it may use and reach.
fn program<'s>(system: &'s System, folder: Option<&Path>, tool: &Tool) -> io::Result<Program<'s>> {
    let program = system
        .program(tool.name)
        .memory(tool.memory)
        .time(tool.time)
        .deadline(tool.deadline);
    let Some(folder) = folder.filter(|_| tool.keeps) else {
        return Ok(program);
    };
    let own = folder.join(tool.name);
    fs::create_dir_all(&own)?;
    Ok(program.dir(&own, AT, Access::Writable))
}

fn answer(system: &System, folder: Option<&Path>, line: &[u8]) -> Answer {
    let call_of = |call: Call| {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == call.tool) else {
            let known = TOOLS.map(|tool| format!("{}: {}", tool.name, tool.description));
            let text = format!("no tool {}; there are: {}", call.tool, known.join("; "));
            return (call.id, wrong("tool", text));
        };
        let outcome = match program(system, folder, tool) {
            Ok(program) => self::call(&program, &call.arguments),
            Err(error) => wrong("host", format!("no directory for {}: {error}", tool.name)),
        };
        (call.id, outcome)
    };
    match serde_json::from_slice(line).map(call_of) {
        Ok((id, outcome)) => Answer {
            id: Some(id),
            outcome,
        },
        Err(error) => Answer {
            id: None,
            outcome: wrong("call", error.to_string()),
        },
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().ok_or("usage: tool-host IMAGE [FOLDER]")?;
    let folder = arguments.next().map(PathBuf::from);
    let system = System::start(&Image::open(path.as_ref())?)?;
    let mut output = io::stdout().lock();
    // Bytes: a line that is no text is a wrong call, and not the end.
    for line in io::stdin().lock().split(b'\n') {
        let answer = answer(&system, folder.as_deref(), &line?);
        writeln!(output, "{}", serde_json::to_string(&answer)?)?;
        output.flush()?;
    }
    Ok(())
}
