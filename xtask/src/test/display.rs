//! Keyboard and text screen: a person types and reads, on emulated PCs by QEMU's monitor, hosted by
//! the socket of the display; both drivers and the console are killed meanwhile.

use super::systems::launch;
use super::{Report, Run};
use crate::display::Display;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::system::desk::{Desk, Seen};
use crate::system::display_socket::DisplaySocket;
use crate::system::monitor::Monitor;
use crate::system::terminal::Terminal;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a boot, or a step, may take under emulation.
const TIME: Duration = Duration::from_secs(90);

/// A step of the person at the screen.
enum Step {
    /// Types text.
    Type(&'static str),
    /// Types a command at an empty prompt, and, when the screen shows it, Enter: what is seen from
    /// then on is later.
    Line(&'static str),
    /// Presses keys together.
    Press(&'static [&'static str]),
    /// Presses Ctrl-C until there is a prompt: what it is to end may not have begun yet.
    Break,
    /// Waits for a row that is this one.
    Row(&'static str),
    /// Waits until the last row that is not empty is a prompt with this text behind it, and the
    /// keyboard listens as far as its lights tell.
    Prompt(&'static str),
}
use Step::{Break, Line, Press, Prompt, Row, Type};

/// After this time Ctrl-C is pressed again.
const AGAIN: Duration = Duration::from_secs(3);

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
    Prompt("cat"),
    Type("-\t"),
    Break,
    // An endless loop ends.
    Line("spin"),
    Break,
    // More lines than rows.
    Line("ls -l"),
    Prompt(""),
    // All goes on when either driver, or the console, was killed. After a second nothing is left of
    // the killed one that could still take a key.
    Line("kill ps2-keyboard; sleep 1"),
    Prompt(""),
    Line("echo still here"),
    Row("still here"),
    Prompt(""),
    Line("kill vga-text; sleep 1"),
    Prompt(""),
    Line("echo seen again"),
    Row("seen again"),
    Prompt(""),
    Line("kill console; sleep 1"),
    Prompt(""),
    Line("echo next console"),
    Row("next console"),
    Prompt(""),
    Line("shutdown"),
];

/// On the hosted machine.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let machine = Machine::Hosted;
    let name = title(machine);
    if !run.wants(&name) {
        return Ok(report);
    }
    let images = image::compile_programs(&run.project, Programs::Ordinary, MemoryMode::Guard)?;
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    let path = socket(machine);
    let listener = DisplaySocket::listen(&path)?;
    kernel.display = Some(Display::at(&path));
    let terminal = Terminal::start(launch(&run.project, &images, &kernel, None)?)?;
    let desk = DisplaySocket::accept(&listener);
    report.count(name, session(terminal, desk));
    fs::remove_file(&path).ok();
    Ok(report)
}

/// On the emulated machines with a graphics card.
pub fn pc(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::Ordinary, MemoryMode::Guard)?;
    for machine in [Machine::Q35, Machine::I440fx] {
        let name = title(machine);
        if !run.wants(&name) {
            continue;
        }
        let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
        let socket = socket(machine);
        kernel.devices = ["-vga", "std"].map(String::from).into();
        kernel.devices.extend(Monitor::arguments(&socket));
        let terminal = Terminal::start(launch(&run.project, &images, &kernel, None)?)?;
        report.count(name, session(terminal, Monitor::connect(&socket)));
        fs::remove_file(&socket).ok();
    }
    Ok(report)
}

fn title(machine: Machine) -> String {
    format!("keyboard and screen on {}", machine.name())
}

/// Where the keyboard and the screen are reached. The path of a socket is short.
pub fn socket(machine: Machine) -> PathBuf {
    let name = format!("sing-{}-{}.display", std::process::id(), machine.name());
    std::env::temp_dir().join(name)
}

/// All steps, to the end of the system.
fn session(mut terminal: Terminal, desk: Result<impl Desk>) -> Result<(), String> {
    let mut desk = desk.map_err(|e| format!("{e:#}"))?;
    steps(&mut desk)?;
    // The console's own terminal has shown the same.
    terminal.wait("^next console$", Instant::now() + TIME)?;
    match terminal.finish(Instant::now() + TIME) {
        Some(0) => Ok(()),
        ended => Err(format!("the system has ended with {ended:?}")),
    }
}

fn steps(desk: &mut impl Desk) -> Result<(), String> {
    for (number, step) in STEPS.iter().enumerate() {
        let end = Instant::now() + TIME;
        let failed = |error: anyhow::Error| format!("step {number}: {error:#}");
        match step {
            Type(text) => desk.write(text).map_err(failed)?,
            Line(text) => {
                desk.write(text).map_err(failed)?;
                prompt(desk, number, text, end)?;
                desk.write("\n").map_err(failed)?;
            }
            Press(keys) => desk.press(keys).map_err(failed)?,
            Break => loop {
                desk.press(&["ctrl", "c"]).map_err(failed)?;
                let seen = prompt(desk, number, "", Instant::now() + AGAIN);
                if seen.is_ok() || Instant::now() >= end {
                    break seen?;
                }
            },
            Row(row) => {
                let what = format!("step {number}: no row `{row}`");
                desk.wait(&what, end, &|seen| seen.rows.iter().any(|r| r == row))?;
            }
            Prompt(text) => prompt(desk, number, text, end)?,
        }
    }
    Ok(())
}

/// Waits for a prompt with this text behind it.
fn prompt(desk: &mut impl Desk, step: usize, text: &str, end: Instant) -> Result<(), String> {
    let what = format!("step {step}: no prompt with `{text}`");
    let wanted = format!("> {text}");
    desk.wait(&what, end, &|seen| {
        seen.listens() && last(seen).trim() == wanted.trim()
    })
}

/// The last row that is not empty.
fn last(seen: &Seen) -> &str {
    let rows = seen.rows.iter().rev();
    rows.map(String::as_str)
        .find(|row| !row.is_empty())
        .unwrap_or_default()
}
