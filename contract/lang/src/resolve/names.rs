//! Names of types and contracts as written, and what they stand for.

use super::suggestion;
use crate::ast::{self, Item, Name, TypeKind};
use crate::bounds::side_name;
use crate::diagnostic::Diagnostic;
use crate::model::{Content, Model, Scalar, Type};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How many contracts may derive from each other in a line, or permissions narrow each other.
pub(super) const MAX_GENERATIONS: usize = 32;

/// The declarations of a text, for look-ups before the model is complete.
pub(super) struct Names<'a> {
    contracts: HashMap<&'a str, &'a ast::Contract>,
    narrowings: HashMap<&'a str, &'a ast::Narrowing>,
    structs: HashSet<&'a str>,
    all: Vec<&'a Item>,
    /// States of contracts that were asked for, by the contract's name.
    states: RefCell<HashMap<String, Rc<States>>>,
}

/// Names of a contract's states.
#[derive(Default)]
struct States {
    /// Its bases' first.
    order: Vec<String>,
    known: HashSet<String>,
}

/// The name here of a type that other languages call so.
fn elsewhere(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let own = match name.strip_suffix("_t").unwrap_or(&name) {
        "boolean" | "_bool" => "bool",
        "uint8" | "uchar" | "octet" => "byte",
        "int8" | "schar" => "sbyte",
        "uint16" | "word" => "ushort",
        "int16" => "short",
        "uint32" | "unsigned" | "dword" => "uint",
        "int32" | "signed" | "integer" => "int",
        "uint64" | "qword" | "usize" | "size" | "uintptr" => "ulong",
        "int64" | "isize" | "ssize" | "intptr" => "long",
        "float32" | "single" => "float",
        "float64" => "double",
        "char32" | "rune" => "char",
        "string" | "str" => return Some("text is a block: write `char[] in ExHeap`".into()),
        _ => return None,
    };
    Some(format!("it is called `{own}` here"))
}

impl<'a> Names<'a> {
    pub(super) fn new(items: &[&'a Item]) -> Names<'a> {
        let contracts = items
            .iter()
            .filter_map(|i| match i {
                Item::Contract(c) => Some((c.name.text.as_str(), c)),
                _ => None,
            })
            .collect();
        let narrowings = items
            .iter()
            .filter_map(|i| match i {
                Item::Narrowing(n) => Some((n.name.text.as_str(), n)),
                _ => None,
            })
            .collect();
        let structs = items
            .iter()
            .filter(|i| matches!(i, Item::Struct(_)))
            .map(|i| i.name().text.as_str())
            .collect();
        Names {
            contracts,
            narrowings,
            structs,
            all: items.to_vec(),
            states: RefCell::default(),
        }
    }

    /// The contract of this name.
    pub(super) fn contract(&self, name: &str) -> Option<&'a ast::Contract> {
        self.contracts.get(name).copied()
    }

    /// The permission of this name.
    pub(super) fn narrowing(&self, name: &str) -> Option<&'a ast::Narrowing> {
        self.narrowings.get(name).copied()
    }

    /// The contract that a permission narrows, or the one of this name itself.
    fn narrowed(&self, mut name: &'a str) -> Option<&'a ast::Contract> {
        for _ in 0..MAX_GENERATIONS {
            match self.narrowing(name) {
                Some(n) => name = &n.of.text,
                None => return self.contract(name),
            }
        }
        None // a circle, or too many; reported elsewhere
    }

    /// The report that there is no such thing.
    pub(super) fn unknown(&self, what: &str, name: &Name) -> Diagnostic {
        let scalars: &[&str] = match what {
            "type" => &[
                "bool", "byte", "sbyte", "short", "ushort", "int", "uint", "long", "ulong", "char",
                "float", "double",
            ],
            _ => &[],
        };
        let known = self.all.iter().map(|i| i.name().text.as_str());
        let diagnostic = Diagnostic::error(
            format!("there is no {what} {}", name.text),
            name.span,
            format!("no such {what} is declared here"),
        );
        if let Some(help) = elsewhere(&name.text).filter(|_| what == "type") {
            return diagnostic.help(help);
        }
        match suggestion(&name.text, known.chain(scalars.iter().copied())) {
            Some(help) => diagnostic.help(help),
            None if what == "contract" => diagnostic.help(format!(
                "declare it, or bring it in with `import \"{}.contract\";`",
                name.text
            )),
            None => diagnostic,
        }
    }

    /// The content of a block of this type. A struct may be missing from the model so far, as those
    /// of trees are.
    fn content(&self, name: &Name, model: &Model, found: &mut Vec<Diagnostic>) -> Option<Content> {
        if let Some(scalar) = Scalar::from_name(&name.text) {
            return Some(Content::Scalar(scalar));
        }
        if model.enumeration(&name.text).is_some() {
            return Some(Content::Enum(name.text.clone()));
        }
        if self.structs.contains(name.text.as_str()) {
            return Some(Content::Struct(name.text.clone()));
        }
        found.push(self.missing(name));
        None
    }

    fn missing(&self, name: &Name) -> Diagnostic {
        if let Some(n) = self.narrowing(&name.text) {
            return Diagnostic::error(
                format!("{} is a permission, not a type", name.text),
                name.span,
                "a permission has one endpoint type",
            )
            .help(format!("write `{}.{}:STATE`", name.text, n.side.name()));
        }
        if self.contract(&name.text).is_some() {
            return Diagnostic::error(
                format!("{} is a contract, not a type", name.text),
                name.span,
                "a contract has two endpoint types",
            )
            .help(format!(
                "write `{0}.Imp:STATE` or `{0}.Exp:STATE`",
                name.text
            ));
        }
        self.unknown("type", name)
    }

    /// A type as written.
    pub(super) fn ty(
        &self,
        ty: &'a ast::Type,
        model: &Model,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Type> {
        match &ty.kind {
            TypeKind::Named(name) => {
                if let Some(scalar) = Scalar::from_name(&name.text) {
                    Some(Type::Scalar(scalar))
                } else if model.enumeration(&name.text).is_some() {
                    Some(Type::Enum(name.text.clone()))
                } else if model.structure(&name.text).is_some() {
                    Some(Type::Struct(name.text.clone()))
                } else if self.structs.contains(name.text.as_str()) {
                    None // it contains itself, or there are too many; reported where it is declared
                } else {
                    found.push(self.missing(name));
                    None
                }
            }
            TypeKind::Optional(name) => match self.content(name, model, found)? {
                // One that is missing in the model contains itself; reported where it is declared.
                Content::Struct(of) if !model.structure(&of)?.plain => {
                    let owns = if model.structure(&of)?.endpoints {
                        "an endpoint"
                    } else {
                        "a block"
                    };
                    found.push(
                        Diagnostic::error(
                            format!("{of} cannot be absent"),
                            ty.span,
                            format!("it has a field that owns {owns}"),
                        )
                        .note("the kernel takes what a message owns word by word, and knows of each by itself whether it may be absent")
                        .help("let its parts be absent, each by itself: values as `T?`, blocks as `T[]? in ExHeap`"),
                    );
                    None
                }
                of => Some(Type::Optional(of)),
            },
            &TypeKind::Vector { ref of, optional } => {
                let of = self.content(of, model, found)?;
                Some(Type::Vector { of, optional })
            }
            &TypeKind::Pointer { ref of, optional } => {
                let of = self.content(of, model, found)?;
                Some(Type::Record { of, optional })
            }
            TypeKind::Endpoint {
                contract,
                side,
                state,
            } => {
                let narrowing = self.narrowing(&contract.text);
                if let Some(n) = narrowing.filter(|n| n.side != *side) {
                    found.push(
                        Diagnostic::error(
                            format!("permission {} has no {}", contract.text, side.name()),
                            ty.span,
                            format!("it has only endpoints of the {} side", side_name(n.side)),
                        )
                        .label(n.side_span, "it narrows this side")
                        .help(format!(
                            "write `{}.{}`",
                            contract.text,
                            n.side.name()
                        )),
                    );
                    return None;
                }
                let Some(declared) = self.narrowed(&contract.text) else {
                    if narrowing.is_none() {
                        found.push(self.unknown("contract", contract));
                    }
                    return None;
                };
                let states = self.states(declared);
                let state = match state {
                    None => states.order.first()?.clone(),
                    Some(s) if s.text == "closed" || states.known.contains(s.text.as_str()) => {
                        s.text.clone()
                    }
                    Some(s) => {
                        let error = Diagnostic::error(
                            format!("contract {} has no state {}", contract.text, s.text),
                            s.span,
                            "no such state",
                        )
                        .label(declared.name.span, "the contract is declared here");
                        found.push(
                            match suggestion(&s.text, states.order.iter().map(String::as_str)) {
                                Some(help) => error.help(help),
                                None => error.help(format!(
                                    "its states are {}",
                                    states.order[..states.order.len().min(20)].join(", ")
                                )),
                            },
                        );
                        return None;
                    }
                };
                Some(Type::Endpoint {
                    contract: contract.text.clone(),
                    side: *side,
                    state,
                })
            }
        }
    }

    /// Names of a contract's states.
    fn states(&self, contract: &'a ast::Contract) -> Rc<States> {
        let name = contract.name.text.as_str();
        if let Some(states) = self.states.borrow().get(name) {
            return Rc::clone(states);
        }
        let mut family = vec![contract];
        while let Some(base) = family[family.len() - 1]
            .base
            .as_ref()
            .and_then(|b| self.contract(&b.text))
        {
            if family.len() > MAX_GENERATIONS {
                break; // too many, or a circle; reported elsewhere
            }
            family.push(base);
        }
        let mut states = States::default();
        for state in family.iter().rev().flat_map(|c| &c.states) {
            if states.known.insert(state.name.text.clone()) {
                states.order.push(state.name.text.clone());
            }
        }
        let states = Rc::new(states);
        self.states
            .borrow_mut()
            .insert(name.into(), Rc::clone(&states));
        states
    }
}
