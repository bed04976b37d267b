//! The search for the frame that called the kernel.
//!
//! The kernel keeps no frame pointers, so what lies between its own frames and those of the code
//! that called it is not known. The search is bounded, whatever a program has put onto its stack.

use super::FRAMES;
use crate::ground::image::{Callee, Installed};
use core::ops::Range;
use sing_arch::frame;

/// The most stack words that are searched for the frame that called the kernel: a function's own
/// frame can be nearly as large as the largest stack.
const LOOKED_AT: u64 = 16 << 10;
/// The most of these words that are compared with the code. A program can fill its stack with words
/// that look like frames, and nothing else runs meanwhile.
const CANDIDATES: u32 = 512;
/// The most frames that are followed, for all of these together, and the most questions about how a
/// function can be called, each of which looks through as much of the image as `image::ASKED` and
/// `image::SCANNED` say.
const LINKS: u32 = 1024;
const QUESTIONS: u32 = 4;

/// The code whose frames are searched for.
pub(super) trait Code {
    /// Whether an address lies in the code.
    fn holds(&self, address: u64) -> bool;
    /// What was called if this is the address behind a call.
    fn called_before(&self, address: u64) -> Option<Callee>;
    /// The address of the function that an address lies in.
    fn function_at(&self, address: u64) -> Option<u64>;
    /// Whether something can call the function at this address without naming it.
    fn is_taken(&self, function: u64) -> bool;
    /// Whether the function at this address can leave by a call of another.
    fn leaves(&self, function: u64) -> bool;
    /// Bytes between the saved frame pointer and the return address of what the function at an
    /// address calls, as far as its first instructions say.
    fn frame_size(&self, function: u64) -> u64;
}

impl Code for Installed {
    fn holds(&self, address: u64) -> bool {
        self.template.code().contains(&address)
    }

    fn called_before(&self, address: u64) -> Option<Callee> {
        Installed::called_before(self, address)
    }

    fn function_at(&self, address: u64) -> Option<u64> {
        Installed::function_at(self, address)
    }

    fn is_taken(&self, function: u64) -> bool {
        Installed::is_taken(self, function)
    }

    fn leaves(&self, function: u64) -> bool {
        Installed::leaves(self, function)
    }

    fn frame_size(&self, function: u64) -> u64 {
        Installed::frame_size(self, function)
    }
}

/// Searches a stack upward, from an address in the kernel's own frames, for the return address into
/// the code and for the saved frame pointer of the function that called. Returns both; no frame if
/// nothing in the code called the function.
///
/// Below the place that is looked for, in the kernel's frames, there are words of earlier calls,
/// whole frames among them. The first frame is taken whose callers are right up to the kernel
/// ([`Chains`]), and, where there is none, the first that looks like one ([`guess`]): a tail call to
/// what a table says leaves a caller that calls another function.
pub(super) fn search(
    code: &impl Code,
    stack: &Range<u64>,
    from: u64,
    word: impl Fn(u64) -> Option<u64>,
) -> Option<(u64, Option<u64>)> {
    let from = from.next_multiple_of(8).max(stack.start);
    let mut chains = Chains::new(code, &word);
    let mut candidates = CANDIDATES;
    let mut at = from;
    while at < stack.end.min(from.saturating_add(8 * LOOKED_AT))
        && candidates > 0
        && let Some(value) = word(at)
    {
        if code.holds(value) {
            candidates -= 1;
            if let Some(frame) = chains.from(value, at) {
                return Some((value, Some(frame)));
            }
        }
        at += 8;
    }
    guess(code, stack, from, word)
}

/// Follows the frames of functions that call each other.
///
/// A frame that was left is told from the others by where its chain joins these: its return address
/// has been overwritten by that of the next call that its caller made. So each return address must
/// be behind a call of the function whose frame lies below it; behind a call that does not name
/// what it calls, that function must be one that such calls can reach, as the call may be that of
/// an entry of the kernel. And each frame must begin where its caller's ends.
struct Chains<'a, C, W> {
    code: &'a C,
    word: &'a W,
    /// Frames and questions that are left.
    frames: u32,
    questions: u32,
}

impl<'a, C: Code, W: Fn(u64) -> Option<u64>> Chains<'a, C, W> {
    fn new(code: &'a C, word: &'a W) -> Self {
        Chains {
            code,
            word,
            frames: LINKS,
            questions: QUESTIONS,
        }
    }

    /// The frame of the function that calls the kernel and to which it returns by the word `back`
    /// at `at`, if its chain is right.
    fn from(&mut self, back: u64, at: u64) -> Option<u64> {
        if self.code.called_before(back)? != Callee::Unknown {
            return None;
        }
        let mut function = self.code.function_at(back - 1)?;
        let first = at + 8 + self.code.frame_size(function);
        let mut frame = first;
        loop {
            self.frames = self.frames.checked_sub(1)?;
            let up = (self.word)(frame)?;
            let back = (self.word)(frame + frame::RETURN)?;
            // Called by the kernel.
            if !self.code.holds(back) {
                return Some(first);
            }
            let is_called = match self.code.called_before(back)? {
                Callee::Known(callee) => {
                    self.code.function_at(callee) == Some(function)
                        || self.may_be(|code| code.leaves(callee))
                }
                Callee::Unknown => self.may_be(|code| code.is_taken(function)),
            };
            function = self.code.function_at(back - 1)?;
            let end = frame + frame::RETURN + 8;
            if !is_called || up != end + self.code.frame_size(function) {
                return None;
            }
            frame = up;
        }
    }

    /// The answer to a question about a function; true, if there is no time for it.
    fn may_be(&mut self, is: impl FnOnce(&C) -> bool) -> bool {
        match self.questions.checked_sub(1) {
            Some(left) => {
                self.questions = left;
                is(self.code)
            }
            None => true,
        }
    }
}

/// Searches for a frame that may be the one, though what is above it does not fit.
///
/// Entries of the kernel are called through a register or memory, so the return address is behind
/// such a call. The frame pointer lies above it by the size of the function's frame. If no frame
/// does, because the function's first instructions are others than those known here, it is one
/// behind whose call of a function that function's code continues; and if none is (a function that
/// was called can leave by a tail call to another), the first one is as good a guess as there is.
fn guess(
    code: &impl Code,
    stack: &Range<u64>,
    from: u64,
    word: impl Fn(u64) -> Option<u64>,
) -> Option<(u64, Option<u64>)> {
    let mut callers = Callers::default();
    let mut first = None;
    let mut candidates = CANDIDATES;
    let mut at = from;
    let end = stack.end.min(at.saturating_add(8 * LOOKED_AT));
    let mut this = word(at);
    while at < end
        && candidates > 0
        && let Some(next) = word(at + frame::RETURN)
        && let Some(value) = this
    {
        if code.holds(value) {
            candidates -= 1;
            if let Some(function) = callers.note(value, code) {
                let frame = at + 8 + code.frame_size(function);
                if let Some(up) = word(frame)
                    && let Some(back) = word(frame + frame::RETURN)
                    && up > frame
                    && stack.contains(&up)
                    && code.holds(back)
                    && code.called_before(back).is_some()
                {
                    return Some((value, Some(frame)));
                }
            }
        } else if value > at && stack.contains(&value) && code.holds(next) {
            candidates -= 1;
            match code.called_before(next) {
                Some(Callee::Known(function)) => {
                    if let Some(caller) = callers.inside(code.function_at(function)) {
                        return Some((caller, Some(at)));
                    }
                    first = first.or_else(|| Some((callers.first()?, Some(at))));
                }
                Some(Callee::Unknown) => {
                    if let Some(caller) = callers.first() {
                        return Some((caller, Some(at)));
                    }
                }
                None => {}
            }
        }
        this = Some(next);
        at += 8;
    }
    first.or_else(|| Some((callers.last()?, None)))
}

/// The addresses to which the kernel's entry may return, each with its function, in the order of
/// their places on the stack; the last ones, if there are very many.
#[derive(Default)]
struct Callers {
    noted: [(u64, u64); FRAMES],
    count: usize,
}

impl Callers {
    /// Notes an address in the code if the kernel's entry may return there; returns its function
    /// then.
    fn note(&mut self, address: u64, code: &impl Code) -> Option<u64> {
        let called = code.called_before(address)?;
        let function = code.function_at(address - 1)?;
        (called == Callee::Unknown).then(|| {
            self.noted[self.count % FRAMES] = (address, function);
            self.count += 1;
            function
        })
    }

    /// All of them, the last one first.
    fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        let least = self.count.saturating_sub(FRAMES);
        (least..self.count).rev().map(|i| self.noted[i % FRAMES])
    }

    fn first(&self) -> Option<u64> {
        self.all().last().map(|c| c.0)
    }

    fn last(&self) -> Option<u64> {
        self.all().next().map(|c| c.0)
    }

    /// The last one that lies in a function.
    fn inside(&self, function: Option<u64>) -> Option<u64> {
        let function = function?;
        self.all().find(|c| c.1 == function).map(|c| c.0)
    }
}

#[cfg(test)]
mod tests;
