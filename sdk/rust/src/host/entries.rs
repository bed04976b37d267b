//! The kernel's entries, for the things of [`super::world`]: under the names and with the meanings of
//! `sing_abi::entry`. Those of contracts are called by generated code.

use super::world::{End, Message, Thing, until, with};
use crate::rt::Side;
use sing_abi::{NO_TAGS, status};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::vec::Vec;

/// Makes a channel of a contract with these bases.
///
/// # Safety
/// There is room for two handles.
#[doc(hidden)]
pub unsafe fn new_channel(
    contract: &'static str,
    bases: &'static [&'static str],
    handles: *mut u32,
) -> i32 {
    let end = |importing| {
        Thing::End(End {
            contract,
            bases,
            importing,
            peer: None,
            queue: VecDeque::new(),
        })
    };
    let (imp, exp) = with(|world| {
        let (imp, exp) = (world.add(end(true)), world.add(end(false)));
        world.end(imp).peer = Some(exp);
        world.end(exp).peer = Some(imp);
        (imp, exp)
    });
    // SAFETY: promised by the caller.
    unsafe {
        handles.write(imp);
        handles.add(1).write(exp);
    }
    status::OK
}

/// Sends words, of which some are handles, which go with them.
#[doc(hidden)]
pub fn send(endpoint: u32, number: i32, words: &[u64], owned: &'static [usize]) -> i32 {
    with(|world| match world.end(endpoint).peer {
        Some(peer) => {
            world.end(peer).queue.push_back(Message {
                number,
                words: words.to_vec(),
                owned,
            });
            status::OK
        }
        None => status::CLOSED,
    })
}

/// The next message; none if the channel is closed.
pub(super) fn next(endpoint: u32) -> Option<Message> {
    let contract = with(|world| world.end(endpoint).contract);
    let what = std::format!("a receive waits for a message of {contract}");
    let message = until(-1, &what, |world| {
        world.peek(endpoint)?;
        Some(world.end(endpoint).queue.pop_front())
    });
    message.flatten()
}

/// Receives a message.
///
/// # Safety
/// There is room for the words of every message that can come.
#[doc(hidden)]
pub unsafe fn recv(endpoint: u32, out: *mut u64) -> i32 {
    let Some(message) = next(endpoint) else {
        return status::CLOSED;
    };
    // SAFETY: promised by the caller.
    unsafe { out.copy_from_nonoverlapping(message.words.as_ptr(), message.words.len()) };
    message.number
}

/// Sends, and receives what comes next. Where that does not go, the words are given up.
///
/// # Safety
/// As for [`recv`].
#[doc(hidden)]
pub unsafe fn call(
    endpoint: u32,
    number: i32,
    words: &[u64],
    owned: &'static [usize],
    out: *mut u64,
) -> i32 {
    if send(endpoint, number, words, owned) < 0 {
        for at in owned {
            handle_dispose(words[*at] as u32);
        }
        return status::CLOSED;
    }
    // SAFETY: promised by the caller.
    unsafe { recv(endpoint, out) }
}

/// Whether an endpoint is of this side and contract, a base of its own or one that narrows some. Its
/// state is not known here.
#[doc(hidden)]
pub fn cast(endpoint: u32, contract: &str, narrowed: &[&str], side: Side) -> i32 {
    let fits = with(|world| {
        let end = world.end(endpoint);
        let is = |name: &str| end.contract == name || end.bases.contains(&name);
        let one = is(contract) || narrowed.iter().any(|name| is(name));
        one && end.importing == (side == Side::Imp)
    });
    if fits { status::OK } else { status::BAD_STATE }
}

pub(crate) fn handle_dispose(handle: u32) -> i32 {
    super::mock::note_panic();
    with(|world| world.dispose(handle));
    status::OK
}

pub(crate) fn endpoint_peek(endpoint: u32) -> i32 {
    with(|world| world.peek(endpoint)).unwrap_or(status::WOULD_BLOCK)
}

fn new(thing: Thing) -> i32 {
    with(|world| world.add(thing)).cast_signed()
}

pub(crate) fn set_create() -> i32 {
    new(Thing::Set(VecDeque::new()))
}

pub(crate) fn set_add(set: u32, endpoint: u32, key: u32) -> i32 {
    with(|world| {
        let member = |thing: &Thing| match thing {
            Thing::Set(members) => members.iter().any(|(member, _)| *member == endpoint),
            _ => false,
        };
        if world.things.values().any(member) {
            return status::BAD_STATE;
        }
        match world.things.get_mut(&set) {
            Some(Thing::Set(members)) => members.push_back((endpoint, key)),
            _ => return status::BAD_ARGUMENT,
        }
        status::OK
    })
}

pub(crate) fn set_remove(set: u32, endpoint: u32) -> i32 {
    with(|world| match world.things.get_mut(&set) {
        Some(Thing::Set(members)) => {
            let before = members.len();
            members.retain(|(member, _)| *member != endpoint);
            if members.len() < before {
                status::OK
            } else {
                status::NOT_FOUND
            }
        }
        _ => status::BAD_ARGUMENT,
    })
}

pub(crate) fn set_wait(set: u32, timeout: i64) -> i32 {
    let key = until(timeout, "a set waits for an endpoint", |world| {
        world.member(set)
    });
    key.map_or(status::TIMEOUT, u32::cast_signed)
}

/// # Safety
/// `handles` and `tags` are so long; there may be no tags.
pub(crate) unsafe fn select(
    handles: *const u32,
    tags: *mut i32,
    count: usize,
    timeout: i64,
) -> i32 {
    // SAFETY: promised by the caller.
    let handles = unsafe { std::slice::from_raw_parts(handles, count) };
    let tagged = tags.addr() != NO_TAGS as usize;
    let mut open: Vec<usize> = (0..count).filter(|i| handles[*i] != 0).collect();
    // SAFETY: promised by the caller.
    open.retain(|i| !tagged || unsafe { *tags.add(*i) } == status::WOULD_BLOCK);
    if open.is_empty() {
        return status::BAD_ARGUMENT;
    }
    let come = until(timeout, "a switch waits for a message", |world| {
        let mut all = open
            .iter()
            .filter_map(|i| Some((*i, world.come(handles[*i])?)));
        let found: Vec<(usize, i32)> = if tagged {
            all.collect()
        } else {
            all.next().into_iter().collect()
        };
        (!found.is_empty()).then_some(found)
    });
    let Some(come) = come else {
        return status::TIMEOUT;
    };
    if tagged {
        for (place, tag) in &come {
            // SAFETY: the place is below the count.
            unsafe { tags.add(*place).write(*tag) };
        }
    }
    come.first()
        .map_or(status::TIMEOUT, |(place, _)| *place as i32)
}

pub(crate) fn wait_one(handle: u32, timeout: i64) -> i32 {
    let come = until(timeout, "a thread waits for an event", |world| {
        world.come(handle)
    });
    come.map_or(status::TIMEOUT, |_| status::OK)
}

pub(crate) fn auto_event_create(initial: u32) -> i32 {
    let set = initial != 0;
    new(Thing::Event { set, auto: true })
}

pub(crate) fn manual_event_create(initial: u32) -> i32 {
    let set = initial != 0;
    new(Thing::Event { set, auto: false })
}

fn event_becomes(event: u32, now: bool) -> i32 {
    with(|world| match world.things.get_mut(&event) {
        Some(Thing::Event { set, .. }) => {
            *set = now;
            status::OK
        }
        _ => status::BAD_ARGUMENT,
    })
}

pub(crate) fn event_set(event: u32) -> i32 {
    event_becomes(event, true)
}

pub(crate) fn event_reset(event: u32) -> i32 {
    event_becomes(event, false)
}

/// The most bytes of a block.
const MOST: u32 = 1 << 30;

pub(crate) fn xh_alloc(size: u32, ty: u32) -> i32 {
    if size == 0 || size > MOST {
        return status::BAD_ARGUMENT;
    }
    let bytes = std::vec![0; size as usize];
    new(Thing::Block { bytes, ty })
}

pub(crate) fn xh_free(block: u32) -> i32 {
    handle_dispose(block)
}

pub(crate) fn xh_size(block: u32) -> u32 {
    with(|world| world.block(block).len() as u32)
}

pub(crate) fn xh_type(block: u32) -> i32 {
    with(|world| match world.things.get(&block) {
        Some(Thing::Block { ty, .. }) => ty.cast_signed(),
        _ => status::BAD_ARGUMENT,
    })
}

/// Works with a part of a block. Outside of it, the test ends.
fn part<T>(block: u32, offset: u32, len: usize, work: impl FnOnce(&mut [u8]) -> T) -> T {
    with(|world| {
        let bytes = world.block(block);
        let size = bytes.len();
        let end = (offset as usize).saturating_add(len);
        match bytes.get_mut(offset as usize..end) {
            Some(part) => work(part),
            None => panic!("{len} bytes at {offset} are not inside a block of {size}"),
        }
    })
}

/// # Safety
/// There is room for so many bytes.
pub(crate) unsafe fn xh_read(block: u32, offset: u32, out: *mut u8, len: usize) {
    part(block, offset, len, |part| {
        // SAFETY: promised by the caller; the part has as many.
        unsafe { out.copy_from_nonoverlapping(part.as_ptr(), len) };
    });
}

/// # Safety
/// There are so many bytes.
pub(crate) unsafe fn xh_write(block: u32, offset: u32, source: *const u8, len: usize) {
    part(block, offset, len, |part| {
        // SAFETY: promised by the caller; the part has room for as many.
        unsafe { part.as_mut_ptr().copy_from_nonoverlapping(source, len) };
    });
}

macro_rules! accesses {
    ($($load:ident $store:ident $t:ty, $in:ty;)*) => {$(
        pub(crate) fn $load(block: u32, offset: u32) -> $t {
            let mut bytes = [0; size_of::<$in>()];
            part(block, offset, bytes.len(), |part| bytes.copy_from_slice(part));
            <$in>::from_le_bytes(bytes).into()
        }

        pub(crate) fn $store(block: u32, offset: u32, value: $t) {
            // As many bytes as the store is wide; the rest of the word is not stored.
            let bytes = (value as $in).to_le_bytes();
            part(block, offset, bytes.len(), |part| part.copy_from_slice(&bytes));
        }
    )*};
}
accesses! {
    xh_load8 xh_store8 u32, u8;
    xh_load16 xh_store16 u32, u16;
    xh_load32 xh_store32 u32, u32;
    xh_load64 xh_store64 u64, u64;
}

/// Nanoseconds of a span, as an entry says them.
fn nanos(time: Duration) -> i64 {
    time.as_nanos().try_into().unwrap_or(i64::MAX)
}

pub(crate) fn uptime() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    nanos(START.get_or_init(Instant::now).elapsed())
}

pub(crate) fn utc() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    nanos(since.unwrap_or_default())
}

pub(crate) fn sleep(duration: i64) -> i32 {
    std::thread::sleep(Duration::from_nanos(duration.max(0).cast_unsigned()));
    status::OK
}

pub(crate) fn yield_now() {
    std::thread::yield_now();
}

pub(crate) fn thread_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    std::thread_local! {
        static OWN: Cell<u32> = Cell::new(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    OWN.with(Cell::get)
}

/// # Safety
/// There are so many bytes.
pub(crate) unsafe fn debug_print(text: *const u8, len: usize) -> i32 {
    // SAFETY: promised by the caller.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    // The log may have no reader.
    let _ = std::io::stderr().write_all(text);
    let _ = std::io::stderr().write_all(b"\n");
    status::OK
}
