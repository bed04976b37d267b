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
pub use types::{Extern, Func, Global, LinkError, Memory};

use crate::context::CtxRef;
use crate::instance::Parts;
use crate::{Context, ContextParams, FuncRecord, Instance, Kernel, NoRoom};
use crate::{Table, Template, Trap};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use sing_abi::{WASM_PAGE, ctx};
use sing_image::meta::{
    ConstExpr, ExportKind, FuncType, GlobalType, ImportKind, Limits, Linkage, SegmentMode,
    TableType,
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
    memory: Option<Memory>,
    tables: Vec<Arc<Table>>,
    /// Items of all element segments, including active ones.
    items: Vec<Box<[u64]>>,
}

/// Writes bytes into a memory, first making it accessible if needed.
pub type WriteMemory<'a> = dyn FnMut(Memory, u32, &[u8]) -> Result<(), Trap> + 'a;

/// Instances that can be linked with each other.
#[derive(Default)]
pub struct Store {
    /// Types by their canonical number.
    types: Vec<FuncType>,
    linked: Vec<Linked>,
}

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
    tables: Vec<Arc<Table>>,
    memory: Option<Memory>,
}

impl Store {
    /// A store without instances.
    #[must_use]
    pub fn new() -> Store {
        Store::default()
    }

    /// Returns the canonical number of a type.
    fn canonical(&mut self, ty: &FuncType) -> u32 {
        let i = self.types.iter().position(|t| t == ty).unwrap_or_else(|| {
            self.types.push(ty.clone());
            self.types.len() - 1
        });
        i as u32
    }

    /// Links an instance of an open image to its imports, given in their order, and to the memory
    /// that it defines, if any. Its segments are not in place yet: see [`Store::initialise`].
    ///
    /// # Errors
    /// If an import does not match; the store is then as it was.
    pub fn link(
        &mut self,
        template: &Arc<Template>,
        imports: &[Extern],
        memory: Option<Memory>,
        params: &ContextParams,
    ) -> Result<usize, LinkError> {
        let meta = template.meta();
        if meta.linkage != Linkage::Open {
            return Err(LinkError::Sealed);
        }
        if imports.len() != meta.imports.len() || memory.is_some() != meta.memory.is_some() {
            return Err(LinkError::Missing);
        }
        let mut sorted = self.sort(template, imports)?;
        sorted.memory = sorted.memory.or(memory);
        for t in &meta.tables {
            let empty = vec![0; t.limits.min as usize];
            let table = Table::new(*t, MAX_TABLE, &empty, &Kernel);
            sorted.tables.push(Arc::new(table.map_err(no_room)?));
        }
        let linked = self.assemble(template, sorted, params).map_err(no_room)?;
        self.linked.push(linked);
        Ok(self.linked.len() - 1)
    }

    fn sort(&self, template: &Template, imports: &[Extern]) -> Result<Sorted, LinkError> {
        let meta = template.meta();
        let mut sorted = Sorted::default();
        for (import, given) in meta.imports.iter().zip(imports) {
            let matches = match (&import.kind, given) {
                (ImportKind::Func(ty), Extern::Func(f)) => {
                    sorted.funcs.push(*f);
                    self.func_type(*f) == meta.types.get(*ty as usize)
                }
                (ImportKind::Memory(wanted), Extern::Memory(m)) => {
                    sorted.memory = Some(*m);
                    let min = u32::try_from(m.len() / WASM_PAGE).unwrap_or(u32::MAX);
                    fits(wanted, &Limits { min, max: m.max })
                }
                (ImportKind::Table(wanted), Extern::Table(t)) => {
                    sorted.tables.push(t.clone());
                    let TableType { element, limits } = t.ty();
                    wanted.element == element && fits(&wanted.limits, &limits)
                }
                (ImportKind::Global(wanted), Extern::Global(g)) => {
                    sorted.globals.push(*g);
                    self.global_type(*g) == Some(*wanted)
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
        &mut self,
        template: &Arc<Template>,
        sorted: Sorted,
        params: &ContextParams,
    ) -> Result<Linked, NoRoom> {
        let meta = template.meta();
        let l = &meta.layout;
        let Sorted {
            funcs,
            globals,
            tables,
            memory,
        } = sorted;
        // The instance's address is filled in once known: the instance needs the functions'
        // records, which need the context's address.
        let words = vec![0; (l.size as usize).div_ceil(8)];
        let context = Context::raw(&words, 0, params, &Kernel)?;
        let r = context.reference();
        let numbers: Vec<u32> = meta.types.iter().map(|t| self.canonical(t)).collect();
        let record = |i| template.func_record(i, context.address(), |ty| numbers[ty as usize]);
        let records: Box<[FuncRecord]> = (0..meta.funcs.len()).map(record).collect();
        let mut func_refs: Vec<u64> = funcs.iter().filter_map(|f| self.func_ref(*f)).collect();
        func_refs.extend(records.iter().map(|r| (&raw const *r) as u64));
        let mut values: Vec<u128> = globals.iter().filter_map(|g| self.global(*g)).collect();
        for (_, init) in &meta.globals {
            values.push(evaluate(template, *init, &values, &func_refs));
        }
        let items: Vec<Box<[u64]>> = meta
            .elements
            .iter()
            .map(|e| {
                e.items
                    .iter()
                    .map(|i| evaluate(template, *i, &values, &func_refs) as u64)
                    .collect()
            })
            .collect();
        for (i, number) in numbers.iter().enumerate() {
            r.put32((l.signatures + i as u32 * 4) as i32, *number);
        }
        for (i, f) in funcs.iter().enumerate() {
            let (code, context) = self.code(*f).unwrap_or_default();
            let at = (l.func_imports + i as u32 * 16) as i32;
            r.put(at, code);
            r.put(at + 8, context);
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
        Ok(Linked {
            instance,
            context,
            imported_funcs: funcs,
            imported_globals: globals,
            memory,
            tables,
            items,
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
                table.init(items, self.offset(linked, offset), 0, items.len() as u32)?;
            }
        }
        for d in &meta.data {
            if let SegmentMode::Active { offset, .. } = d.mode {
                let memory = linked.memory.ok_or(Trap::MemoryOutOfBounds)?;
                let at = self.offset(linked, offset);
                if u64::from(at) + u64::from(d.len) > memory.len() {
                    return Err(Trap::MemoryOutOfBounds);
                }
                write(memory, at, template.data(d))?;
            }
        }
        Ok(())
    }

    fn offset(&self, linked: &Linked, e: ConstExpr) -> u32 {
        match e {
            ConstExpr::Bits(bits) => bits as u32,
            ConstExpr::Global(g) => match linked.imported_globals.get(g as usize) {
                Some(g) => self.global(*g).unwrap_or(0) as u32,
                None => linked.read_cell(g) as u32,
            },
            ConstExpr::RefFunc(_) | ConstExpr::Null | ConstExpr::Vector(_) => 0,
        }
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
            ExportKind::Memory(_) => Extern::Memory(linked.memory?),
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
fn evaluate(template: &Template, e: ConstExpr, globals: &[u128], func_refs: &[u64]) -> u128 {
    let value = match e {
        ConstExpr::Bits(bits) => return bits.into(),
        ConstExpr::Vector(from) => return template.vector(from),
        ConstExpr::Null => None,
        ConstExpr::Global(g) => globals.get(g as usize).copied(),
        ConstExpr::RefFunc(f) => func_refs.get(f as usize).copied().map(u128::from),
    };
    value.unwrap_or(0)
}
