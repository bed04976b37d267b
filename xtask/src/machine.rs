//! The machines that the system runs on, and the commands that start it on each.

use crate::disk::Disk;
use crate::display::Display;
use crate::host_dir::HostDirectory;
use crate::network::Network;
use crate::project::Project;
use crate::serial_line::SerialLine;
use crate::{build, qemu};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};

/// The longest command line of a PC, in bytes. The kernel takes one more, but QEMU keeps 4096 with
/// the zero behind it, and cuts a longer one or writes over what it tells the kernel besides.
pub const COMMAND_LINE: usize = 4095;

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// One ordinary Linux process.
    Hosted,
    /// QEMU's `microvm`: a PC with a minimum of devices.
    Microvm,
    /// QEMU's `q35`: a usual PC.
    Q35,
    /// QEMU's `pc-i440fx`: a PC of the nineties, still offered by many clouds.
    I440fx,
}

impl Machine {
    /// Reads a name from the command line; `pc` is the PC that starts quickest.
    pub fn named(name: &str) -> Result<Machine> {
        match name {
            "hosted" => Ok(Machine::Hosted),
            "pc" | "microvm" => Ok(Machine::Microvm),
            "q35" => Ok(Machine::Q35),
            "pc-i440fx" => Ok(Machine::I440fx),
            _ => bail!(
                "unknown machine `{name}`: there are hosted, pc (the same as microvm), q35 and pc-i440fx"
            ),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Hosted => "hosted",
            Machine::Microvm => "microvm",
            Machine::Q35 => "q35",
            Machine::I440fx => "pc-i440fx",
        }
    }

    /// Whether it has an IOMMU, or a model of one: devices that master the bus have drivers there.
    pub fn confines(self) -> bool {
        matches!(self, Machine::Hosted | Machine::Q35)
    }

    /// Whether it is emulated, and so slow.
    pub fn is_emulated(self) -> bool {
        self != Machine::Hosted
    }
}

/// How QEMU runs the guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceleration {
    /// Plain emulation.
    Emulated,
    /// Emulation in which every instruction takes one nanosecond, so that runs are alike to the
    /// instruction.
    Counted,
    /// As `Counted`, but while the machine waits, its time passes as the host's does, instead of
    /// leaping to its next timer: drivers would take a device that the host serves for a dead one.
    Waiting,
    /// Emulation in which every instruction takes 32 nanoseconds: as `Counted`, but waits are
    /// shorter in instructions.
    Paced,
    /// By the host's processor.
    Kvm,
}

impl Acceleration {
    /// How a machine runs under the kernel's watchdog. In emulation a nanosecond is an instruction,
    /// so that the result does not depend on the host's load.
    pub fn watched(machine: Machine) -> Acceleration {
        if machine.is_emulated() {
            Acceleration::Counted
        } else {
            Acceleration::Emulated
        }
    }
}

/// A kernel for a machine, ready to start images.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kind of machine.
    pub machine: Machine,
    binary: PathBuf,
    acceleration: Acceleration,
    scratch: PathBuf,
    /// Microseconds between ticks of the timer, so that the kernel's watchdog also sees short
    /// stretches, and reports the longest one at the end.
    pub watch: Option<u32>,
    /// The machine's disks.
    pub disks: Vec<Disk>,
    /// QEMU's arguments for further devices of an emulated machine.
    pub devices: Vec<String>,
    /// Whether an emulated machine has a source of random bytes; the hosted one always has.
    pub entropy: bool,
    /// Directories of the host that the machine has as devices.
    pub directories: Vec<HostDirectory>,
    /// The machine's network cards.
    pub networks: Vec<Network>,
    /// What is at the far end of the machine's serial port; `None`: it has none.
    pub serial: Option<SerialLine>,
    /// Who has the machine's screen and keyboard; `None`: it has none.
    pub display: Option<Display>,
    /// Further options of the hosted kernel.
    pub options: Vec<&'static str>,
    stress: bool,
}

impl Kernel {
    /// Builds the machine's kernel. `setup` has found the emulator.
    pub fn prepare(
        project: &Project,
        machine: Machine,
        acceleration: Acceleration,
    ) -> Result<Kernel> {
        let binary = if machine.is_emulated() {
            if acceleration == Acceleration::Kvm {
                qemu::probe_kvm()?;
            }
            build::pc(project)?
        } else {
            if acceleration != Acceleration::Emulated {
                bail!("--kvm is for the emulated machines: microvm, q35 and pc-i440fx");
            }
            build::tools(project)?;
            project.host_binary("singularity")
        };
        let scratch = project.out();
        fs::create_dir_all(&scratch)
            .with_context(|| format!("cannot create {}", scratch.display()))?;
        Ok(Kernel {
            machine,
            binary,
            acceleration,
            scratch,
            watch: None,
            disks: Vec::new(),
            devices: Vec::new(),
            entropy: false,
            directories: Vec::new(),
            networks: Vec::new(),
            serial: None,
            display: None,
            options: Vec::new(),
            stress: false,
        })
    }

    /// The machine as `cargo xtask run` starts it: with what programs expect of every machine.
    pub fn of_users(
        project: &Project,
        machine: Machine,
        acceleration: Acceleration,
    ) -> Result<Kernel> {
        Ok(Kernel {
            // Ordinary programs ask for random bytes as they start, and who speaks to others needs
            // numbers that nobody guesses.
            entropy: true,
            ..Kernel::prepare(project, machine, acceleration)?
        })
    }

    /// The hosted kernel, built with this feature.
    pub fn hosted_with(project: &Project, feature: &str) -> Result<Kernel> {
        let binary = build::hosted_with(project, feature)?;
        Ok(Kernel {
            binary,
            ..Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?
        })
    }

    /// The PC HAL's test of itself, in the kernel's place: any module of some MiB does for a system
    /// image.
    pub fn selftest(
        project: &Project,
        machine: Machine,
        acceleration: Acceleration,
    ) -> Result<Kernel> {
        let binary = build::pc_selftest(project)?;
        Ok(Kernel {
            binary,
            ..Kernel::prepare(project, machine, acceleration)?
        })
    }

    /// The kernel's file.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The same kernel, started so that it lets another thread run at every place where one could.
    pub fn stressed(mut self) -> Kernel {
        self.stress = true;
        self
    }

    /// Whether it is.
    pub fn is_stressed(&self) -> bool {
        self.stress
    }

    /// Where time counts instructions, it passes as the host's while the machine waits. Without this,
    /// all that a busy host does for a disk seems to take as long as the driver is patient.
    pub fn with_disks_in_use(mut self) -> Kernel {
        if self.acceleration == Acceleration::Counted {
            self.acceleration = Acceleration::Waiting;
        }
        self
    }

    /// Arguments by which the shell waits for the directories, whose drivers start beside it, and for
    /// the file system at `/` if the first disk is known to have one.
    pub fn awaited(&self, root: bool) -> Vec<String> {
        let paths = self.directories.iter().map(|d| d.at.as_str());
        let paths: Vec<&str> = root.then_some("/").into_iter().chain(paths).collect();
        match paths.is_empty() {
            true => Vec::new(),
            false => vec!["--await".into(), paths.join(",")],
        }
    }

    /// The command that starts a system image with these arguments.
    pub fn launch(
        &self,
        image: Option<&Path>,
        arguments: &[String],
        terminal: bool,
    ) -> Result<Launch> {
        if let Some(disk) = self.disks.iter().find(|d| d.nvme)
            && !self.machine.confines()
        {
            bail!(
                "{}: an NVMe disk needs an IOMMU, which only q35 and the hosted machine have here; say `--machine q35`",
                disk.path.display()
            );
        }
        for network in &self.networks {
            network.check(self.machine)?;
        }
        if self.machine == Machine::Hosted {
            let mut command = Command::new(&self.binary);
            command.args(&self.options);
            if let Some(watch) = self.watch {
                command.arg("--watch").arg(watch.to_string());
            }
            if self.stress {
                command.args(["--stress", "switch"]);
            }
            for disk in &self.disks {
                let mut file = disk.path.clone().into_os_string();
                if disk.read_only {
                    file.push(",ro");
                }
                if disk.nvme {
                    file.push(",nvme");
                }
                command.arg("--disk").arg(file);
            }
            for directory in &self.directories {
                command.arg("--dir").arg(directory.for_hosted());
            }
            for network in &self.networks {
                command.arg("--net").arg(network.for_hosted());
            }
            if let Some(serial) = &self.serial {
                command.arg("--serial").arg(serial.for_hosted());
            }
            if let Some(display) = &self.display {
                command.arg("--display").arg(display.for_hosted()?);
            }
            command.args(image).args(arguments);
            return Ok(Launch::new(command));
        }
        let mut further = self.devices.clone();
        if let Some(display) = &self.display {
            further.extend(display.for_qemu(self.machine)?);
        }
        let mut line = command_line(arguments, terminal, self.stress)?;
        if let Some(watch) = self.watch {
            line = format!("watch={watch} {line}");
        }
        let devices = self.disks.len() + self.directories.len() + self.networks.len();
        if self.entropy {
            further.extend(qemu::entropy(self.machine, devices));
        }
        if devices > qemu::DISKS {
            bail!(
                "a machine has at most {} disks, directories and network cards",
                qemu::DISKS
            );
        }
        let devices = devices + usize::from(self.entropy);
        line.insert_str(0, &qemu::transports(self.machine, devices));
        check_length(&line)?;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let run = COUNT.fetch_add(1, Ordering::Relaxed);
        let verdict = self
            .scratch
            .join(format!("verdict-{}-{run}.txt", std::process::id()));
        let command = qemu::command(&qemu::Guest {
            machine: self.machine,
            acceleration: self.acceleration,
            kernel: &self.binary,
            image,
            line: &line,
            verdict: &verdict,
            terminal,
            disks: &self.disks,
            devices: &further,
            directories: &self.directories,
            networks: &self.networks,
            serial: self.serial.as_ref(),
        });
        let mut launch = Launch::new(command);
        launch.owns(verdict.clone());
        launch.verdict = Some(verdict);
        Ok(launch)
    }
}

/// Refuses a command line that the PC kernel would not start with.
pub fn check_length(line: &str) -> Result<()> {
    if line.len() <= COMMAND_LINE {
        return Ok(());
    }
    let longest = line.split_whitespace().max_by_key(|word| word.len());
    let longest = longest.unwrap_or_default();
    let shown: String = longest.chars().take(40).collect();
    bail!(
        "the command line has {} bytes, and a PC's has {COMMAND_LINE} at the most; the longest word is `{shown}...` of {} \
         bytes. Put it into a script (`cargo xtask run --script FILE`)",
        line.len(),
        longest.len()
    )
}

/// The command line of a PC: first the HAL's options for its console, then the system's arguments.
fn command_line(arguments: &[String], terminal: bool, stress: bool) -> Result<String> {
    let mut words = vec!["console=none".to_string()];
    if terminal {
        let size = rustix::termios::tcgetwinsize(std::io::stdin());
        let known = size.ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let (columns, rows) = known.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        words[0] = format!("console={columns}x{rows}");
    }
    if stress {
        words.push("stress=switch".into());
    }
    words.push("--".into());
    for argument in arguments {
        if argument.contains('"') {
            bail!(
                "the argument `{argument}` holds a double quote, which a PC's command line cannot carry"
            );
        }
        let plain = !argument.is_empty() && !argument.contains(char::is_whitespace);
        words.push(if plain {
            argument.clone()
        } else {
            format!("\"{argument}\"")
        });
    }
    Ok(words.join(" "))
}

/// A system about to be started.
#[derive(Debug)]
pub struct Launch {
    /// The command; its standard streams are the console.
    pub command: Command,
    /// Where QEMU's debug port writes the exact exit status.
    verdict: Option<PathBuf>,
    /// Files that are needed only while it runs.
    owned: Vec<PathBuf>,
}

impl Launch {
    /// A command whose exit status is the system's.
    pub fn new(command: Command) -> Launch {
        Launch {
            command,
            verdict: None,
            owned: Vec::new(),
        }
    }

    /// Registers a file to be removed when the system has ended.
    pub fn owns(&mut self, file: PathBuf) {
        self.owned.push(file);
    }

    /// The system's exit status, after the end of its process; `None` if the system reported none.
    pub fn status(&self, ended: ExitStatus) -> Option<i32> {
        match &self.verdict {
            None => ended.code(),
            Some(file) => said(&fs::read_to_string(file).unwrap_or_default()),
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        for file in &self.owned {
            let _ = fs::remove_file(file);
        }
    }
}

/// The status in the bytes that the PC kernel writes to the debug port when it ends.
fn said(text: &str) -> Option<i32> {
    text.lines()
        .rev()
        .find_map(|line| line.strip_prefix("exit status ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_status_said_counts() {
        assert_eq!(said("x\nexit status 1\nexit status 134\n"), Some(134));
        assert_eq!(said("exit status -1\n"), Some(-1));
        assert_eq!(said("exit status\n"), None);
        assert_eq!(said(""), None);
    }

    #[test]
    fn a_command_line_begins_with_the_console() {
        let arguments = ["--script".to_string(), "a b".to_string(), String::new()];
        let line = command_line(&arguments, false, false).unwrap();
        assert_eq!(line, "console=none -- --script \"a b\" \"\"");
        assert!(command_line(&["\"".into()], false, false).is_err());
        assert_eq!(
            command_line(&["a".into()], false, true).unwrap(),
            "console=none stress=switch -- a"
        );
    }

    #[test]
    fn a_command_line_that_is_too_long_is_refused_with_its_longest_word() {
        let line = |word: usize| {
            let arguments = ["-c".to_string(), "w".repeat(word)];
            command_line(&arguments, false, false).unwrap()
        };
        let rest = line(0).len() - 2;
        assert!(check_length(&line(COMMAND_LINE - rest)).is_ok());
        let error = check_length(&line(COMMAND_LINE - rest + 1)).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("4096") && said.contains("`www"), "{said}");
    }

    #[test]
    fn machines_have_names() {
        assert_eq!(Machine::named("pc").unwrap(), Machine::Microvm);
        for machine in [
            Machine::Hosted,
            Machine::Microvm,
            Machine::Q35,
            Machine::I440fx,
        ] {
            assert_eq!(Machine::named(machine.name()).unwrap(), machine);
        }
        assert!(
            Machine::named("vax")
                .unwrap_err()
                .to_string()
                .contains("hosted, pc")
        );
    }
}
