//! What is found by name or number while a component is lowered: each table is made once.

use super::Role;
use super::read::{Component, CoreInstance};
use crate::parts::Parts;
use std::collections::{BTreeSet, HashMap};
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
        };
        let tables: Vec<BTreeSet<u32>> = (0..)
            .zip(&component.core_instances)
            .map(|(number, instance)| shims(component, roles, number, instance))
            .collect();
        for (number, instance) in (0..).zip(&component.core_instances) {
            let CoreInstance::Module(module, args) = instance else {
                continue;
            };
            let Some(Some(Role::Fixups { .. })) = roles.get(*module as usize) else {
                continue;
            };
            let given = args.iter().filter_map(|arg| tables.get(arg.index as usize));
            let mut filled = given.flatten().peekable();
            if filled.peek().is_none() {
                index.astray.push(number);
            }
            for shim in filled {
                index.fixups.entry(*shim).or_insert(number);
            }
        }
        index
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

/// The shims whose table an instance has: its own, if it is one, or those among things put together.
fn shims(
    component: &Component<'_>,
    roles: &[Option<Role<'_>>],
    number: u32,
    instance: &CoreInstance<'_>,
) -> BTreeSet<u32> {
    let is_shim = |instance: u32| match component.core_instances.get(instance as usize) {
        Some(CoreInstance::Module(module, _)) => {
            matches!(roles.get(*module as usize), Some(Some(Role::Shim(_))))
        }
        _ => false,
    };
    let found = match instance {
        CoreInstance::Module(..) => Vec::from([number]),
        CoreInstance::Things(exports) => {
            let tables = exports.iter().filter(|e| e.kind == wp::ExternalKind::Table);
            let tables = tables.filter_map(|e| component.core_tables.get(e.index as usize));
            tables.map(|(instance, _)| *instance).collect()
        }
    };
    found.into_iter().filter(|found| is_shim(*found)).collect()
}
