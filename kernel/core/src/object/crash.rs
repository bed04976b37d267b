//! Crash reports: who died, of what, and where.
//!
//! Compiled code keeps frame pointers, so that a backtrace is a walk along saved frame pointers, each of
//! which lies on the thread's own stack.

use crate::ground::contract::Contract;
use crate::ground::image::{self, Callee};
use crate::ground::log;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use sing_abi::trap::Trap;
use sing_arch::frame;

/// The most frames that a report shows.
const FRAMES: usize = 16;
/// The most stack words that are searched for the frame that called the kernel: a function's own
/// frame can be nearly as large as the largest stack.
const LOOKED_AT: usize = 16 << 10;

/// Addresses of the frames of a thread that crashed, innermost first.
#[derive(Default)]
pub(crate) struct Crash {
    frames: [u64; FRAMES],
    count: usize,
    /// The broken requirement, if that ended it: contract, message, condition.
    broken: Option<(&'static Contract, u32, usize)>,
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
/// frames: searches upward for the return address into the code and for the saved frame pointer of the function that called.
///
/// Stale words of earlier calls can look like either. Entries of the kernel are called through a register or memory, so the
/// return address is behind such a call; and behind the call of the one frame pointer's function, where that names its callee,
/// is the function in which the other lies.
pub(crate) fn record_call(t: &Thread, from: u64) {
    let mut crash = t.sip().crash.lock();
    crash.clear();
    let stack = t.fiber.stack();
    let code = t.sip().template().code();
    let first = from.next_multiple_of(8).max(stack.start);
    let mut callers = Callers::default();
    for at in (first..stack.end).step_by(8).take(LOOKED_AT) {
        let Some((word, next)) = frame_at(t, at) else {
            break;
        };
        if code.contains(&word) {
            callers.note(word);
        } else if word > at
            && stack.contains(&word)
            && code.contains(&next)
            && let Some(caller) = callers.called_from(next)
        {
            crash.push(caller - 1);
            walk(t, at, &mut crash);
            return;
        }
    }
    // Nothing in the code called the function: it is the outermost one.
    if let Some(caller) = callers.last() {
        crash.push(caller - 1);
    }
}

/// The addresses to which the kernel's entry may return, in the order of their places on the stack; the last ones, if there are
/// very many.
#[derive(Default)]
struct Callers {
    addresses: [u64; FRAMES],
    count: usize,
}

impl Callers {
    fn note(&mut self, address: u64) {
        if image::called_before(address) == Some(Callee::Unknown)
            && image::function_at(address - 1).is_some()
        {
            self.addresses[self.count % FRAMES] = address;
            self.count += 1;
        }
    }

    /// All of them, the last one first.
    fn all(&self) -> impl Iterator<Item = u64> {
        let least = self.count.saturating_sub(FRAMES);
        (least..self.count)
            .rev()
            .map(|i| self.addresses[i % FRAMES])
    }

    fn last(&self) -> Option<u64> {
        self.all().next()
    }

    /// The one that lies in the function whose caller continues at `back`. If that does not say which function it called, the
    /// first one.
    fn called_from(&self, back: u64) -> Option<u64> {
        match image::called_before(back)? {
            Callee::Known(function) => {
                let (_, name) = image::function_at(function)?;
                let is_there = |&address: &u64| {
                    image::function_at(address - 1).is_some_and(|f| core::ptr::eq(f.1, name))
                };
                self.all().find(is_there)
            }
            Callee::Unknown => self.all().last(),
        }
    }
}

/// Records which condition a message breaks; its sender is about to be ended.
#[cold]
pub(crate) fn record_broken(
    t: &Thread,
    contract: &'static Contract,
    message: u32,
    condition: usize,
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
