//! Modules that must be refused, for the right reason and with the place.

use super::{ECHO, ECHOING, MAIN, PLAIN, section, sip, sip_with, wat};
use crate::{ErrorKind, Options};

pub(super) fn refused(wasm: &[u8], kind: ErrorKind, parts: &[&str]) {
    let e = match crate::verify(wasm, &Options::default()) {
        Ok(_) => panic!("accepted, though it should say {parts:?}"),
        Err(e) => e,
    };
    let text = e.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
    assert_eq!(e.kind, kind, "{text}");
    // Nothing is compiled that is not verified.
    assert_eq!(crate::compile(wasm, &Options::default()).err(), Some(e));
}

#[test]
fn what_is_no_module() {
    refused(b"", ErrorKind::Invalid, &["byte 0x0"]);
    refused(b"\x7fELF", ErrorKind::Invalid, &["magic"]);
    refused(b"\0asm\x01\0\0", ErrorKind::Invalid, &["byte"]);
    // A component, not a core module.
    refused(b"\0asm\x0d\0\x01\0", ErrorKind::Unsupported, &["component"]);
    let mut cut = sip(MAIN);
    cut.truncate(cut.len() - 3);
    refused(&cut, ErrorKind::Invalid, &["byte"]);
}

#[test]
fn what_is_not_valid() {
    let ill_typed = sip(r#"(func $good) (func $bad (result i32) i64.const 1)
        (func (export "sip_main") (result i32) call $bad)"#);
    refused(
        &ill_typed,
        ErrorKind::Invalid,
        &["function 1 (bad)", "type mismatch", "byte 0x"],
    );
    let no_such = sip(r#"(func (export "sip_main") (result i32) global.get 7)"#);
    refused(
        &no_such,
        ErrorKind::Invalid,
        &["function 0", "unknown global"],
    );
}

#[test]
fn what_is_of_a_later_version() {
    let cases = [
        ("(func (i64.add128))", "wide arithmetic"),
        ("(type (struct))", "gc"),
        (
            "(global i32 (i32.const 1)) (global i32 (global.get 0))",
            "global.get of locally defined global",
        ),
    ];
    for (fields, part) in cases {
        let wasm = sip(&format!("{fields} {MAIN}"));
        let e = crate::verify(&wasm, &Options::default()).expect_err(fields);
        assert!(
            e.to_string().to_lowercase().contains(&part.to_lowercase()),
            "{fields}: {e}"
        );
        assert!(e.place.is_some(), "{fields}: {e}");
    }
}

#[test]
fn vectors_that_cross_the_kernel_boundary() {
    let entry = sip(&format!(
        r#"(import "sing_v1" "yield" (func (param v128))) {MAIN}"#
    ));
    refused(
        &entry,
        ErrorKind::Import,
        &["\"yield\"", "its type is (v128) -> ()", "must be () -> ()"],
    );
    let message = sip_with(
        ECHOING,
        ECHO,
        &format!(
            r#"(import "contract:Echo" "imp.send.Say" (func (param i32 v128) (result i32))) {MAIN}"#
        ),
    );
    refused(
        &message,
        ErrorKind::Import,
        &["its type is (i32, v128) -> i32", "(i32, i64)"],
    );
    let main = sip(r#"(func (export "sip_main") (result v128) v128.const i64x2 0 0)"#);
    refused(
        &main,
        ErrorKind::Export,
        &["sip_main", "but is one () -> v128"],
    );
    let thread = sip(&format!(
        r#"(func (export "sip_thread") (param v128)) {MAIN}"#
    ));
    refused(&thread, ErrorKind::Export, &["sip_thread", "(v128) -> ()"]);
    // Inside the program there is no restriction.
    let inside = sip(&format!(
        "(global (mut v128) (v128.const i64x2 1 2))
         (func $f (param v128) (result v128 v128) local.get 0 global.get 0) {MAIN}"
    ));
    assert!(crate::compile(&inside, &Options::default()).is_ok());
}

#[test]
fn instructions_that_wait_outside_the_kernel() {
    for (op, name) in [
        (
            "i32.const 0 i32.const 0 i64.const 0 memory.atomic.wait32 drop",
            "memory.atomic.wait32",
        ),
        (
            "i32.const 0 i64.const 0 i64.const 0 memory.atomic.wait64 drop",
            "memory.atomic.wait64",
        ),
        (
            "i32.const 0 i32.const 0 memory.atomic.notify drop",
            "memory.atomic.notify",
        ),
    ] {
        let wasm = sip(&format!("(memory 1) (func $f {op}) {MAIN}"));
        refused(
            &wasm,
            ErrorKind::Unsupported,
            &[name, "function 0 (f)", "wait_one"],
        );
    }
}

#[test]
fn foreign_imports() {
    for (import, parts) in [
        (
            r#"(import "env" "print" (func))"#,
            &[r#"import "env" "print""#, "foreign import"][..],
        ),
        (
            r#"(import "wasi_snapshot_preview1" "fd_write" (func))"#,
            &["foreign import"],
        ),
        (r#"(import "sing_v" "yield" (func))"#, &["foreign import"]),
        (
            r#"(import "sing_v2" "yield" (func))"#,
            &["version 2 of the ABI", "sing_v1"],
        ),
        (
            r#"(import "sing_v10" "yield" (func))"#,
            &["version 10 of the ABI"],
        ),
        (
            r#"(import "sing_v1" "fork" (func))"#,
            &["no entry \"fork\""],
        ),
        // An entry that only the compiler may call.
        (
            r#"(import "sing_v1" "memory_copy" (func (param i32 i32 i32)))"#,
            &["no entry"],
        ),
        (
            r#"(import "sing_v1" "channel_send" (func (param i32 i32 i64 i64 i64) (result i32)))"#,
            &["no entry"],
        ),
        (
            r#"(import "sing_v1" "yield" (func (param i32)))"#,
            &["its type is (i32) -> (), but must be () -> ()"],
        ),
        (
            r#"(import "sing_v1" "uptime" (func (result i32)))"#,
            &["its type is () -> i32, but must be () -> i64"],
        ),
        (
            r#"(import "env" "memory" (memory 1))"#,
            &["imports a memory", "--import-memory"],
        ),
        (
            r#"(import "env" "table" (table 1 funcref))"#,
            &["imports a table"],
        ),
        (
            r#"(import "env" "base" (global i32))"#,
            &["imports a global"],
        ),
        (
            r#"(import "sing_v1" "yield" (global i32))"#,
            &["imports a global"],
        ),
    ] {
        refused(&sip(&format!("{import} {MAIN}")), ErrorKind::Import, parts);
    }
}

#[test]
fn privileges_that_are_not_granted() {
    let import = r#"(import "sing_v1" "console_write" (func (param i32 i32) (result i32)))"#;
    let wasm = sip(&format!("{import} {MAIN}"));
    refused(
        &wasm,
        ErrorKind::Privilege,
        &["console_write", "privilege \"console\""],
    );
    let other = r#"{"name":"test","abi":1,"privileges":["boot","inspect"]}"#;
    let wasm = sip_with(other, "", &format!("{import} {MAIN}"));
    refused(&wasm, ErrorKind::Privilege, &["privilege \"console\""]);
    let right = r#"{"name":"test","abi":1,"privileges":["console"]}"#;
    let wasm = sip_with(right, "", &format!("{import} {MAIN}"));
    assert!(crate::verify(&wasm, &Options::default()).is_ok());
}

#[test]
fn exports_that_are_missing_or_wrong() {
    refused(&sip(""), ErrorKind::Export, &["sip_main", "() -> i32"]);
    for fields in [
        r#"(func (export "sip_main"))"#,
        r#"(func (export "sip_main") (result i64) i64.const 0)"#,
        r#"(func (export "sip_main") (param i32) (result i32) i32.const 0)"#,
        r#"(global (export "sip_main") i32 (i32.const 0))"#,
    ] {
        refused(
            &sip(fields),
            ErrorKind::Export,
            &["export \"sip_main\"", "() -> i32"],
        );
    }
    let thread = format!(r#"{MAIN} (func (export "sip_thread"))"#);
    refused(
        &sip(&thread),
        ErrorKind::Export,
        &["sip_thread", "(i32) -> ()"],
    );
    let create =
        format!(r#"(import "sing_v1" "thread_create" (func (param i32 i32) (result i32))) {MAIN}"#);
    refused(
        &sip(&create),
        ErrorKind::Export,
        &["sip_thread", "thread_create"],
    );
    for global in ["i32 (i32.const 0)", "(mut i64) (i64.const 0)"] {
        let fields = format!(r#"{MAIN} (global (export "__stack_pointer") {global})"#);
        refused(
            &sip(&fields),
            ErrorKind::Export,
            &["__stack_pointer", "mutable"],
        );
    }
}

#[test]
fn memories_that_a_sip_cannot_have() {
    let shared = format!("(memory 1 2 shared) {MAIN}");
    refused(&sip(&shared), ErrorKind::Unsupported, &["shared"]);
    let small = r#"{"name":"test","abi":1,"memory":65536}"#;
    let wasm = sip_with(small, "", &format!("(memory 2) {MAIN}"));
    refused(
        &wasm,
        ErrorKind::Budget,
        &["131072", "65536", "singularity.manifest"],
    );
    let wasm = sip_with(small, "", &format!("(memory 1) (table 1 funcref) {MAIN}"));
    refused(&wasm, ErrorKind::Budget, &["8 bytes of tables"]);
}

#[test]
fn processes_that_could_never_start_within_their_budget() {
    let with = |manifest: &str, pages: u32| {
        let fields = format!("(memory {pages}) {MAIN}");
        let manifest = format!(r#"{{"name":"test","abi":1{manifest}}}"#);
        sip_with(&manifest, "", &fields)
    };
    let refuses = |manifest: &str, pages, parts: &[&str]| {
        refused(&with(manifest, pages), ErrorKind::Budget, parts);
    };
    // Room for the memory alone is none for the stack and the kernel's records.
    let sizes = [
        "67108864 bytes of memory",
        "stack of 65536",
        "raise \"memory\"",
    ];
    refuses("", 1024, &sizes);
    refuses("", 1024, &["no budget", "default one is 67108864"]);
    refuses(r#","memory":67108864"#, 1024, &sizes);
    refuses(r#","memory":65536,"stack":4096"#, 1, &["stack of 32768"]);
    refuses(r#","memory":131072"#, 1, &["records"]);
    refuses("", 65536, &["4294967296 bytes of memory"]);
    for (manifest, pages) in [
        ("", 1000),
        // Its ancestors' budgets bound a process that may create others.
        (r#","privileges":["create"]"#, 1024),
        (r#","memory":67371008"#, 1024),
        (r#","memory":131072,"stack":4096"#, 1),
    ] {
        let verified = crate::verify(&with(manifest, pages), &Options::default());
        assert!(
            verified.is_ok(),
            "{manifest}, {pages}: {:?}",
            verified.err()
        );
    }
}

#[test]
fn manifests_that_are_missing_or_wrong() {
    let none = wat(&format!("(module {MAIN})"));
    refused(
        &none,
        ErrorKind::Manifest,
        &["no manifest", "sing_sdk::manifest!"],
    );
    for (manifest, part) in [
        ("", "does not read"),
        ("{", "does not read"),
        ("[]", "does not read"),
        (r#"{"name":"x"}"#, "abi"),
        (r#"{"abi":1}"#, "name"),
        (r#"{"name":"x","abi":1,"root":true}"#, "root"),
        (r#"{"name":"x","abi":2}"#, "version 2 of the ABI"),
        (r#"{"name":"x","abi":0}"#, "version 0 of the ABI"),
        (r#"{"name":"","abi":1}"#, "no name"),
        (r#"{"name":"a/b","abi":1}"#, "no name"),
        (
            r#"{"name":"x","abi":1,"privileges":["root"]}"#,
            "no privilege \"root\"",
        ),
        (
            r#"{"name":"x","abi":1}{"name":"x","abi":1}"#,
            "two manifests",
        ),
        (
            r#"{"name":"x","abi":1,"endpoints":[{"name":"names","contract":"None","side":"imp"}]}"#,
            "contract \"None\"",
        ),
    ] {
        refused(&sip_with(manifest, "", MAIN), ErrorKind::Manifest, &[part]);
    }
    let twice = format!("{MAIN} {}", section("singularity.manifest", PLAIN));
    refused(&sip(&twice), ErrorKind::Manifest, &["more than one"]);
    let not_text = wat(&format!(
        "(module {MAIN} (@custom \"singularity.manifest\" \"\\ff\\fe\"))"
    ));
    refused(&not_text, ErrorKind::Manifest, &["UTF-8"]);
}

#[test]
fn parameters_that_are_wrong() {
    let list = |inside: &str| section("singularity.parameters", inside);
    let with =
        |manifest: &str, sections: &str| sip_with(manifest, "", &format!("{MAIN} {sections}"));
    for (text, part) in [
        ("", ""),
        ("[]", ""),
        (r#"[{"name":"-a","count":"flag"}]"#, ""),
        (
            r#"[{"name":"A"}][{"name":"B","kind":{"choice":["x","y"]}}]"#,
            "",
        ),
        ("{", "do not read"),
        ("[] x", "do not read"),
        (r#"{"name":"A"}"#, "do not read"),
        (r#"[{"name":"A","often":1}]"#, "often"),
        (r#"[{"name":"A","kind":"colour"}]"#, "colour"),
        (
            r#"[{"name":"A","kind":{"whole":{"least":0,"most":-1}}}]"#,
            "do not read",
        ),
        (r#"[{"name":"A"}][{"name":"A"}]"#, "declared twice"),
        (r#"[{"name":"A\u001b[2J"}]"#, "control character"),
        (
            r#"[{"name":"A","count":"many"},{"name":"B"}]"#,
            "takes all words",
        ),
        (
            r#"[{"name":"A","kind":{"choice":[]}}]"#,
            "0 words to choose",
        ),
    ] {
        let module = with(PLAIN, &list(text));
        if part.is_empty() {
            let verified = crate::verify(&module, &Options::default());
            verified.unwrap_or_else(|e| panic!("{text}: {e}"));
        } else {
            refused(&module, ErrorKind::Manifest, &[part]);
        }
    }
    let many = vec![r#"{"name":"A"}"#; 65].join(",");
    let many = with(PLAIN, &list(&format!("[{many}]")));
    refused(&many, ErrorKind::Manifest, &["65 parameters"]);
    let long = format!("[{}]", " ".repeat(256 << 10));
    refused(
        &with(PLAIN, &list(&long)),
        ErrorKind::TooLarge,
        &["manifest"],
    );
    let inside = r#"{"name":"x","abi":1,"parameters":[]}"#;
    refused(
        &with(inside, &list("[]")),
        ErrorKind::Manifest,
        &["leave one"],
    );
    let wrong = r#"{"name":"x","abi":1,"parameters":[{"name":""}]}"#;
    refused(&with(wrong, ""), ErrorKind::Manifest, &["no name"]);
}

#[test]
fn startup_endpoints_that_do_not_fit() {
    let manifest = |endpoints: &str| format!(r#"{{"name":"x","abi":1,"endpoints":[{endpoints}]}}"#);
    for (endpoints, part) in [
        (
            r#"{"name":"a","contract":"Echo","side":"imp","state":"Nowhere"}"#,
            "\"Nowhere\"",
        ),
        (
            r#"{"name":"a","contract":"Echo","side":"imp"},{"name":"a","contract":"Echo","side":"exp"}"#,
            "declared twice",
        ),
        (
            r#"{"name":"a","contract":"Echo","side":"imp","many":true},{"name":"b","contract":"Echo","side":"exp"}"#,
            "declared last",
        ),
    ] {
        let wasm = sip_with(&manifest(endpoints), ECHO, MAIN);
        refused(&wasm, ErrorKind::Manifest, &[part]);
    }
    // A permission has one side.
    let narrowed = format!("{ECHO} contract Mute narrows Echo.Imp {{ }}");
    let wrong = r#"{"name":"a","contract":"Mute","side":"exp"}"#;
    let wasm = sip_with(&manifest(wrong), &narrowed, MAIN);
    refused(&wasm, ErrorKind::Manifest, &["\"Mute\" has only Imp"]);
    let right = r#"{"name":"a","contract":"Mute","side":"imp","state":"Start"}"#;
    let wasm = sip_with(&manifest(right), &narrowed, MAIN);
    assert!(crate::verify(&wasm, &Options::default()).is_ok());
    let good = r#"{"name":"a","contract":"Echo","side":"imp","state":"Start","many":true}"#;
    let wasm = sip_with(&manifest(good), ECHO, MAIN);
    assert!(crate::verify(&wasm, &Options::default()).is_ok());
}

#[test]
fn devices_that_cannot_be_declared() {
    let manifest =
        |devices: &str| format!(r#"{{"name":"t","abi":1,"endpoints":[],"devices":[{devices}]}}"#);
    let long = format!(r#"{{"name":"d","signatures":["/{}"]}}"#, "x".repeat(64));
    let many = vec![r#""/virtio/2""#; 17].join(",");
    let many = format!(r#"{{"name":"d","signatures":[{many}]}}"#);
    let queues = r#"{"name":"d","signatures":["/virtio/2"],"queues":17}"#;
    let one = |n: usize| format!(r#"{{"name":"d{n}","signatures":["/virtio/2"]}}"#);
    let crowd: Vec<String> = (0..17).map(one).collect();
    for (devices, part) in [
        (r#"{"name":"d","signatures":[]}"#, "has no signature"),
        (
            r#"{"name":"d","signatures":["virtio/2"]}"#,
            "is no signature",
        ),
        (r#"{"name":"d","signatures":["/"]}"#, "is no signature"),
        (&long, "is no signature"),
        (&many, "more than 16"),
        (queues, "more than 16"),
        (&crowd.join(","), "17 devices are declared"),
        (
            r#"{"name":"d","signatures":["/a"],"ports":1}"#,
            "unknown field",
        ),
        (&[one(1), one(1)].join(","), "name of another"),
    ] {
        let wasm = sip_with(&manifest(devices), "", MAIN);
        refused(&wasm, ErrorKind::Manifest, &[part]);
    }
    let good =
        r#"{"name":"d","signatures":["/virtio/2"],"registers":[0],"interrupt":true,"queues":1}"#;
    let wasm = sip_with(&manifest(good), "", MAIN);
    assert!(crate::verify(&wasm, &Options::default()).is_ok());
}

#[test]
fn messages_that_no_contract_allows() {
    for (import, parts) in [
        (
            r#"(import "contract:Other" "new" (func (param i32) (result i32)))"#,
            &["contract \"Other\"", "singularity.contracts"][..],
        ),
        (
            r#"(import "contract:Echo" "frob" (func))"#,
            &["\"frob\" is no operation"],
        ),
        (
            r#"(import "contract:Echo" "imp.send.Shout" (func (param i32 i64) (result i32)))"#,
            &["no message \"Shout\""],
        ),
        (
            r#"(import "contract:Echo" "exp.send.Say" (func (param i32 i64) (result i32)))"#,
            &["sent by Imp, never by Exp"],
        ),
        (
            r#"(import "contract:Echo" "imp.send.Answer" (func (param i32 i64) (result i32)))"#,
            &["sent by Exp, never by Imp"],
        ),
        (
            r#"(import "contract:Echo" "imp.call.Answer" (func (param i32 i64 i32) (result i32)))"#,
            &["sent by Exp, never by Imp"],
        ),
        (
            r#"(import "contract:Echo" "exp.call.Say" (func (param i32 i64 i32) (result i32)))"#,
            &["sent by Imp, never by Exp"],
        ),
        (
            r#"(import "contract:Echo" "exp.reply.Answer" (func))"#,
            &["no operation"],
        ),
    ] {
        let wasm = sip_with(PLAIN, ECHO, &format!("{import} {MAIN}"));
        refused(&wasm, ErrorKind::Contract, parts);
    }
    for (name, ty) in [
        ("new", "(param i32 i32) (result i32)"),
        ("imp.send.Say", "(param i32 i32) (result i32)"),
        ("imp.send.Tell", "(param i32 i32) (result i32)"),
        ("imp.send.Much", "(param i32 i64 i64 i64 i64) (result i32)"),
        ("imp.call.Tell", "(param i32 i64 i64 i64 i32) (result i32)"),
        ("imp.recv", "(param i32) (result i32)"),
        ("exp.cast", "(param i32 i32)"),
    ] {
        let import = format!(r#"(import "contract:Echo" "{name}" (func {ty}))"#);
        let wasm = sip_with(PLAIN, ECHO, &format!("{import} {MAIN}"));
        refused(&wasm, ErrorKind::Import, &[name, "its type is"]);
    }
}

#[test]
fn contracts_that_do_not_hold() {
    let wasm = sip_with(PLAIN, "contract {", MAIN);
    refused(
        &wasm,
        ErrorKind::Contract,
        &["section singularity.contracts"],
    );
    // The same text twice is one contract; another text under the same name is not.
    let using = r#"(import "contract:Echo" "new" (func (param i32) (result i32)))"#;
    let wasm = sip_with(
        PLAIN,
        &format!("{ECHO}\n{ECHO}"),
        &format!("{using} {MAIN}"),
    );
    let verified = crate::verify(&wasm, &Options::default());
    assert_eq!(verified.map(|v| v.contracts.len()), Ok(1));
    let other = ECHO.replace("Say(uint a)", "Say(ulong a)");
    let wasm = sip_with(PLAIN, &format!("{ECHO}\n{other}"), MAIN);
    refused(&wasm, ErrorKind::Contract, &["Echo"]);
}

#[test]
fn operations_that_nothing_granted() {
    let import = |contract: &str, name: &str, ty: &str| {
        format!(r#"(import "contract:{contract}" "{name}" (func {ty} (result i32)))"#)
    };
    let say = import("Echo", "imp.send.Say", "(param i32 i64)");
    let listen = import("Echo", "exp.recv", "(param i32 i32)");
    let give = "public contract Give {
        in message Take(Echo.Imp:Start echo);
        out message Thanks();
        state Start: Take? -> Thanks! -> Start;
    }";
    let with = |endpoint: &str| format!(r#"{{"name":"x","abi":1,"endpoints":[{endpoint}]}}"#);
    let to = r#"{"name":"to","contract":"Echo","side":"imp"}"#;
    let given = r#"{"name":"given","contract":"Give","side":"exp"}"#;
    let giver = r#"{"name":"giver","contract":"Give","side":"imp"}"#;
    let both = format!("{ECHO}\n{give}");
    let new = import("Echo", "new", "(param i32)");
    let cast = import("Echo", "imp.cast", "(param i32 i32)");
    for (manifest, fields, refused_part) in [
        (with(""), say.clone(), Some("its manifest asks for none")),
        (with(to), listen.clone(), Some("Echo.Exp")),
        (with(giver), say.clone(), Some("Echo.Imp")),
        // A cast alone gives no endpoint.
        (with(giver), format!("{cast}{say}"), Some("Echo.Imp")),
        (with(to), say.clone(), None),
        (with(given), say.clone(), None),
        (with(""), format!("{new}{say}{listen}"), None),
    ] {
        let wasm = sip_with(&manifest, &both, &format!("{fields}{MAIN}"));
        match refused_part {
            Some(part) => refused(&wasm, ErrorKind::Contract, &["can never hold", part]),
            None => {
                let verified = crate::verify(&wasm, &Options::default());
                assert!(verified.is_ok(), "{:?}", verified.err());
            }
        }
    }
}

/// A module with threads, and these further fields and custom sections.
fn threaded(manifest: &str, fields: &str) -> Vec<u8> {
    let fields = format!(
        r#"(import "sing_v1" "thread_create" (func (param i32 i32) (result i32)))
        (func (export "sip_thread") (param i32)) {fields} {MAIN}"#
    );
    sip_with(manifest, "", &fields)
}

/// The section in which a compiler lists these features, as escaped bytes of a text.
fn target_features(features: &[&str]) -> String {
    let mut bytes = format!("\\{:02x}", features.len());
    for feature in features {
        bytes += &format!("+\\{:02x}{feature}", feature.len());
    }
    format!("(@custom \"target_features\" \"{bytes}\")")
}

#[test]
fn threads_that_would_share_a_stack() {
    let pointer = "(global $p (mut i32) (i32.const 1024))";
    refused(
        &threaded(PLAIN, pointer),
        ErrorKind::Export,
        &[
            "export \"__stack_pointer\"",
            "share one stack",
            "--export=__stack_pointer",
            "\"shadow_stack\": false",
        ],
    );
    let accepted = |wasm: &[u8]| {
        let verdict = crate::verify(wasm, &Options::default());
        assert!(verdict.is_ok(), "{verdict:?}");
    };
    let exported = r#"(global (export "__stack_pointer") (mut i32) (i32.const 1024))"#;
    accepted(&threaded(PLAIN, exported));
    // None of these is a mutable stack pointer.
    accepted(&threaded(
        PLAIN,
        "(global i32 (i32.const 1)) (global (mut i64) (i64.const 1))",
    ));
    accepted(&threaded(
        r#"{"name":"x","abi":1,"shadow_stack":false}"#,
        pointer,
    ));
    // One thread has one stack.
    accepted(&sip(&format!("{pointer} {MAIN}")));
    // Without the entry that makes threads, `sip_thread` alone is enough to ask for it.
    let only_exported = format!(r#"(func (export "sip_thread") (param i32)) {pointer} {MAIN}"#);
    refused(
        &sip(&only_exported),
        ErrorKind::Export,
        &["share one stack"],
    );
}

#[test]
fn threads_of_a_compiler_that_knew_of_none() {
    let exported = r#"(global (export "__stack_pointer") (mut i32) (i32.const 1024))"#;
    let with =
        |features: &[&str]| threaded(PLAIN, &format!("{exported} {}", target_features(features)));
    refused(
        &with(&["mutable-globals", "sign-ext"]),
        ErrorKind::Export,
        &["section target_features", "no feature atomics", "+atomics"],
    );
    let verdict = crate::verify(&with(&["atomics", "sign-ext"]), &Options::default());
    assert!(verdict.is_ok(), "{verdict:?}");
    let broken = format!("{exported} (@custom \"target_features\" \"\\05+\\07ato\")");
    refused(
        &threaded(PLAIN, &broken),
        ErrorKind::Invalid,
        &["section target_features", "does not read"],
    );
    // With one thread, plain operations are atomic.
    let alone = format!("{} {MAIN}", target_features(&["sign-ext"]));
    assert!(crate::verify(&sip(&alone), &Options::default()).is_ok());
}

#[test]
fn segments_that_do_not_fit() {
    refused(
        &sip(&format!(
            r#"(memory 1) (data (i32.const 65535) "ab") {MAIN}"#
        )),
        ErrorKind::Unsupported,
        &["data segment 0 ends at byte 65537", "65536 bytes"],
    );
    refused(
        &sip(&format!(
            r#"(table 2 funcref) (elem (i32.const 1) $f $f) (func $f) {MAIN}"#
        )),
        ErrorKind::Unsupported,
        &["element segment 0 ends at element 3", "outside the 2"],
    );
}
