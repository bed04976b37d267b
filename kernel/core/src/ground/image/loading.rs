//! Loading of images, in steps of bounded cost between which other threads run.
//!
//! Everything about an image is checked before anything is committed for it: its code is put into
//! the arena last. If a thread ends during a load, its [`Loading`] stays in the registry, and the
//! next thread that asks for the image continues.
//!
//! A step begins only if the machine has the memory that it may take, beside the reserve for work
//! in progress; so decoding need not ask for each allocation. A broken image is remembered as such.
//! If only memory is short, the progress is kept and the step tried again; but code leaves the
//! arena, as it would block all other loads.
//!
//! Loaded images stay for ever. No SIP pays for them; the system image bounds their memory, as each
//! program is loaded at most once, and each contract kept once.

use super::Installed;
use super::debugger::{self, Told};
use crate::ground::contract::{self, Contract};
use crate::ground::machine::hal;
use crate::ground::trusted::Kept;
use crate::ground::trusted::{Compiled, Prepared, Program, Reading};
use crate::ground::work::Work;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, AtomicU64};
use sing_image::contract::{Entry, Hash, Reader};
use sing_image::manifest::Manifest;
use sing_image::meta::{Checks, Linkage, Meta};
use sing_image::{Error, Failure};

/// The least free memory, in bytes, with which a step begins: for names, messages and records of
/// the image itself.
pub(super) const LEAST: u64 = 128 << 10;
/// Bytes of freed memory that take as long as a transition of a contract.
const TRANSITION: u64 = 256;

/// Progress of a load.
pub(super) enum Loading {
    /// The image's file has been found.
    Found(Program),
    /// The tables beside the code are being read.
    Reading(Box<Reading>, Program),
    /// The tables have been read, the manifest has not.
    Read(Box<Compiled>),
    /// The contracts are being read.
    Contracts(Box<(Compiled, Manifest, Reader<'static>)>),
    /// The tables are being checked and made ready.
    Checking(Box<Checked>),
    /// The image's contracts are being looked up.
    Naming(Box<Checked>),
    /// Everything has been checked, and the code is being put into the arena.
    Placing(Box<Checked>),
    /// A step is under way, or has failed.
    Over,
}

/// An image whose tables have been read.
pub(super) struct Checked {
    program: Prepared,
    manifest: Manifest,
    /// The contracts that the image names and their identities, as far as not yet looked up, the
    /// first one last.
    tables: Vec<Entry<'static>>,
    identities: Vec<Hash>,
    /// The contracts that have been looked up.
    contracts: Vec<&'static Contract>,
    /// Numbers of the contracts in the order of their names.
    by_name: Vec<u32>,
}

/// The next state of a load, and the result of the step.
type Stepped = (Loading, Result<Option<Kept<Installed>>, Failure>);

impl Loading {
    /// Does a step; returns the image when it has been loaded. Where there is no room for the step,
    /// none of the code is in the arena afterwards.
    pub(super) fn step(&mut self, name: &str) -> Result<Option<Kept<Installed>>, Failure> {
        if hal().heap_room() < self.room().saturating_add(LEAST) {
            if let Loading::Placing(image) = self {
                image.program.withdraw();
            }
            return Err(Failure::NoRoom);
        }
        let (next, answer) = core::mem::replace(self, Loading::Over).stepped(name);
        *self = next;
        answer
    }

    fn stepped(self, name: &str) -> Stepped {
        let going_on = |next| (next, Ok(None));
        match self {
            Loading::Found(program) => match program.read() {
                Ok(reading) => going_on(Loading::Reading(Box::new(reading), program)),
                Err(e) => broken(e),
            },
            Loading::Reading(mut reading, program) => match reading.step() {
                Ok(false) => going_on(Loading::Reading(reading, program)),
                Ok(true) => {
                    let compiled = reading.finish();
                    match suits(compiled.meta()) {
                        Ok(()) => going_on(Loading::Read(Box::new(compiled))),
                        Err(e) => broken(e),
                    }
                }
                // A partly read list cannot be continued: start again.
                Err(Failure::NoRoom) => (Loading::Found(program), Err(Failure::NoRoom)),
                Err(Failure::Broken(e)) => broken(e),
            },
            Loading::Read(compiled) => match compiled.manifest() {
                Ok(manifest) => {
                    let contracts = compiled.contracts().among(contract::familiar);
                    going_on(Loading::Contracts(Box::new((
                        *compiled, manifest, contracts,
                    ))))
                }
                Err(e) => broken(e),
            },
            Loading::Contracts(mut image) => match image.2.step() {
                Ok(true) => going_on(Loading::Checking(Box::new(Checked::new(*image)))),
                other => tried(other, Loading::Contracts(image)),
            },
            Loading::Checking(mut image) => match image.program.check() {
                Ok(true) if image.program.has_main() => going_on(Loading::Naming(image)),
                Ok(true) => broken(Error::new("it exports no sip_main")),
                other => tried(other, Loading::Checking(image)),
            },
            Loading::Naming(mut image) => match image.look_up() {
                Ok(true) => going_on(Loading::Placing(image)),
                other => tried(other, Loading::Naming(image)),
            },
            Loading::Placing(mut image) => match image.program.place().ok_or(Failure::NoRoom) {
                Ok(true) => match image.install(name) {
                    Ok(installed) => (Loading::Over, Ok(Some(installed))),
                    Err(e) => broken(e),
                },
                other => tried(other, Loading::Placing(image)),
            },
            Loading::Over => broken(Error::new("its load has failed")),
        }
    }

    /// Returns the most bytes of memory that the next step takes.
    fn room(&self) -> u64 {
        match self {
            Loading::Reading(reading, _) => reading.room(),
            Loading::Read(compiled) => compiled.manifest_room(),
            Loading::Contracts(image) => image.2.room(),
            Loading::Checking(image) => image.program.room(),
            Loading::Naming(image) => image.room(),
            Loading::Found(_) | Loading::Placing(_) | Loading::Over => 0,
        }
    }
}

fn broken(e: Error) -> Stepped {
    (Loading::Over, Err(Failure::Broken(e)))
}

/// Keeps a load that can be continued or tried again.
fn tried(done: Result<bool, Failure>, rest: Loading) -> Stepped {
    match done {
        Ok(_) => (rest, Ok(None)),
        Err(Failure::NoRoom) => (rest, Err(Failure::NoRoom)),
        Err(Failure::Broken(e)) => broken(e),
    }
}

/// Checks that an image is for this kernel and this machine.
fn suits(meta: &Meta) -> Result<(), Error> {
    if meta.abi_version != sing_abi::ABI_VERSION {
        return Err(Error::new(format!(
            "compiled for version {} of the ABI; this kernel has version {}",
            meta.abi_version,
            sing_abi::ABI_VERSION
        )));
    }
    if meta.linkage != Linkage::Sealed {
        return Err(Error::new("it is not sealed"));
    }
    if meta.checks == Checks::None && !hal().measures() {
        return Err(Error::new(
            "compiled without checks, so that its program could do anything; compile it again without \
             `--checks none`, or, to measure, start the system with `--measure`",
        ));
    }
    let lacking = |f: &&String| !hal().has_cpu_feature(f);
    match meta.cpu_features.iter().find(lacking) {
        Some(f) => Err(Error::new(format!(
            "compiled for a processor with {f}, which this one has not"
        ))),
        None => Ok(()),
    }
}

impl Checked {
    fn new((compiled, manifest, contracts): (Compiled, Manifest, Reader<'static>)) -> Checked {
        let (mut tables, mut identities) = contracts.finish_shared();
        tables.reverse();
        identities.reverse();
        Checked {
            program: compiled.prepare(),
            manifest,
            tables,
            identities,
            contracts: Vec::new(),
            by_name: Vec::new(),
        }
    }

    /// Returns the most bytes of memory that the next step takes.
    fn room(&self) -> u64 {
        let lists = self.tables.len() * (size_of::<&Contract>() + size_of::<u32>());
        lists as u64 + self.tables.last().map_or(0, contract::room)
    }

    /// Looks up some contracts; returns whether all are known.
    fn look_up(&mut self) -> Result<bool, Failure> {
        self.contracts.try_reserve_exact(self.tables.len())?;
        self.by_name.try_reserve_exact(self.tables.len())?;
        let mut work = Work::step();
        while let (Some(read), Some(hash)) = (self.tables.last(), self.identities.last()) {
            let (transitions, room) = (read.table.next.len() as u64, contract::room(read));
            let bytes = read.bytes.len() as u64;
            if hal().heap_room() < room + LEAST {
                return Err(Failure::NoRoom);
            }
            let contract = contract::intern(&mut self.tables, hash).ok_or(Failure::NoRoom)?;
            self.identities.pop();
            self.by_name.push(self.contracts.len() as u32);
            self.contracts.push(contract);
            work.spend(transitions * TRANSITION + bytes);
            if work.is_spent() {
                break;
            }
        }
        if !self.tables.is_empty() {
            return Ok(false);
        }
        let name = |&number: &u32| self.contracts[number as usize].table.name.as_str();
        self.by_name.sort_unstable_by_key(name);
        Ok(true)
    }

    fn install(self, name: &str) -> Result<Kept<Installed>, Error> {
        let name = String::from(name);
        let Prepared {
            file, code, lines, ..
        } = self.program;
        let template = self.program.finish()?;
        let mut installed = Installed {
            told: Told::new(&name, template.code(), file),
            name,
            budget: self.manifest.budget(),
            stack: self.manifest.stack_bytes(),
            expected: AtomicU64::new(0),
            content: AtomicI32::new(0),
            code,
            lines,
            template,
            startup: Vec::new(),
            manifest: self.manifest,
            contracts: self.contracts,
            by_name: self.by_name,
        };
        let endpoints = installed.manifest.endpoints.iter();
        installed.startup = endpoints.map(|e| installed.startup_of(e)).collect();
        let kept = Kept::new(Box::new(installed));
        debugger::tell(&kept.get().told);
        Ok(kept)
    }
}
