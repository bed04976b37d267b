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
//! does not count, as it does not return: it is how a panic is called, with which the process ends. So
//! nothing is said of what a function does that never returns, such as a loop that serves for ever,
//! where it is called so; a region in it says it of each turn.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::graph::{Graph, Import};
use sing_abi::names::{self, EXPORT_ALLOC, EXPORT_NO_ALLOC};
use std::collections::VecDeque;

/// Entries of the kernel that make blocks or objects, or take memory for others. One that only hands
/// over what there is, as a receive does, is not among them.
const MAKING: [&str; 19] = [
    "auto_event_create",
    "device_irq",
    "device_registers",
    "dma_map",
    "interrupt_create",
    "manual_event_create",
    "mutex_create",
    "process_create",
    "process_renew",
    "queue_create",
    "set_create",
    "startup_device",
    "thread_create",
    "trace_control",
    "xh_alloc",
    "xh_park",
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
    /// The shortest way to what allocates, from the region's function on, if there is one.
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
    /// The module's regions without allocation. Time goes with the calls, and with the ways of those
    /// regions that are taken.
    pub fn without_allocation(&self) -> impl Iterator<Item = Region> {
        let next = match self.regions.is_empty() {
            true => Vec::new(),
            false => self.ways_to_allocation(),
        };
        self.regions.iter().map(move |(name, function)| Region {
            name: name.clone(),
            function: *function,
            broken: self.broken(&next, *function),
        })
    }

    /// How many functions a region can run, with its own.
    #[must_use]
    pub fn functions_of(&self, region: &Region) -> usize {
        let from = self.reached_from(&[region.function], |call| !call.last);
        let functions = from[..self.functions].iter();
        functions.filter(|from| from.is_some()).count()
    }

    /// For each node from which something that allocates is reached, the next one on a shortest way
    /// there: itself if it allocates.
    fn ways_to_allocation(&self) -> Vec<Option<usize>> {
        let mut callers = vec![Vec::new(); self.calls.len()];
        for (from, calls) in self.calls.iter().enumerate() {
            for call in calls.iter().filter(|call| !call.last) {
                callers[call.to].push(from);
            }
        }
        let mut next = vec![None; self.calls.len()];
        let nodes = (0..next.len()).filter(|node| self.allocates(*node).is_some());
        let mut queue: VecDeque<usize> = nodes.collect();
        for &node in &queue {
            next[node] = Some(node);
        }
        while let Some(node) = queue.pop_front() {
            for &caller in &callers[node] {
                if next[caller].is_none() {
                    next[caller] = Some(node);
                    queue.push_back(caller);
                }
            }
        }
        next
    }

    fn broken(&self, next: &[Option<usize>], function: usize) -> Option<Broken> {
        let mut node = function;
        let mut way = vec![node];
        loop {
            let after = next[node]?;
            if after == node {
                let by = self.allocates(node)?;
                return Some(Broken { way, by });
            }
            node = after;
            way.push(node);
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
        let left = broken.way.len().saturating_sub(SHOWN);
        let shown = match left {
            0 => broken.way.len(),
            _ => SHOWN / 2,
        };
        let names =
            |nodes: &[usize]| -> Vec<String> { nodes.iter().copied().map(called).collect() };
        let mut way = names(&broken.way[..shown]);
        if left > 0 {
            way.push(format!("({left} more)"));
            way.extend(names(&broken.way[shown + left..]));
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

#[cfg(test)]
mod tests {
    use super::*;
    use sing_abi::entry::{self, ENTRIES};

    /// Entries that make nothing, and those that only hand over what there is.
    const NOT_MAKING: &[&str] = &[
        "boot_name",
        "boot_read",
        "boot_size",
        "console_read",
        "console_size",
        "console_unwritten",
        "console_write",
        "cycle_count",
        "cycles_per_second",
        "cycles_per_second_inline",
        "debug_print",
        "device_accept",
        "device_give",
        "device_info",
        "device_ready",
        "device_reset",
        "dma_copy_in",
        "dma_copy_out",
        "dma_fault",
        "dma_load",
        "dma_store",
        "dma_unmap",
        "endpoint_keep",
        "endpoint_peek",
        "event_reset",
        "event_set",
        "handle_dispose",
        "image_manifest",
        "interrupt_ack",
        "io_len",
        "io_load16",
        "io_load32",
        "io_load64",
        "io_load8",
        "io_read",
        "io_store16",
        "io_store32",
        "io_store64",
        "io_store8",
        "io_write",
        "mutex_release",
        "process_detach",
        "process_exit",
        "process_exit_status",
        "process_id",
        "process_join",
        "process_resume",
        "process_start",
        "process_stop",
        "process_supervise",
        "process_suspend",
        "queue_add",
        "queue_notify",
        "queue_take",
        "select",
        "self_id",
        "set_add",
        "set_remove",
        "set_wait",
        "sleep",
        "spin",
        "startup_arg",
        "startup_arg_count",
        "startup_endpoint",
        "startup_kept",
        "startup_process",
        "sys_query",
        "sys_shutdown",
        "sys_stop",
        "sys_stop_by",
        "thread_id",
        "thread_join",
        "thread_start",
        "thread_state",
        "thread_time",
        "tls_get",
        "tls_set",
        "trace_read",
        "uptime",
        "utc",
        "wait_any",
        "wait_one",
        "xh_attach",
        "xh_detach",
        "xh_free",
        "xh_load16",
        "xh_load32",
        "xh_load64",
        "xh_load8",
        "xh_read",
        "xh_size",
        "xh_store16",
        "xh_store32",
        "xh_store64",
        "xh_store8",
        "xh_type",
        "xh_unpark",
        "xh_write",
        "yield",
    ];
    /// Entries behind instructions of [`GROWING`], and behind a contract's [`names::NEW_CHANNEL`].
    const MAKING_BY_CODE: &[&str] = &[
        "any_memory_grow",
        "channel_new",
        "memory_grow",
        "table_grow",
    ];
    /// Those behind other instructions, and other imports from contracts.
    const NOT_MAKING_BY_CODE: &[&str] = &[
        "any_memory_copy",
        "any_memory_fill",
        "any_memory_init",
        "channel_call",
        "channel_call_mem",
        "channel_recv",
        "channel_send",
        "channel_send_mem",
        "data_drop",
        "elem_drop",
        "endpoint_cast",
        "memory_copy",
        "memory_fill",
        "memory_init",
        "ref_func",
        "table_copy",
        "table_fill",
        "table_init",
    ];

    #[test]
    fn of_each_entry_it_is_known_whether_it_makes_something() {
        for entry in &ENTRIES {
            let imported = entry::find(entry.name).is_some();
            let lists = match imported {
                true => [&MAKING, NOT_MAKING],
                false => [MAKING_BY_CODE, NOT_MAKING_BY_CODE],
            };
            let named = lists.map(|list| list.contains(&entry.name));
            assert!(named[0] != named[1], "{}: {named:?}", entry.name);
        }
        let lists = [&MAKING, NOT_MAKING, MAKING_BY_CODE, NOT_MAKING_BY_CODE];
        assert_eq!(lists.map(<[_]>::len).iter().sum::<usize>(), entry::COUNT);
    }
}
