//! The system test list on every machine, and the PC HAL's test of itself.

use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Launch, Machine, SELFTEST};
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::list;
use crate::system::session::Session;
use crate::system::suite::Suite;
use anyhow::Result;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the self-test of a PC may take under emulation.
const SELFTEST_TIME: Duration = Duration::from_secs(120);

/// Hosted, memories kept in bounds by guard pages.
pub fn hosted(run: &Run) -> Result<Report> {
    on(run, Machine::Hosted, MemoryMode::Guard)
}

/// Hosted, memories kept in bounds by tests in the code.
pub fn explicit(run: &Run) -> Result<Report> {
    on(run, Machine::Hosted, MemoryMode::Explicit)
}

/// On QEMU's smallest PC.
pub fn microvm(run: &Run) -> Result<Report> {
    on(run, Machine::Microvm, MemoryMode::Guard)
}

/// On QEMU's usual PC.
pub fn q35(run: &Run) -> Result<Report> {
    on(run, Machine::Q35, MemoryMode::Guard)
}

fn on(run: &Run, machine: Machine, memory: MemoryMode) -> Result<Report> {
    let mut report = Report::default();
    let all = list::read_folder(&run.project.root.join("tests/system"))?;
    let tests = run.wanted(all, &mut report);
    if tests.is_empty() {
        return Ok(report);
    }
    let images = image::compile_programs(&run.project, Programs::WithTests, memory)?;
    let kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    let boot = |script: Option<&str>| launch(&run.project, &images, &kernel, script);
    let suite = Suite {
        machine,
        boot: &boot,
    };
    for verdict in suite.run(&tests)? {
        report.count(verdict.name, verdict.failure.map_or(Ok(()), Err));
    }
    Ok(report)
}

/// A system of these programs that runs a script, or converses at a terminal where there is none.
pub fn launch(
    project: &Project,
    images: &[(String, PathBuf)],
    kernel: &Kernel,
    script: Option<&str>,
) -> Result<Launch> {
    let image = project
        .out()
        .join(format!("test-{}.img", std::process::id()));
    let image = image::pack(project, images, &image, script)?;
    let arguments = script.map_or(Vec::new(), |_| SCRIPT_ARGUMENTS.map(String::from).to_vec());
    let mut launch = kernel.launch(Some(&image), &arguments, script.is_none())?;
    launch.owns(image);
    Ok(launch)
}

/// The PC HAL alone, on both machines: it prints `N passed, N failed`.
pub fn selftest(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    for machine in [Machine::Microvm, Machine::Q35] {
        let kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
        let session = Session::start(kernel.launch(None, &[SELFTEST.into()], false)?)?;
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
