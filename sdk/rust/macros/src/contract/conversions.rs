//! Conversions of an endpoint of one contract into one of another: into the base's, in the states
//! in which it is a subtype, and into a permission's, which narrows it. The kernel is told, and
//! holds the owner to the new contract from then on.

use super::types;
use crate::names;
use proc_macro2::TokenStream;
use quote::quote;
use sing_contract::model::{Contract, Model, Side};

/// A `From` for each such pair. Those of two contracts that both exist already are there, too.
pub(super) fn all(model: &Model, is_new: impl Fn(&Contract) -> bool) -> TokenStream {
    let mut all = TokenStream::new();
    for own in &model.contracts {
        let others = model.contracts.iter().filter(|o| o.name != own.name);
        for other in others.filter(|other| is_new(own) || is_new(other)) {
            for side in [Side::Imp, Side::Exp] {
                if own.has_side(side) && other.has_side(side) {
                    all.extend(conversions(own, other, side));
                }
            }
        }
    }
    all
}

fn conversions(own: &Contract, other: &Contract, side: Side) -> TokenStream {
    let (from, to) = (names::ident(&own.name), names::ident(&other.name));
    let ty = types::side(side);
    let states = own.stands_for(other, side).into_iter().map(|s| {
        let name = &own.states[s].name;
        let (before, after) = (names::state(own, name), names::state(other, name));
        quote! {
            impl ::core::convert::From<#from::#ty<#from::#before>> for #to::#ty<#to::#after> {
                #[inline]
                fn from(endpoint: #from::#ty<#from::#before>) -> Self {
                    ::sing_sdk::rt::stand_for(::sing_sdk::rt::TypedEndpoint::into_endpoint(endpoint))
                }
            }
        }
    });
    states.collect()
}
