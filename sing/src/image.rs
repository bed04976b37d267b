//! `sing compile` and `sing image`: the commands that write images.

use crate::kept::{Kept, Wanted};
use crate::output::name_of;
use crate::{input, output, system};
use sing_compiler::Options;
use sing_image::shown::Shown;
use sing_image::system::{BIN, PLAN};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The options of `sing image`.
pub struct Request {
    /// The file to write.
    pub out: PathBuf,
    /// The system manifest, in one file or several.
    pub manifests: Vec<PathBuf>,
    /// Programs: name, module or image.
    pub programs: Vec<(String, PathBuf)>,
    /// Files for `/boot`: path in the archive, file.
    pub files: Vec<(String, PathBuf)>,
    /// How modules are compiled.
    pub options: Options,
    /// Whether compiled functions are kept.
    pub kept: Wanted,
    /// Whether programs may mean different contracts by one name.
    pub versions: system::Versions,
}

/// Compiles a module to an image.
pub fn compile(
    module: &PathBuf,
    out: &Path,
    options: &Options,
    kept: Wanted,
) -> Result<bool, String> {
    output::is_no_input(out, [module])?;
    let bytes = input::read(module)?;
    let started = Instant::now();
    let compiled = Kept::open(kept).compile(module, &bytes, options)?;
    let image = input::elf(&compiled, module)?;
    let took = started.elapsed();
    output::write(out, &image)?;
    for note in &compiled.notes {
        output::complain(format!("sing: {}: {note}", name_of(module)));
    }
    let stats = compiled.stats;
    output::line(format!(
        "{}: {} functions, {} bytes of WebAssembly code to {} bytes of machine code in {} ms \
         (verification {}, lines {}, translation {}, code generation {}); image of {} bytes in {}",
        name_of(module),
        stats.functions,
        stats.wasm_bytes,
        stats.code_bytes,
        took.as_millis(),
        stats.verify_ns / 1_000_000,
        stats.debug_ns / 1_000_000,
        stats.translate_ns / 1_000_000,
        stats.codegen_ns / 1_000_000,
        image.len(),
        name_of(out)
    ));
    Ok(true)
}

/// Builds a system image.
pub fn system(request: &Request) -> Result<bool, String> {
    let given = request.programs.iter().chain(&request.files);
    let given = given.map(|(_, path)| path);
    output::is_no_input(&request.out, given.chain(&request.manifests))?;
    let manifest = system::read_all(&request.manifests)?;
    let name = request
        .manifests
        .first()
        .map_or_else(String::new, |path| name_of(path).to_string());
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let kept = Kept::open(request.kept);
    for (program, path) in &request.programs {
        if program.contains('/') {
            return Err(format!(
                "--bin {program}: a program's name has no slash in it"
            ));
        }
        let image = kept.image(path, input::read(path)?, &request.options)?;
        add(&mut files, format!("{BIN}{program}"), image)?;
    }
    let plan = match system::plan_with(&manifest, &system::borrowed(&files), request.versions) {
        Ok(plan) => plan,
        Err(problems) => {
            for problem in problems {
                output::complain(format!("sing: {name}: {}", Shown(problem)));
            }
            return Ok(false);
        }
    };
    let plan = plan.encode().map_err(|e| e.message)?;
    add(&mut files, PLAN.into(), plan)?;
    for (path, file) in &request.files {
        if path.starts_with(BIN) {
            return Err(format!("--file {path}: programs are added with --bin"));
        }
        add(&mut files, path.clone(), input::read(file)?)?;
    }
    let archive = system::encode(&manifest, &files)?;
    output::write(&request.out, &archive)?;
    let programs = files.iter().filter_map(|(path, bytes)| {
        let name = path.strip_prefix(BIN)?;
        Some((name, &bytes[..]))
    });
    if let Some(note) = input::unchecked(programs) {
        output::complain(format!("sing: {}: {note}", name_of(&request.out)));
    }
    output::line(format!(
        "{}: {} program{}, {} files, {} started, {} services, {} bytes",
        name_of(&request.out),
        request.programs.len(),
        if request.programs.len() == 1 { "" } else { "s" },
        request.files.len(),
        manifest.start.len(),
        manifest.services.len(),
        archive.len()
    ));
    Ok(true)
}

fn add(files: &mut Vec<(String, Vec<u8>)>, path: String, bytes: Vec<u8>) -> Result<(), String> {
    if files.iter().any(|(other, _)| *other == path) {
        return Err(format!(
            "{path} is there already, of the system or given before; take another name"
        ));
    }
    files.push((path, bytes));
    Ok(())
}
