//! What is found by name or number while a component is lowered: each table is made once.

use super::Role;
use super::follow::STEPS;
use super::read::{Component, CoreInstance};
use crate::parts::Parts;
use std::collections::HashMap;
use wasmparser as wp;

/// Names of things, with their numbers.
type Names<'a> = HashMap<&'a str, u32>;

/// The tables of a component.
pub(super) struct Index<'a> {
    /// For each core instance: of a module, the instance that it is given under each name; of things put
    /// together, the core function under each name.
    pub instances: Vec<Names<'a>>,
    /// For each module, the functions that it exports.
    pub exports: Vec<Names<'a>>,
    /// For the instance of each shim, that of the fix-ups which fill its table.
    pub fixups: HashMap<u32, u32>,
    /// The instances of fix-ups that fill no shim's table.
    pub astray: Vec<u32>,
    /// Whether several fix-ups fill the table of one shim.
    pub twice: bool,
    /// For each core instance, the tables among things put together.
    tables: Vec<Names<'a>>,
}

impl<'a> Index<'a> {
    pub fn new(
        component: &Component<'a>,
        modules: &[Option<Parts<'a>>],
        roles: &[Option<Role<'a>>],
    ) -> Index<'a> {
        let instances = component.core_instances.iter();
        let exports = modules.iter().map(|module| match module {
            Some(module) => functions(&module.exports),
            None => Names::new(),
        });
        let mut index = Index {
            instances: instances.map(names).collect(),
            exports: exports.collect(),
            fixups: HashMap::new(),
            astray: Vec::new(),
            twice: false,
            tables: component.core_instances.iter().map(tables).collect(),
        };
        for (number, instance) in (0..).zip(&component.core_instances) {
            let CoreInstance::Module(module, _) = instance else {
                continue;
            };
            let Some(Some(Role::Fixups { table, .. })) = roles.get(*module as usize) else {
                continue;
            };
            let names = index.instances.get(number as usize);
            let given = names.and_then(|names| names.get(table.0));
            let filled = given.and_then(|given| owner(component, &index.tables, *given, table.1));
            match filled.filter(|filled| is_shim(component, roles, *filled)) {
                Some(shim) => index.twice |= index.fixups.insert(shim, number).is_some(),
                None => index.astray.push(number),
            }
        }
        index
    }

    /// Whether the table that an instance has under a name is a shim's.
    pub fn is_of_shim(
        &self,
        component: &Component<'_>,
        roles: &[Option<Role<'_>>],
        instance: u32,
        name: &str,
    ) -> bool {
        let owner = owner(component, &self.tables, instance, name);
        owner.is_some_and(|owner| is_shim(component, roles, owner))
    }
}

/// The numbers of what an instance is made of.
fn names<'a>(instance: &CoreInstance<'a>) -> Names<'a> {
    match instance {
        CoreInstance::Module(_, args) => args.iter().map(|arg| (arg.name, arg.index)).collect(),
        CoreInstance::Things(exports) => functions(exports),
    }
}

fn functions<'a>(exports: &[wp::Export<'a>]) -> Names<'a> {
    let functions = exports.iter().filter(|e| e.kind == wp::ExternalKind::Func);
    functions.map(|e| (e.name, e.index)).collect()
}

/// The tables among things put together, by their names.
fn tables<'a>(instance: &CoreInstance<'a>) -> Names<'a> {
    let CoreInstance::Things(exports) = instance else {
        return Names::new();
    };
    let tables = exports.iter().filter(|e| e.kind == wp::ExternalKind::Table);
    tables.map(|e| (e.name, e.index)).collect()
}

/// The instance of a module that exports the table which an instance has under this name.
fn owner(
    component: &Component<'_>,
    tables: &[Names<'_>],
    instance: u32,
    name: &str,
) -> Option<u32> {
    let (mut instance, mut name) = (instance, name);
    for _ in 0..STEPS {
        match component.core_instances.get(instance as usize)? {
            CoreInstance::Module(..) => return Some(instance),
            CoreInstance::Things(_) => {
                let table = *tables.get(instance as usize)?.get(name)?;
                (instance, name) = *component.core_tables.get(table as usize)?;
            }
        }
    }
    None
}

/// Whether an instance is that of a shim, which has one table.
fn is_shim(component: &Component<'_>, roles: &[Option<Role<'_>>], instance: u32) -> bool {
    let module = match component.core_instances.get(instance as usize) {
        Some(CoreInstance::Module(module, _)) => roles.get(*module as usize),
        _ => None,
    };
    matches!(module, Some(Some(Role::Shim(_))))
}
