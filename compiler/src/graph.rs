//! The call graph of a sealed module: who calls whom, straight or through tables and references.
//!
//! The nodes are the module's functions and, for each type by which functions are called, nodes that
//! stand for all functions of this type which the call may find: one for each table that no instruction
//! writes to, which holds what it is made with, and one for references and all other tables, which hold
//! functions whose address is taken somewhere. So a call that is decided at run-time leads to everything
//! that it may lead to.
//!
//! Each function is thus behind one node for each table that holds it and one more, and the graph grows
//! with the module, and not with its types times its functions.
//!
//! Invariant: whatever can run when the module's exports are called is reached from [`Graph::roots`];
//! what is reached may be more. It holds for sealed modules: nobody outside sees their tables.

use crate::error::Result;
use sing_abi::names::{EXPORT_ALLOC, EXPORT_NO_ALLOC};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use wasmparser::{self as wp, CompositeInnerType, Operator, TypeRef};

/// A call from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The node that is called.
    pub to: usize,
    /// Whether the caller's frame is gone when the callee runs.
    pub tail: bool,
    /// Whether the process has ended when the callee returns, as nothing but `unreachable` follows: a
    /// panic is called so, and whatever else does not return.
    pub last: bool,
}

/// An imported function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The module's name.
    pub module: String,
    /// The field's name.
    pub name: String,
}

/// A call graph. Nodes are numbered: imported functions, defined ones, and types.
#[derive(Debug, Default)]
pub struct Graph {
    /// The imported functions.
    pub imports: Vec<Import>,
    /// How many functions there are, with the imported ones.
    pub functions: usize,
    /// How many parameters each function has.
    pub params: Vec<u64>,
    /// Whether there is a call that leaves no frame: then the room for a function's parameters is
    /// not in the frame of its caller.
    pub tail_calls: bool,
    /// The calls of each node, each once.
    pub calls: Vec<Vec<Call>>,
    /// The functions that are called from outside.
    pub roots: Vec<usize>,
    /// The type that each further node stands for, in words.
    pub types: Vec<String>,
    /// The bytes of each function's body; 0 for imported ones.
    pub bodies: Vec<usize>,
    /// The bytes of each segment of data.
    pub data: Vec<usize>,
    /// Segments of data that instructions name, by the function in which they stand.
    pub named: BTreeSet<(usize, u32)>,
    /// Instructions that are calls of the kernel when they run, by the function in which they stand.
    pub entering: BTreeSet<(usize, &'static str)>,
    /// Functions that are declared to allocate nothing, with the names by which they are.
    pub regions: Vec<(String, usize)>,
    /// Functions that are declared to allocate.
    pub allocators: BTreeSet<usize>,
}

/// Where a call finds the function: in a table, or by a reference; and the number of its type.
type Place = (Option<u32>, u32);

/// A call that was read, and of which the next instruction says whether it is the last.
#[derive(Clone, Copy)]
enum Read {
    Function(u32),
    Type(Place),
}

/// What a module says of its functions, while it is read.
#[derive(Default)]
struct Reading {
    graph: Graph,
    /// For each type of functions by its index, the number of its description and how many parameters
    /// it has; `None` for others.
    types: Vec<Option<(u32, u64)>>,
    described: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The type of each function.
    funcs: Vec<u32>,
    /// Functions whose address is taken.
    taken: BTreeSet<usize>,
    /// Functions that are in each table when it is made.
    held: HashMap<u32, BTreeSet<usize>>,
    /// Tables that may come to hold others.
    changed: BTreeSet<u32>,
    tables: u32,
    /// Calls by type: from which function, the place, whether its frame goes, whether it is the last.
    by_type: Vec<(usize, Place, bool, bool)>,
    /// Whether exceptions are caught somewhere: then a call that does not return may still be followed
    /// by others.
    catches: bool,
    /// The function whose body comes next.
    next: usize,
}

impl Graph {
    /// The call graph of a valid module.
    ///
    /// # Errors
    /// The module cannot be parsed.
    pub fn of(module: &[u8]) -> Result<Graph> {
        let mut reading = Reading::default();
        for payload in wp::Parser::new(0).parse_all(module) {
            reading.payload(payload?)?;
        }
        Ok(reading.finish())
    }

    /// For each node that can run, the node from which it was reached first: itself for a root.
    #[must_use]
    pub fn reached(&self) -> Vec<Option<usize>> {
        self.reached_from(&self.roots, |_| true)
    }

    /// The same from other nodes, by those calls that count.
    #[must_use]
    pub fn reached_from(
        &self,
        roots: &[usize],
        counts: impl Fn(&Call) -> bool,
    ) -> Vec<Option<usize>> {
        let mut from = vec![None; self.calls.len()];
        let mut queue = VecDeque::new();
        for &root in roots {
            if from[root].is_none() {
                from[root] = Some(root);
                queue.push_back(root);
            }
        }
        while let Some(node) = queue.pop_front() {
            for call in self.calls[node].iter().filter(|call| counts(call)) {
                if from[call.to].is_none() {
                    from[call.to] = Some(node);
                    queue.push_back(call.to);
                }
            }
        }
        from
    }

    /// The segments of data that some function names which can run.
    #[must_use]
    pub fn named_data(&self, reached: &[Option<usize>]) -> BTreeSet<u32> {
        let named = self.named.iter();
        let named = named.filter(|(node, _)| reached.get(*node).is_some_and(Option::is_some));
        named.map(|&(_, segment)| segment).collect()
    }
}

impl Reading {
    fn payload(&mut self, payload: wp::Payload<'_>) -> Result<()> {
        match payload {
            wp::Payload::TypeSection(groups) => {
                for group in groups {
                    for ty in group?.into_types() {
                        let number = match ty.composite_type.inner {
                            CompositeInnerType::Func(func) => {
                                let params = func.params().len() as u64;
                                Some((self.describe(&func), params))
                            }
                            _ => None,
                        };
                        self.types.push(number);
                    }
                }
            }
            wp::Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    match import.ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                            self.funcs.push(ty);
                            self.graph.bodies.push(0);
                            self.graph.imports.push(Import {
                                module: import.module.into(),
                                name: import.name.into(),
                            });
                        }
                        TypeRef::Table(_) => {
                            self.changed.insert(self.tables);
                            self.tables += 1;
                        }
                        _ => {}
                    }
                }
                self.next = self.funcs.len();
            }
            wp::Payload::FunctionSection(funcs) => {
                for ty in funcs {
                    self.funcs.push(ty?);
                }
            }
            wp::Payload::TableSection(tables) => {
                for table in tables {
                    if let wp::TableInit::Expr(value) = table?.init {
                        self.constant(&value, Some(self.tables))?;
                    }
                    self.tables += 1;
                }
            }
            wp::Payload::GlobalSection(globals) => {
                for global in globals {
                    self.constant(&global?.init_expr, None)?;
                }
            }
            wp::Payload::ExportSection(exports) => {
                for export in exports {
                    self.export(&export?);
                }
            }
            wp::Payload::StartSection { func, .. } => self.graph.roots.push(func as usize),
            wp::Payload::ElementSection(elements) => {
                for element in elements {
                    self.element(element?)?;
                }
            }
            wp::Payload::DataSection(segments) => {
                for segment in segments {
                    self.graph.data.push(segment?.data.len());
                }
            }
            wp::Payload::CodeSectionEntry(body) => self.body(&body)?,
            _ => {}
        }
        Ok(())
    }

    fn export(&mut self, export: &wp::Export<'_>) {
        let (wp::ExternalKind::Func | wp::ExternalKind::FuncExact) = export.kind else {
            return;
        };
        let func = export.index as usize;
        self.graph.roots.push(func);
        if let Some(name) = export.name.strip_prefix(EXPORT_NO_ALLOC) {
            self.graph.regions.push((name.into(), func));
        } else if export.name.starts_with(EXPORT_ALLOC) {
            self.graph.allocators.insert(func);
        }
    }

    fn element(&mut self, element: wp::Element<'_>) -> Result<()> {
        let table = match element.kind {
            wp::ElementKind::Active { table_index, .. } => Some(table_index.unwrap_or(0)),
            _ => None,
        };
        match element.items {
            wp::ElementItems::Functions(items) => {
                for item in items {
                    self.take(item?, table);
                }
            }
            wp::ElementItems::Expressions(_, items) => {
                for item in items {
                    self.constant(&item?, table)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, func: u32, table: Option<u32>) {
        self.taken.insert(func as usize);
        if let Some(table) = table {
            let held = self.held.entry(table).or_default();
            held.insert(func as usize);
        }
    }

    /// The functions whose address a constant expression takes, which is for this table, if for one.
    fn constant(&mut self, value: &wp::ConstExpr<'_>, table: Option<u32>) -> Result<()> {
        for operator in value.get_operators_reader() {
            match operator? {
                Operator::RefFunc { function_index } => self.take(function_index, table),
                // A function that is taken elsewhere, and in this table, too.
                Operator::GlobalGet { .. } => self.changed.extend(table),
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &wp::FunctionBody<'_>) -> Result<()> {
        let from = self.next;
        self.next += 1;
        let range = body.range();
        self.graph.bodies.push((range.end - range.start) as usize);
        self.graph.calls.resize(self.funcs.len(), Vec::new());
        let mut open = None;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if let Some(call) = open.take() {
                let last = matches!(operator, Operator::Unreachable);
                self.call(from, call, false, last);
            }
            let entering = entering(&operator).map(|name| (from, name));
            self.graph.entering.extend(entering);
            match operator {
                Operator::Call { function_index } => open = Some(Read::Function(function_index)),
                Operator::ReturnCall { function_index } => {
                    self.call(from, Read::Function(function_index), true, false);
                }
                Operator::CallIndirect {
                    type_index,
                    table_index,
                } => open = self.by_type(Some(table_index), type_index),
                Operator::CallRef { type_index } => open = self.by_type(None, type_index),
                Operator::ReturnCallIndirect {
                    type_index,
                    table_index,
                } => {
                    if let Some(call) = self.by_type(Some(table_index), type_index) {
                        self.call(from, call, true, false);
                    }
                }
                Operator::ReturnCallRef { type_index } => {
                    if let Some(call) = self.by_type(None, type_index) {
                        self.call(from, call, true, false);
                    }
                }
                Operator::RefFunc { function_index } => self.take(function_index, None),
                Operator::TableSet { table }
                | Operator::TableGrow { table }
                | Operator::TableFill { table }
                | Operator::TableInit { table, .. }
                | Operator::TableCopy {
                    dst_table: table, ..
                } => {
                    self.changed.insert(table);
                }
                Operator::MemoryInit { data_index, .. } | Operator::DataDrop { data_index } => {
                    self.graph.named.insert((from, data_index));
                }
                Operator::Try { .. } | Operator::TryTable { .. } => self.catches = true,
                _ => {}
            }
        }
        if let Some(call) = open {
            self.call(from, call, false, false);
        }
        Ok(())
    }

    fn by_type(&self, table: Option<u32>, ty: u32) -> Option<Read> {
        let (number, _) = (*self.types.get(ty as usize)?)?;
        Some(Read::Type((table, number)))
    }

    fn call(&mut self, from: usize, call: Read, tail: bool, last: bool) {
        self.graph.tail_calls |= tail;
        match call {
            Read::Function(to) => {
                let to = to as usize;
                self.graph.calls[from].push(Call { to, tail, last });
            }
            Read::Type(place) => self.by_type.push((from, place, tail, last)),
        }
    }

    /// Adds the nodes of types.
    fn finish(mut self) -> Graph {
        let graph = &mut self.graph;
        graph.functions = self.funcs.len();
        let types = &self.types;
        let of = |ty: &u32| types.get(*ty as usize).copied().flatten();
        let params = self.funcs.iter().map(|ty| of(ty).map_or(0, |ty| ty.1));
        graph.params = params.collect();
        graph.bodies.resize(graph.functions, 0);
        graph.calls.resize(graph.functions, Vec::new());
        // Tables that are written to hold the same, so that one node for each type is enough.
        let place = |(table, ty): Place| (table.filter(|t| !self.changed.contains(t)), ty);
        let mut nodes = BTreeMap::new();
        for (from, read, tail, last) in self.by_type {
            let place = place(read);
            let node = *nodes.entry(place).or_insert_with(|| {
                let text = self.described.get(place.1 as usize);
                graph.types.push(text.cloned().unwrap_or_default());
                graph.calls.push(Vec::new());
                graph.calls.len() - 1
            });
            let to = node;
            graph.calls[from].push(Call { to, tail, last });
        }
        let held = self.held.iter();
        let held = held.flat_map(|(table, funcs)| funcs.iter().map(|func| (Some(*table), *func)));
        let found = self.taken.iter().map(|func| (None, *func));
        for (table, to) in found.chain(held) {
            let own = self.funcs.get(to).and_then(of);
            if let Some(&node) = own.and_then(|own| nodes.get(&(table, own.0))) {
                // A type has no frame of its own.
                graph.calls[node].push(Call {
                    to,
                    tail: true,
                    last: false,
                });
            }
        }
        for calls in &mut graph.calls {
            if self.catches {
                calls.iter_mut().for_each(|call| call.last = false);
            }
            // Of two calls of one node, that counts after which the caller goes on.
            calls.sort_unstable_by_key(|call| (call.to, call.tail, call.last));
            calls.dedup_by_key(|call| (call.to, call.tail));
        }
        self.graph
    }

    /// The number of a type of functions, by its description. Types that differ only in which
    /// structures their references point to are the same here: one may be a subtype of the other.
    fn describe(&mut self, func: &wp::FuncType) -> u32 {
        let list = |types: &[wp::ValType]| {
            let words: Vec<String> = types.iter().map(word).collect();
            words.join(", ")
        };
        let text = match func.results() {
            [one] => format!("({}) -> {}", list(func.params()), word(one)),
            results => format!("({}) -> ({})", list(func.params()), list(results)),
        };
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.described.push(text.clone());
            self.described.len() as u32 - 1
        })
    }
}

/// The name of an instruction that is a call of the kernel.
fn entering(operator: &Operator<'_>) -> Option<&'static str> {
    Some(match operator {
        Operator::MemoryGrow { .. } => "memory.grow",
        Operator::MemoryCopy { .. } => "memory.copy",
        Operator::MemoryFill { .. } => "memory.fill",
        Operator::MemoryInit { .. } => "memory.init",
        Operator::DataDrop { .. } => "data.drop",
        Operator::TableGrow { .. } => "table.grow",
        Operator::TableCopy { .. } => "table.copy",
        Operator::TableFill { .. } => "table.fill",
        Operator::TableInit { .. } => "table.init",
        Operator::ElemDrop { .. } => "elem.drop",
        Operator::RefFunc { .. } => "ref.func",
        _ => return None,
    })
}

fn word(ty: &wp::ValType) -> String {
    match ty {
        wp::ValType::Ref(_) => "ref".into(),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str) -> Graph {
        Graph::of(&wat::parse_str(text).unwrap()).unwrap()
    }

    /// The functions and types that can run.
    fn reached(text: &str) -> Vec<usize> {
        let found = graph(text).reached();
        let nodes = found.iter().enumerate();
        nodes
            .filter_map(|(node, from)| from.map(|_| node))
            .collect()
    }

    #[test]
    fn a_call_by_a_table_reaches_what_has_its_type_and_an_address() {
        let text = "(module (type $t (func (param i32))) (table 4 funcref)
            (elem (i32.const 0) func $in_table $other)
            (func $in_table (param i32)) (func $other) (func $nowhere (param i32))
            (func (export \"go\") (call_indirect (type $t) (i32.const 1) (i32.const 0))))";
        // $in_table, the export, and the node of the type.
        assert_eq!(reached(text), [0, 3, 4]);
        assert_eq!(graph(text).types, ["(i32) -> ()"]);
    }

    /// A module with two tables, of which the first is called by, with this function beside.
    fn tables(beside: &str) -> String {
        format!(
            "(module (table $a 4 funcref) (table $b 4 funcref) (global $g funcref (ref.func $global))
            (elem (table $a) (i32.const 0) func $one) (elem (table $b) (i32.const 0) func $two)
            (elem $p func $three) (func $one) (func $two) (func $three) (func $global) {beside}
            (func (export \"go\") (call_indirect $a (i32.const 0))))"
        )
    }

    #[test]
    fn a_table_that_nothing_writes_to_holds_what_it_is_made_with() {
        assert_eq!(reached(&tables("(func $beside)")), [0, 5, 6]);
        // Also by code that nothing reaches: it is not known in what order code is looked at.
        for writer in [
            "(table.set $a (i32.const 0) (table.get $b (i32.const 0)))",
            "(table.copy $a $b (i32.const 0) (i32.const 0) (i32.const 1))",
            "(table.init $a $p (i32.const 0) (i32.const 0) (i32.const 1))",
            "(table.fill $a (i32.const 0) (global.get $g) (i32.const 1))",
            "(drop (table.grow $a (global.get $g) (i32.const 1)))",
        ] {
            let text = tables(&format!("(func $beside {writer})"));
            assert_eq!(reached(&text), [0, 1, 2, 3, 5, 6], "{writer}");
        }
        let other = "(table.set $b (i32.const 0) (table.get $a (i32.const 0)))";
        assert_eq!(
            reached(&tables(&format!("(func $beside {other})"))),
            [0, 5, 6]
        );
        let imported = "(module (import \"m\" \"t\" (table 1 funcref)) (func $a)
            (elem declare func $a) (func (export \"go\") (call_indirect (i32.const 0))))";
        assert_eq!(reached(imported), [0, 1, 2]);
    }

    #[test]
    fn a_table_may_be_made_with_a_value() {
        let text = "(module (func $a) (func $b) (global $g funcref (ref.func $b))
            (table 1 funcref (ref.func $a)) (table $two 1 funcref (ref.func $b))
            (func (export \"go\") (call_indirect (i32.const 0))))";
        assert_eq!(reached(text), [0, 2, 3]);
        let global = "(module (import \"m\" \"g\" (global $g funcref)) (func $a)
            (elem declare func $a) (table 1 funcref (global.get $g))
            (func (export \"go\") (call_indirect (i32.const 0))))";
        assert_eq!(reached(global), [0, 1, 2]);
        let element = "(module (import \"m\" \"g\" (global $g funcref)) (func $a)
            (elem declare func $a) (table 1 funcref)
            (elem (i32.const 0) funcref (global.get $g))
            (func (export \"go\") (call_indirect (i32.const 0))))";
        assert_eq!(reached(element), [0, 1, 2]);
    }

    #[test]
    fn an_address_is_taken_by_globals_tables_and_code() {
        for taker in [
            "(global funcref (ref.func $a))",
            "(table 1 funcref (ref.func $a))",
            "(table 1 funcref) (elem declare func $a) (func (drop (ref.func $a)))",
            "(table 1 funcref) (elem funcref (ref.func $a))",
        ] {
            let text = format!(
                "(module (type $t (func)) (func $a) {taker}
                    (func (export \"go\") (param (ref null $t)) (call_ref $t (local.get 0))))"
            );
            assert!(reached(&text).contains(&0), "{taker}");
        }
        let none = "(module (type $t (func)) (func $a)
            (func (export \"go\") (param (ref null $t)) (call_ref $t (local.get 0))))";
        assert!(!reached(none).contains(&0));
    }

    #[test]
    fn the_start_function_is_called_and_what_it_imports() {
        let text = "(module (import \"m\" \"f\" (func $f)) (import \"m\" \"g\" (func))
            (func $s (call $f)) (start $s) (memory 1) (data \"abc\") (data \"d\"))";
        assert_eq!(reached(text), [0, 2]);
        assert_eq!(graph(text).data, [3, 1]);
        let imported = "(module (import \"m\" \"f\" (func (param i32))) (export \"f\" (func 0)))";
        assert_eq!(reached(imported), [0]);
    }

    #[test]
    fn instructions_that_enter_the_kernel_are_kept_once_a_function() {
        let text = "(module (memory 1) (func (drop (memory.grow (i32.const 1)))
            (drop (memory.grow (i32.const 1)))) (func (memory.fill (i32.const 0) (i32.const 0)
            (i32.const 9))))";
        let found: Vec<_> = graph(text).entering.into_iter().collect();
        assert_eq!(found, [(0, "memory.grow"), (1, "memory.fill")]);
    }

    #[test]
    fn a_call_that_unreachable_follows_is_the_last() {
        let last = |text: &str| {
            let graph = graph(text);
            let calls = graph.calls.iter().flatten();
            calls.map(|call| call.last).collect::<Vec<_>>()
        };
        let panics = "(module (func $p) (func (call $p) unreachable))";
        assert_eq!(last(panics), [true]);
        let twice = "(module (func $p) (func (call $p) (call $p) unreachable))";
        assert_eq!(last(twice), [false]);
        let later = "(module (func $p) (func (call $p) nop unreachable))";
        assert_eq!(last(later), [false]);
        let caught = "(module (func $p) (func (call $p) unreachable)
            (func (try_table (catch_all 0) (call 1))))";
        assert_eq!(last(caught), [false, false]);
    }
}
