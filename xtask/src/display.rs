//! A display for the emulated PCs: a window where the emulator has one, else VNC.

use crate::machine::Machine;
use crate::qemu::QEMU;
use anyhow::{Context, Result, bail};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

/// The kinds of windows, the best first.
const WINDOWS: [&str; 2] = ["gtk", "sdl"];
/// The port of VNC's display 0, and how many displays are tried.
const VNC: u16 = 5900;
const DISPLAYS: u16 = 100;

/// QEMU's arguments for a machine's display, and its graphics card.
pub fn arguments(machine: Machine) -> Result<Vec<String>> {
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
