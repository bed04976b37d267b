//! Crash reports: who died, of what, and where.
//!
//! Compiled code keeps frame pointers, so that a backtrace is a walk along saved frame pointers,
//! each of which lies on the thread's own stack.

use crate::ground::contract::Contract;
use crate::ground::image::{self, Callee, Installed};
use crate::ground::log;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use core::fmt::{self, Write};
use core::ops::Range;
use serde::{Serialize, Serializer};
use sing_abi::trap::Trap;
use sing_arch::frame;
use sing_arch::lock::SpinLock;

/// The most frames that a report shows.
const FRAMES: usize = 16;
/// The most stack words that are searched for the frame that called the kernel: a function's own
/// frame can be nearly as large as the largest stack.
const LOOKED_AT: u64 = 16 << 10;
/// The most of these words that are compared with the code. A program can fill its stack with words
/// that look like frames, and nothing else runs meanwhile.
const CANDIDATES: u32 = 512;

/// Addresses of the frames of a thread that crashed, innermost first.
#[derive(Default)]
pub(crate) struct Crash {
    frames: [u64; FRAMES],
    count: usize,
    /// The broken requirement, if that ended it: contract, message, and the condition, or none for
    /// that of blocks without parts.
    broken: Option<(&'static Contract, u32, Option<usize>)>,
}

impl Crash {
    /// Forgets the frames.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    fn push(&mut self, pc: u64) {
        if let Some(f) = self.frames.get_mut(self.count) {
            *f = pc;
            self.count += 1;
        }
    }
}

/// Records the frames of a thread whose code faulted at `pc` with frame pointer `fp`.
pub(crate) fn record_fault(t: &Thread, pc: u64, fp: u64) {
    let mut crash = t.sip().crash.lock();
    crash.clear();
    crash.push(pc);
    walk(t, fp, &mut crash);
}

/// Records the frames of a thread that called the kernel, given an address in the kernel's own
/// frames.
pub(crate) fn record_call(t: &Thread, from: u64) {
    let mut crash = t.sip().crash.lock();
    crash.clear();
    let (stack, code) = (t.fiber.stack(), t.sip().image());
    let Some((caller, frame)) = search(code, &stack, from, |at| t.fiber.word(at)) else {
        return;
    };
    crash.push(caller - 1);
    if let Some(frame) = frame {
        walk(t, frame, &mut crash);
    }
}

/// The code whose frames are searched for.
trait Code {
    /// Whether an address lies in the code.
    fn holds(&self, address: u64) -> bool;
    /// What was called if this is the address behind a call.
    fn called_before(&self, address: u64) -> Option<Callee>;
    /// The address of the function that an address lies in.
    fn function_at(&self, address: u64) -> Option<u64>;
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

    fn frame_size(&self, function: u64) -> u64 {
        Installed::frame_size(self, function)
    }
}

/// Searches a stack upward, from an address in the kernel's own frames, for the return address into
/// the code and for the saved frame pointer of the function that called. Returns both; no frame if
/// nothing in the code called the function.
///
/// Stale words of earlier calls can look like either. Entries of the kernel are called through a
/// register or memory, so the return address is behind such a call. The frame pointer lies above it
/// by the size of the function's frame. If no frame does, because the function's first instructions
/// are others than those known here, it is one behind whose call of a function that function's code
/// continues; and if none is (a function that was called can leave by a tail call to another), the
/// first one is as good a guess as there is.
fn search(
    code: &impl Code,
    stack: &Range<u64>,
    from: u64,
    word: impl Fn(u64) -> Option<u64>,
) -> Option<(u64, Option<u64>)> {
    let mut callers = Callers::default();
    let mut first = None;
    let mut candidates = CANDIDATES;
    let mut at = from.next_multiple_of(8).max(stack.start);
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

/// Records which condition a message breaks, or that it brings a tree for a block without parts
/// (`None`); its sender is about to be ended.
#[cold]
pub(crate) fn record_broken(
    t: &Thread,
    contract: &'static Contract,
    message: u32,
    condition: Option<usize>,
) {
    t.sip().crash.lock().broken = Some((contract, message, condition));
}

/// The contents of a frame on the thread's stack: the caller's frame pointer, and the return
/// address. `None` if it lies elsewhere.
fn frame_at(t: &Thread, fp: u64) -> Option<(u64, u64)> {
    Some((t.fiber.word(fp)?, t.fiber.word(fp + frame::RETURN)?))
}

fn walk(t: &Thread, mut fp: u64, crash: &mut Crash) {
    let code = t.sip().template().code();
    while crash.count < FRAMES
        && let Some((up, ret)) = frame_at(t, fp)
    {
        if !code.contains(&ret) {
            return;
        }
        // The call instruction precedes its return address.
        crash.push(ret - 1);
        if up <= fp {
            return;
        }
        fp = up;
    }
}

/// Prints the report.
pub(crate) fn report(sip: &Sip, trap: Trap) {
    let crash = sip.crash.lock();
    let mut frames = crash.frames[..crash.count]
        .iter()
        .map(|&pc| image::function_at(pc).map_or("?", |f| f.1));
    let place = frames.next().unwrap_or("its start");
    let voice = sip.account().voice();
    let (name, id) = (sip.name(), sip.id());
    log::about(
        voice,
        format_args!("crash: {name} (SIP {id}) died of: {trap}, in {place}"),
    );
    LAST.lock().keep(id, format_args!("{trap}, in {place}"));
    if trap == Trap::BrokenPromise
        && let Some((contract, message, condition)) = crash.broken
        && let Some(message) = contract.table.messages.get(message as usize)
    {
        let condition = condition.and_then(|c| message.conditions.get(c));
        let text = condition.map_or("blocks without parts", |c| &c.text);
        let (contract, message) = (&contract.table.name, &message.name);
        log::about(
            voice,
            format_args!("  {contract}.{message} requires: {text}"),
        );
    }
    for name in frames {
        log::about(voice, format_args!("  called from {name}"));
    }
}

/// How many reports are kept for those that ask later: for the parent of a process that crashed.
const KEPT: usize = 16;
/// The most bytes of a report's first line that are kept.
const LINE: usize = 120;

/// The last reports. Their memory is there from the start: a crash needs none.
static LAST: SpinLock<Last> = SpinLock::new(Last {
    lines: [(0, Line::EMPTY); KEPT],
    next: 0,
});

/// Of each report the SIP's id, 0 if there is none, and the first line. The oldest is at `next`.
struct Last {
    lines: [(u32, Line); KEPT],
    next: usize,
}

impl Last {
    fn keep(&mut self, id: u32, text: fmt::Arguments<'_>) {
        let mut line = Line::EMPTY;
        // A line that is full takes no more, and says so to nobody.
        let _ = line.write_fmt(text);
        if let Some(place) = self.lines.get_mut(self.next) {
            *place = (id, line);
        }
        self.next = (self.next + 1) % KEPT;
    }

    fn at(&self, index: usize) -> Option<Option<(u32, Line)>> {
        let place = (index < KEPT).then_some((self.next + index) % KEPT)?;
        self.lines
            .get(place)
            .map(|kept| (kept.0 != 0).then_some(*kept))
    }
}

/// Returns a report's SIP and first line, the oldest at 0: `Some(None)` if there is none there,
/// `None` behind the last.
pub(crate) fn kept(index: usize) -> Option<Option<(u32, Line)>> {
    LAST.lock().at(index)
}

/// A text of a bounded length, without control characters: names of functions come from modules.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    text: [u8; LINE],
    len: usize,
}

impl Line {
    const EMPTY: Line = Line {
        text: [0; LINE],
        len: 0,
    };

    fn as_str(&self) -> &str {
        // Only whole characters are written.
        let written = self.text.get(..self.len).unwrap_or(&[]);
        core::str::from_utf8(written).unwrap_or("")
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let c = if c.is_control() { '?' } else { c };
            let end = self.len + c.len_utf8();
            let place = self.text.get_mut(self.len..end).ok_or(fmt::Error)?;
            c.encode_utf8(place);
            self.len = end;
        }
        Ok(())
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reports_are_kept_whole_and_without_control_characters() {
        let mut last = Last {
            lines: [(0, Line::EMPTY); KEPT],
            next: 0,
        };
        let all = |last: &Last| -> Vec<(u32, alloc::string::String)> {
            (0..)
                .map_while(|i| last.at(i))
                .flatten()
                .map(|(id, line)| (id, line.as_str().into()))
                .collect()
        };
        assert_eq!(all(&last), []);
        last.keep(7, format_args!("a trap, in f\x1b[2J\n"));
        assert_eq!(all(&last), [(7, "a trap, in f?[2J?".into())]);
        for id in 1..=40 {
            last.keep(id, format_args!("{}{id}", "\u{20ac}".repeat(60)));
        }
        let kept = all(&last);
        let ids: Vec<u32> = kept.iter().map(|k| k.0).collect();
        assert_eq!(ids, (25..=40).collect::<Vec<_>>());
        assert!(kept.iter().all(|k| k.1 == "\u{20ac}".repeat(40)));
    }
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::Cell;

    /// Where the tests' stack begins.
    const STACK: u64 = 0x10_0000;
    /// Functions of 256 bytes.
    const MAIN: u64 = 0x1000;
    const X: u64 = 0x1100;
    const A: u64 = 0x1200;
    const B: u64 = 0x1300;
    const STALE: u64 = 0x1400;

    /// Code with these calls; it counts the questions.
    #[derive(Default)]
    struct Calls {
        calls: Vec<(u64, Callee)>,
        sizes: Vec<(u64, u64)>,
        questions: Cell<u32>,
    }

    impl Calls {
        /// Returns the address behind a call in a function of another.
        fn direct(&mut self, inside: u64, callee: u64) -> u64 {
            self.call(inside, Callee::Known(callee))
        }

        /// Returns the address behind a call in a function of an entry of the kernel, say.
        fn indirect(&mut self, inside: u64) -> u64 {
            self.call(inside, Callee::Unknown)
        }

        fn call(&mut self, inside: u64, callee: Callee) -> u64 {
            let back = inside + 1 + self.calls.len() as u64;
            self.calls.push((back, callee));
            back
        }

        /// Searches a stack of these words.
        fn search(&self, words: &[u64]) -> Option<(u64, Option<u64>)> {
            let range = STACK..STACK + 8 * words.len() as u64;
            search(self, &range, STACK, |at| {
                words.get(((at - STACK) / 8) as usize).copied()
            })
        }
    }

    impl Code for Calls {
        fn holds(&self, address: u64) -> bool {
            (MAIN..STALE + 0x100).contains(&address)
        }

        fn called_before(&self, address: u64) -> Option<Callee> {
            self.questions.set(self.questions.get() + 1);
            let call = self.calls.iter().find(|c| c.0 == address)?;
            Some(match call.1 {
                Callee::Known(function) => Callee::Known(function),
                Callee::Unknown => Callee::Unknown,
            })
        }

        fn function_at(&self, address: u64) -> Option<u64> {
            self.questions.set(self.questions.get() + 1);
            self.holds(address).then_some(address & !0xff)
        }

        fn frame_size(&self, function: u64) -> u64 {
            let size = self.sizes.iter().find(|s| s.0 == function);
            size.map_or(1 << 20, |s| s.1)
        }
    }

    fn place(word: usize) -> u64 {
        STACK + 8 * word as u64
    }

    #[test]
    fn the_frame_whose_callee_called_the_kernel_is_found_among_stale_words() {
        let mut code = Calls::default();
        let (kernel, stale) = (code.indirect(A), code.indirect(STALE));
        let (to_a, to_stale) = (code.direct(X, A), code.direct(X, STALE));
        let words = [
            7,
            stale,
            kernel,
            stale,
            place(9),
            to_stale + 1, // no call is before this
            7,
            place(9),
            to_a,
            7,
        ];
        assert_eq!(code.search(&words), Some((kernel, Some(place(7)))));
        // A call that does not say what it calls.
        let through = code.indirect(X);
        let words = [7, kernel, stale, place(6), through, 7, 7];
        assert_eq!(code.search(&words), Some((kernel, Some(place(3)))));
        // Nothing in the code called the function.
        assert_eq!(code.search(&[7, kernel, 7]), Some((kernel, None)));
        assert_eq!(code.search(&[7, 7, 7]), None);
    }

    #[test]
    fn after_a_tail_call_the_first_frame_is_taken() {
        let mut code = Calls::default();
        let (kernel, stale) = (code.indirect(B), code.indirect(STALE));
        let (to_a, to_x) = (code.direct(X, A), code.direct(MAIN, X));
        // MAIN called X, X called A, and A left by a tail call to B. In the frame of X, there is a
        // stale word.
        let words = [7, kernel, 7, place(6), to_a, stale, place(9), to_x, 7, 7];
        assert_eq!(code.search(&words), Some((kernel, Some(place(3)))));
    }

    #[test]
    fn the_frame_at_the_right_distance_is_taken_whatever_was_called() {
        let mut code = Calls::default();
        let (kernel, stale) = (code.indirect(B), code.indirect(STALE));
        let (to_a, to_x, to_stale) = (
            code.direct(X, A),
            code.direct(MAIN, X),
            code.direct(STALE, STALE),
        );
        code.sizes = vec![(B, 24), (STALE, 0)];
        // In the frames of the kernel and of B there are stale words, and behind the frame of A
        // whole frames.
        let words = [
            stale,
            7,
            kernel,
            stale,
            place(10),
            to_stale,
            place(10),
            to_a,
            stale,
            7,
            place(15),
            to_x,
            stale,
            place(15),
            to_stale,
            7,
            7,
        ];
        assert_eq!(code.search(&words), Some((kernel, Some(place(6)))));
    }

    #[test]
    fn a_stack_full_of_frames_is_searched_in_bounded_time() {
        let mut code = Calls::default();
        let (kernel, to_a) = (code.indirect(B), code.direct(A, A));
        let stale = code.indirect(STALE);
        let mut words = vec![7, kernel];
        for _ in 0..8000 {
            let up = place(words.len() + 2);
            words.extend([up, to_a]);
        }
        assert_eq!(code.search(&words), Some((kernel, Some(place(2)))));
        let asked = code.questions.take();
        assert!(asked <= 4 * CANDIDATES, "{asked}");
        // So, too, if all words are return addresses.
        words.splice(2.., vec![stale; 16_000]);
        code.search(&words);
        let asked = code.questions.take();
        assert!(asked <= 4 * CANDIDATES, "{asked}");
    }
}
