//! What command lines mean.

use super::*;

fn line(text: &str) -> Result<Command> {
    parse(
        ["sing"]
            .into_iter()
            .chain(text.split_whitespace())
            .map(OsString::from),
    )
}

#[test]
fn command_lines_are_understood() {
    assert!(matches!(line("help"), Ok(Command::Help)));
    for text in ["compile --help", "compile -h", "help compile"] {
        let Ok(Command::HelpOf(about)) = line(text) else {
            panic!("{text}")
        };
        assert_eq!(about.name, "compile");
    }
    assert!(matches!(line("-V"), Ok(Command::Version)));
    assert!(matches!(line("--version"), Ok(Command::Version)));
    let Ok(Command::Compile { options, .. }) = line("compile a.wasm -o a --memory explicit") else {
        panic!("compile");
    };
    assert_eq!(options.memory_mode, MemoryMode::Explicit);
    assert_eq!(options.checks, Checks::All, "unless it is said");
    for text in [
        "compile a.wasm -o a --checks none",
        "inspect a.wasm --checks none",
    ] {
        let (Ok(Command::Compile { options, .. }) | Ok(Command::Inspect { options, .. })) =
            line(text)
        else {
            panic!("{text}");
        };
        assert_eq!(options.checks, Checks::None, "{text}");
    }
    let Ok(Command::Image(request)) = line("image -o o --manifest m --checks none") else {
        panic!("image");
    };
    assert_eq!(request.options.checks, Checks::None);
    let Ok(Command::Image(request)) = line("image -o o --manifest m --bin a=x --file p/q=y") else {
        panic!("image");
    };
    assert_eq!(request.programs, [("a".to_string(), PathBuf::from("x"))]);
    assert_eq!(request.files, [("p/q".to_string(), PathBuf::from("y"))]);
}

#[test]
fn commands_about_contracts_are_understood() {
    use contracts::Request;
    for (text, fits) in [
        (
            "fmt --check -",
            |r: &Request| matches!(r, Request::Fmt { check: true, files } if files == &[PathBuf::from("-")]),
        ),
        ("count a --each", |r: &Request| {
            matches!(r, Request::Count { each: true, .. })
        }),
        (
            "diff a --json b",
            |r: &Request| matches!(r, Request::Diff { json: true, old, .. } if old.as_os_str() == "a"),
        ),
        (
            "bind c -o d a",
            |r: &Request| matches!(r, Request::Bind { files, .. } if files == &[PathBuf::from("a")]),
        ),
        (
            "doc a --system s -o d --bin b",
            |r: &Request| matches!(r, Request::Doc { files, system: Some(_), .. } if files.len() == 2),
        ),
    ] as [(&str, fn(&Request) -> bool); 5]
    {
        let Ok(Command::Contracts(request)) = line(text) else {
            panic!("{text}")
        };
        assert!(fits(&request), "{text}");
    }
    for text in ["diff a", "diff a b c"] {
        assert!(line(text).is_err(), "{text}");
    }
    assert!(matches!(line("bind --help"), Ok(Command::HelpOf(_))));
}

#[test]
fn words_behind_gdb_are_gdbs() {
    for (text, wanted) in [
        ("gdb", gdb::Request::Run(vec![])),
        (
            "gdb -p 7 --script",
            gdb::Request::Run(["-p", "7", "--script"].map(OsString::from).into()),
        ),
        ("gdb --script", gdb::Request::Script),
    ] {
        let Ok(Command::Gdb(request)) = line(text) else {
            panic!("{text}")
        };
        assert_eq!(request, wanted, "{text}");
    }
    assert!(matches!(line("gdb --help"), Ok(Command::HelpOf(about)) if about.name == "gdb"));
    let message = line("gdb --script -p 7").err().unwrap_or_default();
    assert!(message.contains("--script stands alone"), "{message}");
}

#[test]
fn a_map_for_perf_is_asked_for() {
    let Ok(Command::Run(request)) = line("run --perf-map a.wasm --perf-map") else {
        panic!("run");
    };
    assert!(request.perf_map);
    assert_eq!(request.arguments, ["--perf-map"]);
    assert!(matches!(line("run a.wasm --perf-map"), Ok(Command::Run(r)) if !r.perf_map));
    assert!(line("serve --perf-map a.wasm").is_err());
}

#[test]
fn a_network_is_permitted_in_one_way() {
    let run = |text: &str| match line(text) {
        Ok(Command::Run(request)) => request.network,
        other => panic!("{text}: {}", other.is_ok()),
    };
    let serve = |text: &str| match line(text) {
        Ok(Command::Serve(request)) => request.program.network,
        other => panic!("{text}: {}", other.is_ok()),
    };
    for (option, network) in [
        ("", None),
        ("--net", Some("host")),
        ("--net=10.0.0.0/8,::1", Some("host,10.0.0.0/8,::1")),
    ] {
        assert_eq!(run(&format!("run {option} a.wasm")).as_deref(), network);
        assert_eq!(serve(&format!("serve {option} a.wasm")).as_deref(), network);
        assert_eq!(serve(&format!("serve a.wasm {option}")).as_deref(), network);
    }
    assert!(line("serve --net --net a.wasm").is_err());
}

#[test]
fn the_function_to_disassemble_follows_the_file() {
    for (text, wanted) in [
        ("inspect a --disassemble main", Some("main")),
        ("inspect a --disassemble=main", Some("main")),
        ("inspect --disassemble=main a", Some("main")),
        ("inspect --disassemble a", None),
        ("inspect a --disassemble --imports", None),
        ("inspect a --disassemble", None),
    ] {
        let Ok(Command::Inspect { file, views, .. }) = line(text) else {
            panic!("{text}")
        };
        assert_eq!(file, PathBuf::from("a"), "{text}");
        let View::Disassembly(function) = &views[0] else {
            panic!("{text}")
        };
        assert_eq!(function.as_deref(), wanted, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (text, part) in [
        ("", "say what to do"),
        ("frobnicate", "no command \"frobnicate\""),
        ("complie", "did you mean `compile`?"),
        ("ru", "did you mean `run`?"),
        ("help bot", "did you mean `boot`?"),
        ("verify", "at least one file"),
        ("verify --limits a", "takes no files"),
        ("compile a", "-o IMAGE"),
        ("compile a b -o c", "\"b\""),
        ("compile a -o c --memory none", "guard and explicit"),
        ("compile a -o c --checks some", "there are all, and none"),
        ("compile a -o c --unreached some", "leave and keep"),
        ("analyze a --checks none", "--checks"),
        ("image -o o", "--manifest FILE"),
        ("image -o o --manifest m --bin a", "NAME=FILE"),
        ("inspect a --frobnicate", "--frobnicate"),
        ("fmt", "fmt: name at least one file"),
        ("fmt a --each", "--each"),
        ("count --check a", "--check"),
        ("doc a", "-o DIR"),
        ("doc -o d", "at least one file"),
        ("bind", "for which language"),
        ("bind pascal -o d a", "there are no bindings for \"pascal\""),
        ("bind c a", "-o DIR"),
        ("new", "name a folder"),
        ("new a b", "\"b\""),
        ("new --shell a", "--shell"),
        ("run --dir a::/x --dir b::/x m", "a is at /x already"),
        ("build a", "\"a\""),
        ("completions", "bash, zsh or fish"),
        ("completions tcsh", "bash, zsh and fish"),
        ("help frobnicate", "no command \"frobnicate\""),
        ("check contracts", "--manifest FILE"),
        ("check contracts a --manifest b", "either a file"),
        ("check contracts a --limit 0", "positive number"),
        ("check system", "--manifest FILE"),
        ("check system a --limit 2", "--limit"),
    ] {
        let message = line(text).err().unwrap_or_default();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn commands_about_projects_are_understood() {
    use project::{Kind, Request};
    for (text, wanted) in [
        (
            "new --service a",
            Request::New {
                folder: "a".into(),
                kind: Kind::Service,
            },
        ),
        (
            "new a/b",
            Request::New {
                folder: "a/b".into(),
                kind: Kind::Program,
            },
        ),
        (
            "build --json -v --no-cache",
            Request::Build {
                json: true,
                kept: Wanted {
                    cache: Choice::Off,
                    verbose: true,
                },
            },
        ),
        (
            "new --wasi a",
            Request::New {
                folder: "a".into(),
                kind: Kind::Wasi,
            },
        ),
        ("run", Request::Run(run::Request::default())),
        (
            "run --no-cache",
            Request::Run(run::Request {
                cache: crate::kept::Choice::Off,
                ..run::Request::default()
            }),
        ),
        (
            "run -- --dir a",
            Request::Run(run::Request {
                arguments: vec!["--dir".into(), "a".into()],
                ..run::Request::default()
            }),
        ),
        (
            "test -- --nocapture",
            Request::Test {
                arguments: vec!["--".into(), "--nocapture".into()],
            },
        ),
        ("check", Request::Check { json: false }),
        ("check --json", Request::Check { json: true }),
    ] {
        let Ok(Command::Project(request)) = line(text) else {
            panic!("{text}")
        };
        assert_eq!(request, wanted, "{text}");
    }
    assert!(matches!(line("run a.wasm b"), Ok(Command::Run(_))));
    let two = line("new --c --service a").err().unwrap_or_default();
    assert!(two.contains("--c or --service"), "{two}");
    let Ok(Command::Cc(request)) = line("cc a.c -o a.wasm b.contract -- -DX -o") else {
        panic!("cc is not understood")
    };
    assert_eq!(request.files.len(), 2);
    assert_eq!(request.flags, ["-DX", "-o"]);
    for text in ["cc a.c", "cc -o"] {
        assert!(line(text).is_err(), "{text}");
    }
    assert!(matches!(line("boot --help"), Ok(Command::Boot(words)) if words == ["--help"]));
}
