//! Arguments and environment of programs that are called. One system may be in a process, so the tests take
//! turns.

mod common;

use common::{start, turn};
use sing_embed::{Access, Error, Program};

fn said(program: &Program<'_>) -> String {
    let answer = program.call(b"words");
    String::from_utf8(answer.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn ordinary_programs_have_the_arguments_and_environment_of_their_call() {
    let _turn = turn();
    let system = start();
    let call = system.program("call");
    // Nothing of this process's own environment.
    assert!(std::env::var("HOME").is_ok() || std::env::var("PATH").is_ok());
    assert_eq!(said(&call), "call\nNone\n");
    let words = call.clone().arg("--long").arg("").arg("a b").arg("ä");
    assert_eq!(said(&words), "call\n--long\n\na b\nä\nNone\n");
    let variables = call
        .clone()
        .env("HOME", "/work")
        .env("A", "b=c")
        .env("E", "");
    assert_eq!(
        said(&variables),
        "call\nHOME=/work\nA=b=c\nE=\nSome(\"/work\")\n"
    );
    let again = variables.env("HOME", "/").arg("--").arg("--env=B=C");
    assert_eq!(
        said(&again),
        "call\n--\n--env=B=C\nHOME=/\nA=b=c\nE=\nSome(\"/\")\n"
    );
    // Arguments that look like what stands before them.
    assert_eq!(
        said(&call.clone().arg("--env=B=C")),
        "call\n--env=B=C\nNone\n"
    );
    assert_eq!(said(&call.clone().arg("--")), "call\n--\nNone\n");
    // Directories are none of them.
    let place = std::env::temp_dir();
    let with = call
        .dir(&place, "/work", Access::ReadOnly)
        .arg("x")
        .env("A", "B");
    assert_eq!(said(&with), "call\nx\nA=B\nNone\n");
    let mut kept = with.open().unwrap();
    assert_eq!(kept.call(b"words").unwrap(), b"call\nx\nA=B\nNone\n");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn other_programs_have_arguments_behind_the_names_of_their_directories() {
    let _turn = turn();
    let system = start();
    let place = std::env::temp_dir();
    let shelf = system
        .program("shelf")
        .dir(&place, "/work", Access::ReadOnly);
    assert_eq!(
        shelf.clone().arg("more").call(b"words").unwrap(),
        b"/work more"
    );
    // They have no environment, and say so.
    let refused = shelf.env("A", "B").call(b"words");
    match refused {
        Err(Error::Gone { how, .. }) => {
            assert!(how.starts_with("exit 2; it said last: "), "{how}");
        }
        other => panic!("{other:?}"),
    }
    let log = system.log().join("\n");
    assert!(log.contains("--env=A=B"), "{log}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn words_that_cannot_be_given_are_named_and_no_process_made() {
    let _turn = turn();
    let system = start();
    let call = system.program("call");
    let long = "x".repeat(64 << 10);
    for (program, why) in [
        (call.clone().arg("a\0b"), "zero byte"),
        (call.clone().arg(&long), "65536 bytes"),
        (call.clone().env("A=B", "x"), "no `=`"),
        (call.clone().env("", "x"), "no `=`"),
    ] {
        let begun = program.begin(b"words").wait();
        for error in [
            program.call(b"words"),
            begun,
            program.open().map(|_| Vec::new()),
        ] {
            assert!(matches!(error, Err(Error::Words { .. })), "{error:?}");
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with("call: ") && text.contains(why), "{text}");
        }
    }
    // As many bytes as there may be, beside the length of each word.
    let most = call.clone().arg(&long[..(64 << 10) - 4]);
    assert_eq!(said(&most).len(), (64 << 10) - 4 + "call\n\nNone\n".len());
}
