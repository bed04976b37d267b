//! The routines that a module with exceptions calls: machine code of its image like its functions,
//! so that a thread that searches its stack can be pre-empted and killed at every instruction.
//!
//! Exceptions leave frames by the image's *exception table*, which the linker puts behind the code
//! ([`crate::link`]): for each call inside a `try_table` the address behind it, the size of the
//! frame and the block to which exceptions go. Functions keep frame pointers, and the convention of
//! modules with exceptions keeps no other register across calls: so a frame is left by setting the
//! stack pointer, the frame pointer and the register that takes the exception.
//!
//! Invariants:
//! - Frames are followed as long as their return addresses lie in the image or, where it is an open
//!   one, in those it is linked with: the kernel's frames, which called the program, are never read
//!   but for that address.
//! - Only a thread's own stack and context record are read, and only the latter is written.

mod open;

use super::exceptions::{DOUBTFUL, Exceptions, FOUND, FREE, HEAD, KEPT, STATE, VALUES};
use super::{Env, limit_stack, trap_code};
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ExtFuncData, ExternalName, FuncRef, Function, InstBuilder,
    MemFlagsData, SigRef, Signature, Type, UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use sing_abi::ctx;
use sing_abi::trap::Trap;

/// Namespaces of names in the IR: functions, routines by [`Routine::index`], and places in the
/// code, which are [`CODE`] and [`TABLE`].
pub(crate) const FUNCTIONS: u32 = 0;
pub(crate) const ROUTINES: u32 = 1;
pub(crate) const PLACES: u32 = 2;
/// The first byte of the code.
pub(crate) const CODE: u32 = 0;
/// The exception table, which is where the functions end.
pub(crate) const TABLE: u32 = 1;

/// In the table: the bytes of code before it and the number of its entries, i32s; the first entry.
const TABLE_CODE: i32 = 0;
const TABLE_ENTRIES: i32 = 4;
pub(crate) const TABLE_HEAD: u32 = 16;
/// Binary logarithm of an entry's size.
const ENTRY_SHIFT: i64 = 4;
/// In an entry: the offset behind the call, by which entries ascend; the bytes from the stack
/// pointer to the frame pointer; the offset of the block to which exceptions go. Each an i32.
const ENTRY_BEHIND: i32 = 0;
const ENTRY_FRAME: i32 = 4;
const ENTRY_HANDLER: i32 = 8;

/// The code of [`Routine::Resume`], by the kernel's convention: `mov rax, rdi; mov rsp, rdx; mov
/// rbp, rcx; jmp rsi`.
pub(crate) const RESUME: [u8; 11] = [
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xd4, 0x48, 0x89, 0xcd, 0xff, 0xe6,
];

/// A routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routine {
    /// `(exception, code, stack pointer, frame pointer)`: goes on at this code in a frame further
    /// up.
    Resume,
    /// `(context, exception)`: goes on where a caller catches; comes back if none does.
    Unwind,
    /// `(context, exception) -> reference`: keeps the exception's slot for a reference; null if
    /// there is no free one for the next exception. The result is the exception's address as a
    /// value of its own: of another, the code generator might keep parts in its place.
    Keep,
    /// `(context, exception)`: frees the slots to which nothing but this reference can refer.
    Collect,
    /// `(context, from, to)`: keeps the slots to which a word of this memory can refer.
    Mark,
    /// `(context, _) -> slot`, open linkage: the slot for the next exception; null if all are kept.
    Slot,
    /// `memory.copy` and `memory.fill`, which any module may have ([`super::copies`]).
    Copy,
    Fill,
}

impl Routine {
    /// Those that are made of intermediate code.
    pub(crate) fn made(sealed: bool) -> &'static [Routine] {
        match sealed {
            true => &[
                Routine::Unwind,
                Routine::Keep,
                Routine::Collect,
                Routine::Mark,
            ],
            false => &[Routine::Unwind, Routine::Keep, Routine::Slot],
        }
    }

    /// Those that have code already, and are in each image that calls them.
    pub(crate) const FOR_ALL: [Routine; 2] = [Routine::Copy, Routine::Fill];

    /// Its place among them all.
    pub(crate) fn index(self) -> u32 {
        self as u32
    }

    fn signature(self) -> Signature {
        let (convention, params, results) = match self {
            Routine::Resume | Routine::Copy | Routine::Fill => (super::KERNEL_CONVENTION, 4, 0),
            Routine::Unwind | Routine::Collect => (CallConv::Tail, 2, 0),
            Routine::Keep | Routine::Slot => (CallConv::Tail, 2, 1),
            Routine::Mark => (CallConv::Tail, 3, 0),
        };
        let mut signature = Signature::new(convention);
        signature.params = vec![AbiParam::new(types::I64); params];
        if self != Routine::Resume {
            let purpose = cranelift_codegen::ir::ArgumentPurpose::VMContext;
            signature.params[0] = AbiParam::special(types::I64, purpose);
        }
        if Routine::FOR_ALL.contains(&self) {
            signature.params[1..].fill(AbiParam::new(types::I32));
        }
        signature.returns = vec![AbiParam::new(types::I64); results];
        signature
    }

    /// Declares it in a function that calls it.
    pub(crate) fn declare(self, func: &mut Function) -> FuncRef {
        let signature = func.import_signature(self.signature());
        declare(func, ROUTINES, self.index(), signature)
    }

    /// Makes its code.
    pub(crate) fn make(
        self,
        env: &Env<'_>,
        func: &mut Function,
        builder: &mut FunctionBuilderContext,
    ) -> Result<()> {
        let place = env.exceptions;
        let place = place.ok_or_else(|| Error::internal("no exceptions in the context record"))?;
        func.signature = self.signature();
        limit_stack(func);
        let mut m = Maker::new(place, FunctionBuilder::new(func, builder))?;
        match self {
            Routine::Resume | Routine::Copy | Routine::Fill => {
                return Err(Error::internal("a routine has code already"));
            }
            Routine::Unwind => m.unwind(env.linked_images()),
            Routine::Keep if env.options.sealed() => m.keep(),
            Routine::Keep => m.keep_open(),
            Routine::Slot => m.slot(),
            Routine::Collect => m.collect(env),
            Routine::Mark => m.mark(),
        }
        m.b.seal_all_blocks();
        m.b.finalize(env.frontend);
        Ok(())
    }
}

fn declare(func: &mut Function, namespace: u32, index: u32, signature: SigRef) -> FuncRef {
    let name = func.declare_imported_user_function(UserExternalName { namespace, index });
    func.import_function(ExtFuncData {
        name: ExternalName::user(name),
        signature,
        colocated: true,
        patchable: false,
    })
}

/// A routine under construction.
struct Maker<'f> {
    place: Exceptions,
    b: FunctionBuilder<'f>,
    params: Vec<Value>,
}

impl<'f> Maker<'f> {
    fn new(place: Exceptions, mut b: FunctionBuilder<'f>) -> Result<Maker<'f>> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let params = b.block_params(entry).to_vec();
        if params.len() < 2 {
            return Err(Error::internal("a routine gets a context and more"));
        }
        Ok(Maker { place, b, params })
    }

    fn load(&mut self, ty: Type, at: Value, offset: i32) -> Value {
        self.b.ins().load(ty, MemFlagsData::trusted(), at, offset)
    }

    fn store(&mut self, value: Value, at: Value, offset: i32) {
        let flags = MemFlagsData::trusted();
        self.b.ins().store(flags, value, at, offset);
    }

    /// An i32 of memory, as an i64.
    fn load32(&mut self, at: Value, offset: i32) -> Value {
        let value = self.load(types::I32, at, offset);
        self.b.ins().uextend(types::I64, value)
    }

    /// The address of a place in the code.
    fn code_place(&mut self, index: u32) -> Value {
        let signature = Signature::new(super::KERNEL_CONVENTION);
        let signature = self.b.func.import_signature(signature);
        let place = declare(self.b.func, PLACES, index, signature);
        self.b.ins().func_addr(types::I64, place)
    }

    /// Calls another routine.
    fn call(&mut self, routine: Routine, arguments: &[Value]) {
        let function = routine.declare(self.b.func);
        self.b.ins().call(function, arguments);
    }

    /// A block with parameters of type i64.
    fn block<const N: usize>(&mut self) -> (Block, [Value; N]) {
        let block = self.b.create_block();
        let params = [(); N].map(|()| self.b.append_block_param(block, types::I64));
        (block, params)
    }

    fn jump(&mut self, to: Block, carried: &[Value]) {
        let carried: Vec<BlockArg> = carried.iter().copied().map(BlockArg::Value).collect();
        self.b.ins().jump(to, &carried);
    }

    fn branch(&mut self, condition: Value, yes: (Block, &[Value]), no: (Block, &[Value])) {
        let args = |values: &[Value]| -> Vec<BlockArg> {
            values.iter().copied().map(BlockArg::Value).collect()
        };
        let (then, otherwise) = (args(yes.1), args(no.1));
        self.b.ins().brif(condition, yes.0, &then, no.0, &otherwise);
    }

    fn below(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().icmp(IntCC::UnsignedLessThan, a, b)
    }

    fn number(&mut self, n: i64) -> Value {
        self.b.ins().iconst(types::I64, n)
    }

    /// The address of the first slot.
    fn first_slot(&mut self) -> Value {
        let at = i64::from(self.place.at + HEAD);
        self.b.ins().iadd_imm_u(self.params[0], at)
    }

    fn slot_bytes(&self) -> i64 {
        1 << self.place.shift
    }

    fn all_bytes(&self) -> i64 {
        i64::from(self.place.slots) << self.place.shift
    }

    fn set_state(&mut self, slot: Value, state: i64) {
        let state = self.b.ins().iconst(types::I32, state);
        self.store(state, slot, STATE);
    }

    fn has_state(&mut self, slot: Value, state: i64) -> Value {
        let found = self.load(types::I32, slot, STATE);
        self.b.ins().icmp_imm_u(IntCC::Equal, found, state)
    }

    /// Does something with each slot, and goes on behind.
    fn each_slot(&mut self, work: impl FnOnce(&mut Self, Value)) {
        let first = self.first_slot();
        let end = self.all_bytes();
        let end = self.b.ins().iadd_imm_u(first, end);
        let (head, [slot]) = self.block();
        let (body, []) = self.block();
        let (behind, []) = self.block();
        self.jump(head, &[first]);
        self.b.switch_to_block(head);
        let more = self.below(slot, end);
        self.branch(more, (body, &[]), (behind, &[]));
        self.b.switch_to_block(body);
        work(self, slot);
        let bytes = self.slot_bytes();
        let next = self.b.ins().iadd_imm_u(slot, bytes);
        self.jump(head, &[next]);
        self.b.switch_to_block(behind);
    }

    /// Does something if a condition holds, and goes on behind.
    fn when(&mut self, condition: Value, work: impl FnOnce(&mut Self)) {
        let (then, []) = self.block();
        let (behind, []) = self.block();
        self.branch(condition, (then, &[]), (behind, &[]));
        self.b.switch_to_block(then);
        work(self);
        self.jump(behind, &[]);
        self.b.switch_to_block(behind);
    }

    /// `Unwind`: for each frame, looks for its return address in its image's table. `images` is the
    /// place of the list of open images in the context record.
    fn unwind(&mut self, images: Option<i32>) {
        let exception = self.params[1];
        let own = self.b.ins().get_frame_pointer(types::I64);
        let (frame, [at]) = self.block();
        let (search, [caller, behind, code, table]) = self.block();
        let (halve, [low, high]) = self.block();
        let (middle, []) = self.block();
        let (other, []) = self.block();
        let (found, []) = self.block();
        let (done, []) = self.block();
        self.jump(frame, &[own]);

        self.b.switch_to_block(frame);
        let back = self.load(types::I64, at, 8);
        let up = self.load(types::I64, at, 0);
        match images {
            None => {
                let (code, table) = (self.code_place(CODE), self.code_place(TABLE));
                let len = self.load32(table, TABLE_CODE);
                let offset = self.b.ins().isub(back, code);
                let inside = self.below(offset, len);
                let found = [up, offset, code, table];
                self.branch(inside, (search, &found), (done, &[]));
            }
            Some(images) => self.image_of(images, [back, up], search, frame, done),
        }

        self.b.switch_to_block(search);
        let entries = self.load32(table, TABLE_ENTRIES);
        let zero = self.number(0);
        self.jump(halve, &[zero, entries]);

        self.b.switch_to_block(halve);
        let more = self.below(low, high);
        self.branch(more, (middle, &[]), (frame, &[caller]));

        self.b.switch_to_block(middle);
        let sum = self.b.ins().iadd(low, high);
        let index = self.b.ins().ushr_imm_u(sum, 1);
        let entry = self.b.ins().ishl_imm_u(index, ENTRY_SHIFT);
        let entry = self.b.ins().iadd(table, entry);
        let entry = self.b.ins().iadd_imm_u(entry, i64::from(TABLE_HEAD));
        let its = self.load32(entry, ENTRY_BEHIND);
        let same = self.b.ins().icmp(IntCC::Equal, its, behind);
        self.branch(same, (found, &[]), (other, &[]));

        self.b.switch_to_block(other);
        let before = self.below(its, behind);
        let next = self.b.ins().iadd_imm_u(index, 1);
        let low = self.b.ins().select(before, next, low);
        let high = self.b.ins().select(before, high, index);
        self.jump(halve, &[low, high]);

        self.b.switch_to_block(found);
        let size = self.load32(entry, ENTRY_FRAME);
        let stack = self.b.ins().isub(caller, size);
        let handler = self.load32(entry, ENTRY_HANDLER);
        let handler = self.b.ins().iadd(code, handler);
        self.call(Routine::Resume, &[exception, handler, stack, caller]);
        self.b.ins().trap(trap_code(Trap::Unreachable));

        self.b.switch_to_block(done);
        self.b.ins().return_(&[]);
    }

    /// `Keep`: looks for another free slot, from the exception's own on.
    fn keep(&mut self) {
        let (context, exception) = (self.params[0], self.params[1]);
        let (take, []) = self.block();
        let (yes, []) = self.block();
        let (no, []) = self.block();
        let kept = self.has_state(exception, KEPT);
        self.branch(kept, (yes, &[]), (take, &[]));

        self.b.switch_to_block(take);
        self.set_state(exception, KEPT);
        let none = self.find_free(yes);
        self.b.switch_to_block(none);
        self.call(Routine::Collect, &[context, exception]);
        let none = self.find_free(yes);
        self.b.switch_to_block(none);
        self.jump(no, &[]);

        self.b.switch_to_block(yes);
        self.b.ins().return_(&[exception]);
        self.b.switch_to_block(no);
        let null = self.number(0);
        self.b.ins().return_(&[null]);
    }

    /// Makes a free slot the next one and goes to `found`: the block for when there is none.
    fn find_free(&mut self, found: Block) -> Block {
        let context = self.params[0];
        let at = self.place.at as i32;
        let start = self.load32(context, at);
        let first = self.first_slot();
        let (head, [looked]) = self.block();
        let (body, []) = self.block();
        let (free, []) = self.block();
        let (next, []) = self.block();
        let (none, []) = self.block();
        let one = self.number(1);
        self.jump(head, &[one]);

        self.b.switch_to_block(head);
        let slots = self.number(i64::from(self.place.slots));
        let more = self.below(looked, slots);
        self.branch(more, (body, &[]), (none, &[]));

        self.b.switch_to_block(body);
        let index = self.b.ins().iadd(start, looked);
        let mask = i64::from(self.place.slots - 1);
        let index = self.b.ins().band_imm_u(index, mask);
        let offset = self.b.ins().ishl_imm_u(index, i64::from(self.place.shift));
        let slot = self.b.ins().iadd(first, offset);
        let is = self.has_state(slot, FREE);
        self.branch(is, (free, &[]), (next, &[]));

        self.b.switch_to_block(next);
        let further = self.b.ins().iadd_imm_u(looked, 1);
        self.jump(head, &[further]);

        self.b.switch_to_block(free);
        let index = self.b.ins().ireduce(types::I32, index);
        self.store(index, context, at);
        self.jump(found, &[]);
        none
    }

    /// `Collect`: all slots are kept. No register holds a reference but this routine's argument, as
    /// the convention keeps none across calls: what callers go on with lies in their frames.
    fn collect(&mut self, env: &Env<'_>) {
        let (context, exception) = (self.params[0], self.params[1]);
        self.each_slot(|m, slot| m.set_state(slot, DOUBTFUL));
        self.set_state(exception, KEPT);

        // The last frame is the one that code outside the image called.
        let (code, table) = (self.code_place(CODE), self.code_place(TABLE));
        let len = self.load32(table, TABLE_CODE);
        let own = self.b.ins().get_frame_pointer(types::I64);
        let (frame, [at]) = self.block();
        let (last, []) = self.block();
        self.jump(frame, &[own]);
        self.b.switch_to_block(frame);
        let back = self.load(types::I64, at, 8);
        let up = self.load(types::I64, at, 0);
        let offset = self.b.ins().isub(back, code);
        let inside = self.below(offset, len);
        self.branch(inside, (frame, &[up]), (last, &[]));
        self.b.switch_to_block(last);
        self.call(Routine::Mark, &[context, own, at]);

        let globals = env.module.globals.len() as i64 * i64::from(ctx::GLOBAL_CELL);
        let from = i64::from(env.layout.globals);
        let from = self.b.ins().iadd_imm_u(context, from);
        let to = self.b.ins().iadd_imm_u(from, globals);
        self.call(Routine::Mark, &[context, from, to]);
        if self.place.nested {
            self.mark_nested();
        }
        self.each_slot(|m, slot| {
            let gone = m.has_state(slot, DOUBTFUL);
            m.when(gone, |m| m.set_state(slot, FREE));
        });
        self.b.ins().return_(&[]);
    }

    /// Looks at the values of kept exceptions, until no other is found by that.
    fn mark_nested(&mut self) {
        let context = self.params[0];
        let found = self.place.at as i32 + FOUND;
        let (again, []) = self.block();
        let (behind, []) = self.block();
        self.jump(again, &[]);
        self.b.switch_to_block(again);
        let none = self.b.ins().iconst(types::I32, 0);
        self.store(none, context, found);
        self.each_slot(|m, slot| {
            let kept = m.has_state(slot, KEPT);
            m.when(kept, |m| {
                let from = m.b.ins().iadd_imm_u(slot, i64::from(VALUES));
                let bytes = m.slot_bytes();
                let to = m.b.ins().iadd_imm_u(slot, bytes);
                m.call(Routine::Mark, &[context, from, to]);
            });
        });
        let more = self.load(types::I32, context, found);
        self.branch(more, (again, &[]), (behind, &[]));
        self.b.switch_to_block(behind);
    }

    /// `Mark`: a word may be a reference if it lies among the slots. One that is none keeps a slot
    /// for longer, and does no more.
    fn mark(&mut self) {
        let (context, from, to) = (self.params[0], self.params[1], self.params[2]);
        let first = self.first_slot();
        let all = self.all_bytes();
        let all = self.number(all);
        let (head, [at]) = self.block();
        let (body, []) = self.block();
        let (done, []) = self.block();
        self.jump(head, &[from]);
        self.b.switch_to_block(head);
        let more = self.below(at, to);
        self.branch(more, (body, &[]), (done, &[]));

        self.b.switch_to_block(body);
        let word = self.load(types::I64, at, 0);
        let offset = self.b.ins().isub(word, first);
        let among = self.below(offset, all);
        let start = -self.slot_bytes();
        self.when(among, |m| {
            let offset = m.b.ins().band_imm_s(offset, start);
            let slot = m.b.ins().iadd(first, offset);
            let doubtful = m.has_state(slot, DOUBTFUL);
            m.when(doubtful, |m| {
                m.set_state(slot, KEPT);
                let one = m.b.ins().iconst(types::I32, 1);
                m.store(one, context, m.place.at as i32 + FOUND);
            });
        });
        let next = self.b.ins().iadd_imm_u(at, 8);
        self.jump(head, &[next]);
        self.b.switch_to_block(done);
        self.b.ins().return_(&[]);
    }
}
