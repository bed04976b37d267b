//! Makes a SIP of a module: a `sip_main` that calls its functions and digests the whole state
//! afterwards.
//!
//! With `n` arguments it runs plan `n / 4`: up to `n % 4` calls of one function with arguments of
//! its own. Then it answers a digest of all results, all globals, the null elements of tables, and
//! the memories. All NaNs count as one value, as the bits of a NaN are unspecified.

use crate::numbers::Numbers;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use wasm_encoder::{
    BlockType, Encode, Function, Ieee32, Ieee64, Instruction as I, MemArg, MemArgTarget,
    ValType as V,
};
use wasmparser::{CompositeInnerType, ExternalKind, FuncType, Parser, Payload, TypeRef, ValType};

/// Calls of each plan.
pub const CALLS: u32 = 3;
/// The most plans of a module.
const PLANS: usize = 3;
/// The number of added functions.
pub const ADDED: u32 = 1;

const MANIFEST: &str =
    r#"{"name": "differential", "abi": 1, "memory": 67108864, "stack": 2097152}"#;

/// The one import that is allowed and required.
pub fn imports() -> Vec<u8> {
    use wasm_encoder::{EntityType, ImportSection, Module, TypeSection};
    let mut types = TypeSection::new();
    types.ty().function([], [V::I32]);
    let mut imports = ImportSection::new();
    imports.import("sing_v1", "startup_arg_count", EntityType::Function(0));
    let mut module = Module::new();
    module.section(&types).section(&imports);
    module.finish()
}

/// How many plans a SIP has; one that was written by hand has none, and does the same with any
/// number of arguments.
pub fn plans(wasm: &[u8]) -> Result<u32> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == "plans"
        {
            return Ok(section.data().len() as u32);
        }
    }
    Ok(0)
}

/// The known facts about a module.
#[derive(Default)]
struct Known {
    types: Vec<FuncType>,
    /// Types of all functions, imported ones first.
    functions: Vec<u32>,
    imported: u32,
    globals: Vec<ValType>,
    /// Whether indices are of 64 bits, of each table.
    tables: Vec<bool>,
    /// Whether addresses are of 64 bits, and the binary logarithm of a page's size, of each memory.
    memories: Vec<(bool, u32)>,
    exported: Vec<u32>,
}

fn know(wasm: &[u8]) -> Result<Known> {
    let mut k = Known::default();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::TypeSection(section) => {
                for group in section {
                    for sub in group?.into_types() {
                        let CompositeInnerType::Func(ty) = sub.composite_type.inner else {
                            bail!("a type that is no function's");
                        };
                        k.types.push(ty);
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let TypeRef::Func(ty) = import?.ty else {
                        bail!("an import that is no function");
                    };
                    k.functions.push(ty);
                    k.imported += 1;
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    k.functions.push(ty?);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    k.globals.push(global?.ty.content_type);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    k.tables.push(table?.ty.table64);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory?;
                    let page = memory.page_size_log2.unwrap_or(16);
                    k.memories.push((memory.memory64, page));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ExternalKind::Func && export.index >= k.imported {
                        k.exported.push(export.index);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(k)
}

/// Folds the value on the stack, an i64, into the digest in local 0.
fn fold(f: &mut Function) {
    f.instruction(&I::LocalSet(1));
    f.instruction(&I::LocalGet(0));
    f.instruction(&I::I64Const(5));
    f.instruction(&I::I64Rotl);
    f.instruction(&I::LocalGet(1));
    f.instruction(&I::I64Xor);
    f.instruction(&I::I64Const(0x9e37_79b9_7f4a_7c15_u64 as i64));
    f.instruction(&I::I64Mul);
    f.instruction(&I::LocalSet(0));
}

/// Makes an i64 of the value on the stack.
fn widen(f: &mut Function, ty: ValType) {
    match ty {
        ValType::I32 => drop(f.instruction(&I::I64ExtendI32U)),
        ValType::I64 => {}
        ValType::F32 => {
            f.instruction(&I::LocalTee(4));
            f.instruction(&I::F32Const(Ieee32::new(0x7fc0_0000)));
            f.instruction(&I::LocalGet(4));
            f.instruction(&I::LocalGet(4));
            f.instruction(&I::F32Eq);
            f.instruction(&I::Select);
            f.instruction(&I::I32ReinterpretF32);
            f.instruction(&I::I64ExtendI32U);
        }
        ValType::F64 => {
            f.instruction(&I::LocalTee(5));
            f.instruction(&I::F64Const(Ieee64::new(0x7ff8 << 48)));
            f.instruction(&I::LocalGet(5));
            f.instruction(&I::LocalGet(5));
            f.instruction(&I::F64Eq);
            f.instruction(&I::Select);
            f.instruction(&I::I64ReinterpretF64);
        }
        ValType::Ref(_) => {
            f.instruction(&I::RefIsNull);
            f.instruction(&I::I64ExtendI32U);
        }
        ValType::V128 => {
            f.instruction(&I::LocalTee(6));
            f.instruction(&I::I64x2ExtractLane(0));
            f.instruction(&I::I64Const(0x9e37_79b9_7f4a_7c15_u64 as i64));
            f.instruction(&I::I64Mul);
            f.instruction(&I::LocalGet(6));
            f.instruction(&I::I64x2ExtractLane(1));
            f.instruction(&I::I64Xor);
        }
    }
}

fn constant(f: &mut Function, ty: ValType, bits: u64, upper: u64) {
    f.instruction(&match ty {
        ValType::I32 => I::I32Const(bits as i32),
        ValType::I64 => I::I64Const(bits as i64),
        ValType::F32 => I::F32Const(Ieee32::new(bits as u32)),
        ValType::F64 => I::F64Const(Ieee64::new(bits)),
        ValType::Ref(r) if r == wasmparser::RefType::FUNCREF => {
            I::RefNull(wasm_encoder::HeapType::FUNC)
        }
        ValType::Ref(r) if r == wasmparser::RefType::EXNREF => {
            I::RefNull(wasm_encoder::RefType::EXNREF.heap_type)
        }
        ValType::Ref(_) => I::RefNull(wasm_encoder::HeapType::EXTERN),
        ValType::V128 => I::V128Const((u128::from(upper) << 64 | u128::from(bits)).cast_signed()),
    });
}

/// Calls, up to the requested number (local 2), then the digest.
fn main_function(k: &Known, numbers: &mut Numbers, plans: &[u32], count: u32) -> Result<Function> {
    // 0: digest, 1: scratch, 2: calls left or index, 3: plan or end, 4: f32, 5: f64, 6: v128.
    let locals = [
        (2, V::I64),
        (2, V::I32),
        (1, V::F32),
        (1, V::F64),
        (1, V::V128),
    ];
    let mut f = Function::new(locals);
    f.instruction(&I::Call(count));
    f.instruction(&I::LocalTee(2));
    f.instruction(&I::I32Const(2));
    f.instruction(&I::I32ShrU);
    f.instruction(&I::LocalSet(3));
    f.instruction(&I::LocalGet(2));
    f.instruction(&I::I32Const(3));
    f.instruction(&I::I32And);
    f.instruction(&I::LocalSet(2));
    for (plan, function) in plans.iter().enumerate() {
        let ty = k
            .types
            .get(k.functions[*function as usize] as usize)
            .context("a function without type")?;
        f.instruction(&I::LocalGet(3));
        f.instruction(&I::I32Const(plan as i32));
        f.instruction(&I::I32Eq);
        f.instruction(&I::If(BlockType::Empty));
        for call in 0..CALLS {
            f.instruction(&I::LocalGet(2));
            f.instruction(&I::I32Const(call as i32));
            f.instruction(&I::I32GtU);
            f.instruction(&I::If(BlockType::Empty));
            for param in ty.params() {
                constant(&mut f, *param, numbers.bits(), numbers.bits());
            }
            f.instruction(&I::Call(*function));
            for result in ty.results().iter().rev() {
                widen(&mut f, *result);
                fold(&mut f);
            }
            f.instruction(&I::End);
        }
        f.instruction(&I::End);
    }
    for (global, ty) in k.globals.iter().enumerate() {
        f.instruction(&I::GlobalGet(global as u32));
        widen(&mut f, *ty);
        fold(&mut f);
    }
    for (table, &wide) in (0..).zip(&k.tables) {
        f.instruction(&I::TableSize(table));
        if wide {
            f.instruction(&I::I32WrapI64);
        }
        f.instruction(&I::LocalSet(3));
        each(&mut f, 1, wide, |f| {
            f.instruction(&I::TableGet(table));
            f.instruction(&I::RefIsNull);
            f.instruction(&I::I64ExtendI32U);
        });
    }
    for (memory, &(wide, page)) in (0..).zip(&k.memories) {
        f.instruction(&I::MemorySize(memory));
        if wide {
            f.instruction(&I::I32WrapI64);
        }
        f.instruction(&I::I32Const(page as i32));
        f.instruction(&I::I32Shl);
        f.instruction(&I::LocalSet(3));
        let at = MemArg {
            offset: 0,
            align: 0,
            target: MemArgTarget::Memory(memory),
            ordering: None,
        };
        if page == 16 {
            whole_pages(&mut f, wide, at);
        } else {
            each(&mut f, 1, wide, |f| {
                f.instruction(&I::I64Load8U(at));
            });
        }
    }
    f.instruction(&I::LocalGet(0));
    f.instruction(&I::LocalGet(0));
    f.instruction(&I::I64Const(32));
    f.instruction(&I::I64ShrU);
    f.instruction(&I::I64Xor);
    f.instruction(&I::I32WrapI64);
    f.instruction(&I::End);
    Ok(f)
}

/// Folds the result of `load` for each index below local 3, which it gets with 64 bits if `wide`.
fn each(f: &mut Function, step: i32, wide: bool, load: impl Fn(&mut Function)) {
    f.instruction(&I::I32Const(0));
    f.instruction(&I::LocalSet(2));
    f.instruction(&I::Block(BlockType::Empty));
    f.instruction(&I::Loop(BlockType::Empty));
    f.instruction(&I::LocalGet(2));
    f.instruction(&I::LocalGet(3));
    f.instruction(&I::I32GeU);
    f.instruction(&I::BrIf(1));
    f.instruction(&I::LocalGet(2));
    if wide {
        f.instruction(&I::I64ExtendI32U);
    }
    load(f);
    fold(f);
    f.instruction(&I::LocalGet(2));
    f.instruction(&I::I32Const(step));
    f.instruction(&I::I32Add);
    f.instruction(&I::LocalSet(2));
    f.instruction(&I::Br(0));
    f.instruction(&I::End);
    f.instruction(&I::End);
}

/// Folds the memory below local 3, which is of pages of 64 KiB. Most time of a run is spent here, and
/// in an interpreter: so it takes 64 bytes a round, by vectors. As the multiplier is odd, any byte
/// that differs makes another result.
fn whole_pages(f: &mut Function, wide: bool, at: MemArg) {
    const ROUND: u64 = 64;
    const DIGEST: u32 = 6;
    f.instruction(&I::V128Const(0));
    f.instruction(&I::LocalSet(DIGEST));
    f.instruction(&I::I32Const(0));
    f.instruction(&I::LocalSet(2));
    f.instruction(&I::Block(BlockType::Empty));
    f.instruction(&I::Loop(BlockType::Empty));
    f.instruction(&I::LocalGet(2));
    f.instruction(&I::LocalGet(3));
    f.instruction(&I::I32GeU);
    f.instruction(&I::BrIf(1));
    f.instruction(&I::LocalGet(DIGEST));
    for offset in (0..ROUND).step_by(16) {
        f.instruction(&I::LocalGet(2));
        if wide {
            f.instruction(&I::I64ExtendI32U);
        }
        f.instruction(&I::V128Load(MemArg { offset, ..at }));
        f.instruction(&I::V128Xor);
        let odd = 0x9e37_79b9_7f4a_7c15_u128;
        f.instruction(&I::V128Const((odd << 64 | odd).cast_signed()));
        f.instruction(&I::I64x2Mul);
    }
    f.instruction(&I::LocalSet(DIGEST));
    f.instruction(&I::LocalGet(2));
    f.instruction(&I::I32Const(ROUND as i32));
    f.instruction(&I::I32Add);
    f.instruction(&I::LocalSet(2));
    f.instruction(&I::Br(0));
    f.instruction(&I::End);
    f.instruction(&I::End);
    for lane in 0..2 {
        f.instruction(&I::LocalGet(DIGEST));
        f.instruction(&I::I64x2ExtractLane(lane));
        fold(f);
    }
}

/// Makes the SIP. The module must import the number of arguments, and nothing else.
pub fn make(wasm: &[u8], numbers: &mut Numbers) -> Result<Vec<u8>> {
    let k = know(wasm)?;
    if k.imported != 1 {
        bail!("not one import");
    }
    let mut plans = k.exported.clone();
    plans.dedup();
    plans.truncate(numbers.of(&[1, 2, 2, PLANS]));
    let main = main_function(&k, numbers, &plans, 0)?;
    let mut added: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    let mut ty = vec![0x60];
    0u32.encode(&mut ty);
    vec![V::I32].as_slice().encode(&mut ty);
    added.insert(1, ty);
    let mut function = Vec::new();
    (k.types.len() as u32).encode(&mut function);
    added.insert(3, function);
    let mut export = Vec::new();
    "sip_main".encode(&mut export);
    export.push(0);
    (k.functions.len() as u32).encode(&mut export);
    added.insert(7, export);
    let mut code = Vec::new();
    main.encode(&mut code);
    added.insert(10, code);
    let mut out = append(wasm, &added)?;
    custom(&mut out, "singularity.manifest", MANIFEST.as_bytes());
    custom(&mut out, "plans", &vec![0; plans.len()]);
    validate(&out)?;
    Ok(out)
}

/// A range of a module's bytes as an index.
pub fn bytes(range: &std::ops::Range<u64>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

/// Adds an item at the end of sections.
fn append(wasm: &[u8], added: &BTreeMap<u8, Vec<u8>>) -> Result<Vec<u8>> {
    let mut out = wasm[..8].to_vec();
    let mut missing = added.clone();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let body = &wasm[bytes(&range)];
        let new = match missing.remove(&id) {
            None => body.to_vec(),
            Some(item) => {
                let mut reader = wasmparser::BinaryReader::new(body, 0);
                let count = reader.read_var_u32()?;
                let mut new = Vec::new();
                (count + 1).encode(&mut new);
                new.extend_from_slice(&body[reader.original_position() as usize..]);
                new.extend(item);
                new
            }
        };
        out.push(id);
        (new.len() as u32).encode(&mut out);
        out.extend(new);
    }
    if !missing.is_empty() {
        bail!("a module without functions or exports");
    }
    Ok(out)
}

/// The module by itself: with a function that answers a constant in place of its import, and one
/// export.
pub fn alone(wasm: &[u8], arguments: u32) -> Result<Vec<u8>> {
    let mut out = wasm[..8].to_vec();
    let mut import = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        if let Payload::ImportSection(section) = &payload {
            for found in section.clone().into_imports() {
                if let TypeRef::Func(ty) = found?.ty {
                    import = ty;
                }
            }
            continue;
        }
        if let Payload::ExportSection(section) = &payload {
            // A tool that runs all exports must run nothing else.
            let mut only = wasm_encoder::ExportSection::new();
            for export in section.clone() {
                let export = export?;
                if export.name == "sip_main" {
                    only.export(export.name, wasm_encoder::ExportKind::Func, export.index);
                }
            }
            out.push(7);
            only.encode(&mut out);
            continue;
        }
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let first = match id {
            3 => {
                let mut ty = Vec::new();
                import.encode(&mut ty);
                Some(ty)
            }
            10 => {
                let mut f = Function::new([]);
                f.instruction(&I::I32Const(arguments as i32));
                f.instruction(&I::End);
                let mut code = Vec::new();
                f.encode(&mut code);
                Some(code)
            }
            _ => None,
        };
        let body = &wasm[bytes(&range)];
        let new = match first {
            None => body.to_vec(),
            Some(first) => {
                let mut reader = wasmparser::BinaryReader::new(body, 0);
                let count = reader.read_var_u32()?;
                let mut new = Vec::new();
                (count + 1).encode(&mut new);
                new.extend(first);
                new.extend_from_slice(&body[reader.original_position() as usize..]);
                new
            }
        };
        out.push(id);
        (new.len() as u32).encode(&mut out);
        out.extend(new);
    }
    Ok(out)
}

fn custom(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut body = Vec::new();
    name.encode(&mut body);
    body.extend_from_slice(data);
    out.push(0);
    (body.len() as u32).encode(out);
    out.extend(body);
}

/// Whether it is a module.
pub fn validate(wasm: &[u8]) -> Result<()> {
    use wasmparser::WasmFeatures as F;
    let features = F::WASM2
        | F::EXTENDED_CONST
        | F::RELAXED_SIMD
        | F::MULTI_MEMORY
        | F::TAIL_CALL
        | F::MEMORY64
        | F::CUSTOM_PAGE_SIZES
        | F::FUNCTION_REFERENCES
        | F::EXCEPTIONS
        | F::THREADS;
    let mut validator = wasmparser::Validator::new_with_features(features);
    validator.validate_all(wasm)?;
    Ok(())
}
