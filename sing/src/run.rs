//! `sing run`: runs an ordinary program, a module of WASI preview 1 or a component of WASI 0.2, in a system
//! made for it.
//!
//! The program is joined with the adapter (`sing_merge`), verified and compiled like any other, and
//! put beside the services that it may need, which are in a system image kept with this command.
//! The hosted kernel, which is a part of this command, runs that image in this process, with the
//! program's standard streams ([`boot::run`](crate::boot::run)).
//!
//! The image is kept for the next run ([`crate::kept`]); if that cannot be, it is a file without a
//! name, which is gone with this process.

mod base;
mod image;
pub mod serve;

pub use image::installed;

use crate::boot;
use crate::kept::Choice;
use crate::output::name_of;
use base::{Base, Use};
use sing_merge::Kind;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hosted kernel, beside this command.
const KERNEL: &str = "singularity";
/// The longest name of the program's image, in characters.
const LONGEST: usize = 64;
/// The most directories: the system has so many drivers.
const DIRECTORIES: usize = 4;
/// The most addresses at which a program listens.
const LISTENERS: usize = 4;

/// The paths that are there before a program begins that may use the network.
const NETWORK: [&str; 2] = ["/tcp", "/dev/sockets0"];

/// The options of `sing run`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The module.
    pub file: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Directories of the host, each with the program's name for it.
    pub directories: Vec<(PathBuf, String)>,
    /// The program's environment.
    pub environment: Vec<(String, String)>,
    /// Addresses at which it listens.
    pub listening: Vec<SocketAddr>,
    /// The network that a component may use, as the option `--net` of `sing boot` has it.
    pub network: Option<String>,
    /// Whether compiled programs are kept, and where.
    pub cache: Choice,
    /// Whether it says what it does.
    pub verbose: bool,
    /// The most bytes of memory of its process, if that is said.
    pub budget: Option<u64>,
    /// Whether the functions of all programs are written for `perf`.
    pub perf_map: bool,
}

impl Request {
    /// Adds a directory: `HOST`, or `HOST::GUEST`.
    pub fn add_directory(&mut self, text: &str) -> Result<(), String> {
        let (host, guest) = text.rsplit_once("::").unwrap_or((text, text));
        if host.is_empty() || guest.is_empty() {
            return Err("it must have the form HOST or HOST::GUEST".into());
        }
        if self.directories.len() == DIRECTORIES {
            return Err(format!(
                "there can be {DIRECTORIES} directories; give one above several of them"
            ));
        }
        if let Some((other, _)) = self.directories.iter().find(|(_, at)| at == guest) {
            let other = name_of(other);
            return Err(format!(
                "{other} is at {guest} already; HOST::GUEST puts it elsewhere"
            ));
        }
        self.directories.push((host.into(), guest.into()));
        Ok(())
    }

    /// Adds a variable of the environment: `NAME=VALUE`, or `NAME` for the value that it has here.
    pub fn add_variable(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, std::env::var(text).ok()),
        };
        if name.is_empty() {
            return Err("it must have the form NAME=VALUE or NAME".into());
        }
        // As the shell does, a variable that is not set is not passed on.
        self.environment
            .extend(value.map(|value| (name.to_owned(), value)));
        Ok(())
    }

    /// Adds an address at which it listens: `127.0.0.1:8080`.
    pub fn add_listener(&mut self, text: &str) -> Result<(), String> {
        let address: SocketAddr = text
            .parse()
            .map_err(|_| "it must have the form ADDRESS:PORT, as 127.0.0.1:8080".to_string())?;
        if !address.ip().is_loopback() || address.port() == 0 {
            return Err(
                "programs listen at this machine's loopback, at a port that is said: 127.0.0.1:8080 or [::1]:8080"
                    .into(),
            );
        }
        if self.listening.len() == LISTENERS {
            return Err(format!("there can be {LISTENERS} addresses"));
        }
        self.listening.push(address);
        Ok(())
    }

    /// Takes the option `--net[=RANGE,...]` of all commands that run a component: it may use the network, all that the
    /// user of this machine reaches, or these ranges of addresses.
    pub fn set_network(&mut self, ranges: Option<&str>) -> Result<(), String> {
        let network = match ranges {
            Some(ranges) => format!("host,{ranges}"),
            None => "host".into(),
        };
        boot::sockets(&network)?;
        match self.network.replace(network) {
            Some(_) => Err(
                "--net is said twice; several ranges stand in one, with commas between them".into(),
            ),
            None => Ok(()),
        }
    }

    /// That a program for which there is to be a network can use it, for `sing COMMAND`.
    fn can_use_network(&self, command: &str) -> Result<(), String> {
        // Reading the module says why it cannot be read; and to open a pipe would wait for its writer.
        let is_file = std::fs::metadata(&self.file).is_ok_and(|about| about.is_file());
        if self.network.is_none() || !is_file {
            return Ok(());
        }
        let mut begin = [0; 8];
        let read = File::open(&self.file).and_then(|mut file| file.read_exact(&mut begin));
        if read.is_err() || sing_merge::kind(&begin) == Kind::Component {
            return Ok(());
        }
        Err(format!(
            "--net: {} is no component, and only a component (WASI 0.2) makes sockets{}",
            name_of(&self.file),
            match command {
                "run" => "; a module is given those that listen, by --tcplisten ADDRESS:PORT",
                _ => "; make it one (wasm32-wasip2), or leave --net out",
            }
        ))
    }

    /// Whether module and directories are there, for `sing COMMAND`.
    fn is_there(&self, command: &str) -> Result<(), String> {
        let file = name_of(&self.file);
        if command == "run" && !self.file.exists() && crate::project::is_here() {
            return Err(format!(
                "{file}: there is no such module; `sing run -- {file}` runs the project with this argument"
            ));
        }
        for (host, _) in &self.directories {
            // The driver lists it, and looks into it. Who may not is told as of everything else, before
            // anything is compiled.
            File::open(host.join(".")).map_err(|e| {
                let why = match e.kind() {
                    ErrorKind::NotADirectory => {
                        "is no directory; give the one that it is in".into()
                    }
                    ErrorKind::NotFound => "there is no such directory".into(),
                    _ => format!("this user cannot open it: {e}"),
                };
                format!("--dir {}: {why}", name_of(host))
            })?;
        }
        Ok(())
    }

    /// Gives the kernel's process the directories.
    fn mount(&self, kernel: &mut Command) {
        for ((host, _), at) in self.directories.iter().zip(self.mounts()) {
            let mut mount = host.clone().into_os_string();
            mount.push(format!("::{at},rw"));
            kernel.arg("--dir").arg(mount);
        }
    }

    /// Where they are in the name space.
    fn mounts(&self) -> Vec<String> {
        (0..self.directories.len()).map(mounted_at).collect()
    }
}

/// Runs the program, in this process: it ends with the program's status.
pub fn run(request: &Request) -> Result<u8, String> {
    request.is_there("run")?;
    request.can_use_network("run")?;
    let of = match (&request.network, request.listening.as_slice()) {
        (None, []) => Use::Run,
        _ => Use::Listen,
    };
    let base = Base::find(of)?;
    let image = image::ready(request, &base)?;
    let listening: Vec<String> = request.listening.iter().map(ToString::to_string).collect();
    let mut awaited = request.mounts();
    if request.network.is_some() {
        awaited.extend(NETWORK.map(String::from));
    }
    let mut args = vec![
        awaited.join(","),
        listening.join(","),
        image_name(&request.file),
    ];
    args.extend(words(request));
    let directories = request.directories.iter().zip(request.mounts());
    boot::run(boot::System {
        image,
        args,
        directories: directories
            .map(|((host, _), at)| (host.clone(), at))
            .collect(),
        sockets: match (&request.network, of) {
            (Some(network), _) => boot::sockets(network)?,
            (None, Use::Listen) => boot::loopback(),
            (None, _) => boot::Sockets::default(),
        },
        perf_map: request.perf_map,
    })
}

/// The path in the name space of a directory of the host.
fn mounted_at(number: usize) -> String {
    format!("/mnt/{number}")
}

/// The words of the program's process: what the adapter is to know, and the program's arguments.
fn words(request: &Request) -> Vec<String> {
    let mut words = Vec::new();
    for (i, (_, guest)) in request.directories.iter().enumerate() {
        words.push(format!("--dir={guest}={}", mounted_at(i)));
    }
    if let Some(network) = &request.network {
        let all = boot::reaches_all(network);
        words.push(if all { "--net" } else { "--net=some" }.into());
    }
    for (name, value) in &request.environment {
        words.push(format!("--env={name}={value}"));
    }
    let streams: [(&str, bool); 3] = [
        ("stdin", io::stdin().is_terminal()),
        ("stdout", io::stdout().is_terminal()),
        ("stderr", io::stderr().is_terminal()),
    ];
    for (stream, _) in streams.iter().filter(|(_, terminal)| *terminal) {
        words.push(format!("--terminal={stream}"));
    }
    words.push("--".into());
    words.push(name(&request.file));
    words.extend(request.arguments.iter().cloned());
    words
}

/// The program's own name: that of its file.
fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The name of the program's image, which crash reports say. None of the system's has a dot.
fn image_name(file: &Path) -> String {
    let name = file
        .file_stem()
        .unwrap_or(file.as_os_str())
        .to_string_lossy();
    let name: String = printable(&name).chars().take(LONGEST).collect();
    format!("{name}.wasm")
}

/// The name of a program: that of its file, without the ending.
pub fn program_name(file: &Path) -> String {
    let name = file.file_stem().unwrap_or(file.as_os_str());
    printable(&name.to_string_lossy())
}

fn printable(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '/' | '#' => '_',
            c if c.is_control() || c.is_whitespace() => '_',
            c => c,
        })
        .collect()
}

/// A file that is kept beside this command.
fn beside(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| format!("cannot find itself: {e}"))?;
    let file = own.with_file_name(name);
    match file.exists() {
        true => Ok(file),
        false => Err(format!(
            "there is no {}, which `cargo xtask wasi` makes",
            name_of(&file)
        )),
    }
}

/// Keeps bytes in a file without a name, which is gone when this process ends.
fn nameless(bytes: &[u8]) -> io::Result<File> {
    let mut last = None;
    for attempt in 0..16 {
        let name = format!("sing-run-{}-{attempt}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match made {
            Ok(mut file) => {
                fs::remove_file(&path)?;
                file.write_all(bytes)?;
                return Ok(file);
            }
            // Left by another process of this number, perhaps.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_variables_are_read() {
        let mut request = Request {
            file: "some/tool.wasm".into(),
            arguments: vec!["--dir".into(), "b".into()],
            ..Request::default()
        };
        request.add_directory("/tmp::/").unwrap();
        request.add_directory("a::b::c").unwrap();
        request.add_directory(".").unwrap();
        request.add_variable("A=b=c").unwrap();
        request.add_variable("NO_SUCH_VARIABLE_HERE").unwrap();
        let words = words(&request);
        let settings: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with("--terminal"))
            .collect();
        assert_eq!(
            settings,
            [
                "--dir=/=/mnt/0",
                "--dir=c=/mnt/1",
                "--dir=.=/mnt/2",
                "--env=A=b=c",
                "--",
                "tool.wasm",
                "--dir",
                "b"
            ]
        );
        assert_eq!(request.directories[1].0, Path::new("a::b"));
        for text in ["", "::", "a::", "::b"] {
            assert!(request.add_directory(text).is_err(), "{text}");
        }
        request.add_directory("x").unwrap();
        assert!(
            request
                .add_directory("y")
                .unwrap_err()
                .contains("4 directories")
        );
        assert!(request.add_variable("=x").is_err());
        for text in [
            "8080",
            "127.0.0.1",
            "0.0.0.0:80",
            "127.0.0.1:0",
            "10.0.0.1:80",
        ] {
            assert!(request.add_listener(text).is_err(), "{text}");
        }
        for text in ["127.0.0.1:80", "[::1]:80"] {
            assert_eq!(request.add_listener(text), Ok(()));
        }
    }

    #[test]
    fn a_network_is_all_or_ranges_of_it() {
        let network = |request: &Request| {
            let words = words(request);
            words.into_iter().find(|word| word.starts_with("--net"))
        };
        let mut all = Request::default();
        assert_eq!(network(&all), None);
        assert_eq!(all.set_network(None), Ok(()));
        assert_eq!(network(&all).as_deref(), Some("--net"));
        assert!(all.set_network(None).unwrap_err().contains("said twice"));
        let mut some = Request::default();
        assert_eq!(
            some.set_network(Some("10.0.0.0/8,::1,dns=10.0.0.1")),
            Ok(())
        );
        assert_eq!(
            some.network.as_deref(),
            Some("host,10.0.0.0/8,::1,dns=10.0.0.1")
        );
        assert_eq!(network(&some).as_deref(), Some("--net=some"));
        for wrong in ["", "nobody", "10.0.0.0/40"] {
            let refused = Request::default().set_network(Some(wrong));
            assert!(
                refused.unwrap_err().contains("is no range of addresses"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_image_has_no_name_and_all_its_bytes() {
        use std::io::{Read, Seek};
        let mut file = nameless(b"bytes").unwrap();
        let mut read = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut read).unwrap();
        assert_eq!(read, "bytes");
        use std::os::unix::fs::MetadataExt;
        assert_eq!(file.metadata().unwrap().nlink(), 0);
    }
}
