//! The consistency check of an image's tables, before anything is built from them.
//!
//! The verifier and compiler wrote these tables, but an image may be damaged since, or be forged.
//! After all [`STEPS`] have passed, every index in a [`Meta`] selects something of the right kind.

use crate::seal::PIECE;
use alloc::format;
use alloc::string::String;
use core::ops::Range;
use sing_abi::{ABI_VERSION, ctx};
use sing_image::limits::{self, Counts};
use sing_image::meta::{
    ConstExpr, CtxLayout, ExportKind, GlobalType, ImportKind, Limits, Linkage, MemoryType, Meta,
    Run, SegmentMode, TableType, ValType,
};
use sing_image::{Error, Failure};

/// The largest context record, in bytes: with the most globals, tables, imports, types and
/// exceptions allowed.
pub(crate) const MAX_CONTEXT: u64 = (ctx::VARS as u64
    + limits::GLOBALS.most * ctx::GLOBAL_CELL as u64
    + limits::TABLES.most * 8
    + limits::MEMORIES.most * ctx::MEMORY_CELL as u64
    + limits::IMPORTS.most * 16
    + limits::TYPES.most * 4
    + limits::EXCEPTION_BYTES
    + 4 * ctx::ALIGN as u64)
    .next_multiple_of(ctx::ALIGN as u64);

fn wrong(what: impl Into<String>) -> Error {
    let what = what.into();
    Error::new(format!("image: {what}; install the program again"))
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(wrong(what())) }
}

/// What is checked.
pub(crate) struct Checked<'m> {
    pub(crate) meta: &'m Meta,
    /// The index spaces of the meta.
    pub(crate) spaces: &'m Spaces,
    /// The lengths of code and data.
    pub(crate) code_len: u64,
    pub(crate) data_len: u64,
}

/// How far a part has come.
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    /// The next item of its list.
    at: usize,
    /// The next one within that item, where it is a list.
    within: usize,
    /// What the items before add up to.
    sum: u64,
}

impl Progress {
    /// The next items of a list of `all`: at most [`PIECE`].
    fn next(&mut self, all: usize) -> Range<usize> {
        let from = self.at.min(all);
        self.at = all.min(from + PIECE);
        from..self.at
    }
}

/// Checks a piece of a part. Returns whether the part is done; otherwise it continues from the
/// progress.
type Step = fn(&Checked<'_>, &mut Progress) -> Result<bool, Error>;

/// The whole check, in parts. Each relies on those before it, and visits a list whose length an image
/// chooses in pieces: others run between two.
pub(crate) const STEPS: &[Step] = &[
    |c, _| whole(version(c.meta)),
    |c, _| whole(lengths(c.meta)),
    segments,
    contents,
    |c, _| match c.meta.linkage {
        Linkage::Sealed => whole(sealed(c.meta, c.spaces)),
        Linkage::Open => Ok(true),
    },
    types_of_funcs,
    types_of_tags,
    places_of_funcs,
    trampolines,
    |c, _| whole(code(c.meta, c.spaces, c.code_len)),
    |c, _| whole(layout(c.meta, c.spaces)),
    |c, _| whole(ordered(c.meta, c.spaces)),
    globals,
    elements,
    data,
    initial,
    further_initial,
    exports,
];

/// The result of a part that is checked in one piece.
fn whole(checked: Result<(), Error>) -> Result<bool, Error> {
    checked.map(|()| true)
}

/// The index spaces of a module: imported and defined items, in the order of their indices.
#[derive(Default)]
pub(crate) struct Spaces {
    pub(crate) imported_funcs: u32,
    pub(crate) imported_tables: u32,
    pub(crate) imported_globals: u32,
    pub(crate) imported_tags: u32,
    /// Type index of each function.
    pub(crate) funcs: alloc::vec::Vec<u32>,
    pub(crate) memories: alloc::vec::Vec<MemoryType>,
    pub(crate) tables: alloc::vec::Vec<TableType>,
    pub(crate) globals: alloc::vec::Vec<GlobalType>,
    /// Type index of each tag.
    pub(crate) tags: alloc::vec::Vec<u32>,
    /// Canonical number of each type, as far as it is known.
    canonical: alloc::vec::Vec<u32>,
    /// Number of steps of computed constant expressions.
    steps: u64,
}

impl Spaces {
    /// Begins with what is imported, and room for the rest: [`Spaces::extend`] completes them.
    pub(crate) fn begin(meta: &Meta) -> Result<Spaces, Failure> {
        let mut s = Spaces {
            steps: meta.steps.len() as u64,
            ..Spaces::default()
        };
        s.canonical.try_reserve_exact(meta.canonical.len())?;
        s.canonical.extend(&meta.canonical);
        let imports = meta.imports.len();
        s.funcs.try_reserve_exact(imports + meta.funcs.len())?;
        s.memories
            .try_reserve_exact(imports + 1 + meta.further.len())?;
        s.tables.try_reserve_exact(imports + meta.tables.len())?;
        s.globals.try_reserve_exact(imports + meta.globals.len())?;
        s.tags.try_reserve_exact(imports + meta.tags.len())?;
        for import in &meta.imports {
            match import.kind {
                ImportKind::Func(ty) => s.funcs.push(ty),
                ImportKind::Memory(ty) => s.memories.push(ty),
                ImportKind::Table(ty) => s.tables.push(ty),
                ImportKind::Global(ty) => s.globals.push(ty),
                ImportKind::Tag(ty) => s.tags.push(ty),
            }
        }
        s.imported_funcs = s.funcs.len() as u32;
        s.imported_tables = s.tables.len() as u32;
        s.imported_globals = s.globals.len() as u32;
        s.imported_tags = s.tags.len() as u32;
        s.memories.extend(meta.memory.iter().chain(&meta.further));
        s.tables.extend(&meta.tables);
        s.tags.extend(&meta.tags);
        Ok(s)
    }

    /// Adds the next functions and globals; whether all are there.
    pub(crate) fn extend(&mut self, meta: &Meta) -> bool {
        let (funcs, globals) = (&mut self.funcs, &mut self.globals);
        let made = funcs.len() - self.imported_funcs as usize;
        funcs.extend(meta.funcs.iter().skip(made).take(PIECE).map(|f| f.ty));
        if funcs.len() - (self.imported_funcs as usize) < meta.funcs.len() {
            return false;
        }
        let made = globals.len() - self.imported_globals as usize;
        globals.extend(meta.globals.iter().skip(made).take(PIECE).map(|g| g.0));
        globals.len() - self.imported_globals as usize == meta.globals.len()
    }

    /// The number of a type that all equal ones have, as far as it is known.
    fn number(&self, ty: u32) -> u32 {
        self.canonical.get(ty as usize).copied().unwrap_or(ty)
    }

    /// Whether every value of a type is one of another.
    fn is_subtype(&self, ty: ValType, of: ValType) -> bool {
        let number = |ty| self.number(ty);
        ty.renumbered(number).is_subtype_of(of.renumbered(number))
    }

    /// Whether an expression gives a value of this type from globals below `globals`.
    fn gives(&self, e: ConstExpr, ty: ValType, globals: u32) -> bool {
        match e {
            ConstExpr::Bits(_) => !ty.is_reference() && ty != ValType::V128,
            ConstExpr::Vector(_) => ty == ValType::V128,
            ConstExpr::Null => ty.has_null(),
            ConstExpr::Computed { from, len } => {
                let number = matches!(ty, ValType::I32 | ValType::I64);
                number && len > 0 && u64::from(from) + u64::from(len) <= self.steps
            }
            ConstExpr::RefFunc(f) => self.funcs.get(f as usize).is_some_and(|of| {
                let function = ValType::Typed {
                    ty: *of,
                    nullable: false,
                };
                self.is_subtype(function, ty)
            }),
            ConstExpr::Global(g) => {
                g < globals
                    && self
                        .globals
                        .get(g as usize)
                        .is_some_and(|g| self.is_subtype(g.value, ty) && !g.mutable)
            }
        }
    }

    /// Tests that it does.
    fn expr(
        &self,
        e: ConstExpr,
        ty: ValType,
        globals: u32,
        place: &dyn Fn() -> String,
    ) -> Result<(), Error> {
        ensure(self.gives(e, ty, globals), || valueless(place))
    }
}

fn valueless(place: &dyn Fn() -> String) -> String {
    format!("{} has no proper value", place())
}

fn version(meta: &Meta) -> Result<(), Error> {
    ensure(meta.abi_version == ABI_VERSION, || {
        format!(
            "compiled for ABI version {}, this system has {ABI_VERSION}",
            meta.abi_version
        )
    })
}

/// Checks the limits of sealed images. Open images, which only the WebAssembly test suite runs,
/// have no limits but those of the format. Here are the lengths of lists; [`segments`], [`contents`] and
/// [`places_of_funcs`] check what their items add up to.
fn lengths(meta: &Meta) -> Result<(), Error> {
    limited(meta, Counts::of_lengths(meta))
}

/// Compares counts with the limits of sealed images.
fn limited(meta: &Meta, counts: Counts) -> Result<(), Error> {
    match meta.linkage {
        Linkage::Open => Ok(()),
        Linkage::Sealed => counts.check().map_err(|e| wrong(e.message)),
    }
}

/// Checks how many items all element segments have.
fn segments(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let all = &c.meta.elements;
    for e in &all[progress.next(all.len())] {
        progress.sum += e.items.len() as u64;
    }
    let counts = Counts {
        element_items: progress.sum,
        ..Counts::default()
    };
    limited(c.meta, counts)?;
    Ok(progress.at == all.len())
}

/// Checks how many bytes passive data segments and initial memories have together.
fn contents(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let Meta {
        data,
        initial,
        further_initial,
        ..
    } = c.meta;
    let runs = data.len() + initial.len();
    let all = runs + further_initial.len();
    for i in progress.next(all) {
        let bytes = match (data.get(i), i.checked_sub(data.len())) {
            (Some(d), _) if d.mode == SegmentMode::Passive => d.len,
            (Some(_), _) => 0,
            (None, place) => {
                let run = place.and_then(|place| initial.get(place));
                let further = || Some(&further_initial.get(i.checked_sub(runs)?)?.1);
                run.or_else(further).map_or(0, |run| run.len)
            }
        };
        progress.sum += u64::from(bytes);
    }
    let counts = Counts {
        data_bytes: progress.sum,
        ..Counts::default()
    };
    limited(c.meta, counts)?;
    Ok(progress.at == all)
}

fn exports(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let (all, s) = (&c.meta.exports, c.spaces);
    for e in &all[progress.next(all.len())] {
        let (index, count) = match e.kind {
            ExportKind::Func(i) => (i, s.funcs.len()),
            ExportKind::Memory(i) => (i, s.memories.len()),
            ExportKind::Table(i) => (i, s.tables.len()),
            ExportKind::Global(i) => (i, s.globals.len()),
            ExportKind::Tag(i) => (i, s.tags.len()),
        };
        ensure((index as usize) < count, || {
            format!("export {} names nothing", e.name)
        })?;
    }
    Ok(progress.at == all.len())
}

fn sealed(meta: &Meta, s: &Spaces) -> Result<(), Error> {
    for i in &meta.imports {
        ensure(matches!(i.kind, ImportKind::Func(_)), || {
            format!(
                "import {}.{} is no function, which a sealed image may not have",
                i.module, i.name
            )
        })?;
    }
    ensure(meta.steps.is_empty(), || {
        "a sealed image has constant expressions to compute".into()
    })?;
    ensure(meta.tags.is_empty() && meta.catching.is_none(), || {
        "a sealed image has tags to link".into()
    })?;
    ensure(meta.canonical.len() == meta.types.len(), || {
        format!(
            "{} canonical numbers for {} types",
            meta.canonical.len(),
            meta.types.len()
        )
    })?;
    let shapes: [(&str, &[ValType], &[ValType]); 2] = [
        (sing_abi::names::EXPORT_MAIN, &[], &[ValType::I32]),
        (sing_abi::names::EXPORT_THREAD, &[ValType::I32], &[]),
    ];
    for (name, params, results) in shapes {
        if let Some(kind) = meta.export(name) {
            let ty = match kind {
                ExportKind::Func(f) if f >= s.imported_funcs => s.funcs.get(f as usize),
                _ => None,
            };
            let ty = ty.and_then(|t| meta.types.get(*t as usize));
            ensure(
                ty.is_some_and(|t| t.params == params && t.results == results),
                || format!("export {name} is no function of the proper type"),
            )?;
        }
    }
    if meta.start.is_some_and(|f| f < s.imported_funcs) {
        return Err(wrong("the start function is an imported one"));
    }
    Ok(())
}

/// Checks that the functions of a list have types; `what` they are.
fn typed(c: &Checked<'_>, progress: &mut Progress, all: &[u32], what: &str) -> Result<bool, Error> {
    for i in progress.next(all.len()) {
        ensure((all[i] as usize) < c.meta.types.len(), || {
            format!("{what} {i} has no type")
        })?;
    }
    Ok(progress.at == all.len())
}

fn types_of_funcs(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    typed(c, progress, &c.spaces.funcs, "function")
}

fn types_of_tags(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    typed(c, progress, &c.spaces.tags, "tag")
}

/// Checks how large functions are, and that they lie one behind the other.
fn places_of_funcs(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let all = &c.meta.funcs;
    let piece = progress.next(all.len());
    let sizes = all[piece.clone()].iter().map(|f| u64::from(f.size));
    let counts = Counts {
        function_code_bytes: sizes.max().unwrap_or(0),
        ..Counts::default()
    };
    limited(c.meta, counts)?;
    c.meta.check_some_funcs(piece, c.code_len)?;
    Ok(progress.at == all.len())
}

fn trampolines(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let all = &c.meta.trampolines;
    for (f, offset) in &all[progress.next(all.len())] {
        ensure(
            (*f as usize) < c.spaces.funcs.len() && u64::from(*offset) < c.code_len,
            || format!("the trampoline of function {f} lies outside the code"),
        )?;
    }
    Ok(progress.at == all.len())
}

fn code(meta: &Meta, s: &Spaces, code_len: u64) -> Result<(), Error> {
    ensure(
        meta.catching.is_none_or(|at| u64::from(at) <= code_len),
        || "the table of catching calls lies outside the code".into(),
    )?;
    if let Some(start) = meta.start {
        let ty = s
            .funcs
            .get(start as usize)
            .and_then(|t| meta.types.get(*t as usize));
        ensure(
            ty.is_some_and(|t| t.params.is_empty() && t.results.is_empty()),
            || "the start function is none or of another type".into(),
        )?;
    }
    ensure(
        meta.traps.last().is_none_or(|t| u64::from(t.0) < code_len),
        || "a trap lies outside the code".into(),
    )
}

/// Returns the areas of the variable part of the context record, as byte offsets; unused areas are
/// empty.
fn areas(l: &CtxLayout, meta: &Meta, s: &Spaces) -> [Option<Range<u32>>; 6] {
    let area = |at: u32, count: usize, size: u32| {
        let len = u32::try_from(count).ok()?.checked_mul(size)?;
        Some(if len == 0 {
            ctx::VARS as u32..ctx::VARS as u32
        } else {
            at..at.checked_add(len)?
        })
    };
    let open = |count: usize| {
        if meta.linkage == Linkage::Open {
            count
        } else {
            0
        }
    };
    [
        area(l.globals, s.globals.len(), ctx::GLOBAL_CELL as u32),
        area(l.tables, s.tables.len(), 8),
        area(
            l.memories,
            s.memories.len().saturating_sub(1),
            ctx::MEMORY_CELL as u32,
        ),
        area(l.func_imports, open(s.imported_funcs as usize), 16),
        area(l.signatures, open(meta.types.len()), 4),
        area(l.tag_imports, open(1 + s.imported_tags as usize), 16),
    ]
}

fn layout(meta: &Meta, s: &Spaces) -> Result<(), Error> {
    let l = &meta.layout;
    let sizes = ctx::VARS as u64..=MAX_CONTEXT;
    ensure(sizes.contains(&u64::from(l.size)), || {
        format!("a context record of {} bytes", l.size)
    })?;
    let aligned = l.globals.is_multiple_of(16)
        && l.tables.is_multiple_of(8)
        && l.memories.is_multiple_of(8)
        && l.func_imports.is_multiple_of(8)
        && l.signatures.is_multiple_of(4)
        && l.tag_imports.is_multiple_of(8);
    ensure(aligned, || {
        "an area of the context record is not aligned".into()
    })?;
    let mut ranges = [const { 0..0 }; 6];
    for (range, area) in ranges.iter_mut().zip(areas(l, meta, s)) {
        *range = area.ok_or_else(|| wrong("an area of the context record is too large"))?;
    }
    ranges.sort_unstable_by_key(|r| (r.start, r.end));
    let mut end = ctx::VARS as u32;
    for r in ranges.iter().filter(|r| !r.is_empty()) {
        ensure(r.start >= end && r.end <= l.size, || {
            "areas of the context record overlap".into()
        })?;
        end = r.end;
    }
    Ok(())
}

fn ordered(meta: &Meta, s: &Spaces) -> Result<(), Error> {
    let ordered = |l: &Limits| l.max.is_none_or(|max| l.min <= max);
    for m in &s.memories {
        ensure(
            ordered(&m.limits)
                && m.min_bytes() <= m.most_bytes()
                && matches!(m.page_bits, 0 | MemoryType::PAGE_BITS),
            || format!("a memory of {} pages", m.limits.min),
        )?;
    }
    for t in &s.tables {
        ensure(ordered(&t.limits) && t.element.is_reference(), || {
            "a table of no proper type".into()
        })?;
    }
    ensure(meta.memory.is_some() || meta.further.is_empty(), || {
        "further memories without a first one".into()
    })?;
    let called = meta.kernel_memory;
    let there = called as usize <= meta.further.len();
    ensure(
        called == 0 || meta.linkage == Linkage::Sealed && there,
        || format!("kernel calls that mean memory {called}"),
    )?;
    let mut values = meta.table_values.iter().peekable();
    for (i, t) in meta.tables.iter().enumerate() {
        let value = values.next_if(|(table, _)| *table as usize == i);
        let value = value.map_or(ConstExpr::Null, |v| v.1);
        s.expr(value, t.element, s.globals.len() as u32, &|| {
            format!("table {}", s.imported_tables as usize + i)
        })?;
    }
    ensure(values.next().is_none(), || {
        "the first elements of tables are out of order".into()
    })
}

fn globals(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let (all, s) = (&c.meta.globals, c.spaces);
    for i in progress.next(all.len()) {
        let (ty, init) = &all[i];
        let index = s.imported_globals + i as u32;
        if let ConstExpr::Vector(from) = *init {
            ensure(inside(from, 16, c.data_len), || {
                format!("the vector of global {index} lies outside the image's data")
            })?;
        }
        s.expr(*init, ty.value, index, &|| format!("global {index}"))?;
    }
    Ok(progress.at == all.len())
}

/// A segment counts as an item, beside those that it has.
fn elements(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let (all, s) = (&c.meta.elements, c.spaces);
    let globals = s.globals.len() as u32;
    let mut left = PIECE;
    while let Some(e) = all.get(progress.at) {
        if left == 0 {
            return Ok(false);
        }
        let place = || format!("element segment {}", progress.at);
        // A passive segment of functions and one of external references look alike unless they hold
        // something; each item must then be of one of the two.
        let mut ty = None;
        if let SegmentMode::Active { target, offset } = e.mode {
            let table = s.tables.get(target as usize);
            let table = table.ok_or_else(|| wrong(format!("{} has no table", place())))?;
            ty = Some(table.element);
            s.expr(offset, index_type(table.index64), globals, &place)?;
        }
        let end = e.items.len().min(progress.within + left);
        for item in &e.items[progress.within..end] {
            let fits = |ty| s.gives(*item, ty, globals);
            let fits = match ty {
                Some(ty) => fits(ty),
                // What else may be in a typed one is a reference to a function, too.
                None => fits(ValType::FuncRef) || fits(ValType::ExternRef),
            };
            ensure(fits, || valueless(&place))?;
        }
        left -= end - progress.within;
        if end < e.items.len() {
            progress.within = end;
            return Ok(false);
        }
        left = left.saturating_sub(1);
        (progress.at, progress.within) = (progress.at + 1, 0);
    }
    Ok(true)
}

/// The type of addresses in a memory, or of indices in a table.
fn index_type(index64: bool) -> ValType {
    match index64 {
        true => ValType::I64,
        false => ValType::I32,
    }
}

/// Whether the bytes lie in the image's data.
fn inside(from: u32, len: u32, data_len: u64) -> bool {
    u64::from(from) + u64::from(len) <= data_len
}

fn data(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let (all, s) = (&c.meta.data, c.spaces);
    let globals = s.globals.len() as u32;
    for i in progress.next(all.len()) {
        let d = &all[i];
        let place = || format!("data segment {i}");
        ensure(inside(d.from, d.len, c.data_len), || {
            format!("{} lies outside the image's data", place())
        })?;
        match (d.mode, c.meta.linkage) {
            (SegmentMode::Passive, _) => {}
            // Active segments of a sealed image are part of the initial memory.
            (SegmentMode::Declared, Linkage::Sealed) if d.len == 0 => {}
            (SegmentMode::Active { target, offset }, Linkage::Open) => {
                let memory = s.memories.get(target as usize);
                let memory = memory.ok_or_else(|| wrong(format!("{} has no memory", place())))?;
                s.expr(offset, index_type(memory.index64), globals, &place)?;
            }
            _ => return Err(wrong(format!("{} is of no proper kind", place()))),
        }
    }
    Ok(progress.at == all.len())
}

/// Checks that the runs of initial memory ascend without overlaps, so that the last one ends last,
/// and that they lie inside memory and data.
fn initial(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let all = &c.meta.initial;
    for i in progress.next(all.len()) {
        let before = i.checked_sub(1).map_or(0, |before| all[before].end());
        let proper = proper(c.meta, &all[i], before, c.meta.memory, c.data_len);
        ensure(proper, || {
            format!("run {i} of the initial memory is out of order or bounds")
        })?;
    }
    Ok(progress.at == all.len())
}

/// The same for each further memory.
fn further_initial(c: &Checked<'_>, progress: &mut Progress) -> Result<bool, Error> {
    let all = &c.meta.further_initial;
    for i in progress.next(all.len()) {
        let (memory, run) = &all[i];
        let before = i.checked_sub(1).map(|before| &all[before]);
        let (last, end) = before.map_or((0, 0), |(memory, run)| (*memory, run.end()));
        let end = if *memory == last { end } else { 0 };
        let limits = c.meta.further.get(*memory as usize).copied();
        ensure(
            *memory >= last && proper(c.meta, run, end, limits, c.data_len),
            || format!("run {i} of further initial memories is out of order or bounds"),
        )?;
    }
    Ok(progress.at == all.len())
}

/// Whether a run starts at or behind `end` and lies inside its memory and the data.
fn proper(meta: &Meta, run: &Run, end: u64, memory: Option<MemoryType>, data_len: u64) -> bool {
    let memory = memory.map_or(0, |m| m.min_bytes());
    run.len > 0
        && u64::from(run.at) >= end
        && run.end() <= memory
        && inside(run.from, run.len, data_len)
        && meta.linkage == Linkage::Sealed
}
