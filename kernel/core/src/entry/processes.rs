//! Entries for processes: children, arguments, start-up endpoints.

use super::reply::{answer, put, put_encoded, room_for};
use super::sync::wait_alone;
use super::{Entries, caller, fill_table, finish};
use crate::ground::image::{self, Found, Installed};
use crate::ground::log;
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::object::handle::Object;
use crate::object::sip::{self, End, Making, Sip};
use crate::object::thread::building;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_abi::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use sing_image::limits;
use sing_runtime::CtxRef;

/// The longest name of an image, in bytes.
const MAX_NAME: usize = limits::NAME_BYTES.most as usize;
/// The most start-up endpoints.
const MAX_ENDPOINTS: u32 = limits::STARTUP_ENDPOINTS.most as u32;
/// The most start-up endpoints of common images.
const FEW: u32 = 16;
/// The longest name of common images.
const SHORT: u32 = 32;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        PROCESS_CREATE = create: fn(u32, u32, u32, u32, u32, u32) -> i32;
        PROCESS_START = start: fn(u32) -> i32;
        PROCESS_JOIN = join: fn(u32, i64) -> i32;
        PROCESS_STOP = stop: fn(u32, i32) -> i32;
        PROCESS_DETACH = detach: fn(u32) -> i32;
        PROCESS_SUSPEND = suspend: fn(u32, u32) -> i32;
        PROCESS_RESUME = resume: fn(u32, u32) -> i32;
        PROCESS_ID = id: fn(u32) -> i32;
        PROCESS_EXIT_STATUS = exit_status: fn(u32, u32) -> i32;
        PROCESS_EXIT = exit: fn(i32);
        STARTUP_ARG_COUNT = arg_count: fn() -> i32;
        STARTUP_ARG = arg: fn(u32, u32, u32) -> i32;
        STARTUP_ENDPOINT = endpoint: fn(u32) -> i32;
        STARTUP_PROCESS = ward: fn(u32) -> i32;
        PROCESS_SUPERVISE = supervise: fn(u32) -> i32;
        PROCESS_RENEW = renew: fn(u32) -> i32;
        STARTUP_KEPT = kept: fn(u32) -> i32;
        IMAGE_MANIFEST = manifest: fn(u32, u32, u32, u32) -> i32;
    }
}

extern "C" fn create(
    _: CtxRef,
    image: u32,
    image_len: u32,
    args: u32,
    args_len: u32,
    endpoints: u32,
    count: u32,
) -> i32 {
    // Clearing room for the most endpoints would be a tenth of the cost of making a process.
    let made = if count <= FEW {
        make::<{ FEW as usize }>(image, image_len, args, args_len, endpoints, count)
    } else if count <= MAX_ENDPOINTS {
        make::<{ MAX_ENDPOINTS as usize }>(image, image_len, args, args_len, endpoints, count)
    } else {
        installed(image, image_len).map(|found| found.err().unwrap_or(status::BAD_ARGUMENT))
    };
    building::clear();
    finish(made)
}

/// Returns the image of a name in the caller's memory, or a status. Other threads may run while it
/// is loaded.
fn installed(at: u32, len: u32) -> Result<Result<&'static Installed, i32>, Trap> {
    if len <= SHORT {
        installed_as(at, &mut [0; SHORT as usize][..len as usize])
    } else if len as usize <= MAX_NAME {
        installed_as(at, &mut [0; MAX_NAME][..len as usize])
    } else {
        Ok(Err(status::NOT_FOUND))
    }
}

fn installed_as(at: u32, name: &mut [u8]) -> Result<Result<&'static Installed, i32>, Trap> {
    caller().memory(at, name.len() as u64)?.read(at, name)?;
    if let Some(image) = image::latest(name) {
        return Ok(Ok(image));
    }
    let Ok(name) = core::str::from_utf8(name) else {
        return Ok(Err(status::NOT_FOUND));
    };
    loop {
        return Ok(match image::look(name) {
            Ok(Found::Image(image)) => Ok(image),
            Ok(Found::None) => Err(status::NOT_FOUND),
            Ok(Found::NotYet) => {
                let_others_run();
                continue;
            }
            Err(e) => Err(unavailable(name, &e)),
        });
    }
}

#[inline(never)]
fn make<const MOST: usize>(
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
    if args_len > MAX_ARGUMENT_BYTES {
        return Ok(status::BAD_ARGUMENT);
    }
    if let Err(status) = building::build(image.stack) {
        return Ok(status);
    }
    let parent = caller();
    let mut handles = [0; MOST];
    let handles = &mut handles[..count as usize];
    let memory = parent.memory(endpoints, u64::from(count) * 4)?;
    for (handle, i) in handles.iter_mut().zip(0..) {
        *handle = memory.read_u32(endpoints + i * 4)?;
    }
    let memory = parent.memory(args, u64::from(args_len))?;
    let arguments = |place: &mut [u8]| match memory.read(args, place) {
        Ok(()) if well_formed(place) => Ok(()),
        _ => Err(status::BAD_ARGUMENT),
    };
    if let Some(status) = check_endpoints(parent, image, handles)? {
        return Ok(status);
    }
    building::hand_over();
    let child = match sip::create(&Making {
        image,
        parent: Some(parent),
        arguments: (args_len as usize, &arguments),
        endpoints: handles.len(),
    }) {
        Ok(child) => child,
        Err(status) => return Ok(status),
    };
    // Nothing has moved so far. Moving an endpoint cannot be undone: it loses its handle, its set,
    // and its waiters. So the only step that can still fail comes first: a place for the child's
    // handle, if the table is full and no endpoint frees one.
    let early = parent.insert(Object::Process(child));
    if early.is_none() && handles.iter().all(|&h| h == 0) {
        sip::discard(child);
        return Ok(status::NO_RESOURCES);
    }
    child.give_startup(handles.iter().map(|&h| {
        let Object::Endpoint(channel, side, _) = parent.handles.lock().remove(h) else {
            return None;
        };
        channel.release(side);
        Some((channel, side))
    }));
    let Some(handle) = early.or_else(|| parent.insert(Object::Process(child))) else {
        sip::discard(child);
        return Ok(status::NO_RESOURCES);
    };
    child.retain();
    Ok(handle as i32)
}

/// Whether these are arguments, and not more than a process may have: they are looked up one behind
/// the other.
fn well_formed(mut arguments: &[u8]) -> bool {
    for _ in 0..MAX_ARGUMENTS {
        let Some((len, rest)) = arguments.split_first_chunk::<4>() else {
            break;
        };
        match rest.get(u32::from_le_bytes(*len) as usize..) {
            Some(rest) => arguments = rest,
            None => return false,
        }
    }
    arguments.is_empty()
}

/// Checks that endpoints fit the image's manifest: a status if they do not, a trap for an invalid
/// handle.
fn check_endpoints(parent: &Sip, image: &Installed, handles: &[u32]) -> Result<Option<i32>, Trap> {
    let declared = &image.manifest.endpoints;
    for (i, &h) in handles.iter().enumerate() {
        // Any number may follow the last one, if it says so.
        let place = i.min(declared.len().saturating_sub(1));
        let want = declared.get(place).filter(|d| place == i || d.many);
        let Some(want) = want else {
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
        if side != want.side || !image.can_start_with(end, place, side, used) {
            return Ok(Some(status::BAD_ARGUMENT));
        }
    }
    let missing = declared
        .iter()
        .enumerate()
        .any(|(i, d)| !d.optional && !d.many && handles.get(i).is_none_or(|&h| h == 0));
    Ok(missing.then_some(status::BAD_ARGUMENT))
}

/// Calls `f` with the child that a handle names.
fn with_child(handle: u32, f: impl FnOnce(&'static Sip) -> i32) -> Result<i32, Trap> {
    match caller().object(handle) {
        Object::Process(p) => Ok(f(p)),
        _ => Err(Trap::BadHandle),
    }
}

fn ok_if(done: bool) -> i32 {
    if done { status::OK } else { status::BAD_STATE }
}

extern "C" fn start(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| ok_if(p.start())))
}

extern "C" fn join(_: CtxRef, process: u32, timeout: i64) -> i32 {
    finish(match caller().object(process) {
        Object::Process(p) => {
            let ready = || p.has_ended().then_some(0);
            wait_alone(process, p, timeout, ready)
        }
        _ => Err(Trap::BadHandle),
    })
}

extern "C" fn stop(_: CtxRef, process: u32, code: i32) -> i32 {
    finish(with_child(process, |p| {
        let alive = p.is_alive();
        if alive {
            sip::stop(p, code);
        }
        ok_if(alive)
    }))
}

extern "C" fn detach(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| {
        let alive = p.is_alive();
        p.detach();
        ok_if(alive)
    }))
}

extern "C" fn suspend(_: CtxRef, process: u32, recursive: u32) -> i32 {
    finish(with_child(process, |p| {
        if !p.is_alive() {
            return status::BAD_STATE;
        }
        match recursive {
            0 => ok_if(p.suspend()),
            _ => {
                sip::suspend_all(p);
                status::OK
            }
        }
    }))
}

extern "C" fn resume(_: CtxRef, process: u32, recursive: u32) -> i32 {
    finish(with_child(process, |p| {
        if !p.is_alive() {
            return status::BAD_STATE;
        }
        let resumed = match recursive {
            0 => p.resume(&mut Work::step()),
            _ => sip::resume_all(p),
        };
        cpu::current().let_go();
        ok_if(resumed)
    }))
}

extern "C" fn id(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| p.id() as i32))
}

extern "C" fn exit_status(_: CtxRef, process: u32, out: u32) -> i32 {
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

extern "C" fn exit(_: CtxRef, code: i32) {
    sip::exit_current(End::Exit(code))
}

extern "C" fn arg_count(_: CtxRef) -> i32 {
    let count = |arguments: &[u8]| {
        let (mut rest, mut n) = (arguments, 0);
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            rest = tail.get(u32::from_le_bytes(*len) as usize..).unwrap_or(&[]);
            n += 1;
        }
        n
    };
    finish(Ok(caller().with_arguments(count)))
}

/// Returns the bytes of one of the caller's arguments.
fn argument(arguments: &[u8], index: u32) -> Option<&[u8]> {
    let (mut rest, mut i) = (arguments, 0);
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (argument, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        if i == index {
            return Some(argument);
        }
        (rest, i) = (tail, i + 1);
    }
    None
}

extern "C" fn arg(_: CtxRef, index: u32, out: u32, max: u32) -> i32 {
    finish(arg_to(index, out, max))
}

fn arg_to(index: u32, out: u32, max: u32) -> Result<i32, Trap> {
    let sip = caller();
    let len = sip.with_arguments(|a| argument(a, index).map(<[u8]>::len));
    let Some(len) = len else {
        return Ok(status::NOT_FOUND);
    };
    let Some(memory) = room_for(len, out, max)? else {
        return Ok(answer(len, max));
    };
    sip.with_arguments(|a| memory.write(out, argument(a, index).unwrap_or(&[])))?;
    Ok(answer(len, max))
}

extern "C" fn endpoint(_: CtxRef, index: u32) -> i32 {
    finish(Ok(caller().take_startup(index)))
}

extern "C" fn ward(_: CtxRef, index: u32) -> i32 {
    let sip = caller();
    // They were put into its table before it ran, the first of each slot.
    let first = (index < FEW).then_some(1 << 16 | index);
    finish(Ok(first
        .filter(|&handle| match sip.object(handle) {
            Object::Process(p) => p.parent.load(Relaxed) != sip.id(),
            _ => false,
        })
        .map_or(status::NOT_FOUND, |handle| handle as i32)))
}

extern "C" fn supervise(_: CtxRef, process: u32) -> i32 {
    finish(with_child(process, |p| ok_if(p.supervise())))
}

extern "C" fn renew(_: CtxRef, process: u32) -> i32 {
    let made = make_successor(process);
    building::clear();
    finish(made)
}

fn make_successor(handle: u32) -> Result<i32, Trap> {
    let ended = |handle| match caller().object(handle) {
        Object::Process(p) if p.has_ended() && p.is_supervised() => Ok(Some(p)),
        Object::Process(_) => Ok(None),
        _ => Err(Trap::BadHandle),
    };
    let Some(before) = ended(handle)? else {
        return Ok(status::BAD_STATE);
    };
    let image = before.image();
    if let Err(status) = building::build(image.stack) {
        return Ok(status);
    }
    // Others may have run meanwhile, and put another child under the same number.
    let same = ended(handle)?.filter(|before| core::ptr::eq(before.image(), image));
    let Some(before) = same else {
        return Ok(status::BAD_STATE);
    };
    let parent = caller();
    let put = |place: &mut [u8]| {
        before.with_arguments(|arguments| place.copy_from_slice(arguments));
        Ok(())
    };
    building::hand_over();
    let child = match sip::create(&Making {
        image,
        parent: Some(parent),
        arguments: (before.with_arguments(<[u8]>::len), &put),
        endpoints: 0,
    }) {
        Ok(child) => child,
        Err(status) => return Ok(status),
    };
    let Some(handle) = parent.insert(Object::Process(child)) else {
        sip::discard(child);
        return Ok(status::NO_RESOURCES);
    };
    child.succeed(before);
    child.retain();
    Ok(handle as i32)
}

extern "C" fn kept(_: CtxRef, out: u32) -> i32 {
    finish(take_kept(out))
}

fn take_kept(out: u32) -> Result<i32, Trap> {
    let memory = caller().memory(out, 4)?;
    Ok(match caller().take_kept() {
        Ok((handle, tag)) => {
            memory.write_u32(out, tag)?;
            handle as i32
        }
        Err(status) => status,
    })
}

extern "C" fn manifest(_: CtxRef, image: u32, image_len: u32, out: u32, max: u32) -> i32 {
    finish(manifest_at(image, image_len, out, max))
}

fn manifest_at(image: u32, image_len: u32, out: u32, max: u32) -> Result<i32, Trap> {
    if image_len <= SHORT {
        manifest_of(
            image,
            &mut [0; SHORT as usize][..image_len as usize],
            out,
            max,
        )
    } else if image_len as usize <= MAX_NAME {
        manifest_of(image, &mut [0; MAX_NAME][..image_len as usize], out, max)
    } else {
        Ok(status::NOT_FOUND)
    }
}

fn manifest_of(at: u32, name: &mut [u8], out: u32, max: u32) -> Result<i32, Trap> {
    caller().memory(at, name.len() as u64)?.read(at, name)?;
    if let Some(image) = image::latest(name) {
        return put_encoded(&image.manifest, out, max);
    }
    let Ok(name) = core::str::from_utf8(name) else {
        return Ok(status::NOT_FOUND);
    };
    if let Some(image) = image::loaded(name) {
        return put_encoded(&image.manifest, out, max);
    }
    match image::manifest(name) {
        Ok(Some(manifest)) => put(manifest, out, max),
        Ok(None) => Ok(status::NOT_FOUND),
        Err(e) => Ok(unavailable(name, &e)),
    }
}

/// Says why an image is not to be had; the status for it.
fn unavailable(name: &str, e: &image::Unavailable) -> i32 {
    log::about(
        cpu::current().sip().account().voice(),
        format_args!("image {name}: {e}"),
    );
    status::BAD_STATE
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn of(arguments: &[&[u8]]) -> Vec<u8> {
        let each = |a: &&[u8]| [&(a.len() as u32).to_le_bytes(), *a].concat();
        arguments.iter().flat_map(each).collect()
    }

    #[test]
    fn arguments_are_whole_and_not_too_many() {
        assert!(well_formed(&[]) && well_formed(&of(&[b"", b"ab", b"c"])));
        let cut = of(&[b"ab", b"cd"]);
        assert!((1..cut.len()).all(|len| well_formed(&cut[..len]) == (len == 6)));
        let most = vec![&b""[..]; MAX_ARGUMENTS as usize];
        assert!(well_formed(&of(&most)));
        assert!(!well_formed(&of(&[&most[..], &[b""]].concat())));
        assert_eq!(argument(&of(&[b"", b"ab"]), 1), Some(&b"ab"[..]));
        assert_eq!(argument(&of(&[b"", b"ab"]), 2), None);
    }
}
