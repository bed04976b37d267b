//! The boot matrix: machine types, processors, sizes of memory, clocks, discs by BIOS and UEFI; how
//! each ends.
//!
//! Every case boots QEMU once. The machines have no device that ends QEMU except their own
//! power-off, unless the case is about machines without one: a system that does not switch its
//! machine off fails its case. Some of the cases always run, the others with
//! `cargo xtask test --all boot`.

use super::{Report, Run};
use crate::image::{self, MemoryMode};
use crate::iso;
use crate::lanes;
use crate::machine::{Acceleration, COMMAND_LINE, Kernel, Launch, Machine};
use crate::qemu;
use crate::system::session::{Ended, Session};
use anyhow::{Context, Result};
use regex::Regex;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a boot may take; firmware, emulated beside others, is slow.
const PATIENCE: Duration = Duration::from_secs(240);
/// The kernel's line that runs the script.
const SCRIPTED: &str = "console=none -- --script /boot/script";
/// The commands of the script, and its status.
const SCRIPT: &str = "echo booted\nshutdown 7\n";
/// A script that waits for an event of the machine.
const WAITING: &str = "echo ready\nsleep 1000000\n";
/// UEFI for QEMU, from the package `ovmf`.
const OVMF: &str = "/usr/share/ovmf/OVMF.fd";
/// The address where the kernel begins, and a little for the firmware, in bytes.
const BELOW_IMAGE: u64 = (1 << 20) + (64 << 10);

/// How the system reaches the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loader {
    /// QEMU's `-kernel`, with or without a system image.
    Direct { image: bool },
    /// A disc, by BIOS or by UEFI.
    Disc { uefi: bool },
}

/// A boot and its expected result.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    /// Whether it always runs.
    quick: bool,
    /// QEMU's arguments for machine and processor.
    machine: String,
    memory: String,
    loader: Loader,
    /// The kernel's line.
    line: String,
    script: &'static str,
    /// A command for QEMU's monitor when the system is ready.
    event: Option<&'static str>,
    /// Patterns that must each match some part of the console's output.
    shows: Vec<&'static str>,
    /// A pattern that must match nowhere in it.
    not: Option<&'static str>,
    status: Vec<i32>,
    /// Whether the machine cannot be switched off: QEMU then ends at a reset, or by its debug-exit
    /// device.
    stays_on: bool,
}

impl Case {
    fn new(name: &str, machine: &str) -> Case {
        Case {
            name: name.into(),
            quick: false,
            machine: format!("-accel tcg {machine}"),
            memory: "128".into(),
            loader: Loader::Direct { image: true },
            line: format!("report {SCRIPTED}"),
            script: SCRIPT,
            event: None,
            shows: vec!["(?m)^booted$"],
            not: Some("nothing is known that switches it off"),
            status: vec![7],
            stays_on: false,
        }
    }

    fn quick(mut self) -> Case {
        self.quick = true;
        self
    }

    fn memory(mut self, size: impl Into<String>) -> Case {
        self.memory = size.into();
        self
    }

    fn shows(mut self, patterns: &[&'static str]) -> Case {
        self.shows.extend(patterns);
        self
    }

    fn stays_on(mut self) -> Case {
        (self.stays_on, self.not) = (true, None);
        self
    }

    /// The word comes before all others of the line.
    fn word(mut self, word: &str) -> Case {
        self.line = format!("{word} {}", self.line);
        self
    }

    /// The line has this length, by blanks between its words.
    fn line_of(mut self, len: usize) -> Case {
        let blanks = " ".repeat(len - self.line.len());
        self.line = self.line.replacen("--", &format!("{blanks}--"), 1);
        self
    }

    fn disc(mut self, uefi: bool) -> Case {
        self.loader = Loader::Disc { uefi };
        self.memory = "256".into();
        self
    }

    /// The system does not start, with this reason.
    fn refused(mut self, reason: &'static str) -> Case {
        (self.shows, self.status) = (vec![reason], vec![163]);
        self.stays_on()
    }

    fn event(mut self, command: &'static str, shows: &'static str, status: i32) -> Case {
        (self.script, self.event) = (WAITING, Some(command));
        (self.shows, self.status) = (vec![shows], vec![status]);
        self
    }
}

/// All cases, with a system image of this size in bytes.
fn cases(image_size: u64) -> Vec<Case> {
    let micro = |options: &str| format!("-M microvm,auto-kernel-cmdline=off{options} -cpu max");
    let bare = ",pit=off,pic=off,rtc=off,acpi=off";
    let (q35, i440fx) = ("-M q35 -cpu max", "-M pc -cpu max");
    let ports = "-device pcie-root-port,id=a,chassis=1,slot=1 -device e1000e,bus=a \
                 -device pcie-root-port,id=b,chassis=2,slot=2,disable-acs=on -device e1000e,bus=b";
    let button = "power button was pressed; shutting down";
    let error = "mce 0 1 0xb200000000000000 0x5 0 0";
    let mut all = vec![
        Case::new("microvm", &micro(""))
            .quick()
            .shows(&["by the sleep control register"]),
        Case::new("microvm without PIT", &micro(",pit=off"))
            .quick()
            .shows(&["MHz by apic"]),
        Case::new("microvm without RTC", &micro(",rtc=off")),
        Case::new("microvm without PIC", &micro(",pic=off")),
        Case::new("microvm without ACPI", &micro(",acpi=off")).stays_on(),
        Case::new("microvm without any of them", &micro(bare))
            .quick()
            .stays_on(),
        Case::new("microvm, two processors", &format!("{} -smp 2", micro("")))
            .shows(&["2 processors, of which one is used"]),
        Case::new(
            "q35, two processors, IOMMU",
            &format!("{q35} -smp 2 -device intel-iommu"),
        )
        .quick()
        .shows(&[
            "2 processors, of which one is used",
            r"I/O APIC at 0xfec00000, inputs from 0",
            r"ISA line 0 at input 2",
            r"PCI configuration at 0x[0-9a-f]+, segment 0, buses 0 to 255",
            "DMA remapping at 0xfed90000",
            "interrupts are remapped",
            "by the power-management control register",
            "MHz by acpi",
        ]),
        Case::new(
            "q35, IOMMU, a port without ACS",
            &format!("{q35} -device intel-iommu {ports}"),
        )
        .shows(&[
            r"device /pci/01/00\.0 /pci/02/00/8086/10d3",
            r"/pci/02/00\.0 is not confined by the IOMMU: what is before it may pass",
        ]),
        Case::new("q35", q35),
        Case::new("q35, 5 GiB", q35)
            .memory("5G")
            .shows(&["memory 51[0-9]{2} MiB"]),
        Case::new("pc-i440fx", i440fx).quick(),
        Case::new("pc-i440fx, two processors", &format!("{i440fx} -smp 2"))
            .shows(&["2 processors, of which one is used"]),
        Case::new("clock by the interval timer", q35)
            .word("clock=pit")
            .shows(&["MHz by pit"]),
        Case::new("clock by the local APIC", q35)
            .word("clock=apic")
            .shows(&["MHz by apic"]),
        Case::new("clock by the calendar", q35)
            .word("clock=rtc")
            .shows(&["MHz by rtc"]),
        Case::new("no such clock", q35)
            .word("clock=sundial")
            .quick()
            .refused("`sundial` .* there are cpuid, kvmclock, acpi, pit, apic, rtc"),
        Case::new("longest command line", q35)
            .quick()
            .line_of(COMMAND_LINE),
        Case::new("power button, q35", q35)
            .quick()
            .event("system_powerdown", button, 0),
        Case::new("power button, pc-i440fx", i440fx).event("system_powerdown", button, 0),
        Case::new("machine check", q35).quick().event(
            error,
            "(?s)reports a hardware error\nbank 1: status 0xb2.*vector 18",
            160,
        ),
        Case::new("disc, BIOS, q35", q35).quick().disc(false),
        Case::new("disc, BIOS, pc-i440fx", i440fx).disc(false),
        Case::new("disc, UEFI, q35", q35)
            .disc(true)
            .shows(&["ACPI tables found"]),
        Case::new("disc, UEFI, pc-i440fx", i440fx)
            .disc(true)
            .shows(&["ACPI tables found"]),
    ];
    // The kernel runs on it, and names the missing features for which the programs were compiled.
    for processor in ["qemu64", "kvm64"] {
        let machine = format!("-M q35 -cpu {processor}");
        let mut case = Case::new(&format!("programs on {processor}"), &machine);
        case.shows = vec!["cannot start: image .* compiled for a processor with"];
        case.status = vec![162];
        all.push(case);
    }
    for (processor, lacks, quick) in [
        ("qemu32", "64-bit mode", true),
        ("qemu64,-nx", "NX", true),
        ("qemu64,-lm", "64-bit mode", false),
        ("qemu64,-sse2", "SSE2", false),
        ("qemu64,-apic", "a local APIC", false),
        ("qemu64,-tsc", "time-stamp counter", false),
        ("pentium", "PAE", false),
        ("486", "time-stamp counter", false),
    ] {
        let machine = format!("-M microvm,auto-kernel-cmdline=off -cpu {processor}");
        let mut case = Case::new(&format!("processor {processor}"), &machine).refused(lacks);
        case.quick = quick;
        all.push(case);
    }
    // The kernel alone: from the size at which QEMU has room for any of it.
    for size in 2..=12 {
        let mut case =
            Case::new(&format!("{size} MiB, no image"), &micro("")).memory(size.to_string());
        (case.loader, case.not) = (Loader::Direct { image: false }, None);
        (case.shows, case.status) = (vec!["too little memory|no system image"], vec![163, 161]);
        (case.quick, case.stays_on) = (size == 2, true);
        all.push(case);
    }
    // With the image: from the size at which QEMU does not load the image over the kernel's first
    // page.
    let least = (image_size + BELOW_IMAGE).div_ceil(1 << 20);
    for size in least..=least + 20 {
        let mut case =
            Case::new(&format!("{size} MiB, image"), &micro("")).memory(size.to_string());
        case.shows = vec!["(?m)may be too little|too little memory|memory is short|^booted$"];
        (case.status, case.not) = ((0..=255).collect(), None);
        (case.quick, case.stays_on) = (size == least || size == least + 6, true);
        all.push(case);
    }
    all.push(Case::new("64 MiB", &micro("")).memory("64").quick());
    all
}

/// Runs the matrix, or its quick half.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let image = |script: Option<&str>, name: &str| -> Result<PathBuf> {
        let made = image::system(&run.project, MemoryMode::Guard, script)?;
        // Scripted images have the same name within a run of xtask.
        let own = run
            .project
            .out()
            .join(format!("boot-{}-{name}.img", std::process::id()));
        fs::rename(&made, &own).with_context(|| format!("cannot rename {}", made.display()))?;
        Ok(own)
    };
    let images = [
        image(Some(SCRIPT), "script")?,
        image(Some(WAITING), "waiting")?,
    ];
    let kernel = Kernel::prepare(&run.project, Machine::Q35, Acceleration::Emulated)?;
    let size = fs::metadata(&images[0])
        .context("cannot read the image")?
        .len();
    let discs = iso::TOOLS.ensure();
    let mut chosen = Vec::new();
    for case in cases(size) {
        if !(case.quick || run.all || run.filter.is_some()) || !run.wants(&case.name) {
            continue;
        }
        if let Loader::Disc { uefi } = case.loader {
            if let Err(reason) = &discs {
                report.skipped.push(format!("discs: {reason:#}"));
                continue;
            }
            if uefi && !Path::new(OVMF).exists() {
                let how = "install the package ovmf";
                report
                    .skipped
                    .push(format!("discs by UEFI: there is no {OVMF}; {how}"));
                continue;
            }
        }
        chosen.push((chosen.len(), case));
    }
    // They wait for hardly anything but their processor.
    let booted = lanes::each(lanes::processors(), chosen, |(number, case)| {
        let image = &images[usize::from(case.script == WAITING)];
        let ended = boot(&case, number, image, kernel.binary());
        (case.name, ended)
    });
    for (name, ended) in booted {
        report.count(name, ended?);
    }
    for image in &images {
        let _ = fs::remove_file(image);
    }
    Ok(report)
}

/// Boots a case; `Err` describes its fault.
fn boot(case: &Case, number: usize, image: &Path, kernel: &Path) -> Result<Result<(), String>> {
    let file = |ending: &str| image.with_extension(format!("{number}.{ending}"));
    let (verdict, monitor, disc) = (file("verdict"), file("monitor"), file("iso"));
    let _ = fs::remove_file(&verdict);
    let _ = fs::remove_file(&monitor);
    let mut command = Command::new(qemu::QEMU);
    command.args("-nodefaults -no-user-config -display none -serial stdio".split(' '));
    command
        .args(case.machine.split(' '))
        .args(["-m", &case.memory]);
    command
        .arg("-debugcon")
        .arg(format!("file:{}", verdict.display()));
    command
        .arg("-monitor")
        .arg(format!("unix:{},server,nowait", monitor.display()));
    if case.stays_on {
        // Refused before the kernel can switch the machine off, or on a machine that cannot be.
        command.args("-no-reboot -device isa-debug-exit,iobase=0xf4,iosize=4".split(' '));
    }
    match case.loader {
        Loader::Direct { image: with_image } => {
            command
                .arg("-kernel")
                .arg(kernel)
                .arg("-append")
                .arg(&case.line);
            if with_image {
                command.arg("-initrd").arg(image);
            }
        }
        Loader::Disc { uefi } => {
            iso::make(
                &iso::Disc {
                    kernel,
                    image,
                    line: &case.line,
                },
                &disc,
            )?;
            command.arg("-cdrom").arg(&disc);
            if uefi {
                command.args(["-bios", OVMF]);
            }
        }
    }
    let deadline = Instant::now() + PATIENCE;
    let mut launch = Launch::new(command);
    launch.owns(disc);
    launch.owns(monitor.clone());
    let mut session = Session::start(launch)?;
    let mut seen = String::new();
    if let Some(event) = case.event {
        loop {
            match session.line(deadline) {
                Ok(line) => {
                    seen.push_str(&line);
                    seen.push('\n');
                    if line == "ready" {
                        break;
                    }
                }
                Err(ended) => return Ok(Err(format!("not ready: {ended:?}\n{seen}"))),
            }
        }
        let stream = tell_monitor(&monitor, event)?;
        let (rest, ended) = session.finish(deadline);
        drop(stream);
        return judge(case, seen + &rest, ended, &verdict);
    }
    let (output, ended) = session.finish(deadline);
    judge(case, output, ended, &verdict)
}

/// Sends QEMU's monitor a command. QEMU forgets unread input when the stream closes, so the stream
/// must be kept until the system has ended.
fn tell_monitor(monitor: &Path, command: &str) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(monitor).context("cannot reach QEMU's monitor")?;
    writeln!(stream, "{command}").context("cannot speak to QEMU's monitor")?;
    Ok(stream)
}

fn judge(
    case: &Case,
    output: String,
    ended: Result<Option<i32>, Ended>,
    verdict: &Path,
) -> Result<Result<(), String>> {
    let said = fs::read_to_string(verdict).unwrap_or_default();
    let _ = fs::remove_file(verdict);
    let problem = problem(case, &output, ended.is_ok(), &said)?;
    Ok(problem.map_or(Ok(()), |problem| Err(format!("{problem}\n{output}"))))
}

/// Compares the result of a case with the expected one.
fn problem(case: &Case, output: &str, ended: bool, said: &str) -> Result<Option<String>> {
    if !ended {
        return Ok(Some("the machine is still on".into()));
    }
    for pattern in &case.shows {
        if !Regex::new(pattern)
            .context("a pattern of the matrix")?
            .is_match(output)
        {
            return Ok(Some(format!("the console does not show `{pattern}`")));
        }
    }
    if let Some(pattern) = case.not
        && Regex::new(pattern)
            .context("a pattern of the matrix")?
            .is_match(output)
    {
        return Ok(Some(format!("the console shows `{pattern}`")));
    }
    let statuses: Vec<&str> = said
        .lines()
        .filter_map(|l| l.strip_prefix("exit status "))
        .collect();
    let fits = |status: &str| status.parse().is_ok_and(|s| case.status.contains(&s));
    Ok(match statuses[..] {
        [status] if fits(status) => None,
        [status] => Some(format!("exit status {status}, not {:?}", case.status)),
        _ => Some(format!("exit statuses {statuses:?}, not one")),
    })
}

/// The names of all cases.
pub fn names() -> Vec<String> {
    cases(1).into_iter().map(|case| case.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_some_cases_are_quick() {
        let all = cases(3_000_000);
        let mut names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        let quick = all.iter().filter(|c| c.quick).count();
        assert!(
            quick > 10 && quick < all.len() / 2,
            "{quick} of {}",
            all.len()
        );
        assert!(
            all.iter()
                .all(|c| c.shows.iter().all(|p| Regex::new(p).is_ok()))
        );
    }

    #[test]
    fn what_goes_wrong_is_found() {
        let case = Case::new("x", "-M q35");
        let problem = |output, ended, said| problem(&case, output, ended, said).unwrap();
        let good = "exit status 7\n";
        assert_eq!(problem("booted\n", true, good), None);
        assert!(
            problem("booted\n", false, good)
                .unwrap()
                .contains("still on")
        );
        assert!(
            problem("boo\n", true, good)
                .unwrap()
                .contains("does not show")
        );
        let reset = "booted\nmachine: nothing is known that switches it off\n";
        assert!(problem(reset, true, good).unwrap().contains("shows"));
        for said in ["", "exit status 8\n", "exit status 7\nexit status 7\n"] {
            assert!(problem("booted\n", true, said).is_some(), "{said}");
        }
    }
}
