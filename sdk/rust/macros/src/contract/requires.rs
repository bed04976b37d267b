//! Conditions as Rust expressions. Whole numbers are computed in 128 bits; a condition that overflows even
//! those, or divides by zero, does not hold.

use crate::names;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use sing_contract::model::{Condition, Kind, Term};

/// Whether the condition holds, of arguments in scope under their names.
pub(super) fn holds(condition: &Condition, up: &TokenStream) -> TokenStream {
    let value = term(&condition.term, &Kind::Bool, up);
    quote! {
        (|| -> ::core::option::Option<bool> { ::core::option::Option::Some(#value) })().unwrap_or(false)
    }
}

fn term(term: &Term, wanted: &Kind, up: &TokenStream) -> TokenStream {
    let value = plain(term, up);
    if *wanted == Kind::Float && term.kind() == Kind::Int {
        quote!((#value as f64))
    } else {
        value
    }
}

fn plain(t: &Term, up: &TokenStream) -> TokenStream {
    match t {
        Term::Int(n) => {
            let literal = Literal::i128_suffixed(*n);
            quote!(#literal)
        }
        Term::Bool(b) => quote!(#b),
        Term::Enum(ty, value) => {
            let (ty, value) = (names::ident(ty), names::ident(value));
            quote!(#up #ty::#value)
        }
        Term::Value { path, kind } => {
            let path = path.iter().map(|p| names::ident(p));
            match kind {
                Kind::Int => quote!((#(#path).* as i128)),
                Kind::Float => quote!((#(#path).* as f64)),
                Kind::Bool | Kind::Char | Kind::Enum(_) => quote!(#(#path).*),
            }
        }
        Term::Not(inner) => {
            let inner = plain(inner, up);
            quote!((!#inner))
        }
        Term::Negative(inner) if inner.kind() == Kind::Int => {
            let inner = plain(inner, up);
            quote!(i128::checked_neg(#inner)?)
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
            let checked = match (*op, operands) {
                ("+", Kind::Int) => Some(quote!(checked_add)),
                ("-", Kind::Int) => Some(quote!(checked_sub)),
                ("*", Kind::Int) => Some(quote!(checked_mul)),
                ("/", Kind::Int) => Some(quote!(checked_div)),
                ("%", Kind::Int) => Some(quote!(checked_rem)),
                _ => None,
            };
            match checked {
                Some(name) => quote!(i128::#name(#left, #right)?),
                None => {
                    let op: TokenStream = op.parse().unwrap_or_default();
                    quote!((#left #op #right))
                }
            }
        }
    }
}
