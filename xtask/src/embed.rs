//! The system image for programs that the system is embedded in: it starts nothing, and has
//! programs to be called.

use crate::image::{self, MemoryMode};
use crate::project::{Maker, Program, Project};
use crate::{build, cargo, wasi};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The system manifest.
const SYSTEM: &str = "system/embed.json";
/// Programs of the system, and of the tests, that it has.
const PROGRAMS: [&str; 5] = ["brood", "hello", "host-directory", "plugin", "shelf"];
/// The examples' programs.
const EXAMPLES: [&str; 4] = ["notes", "rogue", "shout", "words"];
/// An ordinary program, which `sing` joins with the adapter.
const ORDINARY: &str = "called";

/// Builds the image for the tests, the example and the benchmark.
pub fn image(project: &Project) -> Result<PathBuf> {
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
    let text = project.root.join(format!("tests/ordinary/{ORDINARY}.wat"));
    let module = folder.join(format!("{ORDINARY}.wasm"));
    build::module_of_text(project, &text, &module)?;
    let mut command = image::packing(project, SYSTEM, &out, images);
    let program = format!("{ORDINARY}={}", module.display());
    command.env("SING_CACHE", "off").args(["--bin", &program]);
    cargo::quiet(&mut command, "packing the image for embedding")?;
    Ok(out)
}
