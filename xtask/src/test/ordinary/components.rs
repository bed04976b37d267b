//! Components, of a text and of Rust's standard library, run by `sing run`.

use super::{Ordinary, is, says};
use crate::{build, cargo, files};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The targets for both versions of WASI.
const PREVIEW_1: &str = "wasm32-wasip1";
pub const PREVIEW_2: &str = "wasm32-wasip2";

/// The name of the test that needs a target.
pub const BOTH: &str = "the same of wasip1 and wasip2";

/// Whether Rust's library for WASI 0.2 is there.
///
/// # Errors
/// What is left out without it.
pub fn target() -> std::result::Result<(), String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", PREVIEW_2]);
    let there = rustc.output().is_ok_and(|output| {
        let path = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success() && Path::new(path.trim()).is_dir()
    });
    match there {
        true => Ok(()),
        false => Err(format!(
            "`rustup target add {PREVIEW_2}` installs its target"
        )),
    }
}

/// The component of `component.wat` with other bodies in the place of some.
fn component(machine: &Ordinary<'_>, name: &str, bodies: &[(&str, &str)]) -> Result<PathBuf> {
    let project = &machine.run.project;
    let text = project.root.join("tests/ordinary/component.wat");
    let mut text = fs::read_to_string(text)?;
    for (place, body) in bodies {
        ensure!(text.contains(place), "no {place} in component.wat");
        text = text.replace(place, body);
    }
    let source = machine.folder.join(format!("{name}.wat"));
    files::write(&source, &text)?;
    let module = machine.folder.join(format!("{name}.wasm"));
    build::module_of_text(project, &source, &module)?;
    Ok(module)
}

fn output(machine: &Ordinary<'_>, module: &Path, words: &[&str], input: &[u8]) -> Result<Output> {
    let cache = machine.folder.join("cache");
    machine.run_with_cache(&cache, &[], module, words, input)
}

/// Words, streams and the status of a component.
pub fn run(machine: &Ordinary<'_>) -> Result<()> {
    let module = component(machine, "component", &[])?;
    let said = output(machine, &module, &["a b", ""], b"in\n")?;
    is(&said, 0, b"component.wasm\na b\n\nin\n")?;
    let many: Vec<u8> = (0..300_001_u32).map(|i| (i * 31 / 7) as u8).collect();
    let said = output(machine, &module, &[], &many)?;
    is(&said, 0, &[b"component.wasm\n", &many[..]].concat())?;
    let said = output(machine, &module, &["1", "2", "3"], b"")?;
    is(&said, 1, b"component.wasm\n1\n2\n3\n")?;
    let image = machine.folder.join("component");
    let sing = machine.run.project.host_binary("sing");
    let mut command = Command::new(&sing);
    command.arg("compile").arg(&module).arg("-o").arg(&image);
    let compiled = command.output()?;
    ensure!(compiled.status.success(), "{compiled:?}");
    Ok(())
}

/// What breaks the canonical ABI is a trap, with the reason in words.
pub fn broken(machine: &Ordinary<'_>) -> Result<()> {
    const BEGIN: &str = ";; begin";
    const REALLOC: &str = ";; realloc";
    let all = [
        (
            BEGIN,
            "(call $drop (i32.const 5))",
            "passes resource 5, which it does not have",
        ),
        (
            BEGIN,
            "(call $read (call $stdout) (i64.const 1) (i32.const 0))",
            "passes resource 1, which is no input-stream",
        ),
        (
            BEGIN,
            "(call $drop (call $stdout)) (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))",
            "passes resource 1, which it does not have",
        ),
        (
            BEGIN,
            "(call $write (call $stdout) (i32.const 8) (i32.const -1) (i32.const 0))",
            "passes an address outside of its memory",
        ),
        (
            BEGIN,
            "(call $arguments (i32.const 65535))",
            "passes an address outside of its memory",
        ),
        (
            REALLOC,
            "(return (i32.const 65534))",
            "its cabi_realloc returned",
        ),
        (REALLOC, "(unreachable)", "unreachable"),
        (
            REALLOC,
            "(drop (call $stdout))",
            "an adapter is called while it serves another call",
        ),
        (
            BEGIN,
            "(loop $more (drop (call $stdin)) (br $more))",
            "has more resources than there may be at a time",
        ),
    ];
    for (place, body, why) in all {
        // Under one name, only what is different is compiled.
        let module = component(machine, "broken", &[(place, body)])?;
        let said = output(machine, &module, &[], b"")?;
        ensure!(said.status.code() == Some(134), "{body}: {said:?}");
        says(&said, why).with_context(|| body.to_string())?;
        // What was not run, is not there.
        ensure!(said.stdout.is_empty(), "{body}: {said:?}");
    }
    Ok(())
}

/// Runs `tests/ordinary/NAME.wat` as it stands.
fn as_it_stands(machine: &Ordinary<'_>, name: &str, words: &[&str]) -> Result<Output> {
    let project = &machine.run.project;
    let source = project.root.join(format!("tests/ordinary/{name}.wat"));
    let module = machine.folder.join(format!("{name}.wasm"));
    build::module_of_text(project, &source, &module)?;
    output(machine, &module, words, b"")
}

/// A component of several modules in one memory, as tools link libraries.
pub fn libraries(machine: &Ordinary<'_>) -> Result<()> {
    let said = as_it_stands(machine, "libraries", &["world"])?;
    is(&said, 0, b"library world")
}

/// A program that imports `wasi:http` runs, and its requests to others are denied.
pub fn asks(machine: &Ordinary<'_>) -> Result<()> {
    is(&as_it_stands(machine, "asks", &[])?, 0, b"")
}

/// All that is in a component's way is said before anything runs.
pub fn refused(machine: &Ordinary<'_>) -> Result<()> {
    let changes = [
        ("wasi:cli/environment@0.2.0", "acme:weather/today@1.0.0"),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 1) (type (struct))",
        ),
        ("\"wasi:cli/run@0.2.3\"", "\"acme:weather/tomorrow@1.0.0\""),
    ];
    let module = component(machine, "refused", &changes)?;
    let said = output(machine, &module, &[], b"")?;
    is(&said, 1, b"")?;
    for part in [
        "cannot run here, for 3 reasons:",
        "uses garbage collection",
        "acme:weather/today@1.0.0: get-arguments; this system has no such interface",
        "exports no wasi:cli/run@0.2, where a program begins; it exports acme:weather/tomorrow@1.0.0",
    ] {
        says(&said, part)?;
    }
    Ok(())
}

/// A program of Rust's standard library, built for a target.
pub fn of_rust(machine: &Ordinary<'_>, source: &Path, target: &str) -> Result<PathBuf> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let module = machine.folder.join(format!("{stem}-{target}.wasm"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "--target", target]);
    rustc.arg(source).arg("-o").arg(&module);
    let why = format!("compiling {stem}.rs (`rustup target add {target}` installs its target)");
    cargo::quiet(&mut rustc, &why)?;
    Ok(module)
}

/// A program of Rust's standard library, built for both.
pub fn both(machine: &Ordinary<'_>) -> Result<()> {
    let source = machine.run.project.root.join("tests/ordinary/std.rs");
    let shared = machine.folder.join("both");
    fs::create_dir_all(&shared)?;
    let directory = format!("{}::/", shared.display());
    let options = ["--dir", &directory, "--env", "A=b=c", "--env", "EMPTY="];
    let mut outputs = Vec::new();
    for target in [PREVIEW_1, PREVIEW_2] {
        let module = of_rust(machine, &source, target)?;
        let cache = machine.folder.join("cache");
        for input in [&b""[..], b"two\nlines\n"] {
            let words = ["--dir", "a b", "ä"];
            let output = machine.run_with_cache(&cache, &options, &module, &words, input)?;
            outputs.push((output.status, output.stdout, output.stderr));
        }
    }
    ensure!(outputs[..2] == outputs[2..], "{outputs:?}");
    let [(first, text, _), (second, ..), ..] = &outputs[..] else {
        return Ok(());
    };
    ensure!(
        first.code() == Some(0) && second.code() == Some(1),
        "{outputs:?}"
    );
    let text = String::from_utf8_lossy(text);
    for part in [
        "word \"ä\"",
        "A=b=c",
        "slept true",
        "some text, and more",
        "NotADirectory",
    ] {
        ensure!(text.contains(part), "no {part} in {text}");
    }
    Ok(())
}
