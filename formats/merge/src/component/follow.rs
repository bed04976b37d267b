//! Following what a module imports: through instances, aliases and the shim to the component's own imports,
//! or to a function of one of its modules.

use super::index::Index;
use super::read::{Component, CoreFunction, CoreInstance, Item};
use super::{Entry, Role, Wanted};
use crate::WASI;
use crate::parts::Parts;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use wasmparser as wp;

/// How many steps an import is followed.
pub(super) const STEPS: usize = 100;

/// A function that an instance of a module exports: the instance, and the function's number in its module.
pub(super) type Export = (u32, u32);

/// Bytes of the name of an interface and of a function of it, and more than any has: each import may have them
/// once more.
const LONGEST: usize = 4096;
/// Why a component cannot run in which a module starts with something else.
pub(super) const OF_OTHER_START: &str = "starts with a function that has parameters or results";

/// Whether a module can start with a function of this type.
pub(super) fn is_start(ty: &wp::FuncType) -> bool {
    ty.params().is_empty() && ty.results().is_empty()
}

/// Whether a function of this type can make room: for what is at an address, of so many bytes, by an alignment,
/// so many bytes.
pub(super) fn makes_room(ty: &wp::FuncType) -> bool {
    ty.params() == [wp::ValType::I32; 4] && ty.results() == [wp::ValType::I32]
}

/// A name of an interface and one of a function, if they are not too long.
fn named<'a>(interface: &'a str, name: &'a str) -> Result<(&'a str, &'a str), String> {
    if interface.len() + name.len() > LONGEST {
        return Err(format!("has a name of more than {LONGEST} bytes"));
    }
    Ok((interface, name))
}

/// Where a function of a module comes from.
#[derive(Clone, Debug)]
pub(super) enum Target<'a> {
    Interface {
        interface: &'a str,
        name: Cow<'a, str>,
        /// What makes room for what it answers.
        room: Option<Export>,
    },
    /// This instance exports it, the program or an adapter: by this name, and its number there.
    Of(u32, &'a str, u32),
}

/// A component, while it is lowered.
pub(super) struct Lowering<'c, 'a> {
    pub component: &'c Component<'a>,
    pub index: &'c Index<'a>,
    pub roles: &'c [Option<Role<'a>>],
    /// The instance of the program.
    pub instance: u32,
    /// All instances that have a part of the program.
    pub members: BTreeSet<u32>,
    pub realloc: Option<Export>,
    /// The instances of adapters that the program does not call by a name of preview 1.
    pub adapters: BTreeSet<u32>,
    pub reasons: Vec<String>,
    /// The component's functions that were followed, and where each comes from: several imports may be one of them.
    pub known: HashMap<u32, Result<Target<'a>, String>>,
}

impl<'a> Lowering<'_, 'a> {
    /// What each import of the program means.
    pub fn imports(&mut self, program: &Parts<'a>) -> Vec<Wanted<'a>> {
        let imports: Vec<(&'a str, &'a str, bool)> = (program.imports.iter())
            .map(|i| (i.module, i.name, crate::imports::is_function(i)))
            .collect();
        let wanted = imports.into_iter().map(|(module, name, function)| {
            if !function {
                return Wanted::Foreign;
            }
            match self.given(self.instance, module, name, STEPS) {
                Ok(Target::Interface {
                    interface,
                    name,
                    room,
                }) => match room.or(self.realloc) {
                    room if self.realloc.is_none_or(|known| Some(known) == room) => {
                        self.realloc = room;
                        Wanted::Interface(interface, name)
                    }
                    _ => Wanted::Wrong(
                        "is called with a function that makes room which is not the only one"
                            .into(),
                    ),
                },
                Ok(Target::Of(adapter, name, _))
                    if adapter != self.instance && WASI.contains(&module) =>
                {
                    self.adapters.remove(&adapter);
                    Wanted::of_wasi(module, name)
                }
                Ok(Target::Of(..)) => {
                    Wanted::Wrong("is a function of another module of the component".into())
                }
                Err(why) => Wanted::Wrong(why),
            }
        });
        wanted.collect()
    }

    /// The program's functions with which other modules start.
    pub fn starts(&mut self, program: &Parts<'a>) -> Vec<u32> {
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
                Ok(Target::Of(number, _, function)) if number == self.instance => {
                    match program.function_type(function) {
                        Some(ty) if is_start(ty) => starts.push(function),
                        _ => self.reason(OF_OTHER_START),
                    }
                }
                Ok(_) | Err(_) => {
                    self.reason("starts with a function that is not its program's own")
                }
            }
        }
        starts
    }

    /// The program's function that makes room.
    pub fn room(&mut self, program: &Parts<'a>) -> Option<u32> {
        let (_, function) = self.realloc?;
        let makes = program.function_type(function).is_some_and(makes_room);
        if !makes {
            self.reason("is called with a function that makes room of another type");
        }
        makes.then_some(function)
    }

    pub fn reason(&mut self, reason: &str) {
        if !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.into());
        }
    }

    /// What an instance of a module is given under this name.
    pub fn given(
        &mut self,
        instance: u32,
        module: &str,
        name: &str,
        steps: usize,
    ) -> Result<Target<'a>, String> {
        let from = self.from(instance, module).ok_or_else(nowhere)?;
        self.exported(from, name, steps)
    }

    /// The instance that an instance of a module is given under this name.
    pub fn from(&self, instance: u32, module: &str) -> Option<u32> {
        let CoreInstance::Module(..) = self.component.core_instances.get(instance as usize)? else {
            return None;
        };
        let names = self.index.instances.get(instance as usize)?;
        names.get(module).copied()
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
                    Some(Some(Role::Adapter)) => Ok(Target::Of(instance, name, *function)),
                    _ if self.members.contains(&instance) => {
                        Ok(Target::Of(instance, name, *function))
                    }
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
        if let Some(known) = self.known.get(&function) {
            return known.clone();
        }
        let found = self.followed(function, steps);
        self.known.insert(function, found.clone());
        found
    }

    fn followed(&mut self, function: u32, steps: usize) -> Result<Target<'a>, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        let component = self.component;
        match component.core_functions.get(function as usize) {
            Some(CoreFunction::Lowered(function, options)) => {
                let room = self.options(options, steps)?;
                let (interface, name) = self.function(*function, steps)?;
                Ok(Target::Interface {
                    interface,
                    name: name.into(),
                    room,
                })
            }
            Some(CoreFunction::Drop(resource)) => {
                let (interface, name) = self.resource(*resource, steps)?;
                Ok(Target::Interface {
                    interface,
                    name: format!("[resource-drop]{name}").into(),
                    room: None,
                })
            }
            Some(CoreFunction::Export(instance, name)) => self.exported(*instance, name, steps),
            Some(CoreFunction::Builtin(what)) => {
                Err(format!("needs {what}, which this system does not have"))
            }
            None => Err(nowhere()),
        }
    }

    /// Looks at how a function is lowered: by the program's memory and its function that makes room.
    /// The latter.
    fn options(
        &mut self,
        options: &[wp::CanonicalOption],
        steps: usize,
    ) -> Result<Option<Export>, String> {
        let mut room = None;
        for option in options {
            match option {
                wp::CanonicalOption::UTF8 | wp::CanonicalOption::PostReturn(_) => {}
                wp::CanonicalOption::Memory(memory) => {
                    let memory = self.component.core_memories.get(*memory as usize);
                    if memory.is_none_or(|(instance, _)| !self.members.contains(instance)) {
                        return Err("is called with another memory than the program's".into());
                    }
                }
                wp::CanonicalOption::Realloc(function) => match self.target(*function, steps)? {
                    Target::Of(instance, _, number) if self.members.contains(&instance) => {
                        room = Some((instance, number));
                    }
                    _ => {
                        return Err(
                            "is called with a function that makes room which is not the program's"
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
        Ok(room)
    }

    /// The interface from which a function of the component comes, and its name there.
    fn function(&self, function: u32, steps: usize) -> Result<(&'a str, &'a str), String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        match self.component.functions.get(function as usize) {
            Some(Item::Of(instance, name)) => named(self.interface(*instance, steps)?, name),
            Some(Item::Same(function)) => self.function(*function, steps),
            Some(Item::Imported(name)) => {
                let (_, name) = named("", name)?;
                Err(format!(
                    "the component imports the function {name} of no interface"
                ))
            }
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
            Some(Item::Of(instance, name)) => named(self.interface(*instance, steps)?, name),
            Some(Item::Same(ty)) => self.resource(*ty, steps),
            _ => Err("drops a resource of the component's own".into()),
        }
    }

    /// The program's function behind one that an exported interface has.
    pub fn entry(&mut self, entry: &Entry) -> Option<Target<'a>> {
        let mut exports = self.component.exports.iter();
        let (_, _, instance) = *exports.find(|(exported, kind, _)| {
            exported.starts_with(entry.interface) && *kind == wp::ComponentExternalKind::Instance
        })?;
        let found = self.lifted(instance, entry.name, STEPS);
        match found.and_then(|core| self.target(core, STEPS)) {
            Ok(target @ Target::Of(..)) => Some(target),
            Ok(Target::Interface { .. }) | Err(_) => {
                let reason = format!("its {} is no function of the program", entry.name);
                self.reason(&reason);
                None
            }
        }
    }

    /// Whether a function of an instance, which is not the program's, calls the program's `_start`, itself or
    /// by functions of its own module, and nothing else of the program's, but for what makes room: adapters get
    /// their state's room so. What does more cannot be left out for `_start`.
    pub fn only_starts(
        &mut self,
        program: &Parts<'a>,
        modules: &[Option<Parts<'a>>],
        instance: u32,
        function: u32,
    ) -> bool {
        let Some(begin) = program.exported("_start") else {
            return false;
        };
        let module = match self.component.core_instances.get(instance as usize) {
            Some(CoreInstance::Module(module, _)) => modules.get(*module as usize),
            _ => None,
        };
        let Some(Some(module)) = module else {
            return false;
        };
        let imports = module.imports.iter();
        let imports: Vec<_> = imports.filter(|i| crate::imports::is_function(i)).collect();
        let own = |import: &&wp::Import<'_>| match self.given(
            instance,
            import.module,
            import.name,
            STEPS,
        ) {
            Ok(Target::Of(number, _, function)) if number == self.instance => Some(function),
            _ => None,
        };
        let own: Vec<Option<u32>> = imports.iter().map(own).collect();
        let (mut seen, mut starts) = (BTreeSet::from([function]), false);
        let mut next = vec![function];
        while let Some(function) = next.pop() {
            if let Some(&own) = own.get(function as usize) {
                let others = |own| program.function_type(own).is_none_or(|ty| !makes_room(ty));
                match own {
                    Some(own) if own == begin => starts = true,
                    Some(own) if others(own) => return false,
                    _ => {}
                }
                continue;
            }
            let Some(body) = module.bodies.get(function as usize - own.len()) else {
                continue;
            };
            let operators = body.get_operators_reader().into_iter().flatten().flatten();
            let called = operators.filter_map(|operator| match operator {
                wp::Operator::Call { function_index } => Some(function_index),
                _ => None,
            });
            next.extend(called.filter(|function| seen.insert(*function)));
        }
        starts
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

    /// Whether a function has the type which an entry has.
    pub fn typed(&mut self, ty: Option<&wp::FuncType>, entry: &Entry) -> bool {
        let typed =
            ty.is_some_and(|ty| ty.params() == entry.params && ty.results() == entry.results);
        if !typed {
            let name = entry.name;
            let reason = format!("its {name} has other parameters or results than that of WASI");
            self.reason(&reason);
        }
        typed
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

pub(super) fn nowhere() -> String {
    "leads nowhere in the component".into()
}
