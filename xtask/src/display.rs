//! A display and a keyboard: for the emulated PCs a window where the emulator has one, else VNC; for
//! the hosted machine a Unix socket, at which another program listens.

use crate::machine::Machine;
use crate::qemu::QEMU;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// The kinds of windows, the best first.
const WINDOWS: [&str; 2] = ["gtk", "sdl"];
/// The port of VNC's display 0, and how many displays are tried.
const VNC: u16 = 5900;
const DISPLAYS: u16 = 100;

/// Who looks at a machine's screen and presses its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Display {
    /// The person who started it.
    Window,
    /// The program that listens at this Unix socket: `unix:PATH`.
    Socket(OsString),
}

impl Display {
    /// The program that listens at this socket.
    pub fn at(path: &Path) -> Display {
        let mut socket = OsString::from("unix:");
        socket.push(path);
        Display::Socket(socket)
    }

    /// Whether a word of the command line says where the socket is.
    pub fn is_socket(word: &OsStr) -> bool {
        word.as_bytes().starts_with(b"unix:")
    }

    /// The hosted machine's socket.
    pub fn for_hosted(&self) -> Result<&OsStr> {
        match self {
            Display::Socket(socket) => Ok(socket),
            Display::Window => bail!(
                "run: --display opens a window for the machines q35 and pc-i440fx; the hosted one \
                 takes `--display unix:PATH`, a Unix socket at which a program listens that draws \
                 the screen"
            ),
        }
    }

    /// QEMU's arguments.
    pub fn for_qemu(&self, machine: Machine) -> Result<Vec<String>> {
        match self {
            Display::Window => window_arguments(machine),
            Display::Socket(socket) => bail!(
                "run: --display {} is for the hosted machine; say --display alone for a window",
                socket.display()
            ),
        }
    }
}

/// QEMU's arguments for a machine's display, and its graphics card.
fn window_arguments(machine: Machine) -> Result<Vec<String>> {
    if !matches!(machine, Machine::Q35 | Machine::I440fx) {
        bail!(
            "run: --display is for the machines q35 and pc-i440fx; {} has no graphics card",
            machine.name()
        );
    }
    let kind = match window()? {
        Some(kind) => kind.to_string(),
        None => {
            let number = free()?;
            let port = VNC + number;
            complain!(
                "run: no window can be opened here; the display is at vnc://127.0.0.1:{port}"
            );
            format!("vnc=127.0.0.1:{number}")
        }
    };
    let words = ["-vga", "std", "-display", &kind];
    Ok(words.map(String::from).into())
}

/// A kind of window that the emulator has and this session can show.
fn window() -> Result<Option<&'static str>> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return Ok(None);
    }
    let mut asked = Command::new(QEMU);
    let asked = asked.args(["-display", "help"]).output();
    let asked = asked.with_context(|| format!("cannot start {QEMU}"))?;
    let list = String::from_utf8_lossy(&asked.stdout);
    let has = |kind: &&str| list.lines().any(|line| line == *kind);
    Ok(WINDOWS.into_iter().find(|kind| has(kind)))
}

/// The number of a VNC display that nobody uses.
fn free() -> Result<u16> {
    let is_free = |number: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, VNC + number)).is_ok();
    let found = (0..DISPLAYS).find(is_free);
    found.with_context(|| {
        let last = VNC + DISPLAYS - 1;
        format!("run: no display: the ports {VNC} to {last} of 127.0.0.1 are all in use")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_that_display_is_told_which_it_has() {
        let socket = Display::Socket("unix:/s".into());
        assert_eq!(socket.for_hosted().unwrap(), "unix:/s");
        let refused = [
            (Display::Window.for_hosted().map(drop), "unix:PATH"),
            (Display::Window.for_qemu(Machine::Microvm).map(drop), "q35"),
            (socket.for_qemu(Machine::Q35).map(drop), "--display alone"),
        ];
        for (result, way_out) in refused {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(way_out), "{error}");
        }
    }
}
