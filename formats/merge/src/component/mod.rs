//! A component of one core module, lowered: the module, with what each of its imports means.
//!
//! Tools make a component of a program like this: the program's module; a shim and fix-ups around it
//! (`shim.rs`), since what it calls needs its memory; a module that starts its `_initialize`; perhaps an
//! adapter between WASI preview 1 and 0.2. Of these only the program's module stays. What it imports is followed through instances,
//! aliases and the shim to the component's own imports, by which the adapter of this system has them
//! (`wasi:io/streams@0.2.6`, `[method]output-stream.write`). Names within the component mean nothing.
//!
//! Invariants:
//! - The lowered module is, to the byte, one of the component's.
//! - Whatever does not lead where it should is a reason not to run it, and all reasons are collected.

mod index;
mod read;
mod shim;
#[cfg(test)]
mod tests;

use crate::parts::Parts;
use crate::{Error, UNSTABLE, WASI};
use index::Index;
use read::{Component, CoreFunction, CoreInstance, Item};
use std::borrow::Cow;
use std::collections::BTreeSet;
use wasmparser as wp;

/// How many steps an import is followed.
const STEPS: usize = 100;

/// The interfaces by which a component begins.
const RUN: &str = "wasi:cli/run@0.2.";
const HANDLER: &str = "wasi:http/incoming-handler@0.2.";

/// What an import of a program's module means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    /// A function of WASI preview 1.
    Preview1(&'a str),
    /// A function of the version before, `wasi_unstable`.
    Unstable(&'a str),
    /// A function of an interface, with its version.
    Interface(&'a str, Cow<'a, str>),
    /// A function of another module, as the module itself has it.
    Foreign,
    /// Nothing that there is.
    Wrong(String),
}

impl<'a> Wanted<'a> {
    /// A function of a module with one of the names in [`WASI`].
    pub fn of_wasi(module: &str, name: &'a str) -> Wanted<'a> {
        match module == UNSTABLE {
            true => Wanted::Unstable(name),
            false => Wanted::Preview1(name),
        }
    }
}

/// A component, lowered.
#[derive(Default)]
pub(crate) struct Lowered<'a> {
    pub program: Parts<'a>,
    /// What each import means.
    pub wanted: Vec<Wanted<'a>>,
    /// The program's function that makes room in its memory.
    pub realloc: Option<u32>,
    /// The program's functions with which other modules of the component start, in their order.
    pub starts: Vec<u32>,
    /// The function of `wasi:cli/run`.
    pub run: Option<u32>,
    /// The function of `wasi:http/incoming-handler`.
    pub handle: Option<u32>,
    /// Whether it begins as a program of preview 1 does.
    pub begins: bool,
    /// What it exports.
    pub exports: Vec<&'a str>,
    /// Why it cannot run.
    pub reasons: Vec<String>,
}

/// What a module of a component is for.
enum Role<'a> {
    /// The slot that each function calls.
    Shim(Vec<u32>),
    /// The imported function in each slot, and the one with which they start.
    Fixups {
        slots: Vec<shim::Import<'a>>,
        start: Option<shim::Import<'a>>,
    },
    /// It starts with this imported function, and does nothing else.
    Start(shim::Import<'a>),
    /// It works in another module's memory. If the program calls it by a name of preview 1, it is
    /// between preview 1 and 0.2.
    Adapter,
    Program,
}

/// Where a function of a module comes from.
enum Target<'a> {
    Interface(&'a str, Cow<'a, str>),
    /// The program exports it.
    Own(&'a str),
    /// The adapter that is this instance exports it.
    Adapter(u32, &'a str),
}

/// Lowers a component, which is valid.
pub(crate) fn lower<'a>(bytes: &'a [u8]) -> Result<Lowered<'a>, Error> {
    let component = Component::read(bytes)?;
    let mut modules = Vec::new();
    for module in &component.modules {
        modules.push(match module {
            Item::Bytes(bytes) => Some(Parts::take(bytes)?),
            _ => None,
        });
    }
    let roles: Vec<Option<Role>> = modules
        .iter()
        .map(|module| module.as_ref().map(role))
        .collect();
    let mut reasons = Vec::new();
    let index = Index::new(&component, &modules, &roles);
    let mut programs: Vec<(u32, u32)> = Vec::new();
    let mut adapters = BTreeSet::new();
    for (number, instance) in (0..).zip(&component.core_instances) {
        let CoreInstance::Module(module, _) = instance else {
            continue;
        };
        match roles.get(*module as usize) {
            Some(None | Some(Role::Program)) => programs.push((number, *module)),
            Some(Some(Role::Adapter)) => {
                adapters.insert(number);
            }
            _ => {}
        }
    }
    let inner = component.components.iter();
    let composed = inner.filter(|c| has_modules(c)).count();
    if composed > 0 {
        reasons.push(format!(
            "is composed of {composed} component{} of their own modules and memories; a component of one module \
             can run: link its parts into one program instead",
            if composed == 1 { "" } else { "s" },
        ));
    }
    if component.starts {
        reasons.push("has values or a start function of the component model".into());
    }
    let Some(&(instance, module)) = programs.first() else {
        if composed == 0 {
            reasons.push("has no module in which a program could be".into());
        }
        return Ok(Lowered {
            reasons,
            ..Lowered::default()
        });
    };
    let program = modules.get_mut(module as usize).and_then(Option::take);
    let Some(program) = program else {
        reasons.push("imports the module that is its program".into());
        return Ok(Lowered {
            reasons,
            ..Lowered::default()
        });
    };
    let mut lowering = Lowering {
        component: &component,
        index: &index,
        roles: &roles,
        program: &program,
        instance,
        realloc: None,
        adapters,
        reasons,
    };
    let wanted = lowering.imports();
    let (mut run, mut handle, mut begins) = (None, None, false);
    if let Some(target) = lowering.entry(RUN, "run") {
        match target {
            Entry::Adapter => begins = true,
            Entry::Own(function) => run = lowering.typed(function, "run", &[], &[wp::ValType::I32]),
        }
    }
    if let Some(Entry::Own(function)) = lowering.entry(HANDLER, "handle") {
        handle = lowering.typed(function, "handle", &[wp::ValType::I32; 2], &[]);
    }
    let starts = lowering.starts();
    let (realloc, mut reasons) = (lowering.realloc, lowering.reasons);
    let several = programs.len() + index.astray + lowering.adapters.len();
    if several > 1 {
        reasons.push(format!(
            "has {several} instances of modules that work together (a program linked from shared libraries, or of \
             several languages); a component of one module can run: link it statically"
        ));
    }
    Ok(Lowered {
        wanted,
        starts,
        realloc: realloc.and_then(|name| program.exported(name)),
        run,
        handle,
        begins,
        exports: component.exports.iter().map(|(name, ..)| *name).collect(),
        reasons,
        program,
    })
}

fn role<'a>(module: &Parts<'a>) -> Role<'a> {
    if let Some(slots) = shim::slots(module) {
        return Role::Shim(slots);
    }
    if let Some(slots) = shim::filled(module) {
        let start = shim::start(module);
        return Role::Fixups { slots, start };
    }
    if let Some(start) = shim::only_starts(module) {
        return Role::Start(start);
    }
    let imports_memory = |i: &wp::Import<'_>| matches!(i.ty, wp::TypeRef::Memory(_));
    match module.memories.is_empty() && module.imports.iter().any(imports_memory) {
        true => Role::Adapter,
        false => Role::Program,
    }
}

/// Whether a component within another has modules.
fn has_modules(component: &Item<'_>) -> bool {
    let Item::Bytes(bytes) = component else {
        return false;
    };
    let mut payloads = wp::Parser::new(0).parse_all(bytes);
    payloads.any(|payload| matches!(payload, Ok(wp::Payload::ModuleSection { .. })))
}

enum Entry {
    Own(u32),
    Adapter,
}

struct Lowering<'c, 'a> {
    component: &'c Component<'a>,
    index: &'c Index<'a>,
    roles: &'c [Option<Role<'a>>],
    program: &'c Parts<'a>,
    /// The instance of the program.
    instance: u32,
    realloc: Option<&'a str>,
    /// The instances of adapters that the program does not call by a name of preview 1.
    adapters: BTreeSet<u32>,
    reasons: Vec<String>,
}

impl<'a> Lowering<'_, 'a> {
    /// What each import of the program means.
    fn imports(&mut self) -> Vec<Wanted<'a>> {
        let imports: Vec<(&'a str, &'a str, bool)> = (self.program.imports.iter())
            .map(|i| (i.module, i.name, crate::imports::is_function(i)))
            .collect();
        let wanted = imports.into_iter().map(|(module, name, function)| {
            if !function {
                return Wanted::Foreign;
            }
            match self.given(self.instance, module, name, STEPS) {
                Ok(Target::Interface(interface, name)) => Wanted::Interface(interface, name),
                Ok(Target::Adapter(adapter, name)) if WASI.contains(&module) => {
                    self.adapters.remove(&adapter);
                    Wanted::of_wasi(module, name)
                }
                Ok(Target::Adapter(..) | Target::Own(_)) => {
                    Wanted::Wrong("is a function of another module of the component".into())
                }
                Err(why) => Wanted::Wrong(why),
            }
        });
        wanted.collect()
    }

    /// The program's functions with which other modules start.
    fn starts(&mut self) -> Vec<u32> {
        let mut starts = Vec::new();
        let component = self.component;
        for (number, instance) in (0..).zip(&component.core_instances) {
            let CoreInstance::Module(module, _) = instance else {
                continue;
            };
            let (module, name) = match self.roles.get(*module as usize) {
                Some(Some(
                    Role::Start(start)
                    | Role::Fixups {
                        start: Some(start), ..
                    },
                )) => *start,
                _ => continue,
            };
            match self.given(number, module, name, STEPS) {
                Ok(Target::Own(name)) => {
                    let function = self.program.exported(name);
                    starts.extend(function.and_then(|f| self.typed(f, "start", &[], &[])));
                }
                Ok(_) | Err(_) => {
                    self.reason("starts with a function that is not its program's own")
                }
            }
        }
        starts
    }

    fn reason(&mut self, reason: &str) {
        if !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.into());
        }
    }

    /// What an instance of a module is given under this name.
    fn given(
        &mut self,
        instance: u32,
        module: &str,
        name: &str,
        steps: usize,
    ) -> Result<Target<'a>, String> {
        let names = match self.component.core_instances.get(instance as usize) {
            Some(CoreInstance::Module(..)) => self.index.instances.get(instance as usize),
            _ => None,
        };
        let from = names.and_then(|names| names.get(module));
        self.exported(*from.ok_or_else(nowhere)?, name, steps)
    }

    /// What a core instance exports.
    fn exported(&mut self, instance: u32, name: &str, steps: usize) -> Result<Target<'a>, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        let (component, index) = (self.component, self.index);
        match component.core_instances.get(instance as usize) {
            Some(CoreInstance::Things(_)) => {
                let names = index.instances.get(instance as usize);
                let function = names.and_then(|names| names.get(name));
                self.target(*function.ok_or_else(nowhere)?, steps)
            }
            Some(CoreInstance::Module(module, _)) => {
                let names = index.exports.get(*module as usize);
                let export = names.and_then(|names| names.get_key_value(name));
                let (name, function) = export.ok_or_else(nowhere)?;
                match self.roles.get(*module as usize) {
                    Some(Some(Role::Shim(slots))) => {
                        let slot = slots.get(*function as usize).ok_or_else(nowhere)?;
                        self.slot(instance, *slot, steps)
                    }
                    Some(Some(Role::Adapter)) => Ok(Target::Adapter(instance, name)),
                    _ if instance == self.instance => Ok(Target::Own(name)),
                    _ => Err("is a function of another module of the component".into()),
                }
            }
            None => Err(nowhere()),
        }
    }

    /// What fix-ups put into a slot of a shim's table.
    fn slot(&mut self, shim: u32, slot: u32, steps: usize) -> Result<Target<'a>, String> {
        let fixups = *self.index.fixups.get(&shim).ok_or_else(nowhere)?;
        let role = match self.component.core_instances.get(fixups as usize) {
            Some(CoreInstance::Module(module, _)) => self.roles.get(*module as usize),
            _ => None,
        };
        let Some(Some(Role::Fixups { slots, .. })) = role else {
            return Err(nowhere());
        };
        let (module, name) = *slots.get(slot as usize).ok_or_else(nowhere)?;
        self.given(fixups, module, name, steps)
    }

    /// Where a core function of the component comes from.
    fn target(&mut self, function: u32, steps: usize) -> Result<Target<'a>, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        let component = self.component;
        match component.core_functions.get(function as usize) {
            Some(CoreFunction::Lowered(function, options)) => {
                self.options(options, steps)?;
                self.function(*function, steps)
            }
            Some(CoreFunction::Drop(resource)) => {
                let (interface, name) = self.resource(*resource, steps)?;
                Ok(Target::Interface(
                    interface,
                    format!("[resource-drop]{name}").into(),
                ))
            }
            Some(CoreFunction::Export(instance, name)) => self.exported(*instance, name, steps),
            Some(CoreFunction::Builtin(what)) => {
                Err(format!("needs {what}, which this system does not have"))
            }
            None => Err(nowhere()),
        }
    }

    /// Looks at how a function is lowered: by the program's memory and its function that makes room.
    fn options(&mut self, options: &[wp::CanonicalOption], steps: usize) -> Result<(), String> {
        for option in options {
            match option {
                wp::CanonicalOption::UTF8 | wp::CanonicalOption::PostReturn(_) => {}
                wp::CanonicalOption::Memory(memory) => {
                    let memory = self.component.core_memories.get(*memory as usize);
                    if memory.is_none_or(|(instance, _)| *instance != self.instance) {
                        return Err("is called with another memory than the program's".into());
                    }
                }
                wp::CanonicalOption::Realloc(function) => match self.target(*function, steps)? {
                    Target::Own(name) if self.realloc.is_none_or(|known| known == name) => {
                        self.realloc = Some(name);
                    }
                    _ => {
                        return Err(
                            "is called with a function that makes room which is not the program's, or not the \
                             only one"
                                .into(),
                        );
                    }
                },
                wp::CanonicalOption::UTF16 | wp::CanonicalOption::CompactUTF16 => {
                    self.reason("has strings in UTF-16; here they are UTF-8");
                }
                wp::CanonicalOption::Async | wp::CanonicalOption::Callback(_) => {
                    self.reason(
                        "calls functions asynchronously (WASI 0.3); this system has WASI 0.2",
                    );
                }
                wp::CanonicalOption::Gc | wp::CanonicalOption::CoreType(_) => {
                    self.reason("passes values by garbage collection");
                }
            }
        }
        Ok(())
    }

    /// The interface from which a function of the component comes.
    fn function(&self, function: u32, steps: usize) -> Result<Target<'a>, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        match self.component.functions.get(function as usize) {
            Some(Item::Of(instance, name)) => {
                let interface = self.interface(*instance, steps)?;
                Ok(Target::Interface(interface, (*name).into()))
            }
            Some(Item::Same(function)) => self.function(*function, steps),
            Some(Item::Imported(name)) => Err(format!(
                "the component imports the function {name} of no interface"
            )),
            _ => Err("is a function of another component".into()),
        }
    }

    fn interface(&self, instance: u32, steps: usize) -> Result<&'a str, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        match self.component.instances.get(instance as usize) {
            Some(Item::Imported(name)) => Ok(name),
            Some(Item::Same(instance)) => self.interface(*instance, steps),
            _ => Err("is a function of another component".into()),
        }
    }

    fn resource(&self, ty: u32, steps: usize) -> Result<(&'a str, &'a str), String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        match self.component.types.get(ty as usize) {
            Some(Item::Of(instance, name)) => Ok((self.interface(*instance, steps)?, name)),
            Some(Item::Same(ty)) => self.resource(*ty, steps),
            _ => Err("drops a resource of the component's own".into()),
        }
    }

    /// The program's function behind one that an exported interface has.
    fn entry(&mut self, interface: &str, name: &str) -> Option<Entry> {
        let exports = self.component.exports.iter();
        let (_, _, instance) = *exports.clone().find(|(exported, kind, _)| {
            exported.starts_with(interface) && *kind == wp::ComponentExternalKind::Instance
        })?;
        let found = self.lifted(instance, name, STEPS);
        match found.and_then(|core| self.target(core, STEPS)) {
            Ok(Target::Own(export)) => {
                let function = self.program.exported(export)?;
                Some(Entry::Own(function))
            }
            Ok(Target::Adapter(adapter, _)) => {
                // It calls the program's `_start`.
                if self.program.exported("_start").is_some() {
                    self.adapters.remove(&adapter);
                }
                Some(Entry::Adapter)
            }
            Ok(Target::Interface(..)) | Err(_) => {
                let reason = format!("its {name} is no function of the program");
                self.reason(&reason);
                None
            }
        }
    }

    /// The core function behind a function of an instance.
    fn lifted(&mut self, instance: u32, name: &str, steps: usize) -> Result<u32, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        let component = self.component;
        let function = match component.instances.get(instance as usize) {
            Some(Item::Same(instance)) => return self.lifted(*instance, name, steps),
            Some(Item::Things(exports)) => exports
                .iter()
                .find(|e| e.name.name == name && e.kind == wp::ComponentExternalKind::Func)
                .map(|export| export.index),
            Some(Item::Made(inner, args)) => match component.components.get(*inner as usize) {
                Some(Item::Bytes(bytes)) => passed_on(bytes, name).and_then(|import| {
                    let arg = args.iter().find(|arg| arg.name == import)?;
                    (arg.kind == wp::ComponentExternalKind::Func).then_some(arg.index)
                }),
                _ => None,
            },
            _ => None,
        };
        let mut function = function.ok_or_else(nowhere)?;
        for _ in 0..steps {
            match component.functions.get(function as usize) {
                Some(Item::Same(other)) => function = *other,
                Some(Item::Lifted(core, options)) => {
                    if options.contains(&wp::CanonicalOption::Async) {
                        self.reason("is asynchronous (WASI 0.3); this system has WASI 0.2");
                    }
                    return Ok(*core);
                }
                _ => break,
            }
        }
        Err(nowhere())
    }

    /// A function that has the type which an entry has.
    fn typed(
        &mut self,
        function: u32,
        name: &str,
        params: &[wp::ValType],
        results: &[wp::ValType],
    ) -> Option<u32> {
        let ty = self.program.function_type(function);
        if ty.is_some_and(|ty| ty.params() == params && ty.results() == results) {
            return Some(function);
        }
        let reason = format!("its {name} has other parameters or results than that of WASI");
        self.reason(&reason);
        None
    }
}

/// The import of a component that it exports under this name, as it is.
fn passed_on<'a>(component: &'a [u8], name: &str) -> Option<&'a str> {
    let component = Component::read(component).ok()?;
    let mut exports = component.exports.iter();
    let (_, _, function) = exports
        .find(|(known, kind, _)| *known == name && *kind == wp::ComponentExternalKind::Func)?;
    let mut function = *function;
    for _ in 0..STEPS {
        match component.functions.get(function as usize)? {
            Item::Same(other) => function = *other,
            Item::Imported(import) => return Some(import),
            _ => return None,
        }
    }
    None
}

fn nowhere() -> String {
    "leads nowhere in the component".into()
}
