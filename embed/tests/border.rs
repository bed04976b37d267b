//! Drawn calls of WASI preview 1: an ordinary program that is called (`tests/ordinary/border.rs`) calls the functions with
//! whatever a seed says. Every run has directories of its own, in which it stays, and ends in time.
//!
//! Every second run is wild: flags are none, and addresses lie at the end of memory or behind it. With `SING_BORDER_PEER`, a program
//! that runs the same module (`SING_BORDER_MODULE`) within wasmtime, which ends programs for that, none is; and each call has to give
//! what it gives there, but for the differences that [`KNOWN`] names. `SING_FUZZ_SECONDS`, `SING_FUZZ_SEED` and `SING_FUZZ_ROUNDS` say how long
//! and from where on.

mod common;

use common::{number, start, turn};
use sing_embed::{Access, System};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Calls of a run.
const STEPS: u64 = 400;
/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The length of a file that no run may see.
const SECRET: usize = 12_347;

/// Directories of one run: the one that it has, and one beside it.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let path = std::env::temp_dir().join(format!("sing-border-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let (root, outside) = (path.join("root"), path.join("outside"));
        fs::create_dir_all(root.join("dir/deep")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), vec![b's'; SECRET]).unwrap();
        fs::write(root.join("file"), "hello world\n").unwrap();
        fs::write(root.join("dir/inner"), vec![7; 5000]).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("../outside/secret", root.join("up")).unwrap();
        symlink("/etc", root.join("abs")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("file", root.join("link")).unwrap();
        symlink("dir", root.join("dirlink")).unwrap();
        Tree(path)
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    /// What is there: a line for each file, with a sum of its bytes.
    fn list(&self, below: &str) -> String {
        fn add(at: &Path, name: &str, lines: &mut Vec<String>) {
            let about = fs::symlink_metadata(at).unwrap();
            if about.is_symlink() {
                lines.push(format!(
                    "{name} -> {}",
                    fs::read_link(at).unwrap().display()
                ));
            } else if about.is_dir() {
                lines.push(format!("{name}/"));
                for entry in fs::read_dir(at).unwrap() {
                    let entry = entry.unwrap();
                    let name = format!("{name}/{:?}", entry.file_name());
                    add(&entry.path(), &name, lines);
                }
            } else if about.len() < 1 << 20 {
                lines.push(format!("{name} {:x}", sum(&fs::read(at).unwrap())));
            } else {
                // Mostly holes.
                lines.push(format!("{name} of {}", about.len()));
            }
        }
        let mut lines = Vec::new();
        add(&self.0.join(below), below, &mut lines);
        lines.sort();
        lines.join("\n")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What a run has said, and what it has left in its directory.
struct Ran {
    said: String,
    left: String,
}

/// Runs a seed in the system.
fn ours(system: &System, seed: u64, wild: bool) -> Result<Ran, String> {
    let tree = Tree::new("ours");
    let outside = tree.list("outside");
    let border = system.program("border").deadline(PATIENCE);
    let border = border.dir(&tree.root(), "/work", Access::Writable);
    let border = border.arg(&seed.to_string()).arg(&STEPS.to_string());
    let border = border.arg(if wild { "wild" } else { "tame" });
    let said = border.call(b"-").map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&said).into_owned();
    if tree.list("outside") != outside {
        return Err("a file outside of its directory has changed".into());
    }
    if said.contains(&format!("size {SECRET}")) || said.contains(" of the secret") {
        return Err(format!(
            "it has seen a file outside of its directory:\n{said}"
        ));
    }
    let left = tree.list("root");
    Ok(Ran { said, left })
}

/// Runs a seed within wasmtime.
fn theirs(peer: &str, module: &str, seed: u64) -> Ran {
    let tree = Tree::new("theirs");
    let mut command = Command::new(peer);
    command.arg("run").arg("--dir");
    command.arg(format!("{}::/work", tree.root().display()));
    command
        .arg(module)
        .args([seed, STEPS].map(|n| n.to_string()));
    command.arg("tame");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the peer, seed {seed}: {error}");
    // As many as here, so that none is compared with nothing.
    assert_eq!(said.lines().count() as u64, STEPS, "the peer, seed {seed}");
    let left = tree.list("root");
    Ran { said, left }
}

/// A function, and what a call of it gives here and there.
type Difference = (String, String, String);

type Known = (&'static str, &'static str, &'static str, &'static str);

/// Where this system does something and wasmtime refuses, or the other way, and that is meant: the function, what it gives
/// here and there, and the reason.
const KNOWN: &[Known] = &[
    ("fd_advise", "0", "28", BEYOND),
    ("fd_datasync", "0", "8", DIRECTORIES),
    ("fd_filestat_set_times", "0", "8", DIRECTORIES),
    ("fd_pread", "0", "28", BEYOND),
    ("fd_read", "0", "28", BEYOND),
    ("fd_sync", "0", "8", DIRECTORIES),
    ("fd_seek", "28", "0", PLACES),
    ("path_filestat_get", "28", "0", SLASH),
    ("path_filestat_get", "32", "0", SLASH),
    ("path_filestat_get", "44", "0", SLASH),
    ("path_filestat_get", "54", "0", SLASH),
    ("path_filestat_get", "63", "0", SLASH),
    ("path_filestat_set_times", "37", "0", NOTHING),
    ("path_filestat_set_times", "44", "0", NOTHING),
    ("path_filestat_set_times", "54", "0", NOTHING),
    ("path_open", "0", "0", NUMBER),
    ("path_readlink", "0", "63", ABSOLUTE),
    ("path_remove_directory", "0", "28", LONG),
];
const BEYOND: &str = "wasmtime refuses where no file can have bytes, and here there are none";
const NOTHING: &str = "wasmtime does not look for a file of which no time is to be set";
const DIRECTORIES: &str = "wasmtime does this for files alone, Linux for directories, too";
const SLASH: &str = "with a slash behind it only a directory is meant, as on Linux; wasmtime looks at what is there";
const NUMBER: &str = "the descriptor has another number: here the lowest that is free";
const PLACES: &str = "wasmtime goes to a place behind the last that a file can have";
const LONG: &str = "wasmtime counts the slash behind a name of the most bytes";
const ABSOLUTE: &str = "wasmtime tells no absolute target";

/// The name of a line's function, and its errno.
fn parts(line: &str) -> (&str, &str) {
    let name = line.split(' ').nth(1).unwrap_or_default();
    let errno = line.rsplit_once(" = ").map_or("", |(_, result)| result);
    (name, errno.split(' ').next().unwrap_or_default())
}

/// Whether such a call has left files and descriptors alike.
fn changes_nothing(name: &str, own: &str, other: &str) -> bool {
    let known = |k: &&Known| (k.0, k.1, k.2) == (name, own, other);
    KNOWN
        .iter()
        .any(|k| known(&k) && !["fd_seek", "path_open", "path_remove_directory"].contains(&name))
}

fn compare(
    ours: &Ran,
    theirs: &Ran,
    seen: &mut BTreeMap<Difference, (u64, String)>,
    seed: u64,
) -> u64 {
    let mut same = 0;
    for (own, other) in ours.said.lines().zip(theirs.said.lines()) {
        if own == other {
            same += 1;
            continue;
        }
        let ((name, a), (_, b)) = (parts(own), parts(other));
        let kind = (name.to_owned(), a.to_owned(), b.to_owned());
        let example = format!("seed {seed}:\n    ours   {own}\n    theirs {other}");
        seen.entry(kind).or_insert((0, example)).0 += 1;
        // Whatever comes now is of other files, but where neither has changed any.
        let both_fail = a != "0" && b != "0" || changes_nothing(name, a, b);
        let same_call = own.split(" = ").next() == other.split(" = ").next();
        if !both_fail || !same_call {
            return same;
        }
    }
    if ours.left != theirs.left {
        let kind = ("left".to_owned(), String::new(), String::new());
        let example = format!("seed {seed}:\n{}\nand\n{}", ours.left, theirs.left);
        seen.entry(kind).or_insert((0, example)).0 += 1;
    }
    same
}

#[test]
#[ignore = "needs a system image: cargo xtask test fuzz-wasi"]
fn drawn_calls_of_wasi_stay_in_their_directory() {
    let _turn = turn();
    let system = start();
    let first = number("SING_FUZZ_SEED").unwrap_or(1);
    let rounds = number("SING_FUZZ_ROUNDS").unwrap_or(u64::MAX);
    let end = Instant::now() + Duration::from_secs(number("SING_FUZZ_SECONDS").unwrap_or(3));
    let peer = std::env::var("SING_BORDER_PEER").ok();
    let module = std::env::var("SING_BORDER_MODULE").unwrap_or_default();
    let mut seen = BTreeMap::new();
    let (mut runs, mut same) = (0, 0);
    while runs < rounds && Instant::now() < end {
        let seed = first + runs;
        let own = match ours(&system, seed, peer.is_none() && seed.is_multiple_of(2)) {
            Ok(own) => own,
            Err(error) => panic!("seed {seed}: {error}\n{}", system.log().join("\n")),
        };
        assert_eq!(own.said.lines().count() as u64, STEPS, "seed {seed}");
        match &peer {
            Some(peer) => same += compare(&own, &theirs(peer, &module, seed), &mut seen, seed),
            None => same += STEPS,
        }
        runs += 1;
    }
    println!("{runs} runs from seed {first}, {same} calls alike");
    let (mut findings, mut refused) = (String::new(), 0);
    for ((name, own, other), (count, example)) in &seen {
        let is_known = |known: &&Known| (known.0, known.1, known.2) == (name, own, other);
        match KNOWN.iter().find(is_known) {
            Some(known) => println!("{count:>6} {name}: {own} for {other}: {}", known.3),
            // Both refuse; of several reasons each names the one that it looks for first.
            None if own != "0" && other != "0" && name != "left" => refused += count,
            None => {
                let _ = writeln!(findings, "{count:>6} {name}: {own} for {other}, {example}");
            }
        }
    }
    println!("{refused:>6} refused here and there, with different reasons");
    assert!(findings.is_empty(), "{findings}");
}
