//! A program that is built without the flags of `.cargo/config.toml` does not build, and is told
//! which they are.

use std::process::Command;

#[test]
fn a_program_without_the_flags_for_threads_does_not_build() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["check", "--quiet", "--package", "sing-sdk"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        // Of its own: the one in use is locked, and what is built without the flags is of no use
        // there.
        .arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/flags"))
        // Takes the place of the flags that the workspace has for this target.
        .env("RUSTFLAGS", "-Copt-level=0")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it builds");
    for part in [
        "would share one stack",
        ".cargo/config.toml",
        "[target.wasm32-unknown-unknown]",
        "-Ctarget-feature=+atomics",
        "-Clink-arg=--export=__stack_pointer",
    ] {
        assert!(said.contains(part), "nothing of `{part}`:\n{said}");
    }
}
