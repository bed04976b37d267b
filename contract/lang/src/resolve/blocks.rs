//! Which types may lie in messages and which in blocks.
//!
//! A message carries scalars, enums, blocks, endpoints and rep structs of these. A block holds
//! scalars, enums and rep structs of these and of blocks, which are then parts of it: a tree ([O]
//! 4.7). An endpoint has an owner and a queue of its own and is no part of a block.

use super::types::Mark;
use crate::ast::{self, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::model::Model;
use std::collections::HashMap;

/// Whatever a block holds can lie in one.
pub(super) fn check_contents(fields: &[ast::Field], model: &Model, found: &mut Vec<Diagnostic>) {
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

/// No struct needs another one of itself: what contains itself does so through blocks that may be
/// absent.
pub(super) fn check_ends(
    structs: &HashMap<&str, &ast::Struct>,
    model: &Model,
    found: &mut Vec<Diagnostic>,
) {
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

/// A circle of fields that are always there, among what a struct needs. `path` is how one came
/// here.
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
