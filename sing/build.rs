//! Puts into the command what it is to carry: the sources of the SDK, which `sing new` and `sing
//! build` give to projects outside this repository, and, as modules, programs of the system that a
//! project's own system is completed with.
//!
//! The programs are built by a second cargo for their own target, in the same folder as xtask's, and
//! with the same settings, so that neither builds again what the other has built. A command that
//! is not optimised (as editors and lints build it), or has not the feature `whole`, carries none,
//! and says so when one is asked for.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates of the SDK; the contracts of the system are in its own folder, as a link. What is below a
/// folder of another one is carried once.
const SDK: [&str; 6] = [
    "sdk/rust/macros",
    "sdk/rust",
    "sdk/c",
    "formats/abi",
    "formats/image",
    "contract/lang",
];
/// Programs for projects' systems: each file, and the package that makes it.
const PROGRAMS: [&str; 18] = [
    "bootfs",
    "clock",
    "console",
    "host-sockets",
    "manager",
    "nameserver",
    "network",
    "shell",
    "show",
    "virtio-9p",
    "virtio-rng",
    "wasi-adapter",
    "wasi-cgi",
    "wasi-component",
    "wasi-http",
    "wasi-launcher",
    "wasi-server",
    "web",
];
/// The target of programs.
const WASM: &str = "wasm32-unknown-unknown";
/// As in `xtask/src/build.rs`.
const SETTINGS: [&str; 4] = [
    "profile.release.debug=0",
    "profile.release.strip=\"none\"",
    "profile.release.package.redb.opt-level=3",
    "profile.release.package.sing-contract.opt-level=0",
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../Cargo.toml");
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let mut text = String::new();
    sdk(&root, &out, &mut text)?;
    programs(&root, &out, &mut text)?;
    fs::write(out.join("carried.rs"), text)?;
    unwinder(&out)?;
    packed(&out)
}

/// Has the linker pack the command's relative relocations, if a program that is linked so runs here: the
/// dynamic linker then reads kilobytes at each start in place of hundreds.
fn packed(out: &Path) -> Result<()> {
    const ARGUMENT: &str = "-Wl,-z,pack-relative-relocs";
    let of_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    // Only a program for this machine can be tried.
    if !of_linux || env::var("TARGET")? != env::var("HOST")? {
        return Ok(());
    }
    let folder = out.join("packed");
    fs::create_dir_all(&folder)?;
    let (source, program) = (folder.join("tried.rs"), folder.join("tried"));
    fs::write(&source, "fn main() { println!(\"runs\"); }\n")?;
    let mut compiler = Command::new(env::var_os("RUSTC").ok_or("no RUSTC")?);
    compiler.args(["--edition", "2024", "-o"]).arg(&program);
    compiler.arg("-C").arg(format!("link-arg={ARGUMENT}"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        compiler.arg("-C").arg(option);
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compiler.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    for flags in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        println!("cargo::rerun-if-env-changed={flags}");
    }
    let linked = compiler.arg(&source).output();
    let runs = linked.is_ok_and(|made| made.status.success())
        && Command::new(&program)
            .current_dir(&folder)
            .output()
            .is_ok_and(|ran| ran.status.success() && ran.stdout == b"runs\n");
    if runs {
        println!("cargo::rustc-link-arg-bins={ARGUMENT}");
    }
    Ok(())
}

/// Links what unwinds stacks into the command, where the C compiler has it as an archive: a library of its
/// own takes the dynamic linker longer than all that it is asked for by a program that runs once.
fn unwinder(out: &Path) -> Result<()> {
    const ARCHIVE: &str = "libgcc_eh.a";
    println!("cargo::rerun-if-env-changed=CC");
    let is = |name, value| env::var(name).is_ok_and(|its| its == value);
    let of_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // The compiler asked here is this machine's.
    if !of_linux || env::var("TARGET")? != env::var("HOST")? {
        return Ok(());
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let asked = Command::new(compiler)
        .arg(format!("-print-file-name={ARCHIVE}"))
        .output();
    let Ok(answer) = asked else { return Ok(()) };
    // One that has none answers with the name alone.
    let answer = String::from_utf8(answer.stdout)?;
    let archive = Path::new(answer.trim());
    if !archive.is_absolute() || !archive.exists() {
        return Ok(());
    }
    // The standard library names the shared one: to the linker, this is it.
    let folder = out.join("unwinder");
    fs::create_dir_all(&folder)?;
    let text = format!("GROUP ( \"{}\" )\n", archive.display());
    fs::write(folder.join("libgcc_s.so"), text)?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    Ok(())
}

/// A table of files: the name of each, and where it is now.
fn table(text: &mut String, name: &str, doc: &str, files: &[(String, PathBuf)]) -> Result<()> {
    writeln!(text, "/// {doc}\npub static {name}: &[(&str, &[u8])] = &[")?;
    for (name, path) in files {
        let path = fs::canonicalize(path)?;
        writeln!(text, "    ({name:?}, include_bytes!({path:?})),")?;
    }
    writeln!(text, "];")?;
    Ok(())
}

fn sdk(root: &Path, out: &Path, text: &mut String) -> Result<()> {
    let mut files = Vec::new();
    for folder in SDK {
        println!("cargo::rerun-if-changed=../{folder}");
        below(root, folder, &mut files)?;
    }
    files.sort();
    files.dedup();
    let workspace = out.join("Cargo.toml");
    fs::write(
        &workspace,
        own_workspace(&fs::read_to_string(root.join("Cargo.toml"))?),
    )?;
    files.push(("Cargo.toml".into(), workspace));
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        files.push((licence.into(), root.join(licence)));
    }
    table(
        text,
        "SDK",
        "The SDK: path and contents of each file.",
        &files,
    )?;
    let lock = [("Cargo.lock".to_string(), root.join("Cargo.lock"))];
    let doc = "The versions of crates that the SDK is tested with.";
    table(text, "LOCK", doc, &lock)?;
    for (name, what, file) in [
        ("ORDINARY", "that run", "run.json"),
        ("LISTENING", "that listen, beside the first", "listen.json"),
        ("SERVING", "that answer requests of HTTP", "serve.json"),
    ] {
        println!("cargo::rerun-if-changed=../system/wasi/{file}");
        let path = fs::canonicalize(root.join("system/wasi").join(file))?;
        writeln!(
            text,
            "/// The system manifest for ordinary programs {what}.\n\
             pub static {name}: &[u8] = include_bytes!({path:?});"
        )?;
    }
    Ok(())
}

/// The files below a folder that builds of the SDK read: no tests.
fn below(root: &Path, folder: &str, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let name = entry?.file_name();
        let name = name.to_str().ok_or("a name in the SDK is not UTF-8")?;
        let path = format!("{folder}/{name}");
        let place = root.join(&path);
        if place.is_dir() {
            if !["tests", "proptest-regressions", "target"].contains(&name) {
                below(root, &path, files)?;
            }
        } else if !name.starts_with('.') {
            files.push((path, place));
        }
    }
    Ok(())
}

/// The workspace's manifest, with the SDK's crates as its only members.
fn own_workspace(text: &str) -> String {
    let mut out = String::from("[workspace]\nresolver = \"3\"\nmembers = [");
    let crates = || {
        SDK.into_iter()
            .filter(|folder| folder.matches('/').count() > 0)
    };
    let members: Vec<String> = crates()
        .filter(|folder| *folder != "sdk/c")
        .map(|folder| format!("{folder:?}"))
        .collect();
    out += &members.join(", ");
    out += "]\n";
    let mut kept = false;
    for line in text.lines() {
        if let Some(section) = line.strip_prefix('[') {
            kept = section.starts_with("workspace.");
        }
        let elsewhere = line
            .split_once("path = \"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .is_some_and(|(path, _)| !SDK.contains(&path));
        if kept && !elsewhere {
            out += line;
            out.push('\n');
        }
    }
    out
}

fn programs(root: &Path, out: &Path, text: &mut String) -> Result<()> {
    let whole = env::var_os("CARGO_FEATURE_WHOLE").is_some() && env::var("PROFILE")? == "release";
    let mut files = Vec::new();
    if whole {
        for folder in ["sdk", "formats", "contract", "system"] {
            println!("cargo::rerun-if-changed=../{folder}");
        }
        // …/target/release/build/sing-cli-…/out
        let target = out.ancestors().nth(4).ok_or("OUT_DIR is too short")?;
        let target = target.join("programs");
        build(root, &target)?;
        let made = target.join(WASM).join("release");
        for program in PROGRAMS {
            let module = fs::read(made.join(program).with_extension("wasm"))?;
            let stripped = out.join(program).with_extension("wasm");
            fs::write(
                &stripped,
                without_debug(&module).ok_or("a module does not read")?,
            )?;
            files.push((program.to_string(), stripped));
        }
    }
    let doc = "Programs of the system: name and module of each.";
    table(text, "PROGRAMS", doc, &files)
}

/// Builds the programs, as xtask does.
fn build(root: &Path, target: &Path) -> Result<()> {
    let mut command = Command::new(env::var_os("CARGO").ok_or("no CARGO")?);
    command
        .current_dir(root)
        .args(["build", "--release", "--locked"]);
    command.args(["--target", WASM, "--target-dir"]).arg(target);
    for setting in SETTINGS {
        command.args(["--config", setting]);
    }
    for program in PROGRAMS {
        command.args(["-p", program]);
    }
    // What cargo says to this script is not for the other build.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let inherited = ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_MAKEFLAGS"];
        let of_this_build = name.starts_with("CARGO") && !inherited.contains(&name.as_str());
        let flags = [
            "RUSTFLAGS",
            "RUSTDOCFLAGS",
            "TARGET",
            "HOST",
            "PROFILE",
            "OUT_DIR",
        ];
        if of_this_build || flags.contains(&name.as_str()) || name.starts_with("RUSTC") {
            command.env_remove(name);
        }
    }
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!(
            "the system's programs cannot be built (is the target there? \
             `rustup target add {WASM}`):\n{said}"
        )
        .into());
    }
    Ok(())
}

/// A module without what a debugger would read; `None` if it is none.
fn without_debug(module: &[u8]) -> Option<Vec<u8>> {
    let (head, mut rest) = module.split_at_checked(8)?;
    let mut out = head.to_vec();
    while !rest.is_empty() {
        let (size, head) = number(rest.get(1..)?)?;
        let (section, after) = rest.split_at_checked(1 + head + size)?;
        let content = &section[1 + head..];
        let custom = section[0] == 0;
        let (length, start) = if custom { number(content)? } else { (0, 0) };
        let name = content.get(start..start + length)?;
        if !(custom && name.starts_with(b".debug_")) {
            out.extend_from_slice(section);
        }
        rest = after;
    }
    Some(out)
}

/// A number in the format's variable length, and its bytes.
fn number(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}
