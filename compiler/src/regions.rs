//! Regions without allocation: functions that are declared to allocate nothing, nor let anything
//! allocate that they call ([S] 5.4).
//!
//! A module declares a region by exporting a function as [`EXPORT_NO_ALLOC`] and a name. What
//! allocates is known from the code: instructions that let a memory or a table grow, and entries of
//! the kernel that make blocks or objects. An allocator that never lets memory grow is exported as
//! [`EXPORT_ALLOC`] and a name.
//!
//! The way counts and not what happens on it: an allocator that serves most requests from what it has
//! still reaches the instruction by which memory grows. A call that nothing but `unreachable` follows
//! does not count, as the process ends there: it is how a panic is called.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::graph::{Graph, Import};
use sing_abi::names::{self, EXPORT_ALLOC, EXPORT_NO_ALLOC};

/// Entries of the kernel that make blocks or objects.
const MAKING: [&str; 13] = [
    "auto_event_create",
    "interrupt_create",
    "manual_event_create",
    "mutex_create",
    "process_create",
    "process_renew",
    "queue_create",
    "set_create",
    "thread_create",
    "xh_alloc",
    "xh_share",
    "xh_split",
    "xh_unshare",
];
/// Instructions that take memory.
const GROWING: [&str; 2] = ["memory.grow", "table.grow"];
/// The most functions of a way that a message names.
const SHOWN: usize = 32;

/// A region, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// The node of its function.
    pub function: usize,
    /// The nodes that it can run, with its own.
    pub nodes: Vec<usize>,
    /// The way to what allocates, from the region's function on, if there is one.
    pub broken: Option<Broken>,
}

/// How a region can allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The nodes on the way, the region's first.
    pub way: Vec<usize>,
    /// The instruction by which the last one allocates; `None` if it allocates itself.
    pub by: Option<&'static str>,
}

impl Graph {
    /// The module's regions without allocation.
    #[must_use]
    pub fn without_allocation(&self) -> Vec<Region> {
        let regions = self.regions.iter();
        let regions = regions.map(|(name, function)| self.region(name, *function));
        regions.collect()
    }

    fn region(&self, name: &str, function: usize) -> Region {
        let from = self.reached_from(&[function], |call| !call.last);
        let nodes: Vec<usize> = (0..from.len())
            .filter(|node| from[*node].is_some())
            .collect();
        // The shortest way is shown.
        let ways = nodes.iter().filter_map(|&node| {
            let by = self.allocates(node)?;
            let mut way = vec![node];
            while let Some(before) = from[way[way.len() - 1]].filter(|b| *b != way[way.len() - 1]) {
                way.push(before);
            }
            way.reverse();
            Some(Broken { way, by })
        });
        let broken = ways.min_by_key(|broken| broken.way.len());
        Region {
            name: name.into(),
            function,
            nodes,
            broken,
        }
    }

    /// Whether a node allocates, and by which instruction if it is not the node itself that does.
    fn allocates(&self, node: usize) -> Option<Option<&'static str>> {
        if self.allocators.contains(&node) || self.imports.get(node).is_some_and(makes) {
            return Some(None);
        }
        let grows = |name: &&&str| self.entering.contains(&(node, **name));
        GROWING.iter().find(grows).map(|name| Some(*name))
    }
}

/// Whether an imported function makes a block or an object.
fn makes(import: &Import) -> bool {
    match import.module.strip_prefix(names::CONTRACT_PREFIX) {
        Some(_) => import.name == names::NEW_CHANNEL,
        None => MAKING.contains(&import.name.as_str()),
    }
}

/// Checks that the module's regions allocate nothing; `name` gives the name of a function.
pub(crate) fn check(graph: &Graph, name: impl Fn(usize) -> String) -> Result<()> {
    for region in graph.without_allocation() {
        let Some(broken) = region.broken else {
            continue;
        };
        let called = |node: usize| match graph.types.get(node.wrapping_sub(graph.functions)) {
            Some(ty) => format!("any function {ty} that a table or a reference holds"),
            None => match graph.imports.get(node) {
                Some(import) => format!("{} of {:?}", import.name, import.module),
                None => name(node),
            },
        };
        let names = broken.way.iter().map(|&node| called(node));
        let mut way: Vec<String> = names.collect();
        if let Some(left) = way.len().checked_sub(SHOWN).filter(|left| *left > 0) {
            let gap = format!("({left} more)");
            way.splice(SHOWN / 2..SHOWN / 2 + left, [gap]);
        }
        let by = broken
            .by
            .map_or(String::new(), |by| format!(", which runs {by}"));
        let message = format!(
            "the function is declared to allocate nothing, and can allocate: {}{by}; take the call out of \
             the region, or the declaration off it",
            way.join(" calls ")
        );
        let export = format!("{EXPORT_NO_ALLOC}{}", region.name);
        return Err(Error::new(ErrorKind::Region, message).at(Place::Export(export)));
    }
    Ok(())
}

/// Checks that what is declared of allocation is declared of functions.
pub(crate) fn are_functions<'e>(exports: impl Iterator<Item = (&'e str, bool)>) -> Result<()> {
    for (name, is_function) in exports {
        let declared = name.starts_with(EXPORT_NO_ALLOC) || name.starts_with(EXPORT_ALLOC);
        if declared && !is_function {
            let message = "must be a function, as it says whether that allocates";
            return Err(Error::new(ErrorKind::Export, message).at(Place::Export(name.into())));
        }
    }
    Ok(())
}
