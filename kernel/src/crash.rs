//! Crash reports: who died, of what, and where.
//!
//! Compiled code keeps frame pointers, so that a backtrace is a walk along saved frame pointers, each of
//! which lies on the thread's own stack.

use crate::contract::Contract;
use crate::image;
use crate::machine::log;
use crate::sip::Sip;
use crate::thread::Thread;
use crate::trusted;
use sing_abi::trap::Trap;

/// The most frames that a report shows.
const FRAMES: usize = 16;

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
    let stack = t.stack();
    let code = t.sip().template().code();
    let mut at = from.next_multiple_of(8).max(stack.bottom);
    let mut innermost = None;
    while at + 16 <= stack.top() {
        let (word, next) = (trusted::stack_word(at), trusted::stack_word(at + 8));
        if innermost.is_none() && code.contains(&word) {
            innermost = Some(word);
            crash.push(word - 1);
        } else if innermost.is_some() && word > at && word < stack.top() && code.contains(&next) {
            walk(t, at, &mut crash);
            return;
        }
        at += 8;
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

fn walk(t: &Thread, mut fp: u64, crash: &mut Crash) {
    let stack = t.stack();
    let code = t.sip().template().code();
    while fp.is_multiple_of(8)
        && fp >= stack.bottom
        && fp + 16 <= stack.top()
        && crash.count < FRAMES
    {
        let (up, ret) = (trusted::stack_word(fp), trusted::stack_word(fp + 8));
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
    log!(
        "crash: {} (SIP {}) died of: {trap}, in {place}",
        sip.name(),
        sip.id()
    );
    if trap == Trap::BrokenPromise
        && let Some((contract, message, condition)) = crash.broken
        && let Some(message) = contract.table.messages.get(message as usize)
        && let Some(condition) = message.conditions.get(condition)
    {
        log!(
            "  {}.{} requires: {}",
            contract.table.name,
            message.name,
            condition.text
        );
    }
    for name in frames {
        log!("  called from {name}");
    }
}
