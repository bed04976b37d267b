//! Projects outside this repository: `sing new`, and `sing build`, `run`, `test` and `check` in
//! their folders.
//!
//! A project is a folder with a system manifest (`system.json`) beside a package of cargo's
//! (`Cargo.toml`), programs in C (the folders below `c`), or both. Programs find the SDK in the project's
//! folder `.sing`, where this command puts the sources that it carries. A package whose manifest says
//! `[package.metadata.sing] ordinary = true` is an ordinary program: it has neither system manifest nor SDK.
//!
//! Invariants:
//! - Files of a project's author are made by `sing new` alone, in a folder that was not there.
//!   Everything else writes to `.sing` and cargo's target folder.
//! - What a project's system consists of stands in its manifest, its programs, and this command: two
//!   builds by one version of it, of the same sources and versions of crates, make the same image.

mod assemble;
mod cargo;
mod new;
mod ordinary;
mod sdk;

use crate::kept::Wanted;
use crate::output::name_of;
use crate::{boot, check, check_system, output, verify};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

pub use new::Kind;

/// The system manifest of a project.
const SYSTEM: &str = "system.json";
/// The package's manifest.
const PACKAGE: &str = "Cargo.toml";
/// The folder of the programs in C.
const C: &str = "c";

/// A command about projects.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    New {
        folder: PathBuf,
        kind: Kind,
    },
    Build {
        json: bool,
        kept: Wanted,
    },
    /// Without a file: the project's program is run.
    Run(crate::run::Request),
    Test {
        arguments: Vec<OsString>,
    },
    Check {
        json: bool,
    },
}

/// A project that is there.
enum Project {
    /// Programs and their system, in this folder.
    System(PathBuf),
    /// A package whose program is an ordinary one.
    Ordinary(PathBuf),
}

/// Does what is asked; the exit status.
pub fn run(request: &Request) -> Result<u8, String> {
    if let Request::New { folder, kind } = request {
        new::new(folder, *kind)?;
        return Ok(0);
    }
    match find()? {
        Project::Ordinary(root) => of_ordinary(&root, request),
        Project::System(root) => {
            sdk::give(&root)?;
            of_system(&root, request)
        }
    }
}

fn of_system(root: &Path, request: &Request) -> Result<u8, String> {
    match request {
        Request::New { .. } => Ok(0),
        Request::Test { .. } if !root.join(PACKAGE).is_file() => Err(format!(
            "{}: programs in C have no tests that run without a system; `sing run` runs them",
            name_of(root)
        )),
        Request::Test { arguments } => cargo::test(root, arguments),
        Request::Build { json, kept } => match assemble::build(root, *kept)? {
            Some(built) if *json => {
                output::json(built.json());
                Ok(0)
            }
            Some(built) => {
                output::lines(built.to_string());
                Ok(0)
            }
            None => Ok(1),
        },
        Request::Check { json } => match assemble::build(root, Wanted::default())? {
            Some(built) => {
                let sound = check_system::run(&check::Subject::File(built.image), *json)?;
                Ok(u8::from(!sound))
            }
            None => Ok(1),
        },
        Request::Run(options) => {
            let arguments = options.arguments.clone();
            let plain = crate::run::Request {
                arguments,
                perf_map: options.perf_map,
                ..crate::run::Request::default()
            };
            if *options != plain {
                return Err(
                    "run: --dir, --env, --net, --tcplisten, --no-cache and -v are for ordinary programs; what \
                     programs of a system of their own reach stands in system.json"
                        .into(),
                );
            }
            // Said before anything is built, if there is none.
            let mut kernel = boot::kernel()?;
            let Some(built) = assemble::build(root, Wanted::default())? else {
                return Ok(1);
            };
            if options.perf_map {
                kernel.arg("--perf-map");
            }
            let failed = kernel.arg(built.image).args(&options.arguments).exec();
            Err(format!("the kernel cannot be started: {failed}"))
        }
    }
}

fn of_ordinary(root: &Path, request: &Request) -> Result<u8, String> {
    if let Request::Test { arguments } = request {
        return ordinary::test(root, arguments);
    }
    let Some(module) = ordinary::build(root)? else {
        return Ok(1);
    };
    match request {
        Request::Build { json, .. } => {
            let said = ordinary::about(&module, *json)?;
            match json {
                true => output::json(said),
                false => output::line(said),
            }
            Ok(0)
        }
        Request::Run(options) => crate::run::run(&crate::run::Request {
            file: module,
            ..options.clone()
        }),
        _ => {
            let json = matches!(request, Request::Check { json: true });
            Ok(u8::from(!verify::run(&[module], json)))
        }
    }
}

/// Whether the present folder belongs to a project.
pub fn is_here() -> bool {
    find().is_ok()
}

/// The project that the present folder belongs to.
fn find() -> Result<Project, String> {
    let here = std::env::current_dir().map_err(|e| format!("the present folder: {e}"))?;
    for folder in here.ancestors() {
        let package = folder.join(PACKAGE);
        let programs = package.is_file() || folder.join(C).is_dir();
        if folder.join(SYSTEM).is_file() && programs {
            return Ok(Project::System(folder.to_path_buf()));
        }
        if fs::read_to_string(package).is_ok_and(|text| ordinary::is(&text)) {
            return Ok(Project::Ordinary(folder.to_path_buf()));
        }
    }
    Err(format!(
        "there is no project here: neither {} nor a folder above it has {SYSTEM} beside {PACKAGE} or programs in C \
         (below {C}/); `sing new NAME` makes one, and `sing run MODULE` runs a program without one",
        name_of(&here)
    ))
}
