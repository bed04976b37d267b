//! Enums, rep structs, and the Rust types of arguments.

use crate::names;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use sing_contract::model::{Content, Enum, Model, Scalar, Side, Struct, Type};

/// A type as seen from a module that lies `up` (a chain of `super`) below the call.
pub(super) fn rust(ty: &Type, model: &Model, up: &TokenStream) -> TokenStream {
    match ty {
        Type::Scalar(s) => scalar(*s),
        Type::Enum(name) | Type::Struct(name) => {
            let name = names::ident(name);
            quote!(#up #name)
        }
        Type::Optional(of) => present(content(of, up), true),
        Type::Vector {
            of: Content::Scalar(Scalar::Char),
            optional,
        } => present(quote!(::sing_sdk::rt::Text), *optional),
        Type::Vector { of, optional } => {
            let of = content(of, up);
            present(quote!(::sing_sdk::rt::Vector<#of>), *optional)
        }
        Type::Record { of, optional } => {
            let of = content(of, up);
            present(quote!(::sing_sdk::rt::Record<#of>), *optional)
        }
        Type::Endpoint {
            contract,
            side,
            state,
        } => {
            let name = names::ident(contract);
            let side = self::side(*side);
            let state = match model.contract(contract) {
                Some(c) => names::state(c, state),
                None => names::ident(state),
            };
            quote!(#up #name::#side<#up #name::#state>)
        }
    }
}

pub(super) fn side(side: Side) -> proc_macro2::Ident {
    names::ident(side.name())
}

pub(super) fn scalar(s: Scalar) -> TokenStream {
    let name = names::ident(s.rust_name());
    quote!(#name)
}

fn present(ty: TokenStream, optional: bool) -> TokenStream {
    if optional {
        quote!(::core::option::Option<#ty>)
    } else {
        ty
    }
}

pub(super) fn content(ty: &Content, up: &TokenStream) -> TokenStream {
    match ty {
        Content::Scalar(s) => scalar(*s),
        Content::Enum(name) | Content::Struct(name) => {
            let name = names::ident(name);
            quote!(#up #name)
        }
    }
}

/// An enum, without what it is to messages and blocks.
pub(super) fn enumeration_alone(e: &Enum) -> TokenStream {
    let name = names::ident(&e.name);
    let repr = scalar(e.repr);
    let docs = &e.docs;
    let variants: Vec<_> = e.values.iter().map(|v| names::ident(&v.1)).collect();
    let variant_docs = e.values.iter().map(|v| {
        let lines = &v.0;
        quote!(#(#[doc = #lines])*)
    });
    let numbers: Vec<_> = e.values.iter().map(|v| number(v.2)).collect();
    quote! {
        #(#[doc = #docs])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(#repr)]
        pub enum #name { #(#variant_docs #variants = #numbers),* }

        impl #name {
            /// The value with this number, if there is one.
            #[must_use]
            pub const fn from_number(number: #repr) -> ::core::option::Option<Self> {
                match number {
                    #(#numbers => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

pub(super) fn enumeration(e: &Enum) -> TokenStream {
    let (name, repr) = (names::ident(&e.name), scalar(e.repr));
    let alone = enumeration_alone(e);
    quote! {
        #alone

        ::sing_sdk::tracked_as_it_is! { [] #name; }

        impl ::sing_sdk::rt::Exchangeable for #name {
            const WORDS: usize = 1;
            #[inline]
            fn into_words(self, words: &mut [u64]) {
                ::sing_sdk::rt::Exchangeable::into_words(self as #repr, words);
            }
            #[inline]
            unsafe fn from_words(words: &[u64]) -> ::core::option::Option<Self> {
                // SAFETY: a number owns nothing.
                Self::from_number(unsafe { <#repr as ::sing_sdk::rt::Exchangeable>::from_words(words) }?)
            }
        }

        impl ::sing_sdk::rt::Plain for #name {
            const SIZE: usize = <#repr as ::sing_sdk::rt::Plain>::SIZE;
            const ALIGN: usize = <#repr as ::sing_sdk::rt::Plain>::ALIGN;
            #[inline]
            fn write_to(&self, bytes: &mut [u8]) {
                ::sing_sdk::rt::Plain::write_to(&(*self as #repr), bytes);
            }
            #[inline]
            fn read_from(bytes: &[u8]) -> ::core::option::Option<Self> {
                Self::from_number(<#repr as ::sing_sdk::rt::Plain>::read_from(bytes)?)
            }
        }
    }
}

/// A number without a suffix, with its sign.
fn number(n: i128) -> TokenStream {
    let digits = Literal::u128_unsuffixed(n.unsigned_abs());
    if n < 0 {
        quote!(-#digits)
    } else {
        quote!(#digits)
    }
}

pub(super) fn structure(model: &Model, s: &Struct) -> TokenStream {
    let name = names::ident(&s.name);
    let docs = &s.docs;
    let fields: Vec<_> = s.fields.iter().map(|f| names::ident(&f.name)).collect();
    let field_docs = s.fields.iter().map(|f| {
        let lines = &f.docs;
        quote!(#(#[doc = #lines])*)
    });
    let types: Vec<_> = s
        .fields
        .iter()
        .map(|f| rust(&f.ty, model, &TokenStream::new()))
        .collect();
    let derives = if s.plain {
        quote!(Clone, Copy, PartialEq,)
    } else {
        TokenStream::new()
    };
    let in_block = match (s.plain, s.endpoints) {
        (true, _) => plain(s, &fields, &types),
        (false, false) => tree(s, &fields, &types),
        (false, true) => TokenStream::new(),
    };
    let in_message = in_message(model, s, &fields, &types);
    let in_cell = if s.plain {
        quote!(::sing_sdk::tracked_as_it_is! { [] #name; })
    } else {
        in_cell(s, &fields, &types)
    };
    quote! {
        #(#[doc = #docs])*
        #[allow(missing_docs)]
        #[derive(#derives Debug)]
        pub struct #name { #(#field_docs pub #fields: #types),* }

        #in_cell
        #in_message
        #in_block
    }
}

/// Variables for the fields. They stand in code beside the program's own, where a pattern of a
/// field's name could be a constant's.
fn variables(s: &Struct) -> Vec<proc_macro2::Ident> {
    let fields = s.fields.iter();
    fields.map(|f| format_ident!("field_{}", f.name)).collect()
}

/// How a rep struct that owns something is held by a `TRef`: all of its fields, or none.
fn in_cell(s: &Struct, fields: &[proc_macro2::Ident], types: &[TokenStream]) -> TokenStream {
    let name = names::ident(&s.name);
    let nested = |parts: &mut dyn Iterator<Item = TokenStream>| {
        let parts: Vec<_> = parts.collect();
        let pair = |rest, part: &TokenStream| quote!((#part, #rest));
        parts.iter().rfold(quote!(()), pair)
    };
    let variables = variables(s);
    let ty = nested(&mut types.iter().cloned());
    let values = nested(&mut variables.iter().map(|f| quote!(#f)));
    let all = quote!(#name { #(#fields: #variables),* });
    quote! {
        impl ::sing_sdk::tref::Tracked for #name {
            type Parked = <#ty as ::sing_sdk::tref::Tracked>::Parked;

            fn park(self) -> ::core::result::Result<Self::Parked, ::sing_sdk::set::Refused<Self>> {
                let #all = self;
                ::sing_sdk::tref::Tracked::park(#values).map_err(|r| r.map(|#values| #all))
            }

            fn unpark(
                parked: Self::Parked,
            ) -> ::core::result::Result<Self, ::sing_sdk::set::Refused<Self::Parked>> {
                <#ty as ::sing_sdk::tref::Tracked>::unpark(parked).map(|#values| #all)
            }
        }
    }
}

/// How a rep struct travels as the argument of a message: each field in its words.
fn in_message(
    model: &Model,
    s: &Struct,
    fields: &[proc_macro2::Ident],
    types: &[TokenStream],
) -> TokenStream {
    let (name, variables) = (names::ident(&s.name), variables(s));
    let mut at = 0usize;
    let offsets: Vec<usize> = s
        .fields
        .iter()
        .map(|f| {
            let here = at;
            at += model.words(&f.ty);
            here
        })
        .collect();
    quote! {
        #[allow(unused_variables)]
        impl ::sing_sdk::rt::Exchangeable for #name {
            const WORDS: usize = #at;
            #[inline]
            fn into_words(self, words: &mut [u64]) {
                #(::sing_sdk::rt::Exchangeable::into_words(self.#fields, &mut words[#offsets..]);)*
            }
            #[inline]
            unsafe fn from_words(__words: &[u64]) -> ::core::option::Option<Self> {
                // All fields are taken before any is judged, so that none is lost.
                // SAFETY: each word is used once, for the field that it was made from.
                #(let #variables = unsafe {
                    <#types as ::sing_sdk::rt::Exchangeable>::from_words(&__words[#offsets..])
                };)*
                ::core::option::Option::Some(#name { #(#fields: #variables?),* })
            }
        }
    }
}

/// How a rep struct that is nothing but values lies in a block.
fn plain(s: &Struct, fields: &[proc_macro2::Ident], types: &[TokenStream]) -> TokenStream {
    let name = names::ident(&s.name);
    let offsets = &s.offsets;
    let (size, align) = (s.layout.size, s.layout.align);
    quote! {
        #[allow(unused_variables)]
        impl ::sing_sdk::rt::Plain for #name {
            const SIZE: usize = #size;
            const ALIGN: usize = #align;
            #[inline]
            fn write_to(&self, bytes: &mut [u8]) {
                bytes[..#size].fill(0);
                #(::sing_sdk::rt::Plain::write_to(&self.#fields, &mut bytes[#offsets..]);)*
            }
            #[inline]
            fn read_from(bytes: &[u8]) -> ::core::option::Option<Self> {
                let bytes = bytes.get(..#size)?;
                ::core::option::Option::Some(#name {
                    #(#fields: <#types as ::sing_sdk::rt::Plain>::read_from(&bytes[#offsets..])?),*
                })
            }
        }
    }
}

/// How a rep struct with parts lies in a block: values at their places, parts attached at theirs.
fn tree(s: &Struct, fields: &[proc_macro2::Ident], types: &[TokenStream]) -> TokenStream {
    let (name, variables) = (names::ident(&s.name), variables(s));
    let offsets = &s.offsets;
    let (size, align) = (s.layout.size, s.layout.align);
    quote! {
        impl ::sing_sdk::rt::Content for #name {
            const SIZE: usize = #size;
            const ALIGN: usize = #align;
            fn put(
                self,
                block: &mut ::sing_sdk::rt::Block,
                at: usize,
            ) -> ::core::result::Result<(), ::sing_sdk::rt::Error> {
                #(::sing_sdk::rt::Content::put(self.#fields, block, at + #offsets)?;)*
                ::core::result::Result::Ok(())
            }
            fn take(__block: &mut ::sing_sdk::rt::Block, __at: usize) -> ::core::option::Option<Self> {
                #(let #variables = <#types as ::sing_sdk::rt::Content>::take(__block, __at + #offsets);)*
                match (#(#variables,)*) {
                    (#(::core::option::Option::Some(#variables),)*) => {
                        ::core::option::Option::Some(#name { #(#fields: #variables),* })
                    }
                    // All or nothing: what could be taken out goes back.
                    (#(#variables,)*) => {
                        #(if let ::core::option::Option::Some(__part) = #variables {
                            let _ = ::sing_sdk::rt::Content::put(__part, __block, __at + #offsets);
                        })*
                        ::core::option::Option::None
                    }
                }
            }
        }
    }
}
