//! The manifests of `deploy`: read by tools that others use, the same in all that they say twice, and
//! their command lines run here as an orchestrator would run them.
//!
//! There is no container engine in that: a process in name spaces of its own, first in its own, of a
//! user without rights, whose root holds the image's files alone and cannot be written. For this the
//! test must be root.

mod sealed;

use super::{Report, Run};
use crate::cargo;
use crate::packages::Tools;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What reads the manifests is written in Python; its packages are pinned in `deploy/lint.txt`.
pub const PYTHON: Tools = Tools {
    name: "Python",
    programs: &["python3", "pip3"],
    packages: &["python3", "python3-pip"],
    elsewhere: "`dnf install python3-pip` on Fedora, `pacman -S python-pip` on Arch",
};

/// Checks the manifests, and runs what they run.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let folder = run.project.root.join("deploy");
    if run.wants("manifests") {
        match run.without.python() {
            Some(reason) => report.skipped.push(reason),
            None => report.count("manifests", told(manifests(run, &folder))),
        }
    }
    for (name, recipe) in [
        ("container", "Containerfile"),
        ("micro-VM in a container", "kubernetes.yaml"),
    ] {
        if !run.wants(name) {
            continue;
        }
        if let Some(reason) = sealed::impossible() {
            report.skipped.push(format!("{name}: {reason}"));
            continue;
        }
        let vm = recipe != "Containerfile";
        if let Some(reason) = run.without.qemu().filter(|_| vm) {
            report.skipped.push(format!("{name}: {reason}"));
            continue;
        }
        let text = fs::read_to_string(folder.join(recipe))
            .with_context(|| format!("cannot read deploy/{recipe}"))?;
        let played = match vm {
            false => command(&text).and_then(|words| sealed::container(run, &words)),
            true => emulator(&text).and_then(|words| sealed::machine(run, &words)),
        };
        report.count(name, told(played));
    }
    Ok(report)
}

fn told(played: Result<()>) -> Result<(), String> {
    played.map_err(|e| format!("{e:#}"))
}

/// The arguments in the last line `CMD [...]` of a file for a container image.
fn command(text: &str) -> Result<Vec<String>> {
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("CMD "));
    serde_json::from_str(line.context("no CMD")?).context("CMD is no list of words")
}

/// The emulator's arguments: the one list of the manifest that has a word on each line.
fn emulator(text: &str) -> Result<Vec<String>> {
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim() != "args:")
        .skip(1);
    let words = lines
        .by_ref()
        .map_while(|line| line.trim().strip_prefix("- "));
    let words: Vec<String> = words
        .map(|word| {
            word.strip_prefix('"')
                .and_then(|w| w.strip_suffix('"'))
                .unwrap_or(word)
        })
        .map(String::from)
        .collect();
    ensure!(!words.is_empty(), "no list of arguments");
    Ok(words)
}

/// Installs the packages of Python that a list names into a folder of their own, if they are not there.
pub fn install(list: &Path, packages: &Path, options: &[&str]) -> Result<()> {
    let text =
        fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let stamp = packages.join("stamp");
    if fs::read_to_string(&stamp).ok().as_deref() == Some(&text) {
        return Ok(());
    }
    // None: it was not there.
    let _ = fs::remove_dir_all(packages);
    let mut pip = Command::new("pip3");
    pip.args(["install", "--no-deps", "--only-binary", ":all:", "--target"]);
    pip.arg(packages).arg("-r").arg(list).args(options);
    let what = "installing packages of Python for a test";
    cargo::quiet(&mut pip, what)?;
    crate::files::write(&stamp, &text)
}

/// Has both manifests read, and compares what they say.
fn manifests(run: &Run, folder: &Path) -> Result<()> {
    let packages = run.project.out().join("deploy-lint");
    install(&folder.join("lint.txt"), &packages, &[])?;
    let mut lint = Command::new("python3");
    lint.arg(folder.join("lint.py")).arg(folder);
    lint.env("PYTHONPATH", &packages)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let said = lint.output().context("cannot start python3")?;
    ensure!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let all: Value = serde_json::from_slice(&said.stdout).context("lint.py prints no JSON")?;

    let words = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(String::from).collect()
    };
    let wanted = command(&fs::read_to_string(folder.join("Containerfile"))?)?;
    let vm = emulator(&fs::read_to_string(folder.join("kubernetes.yaml"))?)?;
    for (number, of) in [&wanted, &vm].into_iter().enumerate() {
        let pod = &all["kubernetes"][number]["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        ensure!(
            words(&container["args"]) == **of,
            "Kubernetes, {number}: other arguments"
        );
        for (what, is, value) in [
            (
                "runAsNonRoot",
                &pod["securityContext"]["runAsNonRoot"],
                Value::from(true),
            ),
            (
                "readOnlyRootFilesystem",
                &container["securityContext"]["readOnlyRootFilesystem"],
                true.into(),
            ),
            (
                "allowPrivilegeEscalation",
                &container["securityContext"]["allowPrivilegeEscalation"],
                false.into(),
            ),
            (
                "capabilities",
                &container["securityContext"]["capabilities"]["drop"][0],
                "ALL".into(),
            ),
            (
                "seccompProfile",
                &pod["securityContext"]["seccompProfile"]["type"],
                "RuntimeDefault".into(),
            ),
            ("stdin", &container["stdin"], true.into()),
            (
                "the probe",
                &container["livenessProbe"]["httpGet"]["path"],
                sealed::PAGE.into(),
            ),
        ] {
            ensure!(
                *is == value,
                "Kubernetes, {number}: {what} is {is}, not {value}"
            );
        }
        let memory = &container["resources"]["limits"]["memory"];
        ensure!(
            memory.is_string(),
            "Kubernetes, {number}: no limit of memory"
        );
    }
    let groups = &all["nomad"]["job"][0]["singularity"]["group"];
    let task = |number: usize, name: &str| groups[number][name]["task"][0]["singularity"].clone();
    let container = task(0, "container");
    let config = &container["config"][0];
    ensure!(
        words(&config["args"]) == wanted,
        "Nomad, container: other arguments"
    );
    ensure!(
        config["readonly_rootfs"] == true,
        "Nomad: the root can be written"
    );
    ensure!(
        words(&config["cap_drop"]) == ["all"],
        "Nomad: rights are left"
    );
    ensure!(
        config["interactive"] == true,
        "Nomad: the standard input ends"
    );
    ensure!(container["user"] == "65532:65532", "Nomad: another user");
    // The files are elsewhere, and so is the port.
    let there: Vec<String> = words(&task(1, "microvm")["config"][0]["args"])
        .iter()
        .map(|word| {
            word.replace("local/", "/srv/")
                .replace("${NOMAD_PORT_http}", "8080")
        })
        .collect();
    ensure!(
        there == vm,
        "Nomad, micro-VM: other arguments\n{there:?}\n{vm:?}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_in_files() {
        let text = "FROM scratch\nCMD [\"old\"]\n# CMD\nCMD [\"--net\", \"a b\"]\n";
        assert_eq!(command(text).unwrap(), ["--net", "a b"]);
        assert!(command("FROM scratch").is_err() && command("CMD run").is_err());
        let text =
            "x:\n  args: [a]\n  args:\n    - -m\n    - \"384\"\n    - a \"b\" c\n  y:\n    - z\n";
        assert_eq!(emulator(text).unwrap(), ["-m", "384", "a \"b\" c"]);
        assert!(emulator("args: [a]").is_err());
    }
}
