//! The requirement of a message, as a function of its arguments that can run while a program is
//! compiled, unless a length occurs in it. Whole numbers are computed in 128 bits; a condition that
//! overflows even those, or divides by zero, does not hold.

use super::types;
use crate::names;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use sing_contract::model::{Condition, Field, Kind, Message, Model, Term, Type, VALUE};

/// The arguments that conditions speak of, in order.
fn spoken_of(message: &Message) -> Vec<&Field> {
    let mut names = Vec::new();
    for condition in &message.requires {
        collect(&condition.term, &mut names);
    }
    let arguments = message.arguments.iter();
    arguments.filter(|a| names.contains(&&a.name)).collect()
}

fn collect<'a>(term: &'a Term, into: &mut Vec<&'a String>) {
    match term {
        Term::Int(_) | Term::Bool(_) | Term::Enum(..) => {}
        Term::Value { path, .. } | Term::Length { path, .. } | Term::Present { path, .. } => {
            into.extend(path.first());
        }
        Term::Not(inner) | Term::Negative(inner) => collect(inner, into),
        Term::Binary { left, right, .. } => {
            collect(left, into);
            collect(right, into);
        }
    }
}

/// Whether a length occurs in a term, which is not known while a program is compiled.
fn counts(term: &Term) -> bool {
    match term {
        Term::Length { .. } | Term::Present { block: true, .. } => true,
        Term::Int(_)
        | Term::Bool(_)
        | Term::Enum(..)
        | Term::Value { .. }
        | Term::Present { .. } => false,
        Term::Not(inner) | Term::Negative(inner) => counts(inner),
        Term::Binary { left, right, .. } => counts(left) || counts(right),
    }
}

/// The name of the function.
fn function(message: &Message) -> Ident {
    format_ident!("may_carry_{}", names::snake(&message.name))
}

/// All conditions as written.
pub(super) fn text(message: &Message) -> String {
    let texts: Vec<&str> = message.requires.iter().map(|r| r.text.as_str()).collect();
    texts.join(", ")
}

/// The function that says whether arguments can be sent in a message.
pub(super) fn declaration(message: &Message, model: &Model) -> TokenStream {
    if message.requires.is_empty() {
        return TokenStream::new();
    }
    let name = function(message);
    let arguments = spoken_of(message);
    let names = arguments.iter().map(|a| names::variable(&a.name));
    let types = arguments.iter().map(|a| {
        let ty = types::rust(&a.ty, model, &quote!(super::));
        if owns(&a.ty, model) { quote!(&#ty) } else { ty }
    });
    let conditions = message.requires.iter().map(|c| holds(c, &quote!(super::)));
    let summary = format!(
        "Whether `{}` may be sent with these arguments: it requires `{}`.",
        message.name,
        text(message)
    );
    let constant = match message.requires.iter().any(|c| counts(&c.term)) {
        true => TokenStream::new(),
        false => quote!(const),
    };
    quote! {
        #[doc = #summary]
        #[must_use]
        pub #constant fn #name(#(#names: #types),*) -> bool {
            #(#conditions)&&*
        }
    }
}

/// A call of the function with arguments in scope under their names; `up` leads to the contract's
/// module.
pub(super) fn call(message: &Message, model: &Model, up: &TokenStream) -> TokenStream {
    let name = function(message);
    let arguments = spoken_of(message).into_iter().map(|a| {
        let name = names::variable(&a.name);
        if owns(&a.ty, model) {
            quote!(&#name)
        } else {
            quote!(#name)
        }
    });
    quote!(#up #name(#(#arguments),*))
}

fn owns(ty: &Type, model: &Model) -> bool {
    match ty {
        Type::Scalar(_) | Type::Enum(_) | Type::Optional(_) => false,
        Type::Struct(name) => model.structure(name).is_some_and(|s| !s.plain),
        Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => true,
    }
}

/// The arguments that conditions speak of, if the conditions can be checked while the sender is
/// compiled.
pub(super) fn constants<'a>(message: &'a Message, model: &Model) -> Option<Vec<&'a Field>> {
    let arguments = spoken_of(message);
    let known = !message.requires.iter().any(|c| counts(&c.term));
    let can = known && !arguments.iter().any(|a| owns(&a.ty, model));
    (can && !arguments.is_empty()).then_some(arguments)
}

/// The name of the function that checks arguments, and that of its method which sends them.
pub(super) fn proven(message: &Message) -> (Ident, Ident) {
    let name = names::snake(&message.name);
    (
        format_ident!("checked_{name}"),
        format_ident!("send_{name}_checked"),
    )
}

/// The arguments of a message that are known to keep what it requires, as a type of which only the
/// function makes values: in a `const` block, at the place where they are sent. The function, and
/// the type.
pub(super) fn proof(
    message: &Message,
    model: &Model,
    requirement: &str,
) -> Option<(TokenStream, TokenStream)> {
    let constants = constants(message, model)?;
    let name = names::ident(&message.name);
    let (function, method) = proven(message);
    let arguments: Vec<Ident> = (constants.iter().map(|a| names::variable(&a.name))).collect();
    let types = |up: &TokenStream| {
        let types = constants.iter().map(|a| types::rust(&a.ty, model, up));
        types.collect::<Vec<_>>()
    };
    let (fields, given) = (types(&quote!(super::super::)), types(&quote!(super::)));
    let holds = call(message, model, &TokenStream::new());
    let of_type = format!("Arguments that may be sent in `{}`.", message.name);
    let of_function = format!(
        "Checks what `{}` requires: `{}`. In a block `const {{ … }}` that is done while the program is compiled.",
        message.name,
        text(message)
    );
    let sends = format!("For `{method}`.");
    let function = quote! {
        #[doc = #of_function]
        ///
        #[doc = #sends]
        #[must_use]
        #[track_caller]
        pub const fn #function(#(#arguments: #given),*) -> checked::#name {
            ::sing_sdk::rt::keeps(#holds, #requirement);
            checked::#name { #(#arguments),* }
        }
    };
    let type_ = quote! {
        #[doc = #of_type]
        #[derive(Clone, Copy, Debug)]
        pub struct #name { #(pub(super) #arguments: #fields),* }
    };
    Some((function, type_))
}

/// Whether the condition holds; stands in a function whose answer is that.
pub(super) fn holds(condition: &Condition, up: &TokenStream) -> TokenStream {
    term(&condition.term, &Kind::Bool, up)
}

fn term(term: &Term, wanted: &Kind, up: &TokenStream) -> TokenStream {
    let value = plain(term, up);
    if *wanted == Kind::Float && term.kind() == Kind::Int {
        quote!((#value as f64))
    } else {
        value
    }
}

/// A computation that may have no result; then no condition holds.
fn checked(result: &TokenStream) -> TokenStream {
    quote! {
        match #result {
            ::core::option::Option::Some(value) => value,
            ::core::option::Option::None => return false,
        }
    }
}

/// The value at the end of a path. The first name is the argument's, the others are fields', or
/// stand for the value of what may be absent; if it is, there is no result.
fn place(path: &[String]) -> TokenStream {
    let names = path.iter().enumerate();
    names.fold(TokenStream::new(), |of, (i, name)| match name.as_str() {
        VALUE => {
            let value = checked(&of);
            quote!((#value))
        }
        name if i == 0 => {
            let name = names::variable(name);
            quote!(#name)
        }
        name => {
            let name = names::ident(name);
            quote!(#of.#name)
        }
    })
}

fn plain(t: &Term, up: &TokenStream) -> TokenStream {
    match t {
        Term::Int(n) => {
            let literal = Literal::i128_suffixed(*n);
            quote!(#literal)
        }
        Term::Bool(b) => quote!(#b),
        // Constants compare numbers, not values of enums.
        Term::Enum(ty, value) => {
            let (ty, value) = (names::ident(ty), names::ident(value));
            quote!((#up #ty::#value as i128))
        }
        Term::Length { path, optional, .. } => {
            let of = place(path);
            match optional {
                true => quote!((#of.as_ref().map_or(0, |of| of.len()) as i128)),
                false => quote!((#of.len() as i128)),
            }
        }
        Term::Present { path, .. } => {
            let of = place(path);
            quote!(#of.is_some())
        }
        Term::Value { path, kind } => {
            let of = place(path);
            match kind {
                Kind::Int | Kind::Enum(_) => quote!((#of as i128)),
                Kind::Float => quote!((#of as f64)),
                Kind::Bool | Kind::Char => of,
            }
        }
        Term::Not(inner) => {
            let inner = plain(inner, up);
            quote!((!#inner))
        }
        Term::Negative(inner) if inner.kind() == Kind::Int => {
            let inner = plain(inner, up);
            checked(&quote!(i128::checked_neg(#inner)))
        }
        Term::Negative(inner) => {
            let inner = plain(inner, up);
            quote!((-#inner))
        }
        Term::Binary {
            op,
            operands,
            left,
            right,
        } => {
            let (left, right) = (term(left, operands, up), term(right, operands, up));
            let name = match (*op, operands) {
                ("+", Kind::Int) => quote!(checked_add),
                ("-", Kind::Int) => quote!(checked_sub),
                ("*", Kind::Int) => quote!(checked_mul),
                ("/", Kind::Int) => quote!(checked_div),
                ("%", Kind::Int) => quote!(checked_rem),
                _ => {
                    let op: TokenStream = op.parse().unwrap_or_default();
                    return quote!((#left #op #right));
                }
            };
            checked(&quote!(i128::#name(#left, #right)))
        }
    }
}
