//! Projects outside this repository: the command is installed as its users do, and makes, builds,
//! runs and tests projects in a folder elsewhere.

use super::{Report, Run};
use crate::programs::copy_all;
use crate::{build, cargo, files};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The crates of the SDK, each after those that it needs.
const SDK: [&str; 5] = [
    "sing-abi",
    "sing-image",
    "sing-contract",
    "sing-macros",
    "sing-sdk",
];

/// Installs the command and works with it.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let folder = std::env::temp_dir().join(format!("sing-own-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let own = Own { run, folder };
    if run.wants("packages") {
        report.count("packages", own.packages().map_err(|e| format!("{e:#}")));
    }
    let outcome = own.install().map_err(|e| format!("{e:#}"));
    let installed = outcome.is_ok();
    report.count("installation", outcome);
    if installed {
        // Projects stand for themselves, also in the folder of somebody's workspace.
        fs::write(own.folder.join("Cargo.toml"), "[workspace]\n")?;
        type Test = fn(&Own<'_>) -> Result<()>;
        let all: [(&str, Test); 9] = [
            ("a program", program),
            ("a service", service),
            ("a client", client),
            ("the tutorial", tutorial),
            ("a service in C", in_c),
            ("a project of an ordinary program", ordinary_project),
            ("an ordinary program", ordinary),
            ("bad input", bad_input),
            ("help", help),
        ];
        for (name, test) in all.into_iter().filter(|(name, _)| run.wants(name)) {
            report.count(name, test(&own).map_err(|e| format!("{e:#}")));
        }
    }
    fs::remove_dir_all(&own.folder).ok();
    Ok(report)
}

struct Own<'a> {
    run: &'a Run,
    folder: PathBuf,
}

impl Own<'_> {
    /// The crates of the SDK can be packaged, without a warning, and have all that they read.
    fn packages(&self) -> Result<()> {
        let words = ["package", "--no-verify", "--offline", "--allow-dirty"];
        let mut command = cargo::command(&self.run.project.root, &words);
        for package in SDK {
            command.args(["-p", package]);
        }
        command.arg("--target-dir").arg(&self.folder);
        let outcome = cargo::capture(&mut command, "packaging the SDK")?;
        ensure!(
            outcome.success && !outcome.output.contains("warning"),
            "{}",
            outcome.output
        );
        let words = ["package", "--list", "--allow-dirty", "-p", "sing-sdk"];
        let outcome = cargo::capture(
            &mut cargo::command(&self.run.project.root, &words),
            "listing the SDK",
        )?;
        for file in [
            "contracts/system.contract",
            "src/host/world.rs",
            "README.md",
        ] {
            let there = outcome.output.lines().any(|line| line == file);
            ensure!(there, "no {file} in {}", outcome.output);
        }
        Ok(())
    }

    fn install(&self) -> Result<()> {
        let words = [
            "install",
            "--locked",
            "--offline",
            "--path",
            "sing",
            "--root",
        ];
        let mut command = cargo::command(&self.run.project.root, &words);
        // Where the parts of the suite have built most of it.
        command
            .arg(&self.folder)
            .env("CARGO_TARGET_DIR", &self.run.project.target);
        cargo::quiet(&mut command, "installing sing")?;
        let made: Vec<_> = fs::read_dir(self.folder.join("bin"))?.flatten().collect();
        let names: Vec<_> = made.iter().map(fs::DirEntry::file_name).collect();
        ensure!(names == ["sing"], "{names:?} are installed");
        Ok(())
    }

    /// Runs the command in a folder below the test's.
    fn sing(&self, folder: &str, words: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.folder.join("bin/sing"));
        command.args(words).current_dir(self.folder.join(folder));
        // All that the SDK needs has been fetched for this repository, in the same versions.
        command.env("CARGO_NET_OFFLINE", "true");
        // Crates from elsewhere are built once for all projects.
        command.env("CARGO_TARGET_DIR", self.folder.join("target"));
        command.env("XDG_CACHE_HOME", self.folder.join("caches"));
        // A person's flags are for other builds.
        command.env("RUSTFLAGS", "--cfg something");
        Ok(command.output()?)
    }

    /// Runs it, and it succeeds; what it printed.
    fn done(&self, folder: &str, words: &[&str]) -> Result<String> {
        let output = self.sing(folder, words)?;
        ensure!(output.status.success(), "{words:?}: {}", shown(&output));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs it, and it is refused, with these words.
    fn refused(&self, folder: &str, words: &[&str], status: i32, because: &str) -> Result<()> {
        let output = self.sing(folder, words)?;
        ensure!(
            output.status.code() == Some(status)
                && String::from_utf8_lossy(&output.stderr).contains(because),
            "{words:?}: no status {status} and {because:?}: {}",
            shown(&output)
        );
        Ok(())
    }
}

fn shown(output: &Output) -> String {
    format!(
        "{:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Replaces a part of a file, which is there.
fn edit(path: &Path, old: &str, new: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    ensure!(text.contains(old), "no {old:?} in {}", path.display());
    files::write(path, text.replace(old, new))
}

fn program(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "hello"])?;
    let built: Value = serde_json::from_str(&own.done("hello", &["build", "--json"])?)?;
    let image = built["image"].as_str().context("no image")?;
    ensure!(
        Some(fs::metadata(image)?.len()) == built["bytes"].as_u64(),
        "{built} is not the image's size"
    );
    let programs = built["programs"].as_array().context("no programs")?;
    let names: Vec<_> = programs.iter().map(|program| &program["name"]).collect();
    ensure!(names == ["hello", "show"], "{built}");
    // The figure that the book has for a system of two programs without a shell.
    let size = fs::metadata(image)?.len();
    ensure!(size < 144 << 10, "{size} bytes");
    let said = own.done("hello", &["run"])?;
    ensure!(said == "Hello from hello.\n", "{said:?}");
    let said = own.done("hello/src", &["run", "--", "Ada", "Grace"])?;
    ensure!(said == "Hello, Ada and Grace.\n", "{said:?}");
    let said = own.done("", &["boot", image, "Ada"])?;
    ensure!(said == "Hello, Ada.\n", "{said:?}");
    let said = own.done("hello", &["test"])?;
    ensure!(said.contains("everybody_is_greeted ... ok"), "{said}");
    own.refused("hello", &["run", "--", "--loud"], 2, "")?;
    // A failing test is a failure.
    let test = own.folder.join("hello/tests/greeting.rs");
    edit(&test, "Hello, Ada", "Farewell, Ada")?;
    own.refused("hello", &["test"], 101, "")?;
    edit(&test, "Farewell, Ada", "Hello, Ada")
}

fn service(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "--service", "my-adder"])?;
    let said = own.done("my-adder", &["run"])?;
    ensure!(said == "1\n21\n321\n", "{said:?}");
    let said = own.done("my-adder", &["test"])?;
    for name in ["numbers_are_added_up", "each_number_is_sent_by_itself"] {
        ensure!(said.contains(&format!("{name} ... ok")), "{said}");
    }
    let said = own.done("my-adder", &["check"])?;
    ensure!(said.contains("my-adder-client"), "{said}");
    own.done("my-adder", &["check", "contracts", "my-adder.contract"])?;
    own.done("my-adder", &["fmt", "--check", "my-adder.contract"])?;
    // The status is that of the client, which a trap ends with 134.
    let client = own.folder.join("my-adder/src/bin/my-adder-client.rs");
    edit(&client, "println!(\"{total}\");", "assert!(total < 20);")?;
    own.refused("my-adder", &["run"], 134, "")
}

fn client(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "--client", "asker"])?;
    let said = own.done("asker", &["run", "--", "2"])?;
    let lines: Vec<_> = said.lines().collect();
    ensure!(
        lines.len() == 2 && lines.iter().all(|line| line.ends_with("since 1970")),
        "{said:?}"
    );
    let said = own.done("asker", &["test"])?;
    for name in [
        "an_answer_is_shown",
        "a_service_that_has_gone_is_found_again",
    ] {
        ensure!(said.contains(&format!("{name} ... ok")), "{said}");
    }
    let said = own.done("asker", &["check"])?;
    ensure!(said.contains("clock"), "{said}");
    Ok(())
}

/// The application of the book's tutorial, made and run as that says. That the chapter shows these
/// files is checked with the documentation.
fn tutorial(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "--service", "store"])?;
    fs::remove_file(own.folder.join("store/tests/conversation.rs"))?;
    let root = &own.run.project.root;
    copy_all(&root.join("examples/store"), &own.folder.join("store"))?;
    let book = fs::read_to_string(root.join("docs/src/tutorial.md"))?;
    let mut lines = book.lines();
    let words = lines.find_map(|line| line.strip_prefix("$ sing run "));
    let words = words.context("the chapter does not run it")?;
    let shown: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    let words: Vec<&str> = ["run"].into_iter().chain(words.split(' ')).collect();
    for _ in 0..3 {
        let said = own.done("store", &words)?;
        ensure!(said.lines().eq(shown.iter().copied()), "{said:?}");
    }
    let said = own.done("store", &["test"])?;
    for name in ["a_subscriber_is_told", "the_writer_says_what_its_words_say"] {
        ensure!(said.contains(&format!("{name} ... ok")), "{said}");
    }
    let said = own.done("store", &["check"])?;
    ensure!(said.contains("/store (StoreContract)"), "{said}");
    own.done("store", &["check", "contracts", "store.contract"])?;
    own.done("store", &["fmt", "--check", "store.contract"])?;
    // A case that is left out does not compile.
    let service = own.folder.join("store/src/service.rs");
    edit(
        &service,
        "case service.clients[_].ChannelClosed() => {}",
        "",
    )?;
    own.refused("store", &["build"], 1, "ChannelClosed")
}

fn in_c(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "--c", "c-adder"])?;
    let said = own.done("c-adder/c", &["run"])?;
    ensure!(said == "1\n3\n6\nc-adder: 6 in all\n", "{said:?}");
    let said = own.done("c-adder", &["run", "--", "1"])?;
    ensure!(said == "1\nc-adder: 1 in all\n", "{said:?}");
    own.done("c-adder", &["check"])?;
    own.refused("c-adder", &["test"], 1, "programs in C have no tests")?;
    own.refused(
        "c-adder",
        &["run", "--dir", "."],
        1,
        "for ordinary programs",
    )?;
    // The type is the state of the conversation.
    let service = own.folder.join("c-adder/c/c-adder/service.c");
    edit(&service, "_send_Sum(asked.Add.next", "_send_Sum(client")?;
    own.refused("c-adder", &["build"], 1, "incompatible type")?;
    edit(&service, "_send_Sum(client", "_send_Sum(asked.Add.next")?;
    // One program by itself.
    let files = ["c-adder/c/c-adder/service.c", "c-adder/c-adder.contract"];
    own.done("", &[&["cc", "-o", "one.wasm"], &files[..]].concat())?;
    let said = own.done("", &["verify", "one.wasm"])?;
    ensure!(said.contains("CAdderContract"), "{said}");
    own.refused(
        "",
        &["cc", "-o", "two.wasm", files[1]],
        1,
        "at least one source",
    )?;
    own.refused(
        "",
        &["cc", "-o", "two.wasm", "words.wasm"],
        1,
        "words.wasm: neither",
    )
}

fn ordinary_project(own: &Own<'_>) -> Result<()> {
    own.done("", &["new", "--wasi", "counter"])?;
    let said = own.done("counter", &["run", "--dir", ".", "--", "README.md"])?;
    ensure!(said.starts_with("README.md: 1"), "{said:?}");
    own.refused("counter", &["run", "--", "README.md"], 1, "README.md: ")?;
    let said = own.done("counter/src", &["test"])?;
    ensure!(
        said.contains("lines_and_words_are_counted ... ok"),
        "{said}"
    );
    let built: Value = serde_json::from_str(&own.done("counter", &["build", "--json"])?)?;
    let module = built["module"].as_str().context("no module")?;
    ensure!(module.ends_with("counter.wasm"), "{built}");
    let said = own.done("counter", &["check"])?;
    ensure!(said.contains("a proper SIP"), "{said}");
    edit(
        &own.folder.join("counter/src/main.rs"),
        "println!",
        "unknown!",
    )?;
    own.refused("counter", &["build"], 1, "unknown")
}

/// Twice: the second time the services have been compiled.
fn ordinary(own: &Own<'_>) -> Result<()> {
    let text = own.run.project.root.join("tests/ordinary/words.wat");
    build::module_of_text(&own.run.project, &text, &own.folder.join("words.wasm"))?;
    for _ in 0..2 {
        let output = own.sing("", &["run", "words.wasm", "a b"])?;
        ensure!(
            output.status.code() == Some(7) && output.stdout == b"words.wasm\0a b\0",
            "{}",
            shown(&output)
        );
    }
    let kept = fs::read_dir(own.folder.join("caches/singularity"))?.flatten();
    ensure!(kept.count() > 1, "services and program are not both kept");
    Ok(())
}

fn bad_input(own: &Own<'_>) -> Result<()> {
    for (words, status, because) in [
        (&["new"][..], 2, "name a folder"),
        (&["new", "--c", "--wasi", "a"], 2, "of one kind"),
        (&["new", "Hello"], 1, "cannot be a program's name"),
        (&["new", "fn"], 1, "a word of Rust"),
        (&["new", "console"], 1, "a program of the system"),
        (&["new", "bin/../bin"], 1, "is there already"),
        (&["new", "/proc/no/a"], 1, "cannot be made"),
        (&["new", "größe"], 1, "small letters"),
        (&["new", ""], 1, "`sing new NAME`"),
        (&["new", ".."], 1, "no name"),
        (&["build"], 1, "there is no project here"),
        (&["run"], 1, "`sing new NAME` makes one"),
        (&["boot", "no.img"], 161, "no.img"),
    ] {
        own.refused("", words, status, because)?;
    }
    // Folders above it are made, as cargo makes them; an absolute path is as good.
    own.done("", &["new", "above/it/deep"])?;
    let whole = own.folder.join("above/whole").display().to_string();
    own.done("", &["new", &whole])?;
    for folder in ["above/it/deep", "above/whole"] {
        let made = own.folder.join(folder).join("Cargo.toml");
        ensure!(made.is_file(), "{}: was not made", made.display());
    }
    // The SDK has been built in it, if the other tests run, too.
    let project = own.folder.join("hello");
    if !project.exists() {
        own.done("", &["new", "hello"])?;
    }
    let system = project.join("system.json");
    edit(&system, "\"image\": \"show\"", "\"image\": \"shown\"")?;
    own.refused("hello", &["build"], 1, "names the program \"shown\"")?;
    edit(&system, "\"image\": \"shown\"", "\"image\": \"show\"")?;
    edit(&system, "\"endpoint\": \"stdout\"", "\"endpoint\": \"out\"")?;
    own.refused("hello", &["build"], 1, "\"out\"")?;
    files::write(&system, "{")?;
    own.refused("hello", &["build"], 1, "system.json: does not read")?;
    edit(&project.join("src/main.rs"), "println!", "unknown!")?;
    files::write(&system, "{ \"start\": [] }")?;
    own.refused("hello", &["build"], 1, "unknown")
}

fn help(own: &Own<'_>) -> Result<()> {
    let version = own.done("", &["--version"])?;
    ensure!(version.starts_with("sing "), "{version}");
    let all = own.done("", &["help"])?;
    for command in [
        "new", "build", "run", "test", "check", "image", "boot", "cc",
    ] {
        let line = format!("\n  {command} ");
        ensure!(all.contains(&line), "{command} is not in {all}");
        let page = own.done("", &["help", command])?;
        ensure!(page.starts_with(&format!("sing {command}: ")), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = own.done("", &["completions", shell])?;
        ensure!(script.contains("build"), "{script}");
    }
    Ok(())
}
