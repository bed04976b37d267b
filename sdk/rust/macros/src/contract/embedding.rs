//! Contracts for a host program that has the system inside itself (`sing_embed::contract!`): the same states and
//! messages as a program of the system has, over `sing_embed::rt`. What is made here has no `unsafe`.

use super::{Call, Generator, load, requires, types};
use crate::names;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use sing_contract::conditions::judged;
use sing_contract::model::{
    Content, Contract, Message, Model, Scalar, Side, State, Struct, Transition, Type,
};
use sing_image::contract::{Hash, identities};
use syn::Error;

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let call: Call = syn::parse2(input)?;
    if !call.uses.is_empty() || call.constant.is_some() {
        let text = "a host program's contracts have neither `use` nor `const`";
        return Err(Error::new(Span::call_site(), text));
    }
    let contracts = load(&call.sources)?;
    let model = &contracts.model;
    let identities = identities(&contracts.tables())
        .map_err(|error| Error::new(Span::call_site(), error.to_string()))?;
    let all = model.contracts.iter().zip(identities);
    let mut refused = Vec::new();
    let mut modules = Vec::new();
    for (contract, identity) in all {
        match not_for_hosts(model, contract) {
            Some(why) => refused.push(why),
            None => modules.push(Generator::new(model, contract)?.host_module(&identity)),
        }
    }
    if modules.is_empty() {
        let text = format!(
            "a host program can speak none of these contracts\n\n{}",
            refused.join("\n")
        );
        return Err(Error::new(Span::call_site(), text));
    }
    let enums = model.enums.iter().map(|e| {
        let item = types::enumeration_alone(e);
        let (name, repr) = (names::ident(&e.name), types::scalar(e.repr));
        quote! {
            #item
            ::sing_embed::through! { #name as #repr }
        }
    });
    let structs = model.structs.iter().filter(|s| s.plain).map(structure);
    let files = contracts.files.iter().filter_map(|f| f.to_str());
    Ok(quote! {
        #(#enums)*
        #(#structs)*
        #(#modules)*
        // Changes to the files make the program stale.
        #(const _: &[u8] = ::core::include_bytes!(#files);)*
    })
}

/// Why a host program cannot speak a contract, if it cannot.
fn not_for_hosts(model: &Model, contract: &Contract) -> Option<String> {
    let name = &contract.name;
    if contract.narrows.is_some() {
        return Some(format!("{name} is a permission"));
    }
    let owns = |name: &String| model.structure(name).is_some_and(|s| !s.plain);
    let is_more = |ty: &Type| match ty {
        Type::Endpoint { .. } => true,
        Type::Struct(name) => owns(name),
        Type::Vector { of, .. } | Type::Record { of, .. } => {
            matches!(of, Content::Struct(name) if owns(name))
        }
        Type::Scalar(_) | Type::Enum(_) | Type::Optional(_) => false,
    };
    let mut messages = contract.messages.iter();
    let message = messages.find(|m| m.arguments.iter().any(|a| is_more(&a.ty)))?;
    Some(format!(
        "{name}.{} brings an endpoint, or blocks within a structure",
        message.name
    ))
}

/// A rep struct that is nothing but values.
fn structure(s: &Struct) -> TokenStream {
    let name = names::ident(&s.name);
    let docs = &s.docs;
    let fields: Vec<_> = s.fields.iter().map(|f| names::ident(&f.name)).collect();
    let types: Vec<_> = (s.fields.iter())
        .map(|f| received(&f.ty, &TokenStream::new()))
        .collect();
    let offsets = &s.offsets;
    let (size, align) = (s.layout.size, s.layout.align);
    quote! {
        #(#[doc = #docs])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct #name { #(pub #fields: #types),* }

        #[allow(unused_variables)]
        impl ::sing_embed::rt::Argument for #name {
            const WORDS: usize = 0 #(+ <#types as ::sing_embed::rt::Argument>::WORDS)*;
            fn give(self, out: &mut ::sing_embed::rt::Outgoing) {
                #(::sing_embed::rt::Argument::give(self.#fields, out);)*
            }
        }

        #[allow(unused_variables)]
        impl<'s> ::sing_embed::rt::Value<'s> for #name {
            fn take(words: &mut ::sing_embed::rt::Words<'s>) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(#name {
                    #(#fields: ::sing_embed::rt::Value::take(words)?),*
                })
            }
        }

        #[allow(unused_variables)]
        impl ::sing_embed::Plain for #name {
            const SIZE: usize = #size;
            const ALIGN: usize = #align;
            fn write_to(&self, bytes: &mut [u8]) {
                bytes[..#size].fill(0);
                #(::sing_embed::Plain::write_to(&self.#fields, &mut bytes[#offsets..]);)*
            }
            fn read_from(bytes: &[u8]) -> ::core::option::Option<Self> {
                let bytes = bytes.get(..#size)?;
                ::core::option::Option::Some(#name {
                    #(#fields: <#types as ::sing_embed::Plain>::read_from(&bytes[#offsets..])?),*
                })
            }
        }
    }
}

fn present(ty: TokenStream, optional: bool) -> TokenStream {
    match optional {
        true => quote!(::core::option::Option<#ty>),
        false => ty,
    }
}

/// The type of an argument that is received.
fn received(ty: &Type, up: &TokenStream) -> TokenStream {
    match ty {
        Type::Vector {
            of: Content::Scalar(Scalar::Char),
            optional,
        } => present(quote!(::sing_embed::Text<'s>), *optional),
        Type::Vector { of, optional } => {
            let of = types::content(of, up);
            present(quote!(::sing_embed::Vector<'s, #of>), *optional)
        }
        Type::Record { of, optional } => {
            let of = types::content(of, up);
            present(quote!(::sing_embed::Record<'s, #of>), *optional)
        }
        Type::Optional(of) => present(types::content(of, up), true),
        Type::Scalar(s) => types::scalar(*s),
        Type::Enum(name) | Type::Struct(name) => {
            let name = names::ident(name);
            quote!(#up #name)
        }
        // Refused before.
        Type::Endpoint { .. } => TokenStream::new(),
    }
}

/// The type of an argument that is sent.
fn sent(ty: &Type, up: &TokenStream) -> TokenStream {
    match ty {
        Type::Vector {
            of: Content::Scalar(Scalar::Char),
            optional,
        } => present(quote!(&str), *optional),
        Type::Vector { of, optional } => {
            let of = types::content(of, up);
            present(quote!(&[#of]), *optional)
        }
        Type::Record { of, optional } => {
            let of = types::content(of, up);
            present(quote!(&#of), *optional)
        }
        plain => received(plain, up),
    }
}

/// Whether the conditions hold of arguments in scope.
fn holds<'c>(
    conditions: impl Iterator<Item = &'c sing_contract::model::Condition>,
    up: &TokenStream,
) -> TokenStream {
    let conditions = conditions.map(|c| requires::holds(c, up));
    quote!((|| -> bool { true #(&& #conditions)* })())
}

fn variables(message: &Message) -> Vec<Ident> {
    let arguments = message.arguments.iter();
    arguments.map(|a| names::variable(&a.name)).collect()
}

impl Generator<'_> {
    fn host_module(&self, identity: &Hash) -> TokenStream {
        let c = self.contract;
        let (name, contract, docs) = (names::ident(&c.name), &c.name, &c.docs);
        let summary = format!(
            "Contract {}, for a program that has the system inside.",
            c.name
        );
        let states = c.states.iter().enumerate().map(|(i, s)| {
            let (ty, docs) = (self.state_type(i), &s.docs);
            let summary = format!("State `{}`.", s.name);
            quote! {
                #[doc = #summary]
                #(#[doc = #docs])*
                #[derive(Clone, Copy, Debug)]
                pub struct #ty;
            }
        });
        let (imp, exp) = (self.host_side(Side::Imp), self.host_side(Side::Exp));
        let outgoing = c.messages.iter().enumerate();
        let outgoing = outgoing.map(|(i, m)| self.outgoing(i, m));
        quote! {
            #[doc = #summary]
            ///
            #(#[doc = #docs])*
            #[allow(
                non_snake_case, non_camel_case_types, dead_code, unused_imports, unused_variables,
                unused_mut, missing_docs, clippy::all, clippy::pedantic
            )]
            pub mod #name {
                /// The contract's name.
                pub const NAME: &str = #contract;
                static CONTRACT: ::sing_embed::rt::Contract = ::sing_embed::rt::Contract {
                    name: #contract,
                    identity: [#(#identity),*],
                };
                #(#states)*
                #(#outgoing)*
                #imp
                #exp
            }
        }
    }

    /// The function that makes a message of its arguments, if they keep what it requires.
    fn outgoing(&self, index: usize, message: &Message) -> TokenStream {
        let function = format_ident!("__{}", names::snake(&message.name));
        let names = variables(message);
        let types = message
            .arguments
            .iter()
            .map(|a| sent(&a.ty, &quote!(super::)));
        let given =
            message
                .arguments
                .iter()
                .zip(&names)
                .map(|(a, name)| match a.ty.is_optional_block() {
                    true => quote!(::sing_embed::rt::Maybe(#name)),
                    false => quote!(#name),
                });
        let index = index as u32;
        let check = match message.requires.is_empty() {
            true => TokenStream::new(),
            false => {
                let holds = holds(message.requires.iter(), &quote!(super::));
                let text = self.requirement(message);
                quote! {
                    if !#holds {
                        return ::core::result::Result::Err(__link.broken(#text));
                    }
                }
            }
        };
        quote! {
            fn #function(
                __link: &::sing_embed::rt::Link<'_>, #(#names: #types),*
            ) -> ::core::result::Result<::sing_embed::rt::Outgoing, ::sing_embed::Error> {
                #check
                let mut __out = ::sing_embed::rt::Outgoing::new(#index);
                #(::sing_embed::rt::Argument::give(#given, &mut __out);)*
                ::core::result::Result::Ok(__out)
            }
        }
    }

    /// The endpoints of a side, and what it can receive.
    fn host_side(&self, side: Side) -> TokenStream {
        let (ty, module) = (types::side(side), names::ident(&side.name().to_lowercase()));
        let exports = side == Side::Imp;
        let of_states = self.contract.states.iter().enumerate().map(|(i, s)| {
            let (state, name) = (self.state_type(i), &s.name);
            let mut methods: TokenStream = s.sends(side).map(|t| self.host_send(side, t)).collect();
            if s.receives(side).next().is_some() {
                methods.extend(self.host_receive(side, i, s));
            }
            quote! {
                impl<'s> ::sing_embed::Endpoint<'s> for #ty<'s, #state> {
                    #[doc(hidden)]
                    const WANTED: ::sing_embed::rt::Wanted = ::sing_embed::rt::Wanted {
                        contract: &CONTRACT,
                        state: #name,
                        exports: #exports,
                    };
                    #[doc(hidden)]
                    fn with(link: ::sing_embed::rt::Link<'s>) -> Self {
                        Self::at(link)
                    }
                }

                impl<'s> #ty<'s, #state> { #methods }
            }
        });
        let received = self.contract.states.iter().enumerate();
        let received = received.filter(|(_, s)| s.receives(side).next().is_some());
        let received = received.map(|(i, s)| self.host_received(side, i, s));
        let summary = format!(
            "The {} endpoint, in state `S`. Dropping it ends the process.",
            side.name()
        );
        let what = format!(
            "The messages that the side `{}` can receive, by state.",
            side.name()
        );
        quote! {
            #[doc = #summary]
            #[must_use = "an endpoint that is dropped ends its process"]
            #[derive(Debug)]
            pub struct #ty<'s, S> {
                link: ::sing_embed::rt::Link<'s>,
                state: ::core::marker::PhantomData<S>,
            }

            impl<'s, S> #ty<'s, S> {
                fn at(link: ::sing_embed::rt::Link<'s>) -> Self {
                    #ty { link, state: ::core::marker::PhantomData }
                }

                /// Sets how long each receive may take from now on: then the process is ended.
                pub fn within(mut self, time: ::core::time::Duration) -> Self {
                    self.link.within(time);
                    self
                }
            }

            #(#of_states)*

            #[doc = #what]
            pub mod #module { #(#received)* }
        }
    }

    fn host_send(&self, side: Side, t: &Transition) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let name = names::snake(&message.name);
        let names = variables(message);
        let types: Vec<_> = (message.arguments.iter())
            .map(|a| sent(&a.ty, &quote!(super::)))
            .collect();
        let (ty, next) = (types::side(side), self.state_type(t.target));
        let (function, method) = (format_ident!("__{name}"), format_ident!("send_{name}"));
        let (summary, docs) = (format!("Sends `{}`.", message.name), &message.docs);
        let target = &self.contract.states[t.target];
        let calls = target.sends(side).next().is_none() && target.receives(side).next().is_some();
        let call = match calls {
            false => TokenStream::new(),
            true => {
                let module = names::ident(&side.name().to_lowercase());
                let (call, begin) = (
                    format_ident!("call_{name}"),
                    format_ident!("begin_call_{name}"),
                );
                let summary = format!("Sends `{}`, and waits for what comes.", message.name);
                quote! {
                    #[doc = #summary]
                    ///
                    /// # Errors
                    /// As of a send and a receive.
                    pub fn #call(
                        self, #(#names: #types),*
                    ) -> ::core::result::Result<#module::#next<'s>, ::sing_embed::Error> {
                        let __message = #function(&self.link, #(#names),*)?;
                        let __come = self.link.exchange(__message)?;
                        #module::#next::__take(self.link, __come)
                    }

                    /// The same as a future. Dropping it ends the process.
                    pub fn #begin(
                        self, #(#names: #types),*
                    ) -> ::sing_embed::Receiving<'s, #module::#next<'s>> {
                        let __message = #function(&self.link, #(#names),*);
                        self.link.begin_exchange(__message, #module::#next::__take)
                    }
                }
            }
        };
        quote! {
            #[doc = #summary]
            ///
            #(#[doc = #docs])*
            ///
            /// # Errors
            /// If the message breaks the contract, the process has ended, or has no room for it: the
            /// process is ended then.
            pub fn #method(
                self, #(#names: #types),*
            ) -> ::core::result::Result<#ty<'s, #next>, ::sing_embed::Error> {
                let __message = #function(&self.link, #(#names),*)?;
                self.link.send(__message)?;
                ::core::result::Result::Ok(#ty::at(self.link))
            }

            #call
        }
    }

    fn host_receive(&self, side: Side, index: usize, state: &State) -> TokenStream {
        let (module, name) = (
            names::ident(&side.name().to_lowercase()),
            self.state_type(index),
        );
        let transitions: Vec<&Transition> = state.receives(side).collect();
        let only = match transitions[..] {
            [only] => {
                let message = &self.contract.messages[only.message];
                let snake = names::snake(&message.name);
                let (method, variant) =
                    (format_ident!("recv_{snake}"), names::ident(&message.name));
                let value = self.brought(side, only, &quote!(super::), &TokenStream::new());
                let bound: Vec<Ident> = (0..=message.arguments.len())
                    .map(|i| format_ident!("v{i}"))
                    .collect();
                let summary = format!(
                    "Waits for `{}`: what it brings, and the endpoint.",
                    message.name
                );
                quote! {
                    #[doc = #summary]
                    ///
                    /// # Errors
                    /// What has become of the process instead.
                    pub fn #method(self) -> ::core::result::Result<#value, ::sing_embed::Error> {
                        let #module::#name::#variant(#(#bound),*) = self.recv()?;
                        ::core::result::Result::Ok((#(#bound),*))
                    }
                }
            }
            _ => TokenStream::new(),
        };
        quote! {
            /// Waits for the next message.
            ///
            /// # Errors
            /// What has become of the process instead.
            pub fn recv(self) -> ::core::result::Result<#module::#name<'s>, ::sing_embed::Error> {
                let __come = self.link.receive()?;
                #module::#name::__take(self.link, __come)
            }

            /// The same as a future. Dropping it ends the process.
            pub fn begin_recv(self) -> ::sing_embed::Receiving<'s, #module::#name<'s>> {
                self.link.begin_receive(#module::#name::__take)
            }

            #only
        }
    }

    /// The type of what a message brings, and the endpoint behind it.
    fn brought(
        &self,
        side: Side,
        t: &Transition,
        up: &TokenStream,
        here: &TokenStream,
    ) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let types = message.arguments.iter().map(|a| received(&a.ty, up));
        let (ty, next) = (types::side(side), self.state_type(t.target));
        let endpoint = quote!(#here #ty<'s, #here #next>);
        match message.arguments.is_empty() {
            true => endpoint,
            false => quote!((#(#types,)* #endpoint)),
        }
    }

    fn host_received(&self, side: Side, index: usize, state: &State) -> TokenStream {
        let (name, ty) = (self.state_type(index), types::side(side));
        let up = quote!(super::super::);
        let mut variants = TokenStream::new();
        let mut arms = TokenStream::new();
        for t in state.receives(side) {
            let message = &self.contract.messages[t.message];
            let (variant, next) = (names::ident(&message.name), self.state_type(t.target));
            let types: Vec<_> = message
                .arguments
                .iter()
                .map(|a| received(&a.ty, &up))
                .collect();
            let docs = &message.docs;
            variants.extend(quote! {
                #(#[doc = #docs])*
                ///
                /// What it brings, and the endpoint in its next state.
                #variant(#(#types,)* super::#ty<'s, super::#next>),
            });
            let names = variables(message);
            let tag = t.message as u32;
            let text = format!("{}.{}", self.contract.name, message.name);
            // The rest has been judged by the kernel, at the send.
            let judged = judged(message, self.model);
            let left = message.requires.iter().zip(&judged.requires);
            let left: Vec<_> = left
                .filter(|(_, judged)| !**judged)
                .map(|(c, _)| c)
                .collect();
            let check = match left.is_empty() {
                true => TokenStream::new(),
                false => {
                    let holds = holds(left.into_iter(), &up);
                    quote! {
                        if !#holds {
                            return ::core::result::Result::Err(__link.misspoken(#text));
                        }
                    }
                }
            };
            arms.extend(quote! {
                #tag => {
                    #(
                        let __value: ::core::option::Option<#types> =
                            ::sing_embed::rt::Value::take(&mut __come.words);
                        let ::core::option::Option::Some(#names) = __value else {
                            return ::core::result::Result::Err(__link.misspoken(#text));
                        };
                    )*
                    #check
                    ::core::result::Result::Ok(Self::#variant(#(#names,)* super::#ty::at(__link)))
                }
            });
        }
        let summary = format!("What can come in state `{}`.", state.name);
        let contract = &self.contract.name;
        quote! {
            #[doc = #summary]
            #[derive(Debug)]
            pub enum #name<'s> { #variants }

            impl<'s> #name<'s> {
                pub(super) fn __take(
                    __link: ::sing_embed::rt::Link<'s>,
                    mut __come: ::sing_embed::rt::Incoming<'s>,
                ) -> ::core::result::Result<Self, ::sing_embed::Error> {
                    match __come.index {
                        #arms
                        _ => ::core::result::Result::Err(__link.misspoken(#contract)),
                    }
                }
            }
        }
    }
}
