//! Calls of the program that the system is inside of ([`crate::hal::Callers`]): the kernel makes a
//! process for each, or keeps one for many, asks it over `CallContract`, and gives its answer back.
//!
//! A process whose image asks for it has a channel to the kernel by which it gets random bytes of the host's
//! ([`chance`]).
//!
//! A process may be given directories of the host. Each is served by a kept process of its own, which
//! the host answers: both are connected when they are made, and the kernel has no part in what they say.
//!
//! The host may hold an endpoint of any other contract to a process that is kept, and speak by that
//! ([`talking`]).
//!
//! All of this happens in the idle context ([`serve`]), one step at a time: a request, an answer, an
//! end. The kernel's ends of the channels are in a set of its own; a message there, or an end, brings
//! the idle context on at the end of the sender's entry ([`come`]).
//!
//! Invariants:
//! - A process that was made for one call has ended, and all of it is free, before its answer goes
//!   to the host; so has one that has crashed, ended by itself or used up what it was given.
//! - Each request that wants an answer gets one, unless the host has withdrawn it.
//! - The bytes of a call are on the account of the process that is called, as is its channel.
//! - No more than [`OPEN`] calls are under way, and no more than as many processes kept; no more than
//!   [`SERVING`] serve directories.
//! - A directory is given to one process, or to none.
//! - What is in flight on a channel for calls is one block: `Messages::of` refuses other contracts.

mod chance;
mod limits;
mod making;
mod record;
mod talking;

use crate::ground::machine::hal;
use crate::ground::trusted::variables;
use crate::object::calls::limits::Budget;
use crate::object::calls::making::{Messages, Speaks, Why, make, serving};
use crate::object::calls::record::{Call, Calls, State};
use crate::object::channel::{self, Channel, Heard};
use crate::object::crash;
use crate::object::exheap;
use crate::object::set::{Look, Set};
use crate::object::sip::{self, End, Sip};
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_abi::exit::stop::KILLED;
use sing_arch::lock::{Counter, SpinLock};
use sing_calls::{ANSWER, OPEN, Op, Outcome, Request, SERVING};
use sing_image::manifest::Side;

variables! { forget:
    static CALLS: SpinLock<Calls> = SpinLock::new(Calls::new());
    /// Whether the idle context is to look.
    static DUE: AtomicBool = AtomicBool::new(false);
    /// Whether it is to look at the time, too.
    static LATE: AtomicBool = AtomicBool::new(false);
    /// Processes that have been ended and are not free yet.
    static ENDING: AtomicU32 = AtomicU32::new(0);
}

/// Something has come: a request, a message, an end. The running thread leaves for the idle context
/// when it looks at interrupts.
pub(crate) fn come() {
    DUE.store(true, Relaxed);
    crate::mechanism::interrupt::note_call();
}

/// The time has come to look at the limits of calls.
pub(crate) fn look() {
    LATE.store(true, Relaxed);
    DUE.store(true, Relaxed);
}

/// Whether there may be something to do.
pub(crate) fn are_due() -> bool {
    DUE.load(Relaxed) || hal().callers().is_some_and(|callers| callers.waits())
}

/// Whether a step may find something to do.
pub(crate) fn have_work() -> bool {
    ENDING.load(Relaxed) != 0 || are_due()
}

/// The references that calls have to a SIP.
pub(crate) fn references(sip: &Sip) -> u32 {
    let calls = CALLS.lock();
    let of =
        |call: &&Call| call.state != State::Free && call.sip.is_some_and(|s| core::ptr::eq(s, sip));
    calls.records.iter().filter(of).count() as u32
}

/// Does a step, where there may be one to do. False if there was none. Called in the idle context.
pub(crate) fn serve() -> bool {
    let done = conclude_one() || hear() || expire() || next();
    // What is there is known at once: who leaves the kernel now leaves nothing to another for naught.
    let set = CALLS.lock().set;
    let ready = set.is_some_and(Set::has_ready);
    DUE.store(ready || LATE.load(Relaxed), Relaxed);
    done
}

/// Answers with a text.
fn say(id: u64, outcome: Outcome, text: Arguments<'_>) {
    if let Some(callers) = hal().callers() {
        callers.say(id, outcome, text);
    }
}

/// Serves the next request. False if there is none.
fn next() -> bool {
    hal()
        .callers()
        .is_some_and(|callers| callers.next(&mut take))
}

/// Takes a request. False if its image is being loaded.
fn take(request: &Request<'_>) -> bool {
    let id = request.id;
    let refused = match request.op {
        Op::Call | Op::Open | Op::Serve | Op::Talk => match begin(request) {
            Err(Why::NotYet) => return false,
            Err(why) => Err(why),
            Ok(index) if request.op == Op::Call => ask(index, request),
            Ok(_) => {
                say(id, Outcome::Done, format_args!(""));
                Ok(())
            }
        },
        Op::Ask => {
            let kept = CALLS.lock().kept(request.process);
            match kept {
                None => Err(Why::Ended),
                Some((_, State::Asked)) => Err(Why::Asked),
                Some((index, _)) => ask(index, request),
            }
        }
        Op::Send | Op::Receive | Op::Exchange => {
            let kept = CALLS.lock().kept(request.process);
            match kept {
                None => Err(Why::Ended),
                Some((_, State::Asked)) => Err(Why::Asked),
                Some((index, _)) => talking::talk(index, request),
            }
        }
        Op::Free => {
            talking::free(request.process as u32);
            Ok(())
        }
        Op::Close => {
            let kept = CALLS.lock().kept(request.process);
            if let Some((index, state)) = kept {
                // Who waits for its answer still gets one.
                let ending = match state {
                    State::Asked => Ending::Dropped,
                    _ => Ending::Quiet,
                };
                end(index, ending);
            }
            Ok(())
        }
        Op::Cancel => {
            let asked = CALLS.lock().asked(id);
            if let Some(index) = asked {
                end(index, Ending::Quiet);
            }
            Ok(())
        }
    };
    if let Err(why) = refused {
        say(
            id,
            Outcome::NotMade,
            format_args!("{}", why.of(request.name)),
        );
    }
    true
}

/// Makes a process for a request, and its record; the index of that.
fn begin(request: &Request<'_>) -> Result<u32, Why> {
    let serves = request.op == Op::Serve;
    let keeps = request.op != Op::Call;
    let set = {
        let mut calls = CALLS.lock();
        if serves && calls.serving as usize == SERVING {
            return Err(Why::TooManyServe);
        }
        if !serves && keeps && calls.kept as usize == OPEN {
            return Err(Why::TooManyKept);
        }
        if !keeps && calls.asked as usize == OPEN {
            return Err(Why::TooManyAsked);
        }
        if !calls.reserve() {
            return Err(Why::Short);
        }
        match calls.set {
            Some(set) => set,
            None => {
                let set = Set::create_for_calls().ok_or(Why::Short)?;
                calls.set = Some(set);
                set
            }
        }
    };
    let made = match serves {
        true => serving(request)?,
        false => make(request, |process| CALLS.lock().directory(process))?,
    };
    made.sip.retain();
    let process = if keeps { request.id } else { 0 };
    let index = {
        let mut calls = CALLS.lock();
        calls.give(request.directories);
        calls.add(process, &made)
    };
    if let Speaks::Calls(_) = made.speaks {
        set.add(made.channel, Side::Imp, index);
    }
    if let Some(random) = made.random {
        set.add(random, Side::Exp, index | OF_CHANCE);
    }
    if keeps {
        made.sip.start();
    }
    Ok(index)
}

/// Asks a process that is not asked; one that was made for this call starts with that. With an
/// error, a process made for the call has been ended.
fn ask(index: u32, request: &Request<'_>) -> Result<(), Why> {
    let told = tell(index, request);
    if told.is_err() && request.op == Op::Call {
        end(index, Ending::Quiet);
    }
    told
}

fn tell(index: u32, request: &Request<'_>) -> Result<(), Why> {
    let call = CALLS.lock().get(index).ok_or(Why::Ended)?;
    let (Some(sip), Some(channel), Speaks::Calls(messages)) = (call.sip, call.channel, call.speaks)
    else {
        return Err(Why::Ended);
    };
    if !call.serves() && CALLS.lock().asked as usize == OPEN {
        return Err(Why::TooManyAsked);
    }
    let block =
        making::block(request.bytes, sip.account()).ok_or(Why::NoRoom(sip.account().limit()))?;
    if !channel::tell(channel, Side::Imp, messages.call, u64::from(block)) {
        exheap::free(block);
        return Err(Why::Ended);
    }
    let budget = Budget::begin(&request.limits, sip);
    // What it was refused before is not why it ends without this answer.
    sip.account().forget_refusals();
    CALLS.lock().ask(index, request.id, budget);
    sip.start();
    Ok(())
}

/// The bit of a set's key that says that it is a process's channel of random bytes. There are fewer records.
const OF_CHANCE: u32 = 1 << 31;

/// Gives a process the random bytes that it has asked for, or takes note that it asks for none any more.
fn give_random(index: u32) {
    let Some(call) = CALLS.lock().get(index) else {
        return;
    };
    if let (Some(sip), Some(channel)) = (call.sip, call.random)
        && !chance::serve(channel, sip)
    {
        channel::close(channel, Side::Exp, sip);
        CALLS.lock().no_random(index);
    }
}

/// Takes what a process has said, or that it has closed its end. False if none has.
fn hear() -> bool {
    let Some(set) = CALLS.lock().set else {
        return false;
    };
    let key = match set.next() {
        Look::Key(key) => key,
        Look::More => return true,
        Look::Nothing => return false,
    };
    if key & OF_CHANCE != 0 {
        give_random(key & !OF_CHANCE);
        return true;
    }
    let Some(call) = CALLS.lock().get(key) else {
        return false;
    };
    match call.speaks {
        Speaks::Calls(messages) => hear_answer(key, &call, messages),
        Speaks::Any(side) => talking::hear(key, &call, side),
    }
    true
}

/// How a process has ended that has closed its end.
fn closing(call: &Call) -> Ending {
    match call.sip.is_some_and(Sip::is_alive) {
        true => Ending::Closed,
        false => Ending::Itself,
    }
}

/// Takes the answer to a call, or that there will be none.
fn hear_answer(key: u32, call: &Call, messages: Messages) {
    let Some(channel) = call.channel else {
        return;
    };
    match channel::hear(channel, Side::Imp) {
        Heard::Nothing => {}
        Heard::Closed if call.state == State::Asked => end(key, closing(call)),
        Heard::Closed => end(key, Ending::Quiet),
        Heard::Message(message, word) => {
            let outcome = match message == messages.refused {
                true => Outcome::Refused,
                false => Outcome::Done,
            };
            let block = word as u32;
            if call.state != State::Asked {
                exheap::free(block);
                end(key, Ending::Quiet);
            } else if call.process == 0 {
                end(key, Ending::Said(outcome, block));
            } else {
                CALLS.lock().rest(key);
                answer(call.id, outcome, block);
            }
        }
    }
}

/// Ends processes whose limits are reached, one at a time. False if none is.
fn expire() -> bool {
    if !LATE.load(Relaxed) {
        return false;
    }
    let now = hal().now();
    let found = CALLS.lock().late(now);
    match found {
        Ok((index, outcome)) => {
            end(index, Ending::Limit(outcome));
            true
        }
        Err(next) => {
            LATE.store(false, Relaxed);
            crate::mechanism::timer::look_at_calls(next);
            false
        }
    }
}

/// Why a process is ended, and what the host is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It is not waited for: nothing.
    Quiet,
    /// It has given this answer, in the allocation of this number.
    Said(Outcome, u32),
    /// It has reached a limit.
    Limit(Outcome),
    /// It has closed its end, and runs.
    Closed,
    /// It has ended by itself.
    Itself,
    /// The host has given it up while it was asked.
    Dropped,
}

/// Closes the kernel's end of a channel to a process, and frees what has come there.
fn give_up(channel: &'static Channel, side: Side, sip: &'static Sip) {
    while let Heard::Message(_, word) = channel::hear(channel, side) {
        exheap::free(word as u32);
    }
    channel::close(channel, side, sip);
}

/// Ends a process; the host is told when it is free, mostly at once.
fn end(index: u32, ending: Ending) {
    let Some(call) = CALLS.lock().end(index, ending) else {
        return;
    };
    ENDING.add(1);
    let (Some(sip), Some(channel)) = (call.sip, call.channel) else {
        return;
    };
    match call.speaks {
        Speaks::Calls(_) => give_up(channel, Side::Imp, sip),
        Speaks::Any(side) => talking::give_up(channel, side, sip),
    }
    if let Some(random) = call.random {
        give_up(random, Side::Exp, sip);
    }
    if let Some(directory) = call.directory {
        channel::close(directory, Side::Imp, sip);
    }
    if sip::end(sip, End::Stop(KILLED)) {
        conclude(index);
    }
}

/// Tells the host of a process that has become free since it was ended. False if there is none.
fn conclude_one() -> bool {
    if ENDING.load(Relaxed) == 0 {
        return false;
    }
    let gone = CALLS.lock().gone();
    gone.map(conclude).is_some()
}

/// Tells the host what has become of a process that is free, and forgets it.
fn conclude(index: u32) {
    let Some(call) = CALLS.lock().remove(index) else {
        return;
    };
    ENDING.sub(1);
    let (State::Ending(ending), Some(sip)) = (call.state, call.sip) else {
        return;
    };
    match ending {
        Ending::Quiet => {}
        Ending::Said(outcome, block) => answer(call.id, outcome, block),
        Ending::Limit(outcome) => say(call.id, outcome, format_args!("")),
        Ending::Closed => {
            let how = format_args!("it has closed its channel");
            say(call.id, without_answer(sip, Outcome::Ended), how);
        }
        Ending::Itself => tell_end(call.id, sip),
        Ending::Dropped => say(
            call.id,
            Outcome::Ended,
            format_args!("it was closed while it was asked"),
        ),
    }
    sip.release();
}

/// What became of a call whose process has ended without an answer: `otherwise`, if it was not
/// refused memory since it was asked.
fn without_answer(sip: &Sip, otherwise: Outcome) -> Outcome {
    match sip.account().was_refused() {
        true => Outcome::OutOfMemory,
        false => otherwise,
    }
}

/// Tells the host how a process has ended by itself.
fn tell_end(id: u64, sip: &'static Sip) {
    let (kind, code) = sip.exit_status().unwrap_or_default();
    let how = End::from_numbers(kind, code);
    let report = match how {
        End::Trap(_) => crash::report_of(sip.id()),
        _ => None,
    };
    let outcome = match how {
        End::Trap(_) => Outcome::Crashed,
        _ => Outcome::Ended,
    };
    let outcome = without_answer(sip, outcome);
    let told = || crash::line_of(format_args!("{how}{}", sip.crash.lock().words));
    let line = report.unwrap_or_else(told);
    say(id, outcome, format_args!("{}", line.as_str()));
}

/// Answers with the bytes of an allocation, which this frees.
fn answer(id: u64, outcome: Outcome, block: u32) {
    if let (Some(callers), Some(a)) = (hal().callers(), exheap::get(block)) {
        let len = a.len() as usize;
        if len > ANSWER {
            let text = format_args!("an answer of {len} bytes; {ANSWER} are the most");
            callers.say(id, Outcome::Refused, text);
        } else {
            let bytes = a.block.window();
            callers.answer(id, outcome, len, &mut |place| {
                // The place has as many bytes as the allocation.
                let _ = bytes.read(0, place);
            });
        }
    }
    exheap::free(block);
}
