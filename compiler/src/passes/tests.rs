//! Each pass on small functions: the code before is built here, the code behind is asked for its order.

use super::{chains, lift, pointers, resolve_and_count, schedule};
use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, Inst, InstBuilder, MemFlagsData, Opcode, Signature,
    TrapCode, Type, UserFuncName, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Flags};
use cranelift_codegen::verify_function;

/// A function with parameters and results of these types, whose first block has been made.
fn function(params: &[Type], results: &[Type]) -> (Function, Vec<Value>) {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = params.iter().map(|&ty| AbiParam::new(ty)).collect();
    signature.returns = results.iter().map(|&ty| AbiParam::new(ty)).collect();
    let mut func = Function::with_name_signature(UserFuncName::default(), signature);
    let (_, values) = block(&mut func, params);
    (func, values)
}

/// Another block at the end, with these parameters.
fn block(func: &mut Function, params: &[Type]) -> (Block, Vec<Value>) {
    let block = func.dfg.make_block();
    func.layout.append_block(block);
    let mut values = Vec::new();
    for &ty in params {
        values.push(func.dfg.append_block_param(block, ty));
    }
    (block, values)
}

/// The end of the last block.
fn end(func: &mut Function) -> FuncCursor<'_> {
    let block = func.layout.last_block().unwrap();
    FuncCursor::new(func).at_bottom(block)
}

fn load(func: &mut Function, ty: Type, address: Value, offset: i32) -> Value {
    let flags = MemFlagsData::new();
    end(func).ins().load(ty, flags, address, offset)
}

/// The function behind the pass, which Cranelift accepts.
fn after(func: Function, pass: impl Fn(&mut Context)) -> Function {
    let mut context = Context::for_function(func);
    context.compute_cfg();
    context.compute_domtree();
    context.compute_loop_analysis();
    pass(&mut context);
    let flags = Flags::new(settings::builder());
    if let Err(e) = verify_function(&context.func, &flags) {
        panic!("{e}\n{}", context.func.display());
    }
    context.func
}

fn scheduled(context: &mut Context) {
    let uses = resolve_and_count(&mut context.func);
    schedule::schedule(&mut context.func, uses);
}

fn reordered(context: &mut Context) {
    let uses = resolve_and_count(&mut context.func);
    chains::reorder(&mut context.func, &uses);
}

fn lifted(context: &mut Context) {
    let mut uses = resolve_and_count(&mut context.func);
    lift::lift(&mut context.func, &context.loop_analysis, &mut uses);
}

fn widened(context: &mut Context) {
    pointers::widen(&mut context.func);
    resolve_and_count(&mut context.func);
}

fn all(func: &Function) -> impl Iterator<Item = Inst> + '_ {
    let blocks = func.layout.blocks();
    blocks.flat_map(|block| func.layout.block_insts(block))
}

fn opcodes(func: &Function) -> Vec<Opcode> {
    all(func)
        .map(|inst| func.dfg.insts[inst].opcode())
        .collect()
}

fn count(func: &Function, opcode: Opcode) -> usize {
    opcodes(func).iter().filter(|&&op| op == opcode).count()
}

#[test]
fn arithmetic_moves_up_to_the_loads_whose_values_it_ends() {
    let (mut func, params) = function(&[I64], &[I32]);
    let loaded = [0, 4, 8].map(|at| load(&mut func, I32, params[0], at));
    let first = end(&mut func).ins().bxor(loaded[0], loaded[1]);
    let second = end(&mut func).ins().bxor(first, loaded[2]);
    end(&mut func).ins().return_(&[second]);
    let func = after(func, scheduled);
    use Opcode::{Bxor, Load, Return};
    assert_eq!(opcodes(&func), [Load, Load, Bxor, Load, Bxor, Return]);
}

#[test]
fn what_ends_no_value_stays_and_effects_keep_their_order() {
    let (mut func, params) = function(&[I64, I32], &[I32, I32, I32]);
    let kept = load(&mut func, I32, params[0], 0);
    let flags = MemFlagsData::new();
    let mut cursor = end(&mut func);
    cursor.ins().store(flags, params[1], params[0], 4);
    let last = load(&mut func, I32, params[0], 8);
    // Both operands are returned, too: another value would be kept with them.
    let sum = end(&mut func).ins().iadd(kept, last);
    end(&mut func)
        .ins()
        .trapnz(kept, TrapCode::user(1).unwrap());
    end(&mut func).ins().return_(&[kept, last, sum]);
    let before = opcodes(&func);
    let func = after(func, scheduled);
    assert_eq!(opcodes(&func), before);
}

#[test]
fn a_product_moves_with_the_sum_that_alone_uses_it() {
    let (mut func, params) = function(&[I64, F64], &[F64, F64, F64]);
    let loaded = [0, 8, 16].map(|at| load(&mut func, F64, params[0], at));
    let product = end(&mut func).ins().fmul(loaded[0], loaded[1]);
    let sum = end(&mut func).ins().fadd(params[1], product);
    let other = end(&mut func).ins().fmul(loaded[0], loaded[2]);
    end(&mut func).ins().return_(&[sum, other, loaded[1]]);
    let func = after(func, scheduled);
    use Opcode::{Fadd, Fmul, Load, Return};
    let expected = [Load, Load, Fmul, Fadd, Load, Fmul, Return];
    assert_eq!(opcodes(&func), expected);
}

/// `((params[1] op third) op second) op first` of three loads.
fn chained(op: fn(&mut Function, Value, Value) -> Value, ty: Type) -> Function {
    let (mut func, params) = function(&[I64, ty], &[ty]);
    let loaded = [0, 8, 16].map(|at| load(&mut func, ty, params[0], at));
    let mut sum = params[1];
    for value in loaded.into_iter().rev() {
        sum = op(&mut func, sum, value);
    }
    end(&mut func).ins().return_(&[sum]);
    func
}

/// The operands of all operations of two operands.
fn operands(func: &Function) -> Vec<[Value; 2]> {
    let args = all(func).filter_map(|inst| func.dfg.inst_args(inst).try_into().ok());
    args.collect()
}

#[test]
fn a_chain_takes_its_operands_in_the_order_in_which_they_are_made() {
    let func = chained(|f, a, b| end(f).ins().bxor(a, b), I32);
    let loads: Vec<Value> = all(&func)
        .take(3)
        .map(|i| func.dfg.first_result(i))
        .collect();
    let param = func.dfg.block_params(func.layout.entry_block().unwrap())[1];
    let func = after(func, reordered);
    let found = operands(&func);
    assert_eq!(found[0], [loads[0], loads[1]]);
    // What may come from a loop's last round comes last.
    assert_eq!([found[1][1], found[2][1]], [loads[2], param]);
}

#[test]
fn sums_of_floats_are_no_chain_nor_are_values_with_other_uses() {
    let floats = chained(|f, a, b| end(f).ins().fadd(a, b), F64);
    let shared = chained(
        |f, a, b| {
            let value = end(f).ins().bxor(a, b);
            end(f).ins().trapnz(value, TrapCode::user(1).unwrap());
            value
        },
        I32,
    );
    for func in [floats, shared] {
        let before = operands(&func);
        let func = after(func, reordered);
        assert_eq!(operands(&func), before);
    }
}

/// Two loads, a branch back to them if there is a loop, and behind it a sum of what was loaded.
fn branching(looping: bool) -> Function {
    let (mut func, params) = function(&[I64, I32], &[I32]);
    let body = func.dfg.make_block();
    end(&mut func).ins().jump(body, &[]);
    func.layout.append_block(body);
    let loaded = [0, 4].map(|at| load(&mut func, I32, params[0], at));
    let (next, trap) = (func.dfg.make_block(), func.dfg.make_block());
    let other = if looping { body } else { trap };
    end(&mut func).ins().brif(params[1], next, &[], other, &[]);
    func.layout.append_block(next);
    let sum = end(&mut func).ins().iadd(loaded[0], loaded[1]);
    end(&mut func).ins().return_(&[sum]);
    if !looping {
        func.layout.append_block(trap);
        end(&mut func).ins().trap(TrapCode::user(1).unwrap());
    }
    func
}

#[test]
fn what_ends_two_values_passes_a_branch_but_enters_no_loop() {
    for (looping, expected) in [(false, 1), (true, 2)] {
        let func = after(branching(looping), lifted);
        let place = func.layout.blocks().position(|block| {
            let mut insts = func.layout.block_insts(block);
            insts.any(|inst| func.dfg.insts[inst].opcode() == Opcode::Iadd)
        });
        assert_eq!(place, Some(expected), "{}", func.display());
    }
}

#[test]
fn what_both_ways_compute_is_computed_once_before_the_branch() {
    let (mut func, params) = function(&[I64, I32], &[I32]);
    let loaded = [0, 4, 8].map(|at| load(&mut func, I32, params[0], at));
    let ways = [func.dfg.make_block(), func.dfg.make_block()];
    let mut cursor = end(&mut func);
    cursor.ins().brif(params[1], ways[0], &[], ways[1], &[]);
    for (way, number) in ways.into_iter().zip([1, 2]) {
        func.layout.append_block(way);
        let first = end(&mut func).ins().bxor(loaded[0], loaded[1]);
        let second = end(&mut func).ins().bxor(first, loaded[2]);
        let own = end(&mut func).ins().iadd_imm_u(second, number);
        end(&mut func).ins().return_(&[own]);
    }
    let func = after(func, lifted);
    let first = func.layout.entry_block().unwrap();
    let moved = func.layout.block_insts(first);
    let moved = moved.filter(|&i| func.dfg.insts[i].opcode() == Opcode::Bxor);
    assert_eq!((moved.count(), count(&func, Opcode::Bxor)), (2, 2));
    assert_eq!(count(&func, Opcode::Iadd), 2, "{}", func.display());
}

#[test]
fn a_pointer_around_a_loop_has_64_bits() {
    let (mut func, params) = function(&[I64, I32], &[I32]);
    let (body, values) = (func.dfg.make_block(), params.clone());
    let pointer = func.dfg.append_block_param(body, I32);
    let carried = [BlockArg::Value(values[1])];
    end(&mut func).ins().jump(body, &carried);
    func.layout.append_block(body);
    let wide = end(&mut func).ins().uextend(I64, pointer);
    let address = end(&mut func).ins().iadd(values[0], wide);
    let found = load(&mut func, I32, address, 0);
    let next = end(&mut func).ins().iadd_imm_u(pointer, 4);
    let done = func.dfg.make_block();
    let carried = [BlockArg::Value(next)];
    end(&mut func).ins().brif(found, body, &carried, done, &[]);
    func.layout.append_block(done);
    end(&mut func).ins().return_(&[pointer]);
    let func = after(func, widened);
    assert_eq!(func.dfg.block_param_types(body).collect::<Vec<_>>(), [I64]);
    // Each branch extends what it carries; the access needs no extension any more.
    assert_eq!(count(&func, Opcode::Uextend), 2, "{}", func.display());
    // The sum has 32 bits, as before: it may wrap.
    assert_eq!(func.dfg.value_type(next), I32);
}

#[test]
fn a_pointer_that_is_loaded_fills_up_with_zeros() {
    let (mut func, params) = function(&[I64], &[I32, I32]);
    let pointer = load(&mut func, I32, params[0], 0);
    let wide = end(&mut func).ins().uextend(I64, pointer);
    let address = end(&mut func).ins().iadd(params[0], wide);
    let found = load(&mut func, I32, address, 0);
    end(&mut func).ins().return_(&[pointer, found]);
    let func = after(func, widened);
    let loads = [Opcode::Uload32, Opcode::Load, Opcode::Uextend];
    assert_eq!(loads.map(|op| count(&func, op)), [1, 1, 0]);
}
