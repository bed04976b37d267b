//! The command line.

use crate::{
    DirectoryError, DiskFile, DisplaySocket, HostDirectory, HostSockets, MOST_DISKS, Network,
    NetworkError, RangeError, SerialLine,
};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The text that `--help` prints.
pub(crate) const HELP: &str = "\
Usage: singularity [OPTIONS] IMAGE [ARGUMENTS...]

Runs a Singularity system image as an ordinary Linux process. The arguments go to the system: its manifest
says to which programs.

Options:
      --disk FILE[,ro][,nvme]
                            give the machine a disk with the bytes of this file or block device, and keep what is
                            written to it there; with `,ro` it cannot be written; with `,nvme` it is an NVMe disk,
                            not a virtio one; may be given several times
      --dir HOST::PATH[,rw] give the system the directory HOST of this machine at its path PATH, to read; with `,rw`
                            to change, too; nothing outside HOST can be reached; may be given several times
      --net LOCAL,REMOTE[,e1000]
                            give the machine a network card, whose frames are datagrams between these addresses of the
                            host (127.0.0.1:5001,127.0.0.1:5002); with `,e1000` it is an Intel 82540EM, not a virtio
                            card; may be given several times
      --net host[,RANGE...] let programs connect to all that you can reach from this machine, and listen at its
                            addresses; with ranges (10.0.0.0/8) connect to those only, and listen at its loopback
      --net none            no sockets of this machine; without either, programs listen at its loopback, so that you
                            reach them from here, and connect to nothing outside
      --serial FILE|unix:PATH
                            give the machine a serial port: what is sent goes to this file, which is made anew; or
                            both ways through the Unix socket PATH, at which another program listens
      --display unix:PATH   give the machine a keyboard and a text screen, for the program that listens at the Unix
                            socket PATH: it sends scan codes and gets pictures (the book's chapter on devices)
      --memory-limit BYTES  the most memory to use, with K, M or G behind it if you like
                            (default: what Linux says is available)
      --parent PID          end at once when the process PID does, which must be the one that started this
      --watch MICROSECONDS  for tests: let the timer tick this often, and say at the end how long interrupts
                            have waited for the kernel at most
      --measure             run images that were compiled without checks (`sing compile --checks none`), too, to
                            measure what these cost: their programs can do anything to the system and to this process
      --no-preemption       let a thread run until it waits or ends, however long, to measure what quanta cost
      --stress switch       let another thread run at every place where one could, slowly: for tests
      --perf-map            write the functions of all loaded programs to /tmp/perf-PID.map, which `perf` reads
  -h, --help                print this
  -V, --version             print the version

The smallest limit with which the shell runs programs is 16M. With guard pages each process reserves 4 GiB of
addresses, which `ulimit -v` counts: the shell needs 33 GB of these, and more for each program beside it. In an image
made with `--memory explicit` a process reserves what its manifest allows, 4 GiB if that says nothing: the shell needs 11 GB.

The exit status is the system's (its low eight bits). 160: a fault in the kernel. 161: image not readable. 162: no
system image. 163: Linux refuses something. 164: wrong use. 165: memory or addresses do not suffice. 166: a process has
ended without which the system cannot go on. 167: nobody reads the output any more, or
it cannot be written.";

/// The only kind of stress.
const STRESS: &str = "switch";

/// The command to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Box<Run>),
    Help,
    Version,
}

/// A system to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) image: PathBuf,
    pub(crate) disks: Vec<DiskFile>,
    pub(crate) directories: Vec<HostDirectory>,
    pub(crate) networks: Vec<Network>,
    pub(crate) serial: Option<SerialLine>,
    pub(crate) display: Option<DisplaySocket>,
    pub(crate) sockets: HostSockets,
    pub(crate) args: Vec<String>,
    pub(crate) memory_limit: Option<u64>,
    /// The process with which this one ends.
    pub(crate) parent: Option<i32>,
    /// Nanoseconds between timer ticks; 0 for none.
    pub(crate) watch: u64,
    pub(crate) stress: bool,
    /// Whether images without checks are run, too.
    pub(crate) measure: bool,
    /// Whether a thread's quantum ends.
    pub(crate) preemption: bool,
    /// Whether loaded functions are written for `perf`.
    pub(crate) perf_map: bool,
}

/// A mistake in the command line.
#[derive(Debug)]
pub(crate) enum Error {
    /// No image is named.
    NoImage,
    /// The value is no amount of memory.
    Memory(String),
    /// The value is no pair of addresses.
    Network(NetworkError),
    /// The value is no range of addresses.
    Range(RangeError),
    /// Sockets of the host are given twice.
    Sockets,
    /// There are more disks, directories and network cards than the machine can have.
    Disks,
    /// The value is no directory and path.
    Directory(DirectoryError),
    /// Two directories are to be at these paths, of which one is the other or above it.
    Overlap(String, String),
    /// There is more than one serial port.
    Serial,
    /// There is more than one display.
    Display,
    /// The value is no socket.
    Socket(OsString),
    /// The value is no process.
    Parent(String),
    /// The value is no time between ticks.
    Watch(String),
    /// The value is no kind of stress.
    Stress(String),
    /// An unknown option, a missing value, or one that is no text.
    Syntax(lexopt::Error),
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Syntax(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoImage => f.write_str("no system image named; `sing image` builds one"),
            Self::Memory(text) => {
                write!(
                    f,
                    "--memory-limit {text}: not an amount of memory; write 512M or 2G"
                )
            }
            Self::Disks => write!(
                f,
                "--disk, --dir, --net: the machine has at most {MOST_DISKS} disks, directories and network cards"
            ),
            Self::Network(error) => error.fmt(f),
            Self::Range(error) => error.fmt(f),
            Self::Sockets => f.write_str(
                "--net: `host` or `none` is given twice; give one of them, once, with all ranges",
            ),
            Self::Directory(error) => error.fmt(f),
            Self::Overlap(first, second) => write!(
                f,
                "--dir: {second} is taken by the directory at {first}; give each a path beside the others'"
            ),
            Self::Serial => f.write_str("--serial: the machine has one serial port; give it once"),
            Self::Display => f.write_str("--display: the machine has one screen; give it once"),
            Self::Socket(text) => write!(
                f,
                "--display {}: not a socket; write unix:PATH, a Unix socket at which a program listens",
                text.display()
            ),
            Self::Parent(text) => write!(
                f,
                "--parent {text}: not a process; write the number of the one that starts this"
            ),
            Self::Watch(text) => write!(
                f,
                "--watch {text}: not a time between ticks; write microseconds from 50 to 1000000"
            ),
            Self::Stress(text) => {
                write!(f, "--stress {text}: there is no such stress; write switch")
            }
            Self::Syntax(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Reads an amount of memory.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse::<u64>().ok())??
        .checked_mul(1 << shift)
}

/// Reads a disk: a file's name, with `,ro` behind it for one that cannot be written, and `,nvme` behind
/// that for an NVMe disk.
fn disk(text: OsString) -> DiskFile {
    let bytes = text.as_bytes();
    let (bytes, nvme) = match bytes.strip_suffix(b",nvme") {
        Some(rest) => (rest, true),
        None => (bytes, false),
    };
    let (name, read_only) = match bytes.strip_suffix(b",ro") {
        Some(name) => (name, true),
        None => (bytes, false),
    };
    DiskFile {
        path: OsString::from_vec(name.to_vec()).into(),
        read_only,
        nvme,
    }
}

/// Reads the command line. Arguments after the image are the system's, options or not.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Command, Error> {
    use lexopt::prelude::*;
    let mut memory_limit = None;
    let mut disks = Vec::new();
    let mut directories: Vec<HostDirectory> = Vec::new();
    let mut networks = Vec::new();
    let mut serial = None;
    let mut display = None;
    let mut sockets = None;
    let mut watch = 0;
    let mut stress = false;
    let (mut measure, mut preemption, mut perf_map) = (false, true, false);
    let mut parent = None;
    let image = loop {
        match parser.next()? {
            Some(Long("memory-limit")) => {
                let text = parser.value()?.string()?;
                memory_limit = Some(bytes(&text).ok_or(Error::Memory(text))?);
            }
            Some(Long("disk" | "dir"))
                if disks.len() + directories.len() + networks.len() == MOST_DISKS =>
            {
                return Err(Error::Disks);
            }
            Some(Long("disk")) => disks.push(disk(parser.value()?)),
            Some(Long("dir")) => {
                let new = HostDirectory::named(parser.value()?).map_err(Error::Directory)?;
                if let Some(other) = directories.iter().find(|other| other.overlaps(&new)) {
                    return Err(Error::Overlap(other.at.clone(), new.at));
                }
                directories.push(new);
            }
            Some(Long("net")) => {
                let text = parser.value()?.string()?;
                if let Some(named) = HostSockets::named(&text) {
                    let before = sockets.replace(named.map_err(Error::Range)?);
                    if before.is_some() {
                        return Err(Error::Sockets);
                    }
                    continue;
                }
                if disks.len() + directories.len() + networks.len() == MOST_DISKS {
                    return Err(Error::Disks);
                }
                networks.push(Network::named(&text).map_err(Error::Network)?);
            }
            Some(Long("serial")) if serial.is_some() => return Err(Error::Serial),
            Some(Long("serial")) => serial = Some(SerialLine::named(parser.value()?)),
            Some(Long("display")) if display.is_some() => return Err(Error::Display),
            Some(Long("display")) => {
                let text = parser.value()?;
                let socket = DisplaySocket::named(text.clone());
                display = Some(socket.ok_or(Error::Socket(text))?);
            }
            Some(Long("parent")) => {
                let text = parser.value()?.string()?;
                let number = text.parse().ok().filter(|&number: &i32| number > 0);
                parent = Some(number.ok_or(Error::Parent(text))?);
            }
            Some(Long("watch")) => {
                let text = parser.value()?.string()?;
                let microseconds = text.parse::<u64>().ok();
                let microseconds = microseconds.filter(|n| (50..=1_000_000).contains(n));
                watch = microseconds.ok_or(Error::Watch(text))? * 1000;
            }
            Some(Long("measure")) => measure = true,
            Some(Long("no-preemption")) => preemption = false,
            Some(Long("perf-map")) => perf_map = true,
            Some(Long("stress")) => match parser.value()?.string()? {
                text if text == STRESS => stress = true,
                text => return Err(Error::Stress(text)),
            },
            Some(Short('h') | Long("help")) => return Ok(Command::Help),
            Some(Short('V') | Long("version")) => return Ok(Command::Version),
            Some(Value(image)) => break PathBuf::from(image),
            Some(other) => return Err(other.unexpected().into()),
            None => return Err(Error::NoImage),
        }
    };
    let args = parser
        .raw_args()?
        .map(|arg| arg.string())
        .collect::<Result<_, _>>()?;
    Ok(Command::Run(Box::new(Run {
        image,
        disks,
        directories,
        networks,
        serial,
        display,
        sockets: sockets.unwrap_or(HostSockets::Loopback),
        args,
        memory_limit,
        parent,
        watch,
        stress,
        measure,
        preemption,
        perf_map,
    })))
}

#[cfg(test)]
mod tests;
