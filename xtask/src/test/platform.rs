//! Platform devices, hosted and on emulated PCs: the real-time clock tells the time and is set, and
//! a serial line carries bytes in both directions; hostile drivers get nowhere.

use super::systems::launch;
use super::{Report, Run};
use crate::display::Display;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::serial_line::SerialLine;
use crate::system::display_socket::DisplaySocket;
use crate::system::session::Session;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a run may take under emulation.
const TIME: Duration = Duration::from_secs(360);

/// When the emulated clocks begin: half a minute before a leap day ends.
const BASE: [&str; 2] = ["-rtc", "base=2024-02-29T23:59:30,clock=vm"];
/// Reads the clock, sets it in its own words and wrongly, and has its driver killed.
const CLOCK: &str = "rtc
echo first
rtc 1999-12-31T23:59:58Z
sleep 2.5
rtc
rtc 2100-01-01T00:00:00Z
rtc 2023-02-29T00:00:00Z
rtc 2024-02-29T12:00:00Z
kill mc146818
sleep 0.5
rtc
rtc now
date
rtc";

/// Bytes that come back over the line.
const BYTES: usize = 1 << 20;
/// What the client of the line says.
const ECHOED: [&str; 4] = [
    "second client: refused",
    "settings refused: 8 of 8",
    "speeds: Some(9600) Some(115200)",
    "sent back: 1048576",
];

/// A display that the firmware switches on, in text mode.
const DISPLAY: [&str; 2] = ["-device", "VGA"];
/// What the parent of the hostile drivers says of a machine with all of the devices.
const HELD_OFF: [&str; 3] = [
    "/pnp/PNP0B00: held off",
    "/pnp/PNP0303: held off",
    "/pnp/PNP0900: held off",
];

/// What it says of the hosted clock, which has no interrupt.
const HELD_OFF_HOSTED: &str = "/pnp/PNP0B00: held off, without its interrupt";

/// Sends two lines, one of them slowly, and asks for what cannot be.
const TO_A_FILE: &str = "echo first | serial /dev/serial1
echo second | serial /dev/serial1 9600
echo third | serial /dev/serial1 100000
echo third | serial /dev/serial9
sleep 0.3
echo end";
/// What is said of it.
const REFUSED: &str = "serial: /dev/serial1: no speed near 100000; there are 115200 / n
serial: /dev/serial9: no serial line is served there; `ls /dev` lists what is
end
";

type Images = [(String, PathBuf)];

/// On each machine: the clock, and the line.
pub fn run(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for machine in [
        Machine::Hosted,
        Machine::Microvm,
        Machine::Q35,
        Machine::I440fx,
    ] {
        let name = format!("real-time clock on {}", machine.name());
        if run.wants(&name) {
            report.count(name, clock(run, machine, &images)?);
        }
        let name = format!("serial line on {}", machine.name());
        if run.wants(&name) {
            let socket = run
                .project
                .out()
                .join(format!("serial-{}", std::process::id()));
            let echoed = line(run, machine, &images, &socket);
            fs::remove_file(&socket).ok();
            report.count(name, echoed?);
        }
        let name = format!("serial line to a file on {}", machine.name());
        if run.wants(&name) {
            let file = run.project.out();
            let file = file.join(format!("serial-{}.txt", std::process::id()));
            let written = to_a_file(run, machine, &images, &file);
            fs::remove_file(&file).ok();
            report.count(name, written?);
        }
        let name = format!("hostile ports on {}", machine.name());
        // A microvm has no screen.
        if machine != Machine::Microvm && run.wants(&name) {
            report.count(name, hostile(run, machine, &images)?);
        }
    }
    Ok(report)
}

/// The system's output, if it ended with this status.
fn boot(
    run: &Run,
    kernel: &Kernel,
    images: &Images,
    script: &str,
    wanted: i32,
) -> Result<Result<String, String>> {
    let session = Session::start(launch(&run.project, images, kernel, Some(script))?)?;
    let (output, ended) = session.finish(Instant::now() + TIME);
    Ok(match ended {
        Ok(Some(status)) if status == wanted => Ok(output.replace('\r', "")),
        ended => Err(format!("{ended:?}\n{output}")),
    })
}

fn clock(run: &Run, machine: Machine, images: &Images) -> Result<Result<(), String>> {
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    if machine.is_emulated() {
        kernel.devices = BASE.map(String::from).into();
    }
    let output = match boot(run, &kernel, images, CLOCK, 0)? {
        Ok(output) => output,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let lines: Vec<&str> = output.lines().collect();
    // A slow host may take its time before the clock is read.
    let first: &[&str] = if machine.is_emulated() {
        &["2024-02-29T23:59:", "2024-03-01T00:0"]
    } else {
        &["20"]
    };
    let wanted: [&[&str]; 8] = [
        first,
        &["first"],
        &["2000-01-01T00:00:"],
        &["rtc: the clock does not keep that time"],
        &["rtc: 2023-02-29T00:00:00Z: no time"],
        &["2024-02-29T12:0"],
        &["20"],
        &["20"],
    ];
    // What the manager says of the driver's death is between them.
    let told = lines
        .iter()
        .filter(|line| !line.starts_with("manager(") && !line.starts_with("system:"));
    let told: Vec<&str> = told.copied().collect();
    let fits = told.len() == wanted.len()
        && told
            .iter()
            .zip(wanted)
            .all(|(line, begins)| begins.iter().any(|begin| line.starts_with(begin)));
    // `rtc now` has set it to the time of the system, to the minute.
    let agree = told.len() == 8 && told[6].get(..16) == told[7].get(..16);
    let killed = output.contains("rtc: killed");
    Ok(if fits && agree && killed {
        Ok(())
    } else {
        Err(format!(
            "fits {fits}, agree {agree}, killed {killed} in\n{output}"
        ))
    })
}

/// Drivers that try to reach the machine through their ports, which goes on as before.
fn hostile(run: &Run, machine: Machine, images: &Images) -> Result<Result<(), String>> {
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    // Nobody takes what the hosted machine's screen shows: that delays no driver.
    let socket = super::display::socket(machine);
    let _listener = if machine.is_emulated() {
        kernel.devices = DISPLAY.map(String::from).into();
        None
    } else {
        let listener = DisplaySocket::listen(&socket)?;
        kernel.display = Some(Display::at(&socket));
        Some(listener)
    };
    let ran = boot(run, &kernel, images, "sleep 1 && hostile-ports && sweep", 0);
    fs::remove_file(&socket).ok();
    let ran = ran?;
    Ok(ran.and_then(|output| {
        for mut said in HELD_OFF {
            if machine == Machine::Hosted && said.starts_with("/pnp/PNP0B00") {
                said = HELD_OFF_HOSTED;
            }
            if !output.lines().any(|line| line == said) {
                return Err(format!("no line `{said}` in\n{output}"));
            }
        }
        Ok(())
    }))
}

fn line(run: &Run, machine: Machine, images: &Images, socket: &Path) -> Result<Result<(), String>> {
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    let mut far = OsString::from("unix:");
    far.push(socket);
    kernel.serial = Some(SerialLine::named(far));
    let listener = UnixListener::bind(socket)
        .with_context(|| format!("cannot listen at {}", socket.display()))?;
    let host = thread::spawn(move || exchange(&listener));
    let script = format!("serial-echo /dev/serial1 {BYTES}");
    let ran = boot(run, &kernel, images, &script, 0)?;
    let output = match ran {
        Ok(output) => output,
        Err(wrong) => {
            // Without a system nobody connects: this ends the wait.
            UnixStream::connect(socket).ok();
            return Ok(Err(wrong));
        }
    };
    for said in ECHOED {
        if !output.lines().any(|line| line == said) {
            return Ok(Err(format!("no line `{said}` in\n{output}")));
        }
    }
    Ok(match host.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(wrong)) => Err(format!("{wrong}\n{output}")),
        Err(_) => Err("the host's part has failed".into()),
    })
}

/// What programs send arrives in a file, in order; what cannot be is refused with the reason.
fn to_a_file(
    run: &Run,
    machine: Machine,
    images: &Images,
    file: &Path,
) -> Result<Result<(), String>> {
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    kernel.serial = Some(SerialLine::named(file.into()));
    let output = match boot(run, &kernel, images, TO_A_FILE, 0)? {
        Ok(output) => output,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let now = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let seen = String::from_utf8_lossy(&now);
    Ok(if output != REFUSED {
        Err(format!("expected\n{REFUSED}\nbut got\n{output}"))
    } else if seen != "first\nsecond\n" {
        Err(format!("the file has {seen:?}"))
    } else {
        Ok(())
    })
}

/// The host's part: when the client is ready, sends bytes, and compares those that come back.
fn exchange(listener: &UnixListener) -> Result<(), String> {
    let wrong = |e: std::io::Error| e.to_string();
    let (mut far, _) = listener.accept().map_err(wrong)?;
    far.set_read_timeout(Some(TIME)).map_err(wrong)?;
    // Before that, the break has come, as a byte 0 or not at all.
    let mut before = Vec::new();
    let mut byte = [0];
    while !before.ends_with(b"ready\n") {
        far.read_exact(&mut byte).map_err(wrong)?;
        before.push(byte[0]);
    }
    let pattern: Vec<u8> = (0..BYTES).map(|at| (at / 3 % 253) as u8).collect();
    let mut to = far.try_clone().map_err(wrong)?;
    let sent = pattern.clone();
    let sender = thread::spawn(move || to.write_all(&sent));
    let mut back = vec![0; BYTES];
    far.read_exact(&mut back).map_err(wrong)?;
    sender
        .join()
        .map_err(|_| "the sender has failed".to_string())?
        .map_err(wrong)?;
    far.shutdown(Shutdown::Both).ok();
    match back.iter().zip(&pattern).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} came back as another one")),
    }
}
