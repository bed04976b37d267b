//! The folder that container images are made of: the hosted kernel without libraries, the PC kernel,
//! the system image, and the files of `deploy`.
//!
//! The web server's port is not for root alone, as nobody in a container is to be root.

use crate::image::{self, MemoryMode};
use crate::project::Project;
use crate::{build, files, web};
use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The files of `deploy` that go with the others.
const RECIPES: [&str; 2] = ["Containerfile", "Containerfile.microvm"];

/// Makes the folder, or what is missing in it.
pub fn make(project: &Project, memory: MemoryMode, folder: &Path) -> Result<()> {
    let image = image::system_with(project, memory, None, &[], Some(web::USUAL))?;
    let hosted = build::hosted_static(project)?;
    let kernel = build::pc(project)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    files::copy(&hosted, &folder.join("singularity"))?;
    files::copy(&kernel, &folder.join("kernel"))?;
    files::copy(&image, &folder.join("system.img"))?;
    for name in RECIPES {
        let from = project.root.join("deploy").join(name);
        files::copy(&from, &folder.join(name))?;
    }
    readable(folder, &["singularity", "kernel", "system.img"])
}

/// Lets any user read these files, and run them, whatever this user's new files are like.
pub fn readable(folder: &Path, names: &[&str]) -> Result<()> {
    let change = |path: &Path| {
        fs::set_permissions(path, Permissions::from_mode(0o755))
            .with_context(|| format!("cannot change {}", path.display()))
    };
    change(folder)?;
    names.iter().try_for_each(|name| change(&folder.join(name)))
}
