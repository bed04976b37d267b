//! The first encoding of exceptions, which many toolchains still emit: `try`, `catch`, `catch_all`,
//! `delegate` and `rethrow`.
//!
//! The body of a `try` catches as that of a `try_table` does. The bodies of its clauses follow it
//! in the block, so the comparison of tags goes on from clause to clause. The exception of a clause
//! is kept, as for a reference: its body may throw it again behind any others.

use super::Translator;
use super::control::FrameKind;
use crate::error::{Error, Result};
use cranelift_codegen::ir::{Block, Value};
use wasmparser as wp;

/// The clauses of a `try` from the current one on.
pub(super) struct Caught {
    /// The exception; none if the body cannot throw.
    exception: Option<Value>,
    /// Where an exception goes that none of the clauses so far takes.
    next: Option<Block>,
}

impl Translator<'_, '_> {
    pub(super) fn legacy_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::Catch { tag_index } => self.clause(Some(tag_index))?,
            O::CatchAll => self.clause(None)?,
            O::Delegate { relative_depth } => self.delegate(relative_depth)?,
            O::Rethrow { relative_depth } => {
                let index = self.frames.len().checked_sub(1 + relative_depth as usize);
                let frame = index.and_then(|i| self.frames.get(i));
                let Some(FrameKind::Clauses(Caught {
                    exception: Some(exception),
                    ..
                })) = frame.map(|f| &f.kind)
                else {
                    return Err(Error::internal("no exception to be thrown again"));
                };
                self.throw(*exception)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Ends the body of a `try` or a clause, and begins the clause of a tag, or of all.
    fn clause(&mut self, tag: Option<u32>) -> Result<()> {
        let mut frame = self.innermost()?;
        self.fall_through(&mut frame)?;
        self.stack.truncate(frame.height);
        let caught = match frame.kind {
            FrameKind::Try {
                handler, reached, ..
            } => {
                self.catching.pop();
                let exception = match reached {
                    true => {
                        let exception = self.enter(handler)?;
                        Some(self.keep(exception)?)
                    }
                    false => None,
                };
                Caught {
                    exception,
                    next: None,
                }
            }
            FrameKind::Clauses(caught) => {
                if let Some(next) = caught.next {
                    self.b.switch_to_block(next);
                }
                caught
            }
            _ => return Err(Error::internal("a clause outside a try")),
        };
        self.live = caught.exception.is_some();
        let mut next = None;
        if let Some(exception) = caught.exception
            && let Some(tag) = tag
        {
            next = Some(self.unless_of_tag(exception, tag)?);
            let values = self.values_of(exception, tag)?;
            self.stack.extend(values);
        }
        frame.kind = FrameKind::Clauses(Caught {
            exception: caught.exception,
            next,
        });
        self.frames.push(frame);
        Ok(())
    }

    /// Ends the clauses: what none of them takes goes on outside.
    pub(super) fn end_clauses(&mut self, caught: &Caught) -> Result<()> {
        if let (Some(exception), Some(next)) = (caught.exception, caught.next) {
            self.b.switch_to_block(next);
            self.throw(exception)?;
        }
        Ok(())
    }

    /// Ends the body of a `try` whose exceptions go on as if the block at a depth had thrown them.
    fn delegate(&mut self, depth: u32) -> Result<()> {
        let mut frame = self.innermost()?;
        self.fall_through(&mut frame)?;
        let FrameKind::Try {
            handler, reached, ..
        } = frame.kind
        else {
            return Err(Error::internal("a delegate outside a try"));
        };
        self.catching.pop();
        if reached {
            let exception = self.enter(handler)?;
            let target = self.frames.len().checked_sub(1 + depth as usize);
            let target = target.ok_or_else(|| Error::internal("no block to delegate to"))?;
            let catching = self.catching.partition_point(|&i| i <= target);
            self.throw_to(exception, catching)?;
        }
        self.resume(&frame);
        Ok(())
    }
}
