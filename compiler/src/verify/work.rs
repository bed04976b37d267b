//! How much an instruction asks of the compiler, which its length does not tell: a call or branch
//! of two bytes can pass a thousand values, and time and memory of a compilation go with the
//! values.
//!
//! Instructions count for at most four values a byte ([`sing_image::limits::VALUES_PER_BYTE`]) but
//! for those with many parameters and results, so that nothing else is refused for its values
//! before it is long. Some become a few more in the compiler, which therefore compares with a
//! function's length only what branches carry for locals.

use crate::error::Result;
use crate::translate::{Beyond, FEW_KEPT};
use crate::verify::limits;
use sing_image::limits::{
    ALL_LOCALS_CARRIED, ALL_LOCALS_IN_LOOPS, ALL_VALUES_KEPT, Counts, FUNCTION_VALUES,
    LOCALS_CARRIED, LOCALS_IN_LOOPS, VALUES_KEPT, VALUES_PER_BYTE,
};
use std::ops::RangeInclusive;
use wasmparser::{self as wp, WasmModuleResources as _};

type Validator = wp::FuncValidator<wp::ValidatorResources>;

/// First bytes of conversions between numbers, and what one counts for: it may become ten
/// instructions of the machine.
const CONVERSIONS: RangeInclusive<u8> = 0xa7..=0xbf;
const CONVERSION: u64 = 4;
/// First bytes of instructions that have two or more (saturating conversions, bulk memory, vectors,
/// atomic accesses), and what one counts for: it may become twenty.
const PREFIXES: RangeInclusive<u8> = 0xfc..=0xfe;
const PREFIXED: u64 = 8;
/// The most values of the compiler's for each that is counted, but for what becomes of locals where
/// control flow joins.
const COMPILED: u64 = 32;
/// The most values that wait within one instruction, beside its operands and the locals.
const WITHIN: u64 = 64;

/// The work for the functions that were looked at.
#[derive(Default)]
pub(super) struct Work {
    values: u64,
    bytes: u64,
    locals_by_blocks: u64,
    catching: u64,
    /// The most that the compiler may find.
    beyond: Beyond,
}

/// The work for one function.
pub(super) struct FunctionWork {
    values: u64,
    bytes: u64,
    locals: u64,
    blocks: u64,
    /// Branches, and falls into the next block.
    edges: u64,
    /// Loops around the present place, and the most around any. The search for the values of
    /// locals goes through all of them, for each.
    loops: u64,
    most_loops: u64,
    /// All loops.
    all_loops: u64,
    /// Blocks around the present place that catch exceptions, and the most around any: an exception
    /// may go through all of them.
    catching: u64,
    most_catching: u64,
    /// Those around each of them, together.
    all_catching: u64,
    /// The most operands that wait.
    operands: u64,
    /// Whether there has been a block that catches exceptions: calls may end in it.
    catches: bool,
}

impl Work {
    /// Adds a function's.
    pub(super) fn add(&mut self, function: &FunctionWork) {
        self.values += function.values;
        self.bytes += function.bytes;
        self.locals_by_blocks += function.locals * function.blocks;
        self.catching += function.all_catching;
        // Of a function that asks more, the compiler says so.
        let beyond = function.beyond();
        self.beyond.carried += beyond.carried.min(LOCALS_CARRIED.most);
        self.beyond.in_loops += beyond.in_loops.min(LOCALS_IN_LOOPS.most);
        if beyond.kept > FEW_KEPT {
            self.beyond.kept += beyond.kept.min(VALUES_KEPT.most);
        }
    }

    /// Compares it with the limits.
    pub(super) fn check(&self) -> Result<()> {
        limits::checked(&Counts {
            all_locals_by_blocks: self.locals_by_blocks,
            all_catching: self.catching,
            ..Counts::of_values(self.values, self.bytes)
        })
    }

    /// Whether the compiler may refuse the module for what it finds in all functions.
    pub(super) fn may_be_too_large(&self) -> bool {
        self.beyond.carried > ALL_LOCALS_CARRIED.most
            || self.beyond.in_loops > ALL_LOCALS_IN_LOOPS.most
            || self.beyond.kept > ALL_VALUES_KEPT.most
    }
}

impl FunctionWork {
    /// Of a function whose locals were read.
    pub(super) fn new(func: &Validator, body: &wp::FunctionBody<'_>) -> FunctionWork {
        let range = body.range();
        FunctionWork {
            values: u64::from(func.len_locals()),
            bytes: range.end.saturating_sub(range.start),
            locals: u64::from(func.len_locals()),
            blocks: 2,
            edges: 1,
            loops: 0,
            most_loops: 0,
            all_loops: 0,
            catching: 0,
            most_catching: 0,
            all_catching: 0,
            operands: 0,
            catches: false,
        }
    }

    /// Counts an instruction that begins with this byte, before it is validated.
    pub(super) fn count(&mut self, op: &wp::Operator<'_>, first: u8, func: &Validator) {
        use wp::Operator as O;
        let after_call = u64::from(self.catches) * 2;
        self.operands = self.operands.max(func.operand_stack_height().into());
        let (values, blocks) = match op {
            O::Call { function_index } | O::ReturnCall { function_index } => {
                let ty = func.resources().type_index_of_function(*function_index);
                (ty.map_or(0, |ty| sum(signature(func, ty))), after_call)
            }
            O::CallIndirect { type_index, .. }
            | O::ReturnCallIndirect { type_index, .. }
            | O::CallRef { type_index }
            | O::ReturnCallRef { type_index } => (sum(signature(func, *type_index)), after_call),
            O::Throw { tag_index } => (4 + payload(func, *tag_index), after_call),
            O::ThrowRef | O::Rethrow { .. } => (4, after_call),
            O::Try { blockty } => {
                self.enter_catching();
                (sum(block(func, *blockty)) + 4, 2)
            }
            O::Catch { tag_index } => {
                let frame = func.get_control_frame(0);
                let results = frame.map_or(0, |f| sum(block(func, f.block_type)));
                (8 + payload(func, *tag_index) + results, 2)
            }
            O::CatchAll | O::Delegate { .. } => {
                let frame = func.get_control_frame(0);
                if matches!(op, O::Delegate { .. }) {
                    self.catching = self.catching.saturating_sub(1);
                }
                (8 + frame.map_or(0, |f| sum(block(func, f.block_type))), 2)
            }
            O::TryTable { try_table } => {
                self.enter_catching();
                // A clause loads the values that its branch carries.
                let clauses = try_table.catches.iter().map(|catch| {
                    let (wp::Catch::One { label: to, .. }
                    | wp::Catch::OneRef { label: to, .. }
                    | wp::Catch::All { label: to }
                    | wp::Catch::AllRef { label: to }) = *catch;
                    8 + 2 * label(func, to)
                });
                let values = clauses.sum::<u64>() + sum(block(func, try_table.ty));
                (values + 4, 2 + 2 * try_table.catches.len() as u64)
            }
            O::Block { blockty } => (sum(block(func, *blockty)), 1),
            O::Loop { blockty } => {
                self.loops += 1;
                self.all_loops += 1;
                self.most_loops = self.most_loops.max(self.loops);
                (sum(block(func, *blockty)), 2)
            }
            O::If { blockty } => (sum(block(func, *blockty)), 3),
            O::Else | O::End => {
                let frame = func.get_control_frame(0);
                match frame.map(|frame| frame.kind) {
                    Some(wp::FrameKind::Loop) => self.loops = self.loops.saturating_sub(1),
                    Some(
                        wp::FrameKind::TryTable
                        | wp::FrameKind::LegacyTry
                        | wp::FrameKind::LegacyCatch
                        | wp::FrameKind::LegacyCatchAll,
                    ) => self.catching = self.catching.saturating_sub(1),
                    _ => {}
                }
                (frame.map_or(0, |f| sum(block(func, f.block_type))), 0)
            }
            O::Br { relative_depth } => (label(func, *relative_depth), 0),
            O::BrIf { relative_depth }
            | O::BrOnNull { relative_depth }
            | O::BrOnNonNull { relative_depth } => (label(func, *relative_depth), 1),
            O::BrTable { targets } => {
                // At most one edge to each label.
                let entries = u64::from(targets.len()) + 1;
                let edges = entries.min(u64::from(func.control_stack_height()));
                (entries + edges * label(func, targets.default()), edges)
            }
            O::Return => {
                let outermost = func.control_stack_height().saturating_sub(1);
                (label(func, outermost), 0)
            }
            _ if CONVERSIONS.contains(&first) => (CONVERSION - 1, 0),
            _ if PREFIXES.contains(&first) => (PREFIXED - 1, 0),
            _ => (0, 0),
        };
        self.values += 1 + values;
        self.blocks += blocks;
        self.edges += 2 * blocks + u64::from(is_control(op));
    }

    /// Counts a block that catches exceptions.
    fn enter_catching(&mut self) {
        self.catches = true;
        self.catching += 1;
        self.all_catching += self.catching;
        self.most_catching = self.most_catching.max(self.catching);
    }

    /// Whether the compiler may refuse the function for its values, of which it has more than are
    /// counted here; or for how many of them wait at a time.
    pub(super) fn may_be_too_large(&self) -> bool {
        let beyond = self.beyond();
        let values = COMPILED.saturating_mul(self.values);
        values.saturating_add(self.of_locals()) > FUNCTION_VALUES.most
            || beyond.kept > VALUES_KEPT.most
            || beyond.in_loops > LOCALS_IN_LOOPS.most
            || beyond.carried > LOCALS_CARRIED.most
    }

    /// The most values of the compiler's that locals become: one for each local on each edge, and in
    /// each block where edges join.
    fn of_locals(&self) -> u64 {
        self.locals.saturating_mul(self.blocks + self.edges)
    }

    /// The most that the compiler may find.
    fn beyond(&self) -> Beyond {
        let values = COMPILED.saturating_mul(self.values);
        let waiting = self.locals + self.operands + WITHIN;
        let pairs = self.locals.saturating_mul(self.locals);
        let free = VALUES_PER_BYTE * self.bytes;
        Beyond {
            carried: self.of_locals().saturating_sub(free),
            in_loops: pairs.saturating_mul(self.all_loops),
            kept: values.saturating_mul(waiting),
        }
    }

    /// Compares it with the limits.
    pub(super) fn check(&self) -> Result<()> {
        limits::checked(&Counts {
            function_values: self.values,
            locals_by_blocks: self.locals * self.blocks,
            loops_nested: self.most_loops,
            catching_nested: self.most_catching,
            ..Counts::default()
        })
    }
}

/// Whether an instruction ends a block of the compiler's with an edge to another.
fn is_control(op: &wp::Operator<'_>) -> bool {
    use wp::Operator as O;
    matches!(
        op,
        O::Br { .. } | O::Return | O::Else | O::End | O::BrTable { .. }
    )
}

fn sum((params, results): (u64, u64)) -> u64 {
    params + results
}

/// How many values an exception of this tag carries.
fn payload(func: &Validator, tag: u32) -> u64 {
    let ty = func.resources().tag_at(tag);
    ty.map_or(0, |ty| ty.params().len() as u64)
}

/// How many parameters and results a function of this type has.
fn signature(func: &Validator, ty: u32) -> (u64, u64) {
    let ty = func.resources().sub_type_at(ty);
    match ty.map(|ty| &ty.composite_type.inner) {
        Some(wp::CompositeInnerType::Func(ty)) => {
            (ty.params().len() as u64, ty.results().len() as u64)
        }
        _ => (0, 0),
    }
}

/// How many parameters and results a block has.
fn block(func: &Validator, ty: wp::BlockType) -> (u64, u64) {
    match ty {
        wp::BlockType::Empty => (0, 0),
        wp::BlockType::Type(_) => (0, 1),
        wp::BlockType::FuncType(ty) => signature(func, ty),
    }
}

/// How many values a branch to this label carries.
fn label(func: &Validator, depth: u32) -> u64 {
    let frame = func.get_control_frame(depth as usize);
    frame.map_or(0, |frame| {
        let (params, results) = block(func, frame.block_type);
        match frame.kind {
            wp::FrameKind::Loop => params,
            _ => results,
        }
    })
}
