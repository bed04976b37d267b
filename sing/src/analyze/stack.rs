//! How deep the stack of native code can get, from the frames of functions and their calls.
//!
//! A group of nodes that can call each other in a circle has no greatest depth if one of these calls
//! keeps the caller's frame. Otherwise the depth of a node is that of the deepest path from it.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use sing_compiler::graph::Graph;
use sing_image::elf::Image;
use sing_image::meta::Func;
use std::collections::VecDeque;

/// At most so many circles are shown.
const SHOWN: usize = 5;
/// In a group of circles, so many calls are tried for the shortest one.
const TRIED: usize = 64;

/// What is known of the stack's use.
pub struct Frames {
    /// The bytes of each node: a return address, and what the function takes; nothing for a type.
    pub of: Vec<u64>,
    /// The bytes of what the compiler has added, once on each path: a function by which the kernel
    /// enters, and the search for a block that catches an exception.
    pub added: u64,
}

impl Frames {
    pub fn new(graph: &Graph, image: &Image<'_>) -> Frames {
        let code = |func: &Func| {
            let start = func.offset as usize;
            let code = image
                .code
                .get(start..start.saturating_add(func.size as usize));
            frame(code.unwrap_or_default())
        };
        let defined = graph.functions - graph.imports.len();
        let (own, added) = image
            .meta
            .funcs
            .split_at(defined.min(image.meta.funcs.len()));
        let stub = added.iter().map(code).max().unwrap_or(0);
        let mut of = vec![0; graph.calls.len()];
        // One that stands for an import in a table.
        of[..graph.imports.len()].fill(stub);
        for (frame, func) in of[graph.imports.len()..].iter_mut().zip(own) {
            *frame = code(func);
        }
        if graph.tail_calls {
            // Room for parameters is the callee's, at most 16 bytes for each.
            for (frame, params) in of.iter_mut().zip(&graph.params) {
                *frame += 16 * params;
            }
        }
        // The routines for exceptions are behind all functions, and none calls itself.
        let ends = image
            .meta
            .funcs
            .iter()
            .map(|f| f.offset as usize + f.size as usize);
        let routines = image
            .code
            .get(ends.max().unwrap_or(0)..)
            .unwrap_or_default();
        let routines = match routines.is_empty() {
            true => 0,
            false => frame(routines),
        };
        Frames {
            of,
            added: stub + routines,
        }
    }
}

/// What a function's code takes of the stack, with the return address. All that it ever takes counts,
/// also what it has given back when it takes more.
fn frame(code: &[u8]) -> u64 {
    let mut bytes = 8_u64;
    let mut instruction = Instruction::default();
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::Push => bytes += 8,
            Mnemonic::Sub
                if instruction.op0_register() == Register::RSP
                    && instruction.op1_kind() != OpKind::Register =>
            {
                // What is no code but a constant must not make it less.
                let taken = instruction.immediate(1) as i64;
                bytes = bytes.saturating_add(u64::try_from(taken).unwrap_or(0));
            }
            _ => {}
        }
    }
    bytes
}

/// The greatest depth.
#[derive(Debug, PartialEq, Eq)]
pub enum Depth {
    /// So many bytes, and the nodes on the way there.
    Bounded(u64, Vec<usize>),
    /// Some of the circles that make it unbounded, the shortest first, and how many groups of
    /// functions that can call each other there are.
    Unbounded(Vec<Vec<usize>>, usize),
}

/// The greatest depth from the roots; `by_type` says whether calls through types count.
pub fn depth(graph: &Graph, frames: &Frames, by_type: bool) -> Depth {
    let follows = |to: usize| by_type || to < graph.functions;
    let groups = Groups::of(graph, follows);
    let mut circles = Vec::new();
    let mut circling = 0;
    // Groups come with those that they call before them.
    let mut depths = vec![0; graph.calls.len()];
    let mut next = vec![None; graph.calls.len()];
    for group in &groups.members {
        let here = groups.of[group[0]];
        let inside = |to: usize| follows(to) && groups.of[to] == here;
        let mut kept = group.iter().flat_map(|&from| {
            let calls = graph.calls[from].iter();
            let kept = calls.filter(|call| !call.tail && inside(call.to));
            kept.map(move |call| (from, call.to))
        });
        let mut kept: Vec<(usize, usize)> = kept.by_ref().take(TRIED).collect();
        if !kept.is_empty() {
            circling += 1;
            kept.sort_unstable();
            let ways = kept.iter().map(|&(from, to)| way(graph, to, from, inside));
            circles.extend(ways.min_by_key(Vec::len));
            continue;
        }
        // What each member needs itself, and what the members need that it can jump to.
        let mut deepest = (0, None);
        for &node in group {
            let mut here = (frames.of[node], None);
            for call in graph.calls[node].iter().filter(|call| follows(call.to)) {
                if inside(call.to) {
                    continue;
                }
                let own = if call.tail { 0 } else { frames.of[node] };
                let bytes = own + depths[call.to];
                if bytes > here.0 {
                    here = (bytes, Some(call.to));
                }
            }
            deepest = deepest.max((here.0, Some(node)));
            (depths[node], next[node]) = here;
        }
        if let [_, _, ..] = group[..] {
            for &node in group.iter().filter(|node| Some(**node) != deepest.1) {
                (depths[node], next[node]) = deepest;
            }
        }
    }
    if circling > 0 {
        circles.sort_by_key(Vec::len);
        circles.truncate(SHOWN);
        return Depth::Unbounded(circles, circling);
    }
    let Some(&root) = graph.roots.iter().max_by_key(|root| depths[**root]) else {
        return Depth::Bounded(0, Vec::new());
    };
    let mut path = vec![root];
    while let Some(to) = next[path[path.len() - 1]] {
        path.push(to);
    }
    Depth::Bounded(depths[root] + frames.added, path)
}

/// The shortest way from one node to another over these nodes, both included.
fn way(graph: &Graph, from: usize, to: usize, inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut before = std::collections::HashMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            break;
        }
        for call in graph.calls[node].iter().filter(|call| inside(call.to)) {
            before.entry(call.to).or_insert_with(|| {
                queue.push_back(call.to);
                node
            });
        }
    }
    let mut path = vec![to];
    while path[path.len() - 1] != from {
        match before.get(&path[path.len() - 1]) {
            Some(node) => path.push(*node),
            None => break,
        }
    }
    path.reverse();
    path
}

/// The strongly connected components of what the roots reach, by Tarjan's algorithm: callees first.
struct Groups {
    members: Vec<Vec<usize>>,
    /// The number of each node's group.
    of: Vec<usize>,
}

const NONE: usize = usize::MAX;

impl Groups {
    fn of(graph: &Graph, follows: impl Fn(usize) -> bool) -> Groups {
        let count = graph.calls.len();
        let mut groups = Groups {
            members: Vec::new(),
            of: vec![NONE; count],
        };
        let (mut order, mut low, mut begun) = (vec![NONE; count], vec![NONE; count], 0);
        let mut open = Vec::new();
        for &root in &graph.roots {
            if order[root] != NONE {
                continue;
            }
            // The nodes that are being looked at, and which of their calls comes next.
            let mut path = vec![(root, 0)];
            while let Some((node, at)) = path.last_mut() {
                let node = *node;
                if *at == 0 {
                    (order[node], low[node]) = (begun, begun);
                    begun += 1;
                    open.push(node);
                }
                let next = graph.calls[node].get(*at).map(|call| call.to);
                *at += 1;
                match next {
                    Some(to) if !follows(to) => {}
                    Some(to) if order[to] == NONE => path.push((to, 0)),
                    Some(to) if groups.of[to] == NONE => low[node] = low[node].min(order[to]),
                    Some(_) => {}
                    None => {
                        path.pop();
                        if let Some(&(caller, _)) = path.last() {
                            low[caller] = low[caller].min(low[node]);
                        }
                        if low[node] == order[node] {
                            groups.close(&mut open, node);
                        }
                    }
                }
            }
        }
        groups
    }

    /// The open nodes down to this one are a group.
    fn close(&mut self, open: &mut Vec<usize>, node: usize) {
        let at = open.iter().rposition(|n| *n == node).unwrap_or(0);
        let members = open.split_off(at);
        for member in &members {
            self.of[*member] = self.members.len();
        }
        self.members.push(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth of a module whose functions have frames of 1, 10, 100 and so on.
    fn found(text: &str, by_type: bool) -> Depth {
        let graph = Graph::of(&wat::parse_str(text).unwrap()).unwrap();
        let mut frames = vec![0; graph.calls.len()];
        for (at, frame) in frames[graph.imports.len()..graph.functions]
            .iter_mut()
            .enumerate()
        {
            *frame = 10_u64.pow(at as u32);
        }
        let frames = Frames {
            of: frames,
            added: 0,
        };
        depth(&graph, &frames, by_type)
    }

    #[test]
    fn the_deepest_path_counts() {
        let text = "(module (func $a) (func $b (call $a)) (func $c (call $a))
            (func (export \"go\") (call $b) (call $c)))";
        assert_eq!(found(text, true), Depth::Bounded(1101, vec![3, 2, 0]));
        assert_eq!(found("(module (func))", true), Depth::Bounded(0, vec![]));
    }

    #[test]
    fn a_tail_call_leaves_no_frame() {
        let text = "(module (func $a) (func $b (return_call $a))
            (func (export \"go\") (call $b)))";
        assert_eq!(found(text, true), Depth::Bounded(110, vec![2, 1]));
        // Two that jump to each other, of which one calls another function.
        let text = "(module (func $leaf) (func $b (return_call $c))
            (func $c (call $leaf) (return_call $b)) (func (export \"go\") (call $b)))";
        assert_eq!(found(text, true), Depth::Bounded(1101, vec![3, 1, 2, 0]));
        let own = "(module (func $a (export \"go\") (return_call $a)))";
        assert_eq!(found(own, true), Depth::Bounded(1, vec![0]));
    }

    #[test]
    fn circles_are_named_the_shortest_first() {
        let text = "(module (func $a (call $b)) (func $b (call $c)) (func $c (call $a) (call $d))
            (func $d (call $d)) (func (export \"go\") (call $a)))";
        let Depth::Unbounded(circles, 2) = found(text, true) else {
            panic!("{:?}", found(text, true));
        };
        assert_eq!(circles[0], [3]);
        assert_eq!(circles[1].len(), 3);
    }

    #[test]
    fn a_circle_by_a_table_is_one_unless_it_is_left_out() {
        let text = "(module (type $t (func)) (table 1 funcref) (elem (i32.const 0) func $a)
            (func $a (export \"go\") (call_indirect (type $t) (i32.const 0))))";
        assert_eq!(found(text, true), Depth::Unbounded(vec![vec![1, 0]], 1));
        assert_eq!(found(text, false), Depth::Bounded(1, vec![0]));
    }

    #[test]
    fn a_deep_chain_needs_no_stack_here() {
        let chain: String = (0..100_000)
            .map(|n| format!("(func (call {}))", n + 1))
            .collect();
        let text = format!("(module {chain} (func) (export \"go\" (func 0)))");
        let graph = Graph::of(&wat::parse_str(text).unwrap()).unwrap();
        let frames = Frames {
            of: vec![8; graph.calls.len()],
            added: 0,
        };
        let Depth::Bounded(bytes, path) = depth(&graph, &frames, true) else {
            panic!("a chain is no circle");
        };
        assert_eq!((bytes, path.len()), (800_008, 100_001));
    }

    #[test]
    fn a_frame_is_what_the_code_takes() {
        // push rbp; mov rbp, rsp; sub rsp, 0x60; sub r12d, 0x80; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x60, 0x41, 0x81, 0xec, 0x80, 0, 0, 0, 0xc3,
        ];
        assert_eq!(frame(&code), 8 + 8 + 0x60);
        assert_eq!(frame(&[0xc3]), 8);
        // A constant behind the code that reads as sub rsp, -0x1000.
        let forged = [0xc3, 0x48, 0x81, 0xec, 0x00, 0xf0, 0xff, 0xff];
        assert_eq!(frame(&forged), 8);
    }
}
