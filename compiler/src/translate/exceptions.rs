//! Exceptions: throwing, catching, and where exceptions lie.
//!
//! A thread's exceptions lie in the part of its context record that [`Exceptions`] describes: slots
//! of one size, each with the exception's tag and values. A reference is the address of a slot.
//! One slot is always free, and an exception that is thrown goes there: it needs no other as long
//! as nobody holds a reference to it, for there is one exception under way in a thread and a clause
//! copies the values out. A clause that makes a reference keeps the slot and looks for another free
//! one. Where all are kept, the routine [`Routine::Collect`] finds those to which no word of the
//! thread's stack or globals can refer any more, and frees them.
//!
//! Calls inside a `try_table` have a second way out, to the block that compares the exception's tag
//! with the clauses ([`Translator::catch`]). Where none takes it, the next `try_table` around it
//! does, and behind the outermost one the callers are searched ([`Routine::Unwind`]).
//!
//! Invariants:
//! - The free slot is not kept, and no value refers to it. In an open image another instance may
//!   keep it, so there the next exception asks for one ([`Routine::Slot`]).
//! - Values of types of references to exceptions are null or addresses of kept slots.
//! - A reference stays with its thread: globals are a thread's own, and sealed modules have no
//!   tables of them.

use super::control::{FrameKind, arguments};
use super::unwind::Routine;
use super::{Translator, clif_type, context_offset, trap_code};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{TAG_IMPORT_CTX, TAG_IMPORT_INDEX, TAG_IMPORT_SIZE};
use crate::module::Module;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use sing_abi::trap::Trap;
use sing_image::meta::{CtxLayout, ValType};
use wasmparser as wp;

/// Bytes before the first slot. They start with the index of the free slot, an i32.
pub(super) const HEAD: u32 = 16;
/// In the head: whether the last look at the references found another exception, an i32.
pub(super) const FOUND: i32 = 4;
/// In a slot: the tag's index, an i32.
const TAG: i32 = 0;
/// In a slot: an i32 that tells whether it is kept ([`FREE`], [`KEPT`], [`DOUBTFUL`]).
pub(super) const STATE: i32 = 4;
/// In a slot, open linkage: the context of the instance whose tag it is, where [`TAG`] is the tag's
/// index in that instance.
const OWNER: i32 = 8;
/// In a slot: the first of the values, in cells of this many bytes.
pub(super) const VALUES: i32 = 16;
const CELL: i32 = 16;

/// No value refers to the slot.
pub(super) const FREE: i64 = 0;
/// Some value may refer to the slot.
pub(super) const KEPT: i64 = 1;
/// While the slots are collected: no reference to the slot has been found.
pub(super) const DOUBTFUL: i64 = 2;

/// The most and the fewest exceptions to which a thread can hold references, and the bytes that
/// decide about the number in between.
const MOST: u32 = 512;
const FEWEST: u32 = 16;
const BYTES: u32 = 64 << 10;

/// Where the exceptions of a thread lie in its context record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceptions {
    /// Offset of the head.
    pub(super) at: u32,
    /// Number of slots, a power of two.
    pub(super) slots: u32,
    /// Binary logarithm of a slot's size.
    pub(super) shift: u32,
    /// Whether exceptions can hold references to others.
    pub(super) nested: bool,
}

impl Exceptions {
    /// Lays them out behind everything else in the context record.
    pub(crate) fn behind(layout: &mut CtxLayout, module: &Module<'_>) -> Result<Exceptions> {
        let (mut values, mut nested) = (0, false);
        for tag in 0..module.tags.len() as u32 {
            let params = &module.tag_type(tag)?.params;
            values = params.len().max(values);
            nested |= params.iter().any(|p| p.is_exception());
        }
        // The validator allows a thousand parameters.
        let size = (VALUES as u32 + values as u32 * CELL as u32).next_power_of_two();
        let slots = (BYTES / size).clamp(FEWEST, MOST);
        let exceptions = Exceptions {
            at: layout.size,
            slots,
            shift: size.trailing_zeros(),
            nested,
        };
        let end = layout.size.checked_add(HEAD + slots * size);
        let end = end.and_then(|end| end.checked_next_multiple_of(sing_abi::ctx::ALIGN as u32));
        layout.size = end.filter(|end| *end <= i32::MAX as u32).ok_or_else(|| {
            Error::new(ErrorKind::TooLarge, "the module's globals and exceptions")
        })?;
        Ok(exceptions)
    }
}

impl Translator<'_, '_> {
    pub(super) fn exception_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::Throw { tag_index } => {
                let exception = self.new_exception(tag_index)?;
                self.throw(exception)?;
            }
            O::ThrowRef => {
                let exception = self.pop()?;
                let null = self.b.ins().icmp_imm_u(IntCC::Equal, exception, 0);
                self.trap_if(null, Trap::NullReference);
                self.throw(exception)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The block to which exceptions of the current instruction go in this function.
    pub(super) fn handler(&mut self) -> Result<Option<Block>> {
        self.handler_among(self.catching.len())
    }

    /// The same where only so many of the blocks around it catch.
    fn handler_among(&mut self, catching: usize) -> Result<Option<Block>> {
        let innermost = catching.checked_sub(1).and_then(|i| self.catching.get(i));
        let Some(&innermost) = innermost else {
            return Ok(None);
        };
        match self.frames.get_mut(innermost).map(|f| &mut f.kind) {
            Some(FrameKind::Try {
                handler, reached, ..
            }) => {
                *reached = true;
                Ok(Some(*handler))
            }
            _ => Err(Error::internal("no clauses where exceptions are caught")),
        }
    }

    fn exceptions(&self) -> Result<super::Exceptions> {
        let exceptions = self.env.exceptions;
        exceptions.ok_or_else(|| Error::internal("an exception in a module without any"))
    }

    fn exception_flags(&self) -> MemFlagsData {
        Self::plain(self.regions.exceptions)
    }

    /// Puts an exception with values from the stack into the free slot.
    fn new_exception(&mut self, tag: u32) -> Result<Value> {
        let place = self.exceptions()?;
        let module = self.env.module;
        let values = self.pop_many(module.tag_type(tag)?.params.len())?;
        let flags = self.exception_flags();
        let slot = if self.env.options.sealed() {
            let free = self
                .b
                .ins()
                .load(types::I32, flags, self.context, place.at as i32);
            let free = self.b.ins().uextend(types::I64, free);
            let free = self.b.ins().ishl_imm_u(free, i64::from(place.shift));
            let slot = self.b.ins().iadd(self.context, free);
            self.b.ins().iadd_imm_u(slot, i64::from(place.at + HEAD))
        } else {
            self.open_slot()?
        };
        let (tag, owner) = self.tag_identity(tag)?;
        self.b.ins().store(flags, tag, slot, TAG);
        if let Some(owner) = owner {
            self.b.ins().store(flags, owner, slot, OWNER);
        }
        for (value, i) in values.into_iter().zip(0i32..) {
            self.b.ins().store(flags, value, slot, VALUES + i * CELL);
        }
        Ok(slot)
    }

    /// Goes on with an exception where it is caught. Nothing behind is reached.
    pub(super) fn throw(&mut self, exception: Value) -> Result<()> {
        self.throw_to(exception, self.catching.len())
    }

    /// The same where only so many of the blocks around it catch.
    pub(super) fn throw_to(&mut self, exception: Value, catching: usize) -> Result<()> {
        match self.handler_among(catching)? {
            Some(handler) => {
                let carried = arguments(&[exception]);
                self.b.ins().jump(handler, &carried);
            }
            None => {
                // Comes back if no caller catches it.
                self.routine(Routine::Unwind, &[self.context, exception])?;
                let uncaught = trap_code(Trap::UncaughtException);
                self.b.ins().trap(uncaught);
            }
        }
        self.live = false;
        Ok(())
    }

    /// Emits the block to which the exceptions of a `try_table` go. The frames are those around it.
    pub(super) fn catch(&mut self, handler: Block, catches: &[wp::Catch]) -> Result<()> {
        let exception = self.enter(handler)?;
        for catch in catches {
            self.check_size()?;
            let (tag, label, reference) = match *catch {
                wp::Catch::One { tag, label } => (Some(tag), label, false),
                wp::Catch::OneRef { tag, label } => (Some(tag), label, true),
                wp::Catch::All { label } => (None, label, false),
                wp::Catch::AllRef { label } => (None, label, true),
            };
            let next = tag.map(|tag| self.unless_of_tag(exception, tag));
            let next = next.transpose()?;
            let mut values = match tag {
                Some(tag) => self.values_of(exception, tag)?,
                None => Vec::new(),
            };
            if reference {
                values.push(self.keep(exception)?);
            }
            let (target, _) = self.label(label)?;
            let carried = arguments(&values);
            self.b.ins().jump(target, &carried);
            match next {
                Some(next) => self.b.switch_to_block(next),
                // The clauses behind one that takes all are never looked at.
                None => return Ok(()),
            }
        }
        self.throw(exception)
    }

    /// Starts a block to which exceptions go: the exception.
    pub(super) fn enter(&mut self, handler: Block) -> Result<Value> {
        self.b.switch_to_block(handler);
        self.seal(handler);
        match *self.b.block_params(handler) {
            [exception] => Ok(exception),
            _ => Err(Error::internal("a handler gets more than an exception")),
        }
    }

    /// A reference to an exception that was caught.
    pub(super) fn keep(&mut self, exception: Value) -> Result<Value> {
        let kept = self.routine(Routine::Keep, &[self.context, exception])?;
        let kept = kept.ok_or_else(|| Error::internal("a routine without result"))?;
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, kept, 0);
        self.trap_if(none, Trap::TooManyExceptions);
        Ok(kept)
    }

    /// Goes on here with an exception of a tag: the block for all others.
    pub(super) fn unless_of_tag(&mut self, exception: Value, tag: u32) -> Result<Block> {
        let taken = self.b.create_block();
        let next = self.b.create_block();
        let same = self.is_of_tag(exception, tag)?;
        self.b.ins().brif(same, taken, &[], next, &[]);
        self.seal(taken);
        self.seal(next);
        self.b.switch_to_block(taken);
        Ok(next)
    }

    fn is_of_tag(&mut self, exception: Value, tag: u32) -> Result<Value> {
        let flags = self.exception_flags();
        let (tag, owner) = self.tag_identity(tag)?;
        let found = self.b.ins().load(types::I32, flags, exception, TAG);
        let same = self.b.ins().icmp(IntCC::Equal, found, tag);
        let Some(owner) = owner else {
            return Ok(same);
        };
        let found = self.b.ins().load(types::I64, flags, exception, OWNER);
        let owners = self.b.ins().icmp(IntCC::Equal, found, owner);
        Ok(self.b.ins().band(same, owners))
    }

    /// A tag's index in the instance that defines it and, where that may be another one, that
    /// instance's context.
    fn tag_identity(&mut self, tag: u32) -> Result<(Value, Option<Value>)> {
        if self.env.options.sealed() {
            return Ok((self.i32(tag), None));
        }
        if tag >= self.env.module.imported_tags {
            return Ok((self.i32(tag), Some(self.context)));
        }
        // The first entry is not a tag's.
        let entry = context_offset(self.env.layout.tag_imports, 1 + tag, TAG_IMPORT_SIZE)?;
        let index = self.context_constant(types::I32, entry + TAG_IMPORT_INDEX as i32);
        let owner = self.context_constant(types::I64, entry + TAG_IMPORT_CTX as i32);
        Ok((index, Some(owner)))
    }

    /// The slot for the next exception, open linkage.
    fn open_slot(&mut self) -> Result<Value> {
        let slot = self.routine(Routine::Slot, &[self.context, self.context])?;
        let slot = slot.ok_or_else(|| Error::internal("a routine without result"))?;
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, slot, 0);
        self.trap_if(none, Trap::TooManyExceptions);
        Ok(slot)
    }

    pub(super) fn values_of(&mut self, exception: Value, tag: u32) -> Result<Vec<Value>> {
        let flags = self.exception_flags();
        let params: &[ValType] = &self.env.module.tag_type(tag)?.params;
        let cells = (0i32..).map(|i| VALUES + i * CELL);
        Ok(params
            .iter()
            .zip(cells)
            .map(|(&ty, at)| self.b.ins().load(clif_type(ty), flags, exception, at))
            .collect())
    }

    /// Calls a routine: its result, if it has one.
    fn routine(&mut self, routine: Routine, arguments: &[Value]) -> Result<Option<Value>> {
        let function = routine.declare(self.b.func);
        let call = self.b.ins().call(function, arguments);
        Ok(self.b.inst_results(call).first().copied())
    }
}
