//! Cargo, as a project needs it: for the targets of programs, and for tests.
//!
//! What a person has set for other builds (flags of the compiler, above all) must not reach programs:
//! `.cargo/config.toml` of the project has the flags that they need.

use super::SYSTEM;
use crate::output::{self, name_of};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target of programs with the SDK.
pub const WASM: &str = "wasm32-unknown-unknown";
/// Variables that change for which target, or with which flags, cargo builds.
const FOREIGN: [&str; 5] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
];
/// The compiler says this of each crate: the flag for atomics has no stable name, and does what it
/// should.
const NOISE: &str = "unstable feature specified for `-Ctarget-feature`";

/// A program that has been built.
pub struct Program {
    pub name: String,
    pub module: PathBuf,
}

/// What cargo knows of a project.
pub struct Package {
    pub name: String,
    pub target: PathBuf,
}

fn command(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
}

/// Says why cargo does not start, and how to get it.
fn not_started(e: &std::io::Error) -> String {
    format!("cargo cannot be started: {e}; https://rustup.rs installs it")
}

/// Asks cargo for the package's name and its target folder.
pub fn package(root: &Path) -> Result<Package, String> {
    let mut command = command(root);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| not_started(&e))?;
    let manifest = root.join(super::PACKAGE);
    if !output.status.success() {
        return Err(format!("cargo does not read {}", name_of(&manifest)));
    }
    let json: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let target = json["target_directory"].as_str();
    let own = json["packages"].as_array().into_iter().flatten();
    let own = own.filter(|package| {
        let path = package["manifest_path"].as_str();
        path.is_some_and(|path| sing_files::are_one(Path::new(path), &manifest))
    });
    let name = own.filter_map(|package| package["name"].as_str()).next();
    match (name, target) {
        (Some(name), Some(target)) => Ok(Package {
            name: name.into(),
            target: target.into(),
        }),
        _ => Err(format!(
            "{} is no package's manifest; put {SYSTEM} beside one that is",
            name_of(&manifest)
        )),
    }
}

/// Builds the project's programs for a target; `None` if the compiler refuses them, which it has explained.
pub fn programs(root: &Path, target: &str) -> Result<Option<Vec<Program>>, String> {
    has_target(root, target)?;
    let mut command = command(root);
    command.args(["build", "--release", "--bins", "--target", target]);
    command.arg("--message-format=json").stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| not_started(&e))?;
    let mut programs = Vec::new();
    if let Some(said) = child.stdout.take() {
        for line in BufReader::new(said).lines() {
            let line = line.map_err(|e| format!("cargo: {e}"))?;
            // Anything else is a build script's.
            if let Ok(message) = serde_json::from_str(&line) {
                heard(&message, &mut programs);
            }
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    Ok(status.success().then_some(programs))
}

/// Takes a message of cargo's: a program that it has made, or what the compiler has to say.
fn heard(message: &Value, programs: &mut Vec<Program>) {
    match message["reason"].as_str() {
        Some("compiler-message") => {
            let text = message["message"]["rendered"].as_str().unwrap_or_default();
            if !text.contains(NOISE) && !is_count(message) {
                output::complain_in_colour(text.trim_end());
            }
        }
        Some("compiler-artifact") => {
            let target = &message["target"];
            let kinds = target["kind"].as_array().into_iter().flatten();
            let files = message["filenames"].as_array().into_iter().flatten();
            let mut modules = files
                .filter_map(Value::as_str)
                .filter(|f| f.ends_with(".wasm"));
            let is_program = kinds.into_iter().any(|kind| kind == "bin");
            if let (true, Some(name), Some(module)) =
                (is_program, target["name"].as_str(), modules.next())
            {
                programs.push(Program {
                    name: name.into(),
                    module: module.into(),
                });
            }
        }
        _ => {}
    }
}

/// Whether a message only counts warnings, of which the noise may be all.
fn is_count(message: &Value) -> bool {
    let text = message["message"]["message"].as_str().unwrap_or_default();
    text.ends_with("warning emitted") || text.ends_with("warnings emitted")
}

/// Runs the project's tests; the exit status. Those of ordinary programs are run by this command, whatever is in
/// the path; cargo splits the words at spaces, so one in a path with spaces has to be in the path.
pub fn test(root: &Path, arguments: &[OsString]) -> Result<u8, String> {
    let mut command = command(root);
    if let Some(own) = std::env::current_exe()
        .ok()
        .and_then(|own| own.into_os_string().into_string().ok())
        .filter(|own| !own.contains(char::is_whitespace))
    {
        command.env("CARGO_TARGET_WASM32_WASIP1_RUNNER", format!("{own} run"));
    }
    let status = command.arg("test").args(arguments).status();
    let status = status.map_err(|e| not_started(&e))?;
    Ok(status.code().map_or(1, |code| code as u8))
}

/// Sees that the compiler has this target of programs.
pub fn has_target(root: &Path, target: &str) -> Result<(), String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = || {
        let mut command = Command::new(&rustc);
        command.current_dir(root).args(["--print", "target-libdir"]);
        let output = command.args(["--target", target]).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        Some(Path::new(path.trim()).is_dir() && output.status.success())
    };
    if library() == Some(true) {
        return Ok(());
    }
    output::complain(format!(
        "sing: installing the Rust target {target} by rustup"
    ));
    let words: [&OsStr; 3] = ["target".as_ref(), "add".as_ref(), target.as_ref()];
    let done = Command::new("rustup")
        .current_dir(root)
        .args(words)
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!(
            "the Rust target {target} is missing, and rustup does not install it; \
             `rustup target add {target}` may say why, or install it as you have installed Rust"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_the_messages() {
        let mut programs = Vec::new();
        for text in [
            r#"{"reason":"compiler-artifact","target":{"name":"a","kind":["bin"]},"filenames":["/t/a.wasm"]}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"b","kind":["lib"]},"filenames":["/t/libb.rlib"]}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"c","kind":["cdylib"]},"filenames":["/t/c.wasm"]}"#,
            r#"{"reason":"build-finished","success":true}"#,
            "[]",
        ] {
            heard(&serde_json::from_str(text).unwrap(), &mut programs);
        }
        let names: Vec<&str> = programs.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a"]);
    }
}
