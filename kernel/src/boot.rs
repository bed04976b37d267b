//! Starting: from a system image to the SIPs of its manifest, wired up as it says ([O] 5.2).

use crate::channel::Channel;
use crate::contract::Contract;
use crate::cpu;
use crate::hal::Hal;
use crate::image::{self, Installed};
use crate::machine;
use crate::sip::{self, Making, StartupEnd};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use sing_image::Error;
use sing_image::manifest::Side;
use sing_image::system::{Start, SystemImage, SystemManifest};

/// Status with which a system ends that cannot be started.
const BROKEN: i32 = 70;
/// What stands for the arguments given at the start.
const ARGS: &str = "$ARGS";

/// How the system is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What replaces the argument `$ARGS` in the system manifest's `Start::args`.
    pub args: Vec<String>,
}

/// Starts the system from a system image. The HAL calls it once, on its boot stack, with interrupts
/// deliverable.
pub fn boot(hal: &'static dyn Hal, options: Options, image: &'static [u8]) -> ! {
    machine::set(hal);
    if hal.cpus() > 1 && !sing_arch::lock::several_processors() {
        hal.log("system: this kernel uses one processor");
    }
    if let Err(e) = start(&options, image) {
        hal.log(&format!("system: cannot start: {e}"));
        hal.exit(BROKEN);
    }
    drop(options);
    cpu::this().idle()
}

fn start(options: &Options, image: &'static [u8]) -> Result<(), Error> {
    let system = SystemImage::decode(image)?;
    let manifest = system.manifest().clone();
    image::set_system(system);
    let mut parts = Vec::new();
    for s in &manifest.start {
        let installed = image::find(&s.image)?
            .ok_or_else(|| Error::new(format!("{}: no image bin/{}", s.name, s.image)))?;
        parts.push((s, installed, Vec::<StartupEnd>::new()));
    }
    connect(&manifest, &mut parts)?;
    let mut sips = Vec::new();
    for (s, installed, endpoints) in parts {
        let making = Making {
            image: installed,
            parent: None,
            arguments: arguments(s, options),
        };
        let sip =
            sip::create(making).map_err(|_| Error::new(format!("{}: memory is short", s.name)))?;
        sip.give_startup(endpoints);
        sip.essential.store(s.essential, Relaxed);
        sips.push(sip);
    }
    for sip in sips {
        sip.start();
    }
    Ok(())
}

/// Makes the channels that the manifest declares and hands their ends to the parts, in the order that each
/// part's own manifest wants.
fn connect(
    manifest: &SystemManifest,
    parts: &mut [(&Start, &'static Installed, Vec<StartupEnd>)],
) -> Result<(), Error> {
    let mut channels = Vec::new();
    for c in &manifest.channels {
        let contract = parts
            .iter()
            .find_map(|(_, i, _)| contract_of(i, &c.contract))
            .ok_or_else(|| Error::new(format!("no part knows contract {}", c.contract)))?;
        let channel =
            Channel::create(contract, None).ok_or_else(|| Error::new("too many channels"))?;
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

fn contract_of(image: &Installed, name: &str) -> Option<&'static Contract> {
    image
        .contracts
        .iter()
        .copied()
        .find(|c| c.table.name == name)
}

fn arguments(s: &Start, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    let mut push = |a: &str| {
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
    out
}
