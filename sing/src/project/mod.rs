//! Projects outside this repository: `sing new`, and `sing build`, `run`, `test` and `check` in
//! their folders.
//!
//! A project is a package of cargo's with a system manifest (`system.json`) beside its `Cargo.toml`.
//! It finds the SDK in its folder `.sing`, where this command puts the sources that it carries.
//!
//! Invariants:
//! - Files of a project's author are made by `sing new` alone, in a folder that was not there.
//!   Everything else writes to `.sing` and cargo's target folder.
//! - What a project's system consists of stands in its manifest, its programs, and this command: two
//!   builds by one version of it, of the same sources and versions of crates, make the same image.

mod assemble;
mod cargo;
mod new;
mod sdk;

use crate::{boot, check, check_system, output};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

pub use new::Kind;

/// The system manifest of a project.
const SYSTEM: &str = "system.json";
/// The package's manifest.
const PACKAGE: &str = "Cargo.toml";

/// A command about projects.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    New { folder: PathBuf, kind: Kind },
    Build { json: bool },
    Run { arguments: Vec<String> },
    Test { arguments: Vec<OsString> },
    Check,
}

/// Does what is asked; the exit status.
pub fn run(request: &Request) -> Result<u8, String> {
    if let Request::New { folder, kind } = request {
        new::new(folder, *kind)?;
        return Ok(0);
    }
    let root = find()?;
    sdk::give(&root)?;
    match request {
        Request::New { .. } => Ok(0),
        Request::Test { arguments } => cargo::test(&root, arguments),
        Request::Build { json } => match assemble::build(&root)? {
            Some(built) if *json => {
                output::line(built.json());
                Ok(0)
            }
            Some(built) => {
                output::lines(built.to_string());
                Ok(0)
            }
            None => Ok(1),
        },
        Request::Check => match assemble::build(&root)? {
            Some(built) => {
                let sound = check_system::run(&check::Subject::File(built.image))?;
                Ok(u8::from(!sound))
            }
            None => Ok(1),
        },
        Request::Run { arguments } => {
            // Said before anything is built, if there is none.
            let mut kernel = boot::kernel()?;
            let Some(built) = assemble::build(&root)? else {
                return Ok(1);
            };
            let failed = kernel.arg(built.image).args(arguments).exec();
            Err(format!("the kernel cannot be started: {failed}"))
        }
    }
}

/// Whether the present folder belongs to a project.
pub fn is_here() -> bool {
    find().is_ok()
}

/// The folder of the project that the present folder belongs to.
fn find() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|e| format!("the present folder: {e}"))?;
    let is_project = |folder: &&Path| [SYSTEM, PACKAGE].iter().all(|f| folder.join(f).is_file());
    let found = here.ancestors().find(is_project);
    found.map(Path::to_path_buf).ok_or_else(|| {
        format!(
            "there is no project here: neither {} nor a folder above it has both {PACKAGE} and \
             {SYSTEM}; `sing new NAME` makes one, and `sing run MODULE` runs a program without one",
            here.display()
        )
    })
}
