//! Crash reports: who died, of what, and where, and what it said last.
//!
//! Compiled code keeps frame pointers, so that a backtrace is a walk along saved frame pointers,
//! each of which lies on the thread's own stack.

mod search;
mod words;

use crate::ground::contract::Contract;
use crate::ground::image;
use crate::ground::log;
use crate::ground::trusted::variables;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use core::fmt::{self, Write};
use serde::{Serialize, Serializer};
use sing_abi::trap::Trap;
use sing_arch::frame;
use sing_arch::lock::SpinLock;
use sing_image::lines::Place;
use sing_image::shown::is_escaped;
use words::Words;

/// The most frames that a report shows.
const FRAMES: usize = 16;
/// The most functions that it shows, those that were inlined among them.
const FUNCTIONS: usize = 24;

/// Addresses of the frames of a thread that crashed, innermost first.
#[derive(Default)]
pub(crate) struct Crash {
    frames: [u64; FRAMES],
    count: usize,
    /// The broken requirement, if that ended it: contract, message, and the condition, or none for
    /// that of blocks without parts.
    broken: Option<(&'static Contract, u32, Option<usize>)>,
    /// What it said last.
    pub(crate) words: Words,
}

impl Crash {
    /// Forgets all, for a new SIP.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.broken = None;
        self.words.clear();
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
    crash.count = 0;
    crash.push(pc);
    walk(t, fp, &mut crash);
}

/// Records the frames of a thread that called the kernel, given an address in the kernel's own
/// frames.
pub(crate) fn record_call(t: &Thread, from: u64) {
    let mut crash = t.sip().crash.lock();
    crash.count = 0;
    let (stack, code) = (t.fiber.stack(), t.sip().image());
    let Some((caller, frame)) = search::search(code, &stack, from, |at| t.fiber.word(at)) else {
        return;
    };
    crash.push(caller - 1);
    if let Some(frame) = frame {
        walk(t, frame, &mut crash);
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

/// A function of a frame, or inlined in it: its name and the place in its text, if that is known.
struct Named {
    function: &'static str,
    place: Option<Place<'static>>,
    /// Whether the one before this was inlined into it.
    inlines: bool,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function)?;
        match self.place {
            Some(Place {
                file: Some(file),
                line,
                ..
            }) if line != 0 => write!(f, " ({file}:{line})"),
            Some(Place {
                file: Some(file), ..
            }) => write!(f, " ({file})"),
            _ => Ok(()),
        }
    }
}

/// The functions at an address, from the innermost inlined one to that of the frame.
fn functions_at(pc: u64) -> impl Iterator<Item = Named> {
    let at = image::function_at(pc);
    let function = at.as_ref().map_or("?", |at| at.function);
    let mut places = at.map(|at| at.places()).into_iter().flatten();
    let first = places.next();
    let name = |place: Option<Place<'static>>, inlines| Named {
        function: place.and_then(|place| place.function).unwrap_or(function),
        place,
        inlines,
    };
    let outer = places.map(move |place| name(Some(place), true));
    core::iter::once(name(first, false)).chain(outer)
}

/// Prints the report.
pub(crate) fn report(sip: &Sip, trap: Trap) {
    let crash = sip.crash.lock();
    let frames = crash.frames[..crash.count].iter();
    let mut functions = frames.flat_map(|&pc| functions_at(pc)).take(FUNCTIONS);
    let voice = sip.account().voice();
    let (name, id) = (sip.name(), sip.id());
    let start = Named {
        function: "its start",
        place: None,
        inlines: false,
    };
    let place = functions.next().unwrap_or(start);
    log::about(
        voice,
        format_args!("crash: {name} (SIP {id}) died of: {trap}, in {place}"),
    );
    let words = &crash.words;
    // A long name leaves room for the words.
    let first = line_of(format_args!("{trap}, in {place}"));
    let first = first.as_str();
    let first = &first[..first.floor_char_boundary(LINE - WORDS)];
    LAST.lock().keep(id, format_args!("{first}{words}"));
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
    for function in functions {
        let how = match function.inlines {
            true => "inlined into",
            false => "called from",
        };
        log::about(voice, format_args!("  {how} {function}"));
    }
}

/// How many reports are kept for those that ask later: for the parent of a process that crashed.
const KEPT: usize = 16;
/// The most bytes that are kept of a report's first line and of what the process said last.
const LINE: usize = 512;
/// The most bytes of the words, with what introduces them.
const WORDS: usize = words::KEPT + 32;

variables! { forget:
    /// The last reports. Their memory is there from the start: a crash needs none.
    static LAST: SpinLock<Last> = SpinLock::new(Last {
        lines: [(0, Line::EMPTY); KEPT],
        next: 0,
    });
}

/// Of each report the SIP's id, 0 if there is none, and the first line with the process's last words. The oldest is
/// at `next`.
struct Last {
    lines: [(u32, Line); KEPT],
    next: usize,
}

impl Last {
    fn keep(&mut self, id: u32, text: fmt::Arguments<'_>) {
        let line = line_of(text);
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

/// Returns a report's SIP and what is kept of it, the oldest at 0: `Some(None)` if there is none there,
/// `None` behind the last.
pub(crate) fn kept(index: usize) -> Option<Option<(u32, Line)>> {
    LAST.lock().at(index)
}

/// What is kept of a SIP's report, if it is among the last.
pub(crate) fn report_of(id: u32) -> Option<Line> {
    let last = LAST.lock();
    let found = last.lines.iter().find(|kept| kept.0 == id);
    found.map(|kept| kept.1)
}

/// A line of this text, as much of it as there is room for.
pub(crate) fn line_of(text: fmt::Arguments<'_>) -> Line {
    let mut line = Line::EMPTY;
    // A line that is full takes no more, and says so to nobody.
    let _ = line.write_fmt(text);
    line
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

    pub(crate) fn as_str(&self) -> &str {
        // Only whole characters are written.
        let written = self.text.get(..self.len).unwrap_or(&[]);
        core::str::from_utf8(written).unwrap_or("")
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let c = if is_escaped(c) { '?' } else { c };
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
    use alloc::vec::Vec;

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
            last.keep(id, format_args!("{}{id}", "\u{20ac}".repeat(LINE)));
        }
        let kept = all(&last);
        let ids: Vec<u32> = kept.iter().map(|k| k.0).collect();
        assert_eq!(ids, (25..=40).collect::<Vec<_>>());
        assert!(kept.iter().all(|k| k.1 == "\u{20ac}".repeat(LINE / 3)));
    }
}
