//! Contracts with every name looked up: what bindings, tables, checks and documentation are made
//! from.

mod types;

use std::collections::HashMap;

pub use crate::ast::{Direction, Side, Span};
pub use types::{Content, Layout, Scalar, Type};

/// Name of the state that `closed` stands for, in which only the close is left.
pub const CLOSED: &str = "closed";

/// Everything that a text and its imports declare.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Enums, in order.
    pub enums: Vec<Enum>,
    /// Rep structs, in order.
    pub structs: Vec<Struct>,
    /// Contracts, in order.
    pub contracts: Vec<Contract>,
    /// The place of each name in its list. No two declarations have one name.
    places: HashMap<String, usize>,
}

impl Model {
    /// The contract of this name.
    #[must_use]
    pub fn contract(&self, name: &str) -> Option<&Contract> {
        let found = self.contracts.get(*self.places.get(name)?);
        found.filter(|c| c.name == name)
    }

    /// The enum of this name.
    #[must_use]
    pub fn enumeration(&self, name: &str) -> Option<&Enum> {
        let found = self.enums.get(*self.places.get(name)?);
        found.filter(|e| e.name == name)
    }

    /// How a value of this type lies in a block. A field that is a block itself has its place
    /// there, in which nothing stands: the kernel knows what is attached there.
    #[must_use]
    pub fn layout(&self, ty: &Type) -> Layout {
        let of = |size| Layout { size, align: size };
        match ty {
            Type::Scalar(s) => of(s.size()),
            Type::Enum(name) => of(self.enumeration(name).map_or(4, |e| e.repr.size())),
            Type::Struct(name) => self.structure(name).map_or(of(0), |s| s.layout),
            // As in C's `struct { bool has_value; T value; }`.
            Type::Optional(content) => {
                let Layout { size, align } = self.layout(&content.clone().into());
                let align = align.max(1);
                Layout {
                    size: align + size,
                    align,
                }
            }
            Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => of(4),
        }
    }

    /// The words that a value of this type takes in a message; if they are very many, not the exact
    /// number.
    #[must_use]
    pub fn words(&self, ty: &Type) -> usize {
        match ty {
            Type::Struct(name) => self.structure(name).map_or(0, |s| s.words),
            Type::Optional(of) => self.words(&of.clone().into()).saturating_add(1),
            _ => 1,
        }
    }

    /// The rep struct of this name.
    #[must_use]
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        let found = self.structs.get(*self.places.get(name)?);
        found.filter(|s| s.name == name)
    }

    pub(crate) fn add_enum(&mut self, e: Enum) {
        self.places.insert(e.name.clone(), self.enums.len());
        self.enums.push(e);
    }

    pub(crate) fn add_structure(&mut self, s: Struct) {
        self.places.insert(s.name.clone(), self.structs.len());
        self.structs.push(s);
    }

    pub(crate) fn add_contract(&mut self, c: Contract) {
        self.places.insert(c.name.clone(), self.contracts.len());
        self.contracts.push(c);
    }

    /// Brings the contracts into this order.
    pub(crate) fn order_contracts<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.contracts.sort_by_key(|c| key(&c.name));
        for (i, c) in self.contracts.iter().enumerate() {
            self.places.insert(c.name.clone(), i);
        }
    }
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: String,
    /// The integer type that holds it.
    pub repr: Scalar,
    /// Its values: documentation, name, number.
    pub values: Vec<(Vec<String>, String, i128)>,
}

/// A rep struct.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Whether it is nothing but values: no field owns a block or an endpoint.
    pub plain: bool,
    /// Whether it owns an endpoint itself: then it cannot lie in a block.
    pub endpoints: bool,
    /// How it lies in a block.
    pub layout: Layout,
    /// The offset of each field in a block.
    pub offsets: Vec<usize>,
    /// Words that it takes in a message.
    pub words: usize,
}

/// An argument or field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A condition of a `requires` clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As written.
    pub text: String,
    /// The term that computes its truth value.
    pub term: Term,
}

/// The kind of a term's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// A whole number of any size.
    Int,
    /// A floating-point number.
    Float,
    /// A character.
    Char,
    /// A value of an enum.
    Enum(String),
}

/// In the path of a term: the value of what may be absent, `a.Value`. No field is called so. If it
/// is absent, the term has no result.
pub const VALUE: &str = "?";

/// A term whose types fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A whole number.
    Int(i128),
    /// A truth value.
    Bool(bool),
    /// A value of an enum: enum, value.
    Enum(String, String),
    /// An argument, or a field of one.
    Value {
        /// The argument's name and those of the fields; [`VALUE`] for the value of one that may be
        /// absent.
        path: Vec<String>,
        /// Its kind.
        kind: Kind,
    },
    /// `a.HasValue`: whether what may be absent is there.
    Present {
        /// As of a value.
        path: Vec<String>,
        /// Whether it is a block.
        block: bool,
    },
    /// `buffer.Length`: how many elements a vector has; none if it is absent.
    Length {
        /// As of a value.
        path: Vec<String>,
        /// Whether it may be absent.
        optional: bool,
        /// What the vector consists of; of a text, its bytes are counted.
        of: Content,
    },
    /// `!a`
    Not(Box<Term>),
    /// `-a`
    Negative(Box<Term>),
    /// `a op b`
    Binary {
        /// The operator as written.
        op: &'static str,
        /// Kind of both operands; a whole number may stand where this says [`Kind::Float`].
        operands: Kind,
        /// The left one.
        left: Box<Term>,
        /// The right one.
        right: Box<Term>,
    },
}

impl Term {
    /// The kind of its value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Term::Int(_) | Term::Length { .. } => Kind::Int,
            Term::Bool(_) | Term::Not(_) | Term::Present { .. } => Kind::Bool,
            Term::Enum(name, _) => Kind::Enum(name.clone()),
            Term::Value { kind, .. } => kind.clone(),
            Term::Negative(inner) => inner.kind(),
            Term::Binary {
                op: "+" | "-" | "*" | "/" | "%",
                operands,
                ..
            } => operands.clone(),
            Term::Binary { .. } => Kind::Bool,
        }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: String,
    /// Its direction.
    pub direction: Direction,
    /// Its arguments.
    pub arguments: Vec<Field>,
    /// The conditions that its arguments must meet.
    pub requires: Vec<Condition>,
    /// The place of its declaration.
    pub span: Span,
}

/// A message that a side may send in a state, and the state that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Index of the message.
    pub message: usize,
    /// The side that sends it.
    pub sender: Side,
    /// Index of the state that follows.
    pub target: usize,
    /// The place at which it is written.
    pub span: Span,
}

/// A state.
#[derive(Clone, Debug)]
pub struct State {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name; an anonymous one has a `'` in it.
    pub name: String,
    /// The messages that may be sent in it.
    pub transitions: Vec<Transition>,
    /// The place of its declaration.
    pub span: Span,
}

impl State {
    /// The messages that a side may send in it.
    pub fn sends(&self, side: Side) -> impl Iterator<Item = &Transition> {
        self.transitions.iter().filter(move |t| t.sender == side)
    }

    /// The messages that a side may receive in it.
    pub fn receives(&self, side: Side) -> impl Iterator<Item = &Transition> {
        self.sends(side.peer())
    }

    /// Whether both sides may send in it.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.sends(Side::Imp).next().is_some() && self.sends(Side::Exp).next().is_some()
    }

    /// Whether it was given a name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        !self.name.contains('\'')
    }
}

/// A contract that another derives from.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its name.
    pub name: String,
    /// For each side (by `Side::index`) the states of the derived contract, ascending, in which
    /// that side's endpoint can stand for one of the base in the state of the same name.
    pub stands: [Vec<usize>; 2],
    /// For each side, all pairs of a state of the derived contract and one of the base, ascending,
    /// in which that side's endpoint is one of the base for a holder who has come there as one of
    /// the base.
    pub pairs: [Vec<(usize, usize)>; 2],
}

/// The relation of a permission to the contracts that it narrows ([O] 5.5.3).
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// The side whose endpoints are narrowed; there are no others.
    pub side: Side,
    /// The contracts that it narrows, nearest first: permissions, and last the contract of the
    /// channel.
    pub of: Vec<String>,
}

/// A contract, or a permission to say a part of one.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Whether it is public.
    pub public: bool,
    /// Its name.
    pub name: String,
    /// The contracts that it derives from, nearest first.
    pub bases: Vec<Base>,
    /// The contract that it narrows, if it is a permission.
    pub narrows: Option<Narrowing>,
    /// Messages; those of the bases first, so that a message has one index in a whole family.
    pub messages: Vec<Message>,
    /// States; the first is the initial one.
    pub states: Vec<State>,
    /// The most messages that can be under way to each side (by `Side::index`).
    pub queue: [u16; 2],
    /// The place of its name.
    pub span: Span,
}

impl Contract {
    /// The state of this name.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|s| s.name == name)
    }

    /// Whether there are endpoints of this side: a permission has one side only.
    #[must_use]
    pub fn has_side(&self, side: Side) -> bool {
        self.narrows.as_ref().is_none_or(|n| n.side == side)
    }

    /// The states in which an endpoint of this side can stand for one of `wanted` in the state of
    /// the same name: the same contract, a base that allows it there, or a permission to which it
    /// can be narrowed.
    #[must_use]
    pub fn stands_for(&self, wanted: &Contract, side: Side) -> Vec<usize> {
        let of = wanted.narrows.iter().filter(|n| n.side == side);
        let names = of.flat_map(|n| &n.of).chain([&wanted.name]);
        let mut states = Vec::new();
        for name in names {
            if *name == self.name {
                return (0..self.states.len()).collect();
            }
            let bases = self.bases.iter().filter(|b| b.name == *name);
            states.extend(bases.flat_map(|b| &b.stands[side.index()]));
        }
        states.sort_unstable();
        states.dedup();
        states
    }

    /// The states in which an endpoint of this side can be while it is used as one of `wanted` in
    /// the state of this name.
    #[must_use]
    pub fn used_as(&self, wanted: &Contract, side: Side, state: &str) -> Vec<usize> {
        let Some(asked) = wanted.states.iter().position(|s| s.name == state) else {
            return Vec::new();
        };
        // A permission has the states of what it narrows.
        let of = wanted.narrows.iter().filter(|n| n.side == side);
        let names = of.flat_map(|n| &n.of).chain([&wanted.name]);
        let mut states = Vec::new();
        for name in names {
            if *name == self.name {
                return vec![asked];
            }
            let bases = self.bases.iter().filter(|b| b.name == *name);
            let pairs = bases.flat_map(|b| &b.pairs[side.index()]);
            states.extend(pairs.filter(|p| p.1 == asked).map(|p| p.0));
        }
        states.sort_unstable();
        states.dedup();
        states
    }

    /// Which states can be reached from the initial one.
    #[must_use]
    pub fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.states.len()];
        let mut todo = vec![0];
        while let Some(s) = todo.pop() {
            if !std::mem::replace(&mut seen[s], true) {
                todo.extend(self.states[s].transitions.iter().map(|t| t.target));
            }
        }
        seen
    }
}
