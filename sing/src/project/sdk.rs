//! The SDK in a project's folder `.sing`: the sources that this command carries, which the project's
//! `Cargo.toml` names by their path.
//!
//! A file that is there already is left alone, so that cargo builds nothing again for it.

use crate::carried;
use crate::output::name_of;
use std::fs;
use std::path::Path;

/// Where it is in a project.
const FOLDER: &str = ".sing/sdk";

/// Sees that the project has the SDK of this command.
pub fn give(root: &Path) -> Result<(), String> {
    let folder = root.join(FOLDER);
    for (path, contents) in carried::SDK {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|there| there == *contents) {
            continue;
        }
        let failed = |e| format!("{}: cannot be written: {e}", name_of(&path));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        sing_files::write(&path, contents).map_err(failed)?;
    }
    Ok(())
}
