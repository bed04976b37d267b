//! Processes that do not run when gdb stops the system: one that waits in a receive and one that was
//! pre-empted, beside one that runs. gdb lists them, shows their frames, and writes a core file of each, which
//! has nothing of the others.

use super::{Debugged, SOURCE, arguments, has_frames, in_qemu, says};
use crate::machine::Machine;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The first waits, the second calculates, `sleep` has ended when the last is stopped. That the first two have
/// begun by then, which takes milliseconds, is all that its time decides.
const SCRIPT: &str = "lines wait & lines spin & sleep 3; lines stop\n";
/// Puts the numbers of all processes into `listed`, and those of the programs of this name into `lines`, from what
/// a user sees.
const NUMBERS: [&str; 2] = [
    "python shown = gdb.execute('info processes', False, True).splitlines(); \
     listed = [line.split()[0] for line in shown if line[:1].isdigit()]",
    "python lines = [line.split()[0] for line in shown if line.endswith(' lines')]",
];
/// More than a core file of one of these programs has.
const CORE: u64 = 4 << 20;
/// What gdb says where all of a machine, or of a core file, is to be saved.
const ONLY: &str = "only of a process of this machine can all be saved; name one of the system's";
/// What is wrong, and what gdb says to it.
const WRONG: [(&str, &str); 9] = [
    ("process", "process: say `process NUMBER backtrace`"),
    (
        "process lines",
        "`lines` is no process: name its number, as `info processes` has it",
    ),
    (
        "process 99999 backtrace",
        "there is no process 99999; `info processes` lists those that are there",
    ),
    // `sleep`, or another that has ended before the last began.
    (
        "python gdb.execute('process %d' % \
         next(n for n in range(1, int(lines[2])) if str(n) not in listed))",
        " has ended; `info processes` lists those that are there",
    ),
    ("save core", "save core: name a file"),
    ("save core /no/core 99999", "there is no process 99999"),
    (
        "save core a b c",
        "save core: takes a file and a process; put a file's name with spaces in quotes",
    ),
    (
        "save core /no/folder/core 1",
        "save core /no/folder/core: [Errno 2]",
    ),
    ("info processes 1", "info processes: takes no arguments"),
];

/// A program: what it does, what the list says of its thread, and its frames.
struct Shown {
    does: &'static str,
    state: &'static str,
    frames: Vec<(&'static str, usize)>,
}

fn shown(debugged: &Debugged<'_>) -> Result<[Shown; 3]> {
    let running = debugged.frames()?;
    let below = |first, at: &str, called: &str| -> Result<Vec<_>> {
        let mut frames = vec![
            (first, debugged.line(at)?),
            ("innermost", debugged.line(called)?),
        ];
        frames.extend(&running[1..]);
        Ok(frames)
    };
    Ok([
        Shown {
            does: "waits",
            state: " waits for a message on channel ",
            frames: below("lines::wait", "// wait", "=> wait(),")?,
        },
        Shown {
            does: "calculates",
            state: " is ready",
            frames: below("lines::spin", "// spin", "=> spin(),")?,
        },
        Shown {
            does: "runs",
            state: " is running",
            frames: below("lines::stop", "// stop", "=> stop(),")?,
        },
    ])
}

/// What the program that waits has in its memory, and in a block of the exchange heap (`lines::wait`).
fn secrets() -> [Vec<u8>; 2] {
    let mut secret = b"the secret of ................".to_vec();
    for (byte, i) in secret.iter_mut().zip(0u8..).skip(14) {
        *byte = b'a' + i.wrapping_mul(7) % 26;
    }
    let block = secret.to_ascii_uppercase();
    [secret, block]
}

/// Core files, which are removed with this.
struct Cores(Vec<PathBuf>);

impl Cores {
    fn new(folder: &Path) -> Cores {
        let name = |i| folder.join(format!("core-of-one-{i}-{}", std::process::id()));
        Cores((0..3).map(name).collect())
    }

    fn one(folder: &Path, of: &str) -> Cores {
        Cores(vec![
            folder.join(format!("core-of-{of}-{}", std::process::id())),
        ])
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        for file in &self.0 {
            fs::remove_file(file).ok();
        }
    }
}

/// The commands, of which one starts the system: what is shown of each program, and its core file.
fn commands(debugged: &Debugged<'_>, start: &str, cores: &Cores) -> Result<Vec<String>> {
    let mut commands = vec![
        format!("break {SOURCE}:{}", debugged.line("// stop")?),
        start.into(),
        "info processes".into(),
        NUMBERS[0].into(),
        NUMBERS[1].into(),
        "python print('numbers', *lines)".into(),
    ];
    for (i, file) in cores.0.iter().enumerate() {
        commands.extend([
            format!("echo shown {i}\\n"),
            format!("python gdb.execute('process ' + lines[{i}] + ' backtrace')"),
            format!(
                "python gdb.execute('save core {} ' + lines[{i}])",
                file.display()
            ),
        ]);
    }
    commands.extend(WRONG.map(|(wrong, _)| wrong.into()));
    // It has changed nothing: the program goes on where it was.
    commands.extend(["echo after\\n".into(), "backtrace".into()]);
    Ok(commands)
}

/// Checks what gdb has said to the commands, and the files that it has written.
/// Returns the numbers of the programs.
fn check(debugged: &Debugged<'_>, kernel: &Path, cores: &Cores, said: &str) -> Result<Vec<String>> {
    let numbers = said.lines().find_map(|l| l.strip_prefix("numbers "));
    let numbers: Vec<&str> = numbers.unwrap_or("").split(' ').collect();
    ensure!(
        numbers.len() == 3,
        "not three programs of this name:\n{said}"
    );
    says(said, " shell\n  thread ")?;
    for (_, answer) in WRONG {
        says(said, answer)?;
    }
    for (i, shown) in shown(debugged)?.iter().enumerate() {
        let about = || format!("the program that {}", shown.does);
        has_state(said, numbers[i], shown.state).with_context(about)?;
        let frames = said.split_once(&format!("shown {i}\n"));
        let (_, frames) = frames.with_context(|| said.to_owned())?;
        let frames = frames.split("bytes\n").next().unwrap_or("");
        has_frames(frames, &shown.frames).with_context(about)?;
        core(debugged, kernel, &cores.0[i], (numbers[i], shown)).with_context(about)?;
        let bytes = fs::read(&cores.0[i])?;
        for secret in secrets() {
            let has = bytes.windows(secret.len()).any(|part| part == secret);
            let secret = String::from_utf8_lossy(&secret);
            ensure!(has == (i == 0), "{}: has `{secret}`: {has}", about());
        }
    }
    let (_, after) = said.split_once("after\n").context("gdb has stopped")?;
    has_frames(after, &shown(debugged)?[2].frames)?;
    Ok(numbers.into_iter().map(String::from).collect())
}

/// Whether the list says this of the thread of a program.
fn has_state(said: &str, number: &str, state: &str) -> Result<()> {
    let listed = said.split_once(&format!("{number} lines\n  thread "));
    let (_, listed) = listed.with_context(|| format!("{number} is not listed:\n{said}"))?;
    let line = listed.lines().next().unwrap_or("");
    ensure!(line.contains(state), "thread {line}, and not{state}");
    Ok(())
}

/// A core file of one process: bounded, and shown as the process was.
fn core(
    debugged: &Debugged<'_>,
    kernel: &Path,
    file: &Path,
    (number, shown): (&str, &Shown),
) -> Result<()> {
    let bytes = fs::metadata(file).context("no core file")?.len();
    ensure!(bytes < CORE, "{bytes} bytes");
    let process = format!("process {number}");
    let said = debugged.gdb(
        &[
            "info processes",
            "info singularity",
            "backtrace",
            "process 1",
            "echo again\\n",
            &process,
        ],
        vec![kernel.to_path_buf(), file.to_path_buf()],
    )?;
    let (first, again) = said.split_once("again\n").context("gdb has stopped")?;
    has_frames(first, &shown.frames)?;
    has_frames(again, &shown.frames)?;
    has_state(first, number, shown.state)?;
    says(&said, "process 1 is not in this core file")?;
    // The process, and its image.
    let lines = first.lines().filter(|line| line.ends_with(" lines"));
    let others = first.lines().filter(|line| line.ends_with(" shell"));
    let (lines, others) = (lines.count(), others.count());
    ensure!(
        (lines, others) == (2, 0),
        "{lines} and {others} others:\n{said}"
    );
    Ok(())
}

/// Hosted.
pub(super) fn hosted(debugged: &Debugged<'_>) -> Result<()> {
    let (kernel, launch) = debugged.system(Machine::Hosted, SCRIPT, &[])?;
    let cores = Cores::new(&debugged.run.project.out());
    let all = Cores::one(&debugged.run.project.out(), "all");
    let mut commands = commands(debugged, "run", &cores)?;
    commands.push(format!("save core {}", all.0[0].display()));
    let said = debugged.gdb(&commands, arguments(&launch))?;
    let numbers = check(debugged, kernel.binary(), &cores, &said)?;
    // One can be had from the file of all, too.
    fs::remove_file(&cores.0[0])?;
    let save = format!("save core {} {}", cores.0[0].display(), numbers[0]);
    let files = vec![kernel.binary().to_path_buf(), all.0[0].clone()];
    let said = debugged.gdb(&["save core /no/core", &save], files)?;
    says(&said, ONLY)?;
    let waits = &shown(debugged)?[0];
    core(debugged, kernel.binary(), &cores.0[0], (&numbers[0], waits))
}

/// In QEMU.
pub(super) fn emulated(debugged: &Debugged<'_>) -> Result<()> {
    let cores = Cores::new(&debugged.run.project.out());
    let mut commands = commands(debugged, "continue", &cores)?;
    commands.push("save core /no/core".into());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (kernel, said) = in_qemu(debugged, SCRIPT, &commands)?;
    check(debugged, &kernel, &cores, &said)?;
    says(&said, ONLY)
}
