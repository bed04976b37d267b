//! The call graph of a module: who calls whom, straight or through tables and references.
//!
//! The nodes are the module's functions and, for each type of which a function is called by a table
//! or a reference, one node that stands for all functions of this type whose address is taken
//! somewhere. So a call that is decided at run-time leads to everything that it may lead to.
//!
//! Invariant: whatever can run when the module's exports are called is reached from [`Graph::roots`];
//! what is reached may be more.

use std::collections::{BTreeSet, HashMap};
use wasmparser::{self as wp, CompositeInnerType, Operator, TypeRef};

/// A call from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub to: usize,
    /// Whether the caller's frame is gone when the callee runs.
    pub tail: bool,
}

/// An imported function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub module: String,
    pub name: String,
}

/// A call graph. Nodes are numbered: imported functions, defined ones, and types.
#[derive(Debug, Default)]
pub struct Graph {
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
    /// The bytes of each segment of data.
    pub data: Vec<usize>,
    /// Instructions that are calls of the kernel when they run, by the function in which they stand.
    pub entering: BTreeSet<(usize, &'static str)>,
}

/// What a module says of its functions, while it is read.
#[derive(Default)]
struct Reading {
    graph: Graph,
    /// Each type of functions by its index, `None` for others.
    types: Vec<Option<(String, u64)>>,
    /// The type of each function.
    funcs: Vec<u32>,
    /// Functions whose address is taken.
    taken: Vec<usize>,
    /// The node of each type by which functions are called.
    nodes: HashMap<String, usize>,
    /// Calls by type: from which function, and whether its frame goes.
    by_type: Vec<(usize, String, bool)>,
    /// The function whose body comes next.
    next: usize,
}

impl Graph {
    /// The call graph of a valid module.
    ///
    /// # Errors
    /// The module cannot be parsed.
    pub fn of(module: &[u8]) -> Result<Graph, wp::BinaryReaderError> {
        let mut reading = Reading::default();
        for payload in wp::Parser::new(0).parse_all(module) {
            reading.payload(payload?)?;
        }
        Ok(reading.finish())
    }

    /// For each node that can run, the node from which it was reached first: itself for a root.
    pub fn reached(&self) -> Vec<Option<usize>> {
        let mut from = vec![None; self.calls.len()];
        let mut queue = std::collections::VecDeque::new();
        for &root in &self.roots {
            if from[root].is_none() {
                from[root] = Some(root);
                queue.push_back(root);
            }
        }
        while let Some(node) = queue.pop_front() {
            for call in &self.calls[node] {
                if from[call.to].is_none() {
                    from[call.to] = Some(node);
                    queue.push_back(call.to);
                }
            }
        }
        from
    }
}

impl Reading {
    fn payload(&mut self, payload: wp::Payload<'_>) -> Result<(), wp::BinaryReaderError> {
        match payload {
            wp::Payload::TypeSection(groups) => {
                for group in groups {
                    let types = group?.into_types();
                    self.types
                        .extend(types.map(|ty| match ty.composite_type.inner {
                            CompositeInnerType::Func(func) => {
                                Some((describe(&func), func.params().len() as u64))
                            }
                            _ => None,
                        }));
                }
            }
            wp::Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if let TypeRef::Func(ty) | TypeRef::FuncExact(ty) = import.ty {
                        self.funcs.push(ty);
                        self.graph.imports.push(Import {
                            module: import.module.into(),
                            name: import.name.into(),
                        });
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
                        self.constant(&value)?;
                    }
                }
            }
            wp::Payload::GlobalSection(globals) => {
                for global in globals {
                    self.constant(&global?.init_expr)?;
                }
            }
            wp::Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if let wp::ExternalKind::Func | wp::ExternalKind::FuncExact = export.kind {
                        self.graph.roots.push(export.index as usize);
                    }
                }
            }
            wp::Payload::StartSection { func, .. } => self.graph.roots.push(func as usize),
            wp::Payload::ElementSection(elements) => {
                for element in elements {
                    match element?.items {
                        wp::ElementItems::Functions(items) => {
                            for item in items {
                                self.taken.push(item? as usize);
                            }
                        }
                        wp::ElementItems::Expressions(_, items) => {
                            for item in items {
                                self.constant(&item?)?;
                            }
                        }
                    }
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

    /// The functions whose address a constant expression takes.
    fn constant(&mut self, value: &wp::ConstExpr<'_>) -> Result<(), wp::BinaryReaderError> {
        for operator in value.get_operators_reader() {
            if let Operator::RefFunc { function_index } = operator? {
                self.taken.push(function_index as usize);
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &wp::FunctionBody<'_>) -> Result<(), wp::BinaryReaderError> {
        let from = self.next;
        self.next += 1;
        self.graph.calls.resize(self.funcs.len(), Vec::new());
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            let entering = entering(&operator).map(|name| (from, name));
            self.graph.entering.extend(entering);
            match operator {
                Operator::Call { function_index } => self.call(from, function_index, false),
                Operator::ReturnCall { function_index } => self.call(from, function_index, true),
                Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                    self.call_by(from, type_index, false);
                }
                Operator::ReturnCallIndirect { type_index, .. }
                | Operator::ReturnCallRef { type_index } => self.call_by(from, type_index, true),
                Operator::RefFunc { function_index } => self.taken.push(function_index as usize),
                _ => {}
            }
        }
        Ok(())
    }

    fn call(&mut self, from: usize, to: u32, tail: bool) {
        let to = to as usize;
        self.graph.tail_calls |= tail;
        self.graph.calls[from].push(Call { to, tail });
    }

    fn call_by(&mut self, from: usize, ty: u32, tail: bool) {
        self.graph.tail_calls |= tail;
        if let Some(Some((ty, _))) = self.types.get(ty as usize) {
            self.by_type.push((from, ty.clone(), tail));
        }
    }

    /// Adds the nodes of types.
    fn finish(mut self) -> Graph {
        let graph = &mut self.graph;
        graph.functions = self.funcs.len();
        let types = &self.types;
        let params = |ty: &u32| types.get(*ty as usize)?.as_ref().map(|(_, params)| *params);
        graph.params = self
            .funcs
            .iter()
            .map(|ty| params(ty).unwrap_or(0))
            .collect();
        graph.calls.resize(graph.functions, Vec::new());
        for (from, ty, tail) in self.by_type {
            let node = *self.nodes.entry(ty.clone()).or_insert_with(|| {
                graph.types.push(ty);
                graph.calls.push(Vec::new());
                graph.calls.len() - 1
            });
            graph.calls[from].push(Call { to: node, tail });
        }
        self.taken.sort_unstable();
        self.taken.dedup();
        for to in self.taken {
            let ty = self
                .funcs
                .get(to)
                .and_then(|ty| types.get(*ty as usize)?.as_ref());
            if let Some(node) = ty.and_then(|(ty, _)| self.nodes.get(ty)) {
                // A type has no frame of its own.
                graph.calls[*node].push(Call { to, tail: true });
            }
        }
        for calls in &mut graph.calls {
            calls.sort_unstable_by_key(|call| (call.to, call.tail));
            calls.dedup();
        }
        self.graph
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

/// A type of functions in words. Types that differ only in which structures their references point
/// to are the same here: one may be a subtype of the other.
fn describe(func: &wp::FuncType) -> String {
    let list = |types: &[wp::ValType]| {
        let words: Vec<String> = types.iter().map(word).collect();
        words.join(", ")
    };
    match func.results() {
        [one] => format!("({}) -> {}", list(func.params()), word(one)),
        results => format!("({}) -> ({})", list(func.params()), list(results)),
    }
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
}
