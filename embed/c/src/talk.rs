//! Conversations of a C program with a process, by a contract that is read when the program runs.
//!
//! C has no types of a contract's states, so the kernel alone says what may be sent: it steps the contract at each
//! message, and refuses one that is out of turn or breaks a condition. What it cannot judge, C cannot either:
//! a contract with such a condition on a message of the host's is refused by `sing_connect`.
//!
//! Invariants:
//! - A conversation, and a message that was received, have a share of their system and of their contract, so that none
//!   outlives what it needs, whichever of them C gives back first.
//! - The name and the blocks of a message stay where they are until C releases it.
//! - A conversation has one operation at a time: another one meanwhile is refused, whatever thread begins it.
//! - The text of a contract is read for the first conversation by it, and kept as long as the system.

use crate::{
    BAD_CALL, CBytes, CLimits, CSystem, IN_USE, NULL, OK, alone, bytes, give, status, text,
    with_limits,
};
use sing_contract::conditions::judged;
use sing_contract::model::{Direction, Side};
use sing_embed::rt::{Any, Asking, Held, Incoming, Link, MESSAGE, Outgoing};
use sing_embed::{Error, MOST_ANSWER, System};
use sing_image::contract::{Word, identities};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// `SING_BROKEN`.
pub(crate) const BROKEN: c_int = 10;
/// `SING_EXP`; `SING_IMP` is 0.
const EXP: c_int = 1;

// C's threads share them, and the compiler does not see that.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Contract>();
    is_shared::<CPeer>();
    is_shared::<Received>();
};

/// `sing_channel`.
#[repr(C)]
pub struct CChannel {
    endpoint: *const c_char,
    file: *const c_char,
    contract: *const c_char,
    state: *const c_char,
    side: c_int,
}

/// `sing_word`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CWord {
    number: u64,
    block: *const c_void,
}

/// `sing_message`.
#[repr(C)]
pub struct CMessage {
    name: *const c_char,
    count: usize,
    words: [CWord; MESSAGE],
    held: *mut c_void,
}

impl CMessage {
    /// No message: nothing to release.
    const NONE: CMessage = CMessage {
        name: ptr::null(),
        count: 0,
        words: [CWord {
            number: 0,
            block: ptr::null(),
        }; MESSAGE],
        held: ptr::null_mut(),
    };
}

// The header's SING_WORDS.
const _: () = assert!(MESSAGE == 12);

/// A contract that a C program speaks, on the side for which it was judged.
pub struct Contract {
    file: CString,
    side: Side,
    name: String,
    identity: [u8; 32],
    first: String,
    messages: Vec<(CString, Vec<Word>)>,
}

/// `sing_peer`.
pub struct CPeer {
    /// An operation has it to itself. Dropped first, as it stands first: it refers to the system.
    link: Mutex<Link<'static>>,
    /// The deadline of each receive for which C says none.
    deadline: Duration,
    contract: Arc<Contract>,
    system: Arc<System>,
}

/// A message that was received keeps these.
struct Received {
    /// Dropped first, as they stand first: they refer to the system.
    _blocks: Vec<Held<'static>>,
    _contract: Arc<Contract>,
    _system: Arc<System>,
}

/// The contracts that C programs have spoken in a system.
#[derive(Default)]
pub struct Contracts(Mutex<Vec<Arc<Contract>>>);

impl Contracts {
    /// The contract of this name for a host that has this side: one that is kept, or read now.
    fn find(&self, file: &CStr, name: &str, side: Side) -> Result<Arc<Contract>, String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |one: &&Arc<Contract>| one.is(file, name, side);
        if let Some(known) = kept.iter().find(is) {
            return Ok(Arc::clone(known));
        }
        drop(kept);
        Contract::read(file, name, side).map(Arc::new)
    }

    /// Keeps a contract by which a process was spoken with: its text is the program's own.
    fn keep(&self, contract: &Arc<Contract>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !(kept.iter()).any(|one| one.is(&contract.file, &contract.name, contract.side)) {
            kept.push(Arc::clone(contract));
        }
    }
}

impl Contract {
    fn is(&self, file: &CStr, name: &str, side: Side) -> bool {
        self.file.as_c_str() == file && self.name == name && self.side == side
    }

    /// Reads a contract of this name for a host that has this side.
    fn read(file: &CStr, name: &str, side: Side) -> Result<Contract, String> {
        let path = OsStr::from_bytes(file.to_bytes()).as_ref();
        let all = sing_contract::load_file(path).map_err(|found| {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            found.join("\n")
        })?;
        let tables = all.tables();
        let identities = identities(&tables).map_err(|error| error.to_string())?;
        let found = tables.iter().zip(identities).zip(&all.model.contracts);
        let found = found.into_iter().find(|((table, _), _)| table.name == name);
        let Some(((table, identity), model)) = found else {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            return Err(format!(
                "{}: there is no contract {name}; there are: {}",
                file.to_string_lossy(),
                names.join(", ")
            ));
        };
        for message in &model.messages {
            let comes = match side {
                Side::Imp => message.direction == Direction::Out,
                Side::Exp => message.direction == Direction::In,
            };
            let judged = judged(message, &all.model);
            let open = judged.requires.iter().position(|is_judged| !is_judged);
            let what = match open.and_then(|at| message.requires.get(at)) {
                Some(condition) => &condition.text,
                None if judged.types => continue,
                None => "values of an enum that has too many",
            };
            if !comes {
                return Err(format!(
                    "{name}.{} requires {what}, which the kernel does not judge: a program in C cannot speak it",
                    message.name
                ));
            }
        }
        let messages = table.messages.iter().map(|message| {
            // Names of the language have no zeros.
            let name = CString::new(message.name.as_str()).unwrap_or_default();
            (name, message.words.clone())
        });
        Ok(Contract {
            file: file.to_owned(),
            side,
            name: name.to_owned(),
            identity,
            first: table.states.first().cloned().unwrap_or_default(),
            messages: messages.collect(),
        })
    }

    /// A message of so many words of C's, which is to be sent there.
    ///
    /// # Errors
    /// Why it is none.
    ///
    /// # Safety
    /// The words and blocks are there, and stay as they are meanwhile, or `words` is null.
    unsafe fn message(
        &self,
        link: &Link<'_>,
        name: &str,
        words: *const CWord,
        count: usize,
    ) -> Result<Outgoing, (c_int, String)> {
        let broken = |why: &str| said(link.broken(&format!("{}.{name}: {why}", self.name)));
        let mut known = self.messages.iter().zip(0..);
        let found = known.find(|((known, _), _)| known.to_bytes() == name.as_bytes());
        let Some(((_, kinds), index)) = found else {
            return Err(broken("the contract has no such message"));
        };
        if kinds.len() != count {
            return Err(broken(&format!(
                "it has {} words, and not {count}",
                kinds.len()
            )));
        }
        let words = match (words.is_null(), count) {
            (true, 0) => &[][..],
            (true, _) => return Err((BAD_CALL, NULL.into())),
            // SAFETY: the caller's: there are as many as the message has.
            (false, count) => unsafe { std::slice::from_raw_parts(words, count) },
        };
        let mut message = Outgoing::new(index);
        for ((kind, word), number) in kinds.iter().zip(words).zip(1..) {
            match (kind.is_block(), word.block.is_null()) {
                (false, true) => message.word(word.number),
                (true, true) if kind.is_optional() && word.number == 0 => message.word(0),
                (true, false) => {
                    let len = usize::try_from(word.number).unwrap_or(usize::MAX);
                    if len > MOST_ANSWER {
                        return Err(said(Error::TooLong {
                            what: format!("word {number} of {}.{name}", self.name),
                            bytes: len,
                            most: MOST_ANSWER,
                        }));
                    }
                    // SAFETY: the caller's.
                    let all = unsafe { bytes(word.block.cast(), len) };
                    message.bytes(all.unwrap_or_default());
                }
                (is_block, _) => {
                    let what = if is_block { "a block" } else { "a number" };
                    return Err(broken(&format!("word {number} is {what}")));
                }
            }
        }
        Ok(message)
    }
}

impl CPeer {
    /// The link, for one operation.
    ///
    /// # Errors
    /// That another one is under way.
    fn link(&self) -> Result<MutexGuard<'_, Link<'static>>, (c_int, String)> {
        alone(&self.link).ok_or((BAD_CALL, IN_USE.into()))
    }

    /// How long a receive may take, for which C has said this.
    fn time(&self, nanoseconds: u64) -> Duration {
        match nanoseconds {
            0 => self.deadline,
            nanoseconds => Duration::from_nanos(nanoseconds),
        }
    }

    /// Gives C a message, or says why there is none.
    fn received(
        &self,
        link: &Link<'static>,
        come: Result<Incoming<'static>, Error>,
    ) -> Result<CMessage, (c_int, String)> {
        let mut come = come.map_err(said)?;
        let known = self.contract.messages.get(come.index as usize);
        let (name, _) = known.ok_or_else(|| said(link.misspoken(&self.contract.name)))?;
        let mut message = CMessage::NONE;
        let mut blocks = Vec::new();
        while let (Some(word), Some(place)) =
            (come.words.any(), message.words.get_mut(message.count))
        {
            message.count += 1;
            match word {
                Any::Number(number) => place.number = number,
                Any::Block(None) => {}
                Any::Block(Some(block)) => {
                    place.number = block.len() as u64;
                    place.block = block.as_ptr().cast();
                    blocks.push(block);
                }
            }
        }
        message.name = name.as_ptr();
        let received = Box::new(Received {
            _blocks: blocks,
            _contract: Arc::clone(&self.contract),
            _system: Arc::clone(&self.system),
        });
        message.held = Box::into_raw(received).cast();
        Ok(message)
    }
}

fn said(error: Error) -> (c_int, String) {
    (status(&error), error.to_string())
}

/// Gives C the result of an operation.
///
/// # Safety
/// As [`give`], and `to` is null or C has a place there.
unsafe fn done(
    result: Result<Option<CMessage>, (c_int, String)>,
    to: *mut CMessage,
    error: *mut CBytes,
) -> c_int {
    let (status, mut message) = match result {
        Ok(None) => return OK,
        Ok(Some(message)) => (OK, message),
        Err((status, why)) => {
            // SAFETY: the caller's.
            unsafe { give(why.into_bytes(), error) };
            // So C may release the message without a look at the status.
            (status, CMessage::NONE)
        }
    };
    match to.is_null() {
        // SAFETY: the message was made just now.
        true => unsafe { sing_release(&raw mut message) },
        // SAFETY: the caller's.
        false => unsafe { to.write(message) },
    }
    status
}

/// `sing_connect`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_connect(
    system: *mut CSystem,
    program: *const c_char,
    limits: *const CLimits,
    channel: *const CChannel,
    error: *mut CBytes,
) -> *mut CPeer {
    // SAFETY: the header's, which says the same of this.
    match unsafe { connect(system, program, limits, channel) } {
        Ok(peer) => Box::into_raw(Box::new(peer)),
        Err(why) => {
            // SAFETY: the header's.
            unsafe { give(why.into_bytes(), error) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As of [`sing_connect`].
unsafe fn connect(
    system: *mut CSystem,
    program: *const c_char,
    limits: *const CLimits,
    channel: *const CChannel,
) -> Result<CPeer, String> {
    // SAFETY: the header's: they are null, or valid during the call.
    let given = unsafe { (system.as_ref(), text(program), channel.as_ref()) };
    let (Some(system), Some(name), Some(channel)) = given else {
        return Err(NULL.into());
    };
    // SAFETY: the header's.
    let words = unsafe {
        (
            text(channel.endpoint),
            text(channel.file),
            text(channel.contract),
        )
    };
    let (Some(endpoint), Some(file), Some(contract)) = words else {
        return Err(NULL.into());
    };
    let side = match channel.side {
        EXP => Side::Exp,
        _ => Side::Imp,
    };
    let contracts = &system.1;
    let contract = contracts.find(file, &contract.to_string_lossy(), side)?;
    // SAFETY: the header's.
    let state = unsafe { text(channel.state) };
    let state = state.map_or(contract.first.as_str().into(), CStr::to_string_lossy);
    let shared = Arc::clone(&system.0);
    // SAFETY: the system is behind an `Arc`, so it stays where it is, and a `CPeer` has a share of it until its
    // link is dropped.
    let system: &'static System = unsafe { &*Arc::as_ptr(&shared) };
    // SAFETY: the header's.
    let program = unsafe { with_limits(system.program(&name.to_string_lossy()), limits) };
    // SAFETY: the header's.
    let deadline = unsafe { limits.as_ref() }.map_or(0, CLimits::deadline);
    let endpoint = endpoint.to_string_lossy();
    let wanted = Asking {
        name: &endpoint,
        contract: &contract.name,
        identity: &contract.identity,
        state: &state,
        exports: side == Side::Imp,
    };
    let link = program.link(wanted, contract.name.clone().into());
    let link = link.map_err(|error| error.to_string())?;
    contracts.keep(&contract);
    Ok(CPeer {
        link: Mutex::new(link),
        deadline: match deadline {
            0 => Duration::MAX,
            deadline => Duration::from_nanos(deadline),
        },
        contract,
        system: shared,
    })
}

/// A message of C's.
///
/// # Safety
/// The pointers are as the header says.
unsafe fn outgoing(
    peer: &CPeer,
    link: &Link<'_>,
    message: *const c_char,
    words: *const CWord,
    count: usize,
) -> Result<Outgoing, (c_int, String)> {
    // SAFETY: the header's.
    let name = unsafe { text(message) }.ok_or((BAD_CALL, NULL.into()))?;
    // SAFETY: the header's.
    unsafe {
        peer.contract
            .message(link, &name.to_string_lossy(), words, count)
    }
}

/// `sing_send`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_send(
    peer: *mut CPeer,
    message: *const c_char,
    words: *const CWord,
    count: usize,
    error: *mut CBytes,
) -> c_int {
    // SAFETY: the header's.
    let result = match unsafe { peer.as_ref() } {
        None => Err((BAD_CALL, NULL.into())),
        Some(peer) => peer.link().and_then(|link| {
            // SAFETY: the header's.
            let message = unsafe { outgoing(peer, &link, message, words, count) };
            link.send(message?).map_err(said)
        }),
    };
    // SAFETY: the header's.
    unsafe { done(result.map(|()| None), std::ptr::null_mut(), error) }
}

/// `sing_receive`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_receive(
    peer: *mut CPeer,
    deadline: u64,
    to: *mut CMessage,
    error: *mut CBytes,
) -> c_int {
    // SAFETY: the header's.
    let result = match unsafe { peer.as_ref() } {
        None => Err((BAD_CALL, NULL.into())),
        Some(peer) => peer.link().and_then(|mut link| {
            link.within(peer.time(deadline));
            peer.received(&link, link.receive())
        }),
    };
    // SAFETY: the header's.
    unsafe { done(result.map(Some), to, error) }
}

/// `sing_exchange`.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_exchange(
    peer: *mut CPeer,
    message: *const c_char,
    words: *const CWord,
    count: usize,
    deadline: u64,
    to: *mut CMessage,
    error: *mut CBytes,
) -> c_int {
    // SAFETY: the header's.
    let result = match unsafe { peer.as_ref() } {
        None => Err((BAD_CALL, NULL.into())),
        Some(peer) => peer.link().and_then(|mut link| {
            link.within(peer.time(deadline));
            // SAFETY: the header's.
            let message = unsafe { outgoing(peer, &link, message, words, count) };
            peer.received(&link, link.exchange(message?))
        }),
    };
    // SAFETY: the header's.
    unsafe { done(result.map(Some), to, error) }
}

/// `sing_release`.
///
/// # Safety
/// The pointer is null, or what is there was given by a function of these, or released by this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_release(message: *mut CMessage) {
    // SAFETY: the header's.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return;
    };
    let held = std::mem::replace(&mut message.held, std::ptr::null_mut());
    message.name = std::ptr::null();
    message.count = 0;
    for word in &mut message.words {
        word.block = std::ptr::null();
    }
    if !held.is_null() {
        // SAFETY: made by `Box::into_raw` in `received`.
        drop(unsafe { Box::from_raw(held.cast::<Received>()) });
    }
}

/// `sing_hang_up`.
///
/// # Safety
/// The pointer is null, or from `sing_connect` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sing_hang_up(peer: *mut CPeer) {
    if !peer.is_null() {
        // SAFETY: made by `Box::into_raw` in `sing_connect`; the rest is the caller's.
        drop(unsafe { Box::from_raw(peer) });
    }
}
