//! Enums, rep structs, and types as written.

use super::{suggestion, twice};
use crate::ast::{self, Item, Name, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::model::{Enum, Field, Model, Plain, Scalar, Struct, Type};
use std::collections::HashMap;

/// The most words that the arguments of a message take.
pub(super) const MAX_WORDS: usize = sing_abi::MAX_MESSAGE_WORDS;

pub(super) fn resolve(items: &[&Item], model: &mut Model, found: &mut Vec<Diagnostic>) {
    for item in items {
        if Scalar::from_name(&item.name().text).is_some() {
            let text = format!("{} is the name of a scalar type", item.name().text);
            found.push(Diagnostic::error(
                text,
                item.name().span,
                "choose another name",
            ));
        }
        if let Item::Enum(e) = item {
            model.enums.push(enumeration(e, found));
        }
    }
    let names = Names::new(items);
    let structs: HashMap<&str, &ast::Struct> = items
        .iter()
        .filter_map(|i| {
            if let Item::Struct(s) = i {
                Some((s.name.text.as_str(), s))
            } else {
                None
            }
        })
        .collect();
    // A struct comes after those that its fields are made of, so that `plain` and sizes are known.
    let mut state: HashMap<&str, Mark> = HashMap::new();
    for item in items {
        if let Item::Struct(s) = item {
            structure(s, &structs, &names, &mut state, model, found);
        }
    }
}

fn enumeration(e: &ast::Enum, found: &mut Vec<Diagnostic>) -> Enum {
    let mut repr = Scalar::I32;
    if let Some(name) = &e.repr {
        match Scalar::from_name(&name.text).filter(|s| s.range().is_some()) {
            Some(scalar) => repr = scalar,
            None => found.push(
                Diagnostic::error(
                    format!("{} cannot hold an enum", name.text),
                    name.span,
                    "no integer type",
                )
                .help("byte, short, int, long and their unsigned or signed forms can"),
            ),
        }
    }
    let (low, high) = repr.range().unwrap_or((0, 0));
    let mut values: Vec<(Vec<String>, String, i128)> = Vec::new();
    if e.values.len() > MAX_VALUES {
        let text = format!("enum {} has {} values", e.name.text, e.values.len());
        let label = format!("at most {MAX_VALUES} may be");
        found.push(Diagnostic::error(text, e.name.span, label));
    }
    for (i, v) in e.values.iter().take(MAX_VALUES).enumerate() {
        let number = v
            .value
            .unwrap_or_else(|| values.last().map_or(0, |l| l.2 + 1));
        if let Some(first) = e.values[..i].iter().find(|f| f.name.text == v.name.text) {
            found.push(twice(
                &format!("value {}", v.name.text),
                &v.name,
                &first.name,
            ));
        } else if let Some(same) = values.iter().find(|f| f.2 == number) {
            let text = format!(
                "{} and {} are the same number, {number}",
                same.1, v.name.text
            );
            found.push(Diagnostic::error(
                text,
                v.name.span,
                "this one could not be told apart",
            ));
        } else if number < low || number > high {
            let text = format!("{number} does not fit a {}", repr.name());
            found.push(Diagnostic::error(
                text,
                v.name.span,
                "too large or too small",
            ));
        }
        values.push((v.docs.clone(), v.name.text.clone(), number));
    }
    if values.is_empty() {
        let text = format!("enum {} has no values", e.name.text);
        found.push(Diagnostic::error(
            text,
            e.name.span,
            "no message could ever carry one",
        ));
    }
    Enum {
        docs: e.docs.clone(),
        name: e.name.text.clone(),
        repr,
        values,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Open,
    Done,
}

fn structure<'a>(
    s: &'a ast::Struct,
    all: &HashMap<&str, &'a ast::Struct>,
    names: &Names<'_>,
    state: &mut HashMap<&'a str, Mark>,
    model: &mut Model,
    found: &mut Vec<Diagnostic>,
) {
    match state.get(s.name.text.as_str()) {
        Some(Mark::Done) => return,
        Some(Mark::Open) => {
            let text = format!("rep struct {} contains itself", s.name.text);
            found.push(Diagnostic::error(text, s.name.span, "it would have no end"));
            return;
        }
        None => {}
    }
    if state.len() > 512 {
        found.push(Diagnostic::error(
            "too many rep structs",
            s.name.span,
            "here",
        ));
        return;
    }
    state.insert(&s.name.text, Mark::Open);
    for field in &s.fields {
        let (TypeKind::Named(n) | TypeKind::Vector(n) | TypeKind::Pointer(n)) = &field.ty.kind
        else {
            continue;
        };
        if let Some(inner) = all.get(n.text.as_str()) {
            structure(inner, all, names, state, model, found);
        }
    }
    let fields = fields(&s.fields, names, model, found);
    let plain = fields.iter().all(|f| is_plain(&f.ty, model));
    let words = total_words(&fields, model);
    let (docs, name) = (s.docs.clone(), s.name.text.clone());
    model.structs.push(Struct {
        docs,
        name,
        fields,
        plain,
        words,
    });
    state.insert(&s.name.text, Mark::Done);
}

fn is_plain(ty: &Type, model: &Model) -> bool {
    match ty {
        Type::Scalar(_) | Type::Enum(_) => true,
        Type::Struct(name) => model.structure(name).is_some_and(|s| s.plain),
        Type::Vector(_) | Type::Record(_) | Type::Endpoint { .. } => false,
    }
}

/// Arguments or fields with their types looked up; those that have none are left out, with an error.
pub(super) fn fields(
    written: &[ast::Field],
    names: &Names<'_>,
    model: &Model,
    found: &mut Vec<Diagnostic>,
) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Some(first) = written.get(MAX_FIELDS) {
        let text = format!("{} arguments or fields", written.len());
        let label = format!("at most {MAX_FIELDS} may be");
        found.push(Diagnostic::error(text, first.name.span, label));
    }
    for (i, field) in written.iter().take(MAX_FIELDS).enumerate() {
        if let Some(first) = written[..i].iter().find(|f| f.name.text == field.name.text) {
            found.push(twice(&field.name.text, &field.name, &first.name));
        }
        if let Some(ty) = names.ty(&field.ty, model, found) {
            fields.push(Field {
                docs: field.docs.clone(),
                name: field.name.text.clone(),
                ty,
            });
        }
    }
    fields
}

/// Words that a value of the type takes in a message; where they are very many, not the exact number.
pub(crate) fn words(ty: &Type, model: &Model) -> usize {
    match ty {
        Type::Struct(name) => model.structure(name).map_or(0, |s| s.words),
        _ => 1,
    }
}

/// Words that several values take.
pub(super) fn total_words(fields: &[Field], model: &Model) -> usize {
    fields
        .iter()
        .fold(0, |n, f| words(&f.ty, model).saturating_add(n))
}

/// The most arguments or fields in one declaration; far more than fit a message.
const MAX_FIELDS: usize = 256;
/// The most values of an enum.
const MAX_VALUES: usize = 1024;
/// How many contracts may derive from each other in a line.
pub(super) const MAX_GENERATIONS: usize = 32;

/// What a text declares, for look-ups before the model is complete.
pub(super) struct Names<'a> {
    contracts: HashMap<&'a str, &'a ast::Contract>,
    all: Vec<&'a Item>,
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
        Names {
            contracts,
            all: items.to_vec(),
        }
    }

    /// The contract of this name.
    pub(super) fn contract(&self, name: &str) -> Option<&'a ast::Contract> {
        self.contracts.get(name).copied()
    }

    /// The report that there is no such thing.
    pub(super) fn unknown(&self, what: &str, name: &Name) -> Diagnostic {
        let mut known: Vec<&str> = self.all.iter().map(|i| i.name().text.as_str()).collect();
        if what == "type" {
            known.extend([
                "bool", "byte", "sbyte", "short", "ushort", "int", "uint", "long", "ulong", "char",
                "float", "double",
            ]);
        }
        let diagnostic = Diagnostic::error(
            format!("there is no {what} {}", name.text),
            name.span,
            format!("no such {what} is declared here"),
        );
        match suggestion(&name.text, known.into_iter()) {
            Some(help) => diagnostic.help(help),
            None if what == "contract" => diagnostic.help(format!(
                "declare it, or bring it in with `import \"{}.contract\";`",
                name.text
            )),
            None => diagnostic,
        }
    }

    fn plain(&self, name: &Name, model: &Model, found: &mut Vec<Diagnostic>) -> Option<Plain> {
        if let Some(scalar) = Scalar::from_name(&name.text) {
            return Some(Plain::Scalar(scalar));
        }
        if model.enumeration(&name.text).is_some() {
            return Some(Plain::Enum(name.text.clone()));
        }
        if let Some(s) = model.structure(&name.text) {
            if s.plain {
                return Some(Plain::Struct(name.text.clone()));
            }
            found.push(
                Diagnostic::error(
                    format!("{} cannot lie in a block", name.text),
                    name.span,
                    "it has a field that owns a block or an endpoint",
                )
                .note("only values without such fields can be elements of a vector")
                .help("pass the block or endpoint as an argument of the message itself"),
            );
            return None;
        }
        found.push(self.missing(name));
        None
    }

    fn missing(&self, name: &Name) -> Diagnostic {
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

    fn ty(&self, ty: &ast::Type, model: &Model, found: &mut Vec<Diagnostic>) -> Option<Type> {
        match &ty.kind {
            TypeKind::Named(name) => {
                if let Some(scalar) = Scalar::from_name(&name.text) {
                    Some(Type::Scalar(scalar))
                } else if model.enumeration(&name.text).is_some() {
                    Some(Type::Enum(name.text.clone()))
                } else if model.structure(&name.text).is_some() {
                    Some(Type::Struct(name.text.clone()))
                } else {
                    found.push(self.missing(name));
                    None
                }
            }
            TypeKind::Vector(name) => self.plain(name, model, found).map(Type::Vector),
            TypeKind::Pointer(name) => self.plain(name, model, found).map(Type::Record),
            TypeKind::Endpoint {
                contract,
                side,
                state,
            } => {
                let Some(declared) = self.contract(&contract.text) else {
                    found.push(self.unknown("contract", contract));
                    return None;
                };
                let states = self.states(declared);
                let state = match state {
                    None => (*states.first()?).to_string(),
                    Some(s) if s.text == "closed" || states.contains(&s.text.as_str()) => {
                        s.text.clone()
                    }
                    Some(s) => {
                        let error = Diagnostic::error(
                            format!("contract {} has no state {}", contract.text, s.text),
                            s.span,
                            "no such state",
                        )
                        .label(declared.name.span, "the contract is declared here");
                        found.push(match suggestion(&s.text, states.iter().copied()) {
                            Some(help) => error.help(help),
                            None => error.help(format!("its states are {}", states.join(", "))),
                        });
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

    /// Names of a contract's states, its bases' first.
    fn states(&self, contract: &'a ast::Contract) -> Vec<&'a str> {
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
        let mut names: Vec<&str> = Vec::new();
        for state in family.iter().rev().flat_map(|c| &c.states) {
            if !names.contains(&state.name.text.as_str()) {
                names.push(&state.name.text);
            }
        }
        names
    }
}
