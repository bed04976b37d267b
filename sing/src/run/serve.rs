//! `sing serve`: has an ordinary program answer requests of HTTP, in a system made for it.
//!
//! The program is joined with another adapter than for `sing run`, which makes it an extension of the
//! system's web server: each request is answered by a process of its own, by the Common Gateway Interface.
//! The hosted kernel runs that system as a process of its own. Its main program (`system/wasi/server`)
//! says on standard output when the web server listens; its log is this command's standard error.
//!
//! Ctrl-C is this process's alone: by a socket, which is the system's standard input, it has the web server
//! answer what is under way and end. The end of this process, however it comes, is the end of that input.

use super::base::{self, Base, Use};
use super::{Request, image, image_name, nameless};
use crate::boot;
use crate::output;
use crate::output::name_of;
use crate::system;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use sing_image::system::{BIN, SystemImage};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

/// The port if none is said, unless it is taken.
const USUAL: u16 = 8080;
/// The budget of a process if none is said.
const BUDGET: u64 = 64 << 20;
/// Processes that wait for their request, at most.
const AHEAD: usize = 4;
/// All addresses as ranges: with ranges, the web server and what else listens does so at this machine's loopback.
const ALL: &str = "0.0.0.0/0,::/0";
/// What the system says when it listens.
const LISTENING: &str = "listening\n";

/// The options of `sing serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    /// The program, and what it is given.
    pub program: Request,
    /// The port, if it is to be this one.
    pub port: Option<u16>,
    /// The time for a request, as the web server's configuration has it.
    pub deadline: String,
    /// The most processes at a time.
    pub at_once: usize,
    /// The most bytes of a request's body.
    pub body: u64,
}

impl Default for Serve {
    fn default() -> Serve {
        Serve {
            program: Request {
                budget: Some(BUDGET),
                ..Request::default()
            },
            port: None,
            deadline: "30s".into(),
            at_once: 16,
            body: 64 << 20,
        }
    }
}

impl Serve {
    /// Reads an option of its own: `--port 8080`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wants = |what: &str| format!("--{name} {value}: it must be {what}");
        match name {
            "port" => {
                let port = value.parse().ok().filter(|port| *port > 0);
                self.port = Some(port.ok_or_else(|| wants("a port, from 1 to 65535"))?);
            }
            "memory" => {
                // All that the web server and its programs have together.
                let least = 4 << 20..=1 << 30;
                let bytes = size(value).filter(|bytes| least.contains(bytes));
                self.program.budget =
                    Some(bytes.ok_or_else(|| wants("a size such as 64M, from 4M to 1G"))?);
            }
            "body" => {
                let bytes = size(value).filter(|bytes| *bytes <= 1 << 40);
                self.body = bytes.ok_or_else(|| wants("a size such as 10M"))?;
            }
            "deadline" => {
                let digits = value.strip_suffix("ms").map(|d| (d, 3_600_000));
                let digits = digits.or_else(|| value.strip_suffix('s').map(|d| (d, 3600)));
                let fits = digits.is_some_and(|(digits, most)| {
                    digits.parse().is_ok_and(|n: u32| (1..=most).contains(&n))
                });
                let what = "a time such as 500ms or 10s, an hour at most";
                self.deadline = fits.then(|| value.into()).ok_or_else(|| wants(what))?;
            }
            _ => {
                let number = value.parse().ok().filter(|n| (1..=48).contains(n));
                self.at_once = number.ok_or_else(|| wants("a number from 1 to 48"))?;
            }
        }
        Ok(())
    }

    /// The web server's configuration.
    fn configuration(&self, port: u16) -> String {
        let program = &self.program;
        let mut text = format!("port {port}\nbody {}\nconnections 256\n", self.body);
        let _ = write!(
            text,
            "mount / {} fresh memory {} deadline {} at-once {} ahead {} random",
            image_name(&program.file),
            program.budget.unwrap_or(image::BUDGET),
            self.deadline,
            self.at_once,
            self.at_once.min(AHEAD),
        );
        if program.network.is_some() {
            text.push_str(" names");
        }
        for at in program.mounts() {
            let _ = write!(text, " directory {at}");
        }
        // What the adapter is to know: the directories by their order.
        let mut words: Vec<String> = Vec::new();
        words.extend(
            program
                .directories
                .iter()
                .map(|(_, guest)| format!("--dir={guest}")),
        );
        if program.network.is_some() {
            // As what listens is at the loopback alone ([`ALL`]).
            words.push("--net=some".into());
        }
        words.push(format!("--env=SERVER_PORT={port}"));
        let variables = program.environment.iter();
        words.extend(variables.map(|(name, value)| format!("--env={name}={value}")));
        words.push("--".into());
        words.push(super::name(&program.file));
        for word in words {
            let _ = write!(text, " word {}", encoded(&word));
        }
        text.push('\n');
        text
    }
}

/// The system's network, as `sing boot` takes it.
fn network(program: &Request) -> Option<String> {
    let network = program.network.as_deref()?;
    Some(match boot::reaches_all(network) {
        true => format!("{network},{ALL}"),
        false => network.into(),
    })
}

/// A number of bytes, as `4096`, `64K`, `10M` or `1G`.
fn size(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => 0,
    };
    let digits = match shift {
        0 => text,
        _ => &text[..text.len() - 1],
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| plain)?;
    number.checked_mul(1 << shift)
}

/// A word as the configuration has it, which separates words by spaces.
fn encoded(word: &str) -> String {
    let mut out = String::new();
    for byte in word.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' && byte != b'#' => out.push(byte.into()),
            byte => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
    }
    out
}

/// A port at which nobody listens on this machine: this one, the usual one, or any.
fn port(wanted: Option<u16>) -> Result<u16, String> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let bound = match wanted {
        Some(port) => bind(port).map_err(|e| {
            format!("--port {port}: cannot listen there: {e}; without --port a free one is taken")
        })?,
        None => bind(USUAL)
            .or_else(|_| bind(0))
            .map_err(|e| format!("this machine has no free port: {e}"))?,
    };
    let address = bound.local_addr().map_err(|e| format!("a port: {e}"))?;
    Ok(address.port())
}

/// The system's image with the configuration in it.
fn configured(mut image: std::fs::File, configuration: &str) -> Result<Vec<u8>, String> {
    let said = |e: &dyn std::fmt::Display| format!("the system image: {e}");
    let mut bytes = Vec::new();
    image.rewind().map_err(|e| said(&e))?;
    image.read_to_end(&mut bytes).map_err(|e| said(&e))?;
    let image = SystemImage::decode(&bytes).map_err(|e| said(&e.message))?;
    let programs = image.files().filter(|(path, _)| path.starts_with(BIN));
    let mut files: Vec<(String, Vec<u8>)> = programs
        .map(|(path, bytes)| (path.into(), bytes.to_vec()))
        .collect();
    files.push(("web.conf".into(), configuration.as_bytes().to_vec()));
    system::pack(image.manifest(), files).map_err(|problems| said(&system::in_a_line(&problems)))
}

/// Serves until it is told to end; the exit status.
pub fn serve(request: &Serve) -> Result<u8, String> {
    let program = &request.program;
    program.is_there("serve")?;
    program.can_use_network("serve")?;
    let base = Base::find(Use::Serve)?;
    let mut command = base::kernel()?;
    let port = port(request.port)?;
    let image = image::ready(program, &base)?;
    let image = configured(image, &request.configuration(port))?;
    let image = nameless(&image).map_err(|e| format!("the system image cannot be kept: {e}"))?;
    program.mount(&mut command);
    if let Some(network) = self::network(program) {
        command.arg("--net").arg(network);
    }
    // The kernel's process opens it anew.
    let path = format!("/proc/{}/fd/{}", std::process::id(), image.as_raw_fd());
    command.arg(path).arg(program.mounts().join(","));
    run(command, &request.program, port)
}

/// Runs the system, until Ctrl-C or its own end.
fn run(mut command: Command, program: &Request, port: u16) -> Result<u8, String> {
    let failed = |e: std::io::Error| format!("the system cannot be started: {e}");
    let (ours, its) = UnixStream::pair().map_err(failed)?;
    for signal in [SIGINT, SIGTERM] {
        let end = ours.try_clone().map_err(failed)?;
        pipe::register(signal, end).map_err(failed)?;
    }
    command.stdin(Stdio::from(OwnedFd::from(its)));
    // What the terminal sends to the processes before it goes to this one alone.
    command.stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    // It holds the other end of the socket, which is to be the system's alone.
    drop(command);
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        // One that says nothing has ended, and its log has said why.
        let _ = BufReader::new(output).read_line(&mut said);
    }
    let listens = said == LISTENING;
    if listens {
        output::line(format!(
            "{}: listening at http://127.0.0.1:{port}/ until Ctrl-C",
            name_of(&program.file)
        ));
    }
    let status = child.wait().map_err(|e| format!("the system: {e}"))?;
    drop(ours);
    if !listens {
        return Err(format!(
            "{}: the system's web server does not listen at port {port}",
            name_of(&program.file)
        ));
    }
    let signal = status.signal().map(|signal| 128 + signal);
    Ok(status.code().or(signal).unwrap_or(1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_all_that_was_said() {
        let mut serve = Serve::default();
        serve.program.file = "some/my tool.wasm".into();
        serve.program.add_directory("/tmp::/a b").unwrap();
        serve.program.add_variable("A=b#c%").unwrap();
        for (name, value) in [
            ("memory", "4M"),
            ("deadline", "500ms"),
            ("at-once", "3"),
            ("body", "10M"),
        ] {
            serve.set(name, value).unwrap();
        }
        assert_eq!(
            serve.configuration(81),
            "port 81\nbody 10485760\nconnections 256\nmount / my_tool.wasm fresh memory 4194304 deadline 500ms \
             at-once 3 ahead 3 random directory /mnt/0 word --dir=/a%20b word --env=SERVER_PORT=81 word \
             --env=A=b%23c%25 word -- word my%20tool.wasm\n"
        );
    }

    #[test]
    fn with_a_network_the_server_is_at_the_loopback_all_the_same() {
        let with = |ranges: Option<&str>| {
            let mut serve = Serve::default();
            serve.program.file = "a.wasm".into();
            serve.program.set_network(ranges).unwrap();
            let text = serve.configuration(81);
            assert!(
                text.contains(" random names word --net=some word"),
                "{text}"
            );
            let network = network(&serve.program).unwrap();
            assert!(!boot::reaches_all(&network), "{network}");
            network
        };
        assert_eq!(with(Some("10.0.0.0/8,::1")), "host,10.0.0.0/8,::1");
        // A command without the kernel knows no networks.
        if cfg!(feature = "kernel") {
            assert_eq!(with(None), "host,0.0.0.0/0,::/0");
            assert_eq!(
                with(Some("dns=10.0.0.1")),
                "host,dns=10.0.0.1,0.0.0.0/0,::/0"
            );
        }
        let none = Serve::default();
        assert_eq!(network(&none.program), None);
        assert!(!none.configuration(81).contains("net"));
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (name, value) in [
            ("port", "0"),
            ("port", "65536"),
            ("memory", "3M"),
            ("memory", "2G"),
            ("memory", "M"),
            ("body", "-1"),
            ("deadline", "0s"),
            ("deadline", "3601s"),
            ("deadline", "5"),
            ("at-once", "49"),
            ("at-once", "0"),
        ] {
            let said = Serve::default().set(name, value).unwrap_err();
            assert!(
                said.contains(&format!("--{name} {value}: it must be")),
                "{said}"
            );
        }
    }

    #[test]
    fn a_port_that_is_taken_is_refused_only_to_who_wants_it() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let number = taken.local_addr().unwrap().port();
        assert!(port(Some(number)).unwrap_err().contains("--port"));
        let _usual = TcpListener::bind((Ipv4Addr::LOCALHOST, USUAL));
        assert!(![USUAL, number].contains(&port(None).unwrap()));
    }
}
