//! The control worker ([O] 5.4.1): one client of `VolumeContract`, in a thread of its own, so that
//! a long request or a driver that does not answer costs nobody else.

use crate::drive::Drive;
use crate::mounts::{self, Mount, Use};
use crate::{STACK, connected, faults, volume};
use core::sync::atomic::{AtomicBool, Ordering};
use sing_sdk::contracts::{VolumeContract, VolumeFault};
use sing_sdk::path::{LONGEST, normalize};
use sing_sdk::prelude::*;
use sing_store::{Error as Fault, FormatOptions, MountOptions, Store};

/// The longest label in bytes.
const LABEL: usize = 63;
/// Problems that a check names.
const PROBLEMS: usize = 100;

/// Whether a format or a check is under way. Each has caches and counts beside those of the mounts.
/// They are bounded, but on nobody's share: there is one at a time.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// The turn of a format or a check; the next one's when dropped.
struct Turn;

impl Turn {
    fn take() -> Result<Turn, VolumeFault> {
        match UNDER_WAY.swap(true, Ordering::Acquire) {
            true => Err(VolumeFault::Busy),
            false => Ok(Turn),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        UNDER_WAY.store(false, Ordering::Release);
    }
}

/// Serves a client until it goes.
pub fn serve(mut client: VolumeContract::Exp<VolumeContract::Ready>) {
    use VolumeContract::exp::Ready as Request;
    loop {
        client = match client.recv() {
            Request::Format(disk, label, force, next) => match format(&disk, &label, force) {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::Mount(disk, at, read_only, next) => match mount(&disk, &at, read_only) {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::Unmount(at, force, next) => match unmount(&at, force) {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::Check(disk, next) => match check(&disk) {
                Ok((problems, text)) => next.send_report(problems, text),
                Err(fault) => next.send_failed(fault),
            },
            Request::GetSpace(at, next) => match space(&at) {
                Ok((total, free, nodes)) => next.send_space(total, free, nodes),
                Err(fault) => next.send_failed(fault),
            },
            Request::GetMounts(next) => match Text::new(&mounts::lines()) {
                Ok(lines) => next.send_mounts(lines),
                Err(_) => next.send_failed(VolumeFault::NoResources),
            },
            Request::Closed => return,
        }
    }
}

/// A path as a client sent it.
fn path(text: &Text) -> Result<String, VolumeFault> {
    let path = text.get_within(LONGEST).as_deref().and_then(normalize);
    path.ok_or(VolumeFault::NotFound)
}

/// A label for a line of text: one that was made elsewhere may have ends of lines in it.
fn shown(label: &str) -> String {
    label.replace(char::is_control, "\u{fffd}")
}

fn drive(disk: &str) -> Result<Drive, VolumeFault> {
    let names = connected().map_err(|_| VolumeFault::NoResources)?;
    Drive::new(names, disk)
}

/// A number that tells this file system from others: of the time, to the cycle, and this start of
/// the program. It is no secret.
fn identity() -> [u8; 16] {
    let mut state = sing_sdk::time::utc().as_nanos() as u64;
    let mut draw = |salt: u64| {
        // The finaliser of SplitMix64.
        state = state.wrapping_add(salt).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let first = draw(sing_sdk::time::cycle_count());
    let second = draw(u64::from(sing_sdk::process::id()));
    let mut all = [0; 16];
    all[..8].copy_from_slice(&first.to_le_bytes());
    all[8..].copy_from_slice(&second.to_le_bytes());
    all
}

fn format(disk: &Text, label: &Text, force: bool) -> Result<(), VolumeFault> {
    let disk = path(disk)?;
    let label = label.get_within(LABEL).ok_or(VolumeFault::BadName)?;
    if label.chars().any(char::is_control) {
        return Err(VolumeFault::BadName);
    }
    let mut used = Use::of(&disk)?;
    let mut drive = drive(&disk)?;
    // After the driver has answered: what nobody serves holds up nobody.
    let _turn = Turn::take()?;
    if drive.geometry.read_only {
        return Err(VolumeFault::ReadOnly);
    }
    match Store::probe(&mut drive) {
        // Not what is mounted under another path, even with force.
        Ok(found) => {
            used.hold(found.uuid)?;
            if !force {
                return Err(VolumeFault::InUse);
            }
        }
        Err(Fault::NotStore) => {}
        // Damaged or of another version: it is somebody's.
        Err(_) if force => {}
        Err(Fault::Disk(fault)) => return Err(faults::volume(Fault::Disk(fault))),
        Err(_) => return Err(VolumeFault::InUse),
    }
    let options = FormatOptions {
        label,
        uuid: identity(),
        now: volume::now(),
    };
    // Who finds it from now on waits until it is whole.
    used.hold(options.uuid)?;
    Store::format(drive, &options)
        .map(drop)
        .map_err(faults::volume)
}

pub fn mount(disk: &Text, at: &Text, read_only: bool) -> Result<(), VolumeFault> {
    let disk = path(disk)?;
    let at = path(at).map_err(|_| VolumeFault::Held)?;
    let disk_in_use = Use::of(&disk)?;
    mounts::room()?;
    let (worker, exp) = volume::Work::new_channel().map_err(|_| VolumeFault::NoResources)?;
    let (of, place) = (disk.clone(), at.clone());
    let run = move || volume::run(&of, &place, read_only, exp, disk_in_use);
    let thread = sing_sdk::thread::spawn_with_stack(STACK, run);
    drop(thread.map_err(|_| VolumeFault::NoResources)?);
    match worker.recv() {
        volume::Work::imp::Start::Mounted(label, worker) => {
            mounts::add(Mount {
                at,
                disk,
                label: shown(&label.to_lossy()),
                read_only,
                worker: Some(worker),
            });
            Ok(())
        }
        volume::Work::imp::Start::NotMounted(fault, _) => Err(faults::numbered(fault)),
        volume::Work::imp::Start::Closed => Err(VolumeFault::NoResources),
    }
}

fn unmount(at: &Text, force: bool) -> Result<(), VolumeFault> {
    use volume::Work::imp::Ready_Unmount as Reply;
    mounts::with(&path(at)?, |worker| match worker.call_unmount(force) {
        Reply::Unmounted(_) => (None, Ok(())),
        Reply::Lost(fault, _) => (None, Err(faults::numbered(fault))),
        Reply::Refused(fault, worker) => (Some(worker), Err(faults::numbered(fault))),
        Reply::Closed => (None, Err(VolumeFault::NotFound)),
    })
}

fn space(at: &Text) -> Result<(u64, u64, u64), VolumeFault> {
    mounts::with(&path(at)?, |worker| match worker.call_get_space().space() {
        Ok((total, free, nodes, worker)) => (Some(worker), Ok((total, free, nodes))),
        Err(_) => (None, Err(VolumeFault::NotFound)),
    })
}

fn check(disk: &Text) -> Result<(u32, Text), VolumeFault> {
    let disk = path(disk)?;
    let mut used = Use::of(&disk)?;
    let drive = drive(&disk)?;
    let _turn = Turn::take()?;
    let options = MountOptions {
        read_only: true,
        ..MountOptions::default()
    };
    let mut store = used.mount(drive, &options)?;
    let report = store.check(PROBLEMS).map_err(faults::volume)?;
    let lines: String = report
        .texts
        .iter()
        .flat_map(|t| [t.as_str(), "\n"])
        .collect();
    let text = Text::new(&lines).map_err(|_| VolumeFault::NoResources)?;
    Ok((u32::try_from(report.problems).unwrap_or(u32::MAX), text))
}
