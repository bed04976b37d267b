//! States, endpoint types, channels.

use super::{Generator, types};
use crate::names;
use proc_macro2::TokenStream;
use quote::quote;
use sing_contract::model::Side;

impl Generator<'_> {
    /// A type for each state.
    pub(super) fn states(&self) -> TokenStream {
        let states = self.contract.states.iter().enumerate().map(|(i, s)| {
            let ty = names::state(self.contract, &s.name);
            let (name, docs) = (&s.name, &s.docs);
            let index = i as u16;
            let summary = format!("State `{name}`.");
            quote! {
                #[doc = #summary]
                ///
                #(#[doc = #docs])*
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub enum #ty {}

                impl ::sing_sdk::rt::State for #ty {
                    const NAME: &'static str = #name;
                    const INDEX: u16 = #index;
                }
            }
        });
        quote!(#(#states)*)
    }

    /// The sides that have endpoints: one if the contract is a permission.
    pub(super) fn sides(&self) -> impl Iterator<Item = Side> {
        let sides = [Side::Imp, Side::Exp].into_iter();
        sides.filter(|&side| self.contract.has_side(side))
    }

    /// `Imp`, `Exp`, `new_channel`.
    pub(super) fn endpoints(&self) -> TokenStream {
        let endpoints = self.sides().map(|side| self.endpoint(side));
        let start = names::state(self.contract, &self.contract.states[0].name);
        let new_channel = self.new_channel();
        quote! {
            /// The state in which a channel begins.
            pub type Initial = #start;

            #(#endpoints)*
            #new_channel
        }
    }

    /// A permission has none: channels are of the contract that it narrows.
    fn new_channel(&self) -> TokenStream {
        if self.contract.narrows.is_some() {
            return TokenStream::new();
        }
        let start = names::state(self.contract, &self.contract.states[0].name);
        quote! {
            /// Makes a channel: its importing and its exporting endpoint.
            ///
            /// # Errors
            /// If memory or handles are spent.
            #[inline]
            pub fn new_channel() -> ::core::result::Result<(Imp<#start>, Exp<#start>), ::sing_sdk::rt::Error> {
                let mut handles = [0u32; 2];
                // SAFETY: the kernel writes two handles, each of which gets its owner here.
                unsafe {
                    let status = import::new(handles.as_mut_ptr());
                    if status < 0 {
                        return ::core::result::Result::Err(::sing_sdk::rt::Error::from_status(status));
                    }
                    let own = |handle| {
                        ::sing_sdk::rt::Endpoint::from_raw(::sing_sdk::rt::Handle::from_raw(handle))
                    };
                    ::core::result::Result::Ok((Imp::in_state(own(handles[0])), Exp::in_state(own(handles[1]))))
                }
            }
        }
    }

    fn endpoint(&self, side: Side) -> TokenStream {
        let ty = types::side(side);
        let name = side.name();
        let long = if side == Side::Imp {
            "importing"
        } else {
            "exporting"
        };
        let summary = format!(
            "The {long} endpoint of a channel, in state `S`. Dropping it closes the channel."
        );
        let cast = names::ident(&format!("{}_cast", name.to_lowercase()));
        quote! {
            #[doc = #summary]
            #[must_use = "dropping an endpoint closes the channel"]
            pub struct #ty<S> {
                endpoint: ::sing_sdk::rt::Endpoint,
                state: ::core::marker::PhantomData<fn() -> S>,
            }

            impl<S> #ty<S> {
                /// An endpoint that is known to be in state `S`.
                #[inline]
                fn in_state(endpoint: ::sing_sdk::rt::Endpoint) -> Self {
                    #ty { endpoint, state: ::core::marker::PhantomData }
                }

                #[inline]
                fn raw(&self) -> u32 {
                    ::sing_sdk::rt::Waitable::handle(&self.endpoint).raw()
                }

                /// Whether a receive would return at once: a message waits, or the channel is
                /// closed.
                #[must_use]
                #[inline]
                pub fn is_ready(&self) -> bool {
                    self.endpoint.is_ready()
                }

                /// Closes the channel.
                #[inline]
                pub fn close(self) {}
            }

            impl<S: ::sing_sdk::rt::State> ::core::fmt::Debug for #ty<S> {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::write!(f, "{}.{}:{}({:#x})", NAME, #name, S::NAME, self.raw())
                }
            }

            impl<S> ::sing_sdk::rt::Waitable for #ty<S> {
                #[inline]
                fn handle(&self) -> ::sing_sdk::rt::Handle {
                    ::sing_sdk::rt::Waitable::handle(&self.endpoint)
                }
            }

            impl<S: ::sing_sdk::rt::State> ::sing_sdk::rt::TypedEndpoint for #ty<S> {
                const CONTRACT: &'static str = NAME;
                const SIDE: ::sing_sdk::rt::Side = ::sing_sdk::rt::Side::#ty;
                const STATE: &'static str = S::NAME;
                #[inline]
                fn into_endpoint(self) -> ::sing_sdk::rt::Endpoint {
                    self.endpoint
                }
                #[inline]
                unsafe fn from_endpoint(endpoint: ::sing_sdk::rt::Endpoint) -> Self {
                    Self::in_state(endpoint)
                }
                fn matches(endpoint: &::sing_sdk::rt::Endpoint) -> bool {
                    let handle = ::sing_sdk::rt::Waitable::handle(endpoint);
                    // SAFETY: the kernel only looks.
                    unsafe { import::#cast(handle.raw(), u32::from(S::INDEX)) == 0 }
                }
            }

            impl<S: ::sing_sdk::rt::State> ::sing_sdk::rt::Exchangeable for #ty<S> {
                const WORDS: usize = 1;
                #[inline]
                fn into_words(self, words: &mut [u64]) {
                    words[0] = u64::from(self.endpoint.into_raw().raw());
                }
                #[inline]
                unsafe fn from_words(words: &[u64]) -> ::core::option::Option<Self> {
                    // The sender's contract of this name may be another one; the kernel has closed
                    // the endpoint then.
                    if words[0] == 0 {
                        return ::core::option::Option::None;
                    }
                    // SAFETY: the words own the handle, and the kernel has checked contract and
                    // state.
                    let endpoint = unsafe {
                        ::sing_sdk::rt::Endpoint::from_raw(::sing_sdk::rt::Handle::from_raw(words[0] as u32))
                    };
                    ::core::option::Option::Some(Self::in_state(endpoint))
                }
            }

            impl<S> ::core::convert::From<#ty<S>> for ::sing_sdk::rt::Endpoint {
                #[inline]
                fn from(endpoint: #ty<S>) -> Self {
                    endpoint.endpoint
                }
            }
        }
    }
}
