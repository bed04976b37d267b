//! Locations: the repository, the target directory, the programs.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Cargo: the package of this name.
    Cargo(String),
    /// Clang: the C files in this folder, relative to the root.
    Clang(PathBuf),
}

/// A program that becomes a SIP image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its compiler.
    pub maker: Maker,
    /// Name of the binary, and of the image under `bin/`.
    pub name: String,
    /// Whether it is for tests, and left out of the images that a person runs.
    pub test: bool,
}

/// The folders of programs that cargo builds. Each folder in them is a member of the workspace, and
/// one without a `Cargo.toml` makes every cargo command fail.
const PLACES: [&str; 4] = ["system/drivers", "system/services", "system/apps", TESTS];
/// The folders of programs in C. The root `Cargo.toml` excludes those among the tests' by name.
const PLACES_OF_C: [&str; 2] = ["system/c", TESTS];
/// The folders of the tests' programs.
const TESTS: &str = "tests/sips";

/// The repository as cargo sees it.
#[derive(Debug)]
pub struct Project {
    /// The workspace's root.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target: PathBuf,
    /// Programs under `system/drivers/`, `system/services/`, `system/apps/`, `system/c/` and
    /// `tests/sips/`, by name.
    pub programs: Vec<Program>,
    /// Names and folders (relative to the root) of all packages.
    pub packages: Vec<(String, PathBuf)>,
    /// Names of cargo's default members.
    pub defaults: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_default_members: BTreeSet<String>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Project {
    /// Asks cargo.
    pub fn find() -> Result<Project> {
        // `cargo run` names the present folder: a checkout may have been moved or copied since it
        // was built.
        let own = std::env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .filter(|folder| folder.ends_with("xtask"))
            .unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let manifest = own.join("../Cargo.toml");
        let output = Command::new(crate::cargo::program())
            .args([
                "metadata",
                "--no-deps",
                "--format-version",
                "1",
                "--manifest-path",
            ])
            .arg(&manifest)
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!(
                "cargo metadata failed:\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).context("cargo metadata: not understood")?;
        let mut project = Project::from_metadata(metadata);
        for place in PLACES_OF_C {
            project.programs.extend(in_c(&project.root, place)?);
        }
        project.programs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(project)
    }

    fn from_metadata(metadata: Metadata) -> Project {
        let root = metadata.workspace_root;
        let mut programs = Vec::new();
        let mut packages = Vec::new();
        let mut defaults = BTreeSet::new();
        for package in metadata.packages {
            let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
            let folder = folder.strip_prefix(&root).unwrap_or(folder).to_path_buf();
            let test = folder.starts_with(TESTS);
            if PLACES.iter().any(|place| folder.starts_with(place)) {
                let bins = package
                    .targets
                    .iter()
                    .filter(|t| t.kind.iter().any(|k| k == "bin"));
                programs.extend(bins.map(|t| Program {
                    maker: Maker::Cargo(package.name.clone()),
                    name: t.name.clone(),
                    test,
                }));
            }
            if metadata.workspace_default_members.contains(&package.id) {
                defaults.insert(package.name.clone());
            }
            packages.push((package.name, folder));
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        packages.sort();
        Project {
            root,
            target: metadata.target_directory,
            programs,
            packages,
            defaults,
        }
    }

    /// Whether the workspace has this package.
    pub fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|(n, _)| n == name)
    }

    /// The folder for xtask's output.
    pub fn out(&self) -> PathBuf {
        self.target.join("sing")
    }

    /// A binary for this machine, as `cargo build --release` leaves it.
    pub fn host_binary(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// Cargo's output folder for programs: one of their own, so that they are built at the same
    /// time as the host's binaries. (Cargo holds a folder's lock for as long as it builds.)
    pub fn programs_target(&self) -> PathBuf {
        self.target.join("programs")
    }

    /// A program's module.
    pub fn module(&self, program: &Program) -> PathBuf {
        let release = self
            .programs_target()
            .join(crate::toolchain::WASM)
            .join("release");
        match program.maker {
            Maker::Cargo(_) => release.join(format!("{}.wasm", program.name)),
            Maker::Clang(_) => self.c_module(&program.name),
        }
    }

    /// The module of a program in C.
    pub fn c_module(&self, name: &str) -> PathBuf {
        self.out().join("c").join(format!("{name}.wasm"))
    }
}

/// The programs in C below a folder: folders with C files that are no packages of cargo's.
fn in_c(root: &Path, place: &str) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    let folder = root.join(place);
    if !folder.is_dir() {
        return Ok(found);
    }
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir()
            || path.join("Cargo.toml").exists()
            || crate::clang::files(&path, "c")?.is_empty()
        {
            continue;
        }
        let (Some(name), Ok(relative)) = (path.file_name(), path.strip_prefix(root)) else {
            continue;
        };
        found.push(Program {
            maker: Maker::Clang(relative.to_path_buf()),
            name: name.to_string_lossy().into_owned(),
            test: place == TESTS,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_come_from_their_folders_only() {
        let json = r#"{"target_directory": "/r/target", "workspace_root": "/r",
            "workspace_default_members": ["c"], "packages": [
            {"id": "c", "name": "sing-cli", "manifest_path": "/r/sing/Cargo.toml",
             "targets": [{"name": "sing", "kind": ["bin"]}]},
            {"id": "t", "name": "test-storm", "manifest_path": "/r/tests/sips/storm/Cargo.toml",
             "targets": [{"name": "storm", "kind": ["bin"]}]},
            {"id": "s", "name": "shell", "manifest_path": "/r/system/services/shell/Cargo.toml",
             "targets": [{"name": "shell", "kind": ["bin"]}, {"name": "parse", "kind": ["test"]}]},
            {"id": "p", "name": "pingpong", "manifest_path": "/r/system/apps/pingpong/Cargo.toml",
             "targets": [{"name": "pong", "kind": ["bin"]}, {"name": "ping", "kind": ["bin"]}]}]}"#;
        let project = Project::from_metadata(serde_json::from_str(json).unwrap());
        let names: Vec<_> = project.programs.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["ping", "pong", "shell", "storm"]);
        let tests: Vec<_> = project.programs.iter().map(|p| p.test).collect();
        assert_eq!(tests, [false, false, false, true]);
        assert!(project.has_package("sing-cli"));
        assert!(project.defaults.contains("sing-cli") && !project.defaults.contains("shell"));
        assert_eq!(project.packages[2].1, Path::new("sing"));
    }

    #[test]
    fn programs_in_c_are_folders_with_c_files_and_no_package() {
        let root = std::env::temp_dir().join(format!("xtask-in-c-{}", std::process::id()));
        for file in [
            "system/c/c/c.c",
            "system/c/r/r.c",
            "system/c/r/Cargo.toml",
            "system/c/n/notes",
        ] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = in_c(&root, "system/c").unwrap();
        assert!(in_c(&root, "nothing").unwrap().is_empty());
        std::fs::remove_dir_all(&root).unwrap();
        let wanted = Program {
            maker: Maker::Clang("system/c/c".into()),
            name: "c".into(),
            test: false,
        };
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn cargo_takes_no_folder_of_a_program_in_c_for_a_package() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        assert!(
            !workspace.contains("system/c"),
            "neither by a pattern nor by name"
        );
        let names = |place| in_c(&root, place).unwrap().into_iter().map(|p| p.name);
        assert!(names("system/c").any(|name| name == "c-ping"));
        for place in PLACES.into_iter().filter(|place| *place != TESTS) {
            assert_eq!(names(place).count(), 0, "{place}");
        }
        for name in names(TESTS) {
            assert!(workspace.contains(&format!("\"{TESTS}/{name}\"")), "{name}");
        }
    }
}
