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
//! - No function of the component runs before all active segments are written. A component in which one would is
//!   refused.

use super::follow::{
    Export, Lowering, OF_OTHER_START, STEPS, Target, is_start, makes_room, nowhere,
};
use super::read::CoreInstance;
use super::room::Around;
use super::{ENTRIES, Entry, Role};
use crate::Error;
use crate::imports::NAMED;
use crate::names::Names;
use crate::parts::{Parts, count};
use crate::renumber::Renumber;
use crate::sections::Sections;
use sing_image::shown::Shown;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Function {
    Imported(usize),
    Of(Place),
}

/// Where a function ends that modules pass on.
#[derive(Clone)]
enum End<'a> {
    Interface(&'a str, Cow<'a, str>, Option<Export>),
    Of(Place),
}

/// The most functions that make room in the memory.
const ROOMS: usize = 64;

/// Why a component cannot run that begins elsewhere.
const NOT_ITS_OWN: &str = "begins with a function that is not its program's own";

/// Why an import has no function of a type that is not its own.
const OTHER_TYPE: &str = "is imported with other parameters or results than it has";

/// One of the modules, instantiated.
pub(super) struct Member<'m, 'a> {
    pub instance: u32,
    pub parts: &'m Parts<'a>,
    /// What it imports of each kind in [`KINDS`], in the order of their numbers.
    pub imports: [Vec<&'m wp::Import<'a>>; KINDS.len()],
    /// What the functions are that it imports, if all is as it should be.
    functions: Vec<Option<Function>>,
    /// Whose the other things are that it imports, of each kind.
    pub places: [Vec<Option<Place>>; KINDS.len()],
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
            places: Default::default(),
            numbers: Renumber::default(),
        }
    }
}

/// The kinds of things; functions are the first.
pub(super) const KINDS: [wp::ExternalKind; 5] = [
    wp::ExternalKind::Func,
    wp::ExternalKind::Table,
    wp::ExternalKind::Memory,
    wp::ExternalKind::Global,
    wp::ExternalKind::Tag,
];
pub(super) const FUNCTIONS: usize = 0;

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
pub(super) type Exports<'a> = HashMap<(usize, &'a str), u32>;

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
    let mut instantiated = BTreeSet::new();
    for (number, instance) in (0..).zip(&lowering.component.core_instances) {
        let module = match instance {
            CoreInstance::Module(module, _) => *module,
            CoreInstance::Things(of) => {
                things.push(exports(of));
                continue;
            }
        };
        let parts = modules.get(module as usize);
        things.push(match parts.filter(|_| lowering.members.contains(&number)) {
            Some(Some(parts)) => {
                // All that it has would be there once more for each.
                if !instantiated.insert(module) {
                    lowering.reason(
                        "instantiates one module several times, to work together: link it statically",
                    );
                    return Ok(None);
                }
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
        ends: HashMap::new(),
        aliases: HashMap::new(),
        constants: BTreeMap::new(),
        rooms: Vec::new(),
        known_rooms: HashMap::new(),
        lacking: 0,
    };
    linker.functions();
    let starts = linker.starts();
    linker.memories();
    let entries: Vec<Option<Function>> = (entries.iter().zip(&ENTRIES))
        .map(|(target, entry)| linker.entry(target.as_ref()?, entry))
        .collect();
    linker.numbers();
    if let Some(more) = linker.lacking.checked_sub(NAMED).filter(|&more| more > 0) {
        let reason = format!("and {more} more of its modules' imports cannot be linked");
        linker.lowering.reason(&reason);
    }
    if !linker.lowering.reasons.is_empty() {
        return Ok(None);
    }
    linker.write(&starts, &entries).map(Some)
}

/// The modules of a component, while they are linked.
pub(super) struct Linker<'l, 'c, 'm, 'a> {
    pub lowering: &'l mut Lowering<'c, 'a>,
    pub members: Vec<Member<'m, 'a>>,
    /// The place of each member, by its instance.
    places: BTreeMap<u32, usize>,
    /// What each instance exports.
    pub things: Vec<Exports<'a>>,
    /// What is left to import, by its type and the place of that.
    pub imports: Vec<(Import<'a>, &'m wp::FuncType, Place)>,
    /// The places of these.
    known: HashMap<(Import<'a>, &'m wp::FuncType), usize>,
    /// Where the functions end that members import.
    ends: HashMap<Place, Result<End<'a>, String>>,
    /// Whose the things are, by their kind, that the component has of instances.
    pub aliases: HashMap<(usize, u32), Option<Place>>,
    /// The globals of the linked module whose value is known and never changes.
    pub constants: BTreeMap<u32, i32>,
    /// The functions that make room in the memory, which each import names for itself; and their places.
    pub rooms: Vec<Function>,
    known_rooms: HashMap<Function, usize>,
    /// How many imports cannot be linked.
    lacking: usize,
}

impl<'a> Linker<'_, '_, '_, 'a> {
    /// What each function is that a member imports.
    fn functions(&mut self) {
        for member in 0..self.members.len() {
            let mut functions = Vec::new();
            for number in 0..self.members[member].imports[FUNCTIONS].len() {
                let import = self.members[member].imports[FUNCTIONS][number];
                let found = self.function((member, count(number)), import);
                if let Err(why) = &found {
                    self.lacks(import, why);
                }
                functions.push(found.ok());
            }
            self.members[member].functions = functions;
        }
    }

    /// Says why an import cannot be linked: of the first ones; the others are counted.
    pub fn lacks(&mut self, import: &wp::Import<'_>, why: &str) {
        self.lacking += 1;
        if self.lacking <= NAMED {
            let reason = format!("{}.{}: {why}", import.module, import.name);
            self.lowering.reason(&Shown(reason).to_string());
        }
    }

    /// The function that a member imports, by its number there.
    fn function(&mut self, place: Place, import: &wp::Import<'a>) -> Result<Function, String> {
        let (wp::TypeRef::Func(number) | wp::TypeRef::FuncExact(number)) = import.ty else {
            return Err(nowhere());
        };
        let parts = self.members[place.0].parts;
        let ty = parts.type_of(number).ok_or_else(nowhere)?;
        match self.end_of(place, STEPS)? {
            End::Interface(interface, name, room) => {
                let room = room.map(|room| self.room(room)).transpose()?;
                let import = Import {
                    interface,
                    name,
                    room,
                };
                let next = self.imports.len();
                let known = *self.known.entry((import.clone(), ty)).or_insert(next);
                if known == next {
                    self.imports.push((import, ty, (place.0, number)));
                }
                Ok(Function::Imported(known))
            }
            End::Of(place) => match self.members[place.0].parts.function_type(place.1) {
                Some(has) if has == ty => Ok(Function::Of(place)),
                _ => Err(OTHER_TYPE.into()),
            },
        }
    }

    /// Where a function ends that a member imports.
    fn end_of(&mut self, place: Place, steps: usize) -> Result<End<'a>, String> {
        if let Some(known) = self.ends.get(&place) {
            return known.clone();
        }
        let member = &self.members[place.0];
        let imports = &member.imports[FUNCTIONS];
        let import = *imports.get(place.1 as usize).ok_or_else(nowhere)?;
        let given = (self.lowering).given(member.instance, import.module, import.name, STEPS);
        let end = given.and_then(|target| self.end(target, steps));
        self.ends.insert(place, end.clone());
        end
    }

    /// Where a function ends.
    fn end(&mut self, target: Target<'a>, steps: usize) -> Result<End<'a>, String> {
        match target {
            Target::Interface {
                interface,
                name,
                room,
            } => Ok(End::Interface(interface, name, room)),
            Target::Of(instance, _, number) => self.end_of_export((instance, number), steps),
        }
    }

    /// Where a function ends that an instance exports.
    fn end_of_export(
        &mut self,
        (instance, number): Export,
        steps: usize,
    ) -> Result<End<'a>, String> {
        let steps = steps.checked_sub(1).ok_or_else(nowhere)?;
        let member = self.member(instance).ok_or_else(nowhere)?;
        let passed_on = self.members[member].imports[FUNCTIONS].len() > number as usize;
        match passed_on {
            true => self.end_of((member, number), steps),
            false => Ok(End::Of((member, number))),
        }
    }

    /// The place of a function that makes room among these.
    fn room(&mut self, export: Export) -> Result<usize, String> {
        let End::Of(place) = self.end_of_export(export, STEPS)? else {
            return Err(
                "is called with a function that makes room which is no module's own".into(),
            );
        };
        let next = self.rooms.len();
        let function = Function::Of(place);
        let known = *self.known_rooms.entry(function).or_insert(next);
        if known == next {
            let ty = self.members[place.0].parts.function_type(place.1);
            if !ty.is_some_and(makes_room) {
                self.known_rooms.remove(&function);
                return Err("is called with a function that makes room of another type".into());
            }
            if next == ROOMS {
                self.known_rooms.remove(&function);
                return Err(format!(
                    "is called with one of more than {ROOMS} functions that make room"
                ));
            }
            self.rooms.push(function);
        }
        Ok(known)
    }

    pub fn member(&self, instance: u32) -> Option<usize> {
        self.places.get(&instance).copied()
    }

    /// A function that is a member's own.
    fn found(&mut self, target: &Target<'a>) -> Option<Function> {
        let found = match self.end(target.clone(), STEPS) {
            Ok(End::Of(place)) => Some(Function::Of(place)),
            Ok(End::Interface(..)) | Err(_) => None,
        };
        if found.is_none() {
            self.lowering.reason(NOT_ITS_OWN);
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
                if !starts.is_empty() && parts.writes_segments() {
                    self.lowering.reason(
                        "has a module that starts before the data of another one is there: link it statically",
                    );
                }
                if let Some(start) = parts.start {
                    let imported = self.members[member].functions.get(start as usize);
                    let own = Some(Function::Of((member, start)));
                    starts.extend(imported.copied().unwrap_or(own));
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
                let found = match given {
                    Ok(target) => self.found(&target),
                    Err(_) => {
                        self.lowering.reason(NOT_ITS_OWN);
                        None
                    }
                };
                if let Some(Function::Of((member, function))) = found {
                    let ty = self.members[member].parts.function_type(function);
                    if !ty.is_some_and(is_start) {
                        self.lowering.reason(OF_OTHER_START);
                    }
                }
                starts.extend(found);
            }
        }
        starts
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
        let given = self.members.iter().map(|member| {
            let functions: Option<Vec<Function>> = member.functions.iter().copied().collect();
            found(&functions.unwrap_or_default())
        });
        let given: Vec<Vec<u32>> = given.collect::<Result<_, _>>()?;
        let constants = Rc::new(std::mem::take(&mut self.constants));
        let mut sections = Sections::default();
        let mut names = Names::default();
        for (member, given) in self.members.iter_mut().zip(given) {
            member.numbers.functions.splice(0..0, given);
            member.numbers.constants = Rc::clone(&constants);
            sections.add(member.parts, &mut member.numbers)?;
            sections.add_data(member.parts, &mut member.numbers)?;
            names.add_all(member.parts, &member.numbers);
        }
        // Behind the segments of all, which are numbered without these.
        for member in &mut self.members {
            sections.declare(member.parts, &mut member.numbers)?;
        }
        let mut imports = we::ImportSection::new();
        for (import, _, (member, ty)) in &self.imports {
            let ty = self.members[*member].numbers.type_index(*ty)?;
            imports.import(import.interface, &import.name, we::EntityType::Function(ty));
        }
        let realloc = around.write(&self, &rooms, &mut sections);
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
