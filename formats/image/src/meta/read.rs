//! Reads a [`Meta`] in steps of bounded cost, so that a kernel can run others in between.
//!
//! A step has an allowance of items and of bytes, as a thousand short names and one long one both
//! take time. [`Reader::room`] bounds the memory of the next step, so that a caller need not begin
//! one that cannot succeed.
//!
//! Nothing in a file is trusted: a count is compared with its limit ([`limits`]) and with the
//! number of items that the file can hold before room is made for it, and lack of memory is an
//! error.
//!
//! A section that stays where it is for ever is read in place ([`Reader::in_place`]): what is long in
//! it, the names of functions and the list of traps, is then not copied.
//!
//! Invariant: the order of the fields here is that of [`Meta`]; a test holds it against what serde
//! makes of the structure.

use super::traps::{self, ENTRY, Traps};
use super::{
    ConstExpr, Data, Element, Export, Func, FuncType, GlobalType, Import, LAYOUT, Meta, TableType,
};
use crate::limits::{self, Limit};
use crate::{Error, Failure};
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Ordering;
use serde::de::DeserializeOwned;

/// The most items that one step reads.
const STEP: u32 = 2048;
/// The most bytes that one step reads, not counting its last item.
const STEP_BYTES: usize = 64 << 10;
/// The most bytes of one item: an import with two names of the longest that WebAssembly allows
/// stays below.
const ITEM_BYTES: usize = 256 << 10;
/// The most traps that one step reads, of which none takes more than a look.
const STEP_TRAPS: usize = 16 << 10;
/// Bytes of memory that an item takes beside those in the file: the overhead of two allocations.
const ITEM_ROOM: u64 = 64;

/// The most features of a processor that an image names.
const FEATURES: u64 = 64;

/// Reads a [`Meta`].
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// The whole section, where it stays for ever.
    fixed: Option<&'static [u8]>,
    /// The offset of the last trap so far.
    last_trap: u32,
    field: Field,
    /// Items of the field yet to be read; `None` before its count is known.
    left: Option<u32>,
    /// Items of the last element segment yet to be read.
    items: u32,
    /// Items in all element segments so far.
    all_items: u64,
    meta: Meta,
}

/// Declares the fields with their order.
macro_rules! fields {
    ($($field:ident)*) => {
        /// Fields that are lists, in the order of the file. Fields of a single value come before
        /// them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Field {
            $($field),*
        }

        impl Field {
            const ORDER: &'static [Field] = &[$(Field::$field),*];
        }
    };
}

fields! {
    Head Types Canonical Imports Funcs Memory Further Tables TableValues Globals Exports Start
    Elements Data Initial FurtherInitial Traps Frame Trampolines Steps Tags Done
}

fn broken() -> Error {
    Error::new("image: broken meta section")
}

/// Refuses tables of another layout, which would seem to be broken.
fn of_this_layout(version: u32) -> Result<(), Error> {
    let way_out = match version.cmp(&LAYOUT) {
        Ordering::Equal => return Ok(()),
        Ordering::Less => "it is older; compile its program again",
        Ordering::Greater => "it is newer; compile its program again with this `sing`",
    };
    Err(Error::new(format!(
        "image: its layout has version {version}, and this reads version {LAYOUT}: {way_out}"
    )))
}

/// Refuses an image whose meta section says another layout: its manifest has one, too.
pub(crate) fn check_layout(meta: &[u8]) -> Result<(), Error> {
    let (version, _) = postcard::take_from_bytes(meta).map_err(|_| broken())?;
    of_this_layout(version)
}

impl<'a> Reader<'a> {
    /// Begins to read a section.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            rest: bytes,
            fixed: None,
            last_trap: 0,
            field: Field::Head,
            left: None,
            items: 0,
            all_items: 0,
            meta: Meta::default(),
        }
    }

    /// Begins to read a section that stays where it is.
    #[must_use]
    pub fn in_place(bytes: &'static [u8]) -> Reader<'static> {
        Reader {
            fixed: Some(bytes),
            ..Reader::new(bytes)
        }
    }

    /// Does a step. Returns true when all has been read.
    ///
    /// # Errors
    /// If the bytes are no [`Meta`], exceed a limit, or memory is short. No further step may
    /// follow.
    pub fn step(&mut self) -> Result<bool, Failure> {
        let (rest, left) = (&mut self.rest, &mut self.left);
        let meta = &mut self.meta;
        let done = match self.field {
            Field::Head => {
                of_this_layout(one(rest)?)?;
                meta.abi_version = one(rest)?;
                meta.memory_mode = one(rest)?;
                meta.checks = one(rest)?;
                meta.linkage = one(rest)?;
                meta.kernel_memory = one(rest)?;
                some(rest, left, FEATURES, &mut meta.cpu_features)?;
                meta.layout = one(rest)?;
                true
            }
            Field::Types => within(rest, left, limits::TYPES, &mut meta.types)?,
            Field::Canonical => within(rest, left, limits::TYPES, &mut meta.canonical)?,
            Field::Imports => within(rest, left, limits::IMPORTS, &mut meta.imports)?,
            Field::Funcs => self.funcs()?,
            Field::Memory => {
                meta.memory = one(rest)?;
                true
            }
            Field::Further => within(rest, left, limits::MEMORIES, &mut meta.further)?,
            Field::Tables => within(rest, left, limits::TABLES, &mut meta.tables)?,
            Field::TableValues => within(rest, left, limits::TABLES, &mut meta.table_values)?,
            Field::Globals => within(rest, left, limits::GLOBALS, &mut meta.globals)?,
            Field::Exports => within(rest, left, limits::EXPORTS, &mut meta.exports)?,
            Field::Start => {
                meta.start = one(rest)?;
                true
            }
            Field::Elements => self.elements()?,
            Field::Data => within(rest, left, limits::DATA_SEGMENTS, &mut meta.data)?,
            Field::Initial => {
                // A run has at least one byte, and each gap between runs follows the end of a
                // segment.
                some(rest, left, limits::DATA_BYTES.most, &mut meta.initial)?
            }
            Field::FurtherInitial => some(
                rest,
                left,
                limits::DATA_BYTES.most,
                &mut meta.further_initial,
            )?,
            Field::Traps => self.traps()?,
            Field::Frame => {
                meta.max_frame = one(rest)?;
                meta.catching = one(rest)?;
                true
            }
            Field::Trampolines => within(rest, left, limits::EXPORTS, &mut meta.trampolines)?,
            // An open image's alone, which the kernel does not load.
            Field::Steps => some(rest, left, limits::DATA_BYTES.most, &mut meta.steps)?,
            Field::Tags => some(rest, left, limits::TYPES.most, &mut meta.tags)?,
            Field::Done => return Ok(true),
        };
        if done {
            self.left = None;
            self.field = self.field.next();
            if self.field == Field::Done && !self.rest.is_empty() {
                return Err(broken().into());
            }
        }
        Ok(self.field == Field::Done)
    }

    /// Returns the most bytes of memory that the next step takes.
    #[must_use]
    pub fn room(&self) -> u64 {
        let read = self.rest.len().min(STEP_BYTES + ITEM_BYTES) as u64;
        let items = u64::from(STEP) * ITEM_ROOM;
        // If a count comes next, the step makes room for that many items.
        let count = match self.left {
            None => postcard::take_from_bytes::<u64>(self.rest).map_or(0, |(count, _)| count),
            Some(_) => 0,
        };
        let list = count.min(self.rest.len() as u64) * self.field.item_size();
        let inner = match self.field {
            Field::Elements => self.rest.len() as u64 * size_of::<ConstExpr>() as u64,
            _ => 0,
        };
        let items_left = limits::ELEMENT_ITEMS.most.saturating_sub(self.all_items);
        let inner = inner.min(items_left * size_of::<ConstExpr>() as u64);
        read + items + list + inner
    }

    /// Returns the tables, once [`Reader::step`] has returned true.
    #[must_use]
    pub fn finish(self) -> Meta {
        self.meta
    }

    /// The next bytes, which are taken; in the section that stays, if there is one.
    fn take(&mut self, bytes: usize) -> Result<(&'a [u8], Option<&'static [u8]>), Error> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(broken)?;
        let fixed = self.fixed.and_then(|whole| {
            let at = whole.len().checked_sub(self.rest.len())?;
            whole.get(at..)?.get(..bytes)
        });
        self.rest = rest;
        Ok((taken, fixed))
    }

    /// Reads functions, of which there are many.
    fn funcs(&mut self) -> Result<bool, Failure> {
        let mut left = match self.left {
            Some(left) => left,
            None => {
                let limit = limits::FUNCTIONS;
                let (found, _) = postcard::take_from_bytes(self.rest).map_err(|_| broken())?;
                limit.check(found)?;
                let count = count(&mut self.rest, limit.most, limit.what)?;
                // Each takes four bytes at least.
                let room = (count as usize).min(self.rest.len() / 4 + 1);
                self.meta.funcs.try_reserve_exact(room)?;
                count
            }
        };
        let end = self.rest.len().saturating_sub(STEP_BYTES);
        let mut items = STEP;
        while left > 0 && items > 0 && self.rest.len() >= end.max(1) {
            let func = self.func()?;
            if self.meta.funcs.len() == self.meta.funcs.capacity() {
                self.meta.funcs.try_reserve(1)?;
            }
            self.meta.funcs.push(func);
            left -= 1;
            items -= 1;
        }
        self.left = Some(left);
        if left > 0 && self.rest.is_empty() {
            return Err(broken().into());
        }
        Ok(left == 0)
    }

    fn func(&mut self) -> Result<Func, Failure> {
        let rest = &mut self.rest;
        let (ty, offset, size) = (number(rest)?, number(rest)?, number(rest)?);
        let len = number(rest)? as usize;
        if len > ITEM_BYTES {
            return Err(broken().into());
        }
        let (name, fixed) = self.take(len)?;
        let name = match fixed {
            Some(fixed) => core::str::from_utf8(fixed).map(Cow::Borrowed),
            None => core::str::from_utf8(name).map(|name| Cow::Owned(name.to_owned())),
        };
        let name = name.map_err(|_| broken())?;
        Ok(Func {
            ty,
            offset,
            size,
            name,
        })
    }

    /// Reads traps, of which there are very many.
    fn traps(&mut self) -> Result<bool, Failure> {
        let left = match self.left {
            Some(left) => left as usize,
            None => {
                let most = limits::CODE_BYTES.most.saturating_mul(ENTRY as u64);
                let bytes = count(&mut self.rest, most, "bytes of traps")? as usize;
                if !bytes.is_multiple_of(ENTRY) {
                    return Err(broken().into());
                }
                let rest = self.rest;
                if let (_, Some(fixed)) = self.take(bytes)? {
                    self.meta.traps = Traps::in_place(fixed);
                } else {
                    self.meta.traps.reserve(bytes)?;
                }
                // To be looked at.
                self.rest = rest;
                bytes
            }
        };
        let (now, fixed) = self.take(left.min(STEP_TRAPS * ENTRY))?;
        for entry in now.as_chunks().0 {
            let (offset, _) = traps::parts(entry);
            if offset < self.last_trap {
                return Err(Error::new("image: trap table is not sorted").into());
            }
            self.last_trap = offset;
        }
        if fixed.is_none() {
            self.meta.traps.extend(now);
        }
        self.left = Some((left - now.len()) as u32);
        Ok(now.len() == left)
    }

    /// Reads element segments, whose items are read in steps, too.
    fn elements(&mut self) -> Result<bool, Failure> {
        let elements = &mut self.meta.elements;
        let left = match &mut self.left {
            Some(left) => left,
            None => {
                let count = count(
                    &mut self.rest,
                    limits::ELEMENT_SEGMENTS.most,
                    "element segments",
                )?;
                elements.try_reserve_exact(count as usize)?;
                self.left.insert(count)
            }
        };
        let mut steps = STEP;
        while steps > 0 {
            if self.items > 0 {
                let now = self.items.min(steps);
                let items = &mut elements.last_mut().ok_or_else(broken)?.items;
                for _ in 0..now {
                    items.push(one(&mut self.rest)?);
                }
                self.items -= now;
                steps -= now;
                continue;
            }
            if *left == 0 {
                return Ok(true);
            }
            let mode = one(&mut self.rest)?;
            let limit = limits::ELEMENT_ITEMS;
            let count = count(&mut self.rest, limit.most, limit.what)?;
            self.all_items += u64::from(count);
            limit.check(self.all_items)?;
            let mut items: Vec<ConstExpr> = Vec::new();
            items.try_reserve_exact(count as usize)?;
            elements.push(Element { mode, items });
            self.items = count;
            *left -= 1;
            steps -= 1;
        }
        Ok(*left == 0 && self.items == 0)
    }
}

impl Field {
    /// Returns the size of an item in a list, in bytes.
    fn item_size(self) -> u64 {
        let size = match self {
            Field::Types => size_of::<FuncType>(),
            Field::Imports => size_of::<Import>(),
            Field::Funcs => size_of::<Func>(),
            Field::Exports => size_of::<Export>(),
            Field::Globals => size_of::<(GlobalType, ConstExpr)>(),
            Field::Elements => size_of::<Element>(),
            Field::Data => size_of::<Data>(),
            // Its count is one of bytes.
            Field::Traps => 1,
            _ => size_of::<TableType>(),
        };
        size as u64
    }

    fn next(self) -> Field {
        let next = self as usize + 1;
        Self::ORDER[next.min(Self::ORDER.len() - 1)]
    }
}

/// Reads a value.
fn one<T: DeserializeOwned>(rest: &mut &[u8]) -> Result<T, Error> {
    let window = &rest[..rest.len().min(ITEM_BYTES)];
    let (value, tail) = postcard::take_from_bytes(window).map_err(|_| broken())?;
    *rest = &rest[window.len() - tail.len()..];
    Ok(value)
}

/// Reads a number, as `postcard` writes one of 32 bits.
fn number(rest: &mut &[u8]) -> Result<u32, Error> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, behind) = rest.split_first().ok_or_else(broken)?;
        *rest = behind;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // The fifth byte has four bits of the number.
            return match shift == 28 && byte > 0xf {
                true => Err(broken()),
                false => Ok(value),
            };
        }
    }
    Err(broken())
}

/// Reads a count. Each item takes at least a byte, so no file can ask for much more room than its
/// own size.
fn count(rest: &mut &[u8], most: u64, what: &str) -> Result<u32, Error> {
    let count: u64 = one(rest)?;
    if count > most {
        return Err(Error::new(format!(
            "image: {count} {what}, where {most} are allowed"
        )));
    }
    if count > rest.len() as u64 {
        return Err(broken());
    }
    u32::try_from(count).map_err(|_| broken())
}

/// Reads some items of a field that has a limit of its own.
fn within<T: DeserializeOwned>(
    rest: &mut &[u8],
    left: &mut Option<u32>,
    limit: Limit,
    out: &mut Vec<T>,
) -> Result<bool, Failure> {
    if left.is_none() {
        // Checks that limit first, before room is made.
        let (found, _) = postcard::take_from_bytes::<u64>(rest).map_err(|_| broken())?;
        limit.check(found)?;
    }
    some(rest, left, limit.most, out)
}

/// Reads some items of a field; returns whether these were the last ones.
fn some<T: DeserializeOwned>(
    rest: &mut &[u8],
    left: &mut Option<u32>,
    most: u64,
    out: &mut Vec<T>,
) -> Result<bool, Failure> {
    let left = match left {
        Some(left) => left,
        None => {
            let count = count(rest, most, "items")?;
            // Bounds the room by the bytes that are left, so that a false count alone causes no
            // large allocation.
            let room = (count as usize).min(rest.len() / 2 + 1);
            out.try_reserve_exact(room)?;
            left.insert(count)
        }
    };
    let (mut items, end) = (STEP, rest.len().saturating_sub(STEP_BYTES));
    while *left > 0 && items > 0 && rest.len() >= end.max(1) {
        if out.len() == out.capacity() {
            out.try_reserve(1)?;
        }
        out.push(one(rest)?);
        *left -= 1;
        items -= 1;
    }
    if *left > 0 && rest.is_empty() {
        return Err(broken().into());
    }
    Ok(*left == 0)
}

#[cfg(test)]
mod tests;
