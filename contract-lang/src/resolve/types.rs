//! Enums, rep structs, and types as written.
//!
//! What may lie where: a message carries scalars, enums, blocks, endpoints and rep structs of these; a block holds
//! scalars, enums and rep structs of these and of blocks, which are then parts of it: a tree ([O] 4.7). An endpoint has an
//! owner and a queue of its own and is no part of a block; a block that may be absent has no word in a message.

use super::{suggestion, twice};
use crate::ast::{self, Item, Name, TypeKind};
use crate::bounds::side_name;
use crate::diagnostic::Diagnostic;
use crate::model::{Content, Enum, Field, Layout, Model, Scalar, Struct, Type};
use std::collections::{HashMap, HashSet};

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
    for s in items
        .iter()
        .filter_map(|i| structs.get(i.name().text.as_str()))
    {
        check_blocks(&s.fields, model, found);
    }
    check_ends(&structs, model, found);
}

/// Whatever a block holds can lie in one.
pub(super) fn check_blocks(fields: &[ast::Field], model: &Model, found: &mut Vec<Diagnostic>) {
    for field in fields {
        let (TypeKind::Vector { of, .. } | TypeKind::Pointer { of, .. }) = &field.ty.kind else {
            continue;
        };
        if model.structure(&of.text).is_some_and(|s| s.endpoints) {
            found.push(
                Diagnostic::error(
                    format!("{} cannot lie in a block", of.text),
                    of.span,
                    "it has a field that owns an endpoint",
                )
                .note("an endpoint belongs to a process or a message, where the kernel sees to its queue; it is no part of a block")
                .help("pass the endpoint as an argument of the message itself"),
            );
        }
    }
}

/// Whatever is an argument has its words: nothing in it may be absent.
pub(super) fn check_presence(fields: &[ast::Field], model: &Model, found: &mut Vec<Diagnostic>) {
    for field in fields {
        let (what, label) = match &field.ty.kind {
            TypeKind::Vector { optional: true, .. } | TypeKind::Pointer { optional: true, .. } => {
                ("this block", "an argument cannot be absent")
            }
            TypeKind::Named(n) if model.structure(&n.text).is_some_and(|s| s.optional) => {
                ("a part of this struct", "it has a block that may be absent")
            }
            _ => continue,
        };
        found.push(
            Diagnostic::error(
                format!("{what} may be absent, which no argument of a message may"),
                field.ty.span,
                label,
            )
            .note("each block in a message is one word, which the kernel takes from its owner; a tree's absent parts have none")
            .help("pass a block that holds it, `T* in ExHeap`, or declare a second message without it"),
        );
    }
}

/// No struct needs another one of itself: what contains itself does so through blocks that may be absent.
fn check_ends(structs: &HashMap<&str, &ast::Struct>, model: &Model, found: &mut Vec<Diagnostic>) {
    let mut done: HashMap<&str, Mark> = HashMap::new();
    for s in &model.structs {
        let declared = structs.get(s.name.as_str());
        let circle = declared.and_then(|s| needs(s, structs, &mut done, &mut Vec::new()));
        let circle = circle.unwrap_or_default();
        // A circle without a block in it was reported where the struct was resolved.
        let block = circle.iter().rev().find_map(|field| match &field.ty.kind {
            TypeKind::Pointer { of, .. } => Some((*field, format!("{}*? in ExHeap", of.text))),
            TypeKind::Vector { of, .. } => Some((*field, format!("{}[]? in ExHeap", of.text))),
            _ => None,
        });
        let Some((field, way_out)) = block else {
            continue;
        };
        let mut error = Diagnostic::error(
            format!("rep struct {} contains itself", s.name),
            field.ty.span,
            "this block is always there: it would have no end",
        );
        let others = circle.iter().filter(|f| f.ty.span != field.ty.span);
        for other in others.take(8) {
            error = error.label(other.ty.span, "through this");
        }
        found.push(error.help(format!("let it be absent: `{way_out}`")));
    }
}

/// A circle of fields that are always there, among what a struct needs. `path` is how one came here.
fn needs<'a>(
    s: &'a ast::Struct,
    structs: &HashMap<&str, &'a ast::Struct>,
    done: &mut HashMap<&'a str, Mark>,
    path: &mut Vec<(&'a str, &'a ast::Field)>,
) -> Option<Vec<&'a ast::Field>> {
    match done.get(s.name.text.as_str()) {
        Some(Mark::Done) => return None,
        Some(Mark::Open) => {
            // Not on the path where it belongs to a circle that has been told.
            let from = path.iter().position(|p| p.0 == s.name.text)?;
            return Some(path[from..].iter().map(|p| p.1).collect());
        }
        None => {}
    }
    done.insert(&s.name.text, Mark::Open);
    for field in &s.fields {
        let (TypeKind::Named(of)
        | TypeKind::Vector {
            of,
            optional: false,
        }
        | TypeKind::Pointer {
            of,
            optional: false,
        }) = &field.ty.kind
        else {
            continue;
        };
        if let Some(inner) = structs.get(of.text.as_str()) {
            path.push((&s.name.text, field));
            let circle = needs(inner, structs, done, path);
            path.pop();
            if circle.is_some() {
                return circle;
            }
        }
    }
    done.insert(&s.name.text, Mark::Done);
    None
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
        // What lies in another block is no part of this one's words and bytes.
        if let TypeKind::Named(n) = &field.ty.kind
            && let Some(inner) = all.get(n.text.as_str())
        {
            structure(inner, all, names, state, model, found);
        }
    }
    let fields = fields(&s.fields, names, model, found);
    let (layout, offsets) = lay_out(&fields, model);
    if layout.size > MAX_SIZE {
        let text = format!("rep struct {} takes {} bytes", s.name.text, layout.size);
        let label = format!("at most {MAX_SIZE} may be");
        found.push(
            Diagnostic::error(text, s.name.span, label)
                .help("put a part of it into a block of its own: `T* in ExHeap`"),
        );
    }
    let inner = |has: fn(&Struct) -> bool| {
        let structs = fields.iter().filter_map(|f| match &f.ty {
            Type::Struct(name) => model.structure(name),
            _ => None,
        });
        structs.into_iter().any(has)
    };
    let any = |is: fn(&Type) -> bool| fields.iter().any(|f| is(&f.ty));
    let structure = Struct {
        docs: s.docs.clone(),
        name: s.name.text.clone(),
        plain: !inner(|s| !s.plain)
            && !any(|ty| {
                matches!(
                    ty,
                    Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. }
                )
            }),
        endpoints: inner(|s| s.endpoints) || any(|ty| matches!(ty, Type::Endpoint { .. })),
        optional: inner(|s| s.optional) || any(Type::is_optional),
        layout,
        offsets,
        words: total_words(&fields, model),
        fields,
    };
    model.structs.push(structure);
    state.insert(&s.name.text, Mark::Done);
}

/// How fields lie one after the other, and where each begins.
fn lay_out(fields: &[Field], model: &Model) -> (Layout, Vec<usize>) {
    let (mut size, mut align) = (0usize, 1);
    let mut offsets = Vec::new();
    for field in fields {
        let layout = model.layout(&field.ty);
        let at = size.next_multiple_of(layout.align.max(1));
        offsets.push(at);
        // Far beyond what is allowed it no longer matters how far.
        size = (at + layout.size).min(1 << 24);
        align = align.max(layout.align);
    }
    let size = size.next_multiple_of(align);
    (Layout { size, align }, offsets)
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
/// The most bytes of a rep struct.
const MAX_SIZE: usize = 1 << 12;
/// The most values of an enum.
const MAX_VALUES: usize = 1024;
/// How many contracts may derive from each other in a line.
pub(super) const MAX_GENERATIONS: usize = 32;

/// What a text declares, for look-ups before the model is complete.
pub(super) struct Names<'a> {
    contracts: HashMap<&'a str, &'a ast::Contract>,
    narrowings: HashMap<&'a str, &'a ast::Narrowing>,
    structs: HashSet<&'a str>,
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

    /// What a block of this type holds. A struct may be one that is not in the model yet, as those of trees are.
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

    fn ty(&self, ty: &'a ast::Type, model: &Model, found: &mut Vec<Diagnostic>) -> Option<Type> {
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
