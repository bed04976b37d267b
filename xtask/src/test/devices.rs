//! Devices of the machines: a driver serves a disk whose file the host looks at, and a hostile
//! one gets nowhere.

use super::systems::launch;
use super::{Report, Run};
use crate::disk::Disk;
use crate::files;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::system::session::Session;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a boot may take under emulation.
const TIME: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;
/// Bytes of a disk.
const DISK: usize = 16 * MIB;

/// What the client of the disk says when all is as it should be.
const SERVED: [&str; 7] = [
    "what the host wrote: 0 wrong",
    "writes: 0 failed",
    "what was written: 0 wrong",
    "blocks that share pages: 0 wrong",
    "refused: 9 of 9, the view has 0 bytes set",
    "after others have gone: 0 wrong",
    "swept",
];

/// What it says of the disk, before the most bytes of a request.
const GEOMETRY: &str = "geometry: 32768 sectors of 512 bytes, read-only false, 32 at once, up to ";
/// These bytes; a hosted virtio disk takes two pieces of memory less.
const LARGEST: u32 = 512 << 10;
const LARGEST_HOSTED: u32 = 500 << 10;

/// What the hostile drivers' parent says when each got what it should.
const HELD_OFF: &str = "33 attempts, 0 wrong";

/// Tests of a disk that is not virtio, and what comes before the client: nothing, or the driver's
/// death while another client has requests under way, and what is then seen.
const NVME: [(&str, &str, &str); 2] = [
    ("NVMe disk", "", ""),
    (
        "NVMe driver killed under load",
        "disk /dev/disk2 & sleep 0.05; kill nvme; wait; sleep 0.5;",
        "manager(5): disk2: killed; starts again in 10ms",
    ),
];

/// A device that masters the bus as it is told, with addresses of all lengths.
const EDU: [&str; 2] = ["-device", "edu,dma_mask=0xffffffffffffffff"];
/// What its drivers' parent says with an IOMMU, and without.
const CONFINED: &str = "21 attempts, 0 wrong";
const NOT_CONFINED: &str = "confined false, given Err(NotPermitted)";

/// Devices whose pins arrive at one input: so they do in places that are four apart.
const SHARED: [&str; 6] = [
    "-device",
    "edu,addr=08.0",
    "-device",
    "edu,addr=0c.0",
    "-device",
    "edu,addr=10.0",
];
/// What their driver says.
const SHARED_WELL: [&str; 2] = ["3 devices, 3 with an interrupt", "shared pins: 0 wrong"];

/// A disk that answers one request and then so few bytes a second that the next one takes minutes.
const STUCK: &str = "if=none,id=stuck,format=raw,throttling.bps-total=5,file=";
/// The disk's driver gives up after ten seconds; its successor has the disk again, and so do clients.
const STUCK_TRIED: &str = "check /dev/disk0 & sleep 13; services disk0 && echo swept";
const STUCK_SEEN: [&str; 2] = ["virtio-blk: timed out", "starts again in"];

/// What the parent of drivers that leave their device at work says when each found it quiet.
const GIVEN_BACK: &str = "given back: 0 wrong";

/// A file is written just before the system ends, and is there when it starts again.
const LAST: [&str; 2] = [
    "format /dev/disk0 && mount /dev/disk0 / && echo kept > /last",
    "sleep 0.5; grep kept < /last",
];

/// The byte at this place of a disk, as the client (`tests/sips/disk`) has it.
fn pattern(at: u64) -> u8 {
    let mixed = (at / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (at % 8 * 8)) as u8
}

fn filled(places: std::ops::Range<usize>) -> Vec<u8> {
    places.map(|at| pattern(at as u64)).collect()
}

/// In a Linux process.
pub fn hosted(run: &Run) -> Result<Report> {
    on(run, &[Machine::Hosted])
}

/// On the emulated PCs.
pub fn pc(run: &Run) -> Result<Report> {
    on(run, &[Machine::Microvm, Machine::Q35, Machine::I440fx])
}

/// On each machine: a disk, and a hostile driver.
fn on(run: &Run, machines: &[Machine]) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for &machine in machines {
        let name = |what: &str| format!("{} on {}", what, machine.name());
        let boot = |script: &str,
                    disks: Vec<PathBuf>,
                    devices: &[&str]|
         -> Result<Result<String, String>> {
            let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
            kernel.disks = disks.into_iter().map(|d| Disk::named(d.into())).collect();
            kernel.devices = devices.iter().map(ToString::to_string).collect();
            let session = Session::start(launch(&run.project, &images, &kernel, Some(script))?)?;
            let (output, ended) = session.finish(Instant::now() + TIME);
            Ok(match ended {
                Ok(Some(0)) => Ok(output),
                ended => Err(format!("{ended:?}\n{output}")),
            })
        };
        let file = |number: usize| {
            let name = format!("disk-{}-{number}.img", std::process::id());
            run.project.out().join(name)
        };
        if run.wants(&name("disk")) {
            let disk = file(0);
            let mut bytes = vec![0; DISK];
            bytes[MIB..2 * MIB].copy_from_slice(&filled(MIB..2 * MIB));
            files::write(&disk, &bytes)?;
            let ran = boot(
                "disk /dev/disk0 && sweep && echo swept",
                vec![disk.clone()],
                &[],
            )?;
            let now = fs::read(&disk).with_context(|| format!("cannot read {}", disk.display()))?;
            fs::remove_file(&disk).ok();
            bytes[..MIB].copy_from_slice(&filled(0..MIB));
            let largest = match machine {
                Machine::Hosted => LARGEST_HOSTED,
                _ => LARGEST,
            };
            report.count(name("disk"), served(ran, largest, &now, &bytes));
        }
        if !matches!(machine, Machine::I440fx) && run.wants(&name("what was written last")) {
            let disk = file(11);
            files::write(&disk, vec![0; 16 * MIB])?;
            let mut judged = Ok(());
            for script in LAST {
                let ran = boot(script, vec![disk.clone()], &[])?;
                judged = judged.and(ran.map(drop));
            }
            fs::remove_file(&disk).ok();
            report.count(name("what was written last"), judged);
        }
        let has_pci = matches!(machine, Machine::Q35 | Machine::I440fx);
        if has_pci && run.wants(&name("hostile device")) {
            let (script, wanted) = if machine == Machine::Q35 {
                ("hostile-dma && sweep", CONFINED)
            } else {
                ("hostile-dma without && sweep", NOT_CONFINED)
            };
            let ran = boot(script, Vec::new(), &EDU)?;
            let judged = ran.and_then(|output| {
                if output.lines().any(|line| line == wanted) {
                    Ok(())
                } else {
                    Err(format!("no line `{wanted}` in\n{output}"))
                }
            });
            report.count(name("hostile device"), judged);
        }
        if has_pci && run.wants(&name("random bytes")) {
            let device = ["-device", "virtio-rng-pci,disable-legacy=on"];
            let ran = boot("random 64 && random 4 && sweep", Vec::new(), &device)?;
            report.count(
                name("random bytes"),
                ran.and_then(|output| are_random(&output)),
            );
        }
        if has_pci && run.wants(&name("shared pin")) {
            let ran = boot("shared-pin && sweep", Vec::new(), &SHARED)?;
            let judged = ran.and_then(|output| {
                let missing = SHARED_WELL
                    .iter()
                    .find(|s| !output.lines().any(|l| l == **s));
                missing.map_or(Ok(()), |s| Err(format!("no line `{s}` in\n{output}")))
            });
            report.count(name("shared pin"), judged);
        }
        if machine == Machine::Q35 && run.wants(&name("disk that does not answer")) {
            let disk = file(10);
            files::write(&disk, vec![0; MIB])?;
            let drive = format!("{STUCK}{}", disk.display());
            let device = "virtio-blk-pci,disable-legacy=on,drive=stuck";
            let ran = boot(
                STUCK_TRIED,
                Vec::new(),
                &["-drive", &drive, "-device", device],
            )?;
            fs::remove_file(&disk).ok();
            let judged = ran.and_then(|output| {
                let missing = STUCK_SEEN.iter().find(|seen| !output.contains(**seen));
                missing.map_or(Ok(()), |s| Err(format!("no `{s}` in\n{output}")))
            });
            report.count(name("disk that does not answer"), judged);
        }
        // QEMU's NVMe disk can be reset as a function of PCI Express only.
        if machine.confines() && run.wants(&name("given back")) {
            // One gets its driver, soon after the start; the other is free.
            let disks: Vec<PathBuf> = (7..9).map(file).collect();
            for disk in &disks {
                files::write(disk, vec![0x5a; MIB])?;
            }
            let nvme = |disk: &PathBuf| PathBuf::from(format!("{},nvme", disk.display()));
            let named = disks.iter().map(nvme).collect();
            let ran = boot("sleep 1 && given-back && sweep", named, &[])?;
            disks.iter().for_each(|disk| drop(fs::remove_file(disk)));
            let judged = ran.and_then(|output| {
                let well = output.lines().any(|line| line == GIVEN_BACK);
                well.then_some(())
                    .ok_or_else(|| format!("no line `{GIVEN_BACK}` in\n{output}"))
            });
            report.count(name("given back"), judged);
        }
        if machine.confines() {
            for (what, before, seen) in NVME {
                if !run.wants(&name(what)) {
                    continue;
                }
                let disk = file(9);
                let mut bytes = vec![0; DISK];
                bytes[MIB..2 * MIB].copy_from_slice(&filled(MIB..2 * MIB));
                files::write(&disk, &bytes)?;
                let nvme = PathBuf::from(format!("{},nvme", disk.display()));
                let script = format!("{before} disk /dev/disk2 && sweep && echo swept");
                let ran = boot(&script, vec![nvme], &[])?;
                let now = fs::read(&disk);
                let now = now.with_context(|| format!("cannot read {}", disk.display()))?;
                fs::remove_file(&disk).ok();
                bytes[..MIB].copy_from_slice(&filled(0..MIB));
                let ran = ran.and_then(|output| {
                    if output.contains(seen) {
                        Ok(output)
                    } else {
                        Err(format!("no `{seen}` in\n{output}"))
                    }
                });
                report.count(name(what), served(ran, LARGEST, &now, &bytes));
            }
        }
        if run.wants(&name("hostile driver")) {
            // Two get their drivers, soon after the start; the third is free.
            let disks: Vec<PathBuf> = (0..3).map(file).collect();
            for disk in &disks {
                files::write(disk, vec![0x5a; MIB])?;
            }
            let ran = boot("sleep 1 && hostile-driver && sweep", disks.clone(), &[])?;
            let whole = disks.iter().all(|disk| {
                fs::read(disk).is_ok_and(|bytes| bytes.iter().all(|&byte| byte == 0x5a))
            });
            disks.iter().for_each(|disk| drop(fs::remove_file(disk)));
            let judged = ran.and_then(|output| {
                if !output.lines().any(|line| line == HELD_OFF) {
                    Err(format!("no line `{HELD_OFF}` in\n{output}"))
                } else if !whole {
                    Err("a disk has been written".into())
                } else {
                    Ok(())
                }
            });
            report.count(name("hostile driver"), judged);
        }
    }
    Ok(report)
}

/// Whether the output has two whole lines of random bytes and a short one, none like another.
fn are_random(output: &str) -> Result<(), String> {
    let is_hex = |line: &&str| line.bytes().all(|b| b.is_ascii_hexdigit());
    let mut lines: Vec<&str> = output.lines().filter(is_hex).collect();
    lines.retain(|line| matches!(line.len(), 64 | 8));
    lines.sort_unstable();
    lines.dedup();
    let zero = lines.iter().any(|line| line.bytes().all(|b| b == b'0'));
    match (lines.len(), zero) {
        (3, false) => Ok(()),
        _ => Err(format!("no random bytes in\n{output}")),
    }
}

/// Whether the client says what it should, and the file is as it should be.
fn served(
    ran: Result<String, String>,
    largest: u32,
    now: &[u8],
    wanted: &[u8],
) -> Result<(), String> {
    let output = ran?;
    let geometry = format!("{GEOMETRY}{largest} bytes");
    for line in SERVED.into_iter().chain([&*geometry]) {
        if !output.lines().any(|l| l == line) {
            return Err(format!("no line `{line}` in\n{output}"));
        }
    }
    let differ = now.iter().zip(wanted).filter(|(a, b)| a != b).count();
    match (differ, now.len() == wanted.len()) {
        (0, true) => Ok(()),
        _ => Err(format!("{differ} bytes of the file are wrong")),
    }
}
