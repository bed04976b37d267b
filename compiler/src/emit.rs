//! From a verified module to code and metadata: runs translation, code generation and linking for
//! each function.

use crate::debug;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::generate::{Generator, Job, Kind, Made};
use crate::link::Linker;
use crate::module::Module;
use crate::options::{Options, Work};
use crate::parallel;
use crate::translate::{self, Beyond, Env, Routine};
use crate::verify::Checked;
use crate::{Compiled, Stats, isa, layout};
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use sing_abi::names::{EXPORT_MAIN, EXPORT_THREAD};
use sing_image::limits::Counts;
use sing_image::meta::{ConstExpr, ExportKind, Func, Meta};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;
use wasmparser as wp;

/// What a module gets beside its own functions.
struct Added {
    /// Functions of the module's own when it was parsed, imported ones among them.
    defined: u32,
    /// Imported functions that get thunks, in the order of these.
    referents: Vec<u32>,
    /// Functions that get others by the kernel's convention, in the order of these.
    entries: Vec<u32>,
    tail_calls: bool,
}

impl Added {
    /// Puts them into the places where the module refers to others.
    fn to(checked: &mut Checked<'_>, options: &Options) -> Added {
        let referents = if options.sealed() {
            take_referents(&mut checked.module)
        } else {
            Vec::new()
        };
        let defined = checked.module.func_types.len() as u32;
        // Exceptions need the convention of tail calls, which keeps no register across calls.
        let tail_calls = match options.sealed() {
            true => checked.used.tail_calls || checked.used.exceptions,
            false => options.tail_calls,
        };
        let entries = match options.sealed() && tail_calls {
            true => take_entries(&mut checked.module, defined + referents.len() as u32),
            false => Vec::new(),
        };
        Added {
            defined,
            referents,
            entries,
            tail_calls,
        }
    }
}

fn environment<'m>(
    checked: &'m Checked<'m>,
    options: &'m Options,
    added: &Added,
    isa: &OwnedTargetIsa,
) -> Result<Env<'m>> {
    let module = &checked.module;
    let thunks = added.referents.iter().zip(added.defined..);
    let mut layout = layout::of_module(module, options)?;
    let exceptions = match checked.used.exceptions {
        true => Some(translate::Exceptions::behind(&mut layout, module)?),
        false => None,
    };
    Ok(Env {
        module,
        imports: &checked.imports,
        options,
        convention: match added.tail_calls {
            true => CallConv::Tail,
            false => translate::KERNEL_CONVENTION,
        },
        layout,
        exceptions,
        canonical: module.canonical_types(),
        lines: false,
        counted: checked.used.counted,
        thunks: thunks.map(|(&func, thunk)| (func, thunk)).collect(),
        fixed_tables: fixed_tables(checked, options),
        frontend: isa.frontend_config(),
    })
}

/// Translates the functions of a verified module of which the verifier cannot tell whether they
/// become too large, or all if it cannot tell whether the module asks too much, and forgets the result.
pub(crate) fn check_large(checked: &mut Checked<'_>, options: &Options) -> Result<()> {
    let module = &checked.module;
    let large: Vec<u32> = match checked.used.counted {
        true => (module.imported_funcs..module.func_types.len() as u32).collect(),
        false => checked.used.large.iter().copied().collect(),
    };
    let large = large.into_iter().filter(|&func| checked.is_reached(func));
    let large: Vec<u32> = large.collect();
    if large.is_empty() {
        return Ok(());
    }
    let isa = isa::build(options.cpu)?;
    let added = Added::to(checked, options);
    let env = environment(checked, options, &added, &isa)?;
    let module = env.module;
    let mut builder = FunctionBuilderContext::new();
    let mut beyond = Beyond::default();
    for index in large {
        let body = body_of(module, index);
        let body = body.ok_or_else(|| Error::internal(format!("function {index} has no body")))?;
        let mut func = Function::new();
        func.signature = env.signature(module.func_type(index)?);
        let translated = translate::function(&env, &mut func, &mut builder, index, body)
            .map_err(|e| in_function(e, index, &module.func_name(index)))?;
        beyond.add(translated.beyond)?;
    }
    Ok(())
}

/// Of functions with so many bytes, one is made at a time.
const LARGE: usize = 64 << 10;

/// A thread makes functions of about so many bytes, or so many functions, before it hands them over:
/// each time costs a change of threads.
const BATCH_BYTES: usize = 16 << 10;
const BATCH_JOBS: usize = 256;

/// The jobs in pieces for the threads.
fn batches(module: &Module<'_>, jobs: &[Job], twins: &Twins) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (number, job) in jobs.iter().enumerate() {
        if let Kind::Body = job.kind
            && let Some(body) = body_of(module, job.index)
            && !twins.contains_key(&number)
        {
            bytes += body.as_bytes().len();
        }
        let end = number + 1;
        if bytes >= BATCH_BYTES || end - start == BATCH_JOBS || end == jobs.len() {
            batches.push(start..end);
            (start, bytes) = (end, 0);
        }
    }
    batches
}

/// The text of a function of the module's own.
fn body_of<'b, 'm>(module: &'b Module<'m>, index: u32) -> Option<&'b wp::FunctionBody<'m>> {
    let place = index.checked_sub(module.imported_funcs)?;
    module.bodies.get(place as usize)
}

/// For each job whose function has the text and the type of one before, that job's number: their code
/// is the same, and is made once. Compilers leave many such functions, as one for each type of a size.
type Twins = HashMap<usize, usize>;

/// The most bytes of text of functions whose code is kept for others like them, over all functions.
const TWINS_BYTES: usize = 8 << 20;

fn find_twins(module: &Module<'_>, jobs: &[Job]) -> Twins {
    let mut known: HashMap<(u32, &[u8]), usize> = HashMap::new();
    let mut twins = Twins::new();
    let (mut kept, mut bytes) = (BTreeSet::new(), 0);
    for (number, job) in jobs.iter().enumerate() {
        if let Kind::Body = job.kind
            && let Some(body) = body_of(module, job.index)
        {
            let first = *known.entry((job.ty, body.as_bytes())).or_insert(number);
            if first == number {
                continue;
            }
            if !kept.contains(&first) {
                if bytes + body.as_bytes().len() > TWINS_BYTES {
                    continue;
                }
                bytes += body.as_bytes().len();
                kept.insert(first);
            }
            twins.insert(number, first);
        }
    }
    twins
}

/// Functions that have others like them: how many of these are still to come, and what has been made.
struct Originals<'m> {
    module: &'m Module<'m>,
    made: HashMap<usize, (usize, Option<Made>)>,
}

impl<'m> Originals<'m> {
    fn new(module: &'m Module<'m>, twins: &Twins) -> Originals<'m> {
        let mut made: HashMap<usize, (usize, Option<Made>)> = HashMap::new();
        for &first in twins.values() {
            made.entry(first).or_default().0 += 1;
        }
        Originals { module, made }
    }

    /// Keeps what was made, if there are others like it.
    fn keep(&mut self, number: usize, made: &Made) {
        if let Some((_, kept)) = self.made.get_mut(&number) {
            *kept = Some(made.clone());
        }
    }

    /// The function of a job, which is like that of the job `first`.
    fn copy(&mut self, job: &Job, first: usize) -> Option<Made> {
        let (left, kept) = self.made.get_mut(&first)?;
        *left -= 1;
        let made = match left {
            0 => kept.take()?,
            _ => kept.clone()?,
        };
        let start = |index: u32| Some(body_of(self.module, index)?.range().start as u32);
        let distance = start(job.index)?.wrapping_sub(start(made.job.index)?);
        Some(Made {
            job: *job,
            first_place: made.first_place.wrapping_add(distance),
            translate_ns: 0,
            codegen_ns: 0,
            ..made
        })
    }
}

/// Compiles a module that has passed verification.
pub(crate) fn module(
    mut checked: Checked<'_>,
    options: &Options,
    work: &Work<'_>,
) -> Result<Compiled> {
    let isa = isa::build(options.cpu)?;
    let added = Added::to(&mut checked, options);
    let started = Instant::now();
    // What debug information says is for people: none makes a module better or worse.
    let source = match options.lines {
        true => debug::Source::read(&checked.module),
        false => Ok(None),
    };
    let (source, mut notes) = match source {
        Ok(source) => (source, Vec::new()),
        Err(why) => (None, vec![why.to_string()]),
    };
    let debug_ns = started.elapsed().as_nanos() as u64;
    let mut env = environment(&checked, options, &added, &isa)?;
    env.lines = source.is_some();
    let module = env.module;
    let Added {
        defined,
        referents,
        entries,
        ..
    } = added;
    let mut jobs = Vec::new();
    let reached = |func: u32, kind| match checked.is_reached(func) {
        true => kind,
        false => Kind::LeftOut,
    };
    for index in module.imported_funcs..defined {
        let ty = module.func_types[index as usize];
        jobs.push(Job::new(index, ty, index, reached(index, Kind::Body)));
    }
    for (&func, thunk) in referents.iter().zip(defined..) {
        let ty = module.func_types[func as usize];
        jobs.push(Job::new(thunk, ty, func, reached(func, Kind::Thunk)));
    }
    let first = defined + referents.len() as u32;
    for (&func, entry) in entries.iter().zip(first..) {
        // The exported function may be a thunk, which has the type of the import that it stands
        // for.
        let stands_for = func.checked_sub(defined).map(|n| referents[n as usize]);
        let stands_for = stands_for.unwrap_or(func);
        let ty = module.func_types[stands_for as usize];
        jobs.push(Job::new(entry, ty, stands_for, Kind::Entry(func)));
    }
    if !options.sealed() {
        jobs.extend(trampolines(&env));
    }
    if env.exceptions.is_some() {
        let routines = Routine::made(options.sealed()).iter();
        jobs.extend(routines.map(|&routine| Job::routine(routine)));
    }
    let keeper = work.keeper;
    // Each large one takes up to hundreds of megabytes while it is made.
    let large: BTreeSet<u32> = checked.used.large.iter().copied().collect();
    let is_large = |job: &Job| {
        if let Kind::LeftOut = job.kind {
            return false;
        }
        let body = body_of(module, job.index);
        large.contains(&job.index) || body.is_some_and(|body| body.as_bytes().len() > LARGE)
    };
    let alone = Mutex::new(());
    let mut done = 0;
    let mut emitter = Emitter::new(&env);
    emitter.lines = source.map(debug::Maker::new);
    let twins = find_twins(module, &jobs);
    let mut originals = Originals::new(module, &twins);
    let batches = batches(module, &jobs, &twins);
    parallel::in_order(
        work.threads_for(module),
        batches.len(),
        || Generator::new(&env, &*isa, keeper),
        |generator, number| {
            let mut made = Vec::new();
            for number in batches[number].clone() {
                let job = &jobs[number];
                if twins.contains_key(&number) {
                    continue;
                }
                let alone = is_large(job).then(|| alone.lock());
                let function = generator.make(job);
                drop(alone);
                made.push(
                    function
                        .map_err(|e| in_function(e, job.index, &module.func_name(job.known_as)))?,
                );
            }
            Ok((number, made))
        },
        |(_, made)| made.iter().map(|made| made.piece.bytes()).sum(),
        |(number, made)| {
            let mut made = made.into_iter();
            for number in batches[number].clone() {
                let function = match twins.get(&number) {
                    Some(&first) => originals.copy(&jobs[number], first),
                    None => made.next(),
                };
                let function =
                    function.ok_or_else(|| Error::internal("a function has not been made"))?;
                originals.keep(number, &function);
                emitter.place(function)?;
                done += 1;
                if let Some(progress) = work.progress {
                    progress(done, jobs.len());
                }
            }
            Ok(())
        },
    )?;
    if env.exceptions.is_some() {
        emitter.linker.append(Routine::Resume, &translate::RESUME);
    }
    let lines = emitter
        .lines
        .take()
        .map_or(Ok(Vec::new()), debug::Maker::finish);
    let lines = lines.unwrap_or_else(|why| {
        notes.push(why.to_string());
        Vec::new()
    });
    if !options.tests() {
        notes.push("without checks: only a system that was started with --measure runs it".into());
    }
    let (code, mut meta, mut stats) = emitter.finish()?;
    stats.debug_ns = debug_ns;
    let Checked {
        manifest,
        contracts,
        initial,
        kernel_memory,
        ..
    } = checked;
    (meta.data, meta.initial) = (initial.segments, initial.runs);
    meta.further_initial = initial.further_runs;
    meta.kernel_memory = kernel_memory;
    if options.sealed() {
        Counts::of_image(&meta, &manifest, code.len(), initial.bytes.len())
            .check()
            .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image has {}", e.message)))?;
    }
    Ok(Compiled {
        code,
        data: initial.bytes,
        meta,
        manifest,
        contracts,
        lines,
        notes,
        stats,
    })
}

/// Finds the imported functions that are used as values or exported, and replaces those uses by
/// thunks, which are functions of the module's own, numbered after the defined ones: in a sealed
/// image an import is not a function that something could refer to. The imported functions, in the
/// order of their thunks.
fn take_referents(module: &mut Module<'_>) -> Vec<u32> {
    let imported = module.imported_funcs;
    let mut places: Vec<&mut u32> = Vec::new();
    for export in &mut module.exports {
        if let ExportKind::Func(func) = &mut export.kind {
            places.push(func);
        }
    }
    let items = module.elements.iter_mut().flat_map(|e| &mut e.items);
    let tables = module.table_values.iter_mut().map(|(_, value)| value);
    for value in items.chain(&mut module.global_values).chain(tables) {
        if let ConstExpr::RefFunc(func) = value {
            places.push(func);
        }
    }
    places.extend(&mut module.start);
    places.retain(|func| **func < imported);
    let referents: BTreeSet<u32> = places.iter().map(|func| **func).collect();
    let defined = module.func_types.len() as u32;
    let thunks: HashMap<u32, u32> = referents
        .iter()
        .zip(defined..)
        .map(|(&func, thunk)| (func, thunk))
        .collect();
    for place in places {
        if let Some(&thunk) = thunks.get(place) {
            *place = thunk;
        }
    }
    referents.into_iter().collect()
}

/// Finds the functions that the kernel calls, and puts functions by the kernel's convention in
/// their places, whose indices start with `first`. Those that they call, in the same order.
fn take_entries(module: &mut Module<'_>, first: u32) -> Vec<u32> {
    let mut entries = Vec::new();
    let mut take = |func: &mut u32| {
        entries.push(*func);
        *func = first + entries.len() as u32 - 1;
    };
    for name in [EXPORT_MAIN, EXPORT_THREAD] {
        let export = module.exports.iter_mut().find(|e| e.name == name);
        if let Some(ExportKind::Func(func)) = export.map(|e| &mut e.kind) {
            take(func);
        }
    }
    module.start.as_mut().map(take);
    entries
}

/// Tables that nothing can grow: a sealed module's own, without a `table.grow` in its code.
fn fixed_tables(checked: &Checked<'_>, options: &Options) -> Vec<bool> {
    let tables = 0..checked.module.tables.len() as u32;
    tables
        .map(|table| options.sealed() && !checked.used.grown_tables.contains(&table))
        .collect()
}

/// The functions through which those outside call an open module's.
fn trampolines(env: &Env<'_>) -> impl Iterator<Item = Job> {
    let exports = env.module.exports.iter().filter_map(|e| match e.kind {
        ExportKind::Func(func) => Some(func),
        _ => None,
    });
    // By the kernel's convention, a start function can be called as it is.
    let start = env.module.start.filter(|_| env.options.tail_calls);
    let exported: BTreeSet<u32> = exports.chain(start).collect();
    exported.into_iter().map(Job::trampoline)
}

/// Places functions in the image, one after the other.
struct Emitter<'e> {
    env: &'e Env<'e>,
    linker: Linker,
    funcs: Vec<Func>,
    trampolines: Vec<(u32, u32)>,
    /// The image's lines, where the module has debug information.
    lines: Option<debug::Maker>,
    beyond: Beyond,
    stats: Stats,
}

impl<'e> Emitter<'e> {
    fn new(env: &'e Env<'e>) -> Emitter<'e> {
        Emitter {
            env,
            linker: Linker::default(),
            funcs: Vec::new(),
            trampolines: Vec::new(),
            lines: None,
            beyond: Beyond::default(),
            stats: Stats::default(),
        }
    }

    /// Places a function behind the others.
    fn place(&mut self, made: Made) -> Result<()> {
        let Made { job, piece, .. } = &made;
        let placed = match job.kind {
            Kind::LeftOut => self.linker.left_out().map(|at| (at, 0)),
            _ => self.linker.add(piece, &made.names),
        };
        let placed = placed.map_err(|e| {
            let name = self.env.module.func_name(job.known_as);
            in_function(e, job.index, &name)
        });
        let (offset, size) = placed?;
        self.beyond.add(made.translated.beyond)?;
        self.stats.instructions += made.translated.instructions;
        self.stats.translate_ns += made.translate_ns;
        self.stats.codegen_ns += made.codegen_ns;
        if !matches!(job.kind, Kind::LeftOut) {
            self.keep_lines(job.index, offset, &made);
        }
        match job.kind {
            Kind::Trampoline => self.trampolines.push((job.index, offset)),
            // Which no table of the image names.
            Kind::Routine(routine) => self.linker.routine(routine, offset),
            _ => {
                match job.kind {
                    Kind::LeftOut => self.stats.left_out += 1,
                    _ => self.stats.functions += 1,
                }
                self.stats.kept += usize::from(made.kept);
                self.funcs.push(Func {
                    ty: job.ty,
                    offset,
                    size,
                    name: self.env.module.func_name(job.known_as).into(),
                });
            }
        }
        Ok(())
    }

    /// Takes over where the code of the function comes from that was placed at `start`.
    fn keep_lines(&mut self, index: u32, start: u32, made: &Made) {
        let Some(lines) = &mut self.lines else {
            return;
        };
        let module = self.env.module;
        let body = body_of(module, index);
        let address = body.map(|body| (body.range().start - module.code_start) as u32);
        let places = made.piece.places.iter();
        let places = places.map(|&(at, place)| (at, made.first_place.wrapping_add(place)));
        lines.function(start, address, places);
    }

    fn finish(mut self) -> Result<(Vec<u8>, Meta, Stats)> {
        let module = self.env.module;
        let options = self.env.options;
        let linked = self.linker.finish(|func| {
            let defined = func.checked_sub(module.imported_funcs)?;
            self.funcs.get(defined as usize).map(|f| f.offset)
        })?;
        self.stats.code_bytes = linked.code.len();
        self.stats.wasm_bytes = module
            .bodies
            .iter()
            .map(|b| b.range())
            .map(|r| (r.end - r.start) as usize)
            .sum();
        let own = |imported: u32| imported as usize..;
        let memories = &module.memories[own(module.imported_memories)];
        let meta = Meta {
            abi_version: sing_abi::ABI_VERSION,
            memory_mode: options.memory_mode,
            checks: options.checks,
            linkage: options.linkage,
            kernel_memory: 0,
            cpu_features: options
                .cpu
                .features()
                .iter()
                .map(ToString::to_string)
                .collect(),
            layout: self.env.layout,
            types: module.types.clone(),
            canonical: self.env.canonical.clone(),
            imports: module.imports.clone(),
            funcs: self.funcs,
            memory: memories.first().copied(),
            further: memories.iter().skip(1).copied().collect(),
            tables: module.tables[own(module.imported_tables)].to_vec(),
            table_values: module.table_values.clone(),
            globals: module.globals[own(module.imported_globals)]
                .iter()
                .copied()
                .zip(module.global_values.iter().copied())
                .collect(),
            exports: module
                .exports
                .iter()
                .filter(|e| linked_by_name(e.kind, options))
                .cloned()
                .collect(),
            start: module.start,
            elements: module.elements.clone(),
            data: Vec::new(),
            initial: Vec::new(),
            further_initial: Vec::new(),
            traps: linked.traps.into_iter().collect(),
            max_frame: linked.max_frame,
            catching: linked.catching.filter(|_| !options.sealed()),
            trampolines: self.trampolines,
            steps: module.steps.clone(),
            tags: match options.sealed() {
                true => Vec::new(),
                false => module.tags[own(module.imported_tags)].to_vec(),
            },
        };
        Ok((linked.code, meta, self.stats))
    }
}

/// Whether an image names this among its exports: nothing links to the tags of a sealed one.
fn linked_by_name(kind: ExportKind, options: &Options) -> bool {
    !options.sealed() || !matches!(kind, ExportKind::Tag(_))
}

fn in_function(e: Error, index: u32, name: &str) -> Error {
    match e.place {
        Some(Place::Function { .. }) => e,
        _ => {
            let offset = e.offset().unwrap_or(0);
            e.at(Place::Function {
                index,
                name: Some(name.into()),
                offset,
            })
        }
    }
}
