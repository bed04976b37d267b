//! Tests of the generated code: that checks are present where needed, and inline code is inline.

use super::{ECHO, ECHOING, MAIN, compile, compile_with, instructions, open, sip, sip_with, traps};
use crate::{MemoryMode, Options};
use iced_x86::{Instruction, MemorySize, Mnemonic, OpKind, Register};
use sing_abi::trap::Trap;
use sing_abi::{GUARD, ctx, entry, xheap};
use sing_image::meta::ExportKind;

pub(super) fn calls(code: &[Instruction]) -> usize {
    code.iter()
        .filter(|i| i.mnemonic() == Mnemonic::Call)
        .count()
}

/// Whether some instruction loads from this offset of any register.
fn reads(code: &[Instruction], offset: i32) -> bool {
    code.iter().any(|i| {
        (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory)
            && i.memory_displacement64() == offset as u64
            && i.memory_base() != Register::RSP
    })
}

fn has(code: &[Instruction], mnemonic: Mnemonic) -> bool {
    code.iter().any(|i| i.mnemonic() == mnemonic)
}

/// Whether some instruction compares with, or loads, this constant.
fn mentions(code: &[Instruction], constant: u64) -> bool {
    code.iter().any(|i| {
        let mut ops = 0..i.op_count();
        ops.any(|n| {
            !matches!(
                i.op_kind(n),
                OpKind::Register | OpKind::Memory | OpKind::NearBranch64
            ) && i.immediate(n) == constant
        })
    })
}

#[test]
fn every_prologue_tests_the_stack_and_keeps_a_frame() {
    // A leaf without a frame cannot overflow the stack by itself; a recursive function has one.
    let compiled = compile(&sip(
        r#"(func $recurse (param i32) (result i32) local.get 0 call $recurse i32.const 1 i32.add)
        (func (export "sip_main") (result i32) i32.const 0 call $recurse)"#,
    ));
    for name in ["recurse", "function 1"] {
        let code = instructions(&compiled, name);
        assert_eq!(code[0].mnemonic(), Mnemonic::Push);
        assert_eq!(code[0].op0_register(), Register::RBP);
        assert_eq!(code[1].mnemonic(), Mnemonic::Mov);
        assert_eq!(
            (code[1].op0_register(), code[1].op1_register()),
            (Register::RBP, Register::RSP)
        );
        assert!(reads(&code, ctx::STACK_LIMIT), "{name}");
        assert_eq!(traps(&compiled, name), [Trap::StackOverflow], "{name}");
    }
}

#[test]
fn exchange_heap_accesses_are_in_place_and_tested() {
    let load = |name: &str, ty: &str| {
        format!(r#"(import "sing_v1" "{name}" (func ${name} (param i32 i32) (result {ty})))"#)
    };
    let store = |name: &str, ty: &str| {
        format!(r#"(import "sing_v1" "{name}" (func ${name} (param i32 i32 {ty})))"#)
    };
    let mut imports = String::new();
    let mut funcs = String::new();
    let mut names = Vec::new();
    for (bits, ty) in [(8, "i32"), (16, "i32"), (32, "i32"), (64, "i64")] {
        imports += &load(&format!("xh_load{bits}"), ty);
        imports += &store(&format!("xh_store{bits}"), ty);
        funcs += &format!(
            "(func $l{bits} (param i32 i32) (result {ty}) local.get 0 local.get 1 call $xh_load{bits})
             (func $s{bits} (param i32 i32 {ty}) local.get 0 local.get 1 local.get 2 call $xh_store{bits})"
        );
        names.push((format!("l{bits}"), xheap::ENTRY_LEN));
        names.push((format!("s{bits}"), xheap::ENTRY_WLEN));
    }
    imports += r#"(import "sing_v1" "xh_size" (func $xh_size (param i32) (result i32)))"#;
    funcs += "(func $size (param i32) (result i32) local.get 0 call $xh_size)";
    let compiled = compile(&sip(&format!("{imports} {funcs} {MAIN}")));
    for (name, limit) in names {
        let code = instructions(&compiled, &name);
        assert_eq!(calls(&code), 0, "{name}");
        let places = [ctx::XTAB_BASE, ctx::XTAB_MASK, xheap::ENTRY_KEY, limit];
        assert!(
            places.into_iter().all(|place| reads(&code, place)),
            "{name}: {places:?}"
        );
        assert_eq!(
            traps(&compiled, &name),
            [Trap::BadHandle, Trap::BlockOutOfBounds],
            "{name}"
        );
    }
    let code = instructions(&compiled, "size");
    assert_eq!(calls(&code), 0);
    assert!(reads(&code, xheap::ENTRY_KEY) && reads(&code, xheap::ENTRY_LEN));
    assert_eq!(traps(&compiled, "size"), [Trap::BadHandle]);
}

#[test]
fn a_call_between_two_accesses_makes_the_table_be_read_again() {
    let imports = r#"(import "sing_v1" "xh_load8" (func $load (param i32 i32) (result i32)))
        (import "sing_v1" "yield" (func $yield))"#;
    let count = |between: &str| {
        let compiled = compile(&sip(&format!(
            "{imports} (func $f (param i32) (result i32)
                local.get 0 i32.const 0 call $load {between}
                local.get 0 i32.const 1 call $load i32.add) {MAIN}"
        )));
        let code = instructions(&compiled, "f");
        let read = |i: &&Instruction| {
            i.mnemonic() == Mnemonic::Mov
                && i.op1_kind() == OpKind::Memory
                && i.memory_displacement64() == ctx::XTAB_BASE as u64
                && i.memory_base() != Register::RSP
        };
        code.iter().filter(read).count()
    };
    assert_eq!(count(""), 1, "what no call lies between is read once");
    assert_eq!(count("call $yield"), 2);
}

#[test]
fn register_accesses_are_in_place_and_tested() {
    let mut imports = String::new();
    let mut funcs = String::new();
    let mut names = Vec::new();
    for (bits, ty) in [(8, "i32"), (16, "i32"), (32, "i32"), (64, "i64")] {
        imports += &format!(
            r#"(import "sing_v1" "io_load{bits}" (func $io_load{bits} (param i32 i32) (result {ty})))
            (import "sing_v1" "io_store{bits}" (func $io_store{bits} (param i32 i32 {ty})))"#
        );
        funcs += &format!(
            "(func $l{bits} (param i32 i32) (result {ty})
                local.get 0 local.get 1 call $io_load{bits})
             (func $s{bits} (param i32 i32 {ty})
                local.get 0 local.get 1 local.get 2 call $io_store{bits})"
        );
        let (load, store) = (entry::IO_READ, entry::IO_WRITE);
        names.push((format!("l{bits}"), bits / 8, xheap::ENTRY_LEN, load));
        names.push((format!("s{bits}"), bits / 8, xheap::ENTRY_WLEN, store));
    }
    let compiled = compile(&sip(&format!("{imports} {funcs} {MAIN}")));
    for (name, bytes, limit, slow) in names {
        let code = instructions(&compiled, &name);
        // One call, of the kernel's own access.
        assert_eq!(calls(&code), 1, "{name}");
        let places = [ctx::IO_BASE, ctx::IO_MASK, xheap::ENTRY_KEY, limit];
        let all = places.into_iter().chain([slow as i32 * 8]);
        for place in all {
            assert!(reads(&code, place), "{name}: {place}");
        }
        // One access that can fault, of the register's width.
        assert_eq!(
            traps(&compiled, &name),
            [Trap::StackOverflow, Trap::RegisterOutOfBounds],
            "{name}"
        );
        let aligned = mentions(&code, bytes - 1);
        assert!(bytes == 1 || aligned, "{name} tests no alignment");
    }
}

/// The accesses of a register's width at the address that a function has computed.
fn register_accesses(body: &str) -> (usize, usize, usize) {
    let compiled = compile(&sip(&format!(
        r#"(import "sing_v1" "io_load16" (func $load (param i32 i32) (result i32)))
        (import "sing_v1" "io_store16" (func $store (param i32 i32 i32)))
        (func $f (param i32) {body}) {MAIN}"#
    )));
    let code = instructions(&compiled, "f");
    let half = |i: &&Instruction, op: OpKind, m| {
        op == OpKind::Memory && i.mnemonic() == m && i.memory_size() == MemorySize::UInt16
    };
    let loads = code.iter();
    let loads = loads.filter(|i| half(i, i.op1_kind(), Mnemonic::Movzx));
    let stores = code.iter();
    let stores = stores.filter(|i| half(i, i.op0_kind(), Mnemonic::Mov));
    let (loads, stores) = (loads.count(), stores.count());
    let keys = code
        .iter()
        .filter(|i| i.memory_displacement64() == xheap::ENTRY_KEY as u64);
    (
        loads,
        stores,
        keys.filter(|i| i.memory_base() != Register::RSP).count(),
    )
}

#[test]
fn no_access_to_a_register_is_merged_dropped_or_taken_out_of_a_loop() {
    // The same register, again and again; values that nobody uses, and the same value.
    let load = "local.get 0 i32.const 4 call $load drop";
    let store = "local.get 0 i32.const 4 i32.const 1 call $store";
    assert_eq!(
        register_accesses(&format!("{load} {load} {load}")),
        (3, 0, 3)
    );
    assert_eq!(
        register_accesses(&format!("{store} {store} {store}")),
        (0, 3, 3)
    );
    let other = "local.get 0 i32.const 4 i32.const 2 call $store";
    assert_eq!(
        register_accesses(&format!("{store} {other} {load}")),
        (1, 2, 3)
    );
    // In a loop: the key is read where the access is, as often as that.
    let compiled = compile(&sip(&format!(
        r#"(import "sing_v1" "io_load32" (func $load (param i32 i32) (result i32)))
        (func $f (param i32) (loop (br_if 0 (call $load (local.get 0) (i32.const 0))))) {MAIN}"#
    )));
    let code = instructions(&compiled, "f");
    let key = |i: &Instruction| i.memory_displacement64() == xheap::ENTRY_KEY as u64;
    let at = code
        .iter()
        .find(|i| key(i) && i.op1_kind() == OpKind::Memory)
        .unwrap()
        .ip();
    let back = code.iter().any(|i| {
        i.op0_kind() == OpKind::NearBranch64 && i.near_branch_target() <= at && i.ip() > at
    });
    assert!(back, "the loop goes back to where the key is read");
}

#[test]
fn context_fields_are_read_without_a_call() {
    let compiled = compile(&sip(&format!(
        r#"(import "sing_v1" "self_id" (func $self (result i32)))
        (import "sing_v1" "thread_id" (func $thread (result i32)))
        (import "sing_v1" "tls_get" (func $get (result i64)))
        (import "sing_v1" "tls_set" (func $set (param i64)))
        (import "sing_v1" "cycles_per_second_inline" (func $ticks (result i64)))
        (import "sing_v1" "cycles_per_second" (func $called (result i64)))
        (func $f (result i64) call $get i64.const 1 i64.add call $set
            call $self call $thread i32.add i64.extend_i32_u call $ticks i64.add)
        (func $g (result i64) call $called)
        {MAIN}"#
    )));
    let code = instructions(&compiled, "f");
    assert_eq!(calls(&code), 0);
    for field in [
        ctx::SIP_ID,
        ctx::THREAD_ID,
        ctx::TLS,
        ctx::CYCLES_PER_SECOND,
    ] {
        assert!(reads(&code, field), "{field}");
    }
    let code = instructions(&compiled, "g");
    assert_eq!(calls(&code), 1);
    assert!(reads(&code, entry::CYCLES_PER_SECOND as i32 * 8));
}

#[test]
fn messages_become_kernel_calls_with_their_operation() {
    // Contract 0, messages 0 Say, 1 Tell, 2 Much, 3 Answer.
    for (import, ty, entry, operation) in [
        ("new", "(param i32)", entry::CHANNEL_NEW, None),
        (
            "imp.send.Tell",
            "(param i32 i64 i64 i64)",
            entry::CHANNEL_SEND,
            Some(1),
        ),
        (
            "imp.send.Much",
            "(param i32 i32)",
            entry::CHANNEL_SEND_MEM,
            Some(2),
        ),
        (
            "exp.send.Answer",
            "(param i32 i64)",
            entry::CHANNEL_SEND,
            Some(0x8003),
        ),
        (
            "imp.call.Tell",
            "(param i32 i32 i32)",
            entry::CHANNEL_CALL_MEM,
            Some(1),
        ),
        ("imp.recv", "(param i32 i32)", entry::CHANNEL_RECV, Some(0)),
        (
            "exp.recv",
            "(param i32 i32)",
            entry::CHANNEL_RECV,
            Some(0x8000),
        ),
        (
            "exp.cast",
            "(param i32 i32)",
            entry::ENDPOINT_CAST,
            Some(0x8000),
        ),
    ] {
        let params = ty.matches('i').count();
        let gets: String = (0..params).map(|i| format!("local.get {i} ")).collect();
        let compiled = compile(&sip_with(
            ECHOING,
            ECHO,
            &format!(
                r#"(import "contract:Echo" "{import}" (func $op {ty} (result i32)))
                (func $f {ty} (result i32) {gets} call $op) {MAIN}"#
            ),
        ));
        let code = instructions(&compiled, "f");
        assert!(
            reads(&code, entry as i32 * 8),
            "{import} does not call entry {entry}"
        );
        if let Some(operation) = operation.filter(|o| *o != 0) {
            assert!(
                mentions(&code, operation),
                "{import} lacks operation {operation:#x}"
            );
        }
    }
}

#[test]
fn memory_accesses_can_trap_in_both_modes() {
    let wasm = sip(&format!(
        "(memory 1)
        (func $near (param i32) (result i32) local.get 0 i32.load)
        (func $far (param i32) (result i32) local.get 0 i32.load offset={GUARD})
        (func $write (param i32) local.get 0 i64.const 0 i64.store offset=70000)
        (func $unused (param i32) local.get 0 i32.load drop)
        {MAIN}"
    ));
    let guard = compile_with(&wasm, &Options::sip(MemoryMode::Guard));
    let explicit = compile_with(&wasm, &Options::sip(MemoryMode::Explicit));
    for name in ["near", "far", "write", "unused"] {
        for compiled in [&guard, &explicit] {
            assert_eq!(traps(compiled, name), [Trap::MemoryOutOfBounds], "{name}");
        }
        // Only accesses beyond the guard are checked.
        let tests = |c: &[Instruction]| has(c, Mnemonic::Cmp);
        assert_eq!(tests(&instructions(&guard, name)), name == "far", "{name}");
        assert!(tests(&instructions(&explicit, name)), "{name}");
        // With a check, the access itself can still fault: two places.
        let places = |c: &crate::Compiled| {
            let code = instructions(c, name);
            let at: Vec<u64> = code.iter().map(Instruction::ip).collect();
            c.meta
                .traps
                .iter()
                .filter(|t| at.contains(&u64::from(t.0)))
                .count()
        };
        assert_eq!(places(&explicit), 2, "{name}");
        assert_eq!(places(&guard), if name == "far" { 2 } else { 1 }, "{name}");
    }
}

#[test]
fn reasons_of_traps_are_told_apart() {
    let compiled = compile(&sip(&format!(
        "(memory 1) (table 3 funcref) (type $t (func))
        (func $stop unreachable)
        (func $div (param i32 i32) (result i32) local.get 0 local.get 1 i32.div_s)
        (func $rem (param i64 i64) (result i64) local.get 0 local.get 1 i64.rem_u)
        (func $trunc (param f64) (result i32) local.get 0 i32.trunc_f64_s)
        (func $indirect (param i32) local.get 0 call_indirect (type $t))
        (func $get (param i32) (result funcref) local.get 0 table.get 0)
        (func $atomic (param i32) (result i32) local.get 0 i32.atomic.load)
        (func $byte (param i32) (result i32) local.get 0 i32.atomic.load8_u)
        {MAIN}"
    )));
    use Trap as T;
    assert_eq!(traps(&compiled, "stop"), [T::Unreachable]);
    assert_eq!(
        traps(&compiled, "div"),
        [T::DivisionByZero, T::IntegerOverflow]
    );
    assert_eq!(traps(&compiled, "rem"), [T::DivisionByZero]);
    assert_eq!(
        traps(&compiled, "trunc"),
        [T::IntegerOverflow, T::BadConversion]
    );
    let indirect = traps(&compiled, "indirect");
    for reason in [T::TableOutOfBounds, T::NullFunction, T::BadSignature] {
        assert!(indirect.contains(&reason), "{indirect:?}");
    }
    assert_eq!(traps(&compiled, "get"), [T::TableOutOfBounds]);
    assert_eq!(
        traps(&compiled, "atomic"),
        [T::MemoryOutOfBounds, T::Unaligned]
    );
    assert_eq!(traps(&compiled, "byte"), [T::MemoryOutOfBounds]);
}

#[test]
fn a_table_that_nothing_grows_is_tested_against_a_constant() {
    let get = "(func $get (param i32) (result funcref) local.get 0 table.get 0)";
    let grow = "(func $grow (result i32) ref.null func i32.const 1 table.grow 0)";
    let fixed = compile(&sip(&format!("(table 77 funcref) {get} {MAIN}")));
    assert!(mentions(&instructions(&fixed, "get"), 77));
    let grown = compile(&sip(&format!("(table 77 funcref) {get} {grow} {MAIN}")));
    let code = instructions(&grown, "get");
    assert!(!mentions(&code, 77) && reads(&code, ctx::TABLE_DEF_LEN));
    // A module that can be linked can have its table grown by others.
    let open = open(&format!("(table (export \"t\") 77 funcref) {get}"));
    assert!(!mentions(&instructions(&open, "get"), 77));
}

#[test]
fn indirect_calls_compare_with_the_canonical_type() {
    // Types 0 and 2 are equal; a call by either compares with 0.
    let compiled = compile(&sip(&format!(
        "(type $a (func (param i64))) (type (func)) (type $b (func (param i64))) (table 1 funcref)
        (func $f i64.const 0 i32.const 0 call_indirect (type $b)) {MAIN}"
    )));
    let code = instructions(&compiled, "f");
    assert!(reads(&code, ctx::FUNC_SIG));
    assert!(!mentions(&code, 2));
    let open = open(
        "(type $b (func (param i64))) (table 1 funcref)
        (func $f i64.const 0 i32.const 0 call_indirect (type $b))",
    );
    let code = instructions(&open, "f");
    assert!(reads(&code, ctx::FUNC_SIG) && reads(&code, ctx::FUNC_CTX));
    assert!(reads(&code, open.meta.layout.signatures as i32));
}

#[test]
fn any_number_of_results_comes_back() {
    let results = "i32 i64 f32 f64 ".repeat(20);
    let values = "i32.const 1 i64.const 2 f32.const 3 f64.const 4 ".repeat(20);
    for compiled in [
        compile(&sip(&format!(
            "(type $many (func (result {results}))) (table 1 funcref)
            (func $make (result {results}) {values})
            (func $pass (result {results}) call $make)
            (func $point (result {results}) i32.const 0 call_indirect (type $many))
            {MAIN}"
        ))),
        open(&format!(
            "(func (export \"make\") (result {results}) {values})"
        )),
    ] {
        assert!(compiled.code.len() > 400);
    }
}

#[test]
fn memories_behind_the_first_are_tested_in_both_modes() {
    let fields = r#"(memory 1) (memory 1) (memory 1)
        (func $first (param i32) (result i32) local.get 0 i32.load)
        (func $second (param i32) (result i32) local.get 0 i32.load 1)
        (func $third (param i32) local.get 0 i64.const 1 i64.store 2 offset=16)
        (func $copy (param i32 i32 i32) local.get 0 local.get 1 local.get 2 memory.copy 0 2)
        (func $within (param i32 i32 i32) local.get 0 local.get 1 local.get 2 memory.copy)"#;
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let compiled = compile_with(&sip(&format!("{fields} {MAIN}")), &Options::sip(mode));
        let cells = compiled.meta.layout.memories as i32;
        let tested = |name: &str| has(&instructions(&compiled, name), Mnemonic::Cmp);
        assert_eq!(tested("first"), mode == MemoryMode::Explicit);
        for (name, cell) in [("second", 0), ("third", ctx::MEMORY_CELL)] {
            let code = instructions(&compiled, name);
            assert!(tested(name), "{name}, {mode:?}");
            let places = [ctx::MEMORY_CELL_BASE, ctx::MEMORY_CELL_DEF];
            let own = places.map(|place| cells + cell + place);
            assert!(own.iter().all(|at| reads(&code, *at)), "{name}");
            assert_eq!(traps(&compiled, name), [Trap::MemoryOutOfBounds], "{name}");
        }
        // A copy within the first memory is a routine's ([`super::copies`]).
        let entry = entry::ANY_MEMORY_COPY as i32 * 8;
        assert!(reads(&instructions(&compiled, "copy"), entry));
        assert!(!reads(&instructions(&compiled, "within"), entry));
    }
}

#[test]
fn tail_calls_take_no_stack_and_cost_others_nothing() {
    let fields = |call: &str| {
        format!(
            r#"(type $f (func (param i32) (result i32))) (table 1 funcref) (elem (i32.const 0) $next) (elem declare func $next)
            (func $next (type $f) local.get 0)
            (func $direct (type $f) local.get 0 {call} $next)
            (func $through (type $f) local.get 0 i32.const 0 {call}_indirect (type $f))
            (func $reference (type $f) local.get 0 ref.func $next {call}_ref $f)
            (func $start) (start $start)
            (func (export "sip_thread") (param i32))
            {MAIN}"#
        )
    };
    let plain = compile(&sip(&fields("call")));
    assert_eq!(plain.meta.funcs.len(), 7);
    assert!(!has(&instructions(&plain, "direct"), Mnemonic::Jmp));
    let tail = compile(&sip(&fields("return_call")));
    // One each for what the kernel calls.
    assert_eq!(tail.meta.funcs.len(), 10);
    assert_eq!(tail.meta.start, Some(9));
    assert_eq!(tail.meta.export("sip_main"), Some(ExportKind::Func(7)));
    assert_eq!(tail.meta.export("sip_thread"), Some(ExportKind::Func(8)));
    for (name, kernel_calls) in [("direct", 0), ("through", 0), ("reference", 1)] {
        let code = instructions(&tail, name);
        assert_eq!(calls(&code), kernel_calls, "{name}");
        assert!(has(&code, Mnemonic::Jmp), "{name}");
        assert!(!has(&code, Mnemonic::Ret), "{name}");
    }
}

#[test]
fn references_that_cannot_be_null_are_called_with_one_test_and_no_more() {
    let compiled = compile(&sip(&format!(
        r#"(type $f (func)) (func $typed (param (ref null $f)) local.get 0 call_ref $f)
        (func $some (param (ref null $f)) local.get 0 ref.as_non_null drop)
        (func $branch (param (ref null $f)) (result i32)
            (block $null (return (i32.const 1) (br_on_null $null (local.get 0)) (drop))) i32.const 2) {MAIN}"#
    )));
    // The type was seen by the validator.
    assert_eq!(
        traps(&compiled, "typed"),
        [Trap::NullFunction, Trap::StackOverflow]
    );
    assert!(!reads(&instructions(&compiled, "typed"), ctx::FUNC_SIG));
    assert_eq!(traps(&compiled, "some"), [Trap::NullReference]);
    assert_eq!(traps(&compiled, "branch"), []);
}

#[test]
fn only_plain_first_memories_are_guarded() {
    let access =
        |ty: &str| format!("(func $load (param {ty}) (result i32) local.get 0 i32.load offset=8)");
    for (memory, ty, guarded) in [
        ("1", "i32", true),
        ("i64 1", "i64", false),
        ("100 (pagesize 1)", "i32", false),
        ("100 (pagesize 65536)", "i32", true),
    ] {
        let fields = format!("(memory {memory}) {} {MAIN}", access(ty));
        for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
            let compiled = compile_with(&sip(&fields), &Options::sip(mode));
            let tested = has(&instructions(&compiled, "load"), Mnemonic::Cmp);
            let wanted = !(guarded && mode == MemoryMode::Guard);
            assert_eq!(tested, wanted, "{memory}, {mode:?}");
            assert_eq!(traps(&compiled, "load"), [Trap::MemoryOutOfBounds]);
        }
    }
}

#[test]
fn reversed_bytes_are_one_instruction_in_whatever_order() {
    let swap = |mask: u32, turn: u32| {
        format!(
            "(func $f (param $x i32) (result i32)
                (i32.or
                    (i32.and (i32.const {mask}) (i32.rotl (local.get $x) (i32.const 8)))
                    (i32.and (i32.rotl (local.get $x) (i32.const {turn})) (i32.const 0xff00ff00))))
            {MAIN}"
        )
    };
    for (mask, turn, is_swap) in [
        (0xff_00ff, 24, true),
        (0xff_00fe, 24, false),
        (0xff_00ff, 16, false),
    ] {
        let code = instructions(&compile(&sip(&swap(mask, turn))), "f");
        assert_eq!(has(&code, Mnemonic::Bswap), is_swap, "{mask:x} {turn}");
        assert_eq!(has(&code, Mnemonic::Or), !is_swap, "{mask:x} {turn}");
    }
}
