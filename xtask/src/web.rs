//! The web server of a system that `cargo xtask run` starts: whether there is one from the start, and
//! its port, which is the same within the system and on this machine's loopback.
//!
//! Invariant: where nobody has asked for a port, there being none is no reason not to start.

use crate::files;
use crate::project::Project;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// The port where nothing else is said and it is free.
pub const USUAL: u16 = 8080;

/// What the shell runs first.
pub const FIRST: [&str; 2] = ["--first", "httpd address"];

/// Whether the system is to be seen in a browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Web {
    /// As is usual: if somebody sits before the hosted system.
    #[default]
    Usual,
    /// It is not.
    No,
    /// At a port that is free.
    Free,
    /// At this port.
    At(u16),
}

impl Web {
    /// Reads what follows `--web`: a port or `none`.
    pub fn named(text: &str) -> Result<Web> {
        match (text, text.parse()) {
            ("none", _) => Ok(Web::No),
            (_, Ok(port @ 1..)) => Ok(Web::At(port)),
            _ => bail!(
                "--web {text}: neither a port (1 to 65535) nor `none`; `--web` alone takes one"
            ),
        }
    }

    /// The port, if there is to be one. `usual`: whether that is usual for this system.
    pub fn port(self, usual: bool) -> Result<Option<u16>> {
        match self {
            Web::No => Ok(None),
            Web::Usual if !usual => Ok(None),
            Web::Usual => Ok(free().ok()),
            Web::Free => free().map(Some),
            Web::At(port) => match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                Ok(_) => Ok(Some(port)),
                Err(e) if e.kind() == ErrorKind::AddrInUse => bail!(
                    "--web {port}: another program listens at this port; `--web` alone takes a free one"
                ),
                Err(e) => Err(e).with_context(|| {
                    format!("--web {port}: cannot listen there; `--web` alone takes another port")
                }),
            },
        }
    }
}

/// The usual port, or another that is free.
fn free() -> Result<u16> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, USUAL))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .context("--web: this machine has no free port")?;
    Ok(socket.local_addr()?.port())
}

/// A file with the web server's configuration for a port, for this process.
pub fn configuration(project: &Project, port: u16) -> Result<PathBuf> {
    let usual = project.root.join("system/boot/web.conf");
    let text =
        fs::read_to_string(&usual).with_context(|| format!("cannot read {}", usual.display()))?;
    let file = project
        .out()
        .join(format!("web-{}.conf", std::process::id()));
    files::write(&file, with_port(&text, port))?;
    Ok(file)
}

/// A configuration with another port.
fn with_port(text: &str, port: u16) -> String {
    let own = |line: &&str| line.split_whitespace().next() != Some("port");
    let mut out = format!("port {port}\n");
    for line in text.lines().filter(own) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_refused_only_to_who_wants_it() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Web::At(port).port(true).unwrap_err().to_string();
        assert!(error.contains(&format!("--web {port}")), "{error}");
        assert!(error.contains("another program"), "{error}");
        // If the usual one is free, it is taken meanwhile.
        let _usual = TcpListener::bind((Ipv4Addr::LOCALHOST, USUAL));
        let free = Web::Usual.port(true).unwrap().unwrap();
        assert!(free != port && free != USUAL);
        assert!(Web::Free.port(false).unwrap().is_some());
        assert_eq!(Web::Usual.port(false).unwrap(), None);
        assert_eq!(Web::No.port(true).unwrap(), None);
    }

    #[test]
    fn what_is_no_port_is_named_with_the_way_out() {
        assert_eq!(Web::named("none").unwrap(), Web::No);
        assert_eq!(Web::named("8081").unwrap(), Web::At(8081));
        for text in ["", "0", "65536", "-1", "x", "80x"] {
            let error = Web::named(text).unwrap_err().to_string();
            assert!(error.contains("`none`"), "{error}");
        }
    }

    #[test]
    fn a_configuration_has_one_port() {
        let text = "# c\nport 80\nroot /web\n  port 81 # x\nmount /portal x\n";
        let wanted = "port 8080\n# c\nroot /web\nmount /portal x\n";
        assert_eq!(with_port(text, 8080), wanted);
    }
}
