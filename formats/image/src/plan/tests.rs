//! Systems of made-up programs.

use super::*;
use crate::manifest::{DeviceUse, Served, Used};
use crate::system::Start;

/// A service's manifest: what it serves and uses, of contracts named after the paths.
fn program(serves: &[&str], uses: &[&str]) -> Manifest {
    let contract = |name: &str| name.trim_start_matches('/').to_uppercase();
    Manifest {
        category: Category::Service,
        serves: (serves.iter())
            .map(|name| Served {
                name: (*name).into(),
                contract: contract(name),
            })
            .collect(),
        uses: (uses.iter())
            .map(|path| Used {
                path: (*path).into(),
                contract: contract(path),
            })
            .collect(),
        ..Manifest::default()
    }
}

fn system(services: &str) -> SystemManifest {
    serde_json::from_str(&format!("{{\"start\": [], \"services\": {services}}}")).unwrap()
}

fn programs(all: &[(&str, &[&str], &[&str])]) -> BTreeMap<String, Manifest> {
    let all = all.iter();
    all.map(|(name, serves, uses)| ((*name).to_string(), program(serves, uses)))
        .collect()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.services
        .iter()
        .map(|p| p.service.name.as_str())
        .collect()
}

/// The only fault of a system.
fn fault(manifest: &SystemManifest, programs: &BTreeMap<String, Manifest>) -> String {
    let mut faults = infer(manifest, programs).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

#[test]
fn services_stand_behind_those_that_they_use() {
    let programs = programs(&[
        ("web", &["web"], &["/tcp", "/log"]),
        ("tcp", &["tcp"], &["/net"]),
        ("net", &["net"], &[]),
        ("log", &["log"], &[]),
        ("alone", &["alone"], &[]),
    ]);
    let all = r#"[{"name": "web"}, {"name": "alone"}, {"name": "log"}, {"name": "tcp"}, {"name": "net"}]"#;
    let plan = infer(&system(all), &programs).unwrap();
    assert_eq!(names(&plan), ["alone", "log", "net", "tcp", "web"]);
    assert_eq!(plan.services[4].needs, [3, 1]);
    assert_eq!(plan.services[3].needs, [2]);
    assert_eq!(plan.services[4].places[0].path, "/web");
    for (at, planned) in plan.services.iter().enumerate() {
        assert!(planned.needs.iter().all(|n| *n < at));
    }
    // The same in any order of the text.
    let other = r#"[{"name": "net"}, {"name": "tcp"}, {"name": "log"}, {"name": "alone"}, {"name": "web"}]"#;
    let plan = infer(&system(other), &programs).unwrap();
    assert_eq!(names(&plan), ["net", "tcp", "log", "alone", "web"]);
    // As a file.
    let bytes = plan.encode().unwrap();
    assert_eq!(Plan::decode(&bytes), Ok(plan.clone()));
    for cut in 0..bytes.len() {
        assert!(Plan::decode(&bytes[..cut]).is_err());
    }
    let mut circle = plan;
    circle.services[0].needs = vec![4];
    assert!(Plan::decode(&circle.encode().unwrap()).is_err());
}

#[test]
fn a_circle_is_shown_whole() {
    let programs = programs(&[
        ("before", &["before"], &["/a"]),
        ("a", &["a"], &["/b"]),
        ("b", &["b"], &["/c"]),
        ("c", &["c"], &["/a"]),
    ]);
    let all = r#"[{"name": "before"}, {"name": "a"}, {"name": "b"}, {"name": "c"}]"#;
    assert_eq!(
        fault(&system(all), &programs),
        "services wait for each other to start: \"a\" uses /b of \"b\", and \"b\" uses /c of \"c\", and \
         \"c\" uses /a of \"a\"; take one of these `uses` out of its program's source, and bind that when \
         it is needed instead"
    );
    let own = super::tests::programs(&[("a", &["a"], &["/a"])]);
    assert!(fault(&system(r#"[{"name": "a"}]"#), &own).contains("\"a\" uses /a of \"a\""));
}

#[test]
fn all_faults_are_found_at_once() {
    let mut programs = programs(&[
        ("a", &["x"], &["/nowhere"]),
        ("b", &["x"], &["/x"]),
        ("below", &["y"], &[]),
        ("hello", &[], &[]),
    ]);
    programs.get_mut("hello").unwrap().category = Category::App;
    programs.get_mut("b").unwrap().uses[0].contract = "OTHER".into();
    programs
        .get_mut("below")
        .unwrap()
        .endpoints
        .push(StartupEndpoint {
            name: "disk".into(),
            contract: "DiskContract".into(),
            side: Side::Imp,
            state: None,
            optional: false,
            many: false,
        });
    let faults = infer(
        &system(
            r#"[{"name": "a"}, {"name": "b"}, {"name": "below", "names": {"y": "/x/y", "z": "/z"}},
            {"name": "hello"}, {"name": "gone"}, {"name": "a", "memory": 1000}]"#,
        ),
        &programs,
    )
    .unwrap_err();
    for part in [
        "\"a\" uses /nowhere (NOWHERE), which nobody serves; add a service",
        "\"b\" uses /x as OTHER, but \"a\" serves X there",
        "\"a\" and \"b\" both serve /x; give one of them another path",
        "serve /x and /x/y, of which one is below the other",
        "has a path for \"z\", which image \"below\" does not serve; it serves y",
        "nobody connects endpoint \"disk\" (DiskContract.Imp)",
        "says that it is an app; declare `category: service`",
        "\"hello\" starts on demand, but nobody can demand it",
        "runs image \"gone\", which is not there; add it with --bin gone=FILE",
        "two programs are to run under the name \"a\"",
        "may have 1000 bytes of memory, but image \"a\" asks for 67108864",
    ] {
        assert!(
            faults.iter().any(|f| f.contains(part)),
            "{part}: {faults:#?}"
        );
    }
}

#[test]
fn what_the_kernel_starts_serves_too() {
    let mut manifest = system(r#"[{"name": "log"}]"#);
    manifest.start.push(Start {
        name: "files".into(),
        image: "bootfs".into(),
        args: Vec::new(),
        essential: true,
        main: false,
        supervisor: None,
    });
    let mut all = programs(&[
        ("log", &["log"], &["/boot/log.conf"]),
        ("bootfs", &["/boot"], &[]),
    ]);
    let plan = infer(&manifest, &all).unwrap();
    assert_eq!(plan.services[0].needs, [0; 0]);
    // Its name is taken, and so is its path.
    manifest.services[0]
        .names
        .insert("log".into(), "/boot/log".into());
    manifest.services[0].name = "files".into();
    manifest.services[0].image = "log".into();
    let faults = infer(&manifest, &all).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    // A path that the program registers itself cannot be another.
    all.get_mut("log").unwrap().serves[0].name = "/log".into();
    let mut manifest = system(r#"[{"name": "log", "start": "boot", "names": {"/log": "/l"}}]"#);
    assert!(infer(&manifest, &all).unwrap_err()[0].contains("registers \"/log\" itself"));
    manifest.services[0].names.clear();
    all.get_mut("log").unwrap().uses.clear();
    assert_eq!(
        infer(&manifest, &all).unwrap().services[0].places[0].endpoint,
        ""
    );
}

#[test]
fn a_supervisor_is_another_program_that_the_kernel_starts() {
    let start = |name: &str, supervisor: Option<&str>, essential| Start {
        name: name.into(),
        image: name.into(),
        args: Vec::new(),
        essential,
        main: false,
        supervisor: supervisor.map(Into::into),
    };
    let manifest = |start| SystemManifest {
        start,
        ..SystemManifest::default()
    };
    let good = vec![
        start("names", Some("manager"), false),
        start("manager", None, true),
    ];
    let programs = programs(&[]);
    assert!(infer(&manifest(good), &programs).is_ok());
    for (one, text) in [
        (start("names", Some("nobody"), false), "no other program"),
        (start("names", Some("names"), false), "no other program"),
        (start("names", Some("manager"), true), "is essential"),
    ] {
        let all = vec![one, start("manager", None, true)];
        let faults = infer(&manifest(all), &programs).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(text), "{faults:?}");
    }
}

#[test]
fn there_are_no_more_services_than_can_be_watched() {
    let all: Vec<String> = (0..=MOST_SERVICES)
        .map(|i| format!("{{\"name\": \"s{i}\", \"start\": \"boot\"}}"))
        .collect();
    let names: Vec<String> = (0..=MOST_SERVICES).map(|i| format!("s{i}")).collect();
    let programs: BTreeMap<String, Manifest> = names
        .iter()
        .map(|n| (n.clone(), program(&[], &[])))
        .collect();
    let fault = fault(&system(&format!("[{}]", all.join(","))), &programs);
    assert!(
        fault.contains("49 services, and the manager can watch 48"),
        "{fault}"
    );
}

#[test]
fn places_are_paths_that_can_be_registered() {
    let programs = programs(&[("a", &["a"], &[])]);
    let long = format!("/{}", "x".repeat(LONGEST_PATH));
    for path in ["/..", "/x/..", "/./x", "/x//y", "/x/", "x", "/", &long] {
        let services = format!(r#"[{{"name": "a", "names": {{"a": "{path}"}}}}]"#);
        let fault = fault(&system(&services), &programs);
        assert!(fault.contains("is no path"), "{path}: {fault}");
    }
}

#[test]
fn two_images_do_not_drive_one_device() {
    let mut programs = programs(&[("a", &["a"], &[]), ("b", &["b"], &[])]);
    for (image, signature) in [("a", "/virtio/2"), ("b", "/virtio")] {
        programs.get_mut(image).unwrap().devices = vec![DeviceUse {
            name: "device".into(),
            signatures: vec![signature.into()],
            ..DeviceUse::default()
        }];
    }
    let both = r#"[{"name": "a"}, {"name": "b"}]"#;
    let fault = fault(&system(both), &programs);
    assert!(fault.contains("would drive the same device"), "{fault}");
    // One image may drive several, and a prefix ends where a component does.
    let one = r#"[{"name": "a"}, {"name": "c", "image": "a", "names": {"a": "/c"}}]"#;
    assert!(infer(&system(one), &programs).is_ok());
    programs.get_mut("b").unwrap().devices[0].signatures = vec!["/virtio/20".into()];
    assert!(infer(&system(both), &programs).is_ok());
}
