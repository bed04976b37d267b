//! The system image for programs that the system is embedded in: it starts nothing, and has
//! programs to be called.

use crate::image::{self, MemoryMode};
use crate::project::{Maker, Program, Project};
use crate::{build, cargo, wasi};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The system manifest.
const SYSTEM: &str = "system/embed.json";
/// Programs of the system, and of the tests, that it has.
const PROGRAMS: [&str; 7] = [
    "brood",
    "dice",
    "hello",
    "host-directory",
    "plugin",
    "shelf",
    "talker",
];
/// The examples' programs.
const EXAMPLES: [&str; 5] = ["notes", "rogue", "search", "shout", "words"];
/// Ordinary programs, which `sing` joins with the adapter.
const ORDINARY: [&str; 2] = ["called", "copy"];
/// Those in Rust with its standard library, and their target.
const RUST: [&str; 2] = ["border", "call"];
const TARGET: &str = "wasm32-wasip1";

/// Builds the image for the example and the benchmark.
pub fn image(project: &Project) -> Result<PathBuf> {
    with_modules(project, &[])
}

/// Builds the image for the tests, which has ordinary programs in Rust, too.
pub fn image_for_tests(project: &Project) -> Result<PathBuf> {
    let modules: Vec<(&str, PathBuf)> = RUST
        .into_iter()
        .map(|name| Ok((name, module(project, name)?)))
        .collect::<Result<_>>()?;
    with_modules(project, &modules)
}

/// Compiles an ordinary program in Rust; where its module is.
pub fn module(project: &Project, name: &str) -> Result<PathBuf> {
    let folder = project.out();
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let module = folder.join(format!("{name}.wasm"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "--target", TARGET]);
    rustc.arg(project.root.join(format!("tests/ordinary/{name}.rs")));
    rustc.arg("-o").arg(&module);
    let why = format!("compiling {name}.rs (`rustup target add {TARGET}` installs its target)");
    cargo::quiet(&mut rustc, &why)?;
    Ok(module)
}

/// Builds an image that has these ordinary programs, too.
fn with_modules(project: &Project, modules: &[(&str, PathBuf)]) -> Result<PathBuf> {
    let examples = EXAMPLES.map(|name| Program {
        maker: Maker::Cargo(name.into()),
        name: name.into(),
        test: false,
    });
    let listed = project.programs.iter();
    let listed = listed.filter(|program| PROGRAMS.contains(&program.name.as_str()));
    let programs: Vec<&Program> = listed.chain(&examples).collect();
    build::tools_and_programs(project, &programs)?;
    let images = image::compile(project, &programs, MemoryMode::Guard)?;
    let folder = project.out();
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let out = folder.join("embed.img");
    // What `sing` needs for an ordinary program.
    wasi::base(project)?;
    let mut command = image::packing(project, SYSTEM, &out, images);
    command.env("SING_CACHE", "off");
    let mut add = |name: &str, module: &Path| {
        let program = format!("{name}={}", module.display());
        command.args(["--bin", &program]);
    };
    for name in ORDINARY {
        let text = project.root.join(format!("tests/ordinary/{name}.wat"));
        let module = folder.join(format!("{name}.wasm"));
        build::module_of_text(project, &text, &module)?;
        add(name, &module);
    }
    for (name, module) in modules {
        add(name, module);
    }
    cargo::quiet(&mut command, "packing the image for embedding")?;
    Ok(out)
}
