//! System start: makes the SIPs of the system image's manifest and connects them ([O] 5.2).

use crate::ground::hal::Hal;
use crate::ground::image::{self, Installed};
use crate::ground::machine::{self, log};
use crate::ground::trusted::BootImage;
use crate::mechanism::cpu;
use crate::mechanism::watchdog;
use crate::object::account;
use crate::object::channel::Channel;
use crate::object::device::{self, Device};
use crate::object::handle::Object;
use crate::object::sip::{self, Making, Sip, StartupEnd};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sing_abi::exit::machine::{BAD_IMAGE, NO_MEMORY, USAGE};
use sing_abi::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use sing_image::Error;
use sing_image::manifest::{Manifest, Side};
use sing_image::system::{Start, SystemManifest};

/// Argument in the system manifest that the arguments given at the start replace.
const ARGS: &str = "$ARGS";

/// How the system is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The arguments that replace `$ARGS` in the system manifest's `Start::args`.
    pub args: Vec<String>,
    /// For tests: nanoseconds between timer ticks while threads run, so that the watchdog sees
    /// short stretches, too, and reports at the end. 0: only the ticks that are needed.
    pub tick: u64,
    /// For tests: whether every look at interrupts lets another thread run, at whatever cost.
    pub stress: bool,
}

/// The reason for which the system cannot start.
enum Failed {
    /// The file is no system image, or its parts are inconsistent.
    Image(Error),
    /// Starting this part ran short of memory or addresses.
    Short(String),
    /// The system's arguments are more than a process may have.
    Arguments(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Image(error)
    }
}

/// Starts the system from a system image. The HAL calls it once, on its boot stack, with interrupts
/// deliverable.
pub fn boot(hal: &'static dyn Hal, options: Options, image: BootImage) -> ! {
    machine::set(hal);
    crate::object::sip::layout::PROCESSES_LAYOUT.keep();
    crate::object::thread::layout::THREADS_LAYOUT.keep();
    crate::object::channel::layout::CHANNELS_LAYOUT.keep();
    crate::object::set::layout::SETS_LAYOUT.keep();
    crate::object::sync::layout::EVENTS_LAYOUT.keep();
    crate::object::sync::layout::MUTEXES_LAYOUT.keep();
    crate::mechanism::wait::NODES_LAYOUT.keep();
    if hal.cpus() > 1 {
        log!("system: this kernel uses one processor");
    }
    watchdog::set_tick(options.tick);
    if options.stress {
        crate::mechanism::interrupt::stress();
    }
    if let Err(e) = start(&options, image) {
        match e {
            Failed::Image(e) => {
                log!("system: cannot start: {e}");
                hal.exit(BAD_IMAGE);
            }
            Failed::Arguments(reason) => {
                log!("system: cannot start: {reason}");
                hal.exit(USAGE);
            }
            Failed::Short(part) => {
                log!("system: cannot start {part}: short of {}", hal.shortage());
                hal.exit(NO_MEMORY);
            }
        }
    }
    drop(options);
    // No thread could have waited so far: forgets the time until now.
    hal.held();
    cpu::this().idle()
}

fn start(options: &Options, image: BootImage) -> Result<(), Failed> {
    let system = image.decode()?;
    let manifest = system.manifest().clone();
    image::set_system(system);
    let mut parts = Vec::new();
    let mut devices = Given::default();
    for s in &manifest.start {
        let installed = image::find(&s.image)?
            .ok_or_else(|| Error::new(format!("{}: no image bin/{}", s.name, s.image)))?;
        if devices.choose(s, &installed.manifest)? {
            parts.push((s, installed, Vec::<StartupEnd>::new()));
        }
    }
    connect(&manifest, &devices.without, &mut parts)?;
    let mut sips = Vec::new();
    for (s, installed, endpoints) in parts {
        let arguments = arguments(s, options)?;
        let put = |place: &mut [u8]| {
            place.copy_from_slice(&arguments);
            Ok(())
        };
        let making = Making {
            image: installed,
            parent: None,
            arguments: (arguments.len(), &put),
            endpoints: endpoints.len(),
        };
        let sip = sip::create(&making).map_err(|_| Failed::Short(s.name.clone()))?;
        sip.give_startup(endpoints.into_iter());
        sip.role.set(s.essential, s.main);
        devices.give(s, sip)?;
        sips.push((s, sip));
    }
    supervise(&sips)?;
    for (_, sip) in sips {
        sip.start();
    }
    Ok(())
}

/// Puts the handles of supervised SIPs into the tables of their supervisors, which are empty so far:
/// `startup_process` finds them there.
fn supervise(sips: &[(&Start, &'static Sip)]) -> Result<(), Failed> {
    for (s, sip) in sips {
        let Some(by) = &s.supervisor else { continue };
        let Some((_, by)) = sips.iter().find(|(other, _)| other.name == *by) else {
            let reason = format!("{}: its supervisor {by} is not started", s.name);
            return Err(Error::new(reason).into());
        };
        let given = by.insert(Object::Process(sip));
        given.ok_or_else(|| Failed::Short(s.name.clone()))?;
        sip.retain();
        sip.supervise();
    }
    Ok(())
}

/// The devices for the programs that the kernel starts: each gets those that its own manifest
/// declares, as far as the machine has them.
#[derive(Default)]
struct Given {
    /// The program's name in the system manifest, the number of its declaration, the device.
    chosen: Vec<(String, u32, &'static Device)>,
    /// Programs that are not started.
    without: Vec<String>,
}

impl Given {
    /// Chooses the devices of a program, the first free ones that match. False if the machine lacks
    /// one that the program needs: it is then not started ([O] 5.2, the second invariant).
    fn choose(&mut self, s: &Start, manifest: &Manifest) -> Result<bool, Error> {
        let mut chosen = Vec::new();
        for (declared, usage) in manifest.devices.iter().zip(0..) {
            let same = |d: &&Device, other: &&'static Device| core::ptr::eq(*d, *other);
            let found = device::free(declared).find(|d| {
                let taken = self.chosen.iter().chain(&chosen);
                !taken.map(|(_, _, other)| other).any(|o| same(d, o))
            });
            match found {
                Some(device) => chosen.push((s.name.clone(), usage, device)),
                None if declared.optional => {}
                None if s.essential || s.main => {
                    return Err(Error::new(format!(
                        "{}: the machine has no device {}",
                        s.name,
                        declared.signatures.join(" or ")
                    )));
                }
                None => {
                    self.without.push(s.name.clone());
                    return Ok(false);
                }
            }
        }
        self.chosen.append(&mut chosen);
        Ok(true)
    }

    /// Gives a program's SIP its devices.
    fn give(&self, s: &Start, sip: &Sip) -> Result<(), Error> {
        let own = self.chosen.iter().filter(|(name, ..)| *name == s.name);
        for (_, usage, device) in own {
            // Chosen as it is free and matches, and given to no other.
            device.give(sip, *usage).map_err(|status| {
                let reason = sing_abi::status::describe(status);
                Error::new(format!("{}: its device: {reason}", s.name))
            })?;
        }
        Ok(())
    }
}

/// Makes the channels that the manifest declares and passes their ends to the instances, in the
/// order of each instance's own manifest. Leaves out channels of programs that are not started.
fn connect(
    manifest: &SystemManifest,
    without: &[String],
    parts: &mut [(&Start, &'static Installed, Vec<StartupEnd>)],
) -> Result<(), Error> {
    let mut channels = Vec::new();
    for c in &manifest.channels {
        if [Side::Imp, Side::Exp]
            .iter()
            .any(|&side| without.contains(&c.end(side).of))
        {
            continue;
        }
        let contract = parts
            .iter()
            .find_map(|(_, i, _)| i.contract(&c.contract))
            .ok_or_else(|| Error::new(format!("no part knows contract {}", c.contract)))?;
        let channel = account::root()
            .and_then(|root| Channel::create(contract, root))
            .ok_or_else(|| Error::new("memory is short"))?;
        channels.push((c, channel));
    }
    for (s, installed, endpoints) in parts.iter_mut() {
        for declared in &installed.manifest.endpoints {
            let mut matching = channels
                .iter()
                .filter(|(c, _)| c.end(declared.side).of == s.name)
                .filter(|(c, _)| c.end(declared.side).endpoint == declared.name)
                .map(|(c, channel)| (c, *channel));
            if declared.many {
                endpoints.extend(matching.map(|(_, ch)| Some((ch, declared.side))));
                continue;
            }
            let end = matching.next().map(|(_, ch)| (ch, declared.side));
            if end.is_none() && !declared.optional {
                return Err(Error::new(format!(
                    "{}: nothing is connected to its endpoint {}",
                    s.name, declared.name
                )));
            }
            if let Some((c, _)) = matching.next() {
                return Err(Error::new(format!(
                    "{}: two channels are connected to its endpoint {} (contract {})",
                    s.name, declared.name, c.contract
                )));
            }
            endpoints.push(end);
        }
    }
    for (c, channel) in &channels {
        for side in [Side::Imp, Side::Exp] {
            let end = c.end(side);
            let held = parts.iter().any(|(_, _, ends)| {
                ends.iter()
                    .flatten()
                    .any(|(ch, s)| core::ptr::eq(*ch, *channel) && *s == side)
            });
            if !held {
                return Err(Error::new(format!(
                    "a channel of {} ends at {}.{}, which does not exist",
                    c.contract, end.of, end.endpoint
                )));
            }
        }
    }
    Ok(())
}

fn arguments(s: &Start, options: &Options) -> Result<Vec<u8>, Failed> {
    let mut out = Vec::new();
    let mut count = 0;
    let mut push = |a: &str| {
        count += 1;
        out.extend_from_slice(&(a.len() as u32).to_le_bytes());
        out.extend_from_slice(a.as_bytes());
    };
    for a in &s.args {
        if a == ARGS {
            options.args.iter().for_each(|a| push(&a.to_string()));
        } else {
            push(a);
        }
    }
    if count > MAX_ARGUMENTS || out.len() > MAX_ARGUMENT_BYTES as usize {
        return Err(Failed::Arguments(format!(
            "{} would have {count} arguments in {} bytes; a process has at most {MAX_ARGUMENTS} in \
             {MAX_ARGUMENT_BYTES} bytes, of which each argument takes 4 more than it is long",
            s.name,
            out.len(),
        )));
    }
    Ok(out)
}
