//! What the instances of a sealed image start from, made of its tables once they have been checked.
//!
//! Parts that grow with the image are made in pieces: others run between two, and wait for no more
//! than one.

use crate::template::{FuncRecord, InitialTable, Template};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use sing_abi::{ctx, names};
use sing_image::meta::{ConstExpr, ExportKind, SegmentMode, TableType, ValType};
use sing_image::{Error, Failure};

/// Records, items and segments that one piece makes or checks at most.
pub(crate) const PIECE: usize = 16 << 10;

/// What has been made so far of a part that is not done.
#[derive(Default)]
pub(crate) struct Sealing {
    funcs: Vec<FuncRecord>,
    tables: Vec<Vec<u64>>,
    elements: Vec<Box<[u64]>>,
    /// Items of the next element segment.
    items: Vec<u64>,
}

/// Makes a piece of a part; whether the part is done.
type Part = fn(&mut Sealing, &mut Template) -> Result<bool, Failure>;

/// The parts, each of which counts on those before it.
pub(crate) const PARTS: &[Part] = &[
    Sealing::functions,
    Sealing::globals,
    Sealing::context,
    Sealing::tables,
    Sealing::elements,
];

/// A list with room for so many.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(count)?;
    Ok(room)
}

/// So many zeros.
fn zeros(count: usize) -> Result<Vec<u64>, Failure> {
    let mut zeros = room(count)?;
    zeros.resize(count, 0);
    Ok(zeros)
}

impl Sealing {
    /// The records of functions must have their address before references to them can be made;
    /// where the code lies is added last.
    fn functions(&mut self, t: &mut Template) -> Result<bool, Failure> {
        let (all, made) = (t.meta.funcs.len(), self.funcs.len());
        if made == 0 {
            self.funcs = room(all)?;
        }
        let end = all.min(made + PIECE);
        let signature = |ty: u32| t.meta.canonical[ty as usize];
        let records = (made..end).map(|i| t.func_record(i, 0, signature));
        self.funcs.extend(records);
        if end == all {
            t.sealed.funcs = core::mem::take(&mut self.funcs).into_boxed_slice();
        }
        Ok(end == all)
    }

    fn globals(&mut self, t: &mut Template) -> Result<bool, Failure> {
        let mut globals = room(t.meta.globals.len())?;
        for (_, init) in &t.meta.globals {
            let value = evaluate(t, *init, &globals)?;
            globals.push(value);
        }
        t.sealed.globals = globals.into_boxed_slice();
        Ok(true)
    }

    /// What is made of the globals, and what is looked for once.
    fn context(&mut self, t: &mut Template) -> Result<bool, Failure> {
        t.sealed.context = initial_context(t)?;
        t.sealed.stack_pointer = stack_pointer(t);
        let passive = |mode: &SegmentMode| *mode == SegmentMode::Passive;
        t.sealed.passive = (
            t.meta.data.iter().any(|d| passive(&d.mode)),
            t.meta.elements.iter().any(|e| passive(&e.mode)),
        );
        Ok(true)
    }

    /// Tables with what all elements of each start with.
    fn tables(&mut self, t: &mut Template) -> Result<bool, Failure> {
        let mut tables = room(t.meta.tables.len())?;
        for table in &t.meta.tables {
            tables.push(zeros(table.limits.min as usize)?);
        }
        for (i, value) in &t.meta.table_values {
            let value = evaluate(t, *value, &t.sealed.globals)? as u64;
            if let Some(table) = tables.get_mut(*i as usize) {
                table.fill(value);
            }
        }
        self.tables = tables;
        self.elements = room(t.meta.elements.len())?;
        Ok(true)
    }

    /// Element segments, and with them what tables start with.
    fn elements(&mut self, t: &mut Template) -> Result<bool, Failure> {
        let mut left = PIECE;
        while let Some(e) = t.meta.elements.get(self.elements.len()) {
            if left == 0 {
                return Ok(false);
            }
            let made = self.items.len();
            if made == 0 {
                self.items = room(e.items.len())?;
            }
            let end = e.items.len().min(made + left);
            for item in &e.items[made..end] {
                self.items
                    .push(evaluate(t, *item, &t.sealed.globals)? as u64);
            }
            left -= end - made;
            if end < e.items.len() {
                return Ok(false);
            }
            let items = core::mem::take(&mut self.items);
            self.put(t, e.mode, &items)?;
            let keep = e.mode == SegmentMode::Passive;
            self.elements.push(match keep {
                true => items.into_boxed_slice(),
                false => Box::default(),
            });
            left = left.saturating_sub(1);
        }
        let initial = |(ty, e): (&TableType, Vec<u64>)| InitialTable {
            ty: *ty,
            elements: e.into_boxed_slice(),
        };
        let mut all = room(self.tables.len())?;
        let tables = core::mem::take(&mut self.tables);
        all.extend(t.meta.tables.iter().zip(tables).map(initial));
        t.sealed.tables = all.into_boxed_slice();
        t.sealed.elements = core::mem::take(&mut self.elements).into_boxed_slice();
        t.sealed.globals = Box::default();
        Ok(true)
    }

    /// Puts the items of an active segment into its table.
    fn put(&mut self, t: &Template, mode: SegmentMode, items: &[u64]) -> Result<(), Error> {
        let SegmentMode::Active { target, offset } = mode else {
            return Ok(());
        };
        let at = evaluate(t, offset, &t.sealed.globals)? as usize;
        let table = self.tables.get_mut(target as usize);
        let place = table.and_then(|t| t.get_mut(at..at.checked_add(items.len())?));
        let place = place.ok_or_else(|| {
            Error::new(format!(
                "image: an element segment ends outside table {target}; install the program again"
            ))
        })?;
        place.copy_from_slice(items);
        Ok(())
    }
}

fn evaluate(t: &Template, e: ConstExpr, globals: &[u128]) -> Result<u128, Error> {
    match e {
        ConstExpr::Bits(bits) => Ok(bits.into()),
        ConstExpr::Null => Ok(0),
        ConstExpr::Vector(from) => Ok(t.vector(from)),
        ConstExpr::RefFunc(f) => t.record(f).map(u128::from),
        ConstExpr::Computed { .. } => Err(Error::new(
            "image: a sealed image has constant expressions to compute; install the program again",
        )),
        ConstExpr::Global(g) => {
            let value = globals.get(g as usize).copied();
            value.ok_or_else(|| {
                Error::new(format!("image: global {g} is used before it is defined"))
            })
        }
    }
}

fn initial_context(t: &Template) -> Result<Box<[u64]>, Failure> {
    let mut words = zeros((t.meta.layout.size as usize).div_ceil(8))?;
    for (i, value) in t.sealed.globals.iter().enumerate() {
        let cell = (t.meta.layout.globals as usize + i * ctx::GLOBAL_CELL as usize) / 8;
        words[cell] = *value as u64;
        words[cell + 1] = (*value >> 64) as u64;
    }
    Ok(words.into_boxed_slice())
}

fn stack_pointer(t: &Template) -> Option<u32> {
    let ExportKind::Global(g) = t.meta.export(names::EXPORT_STACK_POINTER)? else {
        return None;
    };
    let ty = t.spaces.globals.get(g as usize)?;
    let proper = ty.mutable && ty.value == ValType::I32;
    proper.then(|| t.meta.layout.globals + g * ctx::GLOBAL_CELL as u32)
}
