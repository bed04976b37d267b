//! Asks the file system's control worker to make, mount, unmount and check file systems.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use VolumeContract::imp;
use file_commands::{failure::Failure, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "volume",
    description: "file systems on disks: volume format|mount|unmount|check|space|list PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::choices! {
    /// What to do.
    Action: "list" List, "format" Format, "mount" Mount, "unmount" Unmount, "check" Check, "space" Space
}

sing_sdk::arguments! {
    /// Over what is on the disk, or although files are open.
    force: flag "--force";
    /// Mounts it without writing to the disk.
    read_only: flag "--read-only";
    /// What is to be formatted gets this label.
    label: option String "--label LABEL";
    /// Who is asked, if not /fsctrl.
    control: option String "--control PATH";
    /// list; format DISK; mount DISK AT; unmount AT; check DISK; space AT.
    action: one Action "ACTION";
    /// Disks are named by their paths, such as /dev/ram0.
    paths: many String "PATH";
}

type Ready = VolumeContract::Imp<VolumeContract::Ready>;

/// In words, with the way out where there is one.
fn words(fault: VolumeFault) -> &'static str {
    match fault {
        VolumeFault::NotFound => "no disk is there, or nothing is mounted there",
        VolumeFault::InUse => "the disk holds something; `--force` writes over it",
        VolumeFault::Busy => "in use; for `unmount`, `--force` closes what is open",
        VolumeFault::Held => "the mount point is taken, or is no path",
        VolumeFault::NotFormatted => "no file system is on the disk; `volume format` makes one",
        VolumeFault::Version => "the file system on the disk is of a version that is not known",
        VolumeFault::Damaged => "the file system is damaged; `volume check` says where",
        VolumeFault::BadSize => "the disk is too small or too large for a file system",
        VolumeFault::ReadOnly => "the disk cannot be written",
        VolumeFault::Medium => "the disk could not read or write, or its driver has gone",
        VolumeFault::BadName => "a label is a text of at most 63 bytes",
        VolumeFault::NoResources => "out of memory or handles",
    }
}

/// An answer of the control worker: of no worker if it has gone.
type Answer<T> = Option<Result<T, VolumeFault>>;

fn format(worker: Ready, disk: Text, label: Text, force: bool) -> Answer<()> {
    match worker.call_format(disk, label, force) {
        imp::Ready_Format::Done(_) => Some(Ok(())),
        imp::Ready_Format::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_Format::Closed => None,
    }
}

fn mount(worker: Ready, disk: Text, at: Text, read_only: bool) -> Answer<()> {
    match worker.call_mount(disk, at, read_only) {
        imp::Ready_Mount::Done(_) => Some(Ok(())),
        imp::Ready_Mount::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_Mount::Closed => None,
    }
}

fn unmount(worker: Ready, at: Text, force: bool) -> Answer<()> {
    match worker.call_unmount(at, force) {
        imp::Ready_Unmount::Done(_) => Some(Ok(())),
        imp::Ready_Unmount::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_Unmount::Closed => None,
    }
}

fn check(worker: Ready, disk: Text) -> Answer<(u32, String)> {
    match worker.call_check(disk) {
        imp::Ready_Check::Report(problems, text, _) => Some(Ok((problems, text.to_lossy()))),
        imp::Ready_Check::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_Check::Closed => None,
    }
}

fn space(worker: Ready, at: Text) -> Answer<(u64, u64, u64)> {
    match worker.call_get_space(at) {
        imp::Ready_GetSpace::Space(total, free, nodes, _) => Some(Ok((total, free, nodes))),
        imp::Ready_GetSpace::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_GetSpace::Closed => None,
    }
}

fn list(worker: Ready) -> Answer<String> {
    match worker.call_get_mounts() {
        imp::Ready_GetMounts::Mounts(lines, _) => Some(Ok(lines.to_lossy())),
        imp::Ready_GetMounts::Failed(fault, _) => Some(Err(fault)),
        imp::Ready_GetMounts::Closed => None,
    }
}

/// What the answer says of a path.
fn taken<T>(path: &str, answer: Answer<T>) -> Result<T, Failure> {
    match answer {
        Some(answer) => answer.map_err(|fault| Failure::because(path, words(fault))),
        None => Err(Failure::of(path)(Error::Closed)),
    }
}

fn connect(names: &mut Names, path: &str) -> Result<Ready, Failure> {
    let bound = VolumeContract::new_channel().and_then(|(imp, exp)| {
        names.bind(path, exp)?;
        Ok(imp.recv_success()?)
    });
    bound.map_err(|error| match error {
        Error::NotFound => Failure::because(path, "no file system runs there; start `files &`"),
        error => Failure::of(path)(error),
    })
}

/// Does it; whether all is well.
fn act(worker: Ready, arguments: &Arguments) -> Result<bool, Failure> {
    let paths: Vec<&str> = arguments.paths.iter().map(String::as_str).collect();
    let text = |text: &str| Text::new(text).map_err(Failure::of(text));
    let (force, read_only) = (arguments.force, arguments.read_only);
    match (arguments.action, &paths[..]) {
        (Action::Format, [disk]) => {
            let label = text(arguments.label.as_deref().unwrap_or_default())?;
            taken(disk, format(worker, text(disk)?, label, force))?;
        }
        (Action::Mount, [disk, at]) => {
            let answer = mount(worker, text(disk)?, text(at)?, read_only);
            taken(&format!("{disk} at {at}"), answer)?;
        }
        (Action::Unmount, [at]) => taken(at, unmount(worker, text(at)?, force))?,
        (Action::Check, [disk]) => {
            let (problems, lines) = taken(disk, check(worker, text(disk)?))?;
            print!("{lines}");
            println!("{disk}: {problems} problems");
            return Ok(problems == 0);
        }
        (Action::Space, [at]) => {
            let (total, free, nodes) = taken(at, space(worker, text(at)?))?;
            let (total, free) = (total >> 10, free >> 10);
            println!("{at}: {free} KiB free of {total}, {nodes} files, directories and links");
        }
        _ => print!("{}", taken("the control worker", list(worker))?),
    }
    Ok(true)
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> i32 {
    let (count, expected) = match arguments.action {
        Action::List => (0, "list takes no PATH"),
        Action::Format => (1, "format takes one PATH, of the disk"),
        Action::Mount => (
            2,
            "mount takes two PATHs, of the disk and of the mount point",
        ),
        Action::Unmount => (1, "unmount takes one PATH, of the mount point"),
        Action::Check => (1, "check takes one PATH, of the disk"),
        Action::Space => (1, "space takes one PATH, of the mount point"),
    };
    if arguments.paths.len() != count {
        return USAGE.refuse(expected);
    }
    // An option that would do nothing is a mistake.
    let (action, given) = (arguments.action, &arguments);
    for (set, fits, reason) in [
        (
            given.force,
            matches!(action, Action::Format | Action::Unmount),
            "--force is for format and unmount",
        ),
        (
            given.read_only,
            action == Action::Mount,
            "--read-only is for mount",
        ),
        (
            given.label.is_some(),
            action == Action::Format,
            "--label is for format",
        ),
    ] {
        if set && !fits {
            return USAGE.refuse(reason);
        }
    }
    let mut names = match program::names("volume", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    let control = arguments.control.as_deref().unwrap_or("/fsctrl");
    let outcome = connect(&mut names, control).and_then(|worker| act(worker, &arguments));
    match outcome {
        Ok(well) => i32::from(!well),
        Err(failure) => program::report("volume", Err(failure)),
    }
}
