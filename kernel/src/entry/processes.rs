//! Processes: children, arguments, start-up endpoints.

use super::sync::wait_alone;
use super::{bytes, caller, fill_table, finish, put};
use crate::handle::Object;
use crate::image::{self, Installed};
use crate::machine::log;
use crate::sip::{self, End, Making, Sip};
use crate::wait::Waitable;
use alloc::string::String;
use alloc::vec::Vec;
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The longest name of an image, in bytes.
const MAX_NAME: u32 = 256;
/// The most bytes of arguments.
const MAX_ARGUMENTS: u32 = 1 << 20;
/// The most start-up endpoints.
const MAX_ENDPOINTS: u32 = 1024;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        PROCESS_CREATE = create: fn(u32, u32, u32, u32, u32, u32) -> i32;
        PROCESS_START = start: fn(u32) -> i32;
        PROCESS_JOIN = join: fn(u32, i64) -> i32;
        PROCESS_STOP = stop: fn(u32, i32) -> i32;
        PROCESS_SUSPEND = suspend: fn(u32, u32) -> i32;
        PROCESS_RESUME = resume: fn(u32, u32) -> i32;
        PROCESS_ID = id: fn(u32) -> i32;
        PROCESS_EXIT_STATUS = exit_status: fn(u32, u32) -> i32;
        PROCESS_EXIT = exit: fn(i32);
        STARTUP_ARG_COUNT = arg_count: fn() -> i32;
        STARTUP_ARG = arg: fn(u32, u32, u32) -> i32;
        STARTUP_ENDPOINT = endpoint: fn(u32) -> i32;
        IMAGE_MANIFEST = manifest: fn(u32, u32, u32, u32) -> i32;
    }
}

extern "sysv64" fn create(
    _: CtxRef,
    image: u32,
    image_len: u32,
    args: u32,
    args_len: u32,
    endpoints: u32,
    count: u32,
) -> i32 {
    finish(make(image, image_len, args, args_len, endpoints, count))
}

/// The image of a name in the caller's memory, or a status.
fn installed(at: u32, len: u32) -> Result<Result<&'static Installed, i32>, Trap> {
    if len > MAX_NAME {
        return Ok(Err(status::NOT_FOUND));
    }
    let Ok(name) = String::from_utf8(bytes(at, len)?) else {
        return Ok(Err(status::NOT_FOUND));
    };
    Ok(match image::find(&name) {
        Ok(Some(image)) => Ok(image),
        Ok(None) => Err(status::NOT_FOUND),
        Err(e) => {
            log!("{e}");
            Err(status::BAD_STATE)
        }
    })
}

fn make(
    image: u32,
    image_len: u32,
    args: u32,
    args_len: u32,
    endpoints: u32,
    count: u32,
) -> Result<i32, Trap> {
    let image = match installed(image, image_len)? {
        Ok(i) => i,
        Err(status) => return Ok(status),
    };
    if args_len > MAX_ARGUMENTS || count > MAX_ENDPOINTS {
        return Ok(status::BAD_ARGUMENT);
    }
    let arguments = bytes(args, args_len)?;
    if !well_formed(&arguments) {
        return Ok(status::BAD_ARGUMENT);
    }
    let handles = bytes(endpoints, count * 4)?;
    let handles: Vec<u32> = handles
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let parent = caller();
    if let Some(status) = check_endpoints(parent, image, &handles)? {
        return Ok(status);
    }
    let endpoints = handles
        .iter()
        .map(|&h| match parent.object(h) {
            Object::Endpoint(channel, side, _) => Some((channel, side)),
            _ => None,
        })
        .collect();
    let child = match sip::create(Making {
        image,
        parent: Some(parent),
        arguments,
    }) {
        Ok(child) => child,
        Err(status) => return Ok(status),
    };
    // Nothing has moved so far. What an endpoint leaves when it moves (its handle, its set, those who wait there) would
    // not be put together again. The only thing that can still fail is a full table, but not where a handle leaves it.
    for &h in &handles {
        if let Object::Endpoint(channel, side, _) = parent.handles.lock().remove(h) {
            channel.release(side);
        }
    }
    let Some(handle) = parent.handles.lock().insert(Object::Process(child)) else {
        sip::end(child, End::Stop(0));
        return Ok(status::NO_RESOURCES);
    };
    child.give_startup(endpoints);
    child.retain();
    Ok(handle as i32)
}

fn well_formed(mut arguments: &[u8]) -> bool {
    while let Some((len, rest)) = arguments.split_first_chunk::<4>() {
        match rest.get(u32::from_le_bytes(*len) as usize..) {
            Some(rest) => arguments = rest,
            None => return false,
        }
    }
    arguments.is_empty()
}

/// Checks that endpoints are what the image's manifest asks for: a status where they are not, a trap where a
/// handle is none.
fn check_endpoints(parent: &Sip, image: &Installed, handles: &[u32]) -> Result<Option<i32>, Trap> {
    let declared = &image.manifest.endpoints;
    for (i, &h) in handles.iter().enumerate() {
        let Some(want) = declared
            .get(i)
            .or_else(|| declared.last().filter(|d| d.many))
        else {
            return Ok(Some(status::BAD_ARGUMENT));
        };
        if h == 0 {
            continue;
        }
        if handles[..i].contains(&h) {
            return Err(Trap::BadHandle);
        }
        let Object::Endpoint(channel, side, bits) = parent.object(h) else {
            return Err(Trap::BadHandle);
        };
        let inner = channel.lock();
        let Some(contract) = inner.contract else {
            return Err(Trap::BadHandle);
        };
        let end = &inner.ends[side.index()];
        let used = parent.image().uses_as_another(bits, contract);
        let stands = image.asked_state(want).is_some_and(|state| {
            let held = image.asked_for(end, &want.contract, side, Some(state), used);
            held.is_some()
        });
        if side != want.side || !stands {
            return Ok(Some(status::BAD_ARGUMENT));
        }
    }
    let missing = declared
        .iter()
        .enumerate()
        .any(|(i, d)| !d.optional && !d.many && handles.get(i).is_none_or(|&h| h == 0));
    Ok(missing.then_some(status::BAD_ARGUMENT))
}

/// Works with a child, which a handle names.
fn with_child(handle: u32, f: impl FnOnce(&'static Sip) -> i32) -> Result<i32, Trap> {
    match caller().object(handle) {
        Object::Process(p) => Ok(f(p)),
        _ => Err(Trap::BadHandle),
    }
}

fn ok_if(done: bool) -> i32 {
    if done { status::OK } else { status::BAD_STATE }
}

extern "sysv64" fn start(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| ok_if(p.start())))
}

extern "sysv64" fn join(_: CtxRef, process: u32, timeout: i64) -> i32 {
    finish(match caller().object(process) {
        Object::Process(p) => {
            let ready = || p.has_ended().then_some(0);
            wait_alone(process, Waitable::Sip(p), timeout, ready)
        }
        _ => Err(Trap::BadHandle),
    })
}

extern "sysv64" fn stop(_: CtxRef, process: u32, code: i32) -> i32 {
    finish(with_child(process, |p| {
        let alive = p.is_alive();
        if alive {
            sip::stop(p, code);
        }
        ok_if(alive)
    }))
}

/// A SIP and, where `recursive`, all that descend from it.
fn family(p: &'static Sip, recursive: bool) -> Vec<&'static Sip> {
    let mut all = alloc::vec![p];
    let mut i = 0;
    while recursive && i < all.len() {
        let parent = all[i];
        all.extend(sip::all().filter(|s| s.is_alive() && s.is_child_of(parent)));
        i += 1;
    }
    all
}

extern "sysv64" fn suspend(_: CtxRef, process: u32, recursive: u32) -> i32 {
    finish(with_child(process, |p| {
        let alive = p.is_alive();
        if alive {
            family(p, recursive != 0).into_iter().for_each(Sip::suspend);
        }
        ok_if(alive)
    }))
}

extern "sysv64" fn resume(_: CtxRef, process: u32, recursive: u32) -> i32 {
    finish(with_child(process, |p| {
        let mut done = p.is_alive();
        if done {
            for (i, s) in family(p, recursive != 0).into_iter().enumerate() {
                let resumed = s.resume();
                done &= resumed || i > 0;
            }
        }
        ok_if(done)
    }))
}

extern "sysv64" fn id(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| p.id() as i32))
}

extern "sysv64" fn exit_status(_: CtxRef, process: u32, out: u32) -> i32 {
    finish(exit_status_at(process, out))
}

fn exit_status_at(process: u32, out: u32) -> Result<i32, Trap> {
    let memory = caller().memory(out, 8)?;
    let Object::Process(p) = caller().object(process) else {
        return Err(Trap::BadHandle);
    };
    let Some((kind, code)) = p.exit_status() else {
        return Ok(status::BAD_STATE);
    };
    memory.write_u32(out, kind)?;
    memory.write_u32(out + 4, code as u32)?;
    Ok(status::OK)
}

extern "sysv64" fn exit(_: CtxRef, code: i32) {
    sip::exit_current(End::Exit(code))
}

/// Works with the caller's arguments, one by one.
fn each_argument<R>(arguments: &[u8], mut f: impl FnMut(usize, &[u8]) -> Option<R>) -> Option<R> {
    let mut rest = arguments;
    let mut i = 0;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (argument, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        if let Some(r) = f(i, argument) {
            return Some(r);
        }
        rest = tail;
        i += 1;
    }
    None
}

extern "sysv64" fn arg_count(_: CtxRef) -> i32 {
    finish(Ok(caller().with_arguments(|a| {
        let mut n = 0;
        each_argument::<()>(a, |_, _| {
            n += 1;
            None
        });
        n
    })))
}

extern "sysv64" fn arg(_: CtxRef, index: u32, out: u32, max: u32) -> i32 {
    let found = caller().with_arguments(|a| {
        each_argument(a, |i, bytes| (i == index as usize).then(|| bytes.to_vec()))
    });
    finish(match found {
        Some(bytes) => put(&bytes, out, max),
        None => Ok(status::NOT_FOUND),
    })
}

extern "sysv64" fn endpoint(_: CtxRef, index: u32) -> i32 {
    finish(Ok(caller().take_startup(index)))
}

extern "sysv64" fn manifest(_: CtxRef, image: u32, image_len: u32, out: u32, max: u32) -> i32 {
    finish(manifest_at(image, image_len, out, max))
}

fn manifest_at(image: u32, image_len: u32, out: u32, max: u32) -> Result<i32, Trap> {
    match installed(image, image_len)? {
        Ok(image) => {
            let encoded = postcard::to_allocvec(&image.manifest).unwrap_or_default();
            put(&encoded, out, max)
        }
        Err(status) => Ok(status),
    }
}
