//! The keyboard and the text screen of a PC: a person types on QEMU's keyboard and reads the
//! screen; both drivers are killed meanwhile.

use super::systems::launch;
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::system::monitor::{Monitor, Seen};
use crate::system::terminal::Terminal;
use anyhow::Result;
use std::fs;
use std::time::{Duration, Instant};

/// How long a boot, or a step, may take under emulation.
const TIME: Duration = Duration::from_secs(90);

/// A step of the person at the screen.
enum Step {
    /// Types text.
    Type(&'static str),
    /// Presses keys together.
    Press(&'static [&'static str]),
    /// Waits for a row that is this one.
    Row(&'static str),
    /// Waits until the last row that is not empty is a prompt with this text behind it.
    Prompt(&'static str),
}
use Step::{Press, Prompt, Row, Type};

const STEPS: &[Step] = &[
    Prompt(""),
    Type("echo hellp"),
    Press(&["backspace"]),
    Type("o World\n"),
    Row("hello World"),
    Prompt(""),
    // History, and the cursor within the line.
    Press(&["up"]),
    Prompt("echo hello World"),
    Press(&["left"]),
    Press(&["delete"]),
    Type("m\n"),
    Row("hello Worlm"),
    // Words are completed.
    Prompt(""),
    Type("cat "),
    Type("-\t"),
    Press(&["ctrl", "c"]),
    Prompt(""),
    // An endless loop ends.
    Type("spin\n"),
    Press(&["ctrl", "c"]),
    Prompt(""),
    // More lines than rows.
    Type("ls -l\n"),
    Prompt(""),
    // What was typed goes on when the keyboard's driver was killed in between, and the screen's.
    Type("kill ps2-keyboard\n"),
    Prompt(""),
    Type("echo still here\n"),
    Row("still here"),
    Prompt(""),
    Type("kill vga-text\n"),
    Prompt(""),
    Type("echo seen again\n"),
    Row("seen again"),
    Prompt(""),
    Type("kill console\n"),
    Prompt(""),
    Type("echo next console\n"),
    Row("next console"),
    Prompt(""),
    Type("shutdown\n"),
];

/// On the machines with a graphics card.
pub fn run(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::Ordinary, MemoryMode::Guard)?;
    for machine in [Machine::Q35, Machine::I440fx] {
        let name = format!("keyboard and screen on {}", machine.name());
        if !run.wants(&name) {
            continue;
        }
        let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
        // The path of a socket is short.
        let socket = format!("sing-{}-{}.qmp", std::process::id(), machine.name());
        let socket = std::env::temp_dir().join(socket);
        kernel.devices = ["-vga", "std"].map(String::from).into();
        kernel.devices.extend(Monitor::arguments(&socket));
        let mut terminal = Terminal::start(launch(&run.project, &images, &kernel, None)?)?;
        let outcome = Monitor::connect(&socket).map_err(|e| format!("{e:#}"));
        let outcome = outcome.and_then(|mut monitor| steps(&mut monitor));
        let outcome = outcome.and_then(|()| {
            // The serial terminal has shown the same.
            terminal.wait("^next console$", Instant::now() + TIME)?;
            match terminal.finish(Instant::now() + TIME) {
                Some(0) => Ok(()),
                ended => Err(format!("the system has ended with {ended:?}")),
            }
        });
        fs::remove_file(&socket).ok();
        report.count(name, outcome);
    }
    Ok(report)
}

fn steps(monitor: &mut Monitor) -> Result<(), String> {
    for (number, step) in STEPS.iter().enumerate() {
        let end = Instant::now() + TIME;
        let failed = |error: anyhow::Error| format!("step {number}: {error:#}");
        match step {
            Type(text) => monitor.write(text).map_err(failed)?,
            Press(keys) => monitor.press(keys).map_err(failed)?,
            Row(row) => {
                let what = format!("step {number}: no row `{row}`");
                monitor.wait(&what, end, |seen| seen.rows.iter().any(|r| r == row))?;
            }
            Prompt(text) => {
                let what = format!("step {number}: no prompt with `{text}`");
                let wanted = format!("> {text}");
                monitor.wait(&what, end, |seen| last(seen).trim() == wanted.trim())?;
            }
        }
    }
    Ok(())
}

/// The last row that is not empty.
fn last(seen: &Seen) -> &str {
    let rows = seen.rows.iter().rev();
    rows.map(String::as_str)
        .find(|row| !row.is_empty())
        .unwrap_or_default()
}
