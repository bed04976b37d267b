//! Manifests that say which names a program serves and uses.

use super::hostile::refused;
use super::*;
use crate::error::ErrorKind;

#[test]
fn what_is_said_to_be_served_and_used_is_held_against_the_imports() {
    let space = "contract NamespaceContract { in message Bind(); out message AckBind(); state Start: Bind? -> AckBind! -> Start; }";
    let text = format!("{space} {ECHO}");
    let manifest = |rest: &str| {
        format!(
            r#"{{"name":"x","abi":1,"endpoints":[{{"name":"to","contract":"Echo","side":"imp"}},
            {{"name":"from","contract":"Echo","side":"exp"}},
            {{"name":"echo","contract":"NamespaceContract","side":"exp"}}],{rest}}}"#
        )
    };
    let serving =
        r#"(import "contract:Echo" "exp.send.Answer" (func (param i32 i64) (result i32)))"#;
    let using = r#"(import "contract:Echo" "imp.send.Say" (func (param i32 i64) (result i32)))"#;
    let serves = r#""serves":[{"name":"echo","contract":"Echo"}]"#;
    let itself = r#""serves":[{"name":"/echo","contract":"Echo"}]"#;
    let uses = r#""uses":[{"path":"/echo","contract":"Echo"}]"#;
    let module =
        |rest: &str, imports: &str| sip_with(&manifest(rest), &text, &format!("{imports} {MAIN}"));
    for (rest, imports) in [(serves, serving), (itself, serving), (uses, using)] {
        let verified = crate::verify(&module(rest, imports), &Options::default());
        assert!(verified.is_ok(), "{rest}: {:?}", verified.err());
    }
    for (rest, imports, part) in [
        (
            serves,
            using,
            "serves \"echo\" by \"Echo\", and imports nothing",
        ),
        (
            itself,
            "",
            "serves \"/echo\" by \"Echo\", and imports nothing",
        ),
        (
            uses,
            serving,
            "uses \"/echo\" by \"Echo\", and imports nothing",
        ),
        (
            r#""serves":[{"name":"to","contract":"Echo"}]"#,
            serving,
            "without a start-up endpoint NamespaceContract.Exp",
        ),
        (
            r#""serves":[{"name":"/a","contract":"Echo"},{"name":"/a","contract":"Echo"}]"#,
            serving,
            "serves \"/a\" twice",
        ),
        (
            r#""uses":[{"path":"echo","contract":"Echo"}]"#,
            using,
            "is no path",
        ),
        (r#""category":"daemon""#, "", "daemon"),
    ] {
        refused(&module(rest, imports), ErrorKind::Manifest, &[part]);
    }
    let many: Vec<String> = (0..=64)
        .map(|i| format!(r#"{{"path":"/{i}","contract":"Echo"}}"#))
        .collect();
    let many = format!(r#""uses":[{}]"#, many.join(","));
    refused(
        &module(&many, using),
        ErrorKind::Manifest,
        &["65 names, where 64"],
    );
}
