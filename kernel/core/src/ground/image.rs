//! Installed images: found in the system image, loaded when first used, shared by all SIPs made of
//! them.

mod debugger;
mod loading;
mod place;
#[cfg(test)]
mod tests;

use crate::ground::contract::Contract;
use crate::ground::machine::hal;
use crate::ground::memory::KEEP_LITTLE;
use crate::ground::trusted::System;
use crate::ground::trusted::{Ended, Kept, variables};
use crate::object::channel::End;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Bound::Included;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use loading::{LEAST, Loading};
pub(crate) use place::function_at;
use sing_arch::lock::SpinLock;
use sing_image::lines::Table;
use sing_image::manifest::{Manifest, Side, StartupEndpoint};
use sing_image::meta::{ConstExpr, Element, ExportKind, Import, ImportKind};
use sing_image::system::BIN;
use sing_image::{Error, Failure};
use sing_runtime::Template;

/// Contract bits of an endpoint whose contract the SIP does not know: it can be passed on and
/// closed.
const UNKNOWN: u32 = 0xffff << 16;
/// What is expected of an image's next SIP falls by this part of what the last one had less.
const FALL: u64 = 256;
/// What a SIP for which little memory was too little counts against those for which it was enough: a
/// fault takes a few times as long as to clear what would have kept it away.
const VOTES: i32 = 4;
/// The most votes for or against; so an image that changes its ways is believed soon.
const MOST_VOTES: i32 = 16;
/// So many of an image's contracts are looked through one after the other.
const AT_ONCE: usize = 64;

/// An installed image, loaded.
pub(crate) struct Installed {
    /// The image's name.
    pub(crate) name: String,
    /// What debuggers read of it.
    told: debugger::Told,
    /// Its code, as it lies in the arena.
    code: &'static [u8],
    /// The lines of the program's text that it comes from, where its image has them.
    lines: Table<'static>,
    /// The template of its instances.
    pub(crate) template: Arc<Template>,
    /// Its manifest.
    pub(crate) manifest: Manifest,
    /// The contracts that its code names, by its numbers for them.
    pub(crate) contracts: Vec<&'static Contract>,
    /// The numbers of these contracts, in the order of their names.
    by_name: Vec<u32>,
    /// Number and state of the contract of each declared start-up endpoint. `None` if the image
    /// does not have the contract or the state.
    startup: Vec<Option<(u32, u16)>>,
    /// The most bytes that may be charged to a SIP of this image and its descendants.
    pub(crate) budget: u64,
    /// Bytes of the stack of each thread of a SIP of this image.
    pub(crate) stack: u64,
    /// Bytes of memory that SIPs of this image come to have: rises to what one had at once, and falls
    /// a little with each that had less.
    expected: AtomicU64,
    /// Of its SIPs, those that needed little have one vote each, and those that had to be given more have
    /// [`VOTES`] against it; within [`MOST_VOTES`].
    content: AtomicI32,
}

struct Registry {
    system: Option<Kept<System>>,
    loaded: BTreeMap<String, Kept<Installed>>,
    /// The one that was asked for last: most often, it is asked for again.
    latest: Option<&'static Installed>,
    /// Loaded images by address of their code.
    by_code: BTreeMap<u64, &'static Installed>,
    /// Images that are being loaded. Every thread that asks for one does a step of it, as the
    /// thread that began may have ended. A load stays in place from its first step to its last, so
    /// that one that memory is too short for takes none.
    loading: BTreeMap<Arc<str>, Box<Loading>>,
    /// The image whose code is being put into the arena. Its code must be contiguous, so other
    /// images wait.
    placing: Option<Arc<str>>,
    /// Images that cannot be loaded, with the reason. An image is tried once.
    failed: BTreeMap<Arc<str>, Arc<Error>>,
}

variables! { restart:
    static REGISTRY: SpinLock<Registry> = SpinLock::new(Registry {
        system: None,
        loaded: BTreeMap::new(),
        latest: None,
        by_code: BTreeMap::new(),
        loading: BTreeMap::new(),
        placing: None,
        failed: BTreeMap::new(),
    });
}

/// Forgets all images, and gives their memory back: the system has ended.
pub(crate) fn forget(ended: &Ended) {
    debugger::forget(ended);
    let loaded = core::mem::take(&mut REGISTRY.lock().loaded);
    for image in loaded.into_values() {
        ended.reclaim(image);
    }
    if let Some(system) = REGISTRY.lock().system.take() {
        ended.reclaim(system);
    }
    restart(ended);
}

/// Sets the system image.
pub(crate) fn set_system(system: System) {
    REGISTRY.lock().system = Some(Kept::new(Box::new(system)));
}

/// The system image.
fn system() -> Option<&'static System> {
    REGISTRY.lock().system.as_ref().map(Kept::get)
}

/// Returns a file of the system image.
pub(crate) fn boot_file(path: &str) -> Option<&'static [u8]> {
    system()?.file(path)
}

/// Returns the path of the `index`th file of the system image.
pub(crate) fn boot_name(index: usize) -> Option<&'static str> {
    system()?.paths().nth(index)
}

/// Iterates over the names of all installed images.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let paths = system().into_iter().flat_map(|s| s.paths());
    paths.filter_map(|p| p.strip_prefix(BIN))
}

/// The result of a look for an image.
pub(crate) enum Found {
    /// The image, loaded.
    Image(&'static Installed),
    /// There is no image of this name.
    None,
    /// The image is being loaded; a step was done. Other threads may run before the next look.
    NotYet,
}

/// The image of this name, where it was the last one that was asked for.
pub(crate) fn latest(name: &[u8]) -> Option<&'static Installed> {
    let latest = REGISTRY.lock().latest;
    latest.filter(|image| image.name.as_bytes() == name)
}

/// Why an image is not to be had.
#[derive(Clone, Debug)]
pub(crate) enum Unavailable {
    /// It is broken, and stays so.
    Broken(Arc<Error>),
    /// Memory is short now. Saying so takes none.
    NoRoom,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(e) => f.write_str(&e.message),
            Self::NoRoom => {
                f.write_str("no room for it now; end something, or give the machine more memory")
            }
        }
    }
}

/// The image of this name, if it is loaded.
pub(crate) fn loaded(name: &str) -> Option<&'static Installed> {
    REGISTRY.lock().loaded.get(name).map(Kept::get)
}

/// The manifest of the image of this name, as its file has it, whether it is loaded or not: who asks
/// for it may never make a process of it. `None` if there is no such image. Takes as long as a step of
/// a load. Its bytes are the file's, so that a thread which answers with them owns nothing while others
/// run.
///
/// # Errors
/// If the manifest is broken, or the image was found to be, or memory is short.
pub(crate) fn manifest(name: &str) -> Result<Option<&'static [u8]>, Unavailable> {
    let program = {
        let registry = REGISTRY.lock();
        if let Some(e) = registry.failed.get(name) {
            return Err(Unavailable::Broken(e.clone()));
        }
        let system = registry.system.as_ref();
        system.and_then(|s| s.get().program(BIN, name))
    };
    let Some(program) = program else {
        return Ok(None);
    };
    if hal().heap_room() < LEAST {
        return Err(Unavailable::NoRoom);
    }
    let broken = |e| Unavailable::Broken(Arc::new(e));
    let declarations = program.declarations().map_err(broken)?;
    if hal().heap_room() < declarations.room().saturating_add(LEAST) {
        return Err(Unavailable::NoRoom);
    }
    declarations.manifest().map(Some).map_err(broken)
}

/// The image of this name, loaded; does one step of loading it, where it is not.
///
/// # Errors
/// If the image is broken, which is remembered, or memory is short.
pub(crate) fn look(name: &str) -> Result<Found, Unavailable> {
    let mut registry = REGISTRY.lock();
    let r = &mut *registry;
    if let Some(image) = r.loaded.get(name).map(Kept::get) {
        r.latest = Some(image);
        return Ok(Found::Image(image));
    }
    if let Some(e) = r.failed.get(name) {
        return Err(Unavailable::Broken(e.clone()));
    }
    if !r.loading.contains_key(name) {
        if hal().heap_room() < LEAST {
            return Err(Unavailable::NoRoom);
        }
        let Some(program) = r.system.as_ref().and_then(|s| s.get().program(BIN, name)) else {
            return Ok(Found::None);
        };
        r.loading
            .insert(name.into(), Box::new(Loading::Found(program)));
    }
    let mut entries = r
        .loading
        .range_mut::<str, _>((Included(name), Included(name)));
    let (key, loading) = entries.next().expect("it is there, or was put there");
    if let Loading::Placing(_) = **loading {
        match &r.placing {
            None => r.placing = Some(key.clone()),
            Some(first) if first != key => {
                let first = first.clone();
                drop(registry);
                let other = look(&first);
                // If that load has failed, or lacks memory, it no longer blocks this one.
                drop(other);
                return Ok(Found::NotYet);
            }
            Some(_) => {}
        }
    }
    let done = match loading.step(name) {
        Ok(None) => return Ok(Found::NotYet),
        Ok(Some(image)) => Ok(image),
        Err(failure) => Err(failure),
    };
    // All of its code is in the arena, or none: another image may be placed.
    if r.placing.as_ref() == Some(key) {
        r.placing = None;
    }
    let key = key.clone();
    match done {
        Ok(kept) => {
            let image = kept.get();
            r.loading.remove(name);
            r.by_code.insert(image.template.code().start, image);
            r.loaded.insert(name.into(), kept);
            drop(registry);
            hal().loaded(name, &mut image.functions());
            Ok(Found::Image(image))
        }
        Err(Failure::Broken(e)) => {
            r.loading.remove(name);
            let e = Arc::new(e);
            r.failed.insert(key, e.clone());
            Err(Unavailable::Broken(e))
        }
        Err(Failure::NoRoom) => Err(Unavailable::NoRoom),
    }
}

/// Returns the image of this name, loading it in one go: for the start of the system, when no other
/// thread runs. `None` if there is none.
///
/// # Errors
/// As for [`look`].
pub(crate) fn find(name: &str) -> Result<Option<&'static Installed>, Error> {
    loop {
        match look(name) {
            Ok(Found::Image(image)) => return Ok(Some(image)),
            Ok(Found::None) => return Ok(None),
            Ok(Found::NotYet) => {}
            Err(e) => return Err(Error::new(format!("image {name}: {e}"))),
        }
    }
}

/// Bytes of code in which a function makes its frame: less than this.
const FIRST: usize = 64;

/// Bytes of a function's code that are searched for tail calls.
pub(crate) const SCANNED: usize = 8 << 10;

/// The most lists that are looked through for a function, and the most items of all of them.
pub(crate) const ASKED: usize = 8 << 10;

/// Whether so many element segments, and so much else, can be looked through at once.
fn are_few(elements: &[Element], others: usize) -> bool {
    let items = |sum: usize, e: &Element| sum.saturating_add(e.items.len());
    elements.len().saturating_add(others) <= ASKED && elements.iter().fold(0, items) <= ASKED
}

/// What a call instruction calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// The function at this address.
    Known(u64),
    /// What a register or memory says at that time: an entry of the kernel, an element of a table.
    Unknown,
}

/// Returns what the call at the end of some code calls: a distance from there, if it is known.
fn callee(code: &[u8]) -> Option<Callee> {
    if let [.., 0xe8, a, b, c, d] = *code {
        let distance = i32::from_le_bytes([a, b, c, d]);
        // The last bytes of an indirect call can be part of a distance, but one far outside of any
        // image.
        if distance.unsigned_abs() < 1 << 28 {
            return Some(Callee::Known(i64::from(distance) as u64));
        }
    }
    // The forms of the operand: of how many bytes, after the instruction's first one.
    let is_call = |length: usize| {
        let at = code.len().checked_sub(length + 1)?;
        let (&first, rest) = code[at..].split_first()?;
        let operand = *rest.first()?;
        let (mode, what, base) = (operand >> 6, operand >> 3 & 7, operand & 7);
        let bytes = match (mode, base) {
            (3, _) => 1,
            (0, 5) => 5,
            (0, 4) => 2,
            (0, _) => 1,
            (1, 4) => 3,
            (1, _) => 2,
            (_, 4) => 6,
            (_, _) => 5,
        };
        (first == 0xff && what == 2 && bytes == length).then_some(())
    };
    (1..=6).find_map(is_call).map(|()| Callee::Unknown)
}

/// Returns what the first instructions of a function subtract from the stack pointer, after a test
/// of it; 0 if nothing.
fn frame_size(code: &[u8]) -> u64 {
    let first = &code[..code.len().min(FIRST)];
    let size = first.windows(7).find_map(|bytes| match *bytes {
        [0x48, 0x83, 0xec, size, ..] => Some(u64::from(size)),
        [0x48, 0x81, 0xec, a, b, c, d] => Some(u64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    });
    size.unwrap_or(0)
}

impl Installed {
    /// Returns the bytes of memory that its next SIP may come to have.
    pub(crate) fn expected(&self) -> u64 {
        self.expected.load(Relaxed)
    }

    /// Whether most of its SIPs are content with little memory ([`KEEP_LITTLE`]).
    pub(crate) fn needs_little(&self) -> bool {
        self.content.load(Relaxed) >= 0
    }

    fn vote(&self, votes: i32) {
        let all = self.content.load(Relaxed) + votes;
        self.content
            .store(all.clamp(-MOST_VOTES, MOST_VOTES), Relaxed);
    }

    /// Notes that little was too little for one of its SIPs.
    pub(crate) fn has_needed_more(&self) {
        self.vote(-VOTES);
    }

    /// Notes how many its last SIP came to have.
    pub(crate) fn expect(&self, bytes: u64) {
        if bytes <= KEEP_LITTLE {
            self.vote(1);
        }
        let before = self.expected.load(Relaxed);
        let less = before.saturating_sub(bytes).div_ceil(FALL);
        self.expected.store(bytes.max(before - less), Relaxed);
    }

    /// Returns what was called if this is the address behind a call in the image's code.
    pub(crate) fn called_before(&self, pc: u64) -> Option<Callee> {
        let before = pc.checked_sub(self.template.code().start)?;
        let before = self.code.get(..usize::try_from(before).ok()?)?;
        callee(before).map(|callee| match callee {
            Callee::Known(distance) => Callee::Known(pc.wrapping_add(distance)),
            Callee::Unknown => Callee::Unknown,
        })
    }

    /// Returns the address of the function whose code holds this address.
    pub(crate) fn function_at(&self, pc: u64) -> Option<u64> {
        let start = self.template.code().start;
        let offset = u32::try_from(pc.checked_sub(start)?).ok()?;
        let function = self.template.meta().func_at(offset)?;
        Some(start + u64::from(function.offset))
    }

    /// Whether the function at this address can be called without being named: whether a table, a
    /// global or an export refers to it, or there are too many of them to look through.
    pub(crate) fn is_taken(&self, function: u64) -> bool {
        let meta = self.template.meta();
        let offset = function.checked_sub(self.template.code().start);
        let Some(offset) = offset.and_then(|o| u32::try_from(o).ok()) else {
            return false;
        };
        let Ok(place) = meta.funcs.binary_search_by_key(&offset, |f| f.offset) else {
            return false;
        };
        let lists = [
            meta.imports.len(),
            meta.table_values.len(),
            meta.globals.len(),
            meta.exports.len(),
        ];
        if !are_few(&meta.elements, lists.iter().sum()) {
            return true;
        }
        let is_function = |i: &&Import| matches!(i.kind, ImportKind::Func(_));
        let index = (meta.imports.iter().filter(is_function).count() + place) as u32;
        let items = meta.elements.iter().flat_map(|e| &e.items);
        let mut values = items
            .chain(meta.table_values.iter().map(|(_, value)| value))
            .chain(meta.globals.iter().map(|(_, value)| value));
        let mut exports = meta.exports.iter();
        values.any(|&value| value == ConstExpr::RefFunc(index))
            || exports.any(|e| e.kind == ExportKind::Func(index))
    }

    /// Whether the function at this address leaves by a tail call of one that it names, as far as the
    /// beginning of a very long one says.
    pub(crate) fn leaves(&self, function: u64) -> bool {
        let meta = self.template.meta();
        let start = |at: u64| {
            let offset = u32::try_from(at).ok()?;
            let place = meta.funcs.binary_search_by_key(&offset, |f| f.offset);
            place.ok().and_then(|place| meta.funcs.get(place))
        };
        let Some(offset) = function.checked_sub(self.template.code().start) else {
            return false;
        };
        let len = start(offset).map_or(0, |f| (f.size as usize).min(SCANNED));
        let code = self.code.get(offset as usize..).unwrap_or(&[]);
        let code = &code[..code.len().min(len)];
        (offset..)
            .zip(code.windows(5))
            .any(|(at, bytes)| match *bytes {
                [0xe9, a, b, c, d] => {
                    let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
                    let target = (at + 5).wrapping_add_signed(distance);
                    target != offset && start(target).is_some()
                }
                _ => false,
            })
    }

    /// Returns how far a function's first instructions move the stack pointer, behind the saved
    /// frame pointer.
    pub(crate) fn frame_size(&self, function: u64) -> u64 {
        let size = || {
            let offset = function.checked_sub(self.template.code().start)?;
            let function = self.template.meta().func_at(u32::try_from(offset).ok()?)?;
            let code = self.code.get(offset as usize..)?;
            Some(frame_size(&code[..code.len().min(function.size as usize)]))
        };
        size().unwrap_or(0)
    }

    /// Returns the image's contract of this name.
    pub(crate) fn contract(&self, name: &str) -> Option<&'static Contract> {
        self.numbered(name).map(|(_, contract)| contract)
    }

    /// Returns the image's contract of this name, and its number.
    fn numbered(&self, name: &str) -> Option<(u32, &'static Contract)> {
        let named = |&number: &u32| self.contracts[number as usize].table.name.as_str();
        let at = self.by_name.binary_search_by_key(&name, named).ok()?;
        let number = self.by_name[at];
        Some((number, self.contracts[number as usize]))
    }

    /// Returns the number of this contract if it is among the first that the image names.
    #[inline]
    fn number_of(&self, contract: &'static Contract) -> Option<u32> {
        let first = &self.contracts[..self.contracts.len().min(AT_ONCE)];
        let at = first.iter().position(|c| core::ptr::eq(*c, contract))?;
        Some(at as u32)
    }

    /// Returns contract and state of a declared start-up endpoint.
    fn startup_of(&self, endpoint: &StartupEndpoint) -> Option<(u32, u16)> {
        let (number, contract) = self.numbered(&endpoint.contract)?;
        let state = match &endpoint.state {
            Some(state) => contract.table.state(state)?,
            None => 0,
        };
        Some((number, state))
    }

    /// Whether the image can get an end of a channel as the start-up endpoint that it declares at
    /// this place. `used` is as for [`Installed::asked_for`].
    pub(crate) fn can_start_with(
        &self,
        end: &End,
        declared: usize,
        side: Side,
        used: bool,
    ) -> bool {
        let asked = self.startup.get(declared).copied().flatten();
        asked.is_some_and(|(number, state)| {
            let wanted = self.contracts[number as usize];
            let own = end.permission;
            own.is_some_and(|own| own.stands_for(wanted, side, end.state, Some(state), used))
        })
    }

    /// Returns the contract under which this image can hold an end of a channel received as one of
    /// contract `name`: its own contract of that name, and its number. `None` if the image has
    /// none, or the end is no subtype of it.
    pub(crate) fn held_as(
        &self,
        end: &End,
        name: &str,
        side: Side,
    ) -> Option<(u32, &'static Contract)> {
        self.asked_for(end, name, side, None, true)
    }

    /// Returns the same for an end required to be in `state`; in any if `None`. `used` says whether
    /// the end is already used under another contract than its channel's.
    pub(crate) fn asked_for(
        &self,
        end: &End,
        name: &str,
        side: Side,
        state: Option<&str>,
        used: bool,
    ) -> Option<(u32, &'static Contract)> {
        let own = end.permission?;
        // Mostly it is the one that the image has under this name: to look through addresses is quicker
        // than through names.
        let same = match own.table.name == name {
            true => self.number_of(own),
            false => None,
        };
        let (number, wanted) = match same {
            Some(number) => (number, own),
            None => self.numbered(name)?,
        };
        let asked = match state {
            Some(state) => Some(wanted.table.state(state)?),
            None => None,
        };
        let can = own.stands_for(wanted, side, end.state, asked, used);
        can.then_some((number, wanted))
    }

    /// Whether the bits of a handle say that its endpoint is used under another contract than its
    /// channel's.
    pub(crate) fn uses_as_another(&self, bits: u32, real: &'static Contract) -> bool {
        let held = self.contracts.get((bits >> 16) as usize);
        held.is_some_and(|&held| !core::ptr::eq(held, real))
    }

    /// Returns the bits that an operation must have to be used on an endpoint held under this
    /// contract: `contract << 16 | side << 15`, or bits that no operation has.
    pub(crate) fn operation_bits(&self, held: Option<(u32, &'static Contract)>, side: Side) -> u32 {
        let side_bit = (side.index() as u32) << 15;
        match held {
            Some((number, _)) => number << 16 | side_bit,
            None => UNKNOWN | side_bit,
        }
    }
}
