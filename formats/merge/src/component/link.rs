//! A component of several modules that work in one memory, made one module.
//!
//! Tools link libraries like this: one module has the memory, the table and globals; each library imports
//! these, the places of its data and functions, and what other libraries export. All of that is known here,
//! so the modules become one, in which what one imports of another has the number that it has there. What
//! is left to import are functions of interfaces, by their names; the shim and its fix-ups go, as ever.
//!
//! Invariants:
//! - Modules follow each other in the order of their instances: so do their segments, which are written in
//!   that order.
//! - No function of the component runs before all segments are written. A component in which one would is
//!   refused.

use super::follow::{Export, Lowering, STEPS, Target, nowhere};
use super::read::CoreInstance;
use super::room::Around;
use super::{ENTRIES, Entry, Role};
use crate::Error;
use crate::names::Names;
use crate::parts::{Parts, count};
use crate::renumber::{Renumber, Space};
use crate::sections::Sections;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use wasm_encoder as we;
use wasm_encoder::reencode::Reencode;
use wasmparser as wp;

/// A function of one of the modules: the module's place among the linked ones, and its number there.
pub(super) type Place = (usize, u32);

/// The linked module.
pub(super) struct Linked {
    pub module: Vec<u8>,
    /// Its functions of these names, as [`super::Lowered`] has them.
    pub starts: Vec<u32>,
    pub entries: Vec<Option<u32>>,
    pub realloc: Option<u32>,
}

/// A function that the linked module imports.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Import<'a> {
    interface: &'a str,
    name: Cow<'a, str>,
    /// The function that makes room for what it answers, by its place among them.
    pub room: Option<usize>,
}

/// What a function of a member is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Imported(usize),
    Of(Place),
}

/// One of the modules, instantiated.
pub(super) struct Member<'m, 'a> {
    instance: u32,
    pub parts: &'m Parts<'a>,
    /// What it imports of each kind in [`KINDS`], in the order of their numbers.
    imports: [Vec<&'m wp::Import<'a>>; KINDS.len()],
    /// What the functions are that it imports.
    functions: Vec<Function>,
    pub numbers: Renumber,
}

impl<'m, 'a> Member<'m, 'a> {
    fn new(instance: u32, parts: &'m Parts<'a>) -> Member<'m, 'a> {
        let mut imports: [Vec<_>; KINDS.len()] = Default::default();
        for import in &parts.imports {
            let kind = KINDS.iter().position(|kind| *kind == kind_of(import));
            imports[kind.unwrap_or(FUNCTIONS)].push(import);
        }
        Member {
            instance,
            parts,
            imports,
            functions: Vec::new(),
            numbers: Renumber::default(),
        }
    }
}

/// The kinds of things; functions are the first.
const KINDS: [wp::ExternalKind; 5] = [
    wp::ExternalKind::Func,
    wp::ExternalKind::Table,
    wp::ExternalKind::Memory,
    wp::ExternalKind::Global,
    wp::ExternalKind::Tag,
];
const FUNCTIONS: usize = 0;

fn kind_of(import: &wp::Import<'_>) -> wp::ExternalKind {
    match import.ty {
        wp::TypeRef::Func(_) | wp::TypeRef::FuncExact(_) => wp::ExternalKind::Func,
        wp::TypeRef::Table(_) => wp::ExternalKind::Table,
        wp::TypeRef::Memory(_) => wp::ExternalKind::Memory,
        wp::TypeRef::Global(_) => wp::ExternalKind::Global,
        wp::TypeRef::Tag(_) => wp::ExternalKind::Tag,
    }
}

/// What is exported, of a kind in [`KINDS`], by its name: its number.
type Exports<'a> = HashMap<(usize, &'a str), u32>;

fn exports<'a>(exports: &[wp::Export<'a>]) -> Exports<'a> {
    let numbered = exports.iter().filter_map(|export| {
        let kind = KINDS.iter().position(|kind| *kind == export.kind)?;
        Some(((kind, export.name), export.index))
    });
    numbered.collect()
}

/// Links the modules of a component. Without all that it needs there is no module, and the reasons say why.
pub(super) fn link<'a>(
    lowering: &mut Lowering<'_, 'a>,
    modules: &[Option<Parts<'a>>],
    entries: &[Option<Target<'a>>],
) -> Result<Option<Linked>, Error> {
    let mut members = Vec::new();
    let mut places = BTreeMap::new();
    let mut things = Vec::new();
    for (number, instance) in (0..).zip(&lowering.component.core_instances) {
        let module = match instance {
            CoreInstance::Module(module, _) => modules.get(*module as usize),
            CoreInstance::Things(of) => {
                things.push(exports(of));
                continue;
            }
        };
        let module = module.filter(|_| lowering.members.contains(&number));
        things.push(match module {
            Some(Some(parts)) => {
                places.insert(number, members.len());
                members.push(Member::new(number, parts));
                exports(&parts.exports)
            }
            Some(None) => return Err(Error::new("imports a module that is a part of it")),
            None => Exports::new(),
        });
    }
    let mut linker = Linker {
        lowering,
        members,
        places,
        things,
        imports: Vec::new(),
        known: HashMap::new(),
        rooms: Vec::new(),
    };
    linker.functions();
    let starts = linker.starts();
    linker.memories();
    let entries: Vec<Option<Function>> = (entries.iter().zip(&ENTRIES))
        .map(|(target, entry)| linker.entry(target.as_ref()?, entry))
        .collect();
    linker.numbers();
    if !linker.lowering.reasons.is_empty() {
        return Ok(None);
    }
    linker.write(&starts, &entries).map(Some)
}

/// The modules of a component, while they are linked.
pub(super) struct Linker<'l, 'c, 'm, 'a> {
    lowering: &'l mut Lowering<'c, 'a>,
    pub members: Vec<Member<'m, 'a>>,
    /// The place of each member, by its instance.
    places: BTreeMap<u32, usize>,
    /// What each instance exports.
    things: Vec<Exports<'a>>,
    /// What is left to import, by its type and the place of that.
    pub imports: Vec<(Import<'a>, &'m wp::FuncType, Place)>,
    /// The places of these.
    known: HashMap<(Import<'a>, &'m wp::FuncType), usize>,
    /// The functions that make room in the memory, which each import names for itself.
    pub rooms: Vec<Function>,
}

impl<'a> Linker<'_, '_, '_, 'a> {
    /// What each function is that a member imports.
    fn functions(&mut self) {
        for member in 0..self.members.len() {
            let instance = self.members[member].instance;
            let mut functions = Vec::new();
            for number in 0..self.members[member].imports[FUNCTIONS].len() {
                let import = self.members[member].imports[FUNCTIONS][number];
                let (wp::TypeRef::Func(ty) | wp::TypeRef::FuncExact(ty)) = import.ty else {
                    continue;
                };
                let given = (self.lowering).given(instance, import.module, import.name, STEPS);
                let found = given.and_then(|target| self.function(target, (member, ty)));
                match found {
                    Ok(function) => functions.push(function),
                    Err(why) => {
                        let reason = format!("{}.{}: {why}", import.module, import.name);
                        self.lowering.reason(&reason);
                    }
                }
            }
            self.members[member].functions = functions;
        }
    }

    /// The function that is meant, and for whose import, by its type.
    fn function(&mut self, target: Target<'a>, ty: Place) -> Result<Function, String> {
        let mut target = target;
        for _ in 0..STEPS {
            let (instance, export) = match target {
                Target::Interface {
                    interface,
                    name,
                    room,
                } => return self.imported(interface, name, room, ty),
                Target::Of(instance, export) => (instance, export),
            };
            let member = self.member(instance).ok_or_else(nowhere)?;
            let function = self.things.get(instance as usize);
            let function = function.and_then(|names| names.get(&(FUNCTIONS, export)));
            let function = *function.ok_or_else(nowhere)?;
            let imports = &self.members[member].imports[FUNCTIONS];
            let Some(import) = imports.get(function as usize) else {
                return Ok(Function::Of((member, function)));
            };
            // What it imports and passes on.
            target = (self.lowering).given(instance, import.module, import.name, STEPS)?;
        }
        Err(nowhere())
    }

    /// An import of the linked module: one for all who import the same.
    fn imported(
        &mut self,
        interface: &'a str,
        name: Cow<'a, str>,
        room: Option<Export<'a>>,
        place: Place,
    ) -> Result<Function, String> {
        let parts = self.members[place.0].parts;
        let ty = parts.type_of(place.1).ok_or_else(nowhere)?;
        let room = match room {
            Some((instance, export)) => {
                let function = self.function(Target::Of(instance, export), place)?;
                let known = self.rooms.iter().position(|room| *room == function);
                Some(known.unwrap_or_else(|| {
                    self.rooms.push(function);
                    self.rooms.len() - 1
                }))
            }
            None => None,
        };
        let import = Import {
            interface,
            name,
            room,
        };
        let next = self.imports.len();
        let known = *self.known.entry((import.clone(), ty)).or_insert(next);
        if known == next {
            self.imports.push((import, ty, place));
        }
        Ok(Function::Imported(known))
    }

    fn member(&self, instance: u32) -> Option<usize> {
        self.places.get(&instance).copied()
    }

    /// A function that is a member's own.
    fn found(&mut self, target: &Target<'a>) -> Option<Function> {
        let found = match target {
            Target::Of(..) => self.function(target.clone(), (0, 0)).ok(),
            Target::Interface { .. } => None,
        };
        if found.is_none() {
            self.lowering
                .reason("begins with a function that is not its program's own");
        }
        found
    }

    /// A function by which the component begins.
    fn entry(&mut self, target: &Target<'a>, entry: &Entry) -> Option<Function> {
        let found = self.found(target)?;
        let ty = match found {
            Function::Of((member, number)) => self.members[member].parts.function_type(number),
            Function::Imported(_) => None,
        };
        self.lowering.typed(ty, entry).then_some(found)
    }

    /// That the modules work in one memory.
    fn memories(&mut self) {
        let memories: usize = self.members.iter().map(|m| m.parts.memories.len()).sum();
        if memories > 1 {
            self.lowering.reason(&format!(
                "has {memories} memories in modules that work together (of several languages, or composed); \
                 modules that work in one memory can run: link it statically"
            ));
        }
    }

    /// The functions with which modules start, in the order of the instances; and that no segment is
    /// written behind one.
    fn starts(&mut self) -> Vec<Function> {
        let mut starts = Vec::new();
        let component = self.lowering.component;
        for (number, instance) in (0..).zip(&component.core_instances) {
            let CoreInstance::Module(module, _) = instance else {
                continue;
            };
            if let Some(member) = self.member(number) {
                let parts = self.members[member].parts;
                if !starts.is_empty() && (parts.data.is_some() || parts.elements.is_some()) {
                    self.lowering.reason(
                        "has a module that starts before the data of another one is there: link it statically",
                    );
                }
                if let Some(start) = parts.start {
                    let imported = self.members[member].functions.get(start as usize);
                    starts.push(imported.copied().unwrap_or(Function::Of((member, start))));
                }
                continue;
            }
            let roles = self.lowering.roles;
            if let Some(Some(
                Role::Start(start)
                | Role::Fixups {
                    start: Some(start), ..
                },
            )) = roles.get(*module as usize)
            {
                let given = self.lowering.given(number, start.0, start.1, STEPS);
                let found = given.ok().and_then(|target| self.found(&target));
                starts.extend(found);
            }
        }
        starts
    }

    /// The table, memory, global or tag that an instance has under a name.
    fn thing(&self, kind: usize, instance: u32, name: &str, steps: usize) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let component = self.lowering.component;
        let number = *self.things.get(instance as usize)?.get(&(kind, name))?;
        let Some(member) = self.member(instance) else {
            let (instance, name) = component.core(KINDS[kind])?.get(number as usize)?;
            return self.thing(kind, *instance, name, steps);
        };
        match self.members[member].imports[kind].get(number as usize) {
            Some(import) => {
                let from = self.lowering.from(instance, import.module)?;
                self.thing(kind, from, import.name, steps)
            }
            None => Some((member, number)),
        }
    }

    /// The numbers of all things in the linked module.
    fn numbers(&mut self) {
        let mut next = Renumber::default();
        let mut own = count(self.imports.len());
        for member in 0..self.members.len() {
            let parts = self.members[member].parts;
            let mut numbers = next.clone();
            let defined = [
                0,
                parts.tables.as_ref().map_or(0, |s| s.count()),
                count(parts.memories.len()),
                parts.globals.as_ref().map_or(0, |s| s.count()),
                parts.tags.as_ref().map_or(0, |s| s.count()),
            ];
            for (kind, defined) in (0..).zip(defined).skip(FUNCTIONS + 1) {
                for number in 0..self.members[member].imports[kind].len() {
                    let import = self.members[member].imports[kind][number];
                    let instance = self.members[member].instance;
                    let from = self.lowering.from(instance, import.module);
                    let place = from.and_then(|from| self.thing(kind, from, import.name, STEPS));
                    match place.filter(|(of, _)| *of < member) {
                        Some((of, number)) => {
                            let number = space(&mut self.members[of].numbers, kind).number(number);
                            space(&mut numbers, kind).imported.push(number);
                        }
                        None => {
                            let why = nowhere();
                            let reason = format!("{}.{}: {why}", import.module, import.name);
                            self.lowering.reason(&reason);
                        }
                    }
                }
                space(&mut next, kind).own += defined;
            }
            // Globals that never change, whose values later members may need.
            let globals = parts.globals.clone().into_iter().flatten().flatten();
            for (global, number) in globals.zip(numbers.globals.own..) {
                let value = numbers.value(&global.init_expr);
                if let Some(value) = value.filter(|_| !global.ty.mutable) {
                    next.constants.insert(number, value);
                }
            }
            next.types += count(parts.types.len());
            next.elements += parts.elements.as_ref().map_or(0, |s| s.count());
            next.data += parts.data.as_ref().map_or(0, |s| s.count());
            numbers.functions = (own..own + parts.defined()).collect();
            own += parts.defined();
            self.members[member].numbers = numbers;
        }
    }

    /// The number of a member's own function: those that it imports come first there.
    fn number(&self, (member, function): Place) -> Option<u32> {
        let member = &self.members[member];
        let own = function.checked_sub(count(member.functions.len()))?;
        // Until it is written, it has only the numbers of its own functions.
        member.numbers.functions.get(own as usize).copied()
    }

    fn write(mut self, starts: &[Function], entries: &[Option<Function>]) -> Result<Linked, Error> {
        let own: u32 = self.members.iter().map(|m| m.parts.defined()).sum();
        let first_behind = count(self.imports.len()) + own;
        let around = Around::new(first_behind, &self);
        let number = |function: Function| match function {
            Function::Imported(import) => around.imports.get(import).copied(),
            Function::Of(place) => self.number(place),
        };
        let found = |functions: &[Function]| -> Result<Vec<u32>, Error> {
            let numbers = functions.iter().map(|function| number(*function));
            let numbers: Option<Vec<u32>> = numbers.collect();
            numbers.ok_or_else(|| Error::new(format!("a function of it {}", nowhere())))
        };
        let starts = found(starts)?;
        let entries = entries.iter().map(|entry| entry.and_then(number)).collect();
        let rooms = found(&self.rooms)?;
        let given = self.members.iter().map(|m| found(&m.functions));
        let given: Vec<Vec<u32>> = given.collect::<Result<_, _>>()?;
        let mut sections = Sections::default();
        let mut names = Names::default();
        for (member, given) in self.members.iter_mut().zip(given) {
            member.numbers.functions.splice(0..0, given);
            sections.add(member.parts, &mut member.numbers)?;
            sections.add_data(member.parts, &mut member.numbers)?;
            sections.declare(member.parts, &mut member.numbers)?;
            names.add_all(member.parts, &member.numbers);
        }
        let mut imports = we::ImportSection::new();
        for (import, _, (member, ty)) in &self.imports {
            let ty = self.members[*member].numbers.type_index(*ty)?;
            imports.import(import.interface, &import.name, we::EntityType::Function(ty));
        }
        let realloc = around.write(&self, &rooms, &mut sections)?;
        let mut module = sections.module(&imports, &we::ExportSection::new(), None);
        module.section(&names.section());
        Ok(Linked {
            module: module.finish(),
            starts,
            entries,
            realloc,
        })
    }
}

/// The numbers of the things of a kind in [`KINDS`]; those of functions are in no such space.
fn space(numbers: &mut Renumber, kind: usize) -> &mut Space {
    match KINDS[kind] {
        wp::ExternalKind::Table => &mut numbers.tables,
        wp::ExternalKind::Memory => &mut numbers.memories,
        wp::ExternalKind::Tag => &mut numbers.tags,
        _ => &mut numbers.globals,
    }
}
