//! Runs one script in this process, and reports each directive on standard output.

use crate::machine::Machine;
use crate::protocol::{Event, Outcome};
use crate::{runner, script, world::World};
use sing_compiler::Options;
use sing_image::meta::MemoryMode;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn tell(event: &Event) {
    let mut line = event.to_string();
    line.push('\n');
    // Each line is written at once, so that reports before a crash arrive. Without a parent, none
    // is needed.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
    let _ = std::io::stdout().flush();
}

/// Runs a script in a memory mode.
pub fn run(path: &Path, mode: MemoryMode) -> ExitCode {
    if let Err(message) = try_run(path, mode) {
        tell(&Event::Begin(1));
        tell(&Event::End(Outcome::Failed(message)));
    }
    tell(&Event::Finished);
    ExitCode::SUCCESS
}

fn try_run(path: &Path, mode: MemoryMode) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    let text = String::from_utf8(bytes).map_err(|e| format!("is no UTF-8 text: {e}"))?;
    let machine = Machine::start()?;
    // Modules that are linked with each other must agree on how functions are called, and
    // exceptions need the convention of tail calls.
    let needs = ["return_call", "throw", "try"];
    let options = Options {
        tail_calls: needs.iter().any(|need| text.contains(need)),
        ..Options::open(mode)
    };
    let mut world = World::new(&machine, options)?;
    script::for_each(&text, &mut |line, directive| {
        tell(&Event::Begin(line));
        let outcome = match directive {
            Ok(directive) => runner::run(&mut world, directive),
            Err(message) => Outcome::Failed(format!("cannot be read: {message}")),
        };
        tell(&Event::End(outcome));
    });
    Ok(())
}
