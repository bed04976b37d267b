use super::super::list;
use super::*;
use std::process::Command;

/// A system with this machine's shell in place of its own.
fn sh(script: Option<&str>) -> Result<Launch> {
    let mut command = Command::new("sh");
    let prelude = "shutdown() { exit ${1:-0}; }\nsweep() { true; }\necho booting\n";
    command.arg("-c").arg(format!(
        "{prelude}{}",
        script.unwrap_or("printf '> '; read x; exit 4")
    ));
    Ok(Launch::new(command))
}

fn failures(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let tests: Vec<Test> = files
        .iter()
        .map(|(name, text)| list::parse(name, text).unwrap())
        .collect();
    let verdicts = Suite {
        machine: Machine::Hosted,
        boot: &sh,
        watched: false,
        sweeps: true,
        lanes: 2,
    }
    .run(&tests)
    .unwrap();
    let here = tests.iter().filter(|test| test.machine.is_none()).count();
    let tested = verdicts.iter().filter(|v| v.name != SWEEP).count();
    assert_eq!(tested, here, "{verdicts:?}");
    verdicts
        .into_iter()
        .filter_map(|v| Some((v.name, v.failure?)))
        .collect()
}

#[test]
fn tests_that_hold_pass() {
    let found = failures(&[
        (
            "a",
            "$ echo one; echo two\none\ntwo\n\n$ printf three\nthree\n\n$ true\n",
        ),
        (
            "b",
            "$ (echo x; exit 3)\n~ (?<v>.)\n[3]\n\n$ echo x\n~ ${v}\n",
        ),
        ("c", "machine pc\n$ false\n"),
        (
            "d",
            "boot alone\n$ echo last\n$ shutdown 7\nbooting\nlast\n[7]\n",
        ),
        ("e", "boot terminal\nwait > $\nsend a\\r\n[4]\n"),
    ]);
    assert_eq!(found, []);
}

#[test]
fn a_hosted_system_is_watched_again_and_an_emulated_one_is_not() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let watch = |machine, too_long: u32, text: &str| {
        let boots = AtomicU32::new(0);
        let boot = |script: Option<&str>| {
            let boot = boots.fetch_add(1, Relaxed) + 1;
            let held = if boot <= too_long { 48 } else { 2 };
            let said = format!("watchdog: interrupts waited {held}000000 ns at most, until k.rs:7");
            let mut command = Command::new("sh");
            let script = script.unwrap_or_default();
            command.arg("-c").arg(format!(
                "shutdown() {{ exit ${{1:-0}}; }}\ntrap 'echo {said}' EXIT\n{script}"
            ));
            Ok(Launch::new(command))
        };
        let suite = Suite {
            machine,
            boot: &boot,
            watched: true,
            sweeps: false,
            lanes: 1,
        };
        let tests = [list::parse("a", text).unwrap()];
        let verdicts = suite.run(&tests).unwrap();
        let failed = verdicts.iter().any(|v| v.failure.is_some());
        (boots.into_inner(), failed)
    };
    for text in ["$ echo one\none\n", "boot alone\n$ echo one\none\n"] {
        assert_eq!(watch(Machine::Hosted, 0, text), (1, false), "{text}");
        assert_eq!(watch(Machine::Hosted, 2, text), (3, false), "{text}");
        assert_eq!(watch(Machine::Hosted, 3, text), (3, true), "{text}");
        assert_eq!(watch(Machine::Q35, 1, text), (1, true), "{text}");
    }
}

#[test]
fn the_records_are_looked_at_in_the_end() {
    let found = failures(&[
        ("a", "$ sweep() { echo a record is free; false; }\n"),
        ("b", "$ true\n"),
    ]);
    assert_eq!(found, [("sweep".into(), "a record is free\n".into())]);
}

#[test]
fn tests_that_do_not_hold_fail_alone() {
    let found = failures(&[
        ("a", "$ echo one\ntwo\n"),
        ("b", "timeout 1\n$ echo waiting; sleep 30\nwaiting\n"),
        ("c", "$ exit 3\n"),
        ("d", "$ false\n"),
        ("e", "$ echo fine\nfine\n"),
        ("f", "boot alone\n$ shutdown 2\nbooting\n"),
        ("g", "boot terminal\nsend x\\r\nwait # $\n"),
    ]);
    let reasons = [
        "expected `two`",
        "not done in time",
        "the system ended",
        "status 1",
        "status 2",
        "",
    ];
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "f", "g"]);
    for ((_, failure), reason) in found.iter().zip(reasons) {
        assert!(failure.contains(reason), "{failure}");
    }
}
