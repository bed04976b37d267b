//! `sing image` and `sing check system` on the command line: which systems are refused before they
//! start, in which words, and what is said of those that are not.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `sing`; returns the exit status and the output.
fn sing(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(arguments)
        .env("SING_CACHE", "off")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

/// A folder of one test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

const CONTRACTS: &str =
    "contract NamespaceContract { in message Bind(); out message AckBind(); state Start: Bind? -> AckBind! -> Start; }
    contract Clock { in message Ask(); out message Tell(); state Start: Ask? -> Tell! -> Start; }
    contract Other { in message Ask(); out message Tell(); state Start: Ask? -> Tell! -> Start; }";

/// Writes a module: what it serves (a name, or a path that it registers), what it uses.
fn program(
    folder: &Path,
    name: &str,
    category: &str,
    serves: &str,
    uses: &[(&str, &str)],
) -> String {
    program_of(folder, name, category, serves, uses, CONTRACTS)
}

/// The same with contracts of its own.
fn program_of(
    folder: &Path,
    name: &str,
    category: &str,
    serves: &str,
    uses: &[(&str, &str)],
    contracts_text: &str,
) -> String {
    let text = |text: &str| -> String { text.bytes().map(|b| format!("\\{b:02x}")).collect() };
    let announced = match serves {
        "" => String::new(),
        name if name.starts_with('/') => String::new(),
        name => format!(
            r#"{{"name":"{name}","contract":"NamespaceContract","side":"exp","state":"Start"}}"#
        ),
    };
    let served = match serves {
        "" => String::new(),
        name => format!(r#"{{"name":"{name}","contract":"Clock"}}"#),
    };
    let used: Vec<String> = uses
        .iter()
        .map(|(path, contract)| format!(r#"{{"path":"{path}","contract":"{contract}"}}"#))
        .collect();
    let manifest = format!(
        r#"{{"name":"{name}","abi":1,"category":"{category}","endpoints":[{announced}],
        "serves":[{served}],"uses":[{}],"memory":1048576}}"#,
        used.join(",")
    );
    let mut imports = String::new();
    if !serves.is_empty() {
        imports += r#"(import "contract:Clock" "new" (func (param i32) (result i32)))
            (import "contract:Clock" "exp.recv" (func (param i32 i32) (result i32)))"#;
    }
    let mut contracts: Vec<&str> = uses.iter().map(|(_, contract)| *contract).collect();
    contracts.dedup();
    for contract in contracts {
        imports += &format!(
            r#"(import "contract:{contract}" "new" (func (param i32) (result i32)))
            (import "contract:{contract}" "imp.send.Ask" (func (param i32) (result i32)))"#
        );
    }
    let module = format!(
        r#"(module {imports} (memory (export "memory") 1)
        (func (export "sip_main") (result i32) i32.const 0)
        (@custom "singularity.manifest" "{}") (@custom "singularity.contracts" "{}"))"#,
        text(&manifest),
        text(contracts_text)
    );
    let path = folder.join(format!("{name}.wasm"));
    std::fs::write(&path, wat::parse_str(&module).unwrap()).unwrap();
    format!("{name}={}", path.display())
}

/// Runs `sing check system` on these parts.
fn check(folder: &Path, manifest: &str, programs: &[String]) -> (Option<i32>, String) {
    let path = folder.join("system.json");
    std::fs::write(&path, manifest).unwrap();
    let mut arguments = vec!["check", "system", "--manifest", path.to_str().unwrap()];
    for program in programs {
        arguments.extend(["--bin", program]);
    }
    sing(&arguments)
}

/// Has an image made of a system that was checked: where it would be, the status, and what was said.
fn image(folder: &Path, programs: &[String]) -> (PathBuf, Option<i32>, String) {
    let out = folder.join("system.img");
    let path = folder.join("system.json");
    let mut arguments = vec!["image", "-o", out.to_str().unwrap()];
    arguments.extend(["--manifest", path.to_str().unwrap()]);
    for program in programs {
        arguments.extend(["--bin", program]);
    }
    let (status, text) = sing(&arguments);
    (out, status, text)
}

#[test]
fn what_will_start_and_what_can_run_is_told_without_running_it() {
    let folder = folder("told");
    let programs = [
        program(&folder, "web", "service", "web", &[("/clock", "Clock")]),
        program(&folder, "clock", "service", "clock", &[]),
        program(&folder, "date", "app", "", &[("/clock", "Clock")]),
        program(&folder, "lost", "app", "", &[("/nowhere", "Clock")]),
        program(&folder, "plain", "app", "", &[]),
    ];
    let manifest =
        r#"{"start": [], "services": [{"name": "web", "start": "boot"}, {"name": "clock"}]}"#;
    let (status, text) = check(&folder, manifest, &programs);
    assert_eq!(status, Some(0), "{text}");
    for part in [
        "   1 clock            on demand, restart on-failure: /clock (Clock)",
        "   2 web              with the system, restart on-failure: /web (Clock), uses clock",
        "1 programs can run without any service",
        "date             can run: uses /clock of clock",
        "lost             cannot run: uses /nowhere, which nobody serves",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    // The image says the same.
    let (out, status, said) = image(&folder, &programs);
    assert_eq!(status, Some(0), "{said}");
    let (status, of_image) = sing(&["check", "system", out.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    let body = |text: &str| {
        text.lines()
            .rev()
            .skip(1)
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(body(&of_image), body(&text));
}

#[test]
fn all_that_keeps_a_system_from_starting_is_told_at_once() {
    let folder = folder("faulty");
    let programs = [
        program(&folder, "a", "service", "a", &[("/b", "Clock")]),
        program(&folder, "b", "service", "b", &[("/a", "Clock")]),
        program(&folder, "c", "service", "a", &[("/nothing", "Clock")]),
        program(&folder, "d", "service", "d", &[("/e", "Other")]),
        program(&folder, "e", "service", "/e", &[]),
    ];
    let manifest = r#"{"start": [], "services": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"},
        {"name": "e", "start": "boot"}, {"name": "missing"}, {"name": "late", "image": "e", "memory": 1000}],
        "restricted": [{"contract": "Other", "to": ["a"]}]}"#;
    let (status, text) = check(&folder, manifest, &programs);
    assert_eq!(status, Some(1), "{text}");
    for part in [
        "services wait for each other to start: \"a\" uses /b of \"b\", and \"b\" uses /a of \"a\"",
        "\"a\" and \"c\" both serve /a",
        "\"c\" uses /nothing (Clock), which nobody serves",
        "\"d\" uses /e as Other, but \"e\" serves Clock there",
        "\"e\" and \"late\" both serve /e",
        "runs image \"missing\", which is not there",
        "may have 1000 bytes of memory",
        "\"late\" starts on demand, but nobody can demand it",
        "program \"d\" can use contract \"Other\", which \"restricted\" keeps for a",
        "the system cannot start as it says",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    // An image of it is not made.
    let (out, status, text) = image(&folder, &programs);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("both serve /a") && text.contains("wait for each other"),
        "{text}"
    );
    assert!(!out.exists());
}

#[test]
fn two_texts_by_one_name_are_refused_and_compared() {
    let folder = folder("texts");
    let other = CONTRACTS.replace(
        "contract Clock { in message Ask(); out",
        "contract Clock { in message Ask(); in message Set(); out",
    );
    let other = other.replacen(
        "Ask? -> Tell! -> Start",
        "(Ask? or Set?) -> Tell! -> Start",
        1,
    );
    assert_ne!(other, CONTRACTS);
    let uses = [("/clock", "Clock")];
    let programs = [
        program(&folder, "clock", "service", "clock", &[]),
        program_of(&folder, "date", "app", "", &uses, &other),
        program_of(&folder, "later", "app", "", &uses, &other),
    ];
    let manifest = r#"{"start": [], "services": [{"name": "clock"}]}"#;
    let (status, text) = check(&folder, manifest, &programs);
    assert_eq!(status, Some(1), "{text}");
    let said = "programs \"clock\" and \"date\" mean different contracts by the name \"Clock\"";
    assert!(text.contains(said), "{text}");
    assert_eq!(
        text.matches("mean different contracts").count(),
        1,
        "{text}"
    );

    let file = |program: &str| program.split_once('=').unwrap().1.to_owned();
    let (old, new) = (file(&programs[0]), file(&programs[1]));
    let (status, text) = sing(&["diff", &old, &new]);
    assert_eq!(status, Some(1), "{text}");
    for part in [
        "Clock: changed\n  message Set() is new\n  state Start: Set? is new",
        "  old importing side, new exporting side: nothing breaks",
        "  new importing side, old exporting side: the old exporting side breaks in state Start: the importing side may send \
         Set, a message that it does not know",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let (status, text) = sing(&["diff", "--json", &old, &new]);
    assert_eq!(status, Some(1), "{text}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let clock = &found["contracts"][0];
    assert_eq!(clock["name"], "Clock");
    assert_eq!(clock["meetings"][1]["breaks"][0]["side"], "exporting side");
    assert_eq!(
        sing(&["diff", &new, &file(&programs[2])]),
        (Some(0), String::new())
    );
    assert_eq!(sing(&["diff", &old, "no-such-file"]).0, Some(2));
}

#[test]
fn an_image_whose_plan_is_not_that_of_its_manifests_is_faulty() {
    use sing_image::plan::Plan;
    use sing_image::system::{PLAN, SystemImage};
    let folder = folder("planned");
    let programs = [
        program(&folder, "web", "service", "web", &[("/clock", "Clock")]),
        program(&folder, "clock", "service", "clock", &[]),
    ];
    let manifest = folder.join("system.json");
    let services = r#"{"start": [], "services": [{"name": "web"}, {"name": "clock"}]}"#;
    std::fs::write(&manifest, services).unwrap();
    let out = folder.join("system.img");
    let out = out.to_str().unwrap();
    let mut arguments = vec!["image", "-o", out, "--manifest", manifest.to_str().unwrap()];
    for program in &programs {
        arguments.extend(["--bin", program]);
    }
    assert_eq!(sing(&arguments).0, Some(0));
    let sound = std::fs::read(out).unwrap();
    let archive = SystemImage::decode(&sound).unwrap();
    let plan = Plan::decode(archive.file(PLAN).unwrap()).unwrap();
    // The image with another plan, and what is said of it.
    let checked = |stored: Option<Vec<u8>>| {
        let files = archive.files().filter(|(path, _)| *path != PLAN);
        let mut files: Vec<(String, &[u8])> = files.map(|(p, b)| (p.into(), b)).collect();
        if let Some(bytes) = &stored {
            files.push((PLAN.into(), bytes));
        }
        let changed = SystemImage::encode(archive.manifest(), &files).unwrap();
        std::fs::write(out, changed).unwrap();
        sing(&["check", "system", out])
    };
    assert_eq!(checked(Some(plan.encode().unwrap())).0, Some(0));
    let mut other = plan.clone();
    other.services[0].service.up_ms += 1;
    let mut fewer = plan.clone();
    fewer.services.pop();
    for (stored, said) in [
        (None, "services.plan: plan: not a plan of services"),
        (Some(b"no plan".to_vec()), "services.plan: plan: "),
        (
            Some(other.encode().unwrap()),
            "has service \"clock\", number 1, with another policy",
        ),
        (
            Some(fewer.encode().unwrap()),
            "has no service as number 2, where by the manifests \"web\" is",
        ),
        (
            Some(Plan::default().encode().unwrap()),
            "has no service as number 1, where by the manifests \"clock\" is",
        ),
    ] {
        let (status, text) = checked(stored);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(said), "{said}:\n{text}");
        assert!(text.contains("make the image anew with `sing image`"));
    }
}

#[test]
fn several_manifests_are_one_system() {
    let folder = folder("several");
    let programs = [
        program(&folder, "web", "service", "web", &[("/clock", "Clock")]),
        program(&folder, "clock", "service", "clock", &[]),
    ];
    let (one, other) = (folder.join("one.json"), folder.join("other.json"));
    std::fs::write(&one, r#"{"start": [], "services": [{"name": "web"}]}"#).unwrap();
    std::fs::write(&other, r#"{"start": [], "services": [{"name": "clock"}]}"#).unwrap();
    let run = |manifests: &[&PathBuf]| {
        let mut arguments = vec!["check", "system"];
        for path in manifests {
            arguments.extend(["--manifest", path.to_str().unwrap()]);
        }
        for program in &programs {
            arguments.extend(["--bin", program]);
        }
        sing(&arguments)
    };
    assert_eq!(run(&[&one]).0, Some(1));
    let (status, text) = run(&[&one, &other]);
    assert_eq!(status, Some(0), "{text}");
    // What is no system image is said to be none.
    let (status, text) = sing(&["check", "system", one.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("not a system image; for its parts, say --manifest"),
        "{text}"
    );
}
