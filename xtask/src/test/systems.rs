//! The system test list on every machine, and the PC HAL's test of itself.

use super::{Report, Run};
use crate::build;
use crate::disk::Disk;
use crate::files;
use crate::image::{self, MemoryMode, Programs};
use crate::lanes;
use crate::machine::{Acceleration, Kernel, Launch, Machine};
use crate::network::Network;
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::list;
use crate::system::session::Session;
use crate::system::suite::{Suite, Verdict};
use crate::system::watchdog;
use anyhow::{Context, Result};
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Tests of the list that a quick run makes with the other scheduler.
const QUICK: usize = 6;

/// How long the self-test of a PC may take under emulation.
const SELFTEST_TIME: Duration = Duration::from_secs(300);

/// From when on a test of the list is named as a slow one.
const SLOW: Duration = Duration::from_secs(5);

/// Hosted, memories kept in bounds by guard pages.
pub fn hosted(run: &Run) -> Result<Report> {
    on(run, Machine::Hosted, MemoryMode::Guard, |_| true)
}

/// Hosted, with a forced switch wherever one is possible.
pub fn stress(run: &Run) -> Result<Report> {
    under_stress(run, Machine::Hosted)
}

/// Likewise, on QEMU's usual PC.
pub fn stress_q35(run: &Run) -> Result<Report> {
    under_stress(run, Machine::Q35)
}

/// Hosted, memories kept in bounds by tests in the code. What is a matter of time is the same with guard pages.
pub fn explicit(run: &Run) -> Result<Report> {
    on(run, Machine::Hosted, MemoryMode::Explicit, |test| {
        test.stress
    })
}

/// On QEMU's smallest PC.
pub fn microvm(run: &Run) -> Result<Report> {
    on(run, Machine::Microvm, MemoryMode::Guard, |_| true)
}

/// On QEMU's usual PC: what [`stress_q35`] leaves out.
pub fn q35(run: &Run) -> Result<Report> {
    on(run, Machine::Q35, MemoryMode::Guard, |test| !test.stress)
}

/// Hosted, with the other scheduler: the whole list, or in a quick run enough to see that it boots
/// and switches.
pub fn round_robin(run: &Run) -> Result<Report> {
    // Timing and the hand-over are promises of the minimum-latency scheduler only.
    let choose = |tests: &mut Vec<list::Test>| {
        tests.retain(|test| test.stress && test.name != "handover");
        if run.quick {
            tests.truncate(QUICK);
        }
    };
    with(run, Machine::Hosted, MemoryMode::Guard, choose, |project| {
        Kernel::hosted_with(project, "round-robin")
    })
}

/// The tests of the list that no other part does as well; all of them where all are wanted, or single ones.
fn on(
    run: &Run,
    machine: Machine,
    memory: MemoryMode,
    wanted: fn(&list::Test) -> bool,
) -> Result<Report> {
    let choose = |tests: &mut Vec<list::Test>| {
        if !run.all && run.filter.is_none() {
            tests.retain(wanted);
        }
    };
    with(run, machine, memory, choose, |project| {
        Kernel::prepare(project, machine, Acceleration::watched(machine))
    })
}

fn under_stress(run: &Run, machine: Machine) -> Result<Report> {
    let choose = |tests: &mut Vec<list::Test>| tests.retain(|test| test.stress);
    with(run, machine, MemoryMode::Guard, choose, |project| {
        let kernel = Kernel::prepare(project, machine, Acceleration::watched(machine))?;
        Ok(kernel.stressed())
    })
}

/// Runs the selected tests of the list, on a machine with this kernel.
fn with(
    run: &Run,
    machine: Machine,
    memory: MemoryMode,
    choose: impl FnOnce(&mut Vec<list::Test>),
    kernel: impl FnOnce(&Project) -> Result<Kernel>,
) -> Result<Report> {
    let mut report = Report::default();
    let all = list::read_folder(&run.project.root.join("tests/system"))?;
    let mut tests = run.wanted(all, &mut report);
    if let Some(reason) = run.without.clang() {
        tests.retain(|test| {
            let program = test.commands().find_map(|line| run.without.named_in(line));
            if let Some(program) = program {
                let skipped = format!("{} ({program}): {reason}", test.name);
                report.skipped.push(skipped);
            }
            program.is_none()
        });
    }
    choose(&mut tests);
    if tests.is_empty() {
        return Ok(report);
    }
    let images = image::compile_programs(&run.project, Programs::WithTests, memory)?;
    let mut kernel = kernel(&run.project)?;
    // The stress itself makes a system slow.
    let watched = !kernel.is_stressed();
    if watched {
        kernel.watch = Some(watchdog::tick(machine));
    }
    let boot = |script: Option<&str>| launch(&run.project, &images, &kernel, script);
    let suite = Suite {
        machine,
        boot: &boot,
        watched,
        sweeps: true,
        // A hosted one waits for much of its time, an emulated one's clock counts what it has done.
        lanes: lanes::processors(),
    };
    let verdicts = suite.run(&tests)?;
    tell_slowest(&verdicts);
    for verdict in verdicts {
        report.count(verdict.name, verdict.failure.map_or(Ok(()), Err));
    }
    Ok(report)
}

/// Says which tests took longest, if they took long: a part that takes minutes is one of a few slow tests.
fn tell_slowest(verdicts: &[Verdict]) {
    let mut slow: Vec<_> = verdicts.iter().filter(|v| v.time >= SLOW).collect();
    slow.sort_by_key(|verdict| Reverse(verdict.time));
    let slow: Vec<_> = slow
        .iter()
        .map(|verdict| format!("{} {:.0} s", verdict.name, verdict.time.as_secs_f64()))
        .collect();
    if !slow.is_empty() {
        println!("  slowest: {}", slow.join(", "));
    }
}

/// A system of these programs, with an empty disk if the kernel has none, that runs a script, or
/// without one converses at a terminal.
pub fn launch(
    project: &Project,
    images: &[(String, PathBuf)],
    kernel: &Kernel,
    script: Option<&str>,
) -> Result<Launch> {
    // Several run at a time.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let boot = COUNT.fetch_add(1, Ordering::Relaxed);
    let image = project
        .out()
        .join(format!("test-{}-{boot}.img", std::process::id()));
    let image = image::pack(project, images, &image, script)?;
    let mut arguments = kernel.awaited(false);
    if script.is_some() {
        arguments.extend(SCRIPT_ARGUMENTS.map(String::from));
    }
    let mut kernel = kernel.clone();
    if script.is_some_and(|commands| commands.contains("/dev/disk")) {
        kernel = kernel.with_disks_in_use();
    }
    // Tests listen at ports that the host, or another test, may have.
    if kernel.machine == Machine::Hosted && !kernel.networks.iter().any(Network::is_sockets) {
        kernel.networks.push(Network::sockets("none"));
    }
    let mut scratch = None;
    if kernel.disks.is_empty() {
        let disk = Disk::scratch(project)?;
        scratch = Some(disk.path.clone());
        kernel.disks.push(disk);
    }
    let mut launch = kernel.launch(Some(&image), &arguments, script.is_none())?;
    launch.owns(image);
    if let Some(disk) = scratch {
        launch.owns(disk);
    }
    Ok(launch)
}

/// The PC HAL alone, on its machines: it prints `N passed, N failed`. Its clock counts
/// instructions, so that a busy host does not make it fail.
pub fn selftest(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    report.count(
        "the kernel holds nothing of its test",
        apart(
            &build::pc(&run.project)?,
            &build::pc_selftest(&run.project)?,
        )?,
    );
    // In the place of a system image, some that has pages of 2 MiB and ends within one.
    let module = run.project.out().join("selftest-module.bin");
    files::write(&module, vec![0xc3; (5 << 20) + 123])?;
    for machine in [Machine::Microvm, Machine::Q35, Machine::I440fx] {
        let kernel = Kernel::selftest(&run.project, machine, Acceleration::Paced)?;
        let session = Session::start(kernel.launch(Some(&module), &[], false)?)?;
        let (output, ended) = session.finish(Instant::now() + SELFTEST_TIME);
        let counts = output.lines().rev().find_map(counts);
        match (counts, ended) {
            (Some((passed, 0)), Ok(Some(0))) if passed > 0 => report.passed += passed,
            (Some((passed, failed)), _) if failed > 0 => {
                report.passed += passed;
                let failures = output.lines().filter(|line| line.contains("FAIL"));
                report
                    .failures
                    .extend(failures.map(|line| (machine.name().into(), line.into())));
            }
            (_, ended) => report
                .failures
                .push((machine.name().into(), format!("{ended:?}\n{output}"))),
        }
    }
    Ok(report)
}

/// What the PC's self-test has in its file, and the kernel must not: symbols of its crate, paths of
/// its source, what it prints.
const OF_THE_TEST: [&str; 5] = [
    "sing_pc_selftest",
    "hal/pc/selftest/",
    " passed, ",
    "FAILED  ",
    "code arena keeps what it is given",
];

/// Whether all of that is in the test, and none of it in the kernel.
fn apart(kernel: &Path, test: &Path) -> Result<Result<(), String>> {
    let read =
        |file: &Path| fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let (kernel, test) = (read(kernel)?, read(test)?);
    Ok(OF_THE_TEST.iter().try_for_each(|&text| {
        if has(&kernel, text) {
            Err(format!("`{text}` is in the kernel"))
        } else if !has(&test, text) {
            Err(format!(
                "`{text}` is not in the test: look for something else"
            ))
        } else {
            Ok(())
        }
    }))
}

fn has(file: &[u8], text: &str) -> bool {
    file.windows(text.len())
        .any(|bytes| bytes == text.as_bytes())
}

/// Reads `N passed, N failed`.
pub fn counts(line: &str) -> Option<(usize, usize)> {
    let (passed, rest) = line.trim().split_once(" passed, ")?;
    let failed = rest.split(" failed").next()?;
    Some((passed.parse().ok()?, failed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read() {
        assert_eq!(counts("12 passed, 3 failed"), Some((12, 3)));
        assert_eq!(counts("12 passed, 0 failed, 4 skipped\r"), Some((12, 0)));
        assert_eq!(counts("all passed"), None);
    }
}
