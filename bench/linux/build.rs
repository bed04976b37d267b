//! Builds the smallest process that says hello, which the benchmark embeds and starts.
//!
//! Not a binary of the package, because Cargo would also check and test it as a program with
//! unwinding, which one without any library cannot have.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=hello.rs");
    let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR")).join("hello");
    let mut command = Command::new(variable("RUSTC"));
    command
        .args(["--edition=2024", "--crate-type=bin", "--target"])
        .arg(variable("TARGET"));
    for option in [
        "opt-level=2",
        "panic=abort",
        "strip=symbols",
        "relocation-model=static",
    ] {
        command.arg("-C").arg(option);
    }
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
    ] {
        command.arg(format!("-Clink-arg={argument}"));
    }
    let done = command.arg("-o").arg(&out).arg("hello.rs").status();
    match done {
        Ok(status) if status.success() => {}
        other => panic!("cannot build hello.rs: {other:?}"),
    }
}
