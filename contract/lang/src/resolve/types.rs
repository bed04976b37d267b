//! Enums and rep structs, with the types of their fields looked up.

use super::names::Names;
use super::{blocks, enough, twice};
use crate::ast::{self, Item, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::model::{Enum, Field, Layout, Model, Scalar, Struct, Type};
use std::collections::HashMap;

/// The most arguments or fields in one declaration; far more than fit a message.
const MAX_FIELDS: usize = 256;
/// The most bytes of a rep struct.
const MAX_SIZE: usize = 1 << 12;
/// The most values of an enum.
const MAX_VALUES: usize = 1024;
/// The most words that the arguments of a message take.
pub(super) const MAX_WORDS: usize = sing_abi::MAX_MESSAGE_WORDS;

pub(super) fn resolve(items: &[&Item], model: &mut Model, found: &mut Vec<Diagnostic>) {
    for item in items {
        if enough(found) {
            return;
        }
        if Scalar::from_name(&item.name().text).is_some() {
            let text = format!("{} is the name of a scalar type", item.name().text);
            found.push(Diagnostic::error(
                text,
                item.name().span,
                "choose another name",
            ));
        }
        if let Item::Enum(e) = item {
            model.add_enum(enumeration(e, found));
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
        if enough(found) {
            return;
        }
        if let Item::Struct(s) = item {
            structure(s, &structs, &names, &mut state, model, found);
        }
    }
    for s in items
        .iter()
        .filter_map(|i| structs.get(i.name().text.as_str()))
    {
        blocks::check_contents(&s.fields, model, found);
    }
    blocks::check_ends(&structs, model, found);
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
    let mut names: HashMap<&str, &ast::Name> = HashMap::new();
    let mut numbers: HashMap<i128, &str> = HashMap::new();
    for v in e.values.iter().take(MAX_VALUES) {
        let number = v
            .value
            .unwrap_or_else(|| values.last().map_or(0, |l| l.2 + 1));
        if let Some(first) = names.get(v.name.text.as_str()) {
            found.push(twice(&format!("value {}", v.name.text), &v.name, first));
        } else if let Some(same) = numbers.get(&number) {
            let text = format!("{same} and {} are the same number, {number}", v.name.text);
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
        names.entry(&v.name.text).or_insert(&v.name);
        numbers.entry(number).or_insert(&v.name.text);
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

/// How far a walk through the structs has come with one. It goes as deep as there are structs,
/// which `limits` bounds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mark {
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
    state.insert(&s.name.text, Mark::Open);
    for field in &s.fields {
        // The content of another block is no part of this one's words and bytes.
        if let TypeKind::Named(n) | TypeKind::Optional(n) = &field.ty.kind
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
        layout,
        offsets,
        words: total_words(&fields, model),
        fields,
    };
    model.add_structure(structure);
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

/// Arguments or fields with their types looked up; those that have none are left out, with an
/// error.
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

/// Words that several values take.
pub(super) fn total_words(fields: &[Field], model: &Model) -> usize {
    fields
        .iter()
        .fold(0, |n, f| model.words(&f.ty).saturating_add(n))
}
