//! Makes the system image: every program compiled, packed with the system manifest and the boot
//! files.
//!
//! A compiled image is kept until its module or the compiler changes; a stamp beside it records its
//! inputs.

use crate::project::{Maker, Program, Project};
use crate::web;
use crate::{cargo, files, lanes, walk};
use anyhow::{Context, Result};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

/// The system manifest.
const SYSTEM: &str = "system/system.json";
/// The manifest of services that only tests have, and a program of theirs.
const TEST_SYSTEM: &str = "tests/services.json";
const TEST_SERVICE: &str = "unruly";
/// Where below the target folder the modules written by hand are, some of which have contracts of their own
/// by others' names.
pub const BY_HAND: &str = "misuse";
/// The program that ends TLS, which is built only for who asks for it, as its primitives take long;
/// and the manifest of its service.
pub const TLS: &str = "tls";
const TLS_SYSTEM: &str = "system/tls/service.json";

/// The program that is built with lines of its text, for the test of these.
const WITH_LINES: &str = "lines";

/// The variable that says where `sing` keeps the code of functions, and the folder for the system's
/// own programs: one that has changed a little has most of its code already.
const CACHE: (&str, &str) = ("SING_CACHE", "kept");

/// How linear memories are kept within their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// By guard pages.
    Guard,
    /// By a test at every access.
    Explicit,
}

impl MemoryMode {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MemoryMode::Guard => "guard",
            MemoryMode::Explicit => "explicit",
        }
    }
}

/// The set of programs to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// The programs of the ordinary system.
    Ordinary,
    /// These, and the programs of the tests.
    WithTests,
}

/// Builds outdated binaries and compiles programs; returns name and image of each.
pub fn compile_programs(
    project: &Project,
    which: Programs,
    mode: MemoryMode,
) -> Result<Vec<(String, PathBuf)>> {
    let wanted = |program: &&Program| which == Programs::WithTests || !program.test;
    let programs: Vec<&Program> = project.programs.iter().filter(wanted).collect();
    crate::build::tools_and_programs(project, &programs)?;
    compile(project, &programs, mode)
}

/// The command that packs compiled programs into the image of a system manifest.
pub fn packing(
    project: &Project,
    manifest: &str,
    out: &Path,
    images: Vec<(String, PathBuf)>,
) -> Command {
    let mut command = Command::new(project.host_binary("sing"));
    command.current_dir(&project.root).arg("image").arg("-o");
    command.arg(out).args(["--manifest", manifest]);
    for (name, image) in images {
        command
            .arg("--bin")
            .arg(format!("{name}={}", image.display()));
    }
    command
}

/// Builds and compiles the program that ends TLS: its name and image.
pub fn tls(project: &Project, mode: MemoryMode) -> Result<(String, PathBuf)> {
    let program = Program {
        maker: Maker::Cargo(TLS.into()),
        name: TLS.into(),
        test: false,
    };
    crate::build::tools_and_programs(project, &[&program])?;
    let mut compiled = compile(project, &[&program], mode)?;
    compiled.pop().context("no program")
}

/// Compiles programs that have been built, where they have changed.
pub fn compile(
    project: &Project,
    programs: &[&Program],
    mode: MemoryMode,
) -> Result<Vec<(String, PathBuf)>> {
    let folder = project.out().join(mode.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let sing = project.host_binary("sing");
    let compiler = identity(&sing)?;
    let compile = |program: &&Program| -> Result<(String, PathBuf)> {
        let module = project.module(program);
        let image = folder.join(&program.name);
        let stamp = folder.join(format!("{}.stamp", program.name));
        let wanted = format!("{compiler} {}", identity(&module)?);
        if !image.exists() || fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
            let mut command = Command::new(&sing);
            command.arg("compile").arg(&module).arg("-o").arg(&image);
            command.args(["--memory", mode.name()]);
            command.env(CACHE.0, project.out().join(CACHE.1));
            // The others' lines would be those of the standard library only.
            if program.name != WITH_LINES {
                command.args(["--lines", "none"]);
            }
            cargo::quiet(&mut command, &format!("compiling {}", program.name))?;
            files::write(&stamp, wanted)?;
        }
        Ok((program.name.clone(), image))
    };
    let compiled = lanes::each(lanes::processors(), programs, compile);
    compiled.into_iter().collect()
}

/// Identifies the state of a file: its size and modification time.
fn identity(file: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let data = fs::metadata(file)?;
        let time = data
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(format!("{}:{}", data.len(), time.as_nanos()))
    };
    read().with_context(|| {
        format!(
            "cannot read {}, which the build should have made",
            file.display()
        )
    })
}

/// Packs the system image, with a script if one is given (the boot file `script`).
pub fn system(project: &Project, mode: MemoryMode, script: Option<&str>) -> Result<PathBuf> {
    system_with(project, mode, script, &[], None)
}

/// The same with further programs, each a module or an image.
pub fn system_with(
    project: &Project,
    mode: MemoryMode,
    script: Option<&str>,
    further: &[(String, PathBuf)],
    port: Option<u16>,
) -> Result<PathBuf> {
    remove_left_over(&project.out(), |run| Path::new("/proc").join(run).exists());
    let mut images = compile_programs(project, Programs::Ordinary, mode)?;
    for (name, file) in further {
        images.push((name.clone(), further_image(project, mode, name, file)?));
    }
    let files: Vec<_> = match port {
        Some(port) => vec![("web.conf".into(), web::configuration(project, port)?)],
        None => Vec::new(),
    };
    let name = match script {
        None if port.is_none_or(|port| port == web::USUAL) => format!("system-{}.img", mode.name()),
        // Several runs may happen at a time.
        _ => format!("script-{}.img", std::process::id()),
    };
    let image = pack_with(project, &images, &project.out().join(name), script, &files);
    for (_, file) in files {
        let _ = fs::remove_file(file);
    }
    image
}

/// The image of a program from elsewhere: of a module, it is compiled.
fn further_image(project: &Project, mode: MemoryMode, name: &str, file: &Path) -> Result<PathBuf> {
    let unread = || format!("cannot read {}", file.display());
    let mut start = Vec::new();
    fs::File::open(file)
        .and_then(|file| file.take(4).read_to_end(&mut start))
        .with_context(unread)?;
    if start != b"\0asm" {
        return Ok(file.to_path_buf());
    }
    let folder = project.out().join("further").join(mode.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let image = folder.join(name);
    let mut command = Command::new(project.host_binary("sing"));
    command.arg("compile").arg(file).arg("-o").arg(&image);
    command.args(["--memory", mode.name()]);
    command.env(CACHE.0, project.out().join(CACHE.1));
    cargo::quiet(&mut command, &format!("compiling {name}"))?;
    Ok(image)
}

/// Whether an image is for one run alone, and to be removed behind it.
pub fn is_for_one_run(image: &Path) -> bool {
    let name = image.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("script-"))
}

/// Removes the images of scripts whose runs have been ended before they could: Ctrl-C ends this
/// program, too.
fn remove_left_over(folder: &Path, runs: impl Fn(&str) -> bool) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix("script-"));
        let of = of.and_then(|name| name.strip_suffix(".img"));
        if of.is_some_and(|run| run.parse::<u32>().is_ok() && !runs(run)) {
            // Another run may have been quicker.
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Packs compiled programs, system manifest and boot files into an archive.
pub fn pack(
    project: &Project,
    images: &[(String, PathBuf)],
    out: &Path,
    script: Option<&str>,
) -> Result<PathBuf> {
    pack_with(project, images, out, script, &[])
}

/// The same with further boot files, or others: the path of each in the system, and its file.
pub fn pack_with(
    project: &Project,
    images: &[(String, PathBuf)],
    out: &Path,
    script: Option<&str>,
    files: &[(String, PathBuf)],
) -> Result<PathBuf> {
    let mut command = Command::new(project.host_binary("sing"));
    command
        .current_dir(&project.root)
        .arg("image")
        .arg("-o")
        .arg(out);
    command.args(["--manifest", SYSTEM]);
    if images.iter().any(|(name, _)| name == TEST_SERVICE) {
        command.args(["--manifest", TEST_SYSTEM]);
    }
    if images.iter().any(|(name, _)| name == TLS) {
        command.args(["--manifest", TLS_SYSTEM]);
    }
    let by_hand = project.out().join(BY_HAND);
    if images.iter().any(|(_, path)| path.starts_with(&by_hand)) {
        command.arg("--versions");
    }
    for (name, image) in images {
        command
            .arg("--bin")
            .arg(format!("{name}={}", image.display()));
    }
    let boot = project.root.join("system/boot");
    let mut all = boot_files(&boot)?;
    all.retain(|(path, _)| !files.iter().any(|(other, _)| path == other));
    for (path, file) in all.iter().chain(files) {
        command
            .arg("--file")
            .arg(format!("{path}={}", file.display()));
    }
    let script_file = out.with_extension("script");
    if let Some(script) = script {
        files::write(&script_file, script)?;
        command
            .arg("--file")
            .arg(format!("script={}", script_file.display()));
    }
    let result = cargo::quiet(&mut command, "packing the system image");
    if script.is_some() {
        let _ = fs::remove_file(&script_file);
    }
    result.map(|()| out.to_path_buf())
}

/// Files below a folder, if there is one, with their relative paths, in the order of these.
fn boot_files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for path in walk::files(folder, |_| true)? {
        let relative = path.strip_prefix(folder)?.display().to_string();
        found.push((relative, path));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_ended_runs_are_removed() {
        let folder = std::env::temp_dir().join(format!("xtask-left-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let all = [
            "script-1.img",
            "script-2.img",
            "script-x.img",
            "system-guard.img",
        ];
        for name in all {
            fs::write(folder.join(name), "").unwrap();
        }
        remove_left_over(&folder, |run| run == "2");
        let left = all.map(|name| folder.join(name).exists());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, [false, true, true, true]);
    }

    #[test]
    fn boot_files_are_found_in_folders_and_sorted() {
        let folder = std::env::temp_dir().join(format!("xtask-boot-files-{}", std::process::id()));
        fs::create_dir_all(folder.join("etc")).unwrap();
        fs::write(folder.join("notes.txt"), "n").unwrap();
        fs::write(folder.join("etc/motd"), "m").unwrap();
        let found = boot_files(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let paths: Vec<_> = found.iter().map(|(p, _)| p.as_str()).collect();
        assert_eq!(paths, ["etc/motd", "notes.txt"]);
        assert!(boot_files(Path::new("no/such/folder")).unwrap().is_empty());
    }
}
