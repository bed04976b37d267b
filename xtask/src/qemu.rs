//! QEMU: its packages and its command line.

use crate::disk::Disk;
use crate::host_dir::HostDirectory;
use crate::machine::{Acceleration, Machine};
use crate::network::Network;
use crate::packages::Tools;
use crate::serial_line::SerialLine;
use anyhow::{Result, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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
    /// The machine's disks, in order.
    pub disks: &'a [Disk],
    /// Further arguments, for further devices.
    pub devices: &'a [String],
    /// Directories of the host that the machine has as devices, in order.
    pub directories: &'a [HostDirectory],
    /// The machine's network cards, in order.
    pub networks: &'a [Network],
    /// What is at the far end of the serial port beside the console.
    pub serial: Option<&'a SerialLine>,
}

/// The most disks, directories and network cards of a machine.
pub const DISKS: usize = 8;
/// Where `microvm` has its virtio transports, the bytes of each, and the input of the interrupt
/// controllers to which the first is connected.
const TRANSPORTS: usize = 0xfeb0_0000;
const TRANSPORT_BYTES: usize = 512;
const TRANSPORTS_INPUT: usize = 24;

/// The transport of a device. They are used from the last on, as QEMU itself does: the interrupt of
/// the first arrives at another input than the machine's tables say.
fn transport(device: usize) -> usize {
    23 - device
}

/// What the kernel's command line says of a machine's disks, directories and network cards:
/// `microvm` describes its transports only in tables that need an interpreter.
pub fn transports(machine: Machine, devices: usize) -> String {
    if machine != Machine::Microvm {
        return String::new();
    }
    let word = |i: usize| {
        let number = transport(i);
        let (at, input) = (
            TRANSPORTS + number * TRANSPORT_BYTES,
            TRANSPORTS_INPUT + number,
        );
        format!("virtio_mmio.device={TRANSPORT_BYTES}@{at:#x}:{input} ")
    };
    (0..devices).map(word).collect()
}

/// The arguments for a source of random bytes, behind so many other devices.
pub fn entropy(machine: Machine, before: usize) -> [String; 2] {
    let device = match machine {
        Machine::Microvm | Machine::Hosted => {
            let bus = transport(before);
            format!("virtio-rng-device,bus=virtio-mmio-bus.{bus}")
        }
        Machine::Q35 | Machine::I440fx => "virtio-rng-pci,disable-legacy=on".into(),
    };
    ["-device".into(), device]
}

/// The arguments that make a file a disk.
fn drive(machine: Machine, number: usize, disk: &Disk) -> [OsString; 4] {
    let device = match machine {
        _ if disk.nvme => format!("nvme,serial=disk{number}"),
        Machine::Microvm | Machine::Hosted => {
            format!(
                "virtio-blk-device,bus=virtio-mmio-bus.{}",
                transport(number)
            )
        }
        Machine::Q35 | Machine::I440fx => "virtio-blk-pci,disable-legacy=on".to_string(),
    };
    let mut drive = OsString::from(format!("if=none,id=disk{number},format=raw,file="));
    drive.push(disk.for_qemu());
    if disk.read_only {
        drive.push(",read-only=on");
    }
    let device = format!("{device},drive=disk{number}");
    ["-drive".into(), drive, "-device".into(), device.into()]
}

/// The arguments that make a directory a device, behind so many disks.
fn directory(
    machine: Machine,
    disks: usize,
    number: usize,
    directory: &HostDirectory,
) -> [OsString; 4] {
    let device = match machine {
        Machine::Microvm | Machine::Hosted => {
            let bus = transport(disks + number);
            format!("virtio-9p-device,bus=virtio-mmio-bus.{bus}")
        }
        Machine::Q35 | Machine::I440fx => "virtio-9p-pci,disable-legacy=on".to_string(),
    };
    directory.for_qemu(number, &device)
}

/// The arguments that make a network a device, behind so many others.
fn network(machine: Machine, before: usize, number: usize, network: &Network) -> [String; 4] {
    let card = match machine {
        Machine::Microvm | Machine::Hosted => {
            let bus = transport(before + number);
            format!("virtio-net-device,bus=virtio-mmio-bus.{bus}")
        }
        Machine::Q35 | Machine::I440fx => "virtio-net-pci,disable-legacy=on".to_string(),
    };
    network.for_qemu(number, &card)
}

/// A value as QEMU's options take one, in which a comma is written twice.
pub fn value(text: &OsStr) -> OsString {
    let mut out = Vec::new();
    for byte in text.as_bytes() {
        out.push(*byte);
        if *byte == b',' {
            out.push(b',');
        }
    }
    OsString::from_vec(out)
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
    let before = guest.disks.len() + guest.directories.len();
    if before + guest.networks.len() > 0 {
        // Version 1 of the interface, not the one before it.
        command.args(["-global", "virtio-mmio.force-legacy=false"]);
    }
    // Before the devices that it is for.
    if guest.machine == Machine::Q35 {
        command.args(["-device", "intel-iommu"]);
    }
    command.args(guest.devices);
    if let Some(serial) = guest.serial {
        command.args(serial.for_qemu());
    }
    for (number, disk) in guest.disks.iter().enumerate() {
        command.args(drive(guest.machine, number, disk));
    }
    for (number, of) in guest.directories.iter().enumerate() {
        command.args(directory(guest.machine, guest.disks.len(), number, of));
    }
    for (number, of) in guest.networks.iter().enumerate() {
        command.args(network(guest.machine, before, number, of));
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
        Acceleration::Waiting => &[
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-icount",
            "shift=0,sleep=on",
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
            disks: &[Disk::named("a,b,ro".into())],
            devices: &["-device".into(), "edu".into()],
            directories: &[HostDirectory::named(&"here::/mnt".into()).unwrap()],
            networks: &[Network::named("user,e1000").unwrap()],
            serial: Some(&SerialLine::named("unix:/a,b".into())),
        };
        let line = format!("{:?}", command(&guest));
        for part in [
            "q35",
            "shift=0,sleep=off",
            "file:v",
            "isa-debug-exit",
            "id=disk0,format=raw,file=a,,b",
            "\"intel-iommu\" \"-device\" \"edu\"",
            "virtio-blk-pci,disable-legacy=on,drive=disk0",
            "path=here,readonly=on",
            "virtio-9p-pci,disable-legacy=on,fsdev=dir0,mount_tag=/mnt",
            "e1000,romfile=,netdev=net0",
            "socket,id=line,path=/a,,b",
            "isa-serial,chardev=line,index=1",
            "\"-- a b\"",
        ] {
            assert!(line.contains(part), "{part} not in {line}");
        }
        assert!(!line.contains("mon:stdio"));
    }
}
