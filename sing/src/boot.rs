//! `sing boot`: runs a system image, with the hosted kernel that is a part of this command; and the
//! system of `sing run`, in this very process.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// What a command that is not whole lacks.
pub const NOT_WHOLE: &str = "this `sing` has been built without the kernel and the system's \
     programs; `cargo install --locked --path sing` makes one that has them";

/// Runs it; the kernel ends this process with the system's status.
#[cfg(feature = "kernel")]
pub fn boot(words: Vec<OsString>) -> Result<bool, String> {
    sing_hosted::command::main("sing boot", words);
    Ok(true)
}

/// The permission of a system to use the host's sockets; the default is none.
#[cfg(feature = "kernel")]
pub type Sockets = sing_hosted::HostSockets;
/// The same in a command without the kernel, which runs no system.
#[cfg(not(feature = "kernel"))]
pub type Sockets = ();

/// The permission to listen at the loopback.
pub fn loopback() -> Sockets {
    #[cfg(feature = "kernel")]
    return Sockets::Loopback;
}

/// The permission that a text for the option `--net` of `sing boot` gives.
#[cfg(feature = "kernel")]
pub fn sockets(network: &str) -> Result<Sockets, String> {
    let named = sing_hosted::HostSockets::named(network);
    let named = named.ok_or_else(|| format!("--net {network}: is no network of the host"))?;
    named.map_err(|e| e.to_string())
}

/// Whether such a text permits all addresses.
#[cfg(feature = "kernel")]
pub fn reaches_all(network: &str) -> bool {
    matches!(sockets(network), Ok(Sockets::Host(_)))
}

/// Whether such a text permits all addresses: no system runs that could reach one.
#[cfg(not(feature = "kernel"))]
pub fn reaches_all(_: &str) -> bool {
    false
}

/// The permission that such a text gives: none, and [`run`] says why.
#[cfg(not(feature = "kernel"))]
pub fn sockets(_: &str) -> Result<Sockets, String> {
    Ok(())
}

/// A system with one program, for [`run`].
#[cfg_attr(
    not(feature = "kernel"),
    expect(dead_code, reason = "without the kernel, `run` refuses it unread")
)]
pub struct System {
    /// Its image, in a file that nobody changes.
    pub image: File,
    /// Its arguments.
    pub args: Vec<String>,
    /// Directories of the host, each with its path in the name space.
    pub directories: Vec<(PathBuf, String)>,
    /// Its permission to use the host's sockets.
    pub sockets: Sockets,
    /// Whether the functions of its programs are written for `perf`.
    pub perf_map: bool,
}

/// Runs it in this process, of which this must be the only thread; the kernel ends it with the
/// system's status.
#[cfg(feature = "kernel")]
pub fn run(system: System) -> Result<u8, String> {
    use sing_hosted::{HostDirectory, command};
    let directories = system.directories.into_iter();
    let system = command::OneProgram {
        image: system.image,
        args: system.args,
        directories: directories
            .map(|(path, at)| HostDirectory {
                path,
                at,
                read_only: false,
            })
            .collect(),
        sockets: system.sockets,
        perf_map: system.perf_map,
    };
    command::one_program("sing run", system)
}

/// Says that it cannot.
#[cfg(not(feature = "kernel"))]
pub fn run(_: System) -> Result<u8, String> {
    Err(NOT_WHOLE.into())
}

/// Says that it cannot.
#[cfg(not(feature = "kernel"))]
pub fn boot(_: Vec<OsString>) -> Result<bool, String> {
    Err(NOT_WHOLE.into())
}

/// The kernel as a command: this one, called with `boot`.
pub fn kernel() -> Result<Command, String> {
    if cfg!(not(feature = "kernel")) {
        return Err(NOT_WHOLE.into());
    }
    // This very file, also if another has been installed in its place meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sing");
    command.arg("boot");
    Ok(command)
}
