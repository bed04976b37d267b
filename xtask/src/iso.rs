//! `cargo xtask image`: the system as a file: its image alone, or a disc that a PC starts from; or
//! the folder that container images are made of (`container`).
//!
//! The disc is for BIOS and UEFI alike, from a CD or copied to a USB stick: GRUB, the PC kernel,
//! the system image.

use crate::image::{self, MemoryMode};
use crate::packages::Tools;
use crate::project::Project;
use crate::setup::{self, Needs};
use crate::{build, cargo, container, files};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tools that make discs. `grub-mkrescue` supports every kind of firmware whose part of GRUB it
/// finds.
pub const TOOLS: Tools = Tools {
    name: "GRUB",
    programs: &["grub-mkrescue", "xorriso", "mformat"],
    packages: &[
        "grub-common",
        "grub-pc-bin",
        "grub-efi-amd64-bin",
        "xorriso",
        "mtools",
    ],
    elsewhere: "`dnf install grub2-tools-extra grub2-pc-modules grub2-efi-x64-modules xorriso mtools` on Fedora, \
                `pacman -S grub libisoburn mtools` on Arch",
};

/// For each kind of firmware: its name, a file of its part of GRUB, and the package with that.
const FIRMWARE: [(&str, &str, &str); 2] = [
    ("BIOS", "/usr/lib/grub/i386-pc/kernel.img", "grub-pc-bin"),
    (
        "UEFI",
        "/usr/lib/grub/x86_64-efi/kernel.img",
        "grub-efi-amd64-bin",
    ),
];

/// The options.
#[derive(Debug)]
pub struct Request {
    /// A disc instead of the system image alone.
    pub disc: bool,
    /// A folder for container images instead.
    pub container: Option<PathBuf>,
    /// The file to make.
    pub out: Option<PathBuf>,
    /// How linear memories are guarded.
    pub memory: MemoryMode,
}

/// Makes the file and prints its path.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    if let Some(folder) = &request.container {
        let needs = Needs {
            pc: true,
            ..Needs::of(false)
        };
        setup::prepare(&mut project, needs)?;
        container::make(&project, request.memory, folder)?;
        say!("{}", folder.display());
        return Ok(0);
    }
    // Before slow builds.
    request.out.as_deref().map_or(Ok(()), files::expect_place)?;
    let needs = Needs {
        pc: request.disc,
        ..Needs::of(false)
    };
    setup::prepare(&mut project, needs)?;
    if request.disc {
        TOOLS.ensure()?;
    }
    let image = image::system(&project, request.memory, None)?;
    let made = if request.disc {
        let kernel = build::pc(&project)?;
        let disc = request
            .out
            .clone()
            .unwrap_or_else(|| project.out().join("singularity.iso"));
        make(
            &Disc {
                kernel: &kernel,
                image: &image,
                line: "",
            },
            &disc,
        )?;
        for (name, part, package) in FIRMWARE {
            if !Path::new(part).exists() {
                say!("not for {name}: {part} is missing, which the package {package} brings");
            }
        }
        disc
    } else if let Some(out) = &request.out {
        files::copy(&image, out)?;
        out.clone()
    } else {
        image
    };
    say!("{}", made.display());
    Ok(0)
}

/// The contents of a disc.
pub struct Disc<'a> {
    /// The PC kernel.
    pub kernel: &'a Path,
    /// The system image.
    pub image: &'a Path,
    /// The kernel's command line.
    pub line: &'a str,
}

/// Makes a disc; `TOOLS` must be there.
pub fn make(disc: &Disc, out: &Path) -> Result<()> {
    crate::machine::check_length(disc.line)?;
    let folder = sing_files::Folder::beside(out)
        .with_context(|| format!("cannot write beside {}", out.display()))?;
    let boot = folder.path().join("boot");
    let fill = || -> std::io::Result<()> {
        fs::create_dir_all(boot.join("grub"))?;
        fs::copy(disc.kernel, boot.join("singularity"))?;
        fs::copy(disc.image, boot.join("system.img"))?;
        fs::write(boot.join("grub/grub.cfg"), configuration(disc.line))
    };
    fill().with_context(|| format!("cannot fill {}", folder.path().display()))?;
    files::make(out, |place| {
        let mut command = Command::new("grub-mkrescue");
        command.arg("-o").arg(place).arg(folder.path());
        cargo::quiet(&mut command, "making the disc")
    })
}

/// The configuration of GRUB. Its own messages go to the screen and to the serial port, which has
/// the system's console.
fn configuration(line: &str) -> String {
    format!(
        "set timeout=0\nserial --unit=0 --speed=115200\nterminal_output console serial\n\
         menuentry Singularity {{\n multiboot2 /boot/singularity {line}\n module2 /boot/system.img\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grub_loads_the_kernel_with_its_line_and_the_image() {
        let text = configuration("report -- a");
        assert!(
            text.contains("multiboot2 /boot/singularity report -- a\n module2 /boot/system.img\n")
        );
        assert!(text.starts_with("set timeout=0\n"));
    }
}
