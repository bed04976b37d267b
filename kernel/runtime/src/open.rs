//! Instances of open images: modules that import memories, tables, globals and functions from each
//! other, as the WebAssembly test suite needs. No SIP is made of them.
//!
//! Invariants:
//! - A [`Store`] keeps every instance that was ever linked in it: a table may still hold a function
//!   of an instance whose start failed.
//! - An import is accepted only if its type matches, so that compiled code may trust it.
//! - Handles ([`Extern`]) are valid only in the store that gave them.

mod types;

use types::no_room;
pub use types::{Extern, Func, Global, LinkError, Memory, Tag};

use crate::check::Spaces;
use crate::context::CtxRef;
use crate::instance::Parts;
use crate::{Context, ContextParams, FuncRecord, Instance, Kernel, NoRoom};
use crate::{Table, Template, Trap};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::ctx;
use sing_image::meta::{
    ConstExpr, ConstStep, ExportKind, FuncType, GlobalType, ImportKind, Limits, Linkage,
    SegmentMode, TableType,
};

/// The most elements that a table of an open instance can have.
const MAX_TABLE: u32 = 10_000_000;

/// The functions and tables of an open instance.
pub(crate) struct OpenParts {
    /// The instance's tables, imported and defined.
    pub(crate) tables: Box<[Arc<Table>]>,
    /// Address of each function's record, imported and defined.
    pub(crate) func_refs: Box<[u64]>,
    /// Items of each element segment that an instruction may copy from.
    pub(crate) elements: Box<[Box<[u64]>]>,
    /// The records of the defined functions, which `func_refs` points to.
    #[allow(dead_code, reason = "it owns what compiled code points to")]
    records: Box<[FuncRecord]>,
}

/// An instance with its one context, and the imports that it exports again.
struct Linked {
    instance: Instance,
    context: Context,
    imported_funcs: Vec<Func>,
    imported_globals: Vec<Global>,
    imported_tags: Vec<Tag>,
    /// The image in the store's list.
    #[allow(dead_code, reason = "it owns what compiled code points to")]
    image: Box<[u64; IMAGE_WORDS]>,
    memories: Vec<Memory>,
    tables: Vec<Arc<Table>>,
    /// Items of all element segments, including active ones.
    items: Vec<Box<[u64]>>,
    /// Canonical number of each type.
    numbers: Vec<u32>,
}

/// Writes bytes into a memory, first making it accessible if needed.
pub type WriteMemory<'a> = dyn FnMut(Memory, u32, &[u8]) -> Result<(), Trap> + 'a;

/// Instances that can be linked with each other.
#[derive(Default)]
pub struct Store {
    /// Types by their canonical number.
    types: Vec<FuncType>,
    /// Address of the first record in the list of the instances' images (`ctx::IMAGE_CODE`), by
    /// which exceptions go from one to the other.
    images: Box<AtomicU64>,
    linked: Vec<Linked>,
}

/// Words of a record in the list of images.
const IMAGE_WORDS: usize = 4;

/// The addresses needed to call compiled code from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callee {
    /// The function's context.
    pub context: u64,
    /// Its trampoline.
    pub trampoline: u64,
}

/// Imports by kind, in the order of their index spaces.
#[derive(Default)]
struct Sorted {
    funcs: Vec<Func>,
    globals: Vec<Global>,
    tags: Vec<Tag>,
    tables: Vec<Arc<Table>>,
    memories: Vec<Memory>,
}

impl Store {
    /// A store without instances.
    #[must_use]
    pub fn new() -> Store {
        Store::default()
    }

    /// Returns the canonical number of each type of a module: types that are equal, all types that
    /// they refer to included, have the same.
    fn canonical(&mut self, types: &[FuncType]) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::new();
        for ty in types {
            // A type refers to those before it, or to itself.
            let ty = ty.renumbered(|of| numbers.get(of as usize).copied().unwrap_or(u32::MAX));
            let i = self.types.iter().position(|t| *t == ty).unwrap_or_else(|| {
                self.types.push(ty);
                self.types.len() - 1
            });
            numbers.push(i as u32);
        }
        numbers
    }

    /// Links an instance of an open image to its imports, given in their order, and to the memories
    /// that it defines. Its segments are not in place yet: see [`Store::initialise`].
    ///
    /// # Errors
    /// If an import does not match; the store is then as it was.
    pub fn link(
        &mut self,
        template: &Arc<Template>,
        imports: &[Extern],
        memories: &[Memory],
        params: &ContextParams,
    ) -> Result<usize, LinkError> {
        let meta = template.meta();
        if meta.linkage != Linkage::Open {
            return Err(LinkError::Sealed);
        }
        let defined = meta.memory.iter().chain(&meta.further).count();
        if imports.len() != meta.imports.len() || memories.len() != defined {
            return Err(LinkError::Missing);
        }
        let numbers = self.canonical(&meta.types);
        let mut sorted = self.sort(template, imports, &numbers)?;
        sorted.memories.extend(memories);
        for t in &meta.tables {
            if t.limits.min > u64::from(MAX_TABLE) {
                return Err(LinkError::NoRoom);
            }
            let empty = vec![0; t.limits.min as usize];
            let element = t.element.renumbered(|ty| numbers[ty as usize]);
            let table = Table::new(TableType { element, ..*t }, MAX_TABLE, &empty, &Kernel);
            sorted.tables.push(Arc::new(table.map_err(no_room)?));
        }
        let linked = self.assemble(template, sorted, numbers, params);
        let linked = linked.map_err(no_room)?;
        self.images.store(linked.image.as_ptr() as u64, Relaxed);
        self.linked.push(linked);
        Ok(self.linked.len() - 1)
    }

    fn sort(
        &self,
        template: &Template,
        imports: &[Extern],
        numbers: &[u32],
    ) -> Result<Sorted, LinkError> {
        let meta = template.meta();
        let number = |ty: u32| numbers[ty as usize];
        let mut sorted = Sorted::default();
        for (import, given) in meta.imports.iter().zip(imports) {
            let matches = match (&import.kind, given) {
                (ImportKind::Func(ty), Extern::Func(f)) => {
                    sorted.funcs.push(*f);
                    self.number_of_func(*f) == Some(number(*ty))
                }
                (ImportKind::Memory(wanted), Extern::Memory(m)) => {
                    sorted.memories.push(*m);
                    let min = m.len() >> m.ty.page_bits;
                    let max = m.ty.limits.max;
                    (wanted.index64, wanted.page_bits) == (m.ty.index64, m.ty.page_bits)
                        && fits(&wanted.limits, &Limits { min, max })
                }
                (ImportKind::Table(wanted), Extern::Table(t)) => {
                    sorted.tables.push(t.clone());
                    let given = t.ty();
                    wanted.element.renumbered(number) == given.element
                        && wanted.index64 == given.index64
                        && fits(&wanted.limits, &given.limits)
                }
                (ImportKind::Global(wanted), Extern::Global(g)) => {
                    sorted.globals.push(*g);
                    let value = wanted.value.renumbered(number);
                    self.canonical_global(*g).is_some_and(|g| {
                        let same = g.value == value;
                        let fits = same || !wanted.mutable && g.value.is_subtype_of(value);
                        g.mutable == wanted.mutable && fits
                    })
                }
                (ImportKind::Tag(ty), Extern::Tag(t)) => {
                    sorted.tags.push(*t);
                    self.number_of_tag(*t) == Some(number(*ty))
                }
                _ => false,
            };
            if !matches {
                let (module, name) = (import.module.clone(), import.name.to_string());
                return Err(LinkError::Incompatible { module, name });
            }
        }
        Ok(sorted)
    }

    fn assemble(
        &self,
        template: &Arc<Template>,
        sorted: Sorted,
        numbers: Vec<u32>,
        params: &ContextParams,
    ) -> Result<Linked, NoRoom> {
        let meta = template.meta();
        let l = &meta.layout;
        let Sorted {
            funcs,
            globals,
            tags,
            tables,
            memories,
        } = sorted;
        // The instance's address is filled in once known: the instance needs the functions'
        // records, which need the context's address.
        let words = vec![0; (l.size as usize).div_ceil(8)];
        let context = Context::raw(&words, 0, params, &Kernel)?;
        let r = context.reference();
        let record = |i| template.func_record(i, context.address(), |ty| numbers[ty as usize]);
        let records: Box<[FuncRecord]> = (0..meta.funcs.len()).map(record).collect();
        let mut func_refs: Vec<u64> = funcs.iter().filter_map(|f| self.func_ref(*f)).collect();
        func_refs.extend(records.iter().map(|r| (&raw const *r) as u64));
        let mut values: Vec<u128> = globals.iter().filter_map(|g| self.global(*g)).collect();
        for (_, init) in &meta.globals {
            let known = |g: u32| values.get(g as usize).copied();
            let value = evaluate(template, *init, &known, &func_refs);
            values.push(value);
        }
        let known = |g: u32| values.get(g as usize).copied();
        let items: Vec<Box<[u64]>> = meta
            .elements
            .iter()
            .map(|e| {
                e.items
                    .iter()
                    .map(|i| evaluate(template, *i, &known, &func_refs) as u64)
                    .collect()
            })
            .collect();
        for (i, value) in &meta.table_values {
            let table = &tables[template.spaces.imported_tables as usize + *i as usize];
            let value = evaluate(template, *value, &known, &func_refs) as u64;
            // All of it, so that it cannot be outside.
            let _ = table.fill(0, value, table.len());
        }
        for (i, number) in numbers.iter().enumerate() {
            r.put32((l.signatures + i as u32 * 4) as i32, *number);
        }
        for (i, f) in funcs.iter().enumerate() {
            let (code, context) = self.code(*f).unwrap_or_default();
            let at = (l.func_imports + i as u32 * 16) as i32;
            r.put(at, code);
            r.put(at + 8, context);
        }
        r.put(l.tag_imports as i32, &raw const *self.images as u64);
        for (i, tag) in tags.iter().enumerate() {
            let owner = self.linked.get(tag.instance).map(|l| l.context.address());
            let at = (l.tag_imports + (1 + i as u32) * 16) as i32;
            r.put(at, owner.unwrap_or_default());
            r.put(at + 8, tag.index.into());
        }
        for (i, value) in values.iter().enumerate() {
            let imported = globals.get(i).and_then(|g| self.cell(*g));
            let value = imported.map_or(*value, u128::from);
            let at = (l.globals + i as u32 * ctx::GLOBAL_CELL as u32) as i32;
            r.put(at, value as u64);
            r.put(at + 8, (value >> 64) as u64);
        }
        for (i, t) in tables.iter().enumerate() {
            r.put((l.tables + i as u32 * 8) as i32, t.address());
        }
        let passive = meta
            .elements
            .iter()
            .zip(&items)
            .map(|(e, items)| match e.mode {
                SegmentMode::Passive => items.clone(),
                _ => Box::default(),
            });
        let parts = OpenParts {
            tables: tables.clone().into_boxed_slice(),
            func_refs: func_refs.into_boxed_slice(),
            elements: passive.collect(),
            records,
        };
        for (i, m) in memories.iter().enumerate().skip(1) {
            let cell = l.memories as i32 + (i as i32 - 1) * ctx::MEMORY_CELL;
            r.put(cell + ctx::MEMORY_CELL_BASE, m.base());
            r.put(cell + ctx::MEMORY_CELL_DEF, m.record);
        }
        let memory = memories.first();
        let place = memory.map_or((0, 0), |m| (m.base(), m.len()));
        let instance = Instance::assemble(
            template,
            place,
            0,
            memory.map(|m| m.record),
            Parts::Open(parts),
            &Kernel,
        )?;
        r.put(ctx::INSTANCE, instance.address());
        r.put(ctx::MEM_BASE, instance.memory_base());
        r.put(ctx::MEM_DEF, instance.memory_record());
        let code = template.code();
        let table = meta.catching.map(|at| code.start + u64::from(at));
        let image = [
            code.start,
            code.end - code.start,
            table.unwrap_or_default(),
            self.images.load(Relaxed),
        ];
        Ok(Linked {
            instance,
            context,
            imported_funcs: funcs,
            imported_globals: globals,
            imported_tags: tags,
            image: Box::new(image),
            memories,
            tables,
            items,
            numbers,
        })
    }

    /// Copies the active segments into place, in order, and drops them. Each is checked to lie
    /// inside its memory before `write` is called.
    ///
    /// # Errors
    /// If a segment does not fit, or `write` fails; what was written before stays.
    pub fn initialise(&self, instance: usize, write: &mut WriteMemory<'_>) -> Result<(), Trap> {
        let Some(linked) = self.linked.get(instance) else {
            return Err(Trap::BadArgument);
        };
        let template = linked.instance.template();
        let meta = template.meta();
        for (e, items) in meta.elements.iter().zip(&linked.items) {
            if let SegmentMode::Active { target, offset } = e.mode {
                let table = linked
                    .tables
                    .get(target as usize)
                    .ok_or(Trap::TableOutOfBounds)?;
                let at = u32::try_from(self.offset(linked, offset));
                let at = at.map_err(|_| Trap::TableOutOfBounds)?;
                table.init(items, at, 0, items.len() as u32)?;
            }
        }
        for d in &meta.data {
            if let SegmentMode::Active { target, offset } = d.mode {
                let memory = linked.memories.get(target as usize).copied();
                let memory = memory.ok_or(Trap::MemoryOutOfBounds)?;
                let at = self.offset(linked, offset);
                let end = at.checked_add(d.len.into());
                if end.is_none_or(|end| end > memory.len()) {
                    return Err(Trap::MemoryOutOfBounds);
                }
                if d.len > 0 {
                    // Below 4 GiB, as memories are.
                    write(memory, at as u32, template.data(d))?;
                }
            }
        }
        Ok(())
    }

    fn offset(&self, linked: &Linked, e: ConstExpr) -> u64 {
        let global = |g: u32| match linked.imported_globals.get(g as usize) {
            Some(g) => self.global(*g),
            None => Some(linked.read_cell(g)),
        };
        evaluate(linked.instance.template(), e, &global, &[]) as u64
    }

    /// Returns the call of an instance's start function.
    #[must_use]
    pub fn start(&self, instance: usize) -> Option<Callee> {
        let linked = self.linked.get(instance)?;
        let func = linked.func(instance, linked.instance.template().meta().start?);
        self.callee(func).or_else(|| {
            // A start function has no parameters or results, so it can be called without a
            // trampoline.
            let (trampoline, context) = self.code(func)?;
            Some(Callee {
                context,
                trampoline,
            })
        })
    }

    /// Returns the export of this name.
    #[must_use]
    pub fn export(&self, instance: usize, name: &str) -> Option<Extern> {
        let linked = self.linked.get(instance)?;
        Some(match linked.instance.template().meta().export(name)? {
            ExportKind::Func(f) => Extern::Func(linked.func(instance, f)),
            ExportKind::Memory(m) => Extern::Memory(*linked.memories.get(m as usize)?),
            ExportKind::Table(t) => Extern::Table(linked.tables.get(t as usize)?.clone()),
            ExportKind::Global(g) => {
                let own = Global { instance, index: g };
                Extern::Global(
                    linked
                        .imported_globals
                        .get(g as usize)
                        .copied()
                        .unwrap_or(own),
                )
            }
            ExportKind::Tag(t) => {
                let own = Tag { instance, index: t };
                Extern::Tag(linked.imported_tags.get(t as usize).copied().unwrap_or(own))
            }
        })
    }

    /// Returns the call of a function from outside: `None` if its own module does not export it.
    #[must_use]
    pub fn callee(&self, f: Func) -> Option<Callee> {
        let linked = self.linked.get(f.instance)?;
        let template = linked.instance.template();
        let (_, offset) = template
            .meta()
            .trampolines
            .iter()
            .find(|t| t.0 == f.index)?;
        let trampoline = template.code().start + u64::from(*offset);
        Some(Callee {
            context: linked.context.address(),
            trampoline,
        })
    }

    /// Returns a function's type.
    #[must_use]
    pub fn func_type(&self, f: Func) -> Option<&FuncType> {
        let template = self.linked.get(f.instance)?.instance.template();
        let ty = *template.spaces.funcs.get(f.index as usize)?;
        template.meta().types.get(ty as usize)
    }

    /// Returns the canonical number of the type that an instance gives one of its things.
    fn number_of(&self, instance: usize, ty: impl Fn(&Spaces) -> Option<u32>) -> Option<u32> {
        let linked = self.linked.get(instance)?;
        let ty = ty(&linked.instance.template().spaces)?;
        linked.numbers.get(ty as usize).copied()
    }

    /// Returns the canonical number of a function's type.
    fn number_of_func(&self, f: Func) -> Option<u32> {
        self.number_of(f.instance, |spaces| {
            spaces.funcs.get(f.index as usize).copied()
        })
    }

    /// Returns the canonical number of a tag's type.
    fn number_of_tag(&self, t: Tag) -> Option<u32> {
        self.number_of(t.instance, |spaces| {
            spaces.tags.get(t.index as usize).copied()
        })
    }

    /// Returns a global's type, in canonical numbers.
    fn canonical_global(&self, g: Global) -> Option<GlobalType> {
        let numbers = &self.linked.get(g.instance)?.numbers;
        let ty = self.global_type(g)?;
        let number = |of: u32| numbers.get(of as usize).copied().unwrap_or(u32::MAX);
        Some(GlobalType {
            value: ty.value.renumbered(number),
            ..ty
        })
    }

    /// Returns a global's type.
    #[must_use]
    pub fn global_type(&self, g: Global) -> Option<GlobalType> {
        let template = self.linked.get(g.instance)?.instance.template();
        template.spaces.globals.get(g.index as usize).copied()
    }

    /// Returns a global's value, as its bits.
    #[must_use]
    pub fn global(&self, g: Global) -> Option<u128> {
        self.cell(g)?;
        Some(self.linked.get(g.instance)?.read_cell(g.index))
    }

    /// Returns the context of each instance: a caller that runs code of one of them sets the thread
    /// in all.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.linked.iter().map(|l| &l.context)
    }

    fn code(&self, f: Func) -> Option<(u64, u64)> {
        let linked = self.linked.get(f.instance)?;
        Some((
            linked.instance.template().func_code(f.index)?,
            linked.context.address(),
        ))
    }

    fn func_ref(&self, f: Func) -> Option<u64> {
        self.linked
            .get(f.instance)?
            .instance
            .record_of(f.index)
            .ok()
    }

    /// Returns the address of a global's cell.
    fn cell(&self, g: Global) -> Option<u64> {
        let linked = self.linked.get(g.instance)?;
        let spaces = &linked.instance.template().spaces;
        let defined = spaces.imported_globals..spaces.globals.len() as u32;
        let at = linked.cell_offset(g.index);
        defined
            .contains(&g.index)
            .then(|| linked.context.address() + at as u64)
    }
}

impl Linked {
    /// Returns the function of this index, resolving imports to the defining instance.
    fn func(&self, instance: usize, index: u32) -> Func {
        let own = Func { instance, index };
        self.imported_funcs
            .get(index as usize)
            .copied()
            .unwrap_or(own)
    }

    fn cell_offset(&self, global: u32) -> i32 {
        let layout = &self.instance.template().meta().layout;
        (layout.globals + global * ctx::GLOBAL_CELL as u32) as i32
    }

    /// The value of a defined global.
    fn read_cell(&self, global: u32) -> u128 {
        let r: CtxRef = self.context.reference();
        let at = self.cell_offset(global);
        u128::from(r.read(at)) | u128::from(r.read(at + 8)) << 64
    }
}

/// Whether the given limits satisfy the wanted ones.
fn fits(wanted: &Limits, given: &Limits) -> bool {
    let max = match (wanted.max, given.max) {
        (None, _) => true,
        (Some(wanted), Some(given)) => given <= wanted,
        (Some(_), None) => false,
    };
    given.min >= wanted.min && max
}

/// The value of a constant expression, whose indices the template has checked.
fn evaluate(
    template: &Template,
    e: ConstExpr,
    globals: &dyn Fn(u32) -> Option<u128>,
    func_refs: &[u64],
) -> u128 {
    let value = match e {
        ConstExpr::Bits(bits) => return bits.into(),
        ConstExpr::Vector(from) => return template.vector(from),
        ConstExpr::Null => None,
        ConstExpr::Global(g) => globals(g),
        ConstExpr::RefFunc(f) => func_refs.get(f as usize).copied().map(u128::from),
        ConstExpr::Computed { from, len } => compute(template, from, len, globals),
    };
    value.unwrap_or(0)
}

/// The number that some steps compute; `None` if they are not those of one expression.
fn compute(
    template: &Template,
    from: u32,
    len: u32,
    globals: &dyn Fn(u32) -> Option<u128>,
) -> Option<u128> {
    let steps = template.meta().steps.get(from as usize..)?;
    let mut stack: Vec<u64> = Vec::new();
    for step in steps.get(..len as usize)? {
        let value = match *step {
            ConstStep::Push(ConstExpr::Bits(bits)) => bits,
            ConstStep::Push(ConstExpr::Global(g)) => globals(g)? as u64,
            ConstStep::Push(_) => return None,
            operation => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                operation.apply(a, b)?
            }
        };
        stack.push(value);
    }
    stack.pop().map(u128::from)
}
