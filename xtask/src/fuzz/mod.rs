//! `cargo xtask fuzz`: random attacks on the kernel's ABI, random code against other engines, random
//! connections to the web server, random frames for the network, random hosts of an embedded system, random calls of WASI.
//!
//! All run from a seed that they print, for a given time; short runs are parts of `cargo xtask test`.

pub mod abi;
pub mod border;
pub mod code;
pub mod http;
pub mod packets;
pub mod sealed;

use crate::image::MemoryMode;
use crate::machine::Machine;
use crate::project::Project;
use crate::setup::{self, Needs};
use anyhow::{Result, bail};
use std::time::{SystemTime, UNIX_EPOCH};

/// The targets of fuzzing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The kernel's entries.
    Abi,
    /// Verifier and compiler.
    Code,
    /// The web server.
    Http,
    /// The network.
    Packets,
    /// The border between a host program and the system inside it.
    Embed,
    /// The functions of WASI preview 1.
    Wasi,
}

/// The options of `fuzz`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target.
    pub what: What,
    /// The seed of the random numbers.
    pub seed: Option<u64>,
    /// Seconds.
    pub time: Option<u64>,
    /// Rounds.
    pub rounds: Option<u64>,
    /// Modules, of random code.
    pub modules: Option<u64>,
    /// The machine.
    pub machine: Machine,
    /// How linear memories are guarded.
    pub memory: MemoryMode,
    /// Whether another thread runs wherever one could.
    pub stress: bool,
    /// Whether each call is printed before it is made.
    pub log: bool,
    /// Whether calls of WASI are not compared with those of wasmtime.
    pub alone: bool,
}

impl Request {
    /// A minute, hosted.
    pub fn new(what: What) -> Request {
        Request {
            what,
            seed: None,
            time: None,
            rounds: None,
            modules: None,
            machine: Machine::Hosted,
            memory: MemoryMode::Guard,
            stress: false,
            log: false,
            alone: false,
        }
    }

    /// Whether the options can be combined.
    pub fn check(&self) -> Result<()> {
        if self.time.is_some() && self.rounds.is_some() {
            bail!("fuzz: one of --time and --rounds");
        }
        let boots = self.machine != Machine::Hosted || self.stress || self.log;
        if self.what == What::Http && boots {
            bail!(
                "fuzz http runs hosted: it takes --seed, --memory, --time and --rounds, not \
                 --machine, --stress or --log"
            );
        }
        if self.what == What::Packets && (boots || self.rounds.is_some()) {
            bail!(
                "fuzz packets runs hosted, for a time: it takes --seed, --memory and --time, not \
                 --machine, --rounds, --stress or --log"
            );
        }
        let guards = boots || self.memory != MemoryMode::Guard;
        if matches!(self.what, What::Embed | What::Wasi) && guards {
            bail!(
                "fuzz embed and fuzz wasi run hosted, in guarded memory: they take --seed, --time and --rounds, not \
                 --machine, --memory, --stress or --log"
            );
        }
        if self.alone && self.what != What::Wasi {
            bail!("fuzz: --alone is for `fuzz wasi`");
        }
        if self.modules.is_some() && self.what != What::Code {
            bail!("fuzz: --modules is for `fuzz code`");
        }
        let others = self.machine != Machine::Hosted
            || self.memory != MemoryMode::Guard
            || self.stress
            || self.log
            || self.rounds.is_some();
        if self.what == What::Code && others {
            bail!(
                "fuzz code runs hosted, in both memory modes: it takes --seed, --time and --modules, not --machine, \
                 --memory, --rounds, --stress or --log"
            );
        }
        Ok(())
    }

    /// The seed, or a new one.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            now.as_millis() as u64 % 1_000_000_000
        })
    }
}

/// Runs the fuzzer; returns 0 if nothing was found.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(request.machine.is_emulated()))?;
    let findings = match request.what {
        What::Abi => {
            let outcome = abi::run(&project, request, &mut |line| say!("{line}"))?;
            sing_files::standard::print(outcome.coverage.table());
            outcome.findings
        }
        What::Http => http::run(&project, request, &mut |line| say!("{line}"))?.findings,
        What::Packets => packets::run(&project, request, &mut |line| say!("{line}"))?.findings,
        What::Embed | What::Wasi => border::run(&project, request, &mut |line| say!("{line}"))?,
        What::Code => code::run(&project, request, &mut |line| say!("{line}"))?.findings,
    };
    for finding in &findings {
        say!("\nFINDING {finding}");
    }
    say!("{} findings", findings.len());
    Ok(u8::from(!findings.is_empty()))
}
