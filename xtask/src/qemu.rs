//! QEMU: finding it, installing it, and its command line.

use crate::machine::{Acceleration, Machine};
use anyhow::{Result, bail};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The emulator's name.
const QEMU: &str = "qemu-system-x86_64";

/// What to start.
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
    /// The file that gets what the kernel writes to port 0xe9.
    pub verdict: &'a Path,
    /// Whether the console is a terminal.
    pub terminal: bool,
}

/// QEMU's command line. On a terminal, control keys reach the guest, and Ctrl-A X ends the emulator.
pub fn command(guest: &Guest) -> Command {
    let mut command = Command::new(QEMU);
    command.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.args([
        "-M",
        if guest.machine == Machine::Q35 {
            "q35"
        } else {
            "microvm,auto-kernel-cmdline=off"
        },
    ]);
    match guest.acceleration {
        Acceleration::Emulated => command.args(["-accel", "tcg", "-cpu", "max"]),
        Acceleration::Counted => command.args([
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-icount",
            "shift=0,sleep=off",
        ]),
        Acceleration::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
    };
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
    command
}

/// Whether QEMU is there.
pub fn is_installed() -> bool {
    let mut version = Command::new(QEMU);
    version
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Installs QEMU where it is missing and we may; otherwise says how to.
pub fn ensure() -> Result<()> {
    if is_installed() {
        return Ok(());
    }
    let how = "`sudo apt-get install qemu-system-x86` on Debian and Ubuntu, `dnf install qemu-system-x86-core` \
               on Fedora, `pacman -S qemu-system-x86` on Arch";
    let root = std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
    if !root || !Path::new("/usr/bin/apt-get").exists() {
        bail!("{QEMU} is missing; install it: {how}");
    }
    let install = || -> Result<bool> {
        let arguments = [
            "install",
            "-y",
            "--no-install-recommends",
            "qemu-system-x86",
        ];
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        Ok(crate::cargo::capture(&mut apt, "installing QEMU")?.success)
    };
    if !install()? {
        let mut update = Command::new("apt-get");
        crate::cargo::quiet(update.arg("update"), "updating the package lists")?;
        if !install()? {
            bail!("`apt-get install qemu-system-x86` failed; install {QEMU} by hand: {how}");
        }
    }
    if !is_installed() {
        bail!("{QEMU} is still missing after its installation; install it by hand: {how}");
    }
    Ok(())
}

/// Whether QEMU can use the host's processor: it must start a machine with it.
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
