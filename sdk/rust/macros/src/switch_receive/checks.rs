//! The checks of types without which a switch makes no sense: each case can come, and all that can
//! come has a case.
//!
//! Types say so where they can, so that `cargo check` does; a constant looks at the same once more
//! when code is made, and at what messages promise.

use super::coverage::{Coverage, coverage};
use super::generate::{Generator, Group, Single, case_method, on_set, own};
use super::parse::{CHANNEL_CLOSED, Pattern, Place, Term};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::BTreeSet;
use syn::Error;

impl Generator<'_> {
    /// All checks, as code that does nothing.
    pub(super) fn checks(&self) -> syn::Result<TokenStream> {
        let mut all = TokenStream::new();
        if !self.variables.is_empty() {
            all.extend(self.of_variables()?);
        }
        for group in &self.groups {
            if let Group::Many { set, cases } = group {
                all.extend(self.of_set(set, cases)?);
            }
        }
        Ok(all)
    }

    /// The cases that name variables, with the places of these.
    fn named(&self) -> Vec<Vec<(usize, String)>> {
        let named = |term: &Term| match &term.place {
            Place::Variable(name) => {
                let index = self.variables.iter().position(|v| *v == name)?;
                Some((index, term.message.to_string()))
            }
            Place::Many { .. } => None,
        };
        let cases = self.switch.cases.iter().filter_map(|c| match &c.pattern {
            Pattern::Messages(terms) => terms.iter().map(named).collect(),
            Pattern::Thing(_) => None,
        });
        cases.collect()
    }

    fn of_variables(&self) -> syn::Result<TokenStream> {
        let at = self.switch.cases[0].at;
        let check = Ident::new(&own("check").to_string(), at);
        let types: Vec<Ident> = (0..self.variables.len())
            .map(|i| format_ident!("E{i}"))
            .collect();
        let rests: Vec<Ident> = (0..self.variables.len())
            // Where the compiler says that a case is missing.
            .map(|i| Ident::new(&own(&format!("rest{i}")).to_string(), at))
            .collect();
        let names = self.variables.iter().map(ToString::to_string);
        let named = self.named();
        let cases = named.iter().map(|terms| {
            let (places, messages): (Vec<_>, Vec<_>) = terms.iter().cloned().unzip();
            quote!(&[#((#places, #messages)),*])
        });
        let (variables, partial) = (&self.variables, self.switch.partial);
        // A partial switch needs no more than the first part.
        let mut whole = <[TokenStream; 4]>::default();
        if !partial {
            whole = [
                quote!(-> (#(::sing_sdk::select::cases::Rest<#types::Cases>,)*)),
                quote!((#(::sing_sdk::select::cases::Rest::<#types::Cases>::all(),)*)),
                quote!(let (#(#rests,)*) =),
                self.complete(&named, &rests)?,
            ];
        }
        let [returns, all, left, complete] = whole;
        Ok(quote_spanned! {at=> {
            #[inline(always)]
            fn #check<#(#types: ::sing_sdk::select::Receives),*>(
                #(_: &#types),*
            ) #returns {
                const {
                    ::sing_sdk::select::exhaustive(
                        [#((#names, #types::MESSAGES)),*],
                        &[#(#cases),*],
                        #partial,
                    )
                }
                #all
            }
            #left #check(#(&#variables),*);
            #complete
        }})
    }

    /// Requires that every combination of what the endpoints bring has a case. The code is looked
    /// at by the compiler and never run.
    fn complete(
        &self,
        named: &[Vec<(usize, String)>],
        rests: &[Ident],
    ) -> syn::Result<TokenStream> {
        let at = self.switch.cases[0].at;
        let clauses = match coverage(self.variables.len(), CHANNEL_CLOSED, named) {
            Coverage::Clauses(clauses) => clauses,
            Coverage::Missing(parts) => {
                let parts = parts.iter();
                let parts: Vec<String> = parts
                    .map(|(e, m)| format!("{}.{m}", self.variables[*e]))
                    .collect();
                let text = format!(
                    "no case for {}; add one, or write `else wait` behind the cases: the switch then \
                     waits until one of them can fire",
                    parts.join(" && ")
                );
                return Err(Error::new(at, text));
            }
        };
        let terms = self.switch.cases.iter().filter_map(|c| match &c.pattern {
            Pattern::Messages(terms) => Some(terms),
            Pattern::Thing(_) => None,
        });
        let terms: Vec<&Term> = terms.flatten().collect();
        let mut out = TokenStream::new();
        for (variable, rest) in self.variables.iter().zip(rests) {
            let of_it = terms.iter().filter(|t| match &t.place {
                Place::Variable(name) => name == *variable,
                Place::Many { .. } => false,
            });
            let taken = without(of_it.copied(), &quote!(#variable));
            out.extend(quote_spanned!(at=> let #rest = #rest #taken;));
        }
        for clause in &clauses {
            let mut parts = clause.iter().map(|e| &rests[*e]);
            let first = parts.next();
            out.extend(quote_spanned! {at=>
                ::sing_sdk::select::cases::complete(#first #(.or(#parts))*);
            });
        }
        Ok(quote_spanned!(at=> let _ = || { #out };))
    }

    fn of_set(&self, set: &TokenStream, cases: &[Single<'_>]) -> syn::Result<TokenStream> {
        let at = self.switch.cases[0].at;
        let check = Ident::new(&own("check").to_string(), at);
        let rest = Ident::new(&own("rest").to_string(), at);
        let (many, endpoint) = (own("many"), own("endpoint"));
        let looked = on_set(set, &quote!(switch_many()));
        let name = cases[0].term.place.name();
        if !cases.iter().any(|c| c.term.is_close()) {
            let text = format!(
                "no case for {name}.{CHANNEL_CLOSED}; whatever an endpoint of a set can bring needs one"
            );
            return Err(Error::new(at, text));
        }
        let messages = cases.iter().map(|c| c.term.message.to_string());
        let taken = without(cases.iter().map(|c| c.term), &quote!(#endpoint));
        Ok(quote_spanned! {at=> {
            #[inline(always)]
            fn #check<M: ::sing_sdk::select::Many + ?Sized>(
                many: &M,
            ) -> (&M, ::sing_sdk::select::cases::Rest<
                <M::Endpoint as ::sing_sdk::select::Receives>::Cases,
            >) {
                const {
                    ::sing_sdk::select::covers_all(
                        #name,
                        <M::Endpoint as ::sing_sdk::select::Receives>::MESSAGES,
                        &[#(#messages),*],
                    )
                }
                (many, ::sing_sdk::select::cases::Rest::all())
            }
            let (#many, #rest) = #check(#looked);
            let _ = || {
                let #endpoint = ::sing_sdk::select::cases::endpoint_of(#many);
                ::sing_sdk::select::cases::complete_set(#rest #taken);
            };
        }})
    }
}

/// Takes each message that the terms name out of a list, and the close, which every list has.
fn without<'a>(terms: impl Iterator<Item = &'a Term>, endpoint: &TokenStream) -> TokenStream {
    let mut seen = BTreeSet::new();
    let mut out = quote!(.without(&::sing_sdk::select::cases::Tag::<
        ::sing_sdk::select::cases::ChannelClosed,
    >::new(0)));
    for term in terms.filter(|t| !t.is_close()) {
        if seen.insert(term.message.to_string()) {
            let (method, span) = (case_method(&term.message), term.message.span());
            out.extend(quote_spanned!(span=> .without(&#endpoint.#method())));
        }
    }
    out
}
