//! The fuzzing SIPs as modules, written as text: a loop that draws a number and calls an operation,
//! one function for each entry, so that a crash report names the entry.
//!
//! They are written in WebAssembly itself: a program in Rust would corrupt its own memory with the
//! first deliberately wrong pointer, and the types of the SDK prevent most of these calls.

use super::ops::{Arg, Gives, Kind, OPS, Op};
use anyhow::{Context, Result};
use regex::Regex;
use sing_abi::entry::{Access, ENTRIES, Entry, Int};
use std::fmt::Write;

/// Names of the two programs: one with every privilege, one with none.
pub const PROGRAMS: [&str; 2] = ["herd-all", "herd-plain"];

const FRAME: &str = include_str!("frame.wat");
const CHANNELS: &str = include_str!("channels.wat");
const BODIES: &str = include_str!("bodies.wat");

/// The imports of the contract: name here, field, type.
const CONTRACT: [(&str, &str, &str); 17] = [
    ("new", "new", "(param i32) (result i32)"),
    ("nothing", "imp.send.Nothing", "(param i32) (result i32)"),
    (
        "words",
        "imp.send.Words",
        "(param i32 i64 i64 i64) (result i32)",
    ),
    ("many", "imp.send.Many", "(param i32 i32) (result i32)"),
    ("small", "imp.send.Small", "(param i32 i64) (result i32)"),
    ("give", "imp.send.Give", "(param i32 i64) (result i32)"),
    ("two", "imp.send.Two", "(param i32 i64 i64) (result i32)"),
    ("move", "imp.send.Move", "(param i32 i64) (result i32)"),
    ("mixed", "imp.send.Mixed", "(param i32 i32) (result i32)"),
    ("ok", "exp.send.Ok", "(param i32) (result i32)"),
    ("back", "exp.send.Back", "(param i32 i64) (result i32)"),
    ("lots", "exp.send.Lots", "(param i32 i32) (result i32)"),
    ("imp_recv", "imp.recv", "(param i32 i32) (result i32)"),
    ("exp_recv", "exp.recv", "(param i32 i32) (result i32)"),
    ("imp_cast", "imp.cast", "(param i32 i32) (result i32)"),
    ("exp_cast", "exp.cast", "(param i32 i32) (result i32)"),
    (
        "call_give",
        "imp.call.Give",
        "(param i32 i64 i32) (result i32)",
    ),
];

/// The text of a program: with every privilege, or with none. `contract` is the text of the herd's
/// contract.
pub fn text(name: &str, privileged: bool, contract: &str) -> Result<String> {
    let reaches = |op: &&Op| {
        let entry = entry(op.entry);
        privileged || !entry.is_some_and(|e| matches!(e.access, Access::Privileged(_)))
    };
    let ops: Vec<&Op> = OPS.iter().filter(reaches).collect();
    let mut functions = String::new();
    let mut list = Vec::new();
    for op in &ops {
        functions.push_str(&body(op)?);
        list.extend(std::iter::repeat_n(
            format!("$op.{}", op.entry),
            op.weight as usize,
        ));
    }
    list.extend(["misbehave", "misbehave", "hoard"].map(|op| format!("$op.{op}")));
    let frame = FRAME
        .replace("OPLIST", &list.join(" "))
        .replace("OPS", &list.len().to_string());
    let mut out = String::from("(module\n");
    imports(&mut out, privileged)?;
    out.push_str(&numbered(&frame)?);
    out.push_str(CHANNELS);
    out.push_str(&numbered(&functions)?);
    manifest(&mut out, name, privileged, contract)?;
    out.push_str(")\n");
    Ok(out)
}

fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|e| e.name == name)
}

/// Replaces an entry's name after a `#` by its index.
fn numbered(text: &str) -> Result<String> {
    let name = Regex::new("#([a-z0-9_]+)")?;
    let number = |found: &regex::Captures<'_>| {
        entry(&found[1]).map_or_else(|| found[0].to_string(), |e| e.index.to_string())
    };
    Ok(name.replace_all(text, number).into_owned())
}

fn imports(out: &mut String, privileged: bool) -> Result<()> {
    for e in &ENTRIES {
        match e.access {
            Access::Compiler => continue,
            Access::Privileged(_) if !privileged => continue,
            _ => {}
        }
        write!(
            out,
            "  (import \"sing_v1\" \"{}\" (func $e.{}",
            e.name, e.name
        )?;
        for param in e.signature.params {
            write!(out, " (param {})", name_of(*param))?;
        }
        if let Some(result) = e.signature.result {
            write!(out, " (result {})", name_of(result))?;
        }
        out.push_str("))\n");
    }
    let call_many = (
        "call_many",
        "imp.call.Many",
        "(param i32 i32 i32) (result i32)",
    );
    for (name, field, ty) in CONTRACT.into_iter().chain([call_many]) {
        writeln!(
            out,
            "  (import \"contract:Herd\" \"{field}\" (func $c.{name} {ty}))"
        )?;
    }
    Ok(())
}

fn name_of(int: Int) -> &'static str {
    match int {
        Int::I32 => "i32",
        Int::I64 => "i64",
    }
}

fn manifest(out: &mut String, name: &str, privileged: bool, contract: &str) -> Result<()> {
    let privileges: Vec<&str> = sing_abi::entry::Privilege::ALL
        .iter()
        .filter(|_| privileged)
        .map(|p| p.name())
        .collect();
    let endpoints: Vec<serde_json::Value> = (0..4)
        .map(|i| {
            let side = if i % 2 == 0 { "imp" } else { "exp" };
            let name = format!("{side}{i}");
            serde_json::json!({"name": name, "contract": "Herd", "side": side, "optional": true})
        })
        .collect();
    let manifest = serde_json::json!({
        "name": name, "abi": 1, "description": "calls every entry with whatever comes to its mind",
        "privileges": privileges, "endpoints": endpoints, "memory": 8 << 20,
    });
    for (section, text) in [
        (
            sing_abi::names::SECTION_MANIFEST,
            manifest.to_string().as_str(),
        ),
        (sing_abi::names::SECTION_CONTRACTS, contract),
    ] {
        writeln!(out, "  (@custom \"{section}\" \"{}\")", escaped(text))?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        // Writing to a string does not fail.
        let _ = write!(out, "\\{b:02x}");
        out
    })
}

/// The function of an operation.
fn body(op: &Op) -> Result<String> {
    let Some((args, gives)) = op.plan else {
        return match access(op.entry) {
            Some(text) => Ok(text),
            None => by_hand(op.entry),
        };
    };
    let entry = entry(op.entry).with_context(|| format!("{} is no entry", op.entry))?;
    let mut out = format!("  (func $op.{}", op.entry);
    for (i, param) in entry.signature.params.iter().enumerate() {
        write!(out, " (local $a{i} {})", name_of(*param))?;
    }
    let result = entry.signature.result;
    if let Some(result) = result {
        write!(out, " (local $r {})", name_of(result))?;
    }
    out.push('\n');
    let mut drawn = Vec::new();
    for arg in args {
        let wide = entry.signature.params[drawn.len()] == Int::I64;
        drawn.extend(draw(*arg, wide));
    }
    for (i, text) in drawn.iter().enumerate() {
        writeln!(out, "    (local.set $a{i} {text})")?;
    }
    let mut given = Vec::new();
    let mut at = 0;
    for arg in args {
        if matches!(
            arg,
            Arg::Use(_) | Arg::Give(_) | Arg::Waitable | Arg::Anything
        ) {
            writeln!(
                out,
                "    (if (call $lacks (local.get $a{at})) (then (return)))"
            )?;
        }
        if matches!(arg, Arg::Give(_) | Arg::Anything) {
            given.push(at);
        }
        at += 1 + usize::from(matches!(arg, Arg::Text | Arg::Image | Arg::Path));
    }
    let said: Vec<String> = (0..4)
        .map(|i| match entry.signature.params.get(i) {
            None => "(i32.const 0)".into(),
            Some(Int::I32) => format!("(local.get $a{i})"),
            Some(Int::I64) => format!("(i32.wrap_i64 (local.get $a{i}))"),
        })
        .collect();
    writeln!(
        out,
        "    (call $say (i32.const {}) {})",
        entry.index,
        said.join(" ")
    )?;
    let values: String = (0..drawn.len())
        .map(|i| format!(" (local.get $a{i})"))
        .collect();
    let call = format!("(call $e.{}{values})", op.entry);
    let outcome = match result {
        None => {
            writeln!(out, "    {call}")?;
            "(i32.const 0)"
        }
        Some(Int::I32) => {
            writeln!(out, "    (local.set $r {call})")?;
            "(local.get $r)"
        }
        Some(Int::I64) => {
            writeln!(out, "    (local.set $r {call})")?;
            "(i32.wrap_i64 (i64.shr_s (local.get $r) (i64.const 1)))"
        }
    };
    writeln!(
        out,
        "    (call $note (i32.const {}) {outcome})",
        entry.index
    )?;
    for i in given {
        writeln!(
            out,
            "    (if (i32.ge_s (local.get $r) (i32.const 0)) (then (call $take (local.get $a{i}))))"
        )?;
    }
    if let Gives::Handle(kind) = gives {
        writeln!(
            out,
            "    (call $put (i32.const {}) (local.get $r))",
            kind as u32
        )?;
    }
    out.push_str("  )\n");
    Ok(out)
}

/// How an argument is drawn.
fn draw(arg: Arg, wide: bool) -> Vec<String> {
    let one = |text: String| vec![text];
    let handle = |kind: Kind| format!("(call $handle (i32.const {}))", kind as u32);
    let named = |places: &[(u32, u32)]| {
        // Both arguments use the same drawn place: the second follows the first.
        let at = places.iter().skip(1).fold(
            format!("(i32.const {})", places[0].0),
            |otherwise, (at, _)| {
                format!(
                    "(if (result i32) (call $below (i32.const {})) (then {otherwise}) (else (i32.const {at})))",
                    places.len() + 1
                )
            },
        );
        let len = places.iter().fold("(call $length)".to_string(), |otherwise, (at, len)| {
            format!(
                "(if (result i32) (i32.eq (local.get $a0) (i32.const {at})) (then (i32.const {len})) (else {otherwise}))"
            )
        });
        let wrong = format!("(if (result i32) (call $wrong) (then (call $edge)) (else {at}))");
        vec![wrong, len]
    };
    match arg {
        Arg::Use(kind) | Arg::Give(kind) => one(handle(kind)),
        Arg::Waitable => one("(call $waitable)".into()),
        Arg::Anything => one("(call $anything)".into()),
        Arg::Pointer => one("(call $pointer)".into()),
        Arg::Length => one("(call $length)".into()),
        Arg::Timeout => one("(call $timeout)".into()),
        Arg::Size => one("(call $size)".into()),
        Arg::Below(n) => one(format!("(call $number (i32.const {n}))")),
        Arg::Any if wide => one("(call $any64)".into()),
        Arg::Any => one("(call $any32)".into()),
        Arg::Text => named(&[(0x9050, 6)]),
        Arg::Image => named(&[(0x9000, 10), (0x9010, 8), (0x9020, 13)]),
        Arg::Path => named(&[(0x9030, 6), (0x9040, 12)]),
    }
}

/// Loads and stores of a block.
fn access(entry: &str) -> Option<String> {
    let (store, bits) = match entry.strip_prefix("xh_load") {
        Some(bits) => (false, bits),
        None => (true, entry.strip_prefix("xh_store")?),
    };
    let bytes = bits.parse::<u32>().ok()? / 8;
    let kind = if store { Kind::Block } else { Kind::Shared } as u32;
    let value = match (store, bytes) {
        (false, _) => "",
        (true, 8) => " (call $wide)",
        (true, _) => " (call $rng)",
    };
    let call = format!("(call $e.{entry} (local.get $h) (local.get $a){value})");
    let call = if store {
        call
    } else {
        format!("(drop {call})")
    };
    Some(format!(
        "  (func $op.{entry} (local $h i32) (local $a i32)
    (local.set $h (call $handle (i32.const {kind})))
    (if (call $lacks (local.get $h)) (then (return)))
    (call $say (i32.const #{entry}) (local.get $h) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $a (call $e.xh_size (local.get $h)))
    (if (i32.lt_u (local.get $a) (i32.const {bytes})) (then (return)))
    (local.set $a (call $number (i32.sub (local.get $a) (i32.const {}))))
    {call}
    (call $note (i32.const #{entry}) (i32.const 0)))\n",
        bytes - 1
    ))
}

/// The function from `bodies.wat`.
fn by_hand(entry: &str) -> Result<String> {
    BODIES
        .split(";;; ")
        .find_map(|part| {
            let (name, text) = part.split_once('\n')?;
            (name.trim() == entry).then(|| text.to_string())
        })
        .with_context(|| format!("bodies.wat has no function for {entry}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_are_modules() {
        let source = include_str!("../../../../tests/sips/fuzz/src/herd.rs");
        let contract = source.split('"').nth(1).unwrap();
        for (name, privileged) in [(PROGRAMS[0], true), (PROGRAMS[1], false)] {
            let text = text(name, privileged, contract).unwrap();
            let wasm = wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}"));
            assert!(wasm.len() > 10_000);
            assert_eq!(text.contains("\"sys_stop\""), privileged);
        }
    }
}
