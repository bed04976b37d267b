//! Scripts for `sing-wast`: modules on open linkage, each with an interpreter's results of its
//! functions as assertions.

use crate::numbers::Numbers;
use crate::smith;
use anyhow::Result;
use std::fmt::Write;
use std::path::Path;
use wasmi::errors::ErrorKind;
use wasmi::{Engine, Extern, Instance, Linker, Module, Nullable, Store, TrapCode, Val, ValType};

fn argument(ty: ValType, bits: u64, upper: u64) -> Val {
    match ty {
        ValType::V128 => Val::V128((u128::from(upper) << 64 | u128::from(bits)).into()),
        ValType::I32 => Val::I32(bits as i32),
        ValType::I64 => Val::I64(bits as i64),
        ValType::F32 => Val::F32(f32::from_bits(bits as u32).into()),
        ValType::F64 => Val::F64(f64::from_bits(bits).into()),
        other => Val::default_for_ty(other),
    }
}

/// A value as an argument or a result.
fn text(v: &Val) -> String {
    match v {
        Val::I32(v) => format!("(i32.const {v})"),
        Val::I64(v) => format!("(i64.const {v})"),
        Val::F32(v) => {
            let (bits, v) = (v.to_bits(), f32::from_bits(v.to_bits()));
            let sign = if v.is_sign_negative() { "-" } else { "" };
            match (v.is_nan(), v.is_infinite()) {
                (true, _) => format!("(f32.const {sign}nan:{:#x})", bits & 0x7f_ffff),
                (_, true) => format!("(f32.const {sign}inf)"),
                _ => format!("(f32.const {v:e})"),
            }
        }
        Val::F64(v) => {
            let (bits, v) = (v.to_bits(), f64::from_bits(v.to_bits()));
            let sign = if v.is_sign_negative() { "-" } else { "" };
            match (v.is_nan(), v.is_infinite()) {
                (true, _) => format!("(f64.const {sign}nan:{:#x})", bits & ((1 << 52) - 1)),
                (_, true) => format!("(f64.const {sign}inf)"),
                _ => format!("(f64.const {v:e})"),
            }
        }
        Val::V128(v) => {
            let (low, high) = (v.as_u128() as u64, (v.as_u128() >> 64) as u64);
            format!("(v128.const i64x2 {low:#x} {high:#x})")
        }
        Val::FuncRef(Nullable::Null) => "(ref.null func)".into(),
        Val::FuncRef(_) => "(ref.func)".into(),
        Val::ExternRef(Nullable::Null) => "(ref.null extern)".into(),
        other => panic!("no such value can come up: {other:?}"),
    }
}

/// The suite's words for a trap; `None` if limits differ between the two.
fn message(e: &wasmi::Error) -> Option<&'static str> {
    let Some(code) = e.as_trap_code() else {
        // An active segment that does not fit, in a memory or a table.
        return matches!(
            e.kind(),
            ErrorKind::Instantiation(_) | ErrorKind::Memory(_) | ErrorKind::Table(_)
        )
        .then_some("out of bounds");
    };
    Some(match code {
        TrapCode::UnreachableCodeReached => "unreachable",
        TrapCode::MemoryOutOfBounds => "out of bounds memory access",
        TrapCode::TableOutOfBounds => "out of bounds table access",
        TrapCode::IndirectCallToNull => "uninitialized element",
        TrapCode::BadSignature => "indirect call type mismatch",
        TrapCode::IntegerDivisionByZero => "integer divide by zero",
        TrapCode::IntegerOverflow => "integer overflow",
        TrapCode::BadConversionToInteger => "invalid conversion to integer",
        _ => return None,
    })
}

/// The digest of a memory that the module in a script computes.
fn digest(memory: &[u8]) -> u64 {
    memory.chunks_exact(8).fold(0u64, |h, word| {
        let word = word.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        (h.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// Whether all memories of a module have 32-bit addresses and pages of 64 KiB.
fn has_plain_memories(wasm: &[u8]) -> bool {
    use wasmparser::{Parser, Payload};
    let memories = Parser::new(0).parse_all(wasm).filter_map(|p| match p {
        Ok(Payload::MemorySection(memories)) => Some(memories),
        _ => None,
    });
    let plain = |m: wasmparser::MemoryType| !m.memory64 && m.page_size_log2.is_none();
    memories.flatten().all(|m| m.is_ok_and(plain))
}

/// Whether a module has tail calls: a script must say so where the module is written in binary.
fn has_tail_calls(wasm: &[u8]) -> bool {
    use wasmparser::{Operator, Parser, Payload};
    let bodies = Parser::new(0).parse_all(wasm).filter_map(|p| match p {
        Ok(Payload::CodeSectionEntry(body)) => body.get_operators_reader().ok(),
        _ => None,
    });
    bodies.flatten().any(|op| {
        matches!(
            op,
            Ok(Operator::ReturnCall { .. } | Operator::ReturnCallIndirect { .. })
        )
    })
}

const DIGEST: &str = r#"(module (memory (import "m" "MEMORY") 0)
  (func (export "digest") (result i64)
    (local $at i32) (local $end i32) (local $h i64)
    (local.set $end (i32.mul (memory.size) (i32.const 65536)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
      (local.set $h (i64.mul (i64.const 0x9e3779b97f4a7c15)
        (i64.xor (i64.rotl (local.get $h) (i64.const 5)) (i64.load (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br $more)))
    (local.get $h)))
"#;

/// A name as a script's string.
fn quote(name: &str) -> String {
    let escape = |b: u8| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(b).to_string(),
        _ => format!("\\{b:02x}"),
    };
    format!("\"{}\"", name.bytes().map(escape).collect::<String>())
}

/// The assertions on one module.
struct Writer<'a> {
    linker: Linker<()>,
    module: Module,
    wasm: &'a [u8],
    script: String,
}

impl Writer<'_> {
    fn binary(&self) -> String {
        let bytes: String = self.wasm.iter().map(|b| format!("\\{b:02x}")).collect();
        format!("(module binary \"{bytes}\")")
    }

    /// A fresh instance in both worlds; `None` if it cannot be instantiated.
    fn instance(&mut self, store: &mut Store<()>) -> Option<Instance> {
        match self.linker.instantiate_and_start(&mut *store, &self.module) {
            Ok(instance) => {
                if self.script.is_empty() {
                    let binary = self
                        .binary()
                        .replace("(module binary", "(module definition $m binary");
                    writeln!(self.script, "{binary}").unwrap();
                }
                writeln!(self.script, "(module instance $i $m)").unwrap();
                Some(instance)
            }
            Err(e) => {
                if let Some(message) = message(&e) {
                    let binary = self.binary();
                    writeln!(self.script, "(assert_trap {binary} \"{message}\")").unwrap();
                }
                None
            }
        }
    }

    /// Calls an exported function; returns false if the two cannot be compared from here on.
    fn call(
        &mut self,
        store: &mut Store<()>,
        instance: &Instance,
        name: &str,
        numbers: &mut Numbers,
    ) -> bool {
        let Some(f) = instance.get_func(&*store, name) else {
            return true;
        };
        let ty = f.ty(&*store);
        let args: Vec<Val> = ty
            .params()
            .iter()
            .map(|t| argument(*t, numbers.bits(), numbers.bits()))
            .collect();
        let mut results: Vec<Val> = ty
            .results()
            .iter()
            .map(|t| Val::default_for_ty(*t))
            .collect();
        let invoke = format!(
            "(invoke {} {})",
            quote(name),
            args.iter().map(text).collect::<Vec<_>>().join(" ")
        );
        match f.call(&mut *store, &args, &mut results) {
            Ok(()) => {
                let results = results.iter().map(text).collect::<Vec<_>>().join(" ");
                writeln!(self.script, "(assert_return {invoke} {results})").unwrap();
            }
            Err(e) => match message(&e) {
                Some(message) => {
                    writeln!(self.script, "(assert_trap {invoke} \"{message}\")").unwrap()
                }
                None => return false,
            },
        }
        true
    }

    /// The state that an instance is left in.
    fn state(&mut self, store: &Store<()>, instance: &Instance) {
        let mut memories = Vec::new();
        for export in instance.exports(store) {
            let name = export.name().to_string();
            match export.into_extern() {
                Extern::Global(g) => {
                    let value = text(&g.get(store));
                    writeln!(
                        self.script,
                        "(assert_return (get {}) {value})",
                        quote(&name)
                    )
                    .unwrap();
                }
                // The module that computes the digest knows no other memories.
                Extern::Memory(m) if has_plain_memories(self.wasm) => {
                    memories.push((name, digest(m.data(store))));
                }
                _ => {}
            }
        }
        for (name, digest) in memories {
            let module = DIGEST.replace("\"MEMORY\"", &quote(&name));
            let digest = digest as i64;
            writeln!(self.script, "(register \"m\" $i) {module}").unwrap();
            writeln!(
                self.script,
                "(assert_return (invoke \"digest\") (i64.const {digest}))"
            )
            .unwrap();
        }
    }
}

/// The script of a seed; empty if the generator gives no module or it cannot be compared.
fn script(engine: &Engine, seed: u64) -> String {
    let Some(wasm) = smith::plain(&mut Numbers(seed)) else {
        return String::new();
    };
    // The interpreter cannot judge a module that it refuses.
    let Ok(module) = Module::new(engine, &wasm) else {
        return String::new();
    };
    let names: Vec<String> = module
        .exports()
        .filter(|e| e.ty().func().is_some())
        .map(|e| e.name().to_string())
        .collect();
    let mut numbers = Numbers(!seed);
    let mut w = Writer {
        linker: Linker::new(engine),
        module,
        wasm: &wasm,
        script: String::new(),
    };
    for name in names.iter().take(6) {
        let mut store = Store::new(engine, ());
        let Some(instance) = w.instance(&mut store) else {
            break;
        };
        if (0..3).all(|_| w.call(&mut store, &instance, name, &mut numbers)) {
            w.state(&store, &instance);
        }
    }
    if has_tail_calls(&wasm) && !w.script.is_empty() {
        w.script.insert_str(0, ";; return_call\n");
    }
    w.script
}

/// Writes a script for each module that can be compared; returns their number.
pub fn generate(directory: &Path, count: u64, first: u64) -> Result<u64> {
    std::fs::create_dir_all(directory)?;
    let mut config = wasmi::Config::default();
    // Our frames are never so large that fewer calls would exhaust our stack.
    config.set_max_recursion_depth(40);
    config.wasm_custom_page_sizes(true);
    let engine = Engine::new(&config);
    let mut written = 0;
    for seed in first..first + count {
        let script = script(&engine, seed);
        if !script.is_empty() {
            written += 1;
            std::fs::write(directory.join(format!("{seed:06}.wast")), script)?;
        }
    }
    Ok(written)
}
