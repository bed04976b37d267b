//! Conditions: do the types fit?

use super::suggestion;
use crate::ast::{Expr, ExprKind};
use crate::conditions;
use crate::diagnostic::Diagnostic;
use crate::format;
use crate::model::{Condition, Field, Kind, Model, Scalar, Term, Type, VALUE};
use sing_abi::MAX_MESSAGE_WORDS;
use sing_image::contract::{MAX_CONDITIONS, MAX_STEPS, MAX_VALUES};
use std::borrow::Cow;

/// The most conditions that a message may require: with those of its words' types, what a table
/// holds.
const MOST: usize = MAX_CONDITIONS - MAX_MESSAGE_WORDS;

pub(super) fn resolve(
    written: &[Expr],
    arguments: &[Field],
    model: &Model,
    found: &mut Vec<Diagnostic>,
) -> Vec<Condition> {
    let mut all = Vec::new();
    for expr in written {
        match term(expr, arguments, model) {
            Ok(term) if term.kind() == Kind::Bool => {
                let condition = Condition {
                    text: format::expression(expr),
                    term,
                };
                if !conditions::fits(&condition) {
                    found.push(
                        Diagnostic::error(
                            "this condition is too large to be judged at each send",
                            expr.span,
                            format!(
                                "more than {MAX_STEPS} operations, or more than {MAX_VALUES} values at once"
                            ),
                        )
                        .help("divide it: a message may require several conditions"),
                    );
                }
                all.push(condition);
            }
            Ok(_) => found.push(
                Diagnostic::error("this is no condition", expr.span, "not true or false")
                    .help("compare it with something: `x > 0`"),
            ),
            Err(error) => found.push(*error),
        }
    }
    if let Some(first) = written.get(MOST) {
        found.push(Diagnostic::error(
            format!("a message requires at most {MOST} conditions"),
            first.span,
            "one too many",
        ));
    }
    all
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

fn term(expr: &Expr, arguments: &[Field], model: &Model) -> Result<Term> {
    let fail = |text: String, label: &str| {
        Err(Box::new(Diagnostic::error(
            text,
            expr.span,
            label.to_string(),
        )))
    };
    match &expr.kind {
        ExprKind::Number(n) => Ok(Term::Int(*n)),
        ExprKind::Bool(b) => Ok(Term::Bool(*b)),
        ExprKind::Argument(_) | ExprKind::Member(..) => value(expr, arguments, model),
        ExprKind::Unary(op, inner) => {
            let inner = term(inner, arguments, model)?;
            match (*op, inner.kind()) {
                ("!", Kind::Bool) => Ok(Term::Not(Box::new(inner))),
                ("-", Kind::Int | Kind::Float) => Ok(Term::Negative(Box::new(inner))),
                _ => fail(
                    format!("`{op}` does not apply here"),
                    "to a value of this kind",
                ),
            }
        }
        ExprKind::Binary(op, left, right) => {
            let left = term(left, arguments, model)?;
            let right = term(right, arguments, model)?;
            let operands = match (left.kind(), right.kind()) {
                (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
                (a, b) if a == b => a,
                _ => return fail(format!("`{op}` between values of two kinds"), "they differ"),
            };
            let fits = match *op {
                "&&" | "||" => operands == Kind::Bool,
                "==" | "!=" => true,
                "<" | "<=" | ">" | ">=" => {
                    matches!(operands, Kind::Int | Kind::Float | Kind::Char)
                }
                _ => matches!(operands, Kind::Int | Kind::Float),
            };
            if !fits {
                return fail(
                    format!("`{op}` does not apply here"),
                    "to values of this kind",
                );
            }
            Ok(Term::Binary {
                op,
                operands,
                left: Box::new(left),
                right: Box::new(right),
            })
        }
    }
}

/// How the number of a vector's elements is called.
const LENGTH: &str = "Length";
/// How it is called whether what may be absent is there.
const HAS_VALUE: &str = "HasValue";
/// How the value of what may be absent is called.
const VALUE_OF: &str = "Value";

/// An argument, a field of one, the length of one, or a value of an enum.
fn value(expr: &Expr, arguments: &[Field], model: &Model) -> Result<Term> {
    let mut path = Vec::new();
    let mut at = expr;
    while let ExprKind::Member(inner, name) = &at.kind {
        path.push((name.text.as_str(), name.span));
        at = inner;
    }
    let ExprKind::Argument(first) = &at.kind else {
        return Err(Box::new(Diagnostic::error(
            "only arguments have fields",
            at.span,
            "this has none",
        )));
    };
    path.push((first, at.span));
    path.reverse();
    let error = |text: String, label: &str, span| Box::new(Diagnostic::error(text, span, label));
    let Some(argument) = arguments.iter().find(|a| a.name == *first) else {
        if let (Some(e), [_, (value, span)]) = (model.enumeration(first), &path[..]) {
            if e.values.iter().any(|v| v.1 == *value) {
                return Ok(Term::Enum(e.name.clone(), (*value).to_string()));
            }
            let error = error(
                format!("enum {first} has no value {value}"),
                "no such value",
                *span,
            );
            let known = suggestion(value, e.values.iter().map(|v| v.1.as_str()));
            return Err(Box::new(match known {
                Some(help) => error.help(help),
                None => *error,
            }));
        }
        let error = error(
            format!("the message has no argument {first}"),
            "unknown",
            at.span,
        );
        let known = suggestion(first, arguments.iter().map(|a| a.name.as_str()));
        return Err(Box::new(match known {
            Some(help) => error.help(help),
            None => *error,
        }));
    };
    let mut ty = Cow::Borrowed(&argument.ty);
    let mut names = vec![argument.name.clone()];
    for (at, (name, span)) in path.iter().enumerate().skip(1) {
        let last = at + 1 == path.len();
        if ty.is_optional_block() && *name == HAS_VALUE && last {
            return Ok(Term::Present {
                path: names,
                block: true,
            });
        }
        if let (Type::Vector { of, optional }, LENGTH, true) = (&*ty, *name, last) {
            return Ok(Term::Length {
                path: names,
                optional: *optional,
                of: of.clone(),
            });
        }
        if let Type::Optional(of) = &*ty {
            match *name {
                HAS_VALUE if last => {
                    return Ok(Term::Present {
                        path: names,
                        block: false,
                    });
                }
                VALUE_OF => {
                    names.push(VALUE.into());
                    ty = Cow::Owned(of.clone().into());
                    continue;
                }
                _ => {
                    return Err(error(
                        format!("{ty} may be absent, and has no field {name}"),
                        "no such field",
                        *span,
                    )
                    .help(format!(
                        "`{before}.HasValue` says whether it is there, `{before}.Value` is what it is then; \
                         a condition on that does not hold if it is not",
                        before = path[..at].iter().map(|p| p.0).collect::<Vec<_>>().join("."),
                    ))
                    .into());
                }
            }
        }
        let fields = match &*ty {
            Type::Struct(s) => model.structure(s).map(|s| &s.fields),
            _ => None,
        };
        let Some(field) = fields.and_then(|f| f.iter().find(|f| f.name == *name)) else {
            return Err(error(
                format!("{ty} has no field {name}"),
                "no such field",
                *span,
            )
            .help(match *name {
                HAS_VALUE | VALUE_OF => {
                    "what may be absent has `?` behind its type, and none of these is said of anything else"
                }
                _ => "a rep struct has fields, and a vector a `Length`",
            })
            .into());
        };
        names.push(field.name.clone());
        ty = Cow::Borrowed(&field.ty);
    }
    let kind = match &*ty {
        Type::Scalar(Scalar::Bool) => Kind::Bool,
        Type::Scalar(Scalar::Char) => Kind::Char,
        Type::Scalar(s) if s.is_float() => Kind::Float,
        Type::Scalar(_) => Kind::Int,
        Type::Enum(name) => Kind::Enum(name.clone()),
        Type::Optional(_) => {
            let of: Vec<&str> = path.iter().map(|p| p.0).collect();
            let of = of.join(".");
            return Err(error(format!("{of} may be absent"), "not a value by itself", expr.span)
                .help(format!(
                    "`{of}.HasValue` says whether it is there, `{of}.Value` is what it is then; \
                     a condition on that does not hold if it is not: `!{of}.HasValue || {of}.Value …`"
                ))
                .into());
        }
        _ => {
            let text = format!("a condition cannot look into {ty}");
            return Err(error(text, "neither scalar nor enum", expr.span)
                .help("conditions speak of scalars, enums, fields of rep structs, the `.Length` of vectors, and the `.HasValue` of what may be absent")
                .into());
        }
    };
    Ok(Term::Value { path: names, kind })
}
