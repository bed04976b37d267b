//! Received messages: for each side, an enum for each state in which it receives.

use super::messages::{Arguments, case_method, tag};
use super::{Generator, requires, types};
use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use sing_contract::conditions::judged;
use sing_contract::model::{Side, State, Transition};

impl Generator<'_> {
    /// For each side, an enum for each state in which it receives.
    pub(super) fn received(&self) -> (TokenStream, TokenStream) {
        let of = |side: Side| {
            let all = self.contract.states.iter().enumerate();
            all.filter(|(_, s)| s.receives(side).next().is_some())
                .map(|(i, s)| self.received_in(side, i, s))
                .collect::<TokenStream>()
        };
        (of(Side::Imp), of(Side::Exp))
    }

    fn received_in(&self, side: Side, index: usize, state: &State) -> TokenStream {
        let name = self.state_type(index);
        let up = quote!(super::super::);
        let here = quote!(super::);
        let ty = types::side(side);
        let mut variants = TokenStream::new();
        let mut arms = TokenStream::new();
        let mut cases = TokenStream::new();
        let transitions: Vec<&Transition> = state.receives(side).collect();
        for t in &transitions {
            let message = &self.contract.messages[t.message];
            let arguments = self.arguments(message, &up);
            let Arguments {
                names,
                types,
                offsets,
                ..
            } = &arguments;
            let variant = names::ident(&message.name);
            let next = self.state_type(t.target);
            let list: Vec<String> = message
                .arguments
                .iter()
                .map(|a| format!("`{}`", a.name))
                .collect();
            let summary = match list.len() {
                0 => "The endpoint in its next state.".to_string(),
                _ => format!("{}, and the endpoint in its next state.", list.join(", ")),
            };
            let docs = &message.docs;
            variants.extend(quote! {
                #(#[doc = #docs])*
                ///
                #[doc = #summary]
                #variant(#(#types,)* super::#ty<super::#next>),
            });
            let tag = tag(t);
            cases.extend(self.case(t, &up, &here));
            // The rest has been judged by the kernel, at the send.
            let left = !judged(message, self.model)
                .requires
                .iter()
                .all(|judged| *judged);
            let guard = if left {
                let holds = requires::call(message, self.model, &here);
                quote!(if #holds)
            } else {
                TokenStream::new()
            };
            arms.extend(quote! {
                #tag => {
                    // All arguments are taken before any is judged, so that none is lost.
                    // SAFETY: each word is used once, for the argument that the kernel put there.
                    #(let #names = unsafe {
                        <#types as ::sing_sdk::rt::Exchangeable>::from_words(&__words[#offsets..])
                    };)*
                    match (#(#names,)*) {
                        (#(::core::option::Option::Some(#names),)*) #guard => {
                            Self::#variant(#(#names,)* super::#ty::in_state(__endpoint))
                        }
                        _ => Self::Closed,
                    }
                }
            });
        }
        let only = match transitions[..] {
            [only] => {
                let message = &self.contract.messages[only.message];
                let variant = names::ident(&message.name);
                let method = names::ident(&names::snake(&message.name));
                let bound: Vec<Ident> = (0..=message.arguments.len())
                    .map(|i| format_ident!("v{i}"))
                    .collect();
                let value = self.value(side, only, &up, &here);
                let summary = format!("What `{}` brought.", message.name);
                quote! {
                    #[doc = #summary]
                    ///
                    /// # Errors
                    /// If the channel was closed instead.
                    #[inline]
                    pub fn #method(self) -> ::core::result::Result<#value, ::sing_sdk::rt::Closed> {
                        match self {
                            Self::#variant(#(#bound),*) => ::core::result::Result::Ok((#(#bound),*)),
                            Self::Closed => ::core::result::Result::Err(::sing_sdk::rt::Closed),
                        }
                    }
                }
            }
            _ => TokenStream::new(),
        };
        let long = if side == Side::Imp {
            "importing"
        } else {
            "exporting"
        };
        let summary = format!(
            "What the {long} side can receive in state `{}`.",
            state.name
        );
        quote! {
            #[doc = #summary]
            #[derive(Debug)]
            #[must_use = "this holds the endpoint; dropping it closes the channel"]
            pub enum #name {
                #variants
                /// The channel is closed, or a message came that broke the contract's promises or for
                /// which there is no room.
                Closed,
            }

            impl #name {
                // No message's method is called so: they are in small letters.
                #[inline]
                pub(super) fn __Take(__message: i32, __words: &[u64], __endpoint: ::sing_sdk::rt::Endpoint) -> Self {
                    match __message {
                        #arms
                        _ => Self::Closed,
                    }
                }

                #only

                #cases

                /// Nothing: the channel is closed.
                #[doc(hidden)]
                #[inline]
                pub fn case_ChannelClosed(self) {
                    match self {
                        Self::Closed => {}
                        _ => ::sing_sdk::select::never(),
                    }
                }
            }
        }
    }

    /// The values that a switch takes out of this message.
    fn case(&self, t: &Transition, up: &TokenStream, here: &TokenStream) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let types = self.arguments(message, up).types;
        let side = types::side(t.sender.peer());
        let (next, variant) = (self.state_type(t.target), names::ident(&message.name));
        let method = case_method(message);
        let bound: Vec<Ident> = (0..types.len()).map(|i| format_ident!("v{i}")).collect();
        quote! {
            #[doc(hidden)]
            #[inline]
            pub fn #method(self) -> ::core::result::Result<((#(#types,)*), #here #side<#here #next>), Self> {
                match self {
                    Self::#variant(#(#bound,)* next) => ::core::result::Result::Ok(((#(#bound,)*), next)),
                    other => ::core::result::Result::Err(other),
                }
            }
        }
    }
}
