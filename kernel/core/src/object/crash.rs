//! Crash reports: who died, of what, and where.
//!
//! Compiled code keeps frame pointers, so that a backtrace is a walk along saved frame pointers, each of
//! which lies on the thread's own stack.

use crate::ground::contract::Contract;
use crate::ground::image;
use crate::ground::log;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use sing_abi::trap::Trap;
use sing_arch::frame;

/// The most frames that a report shows.
const FRAMES: usize = 16;
/// Words of a stack that are looked at for the frame that called the kernel: a function's own frame can be nearly as large
/// as the largest stack.
const LOOKED_AT: usize = 16 << 10;

/// Addresses of the frames of a thread that crashed, innermost first.
#[derive(Default)]
pub(crate) struct Crash {
    frames: [u64; FRAMES],
    count: usize,
    /// What was sent last that it must not have been: contract, message, condition.
    broken: Option<(&'static Contract, u32, usize)>,
}

impl Crash {
    /// Forgets.
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

/// Notes where a thread's code faulted.
pub(crate) fn record_fault(t: &Thread, pc: u64, fp: u64) {
    let mut crash = t.sip().crash.lock();
    crash.clear();
    crash.push(pc);
    walk(t, fp, &mut crash);
}

/// Notes from where a thread's code called the kernel, given an address in the kernel's own frames: the
/// first return address above it that a saved frame pointer stands under.
pub(crate) fn record_call(t: &Thread, from: u64) {
    let mut crash = t.sip().crash.lock();
    crash.clear();
    let stack = t.fiber.stack();
    let code = t.sip().template().code();
    let first = from.next_multiple_of(8).max(stack.start);
    let mut innermost = None;
    for at in (first..stack.end).step_by(8).take(LOOKED_AT) {
        let Some((word, next)) = frame_at(t, at) else {
            return;
        };
        // A word left over from before can look like a return address; one into no function is none.
        let returns = || code.contains(&word) && image::function_at(word - 1).is_some();
        if innermost.is_none() && returns() {
            innermost = Some(word);
            crash.push(word - 1);
        } else if innermost.is_some() && word > at && stack.contains(&word) && code.contains(&next)
        {
            walk(t, at, &mut crash);
            return;
        }
    }
}

/// Notes which condition a message breaks for which its sender is ended.
#[cold]
pub(crate) fn record_broken(
    t: &Thread,
    contract: &'static Contract,
    message: u32,
    condition: usize,
) {
    t.sip().crash.lock().broken = Some((contract, message, condition));
}

/// What a frame on the thread's stack holds: the frame pointer of the one above it, and the return address. `None` where
/// it lies elsewhere.
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
        // The call lies before its return address.
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
    if trap == Trap::BrokenPromise
        && let Some((contract, message, condition)) = crash.broken
        && let Some(message) = contract.table.messages.get(message as usize)
        && let Some(condition) = message.conditions.get(condition)
    {
        let (contract, message, text) = (&contract.table.name, &message.name, &condition.text);
        log::about(
            voice,
            format_args!("  {contract}.{message} requires: {text}"),
        );
    }
    for name in frames {
        log::about(voice, format_args!("  called from {name}"));
    }
}
