//! `Mock`: the exporting side of a contract as a test says it. It is there on the host alone, and
//! stands on `sing_sdk::host`.

use super::Generator;
use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use sing_contract::model::{Content, Scalar, Side, State, Transition, Type};

impl Generator<'_> {
    /// The type `Mock`. Permissions have none, as channels are of the contract that they narrow.
    pub(super) fn mock(&self) -> TokenStream {
        let c = self.contract;
        if c.narrows.is_some() {
            return TokenStream::new();
        }
        let first = &c.states[0];
        let speaks_first = first.sends(Side::Exp).next().is_some();
        let accepts = match self.accepted() {
            Some(_) => quote! {
                script.begin(|endpoint| {
                    let exp: Exp<Initial> = endpoint.cast().ok()?;
                    ::sing_sdk::host::Next::left(exp.send_success())
                });
            },
            None => TokenStream::new(),
        };
        let states = || c.states.iter().enumerate();
        let received = |t: &Transition| {
            let mut all = c.states.iter().flat_map(|s| s.receives(Side::Exp));
            all.by_ref()
                .filter(|other| other.message == t.message)
                .count()
        };
        let answers = states().flat_map(|(i, s)| {
            s.receives(Side::Exp)
                .map(move |t| self.mocked(i, s, t, received(t) > 1))
        });
        let text = format!(
            "The exporting side of `{}` for tests, which answers as they say: `sing_sdk::host`.",
            c.name
        );
        quote! {
            #[doc = #text]
            #[cfg(not(target_arch = "wasm32"))]
            #[derive(Debug)]
            pub struct Mock(::sing_sdk::host::Script);

            #[cfg(not(target_arch = "wasm32"))]
            impl Mock {
                /// One that has no answers yet.
                #[must_use]
                pub fn new() -> Self {
                    #[allow(unused_mut)]
                    let mut script = ::sing_sdk::host::Script::new::<Exp<Initial>>(#speaks_first);
                    #accepts
                    Mock(script)
                }

                /// How it begins with each channel.
                #[must_use]
                pub fn begin<N: ::sing_sdk::host::Next>(
                    mut self,
                    mut begin: impl FnMut(Exp<Initial>) -> N + ::core::marker::Send + 'static,
                ) -> Self {
                    self.0.begin(move |endpoint| {
                        ::sing_sdk::host::Next::left(begin(endpoint.cast().ok()?))
                    });
                    self
                }

                #(#answers)*

                /// Has the conversation over a fresh channel: its importing end, and the messages
                /// that come.
                ///
                /// # Panics
                /// Not here: there is room for channels.
                #[must_use]
                pub fn channel(self) -> (Imp<Initial>, ::sing_sdk::host::Came) {
                    let (imp, exp) = new_channel().expect("a channel");
                    (imp, ::sing_sdk::host::played(self.0, exp))
                }
            }

            #[cfg(not(target_arch = "wasm32"))]
            impl ::core::convert::From<Mock> for ::sing_sdk::host::Script {
                fn from(mock: Mock) -> Self {
                    mock.0
                }
            }
        }
    }

    /// The method for a message in a state.
    fn mocked(&self, index: usize, state: &State, t: &Transition, several: bool) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let name = &message.name;
        let snake = names::snake(name);
        let within = self.state_type(index);
        let method = match several {
            true => format_ident!("on_{snake}_in_{}", names::snake(&within.to_string())),
            false => format_ident!("on_{snake}"),
        };
        let arguments = self.arguments(message, &quote!(super::));
        let types = &arguments.types;
        let next = self.state_type(t.target);
        let variant = names::ident(name);
        let bound: Vec<Ident> = (0..types.len()).map(|i| format_ident!("v{i}")).collect();
        let shown = message.arguments.iter().zip(&bound);
        let shown = shown.map(|(argument, v)| self.shown(&argument.ty, v));
        let (state, number) = (&state.name, super::messages::tag(t));
        let text = format!(
            "How it answers `{name}` in state `{state}`: the closure gets what the message brings, and returns the endpoint, \
             or `Closed` if the conversation ends with this."
        );
        quote! {
            #[doc = #text]
            #[must_use]
            pub fn #method<N: ::sing_sdk::host::Next>(
                mut self,
                mut answer: impl FnMut(#(#types,)* Exp<#next>) -> N + ::core::marker::Send + 'static,
            ) -> Self {
                self.0.on(#state, #number, move |words, endpoint, came| {
                    match exp::#within::__Take(#number, words, endpoint) {
                        exp::#within::#variant(#(#bound,)* next) => {
                            came.message(#name, &[#(#shown),*]);
                            ::sing_sdk::host::Next::left(answer(#(#bound,)* next))
                        }
                        _ => ::core::option::Option::None,
                    }
                });
                self
            }
        }
    }

    /// An argument as a mock remembers it. Handles are left out: they tell a test nothing.
    fn shown(&self, ty: &Type, value: &Ident) -> TokenStream {
        let plain = |of: &Content| match of {
            Content::Struct(name) => self.model.structure(name).is_some_and(|s| s.plain),
            Content::Scalar(_) | Content::Enum(_) => true,
        };
        if ty.is_optional_block() {
            let of = match ty.clone() {
                Type::Vector { of, .. } => Type::Vector {
                    of,
                    optional: false,
                },
                Type::Record { of, .. } => Type::Record {
                    of,
                    optional: false,
                },
                other => other,
            };
            let (there, name) = (self.shown(&of, value), quote::format_ident!("{value}"));
            return quote! {
                match &#name {
                    ::core::option::Option::Some(#name) => #there,
                    ::core::option::Option::None => ::sing_sdk::host::debug(&::core::format_args!("None")),
                }
            };
        }
        let plainly = match ty {
            Type::Scalar(_) | Type::Enum(_) | Type::Optional(_) => quote!(&#value),
            Type::Struct(name) if plain(&Content::Struct(name.clone())) => quote!(&#value),
            Type::Vector {
                of: Content::Scalar(Scalar::Char),
                ..
            } => quote!(&#value.to_lossy()),
            Type::Vector { of, .. } if plain(of) => {
                return quote!(::sing_sdk::host::shown(#value.iter()));
            }
            Type::Record { of, .. } if plain(of) => {
                return quote!(::sing_sdk::host::shown(#value.get().into_iter()));
            }
            Type::Struct(_) | Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => {
                let name = ty.to_string();
                quote!(&::core::format_args!("{}", #name))
            }
        };
        quote!(::sing_sdk::host::debug(#plainly))
    }
}
