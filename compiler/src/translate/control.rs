//! Blocks, branches and returns.
//!
//! A label is a block of the IR whose parameters are the values that a branch to it carries.
//! Unreachable code is skipped: nothing is emitted until the end of a block that a branch goes to.

use super::legacy::Caught;
use super::{Translator, clif_type, trap_code};
use crate::error::{Error, Result};
use crate::module::val_type;
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, InstBuilder, JumpTableData, Type, Value, types,
};
use sing_abi::trap::Trap;
use std::collections::HashMap;
use wasmparser as wp;

/// The kind of a block.
pub(super) enum FrameKind {
    /// `block`, or the function's body.
    Block,
    /// `loop`: branches go back to its header.
    Loop { header: Block },
    /// `if`, before its `else`: the block for condition 0, and the parameters.
    If {
        otherwise: Block,
        params: Vec<Value>,
    },
    /// `try_table`: the block to which exceptions go, and the clauses. Or the body of a `try`,
    /// whose clauses follow.
    Try {
        handler: Block,
        reached: bool,
        catches: Vec<wp::Catch>,
    },
    /// A clause of a `try`.
    Clauses(Caught),
}

/// A block whose end has not been reached yet.
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    /// The IR block that follows it, whose parameters are its results.
    pub(super) end: Block,
    /// Height of the operand stack below its parameters.
    pub(super) height: usize,
    /// Number of its parameters.
    pub(super) params: usize,
    /// Number of its results.
    pub(super) results: usize,
    /// Whether its end is reachable.
    pub(super) reached: bool,
}

/// The values that a branch carries, as arguments of its block.
pub(super) fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().copied().map(BlockArg::Value).collect()
}

impl Translator<'_, '_> {
    pub(super) fn control_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match op {
            O::Block { blockty } => self.open(*blockty, |_, _| Ok(FrameKind::Block))?,
            O::Loop { blockty } => self.open(*blockty, |t, params| {
                let header = t.label_block(params);
                let values = t.pop_many(params.len())?;
                let carried = arguments(&values);
                t.b.ins().jump(header, &carried);
                t.b.switch_to_block(header);
                let values = t.b.block_params(header).to_vec();
                t.stack.extend(values);
                Ok(FrameKind::Loop { header })
            })?,
            O::If { blockty } => {
                let condition = self.pop()?;
                self.open(*blockty, |t, params| {
                    let then = t.b.create_block();
                    let otherwise = t.b.create_block();
                    t.b.ins().brif(condition, then, &[], otherwise, &[]);
                    t.seal(then);
                    t.seal(otherwise);
                    t.b.switch_to_block(then);
                    let values = t.pop_many(params.len())?;
                    t.stack.extend(&values);
                    Ok(FrameKind::If {
                        otherwise,
                        params: values,
                    })
                })?;
            }
            O::TryTable { try_table } => self.open_try(try_table.ty, &try_table.catches)?,
            O::Try { blockty } => self.open_try(*blockty, &[])?,
            O::Else => self.otherwise()?,
            O::End => self.end()?,
            O::Br { relative_depth } => {
                let (target, arity) = self.label(*relative_depth)?;
                let values = self.pop_many(arity)?;
                let carried = arguments(&values);
                self.b.ins().jump(target, &carried);
                self.live = false;
            }
            O::BrIf { relative_depth } => {
                let condition = self.pop()?;
                let (target, arity) = self.label(*relative_depth)?;
                let values = self.pop_many(arity)?;
                let next = self.b.create_block();
                let carried = arguments(&values);
                self.b.ins().brif(condition, target, &carried, next, &[]);
                self.seal(next);
                self.b.switch_to_block(next);
                self.stack.extend(values);
            }
            O::BrOnNull { relative_depth } => {
                let reference = self.pop()?;
                let (target, arity) = self.label(*relative_depth)?;
                let values = self.pop_many(arity)?;
                let next = self.b.create_block();
                let carried = arguments(&values);
                self.b.ins().brif(reference, next, &[], target, &carried);
                self.seal(next);
                self.b.switch_to_block(next);
                self.stack.extend(values);
                self.push(reference);
            }
            O::BrOnNonNull { relative_depth } => {
                // The reference is the last of the values that the branch carries.
                let (target, arity) = self.label(*relative_depth)?;
                let values = self.pop_many(arity)?;
                let (&reference, rest) = values
                    .split_last()
                    .ok_or_else(|| Error::internal("a branch without its reference"))?;
                let next = self.b.create_block();
                let carried = arguments(&values);
                self.b.ins().brif(reference, target, &carried, next, &[]);
                self.seal(next);
                self.b.switch_to_block(next);
                self.stack.extend(rest);
            }
            O::BrTable { targets } => self.branch_table(targets)?,
            O::Return => {
                let arity = self.frames.first().map_or(0, |f| f.results);
                let values = self.pop_many(arity)?;
                self.b.ins().return_(&values);
                self.live = false;
            }
            O::Unreachable => {
                self.b.ins().trap(trap_code(Trap::Unreachable));
                self.live = false;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An unreachable instruction.
    pub(super) fn dead_op(&mut self, op: &wp::Operator<'_>) -> Result<()> {
        use wp::Operator as O;
        match op {
            O::Block { .. }
            | O::Loop { .. }
            | O::If { .. }
            | O::TryTable { .. }
            | O::Try { .. } => {
                self.skipped += 1;
            }
            O::End | O::Delegate { .. } if self.skipped > 0 => self.skipped -= 1,
            O::End => self.end()?,
            O::Else if self.skipped == 0 => self.otherwise()?,
            O::Catch { .. } | O::CatchAll | O::Delegate { .. } if self.skipped == 0 => {
                self.legacy_op(op)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn block_type(&self, ty: wp::BlockType) -> Result<(Vec<Type>, Vec<Type>)> {
        Ok(match ty {
            wp::BlockType::Empty => (Vec::new(), Vec::new()),
            wp::BlockType::Type(ty) => (Vec::new(), vec![clif_type(val_type(ty)?)]),
            wp::BlockType::FuncType(index) => {
                let ty = self.type_at(index)?;
                let all = |types: &[_]| types.iter().map(|&t| clif_type(t)).collect();
                (all(&ty.params), all(&ty.results))
            }
        })
    }

    fn open(
        &mut self,
        ty: wp::BlockType,
        start: impl FnOnce(&mut Self, &[Type]) -> Result<FrameKind>,
    ) -> Result<()> {
        let (params, results) = self.block_type(ty)?;
        let height = self.stack.len().checked_sub(params.len());
        let height = height.ok_or_else(|| Error::internal("a block lacks parameters"))?;
        let end = self.label_block(&results);
        let kind = start(self, &params)?;
        self.frames.push(Frame {
            kind,
            end,
            height,
            params: params.len(),
            results: results.len(),
            reached: false,
        });
        Ok(())
    }

    fn open_try(&mut self, ty: wp::BlockType, catches: &[wp::Catch]) -> Result<()> {
        self.open(ty, |t, _| {
            let handler = t.label_block(&[types::I64]);
            t.catching.push(t.frames.len());
            Ok(FrameKind::Try {
                handler,
                reached: false,
                catches: catches.to_vec(),
            })
        })
    }

    /// Jumps to the end of the innermost block, if this place is reachable.
    pub(super) fn fall_through(&mut self, frame: &mut Frame) -> Result<()> {
        if self.live {
            let values = self.pop_many(frame.results)?;
            let carried = arguments(&values);
            self.b.ins().jump(frame.end, &carried);
            frame.reached = true;
        }
        Ok(())
    }

    pub(super) fn innermost(&mut self) -> Result<Frame> {
        self.frames
            .pop()
            .ok_or_else(|| Error::internal("no block is open"))
    }

    fn otherwise(&mut self) -> Result<()> {
        let mut frame = self.innermost()?;
        self.fall_through(&mut frame)?;
        let FrameKind::If { otherwise, params } =
            std::mem::replace(&mut frame.kind, FrameKind::Block)
        else {
            return Err(Error::internal("an else without its if"));
        };
        self.b.switch_to_block(otherwise);
        self.stack.truncate(frame.height);
        self.stack.extend(params);
        self.live = true;
        self.frames.push(frame);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let mut frame = self.innermost()?;
        self.fall_through(&mut frame)?;
        match &frame.kind {
            FrameKind::Block => {}
            FrameKind::Loop { header } => self.seal_loop(*header, frame.params)?,
            FrameKind::If { otherwise, params } => {
                // Without an else, the results are the parameters.
                self.b.switch_to_block(*otherwise);
                let carried = arguments(params);
                self.b.ins().jump(frame.end, &carried);
                frame.reached = true;
            }
            FrameKind::Try {
                handler,
                reached,
                catches,
            } => {
                self.catching.pop();
                if *reached {
                    self.catch(*handler, catches)?;
                }
            }
            FrameKind::Clauses(caught) => self.end_clauses(caught)?,
        }
        self.resume(&frame);
        Ok(())
    }

    /// Goes on behind a block, if anything reaches its end.
    pub(super) fn resume(&mut self, frame: &Frame) {
        self.stack.truncate(frame.height);
        self.live = frame.reached;
        if frame.reached {
            self.b.switch_to_block(frame.end);
            self.seal(frame.end);
            self.stack.extend(self.b.block_params(frame.end));
        }
    }

    /// A branch's target, and the number of values that it carries.
    pub(super) fn label(&mut self, depth: u32) -> Result<(Block, usize)> {
        let index = self.frames.len().checked_sub(1 + depth as usize);
        let frame = index.and_then(|i| self.frames.get_mut(i));
        let frame = frame.ok_or_else(|| Error::internal(format!("there is no label {depth}")))?;
        Ok(match frame.kind {
            FrameKind::Loop { header } => (header, frame.params),
            FrameKind::Block
            | FrameKind::If { .. }
            | FrameKind::Try { .. }
            | FrameKind::Clauses(_) => {
                frame.reached = true;
                (frame.end, frame.results)
            }
        })
    }

    fn branch_table(&mut self, targets: &wp::BrTable<'_>) -> Result<()> {
        let selector = self.pop()?;
        let (_, arity) = self.label(targets.default())?;
        let values = self.pop_many(arity)?;
        // Values go by way of a block for each label, so that they are listed once, not in each
        // entry. That holds for locals, too, of which it is not known here whether the label needs
        // them.
        let mut edges: HashMap<Block, Block> = HashMap::new();
        let mut order: Vec<(Block, Block)> = Vec::new();
        let mut entries = Vec::with_capacity(targets.len() as usize);
        for depth in targets.targets().chain([Ok(targets.default())]) {
            let (target, _) = self.label(depth?)?;
            let block = *edges.entry(target).or_insert_with(|| {
                let edge = self.b.create_block();
                order.push((edge, target));
                edge
            });
            entries.push(BlockCall::new(block, [], &mut self.b.func.dfg.value_lists));
        }
        let default = entries
            .pop()
            .ok_or_else(|| Error::internal("a table without default"))?;
        let table = self
            .b
            .create_jump_table(JumpTableData::new(default, &entries));
        self.b.ins().br_table(selector, table);
        for (edge, target) in order {
            self.seal(edge);
            self.b.switch_to_block(edge);
            let carried = arguments(&values);
            self.b.ins().jump(target, &carried);
            self.check_size()?;
        }
        self.live = false;
        Ok(())
    }
}
