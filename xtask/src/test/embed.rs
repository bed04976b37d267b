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
shout has crashed: unreachable code was reached; it said last: panicked at examples/plugin-host/shout/src/main.rs:24:25: as it was told
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
2 shout has crashed: unreachable code was reached; it said last: panicked at examples/plugin-host/shout/src/main.rs:24:25: as it was told
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

/// What a program in C says that talks with a process, and of all that can be wrong there: the
/// status and the reason.
const TALKED_IN_C: &str = "add Sum 10
out of turn 10 the contract with talker is broken: SpeakContract.Sum may not be sent in the state Start
unknown 10 the contract with talker is broken: SpeakContract.Nothing like it: the contract has no such message
words 10 the contract with talker is broken: SpeakContract.Add: it has 2 words, and not 1
many words 10 the contract with talker is broken: SpeakContract.Add: it has 2 words, and not 18446744073709551615
condition 10 the contract with talker is broken: SpeakContract.Add requires number < 1000
a block 10 the contract with talker is broken: SpeakContract.Add: word 2 is a number
a number 10 the contract with talker is broken: SpeakContract.Say: word 1 is a block
no bytes 10 the contract with talker is broken: a block of a message of SpeakContract has no bytes; one has a byte at least
too many bytes 8 word 1 of SpeakContract.Say has 18446744073709551615 bytes; 1048512 are the most
null 8 a pointer is null that may not be
null words 8 a pointer is null that may not be
no peer 8 a pointer is null that may not be
still there Sum 22
say Said block of 5 ending 111 5
note Noted 0
no place 0 
crash 2 talker has crashed: unreachable code was reached; it said last: panicked at tests/sips/talker/src/main.rs:121:22: it crashes as it was told
then 7 the process has ended
kept hello
sent 0 
gone 3 talker has not answered: exit 9
sent 0 
gone 3 talker has not answered: it has closed its channel
sent 0 
gone 4 talker has not answered within 50ms, and was ended
asked Add 1 0
answered 0 
asked Add 2 0
answered 0 
asked Add 3 0
answered 0 
at once 8 another operation of it is under way; it has one at a time
the other 4
endpoint 7 talker: its manifest has no start-up endpoint of this name, contract, side and state
state 7 talker: its manifest has no start-up endpoint of this name, contract, side and state
lengths 7 LengthsContract.Cut requires offset < bytes.Length, which the kernel does not judge: a program in C cannot speak it
contract 7 tests/sips/talker/speak.contract: there is no contract NoContract; there are: SpeakContract, LengthsContract
file 7 error: cannot read /dev/null: it is no regular file
null 7 a pointer is null that may not be
";

/// A program in C.
struct InC {
    name: &'static str,
    source: &'static str,
    /// Its arguments behind the image: a contract, as a path below the root, and words.
    arguments: &'static [&'static str],
    /// Its standard input.
    input: &'static str,
    says: &'static str,
}

/// Programs in C, and what they say.
const IN_C: [InC; 4] = [
    InC {
        name: "c-host",
        source: "examples/c-host/main.c",
        arguments: &[],
        input: "",
        says: SAID_IN_C,
    },
    InC {
        name: "c-words",
        source: "embed/c/tests/words.c",
        arguments: &[],
        input: "",
        says: WORDS_IN_C,
    },
    InC {
        name: "c-search",
        source: "examples/c-search/main.c",
        arguments: &["examples/search-host/search.contract", "the", "Dog", "cat"],
        input: TEXT,
        says: FOUND,
    },
    InC {
        name: "c-talk",
        source: "embed/c/tests/talk.c",
        arguments: &["tests/sips/talker/speak.contract"],
        input: "",
        says: TALKED_IN_C,
    },
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
    for program in IN_C.iter().filter(|program| run.wants(program.name)) {
        let name = program.name;
        match run.without.clang() {
            Some(reason) => report.skipped.push(format!("{name}: {reason}")),
            None => {
                let said = in_c(run, program, &image).map_err(|error| format!("{error:#}"));
                report.count(name, said.and_then(|said| is(&said, program.says)));
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
    let mut program = Command::new(run.project.host_binary("search-host"));
    let text = input(run, "search-host", TEXT)?;
    said(program.arg(image).args(WORDS).stdin(text))
}

/// A file with the standard input of a program.
fn input(run: &Run, name: &str, text: &str) -> Result<File> {
    let file = run.project.out().join(format!("{name}.txt"));
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    File::open(&file).with_context(|| file.display().to_string())
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
fn in_c(run: &Run, program: &InC, image: &Path) -> Result<String> {
    build::host(&run.project, &["sing-embed-c"])?;
    let (root, out) = (&run.project.root, run.project.out());
    let binary = out.join(program.name);
    let library = run.project.host_binary("libsingembed.a");
    let mut compiler = Command::new("clang");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(root.join("embed/include"));
    compiler.arg(root.join(program.source));
    compiler
        .arg(library)
        .args(["-lpthread", "-lm", "-ldl", "-o"]);
    compiler.arg(&binary);
    cargo::quiet(&mut compiler, &format!("compiling {}", program.source))?;
    let text = input(run, program.name, program.input)?;
    let mut command = Command::new(&binary);
    // Paths in what it says are those of the arguments.
    command.current_dir(root).stdin(text);
    said(command.arg(image).args(program.arguments))
}

/// What a program has said, without the functions of traps.
fn said(program: &mut Command) -> Result<String> {
    let name = program.get_program().display().to_string();
    let output = program
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    // The function of a trap, which the compiler chooses, is not the example's; what is said behind
    // it is.
    let line = |line: &str| {
        let (start, rest) = line.split_once(", in ").unwrap_or((line, ""));
        let words = rest.find("; it said last").map_or("", |at| &rest[at..]);
        format!("{start}{words}\n")
    };
    Ok(said.lines().map(line).collect())
}
