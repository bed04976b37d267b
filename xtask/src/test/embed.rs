//! The system inside a program: the tests of `embed/`, which call programs of an image, and the
//! example of a program with a plug-in.

use super::{Report, Run, unit};
use crate::{build, cargo, embed};
use anyhow::{Context, Result};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// What the example says.
const SAID: &str = "HELLO
shout has crashed: unreachable code was reached
shout has not answered within 100ms, and was ended
BYE
";

/// A text, words that are looked for there, and what the example of a conversation says of them.
const TEXT: &str = "The quick fox\njumps over the\nlazy dog.\n";
const WORDS: [&str; 3] = ["the", "Dog", "cat"];
const FOUND: &str = "the: 1, 2
Dog: 3
cat is in no line
";

/// What the example in C says: the status of each call, and the answer or what went wrong.
const SAID_IN_C: &str = "0 HELLO
2 shout has crashed: unreachable code was reached
5 shout has used the processor for 50ms, and was ended
0 BYE
0 AGAIN
8 a call of no bytes; a call has one at least
8
";

/// What a program in C says that calls with arguments and an environment.
const WORDS_IN_C: &str = r#"0 call
None

0 call
a b
--env=x
HOME=/
A=b=c
Some("/")

0 call
None

8 the word "\xff" is no UTF-8
8 "HOME" in the environment is not NAME=VALUE
8 call: a variable of its environment cannot have the name "": it has a byte at least, and no `=`
"#;

/// Programs in C, and what they say.
const IN_C: [(&str, &str, &str); 2] = [
    ("c-host", "examples/c-host/main.c", SAID_IN_C),
    ("c-words", "embed/c/tests/words.c", WORDS_IN_C),
];

/// Calls of the host of tools, and what it answers.
const CALLS: &str = "examples/tool-host/calls.jsonl";
const ANSWERS: [&str; 16] = [
    r#"{"id":1,"result":{"characters":13,"lines":2,"words":3}}"#,
    r#"{"id":2,"error":{"kind":"refused","text":"words refuses: it needs the argument `text`, a string"}}"#,
    r#"{"id":3,"error":{"kind":"time","text":"rogue has used the processor for 100ms, and was ended"}}"#,
    r#"{"id":4,"error":{"kind":"deadline","text":"rogue has not answered within 500ms, and was ended"}}"#,
    r#"{"id":5,"error":{"kind":"memory","text":"rogue has ended for lack of memory"#,
    r#"{"id":6,"error":{"kind":"crashed","text":"rogue has crashed: unreachable code was reached"#,
    r#"{"id":7,"error":{"kind":"refused","text":"rogue refuses: an answer of 1048576 bytes; 1048512 are the most"}}"#,
    r#"{"id":8,"error":{"kind":"answer","text":"rogue has not answered in JSON"}}"#,
    r#"{"id":9,"error":{"kind":"tool","text":"no tool files; there are: words: counts"#,
    r#"{"id":null,"error":{"kind":"call","text":"expected ident"#,
    r#"{"id":11,"result":"written"}"#,
    r#"{"id":12,"result":"0 ways have led out"}"#,
    r#"{"id":13,"result":"a secret of this tool's"}"#,
    r#"{"id":14,"error":{"kind":"refused","text":"notes refuses: "#,
    r#"{"id":15,"result":["diary"]}"#,
    r#"{"id":10,"result":{"characters":11,"lines":1,"words":2}}"#,
];

/// Runs all.
pub fn check(run: &Run) -> Result<Report> {
    let image = embed::image_for_tests(&run.project)?;
    let mut line = vec!["test", "--release", "--no-fail-fast"];
    line.extend(["-p", "sing-embed", "-p", "sing-hosted"]);
    line.extend([
        "--test",
        "calls",
        "--test",
        "callers",
        "--test",
        "directories",
        "--test",
        "random",
        "--test",
        "talks",
        "--test",
        "words",
        "--test",
        "returned",
        "--test",
        "embedded",
        "--test",
        "lent",
    ]);
    line.extend(run.filter.as_deref());
    line.extend(["--", "--include-ignored"]);
    let mut command = cargo::command(&run.project.root, &line);
    command.env("SING_EMBED_IMAGE", &image);
    let outcome = cargo::capture(&mut command, "calling into an embedded system")?;
    let mut report = unit::read(&outcome.output);
    if !outcome.success && report.failures.is_empty() {
        report.count("sing-embed", Err(outcome.output));
    }
    if run.wants("plugin-host") {
        let said = example(run, &image).map_err(|error| format!("{error:#}"));
        report.count("plugin-host", said.and_then(|said| is(&said, SAID)));
    }
    if run.wants("search-host") {
        let said = search(run, &image).map_err(|error| format!("{error:#}"));
        report.count("search-host", said.and_then(|said| is(&said, FOUND)));
    }
    if run.wants("tool-host") {
        let said = tools(run, &image).map_err(|error| format!("{error:#}"));
        report.count("tool-host", said.and_then(|said| answers(&said)));
    }
    for (name, source, wanted) in IN_C.into_iter().filter(|(name, ..)| run.wants(name)) {
        match run.without.clang() {
            Some(reason) => report.skipped.push(format!("{name}: {reason}")),
            None => {
                let said = in_c(run, name, source, &image).map_err(|error| format!("{error:#}"));
                report.count(name, said.and_then(|said| is(&said, wanted)));
            }
        }
    }
    Ok(report)
}

fn is(said: &str, wanted: &str) -> Result<(), String> {
    match said == wanted {
        true => Ok(()),
        false => Err(format!("it has said\n{said}and not\n{wanted}")),
    }
}

/// Runs the example; what it has said.
fn example(run: &Run, image: &Path) -> Result<String> {
    build::host(&run.project, &["plugin-host"])?;
    said(Command::new(run.project.host_binary("plugin-host")).arg(image))
}

/// Has the example of a conversation look for words; what it has said.
fn search(run: &Run, image: &Path) -> Result<String> {
    build::host(&run.project, &["search-host"])?;
    let text = run.project.out().join("search-host.txt");
    std::fs::write(&text, TEXT).with_context(|| text.display().to_string())?;
    let text = File::open(&text).with_context(|| text.display().to_string())?;
    let mut program = Command::new(run.project.host_binary("search-host"));
    said(program.arg(image).args(WORDS).stdin(text))
}

/// Has the host of tools make its calls; what it has said.
fn tools(run: &Run, image: &Path) -> Result<String> {
    build::host(&run.project, &["tool-host"])?;
    let calls = File::open(run.project.root.join(CALLS)).context(CALLS)?;
    // The tools' directories: new ones each time.
    let folder = run.project.out().join("tool-host");
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| folder.display().to_string());
        }
        _ => {}
    }
    let mut program = Command::new(run.project.host_binary("tool-host"));
    let said = said(program.arg(image).arg(&folder).stdin(calls))?;
    let diary = std::fs::read_to_string(folder.join("notes/diary")).unwrap_or_default();
    let list = |name| -> Result<usize> { Ok(std::fs::read_dir(folder.join(name))?.count()) };
    // The links of the rogue's own making are where it was let, and lead nowhere.
    anyhow::ensure!(
        diary == "a secret of this tool's" && list("notes")? == 1 && list("rogue")? == 3,
        "the tools' directories have other files than they should: {}",
        folder.display()
    );
    Ok(said)
}

/// Whether these are the answers of the host of tools, as far as they are its own.
fn answers(said: &str) -> Result<(), String> {
    let lines: Vec<&str> = said.lines().collect();
    let same = lines.len() == ANSWERS.len()
        && lines
            .iter()
            .zip(ANSWERS)
            .all(|(line, wanted)| line.starts_with(wanted));
    match same {
        true => Ok(()),
        false => Err(format!(
            "it has said\n{said}and not\n{}",
            ANSWERS.join("\n")
        )),
    }
}

/// Compiles a program in C against the library, and runs it; what it has said.
fn in_c(run: &Run, name: &str, source: &str, image: &Path) -> Result<String> {
    build::host(&run.project, &["sing-embed-c"])?;
    let (root, out) = (&run.project.root, run.project.out());
    let program = out.join(name);
    let library = run.project.host_binary("libsingembed.a");
    let mut compiler = Command::new("clang");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(root.join("embed/include"));
    compiler.arg(root.join(source));
    compiler
        .arg(library)
        .args(["-lpthread", "-lm", "-ldl", "-o"]);
    compiler.arg(&program);
    cargo::quiet(&mut compiler, &format!("compiling {source}"))?;
    said(Command::new(&program).arg(image))
}

/// What a program has said, without the places of traps.
fn said(program: &mut Command) -> Result<String> {
    let name = program.get_program().display().to_string();
    let output = program
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    // The place of a trap, which the compiler chooses, is not the example's.
    let end = |line: &str| line.split(", in ").next().unwrap_or_default().to_owned() + "\n";
    Ok(said.lines().map(end).collect())
}
