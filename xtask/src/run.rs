//! `cargo xtask run`: builds everything, packs the image and starts the system.

use crate::disk::Disk;
use crate::display::Display;
use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode};
use crate::machine::{Acceleration, Kernel, Launch, Machine};
use crate::network::Network;
use crate::project::Project;
use crate::serial_line::SerialLine;
use crate::setup::{self, Needs};
use crate::wasi;
use crate::web::{self, Web};
use anyhow::{Context, Result, bail};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Stdio;

/// The shell's input if a script is given.
pub const SCRIPT_ARGUMENTS: [&str; 2] = ["--script", "/boot/script"];

/// The options of `run`.
#[derive(Debug)]
pub struct Request {
    /// The machine.
    pub machine: Machine,
    /// How linear memories are guarded.
    pub memory: MemoryMode,
    /// Shell commands to run instead of an interactive session.
    pub script: Option<String>,
    /// Whether to use the host's processor under QEMU.
    pub kvm: bool,
    /// The machine's disks; none: the project's own.
    pub disks: Vec<Disk>,
    /// Further programs: name, and module or image.
    pub programs: Vec<(String, PathBuf)>,
    /// Directories of the host that the system gets.
    pub directories: Vec<HostDirectory>,
    /// Its network cards.
    pub networks: Vec<Network>,
    /// What is at the far end of the machine's serial port; `None`: it has none.
    pub serial: Option<SerialLine>,
    /// Whether the project's own disk begins empty.
    pub fresh: bool,
    /// Whether the system is to be seen in a browser from the start.
    pub web: Web,
    /// Whether it has the service that ends TLS.
    pub tls: bool,
    /// Who has the machine's screen and keyboard; `None`: it has none.
    pub display: Option<Display>,
    /// Further arguments for the system.
    pub arguments: Vec<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            machine: Machine::Hosted,
            memory: MemoryMode::Guard,
            script: None,
            kvm: false,
            disks: Vec::new(),
            programs: Vec::new(),
            directories: Vec::new(),
            networks: Vec::new(),
            serial: None,
            fresh: false,
            web: Web::Usual,
            tls: false,
            display: None,
            arguments: Vec::new(),
        }
    }
}

/// Runs the system; returns its exit status.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(request.machine.is_emulated()))?;
    let terminal = request.script.is_none() && std::io::stdin().is_terminal();
    let mut launch = prepare(&project, request, terminal)?;
    let program = launch.command.get_program().to_string_lossy().into_owned();
    let ended = launch
        .command
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    match launch.status(ended) {
        // A status of the system is one byte, as the host's are.
        Some(status) => Ok(status as u8),
        None => bail!("the system ended without an exit status ({ended})"),
    }
}

/// The system, ready to be started. `terminal`: whether somebody sits before it.
pub fn prepare(project: &Project, request: &Request, terminal: bool) -> Result<Launch> {
    let acceleration = if request.kvm {
        Acceleration::Kvm
    } else {
        Acceleration::Emulated
    };
    let script = request.script.as_deref();
    if !request.programs.is_empty() {
        // `sing image` joins ordinary programs with what is made here.
        wasi::base(project)?;
    }
    let hosted = request.machine == Machine::Hosted;
    let none = Network::sockets("none");
    // Who listens does so at a card, too, and is then not this machine's alone.
    let sockets = |network: &Network| network.is_sockets() && *network != none;
    let usual =
        hosted && terminal && request.networks.iter().all(sockets) && request.arguments.is_empty();
    let port = request.web.port(usual)?;
    if port.is_some() && request.networks.contains(&none) {
        bail!("--web: the system has no sockets of this machine with --net none");
    }
    let memory = request.memory;
    let mut programs = request.programs.clone();
    if request.tls {
        programs.push(image::tls(project, memory)?);
    }
    let image = image::system_with(project, memory, script, &programs, port)?;
    let mut kernel = Kernel::of_users(project, request.machine, acceleration)?;
    kernel.disks = if request.disks.is_empty() {
        Disk::kept(project, request.fresh)?.into_iter().collect()
    } else {
        request.disks.clone()
    };
    for disk in &kernel.disks {
        if !disk.path.exists() {
            bail!(
                "there is no file {}; `truncate -s 64M {0}` makes an empty disk",
                disk.path.display()
            );
        }
    }
    for directory in &request.directories {
        directory.check()?;
    }
    kernel.directories.clone_from(&request.directories);
    kernel.networks.clone_from(&request.networks);
    if let Some(port) = port.filter(|_| !hosted) {
        Network::forward(&mut kernel.networks, port);
    }
    kernel.display.clone_from(&request.display);
    kernel.serial.clone_from(&request.serial);
    // The project's own, once it has been formatted, is mounted at the start.
    let kept = request.disks.is_empty() && kernel.disks.iter().any(Disk::is_in_use);
    let mut arguments = kernel.awaited(kept);
    if port.is_some() {
        arguments.extend(web::FIRST.map(String::from));
    }
    if script.is_some() {
        arguments.extend(SCRIPT_ARGUMENTS.map(String::from));
    }
    arguments.extend(request.arguments.iter().cloned());
    let mut launch = kernel.launch(Some(&image), &arguments, terminal)?;
    if image::is_for_one_run(&image) {
        launch.owns(image);
    }
    if script.is_some() {
        launch.command.stdin(Stdio::null());
    }
    Ok(launch)
}
