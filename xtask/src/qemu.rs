//! QEMU: its packages and its command line.

use crate::disk::Disk;
use crate::machine::{Acceleration, Machine};
use crate::packages::Tools;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The emulator's name.
pub const QEMU: &str = "qemu-system-x86_64";

/// The emulator.
pub const TOOLS: Tools = Tools {
    name: "QEMU",
    programs: &[QEMU],
    packages: &["qemu-system-x86"],
    elsewhere: "`dnf install qemu-system-x86-core` on Fedora, `pacman -S qemu-system-x86` on Arch",
};

/// The system to start.
pub struct Guest<'a> {
    /// The kind of PC.
    pub machine: Machine,
    /// How its code is run.
    pub acceleration: Acceleration,
    /// The kernel's ELF file.
    pub kernel: &'a Path,
    /// The system image.
    pub image: Option<&'a Path>,
    /// The kernel's command line.
    pub line: &'a str,
    /// The file that receives the bytes that the kernel writes to port 0xe9.
    pub verdict: &'a Path,
    /// Whether the console is a terminal.
    pub terminal: bool,
    /// The machine's disks.
    pub disks: &'a [Disk],
}

/// QEMU's command line. On a terminal, control keys reach the guest, and Ctrl-A X ends the
/// emulator.
pub fn command(guest: &Guest) -> Command {
    let mut command = Command::new(QEMU);
    command.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.args(["-M", machine_type(guest.machine)]);
    command.args(acceleration(guest.acceleration));
    command.args([
        "-m",
        "512",
        "-serial",
        if guest.terminal { "mon:stdio" } else { "stdio" },
    ]);
    command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]);
    command
        .arg("-debugcon")
        .arg(format!("file:{}", guest.verdict.display()));
    command.arg("-kernel").arg(guest.kernel);
    if let Some(image) = guest.image {
        command.arg("-initrd").arg(image);
    }
    command.arg("-append").arg(guest.line);
    for (number, disk) in guest.disks.iter().enumerate() {
        let mut drive = OsString::from(format!("if=none,id=disk{number},format=raw,file="));
        drive.push(disk.for_qemu());
        if disk.read_only {
            drive.push(",read-only=on");
        }
        command.arg("-drive").arg(drive);
        let device = match guest.machine {
            Machine::Microvm | Machine::Hosted => "virtio-blk-device",
            Machine::Q35 | Machine::I440fx => "virtio-blk-pci,disable-legacy=on",
        };
        command
            .arg("-device")
            .arg(format!("{device},drive=disk{number}"));
    }
    command
}

/// QEMU's name of a machine.
fn machine_type(machine: Machine) -> &'static str {
    match machine {
        Machine::Q35 => "q35",
        // Without a version, as the versions differ between installations of QEMU.
        Machine::I440fx => "pc",
        Machine::Microvm | Machine::Hosted => "microvm,auto-kernel-cmdline=off",
    }
}

/// QEMU's arguments for the way to run the guest's code.
pub fn acceleration(acceleration: Acceleration) -> &'static [&'static str] {
    match acceleration {
        Acceleration::Emulated => &["-accel", "tcg", "-cpu", "max"],
        Acceleration::Counted => &[
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-icount",
            "shift=0,sleep=off",
        ],
        Acceleration::Paced => &[
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-icount",
            "shift=5,sleep=off",
        ],
        Acceleration::Kvm => &["-accel", "kvm", "-cpu", "host"],
    }
}

/// Whether QEMU can use the host's processor: tested by starting a machine with it.
pub fn probe_kvm() -> Result<()> {
    let mut probe = Command::new("sh");
    let line = format!(
        "echo quit | {QEMU} -nodefaults -no-user-config -display none -M microvm -accel kvm -cpu host -S -monitor stdio"
    );
    let outcome = crate::cargo::capture(probe.args(["-c", &line]), "trying KVM")?;
    if !outcome.success {
        bail!(
            "KVM does not work here; leave out --kvm:\n{}",
            outcome.output.trim()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_all_parts() {
        let guest = Guest {
            machine: Machine::Q35,
            acceleration: Acceleration::Counted,
            kernel: Path::new("k"),
            image: Some(Path::new("i")),
            line: "-- a b",
            verdict: Path::new("v"),
            terminal: false,
            disks: &[],
        };
        let line = format!("{:?}", command(&guest));
        for part in [
            "q35",
            "shift=0,sleep=off",
            "file:v",
            "isa-debug-exit",
            "\"-- a b\"",
        ] {
            assert!(line.contains(part), "{part} not in {line}");
        }
        assert!(!line.contains("mon:stdio"));
    }
}
