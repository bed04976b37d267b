//! What `sing run` keeps of a module that it has compiled, and what it does where it cannot keep anything.

use super::{NOBODY_READS, Ordinary, is, says};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The number of `fbig` in WASI.
const FILE_TOO_LARGE: i32 = 22;
/// After so long without a change a module's stamp counts.
const SETTLED: Duration = Duration::from_millis(3100);

/// Files that may not become larger (`ulimit -f`): a program's write says so, and the system goes on until its
/// own output is such a file, which it says, too. Neither that signal nor the one of a reader that has gone
/// ends it, whichever thread writes: some file systems let the kernel's write.
pub fn file_limit(machine: &Ordinary<'_>) -> Result<()> {
    let shared = machine.folder.join("limited");
    fs::create_dir_all(&shared)?;
    let content = [b'x'; 4096];
    fs::write(shared.join("in.txt"), content)?;
    let option = format!("{}::/", shared.display());
    let options = ["--dir", &option];
    // Compiled first: the image that is kept is a file, too.
    is(&machine.run(&options, "file", &[], b"")?, 0, &content)?;
    let module = machine.module("file")?;
    let limited = |blocks: u32, cache: &str, output: &str| {
        let line = format!("ulimit -f {blocks}; exec \"$@\" {output}");
        let mut command = Command::new("sh");
        command.env("SING_CACHE", machine.folder.join(cache));
        command.args(["-c", &line, "sh"]);
        command.arg(machine.run.project.host_binary("sing"));
        command.arg("run").args(options).arg(&module);
        command.stdin(Stdio::null()).output()
    };
    let out = shared.join("out.txt");
    // Blocks of 512 bytes: some of the content, and none.
    for (blocks, status) in [(1, 0), (0, FILE_TOO_LARGE)] {
        fs::remove_file(&out)?;
        is(&limited(blocks, "cache", "")?, status, &content)?;
        let len = fs::metadata(&out)?.len();
        ensure!(len == u64::from(blocks) * 512, "{len} bytes were written");
    }
    let into = format!(">'{}'", shared.join("output").display());
    let output = limited(1, "cache", &into)?;
    is(&output, NOBODY_READS, b"")?;
    says(&output, "cannot write the output: File too large")?;
    // Nothing is kept, and what would be used without that is a file, too.
    let output = limited(1, "small", "")?;
    says(
        &output,
        "larger than files may be here; raise the limit (`ulimit -f`)",
    )?;
    let mut child = machine.waiting()?;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    child.kill()?;
    child.wait()?;
    let status = status?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.context("no signals in the status")?.trim(), 16)?;
    for (signal, name) in [(13, "SIGPIPE"), (25, "SIGXFSZ")] {
        ensure!(
            ignored >> (signal - 1) & 1 == 1,
            "{name} ends it: {ignored:#x}"
        );
    }
    Ok(())
}

/// The second run of a module takes what the first compiled; another module, or a changed file of
/// the cache, does not, whether or not both files are known by their stamps.
pub fn compiled_once(machine: &Ordinary<'_>) -> Result<()> {
    let cache = machine.folder.join("kept");
    let module = machine.folder.join("program.wasm");
    let run = |options: &[&str], status, words: &[&str]| {
        let output = machine.run_with_cache(&cache, options, &module, &["a"], b"in")?;
        ensure!(output.status.code() == Some(status), "{output:?}");
        words.iter().try_for_each(|word| says(&output, word))
    };
    fs::copy(machine.module("words")?, &module)?;
    run(&["-v"], 7, &["compiled in", "kept as"])?;
    run(&["-v"], 7, &["compiled before"])?;
    run(&["-v", "--no-cache"], 7, &["compiled in"])?;
    let kept = largest_file(&cache)?;
    let changed = ["its contents have changed", "compiled in", "kept as"];
    let bytes = spoil(&kept)?;
    run(&["-v"], 7, &changed)?;
    run(&["-v"], 7, &["compiled before"])?;
    // The module's stamp counts from now on: the next run leaves a record, the one after it reads that.
    std::thread::sleep(SETTLED);
    run(&["-v"], 7, &["compiled before"])?;
    let files = fs::read_dir(&cache)?.count();
    ensure!(files == 3, "{files} files: image, functions and record");
    run(&["-v"], 7, &["compiled before"])?;
    spoil(&kept)?;
    run(&["-v"], 7, &changed)?;
    run(&["-v"], 7, &["compiled before"])?;
    let middle = bytes.len() / 2;
    fs::write(&kept, &bytes[..middle])?;
    run(&["-v"], 7, &["is not used", "compiled in", "kept as"])?;
    // Of another program, which has the name, only what is different is compiled: not the adapter.
    fs::copy(machine.module("copy")?, &module)?;
    let output = machine.run_with_cache(&cache, &["-v"], &module, &[], b"in")?;
    is(&output, 0, b"in")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counts = said
        .split_once(" s, ")
        .and_then(|(_, rest)| rest.split_once(" functions"));
    let (anew, all) = counts
        .and_then(|(counts, _)| counts.split_once(" of "))
        .context("no counts")?;
    let (anew, all): (u32, u32) = (anew.parse()?, all.parse()?);
    ensure!(
        anew > 0 && anew < all / 4,
        "{anew} of {all} functions were compiled"
    );
    run(&["-v"], 0, &["compiled before"])
}

/// Changes a byte in the middle of a file: its bytes.
fn spoil(file: &Path) -> Result<Vec<u8>> {
    let mut bytes = fs::read(file)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, &bytes)?;
    Ok(bytes)
}

/// Programs run without a cache, too; one that others could reach is not used, which is said.
pub fn unusable_cache(machine: &Ordinary<'_>) -> Result<()> {
    let module = machine.module("words")?;
    let run = |cache: &Path, options: &[&str]| -> Result<String> {
        let output = machine.run_with_cache(cache, options, &module, &[], b"")?;
        is(&output, 7, b"words.wasm\0")?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let open = machine.folder.join("open");
    fs::create_dir(&open)?;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755))?;
    let said = run(&open, &[])?;
    ensure!(
        said.contains("not kept") && said.contains("chmod 700"),
        "{said}"
    );
    ensure!(fs::read_dir(&open)?.next().is_none(), "the cache was used");
    // A file in the way, as for a directory that cannot be written.
    let below = module.join("below");
    ensure!(run(&below, &[])? == "error\n", "more was said");
    let said = run(&below, &["-v"])?;
    ensure!(said.contains("not kept"), "{said}");
    let said = run(Path::new("off"), &["-v"])?;
    ensure!(
        said.contains("compiled in") && !said.contains("kept"),
        "{said}"
    );
    Ok(())
}

/// The file with the image: that with the functions is smaller.
fn largest_file(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |about| about.len());
    files
        .into_iter()
        .max_by_key(size)
        .context("nothing was kept")
}
