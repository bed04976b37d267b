//! `sing boot`: runs a system image, with the hosted kernel that is a part of this command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// What a command that is not whole lacks.
pub const NOT_WHOLE: &str = "this `sing` has been built without the kernel and the system's \
     programs; `cargo install --locked --path sing` makes one that has them";

/// Runs it; the kernel ends this process with the system's status.
#[cfg(feature = "whole")]
pub fn boot(words: Vec<OsString>) -> Result<bool, String> {
    sing_hosted::command::main("sing boot", words);
    Ok(true)
}

/// Says that it cannot.
#[cfg(not(feature = "whole"))]
pub fn boot(_: Vec<OsString>) -> Result<bool, String> {
    Err(NOT_WHOLE.into())
}

/// The kernel as a command: this one, called with `boot`.
pub fn kernel() -> Result<Command, String> {
    if cfg!(not(feature = "whole")) {
        return Err(NOT_WHOLE.into());
    }
    // This very file, also if another has been installed in its place meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sing");
    command.arg("boot");
    Ok(command)
}
