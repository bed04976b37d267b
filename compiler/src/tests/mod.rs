//! Tests of the whole path from module to image. Here code is inspected; the kernel's test suites
//! run it.

mod addresses;
mod checks;
mod code;
mod copies;
mod exceptions;
mod growth;
mod hostile;
mod image;
mod kept;
mod limits;
mod lines;
mod mutation;
mod regions;
mod served;
mod shaking;
mod symbols;
mod variables;
mod vectors;

use crate::{Compiled, MemoryMode, Options, Unreached};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use sing_abi::trap::Trap;
use std::time::{Duration, Instant};

/// The time of processors that this thread takes for some work: another program's is not in it, where
/// Linux tells them apart.
pub fn processor_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let now = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let (started, clock) = (now(), Instant::now());
    let done = work();
    let took = match (started, now()) {
        (Some(started), Some(ended)) => Duration::from_nanos(u64::saturating_sub(ended, started)),
        _ => clock.elapsed(),
    };
    (done, took)
}

/// A manifest without privileges.
const PLAIN: &str = r#"{"name":"test","abi":1}"#;

/// A contract for tests: a message each way, one with many words, one that may go either way.
const ECHO: &str = "public contract Echo {
    in message Say(uint a);
    in message Tell(ulong a, ulong b, ulong c);
    in message Much(ulong a, ulong b, ulong c, ulong d);
    out message Answer(uint a);
    state Start: one { Say? -> Answer! -> Start; Tell? -> Answer! -> Start; Much? -> Answer! -> Start; }
}";

/// A manifest that grants both ends of such a channel.
const ECHOING: &str = r#"{"name":"test","abi":1,"endpoints":[
    {"name":"to","contract":"Echo","side":"imp"},{"name":"from","contract":"Echo","side":"exp"}]}"#;

/// A main function that does nothing.
const MAIN: &str = r#"(func (export "sip_main") (result i32) i32.const 0)"#;

/// The text of a custom section.
fn section(name: &str, text: &str) -> String {
    let escaped: String = text.bytes().map(|b| format!("\\{b:02x}")).collect();
    format!("(@custom {name:?} \"{escaped}\")\n")
}

/// A module with a manifest and these fields.
fn sip(fields: &str) -> Vec<u8> {
    sip_with(PLAIN, "", fields)
}

/// A module with this manifest, the text of contracts, and these fields.
fn sip_with(manifest: &str, contracts: &str, fields: &str) -> Vec<u8> {
    let mut text = format!("(module {fields}\n");
    text += &section("singularity.manifest", manifest);
    if !contracts.is_empty() {
        text += &section("singularity.contracts", contracts);
    }
    text.push(')');
    wat(&text)
}

fn wat(text: &str) -> Vec<u8> {
    match wat::parse_str(text) {
        Ok(bytes) => bytes,
        Err(e) => panic!("the test's module does not parse: {e}\n{text}"),
    }
}

/// The usual options, but for functions that nothing calls, which are compiled: tests look at them.
fn whole() -> Options {
    Options {
        unreached: Unreached::Kept,
        ..Options::default()
    }
}

fn compile(wasm: &[u8]) -> Compiled {
    compile_with(wasm, &Options::default())
}

/// Compiles a module with all its functions.
fn compile_with(wasm: &[u8], options: &Options) -> Compiled {
    let unreached = Unreached::Kept;
    match crate::compile(
        wasm,
        &Options {
            unreached,
            ..*options
        },
    ) {
        Ok(compiled) => compiled,
        Err(e) => panic!("refused: {e}"),
    }
}

fn open(fields: &str) -> Compiled {
    compile_with(
        &wat(&format!("(module {fields})")),
        &Options::open(MemoryMode::Guard),
    )
}

/// The instructions of a function.
fn instructions(compiled: &Compiled, name: &str) -> Vec<Instruction> {
    let Some(func) = compiled.meta.funcs.iter().find(|f| f.name == name) else {
        panic!("no function {name}");
    };
    let (start, size) = (func.offset as usize, func.size as usize);
    let code = &compiled.code[start..start + size];
    Decoder::with_ip(64, code, u64::from(func.offset), DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// The reasons of a function's traps, each once, in the order of their codes.
fn traps(compiled: &Compiled, name: &str) -> Vec<Trap> {
    let at: Vec<u64> = instructions(compiled, name)
        .iter()
        .map(Instruction::ip)
        .collect();
    let mut codes: Vec<u8> = compiled
        .meta
        .traps
        .iter()
        .filter(|(offset, _)| at.contains(&u64::from(*offset)))
        .map(|(_, code)| code)
        .collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().filter_map(Trap::from_code).collect()
}
