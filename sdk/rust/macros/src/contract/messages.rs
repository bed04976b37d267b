//! Sends, receives and calls, each in the states that allow it.

use super::{Generator, requires, types};
use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use sing_abi::MAX_REGISTER_WORDS;
use sing_contract::conditions::judged;
use sing_contract::model::{Message, Side, State, Transition, Type};

/// The most messages of a list that the compiler goes through, far below its limit for recursion.
const MOST_CASES: usize = 60;

/// The arguments of a message, in Rust.
pub(super) struct Arguments {
    pub(super) names: Vec<Ident>,
    pub(super) types: Vec<TokenStream>,
    /// The first word of each argument.
    pub(super) offsets: Vec<usize>,
    /// The arguments that own something.
    owning: Vec<bool>,
    words: usize,
}

impl Arguments {
    /// The words that are handles: of arguments that own something and are one word. (A structure
    /// that owns something has the handles among its words.)
    pub(super) fn owned_words(&self) -> Vec<usize> {
        let all = self.offsets.iter().zip(&self.owning).enumerate();
        let ends = |i: usize| self.offsets.get(i + 1).copied().unwrap_or(self.words);
        all.filter(|(i, (at, owns))| **owns && ends(*i) == **at + 1)
            .map(|(_, (at, _))| *at)
            .collect()
    }
}

impl Generator<'_> {
    pub(super) fn arguments(&self, message: &Message, up: &TokenStream) -> Arguments {
        let mut all = Arguments {
            names: Vec::new(),
            types: Vec::new(),
            offsets: Vec::new(),
            owning: Vec::new(),
            words: 0,
        };
        for a in &message.arguments {
            all.names.push(names::variable(&a.name));
            all.types.push(types::rust(&a.ty, self.model, up));
            all.offsets.push(all.words);
            all.owning.push(match &a.ty {
                Type::Scalar(_) | Type::Enum(_) | Type::Optional(_) => false,
                Type::Struct(name) => self.model.structure(name).is_some_and(|s| !s.plain),
                Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => true,
            });
            all.words += self.model.words(&a.ty);
        }
        all
    }

    fn state(&self, index: usize) -> &State {
        &self.contract.states[index]
    }

    pub(super) fn state_type(&self, index: usize) -> Ident {
        names::state(self.contract, &self.state(index).name)
    }

    /// Words of the longest message that a side can receive in a state.
    fn longest(&self, state: &State, side: Side) -> usize {
        state
            .receives(side)
            .map(|t| &self.contract.messages[t.message])
            .map(|m| m.arguments.iter().map(|a| self.model.words(&a.ty)).sum())
            .max()
            .unwrap_or(0)
    }

    /// Methods of the endpoints, state by state.
    pub(super) fn operations(&self) -> TokenStream {
        let mut all: TokenStream = self
            .contract
            .messages
            .iter()
            .map(|m| requires::declaration(m, self.model))
            .collect();
        all.extend(self.proofs());
        all.extend(self.markers());
        for ty in self.sides().map(types::side) {
            all.extend(quote!(::sing_sdk::tracked_as_it_is! { [S] #ty<S>; }));
        }
        for (i, state) in self.contract.states.iter().enumerate() {
            for side in self.sides() {
                let mut methods = TokenStream::new();
                for t in state.sends(side) {
                    methods.extend(self.send(side, t));
                    methods.extend(self.send_checked(side, t));
                    methods.extend(self.call(side, t));
                }
                if state.receives(side).next().is_some() {
                    methods.extend(self.receive(side, i));
                }
                methods.extend(state.receives(side).map(|t| self.tag(t)));
                let (ty, name) = (types::side(side), self.state_type(i));
                let messages = state
                    .receives(side)
                    .map(|t| self.announced(&self.contract.messages[t.message]));
                let cases = self.cases(state, side);
                all.extend(quote! {
                    impl #ty<#name> { #methods }

                    impl ::sing_sdk::select::Receives for #ty<#name> {
                        const MESSAGES: &'static [::sing_sdk::select::Message] = &[#(#messages),*];
                        type Cases = #cases;
                    }
                });
            }
        }
        all
    }

    /// How a switch knows a message that has come.
    fn tag(&self, t: &Transition) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let (method, name) = (case_method(message), names::ident(&message.name));
        let tag = tag(t);
        quote! {
            #[doc(hidden)]
            #[inline]
            pub fn #method(&self) -> ::sing_sdk::select::cases::Tag<__message::#name> {
                ::sing_sdk::select::cases::Tag::new(#tag)
            }
        }
    }

    /// The list of all that a side can be brought in a state, as a type.
    fn cases(&self, state: &State, side: Side) -> TokenStream {
        let receives: Vec<_> = state.receives(side).collect();
        if receives.len() > MOST_CASES {
            return quote!(::sing_sdk::select::cases::TooMany);
        }
        let closed = quote!((::sing_sdk::select::cases::ChannelClosed, ()));
        receives.iter().rev().fold(closed, |rest, t| {
            let name = names::ident(&self.contract.messages[t.message].name);
            quote!((__message::#name, #rest))
        })
    }

    /// For messages whose conditions can be checked while a sender is compiled: the check.
    fn proofs(&self) -> TokenStream {
        let messages = self.contract.messages.iter();
        let (functions, types): (Vec<_>, Vec<_>) = messages
            .filter_map(|m| requires::proof(m, self.model, &self.requirement(m)))
            .unzip();
        if types.is_empty() {
            return TokenStream::new();
        }
        quote! {
            #(#functions)*

            /// Arguments that are known to keep what their message requires.
            pub mod checked { #(#types)* }
        }
    }

    /// A type for each message, by which the compiler's errors name it.
    fn markers(&self) -> TokenStream {
        let names = self.contract.messages.iter();
        let names = names.map(|m| names::ident(&m.name));
        quote! {
            #[doc(hidden)]
            pub mod __message {
                #(#[derive(Debug)] pub enum #names {})*
            }
        }
    }

    /// The facts about a message that a switch's check needs.
    fn announced(&self, message: &Message) -> TokenStream {
        let name = &message.name;
        // The kernel has judged these before anything comes.
        let promises = !judged(message, self.model).is_all();
        quote!(::sing_sdk::select::Message { name: #name, promises: #promises })
    }

    /// The beginning of sends and calls: the conditions, the words.
    fn prepare(&self, message: &Message, arguments: &Arguments, proven: bool) -> TokenStream {
        let Arguments {
            names,
            offsets,
            words,
            ..
        } = arguments;
        let check = if message.requires.is_empty() || proven {
            TokenStream::new()
        } else {
            let holds = requires::call(message, self.model, &TokenStream::new());
            let text = self.requirement(message);
            quote! {
                if !#holds {
                    ::sing_sdk::rt::violated(#text);
                }
            }
        };
        quote! {
            #check
            let mut __words = [0u64; #words];
            #(::sing_sdk::rt::Exchangeable::into_words(#names, &mut __words[#offsets..]);)*
        }
    }

    /// The text of a message's requirement, for people.
    pub(super) fn requirement(&self, message: &Message) -> String {
        let required = requires::text(message);
        format!(
            "{}.{} requires {required}",
            self.contract.name, message.name
        )
    }

    /// Sends arguments that have been checked, in a `const` block at the call as a rule.
    fn send_checked(&self, side: Side, t: &Transition) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let Some(proven) = requires::constants(message, self.model) else {
            return TokenStream::new();
        };
        let arguments = self.arguments(message, &quote!(super::));
        let proven: Vec<Ident> = (proven.iter().map(|p| names::variable(&p.name))).collect();
        let all = arguments.names.iter().zip(&arguments.types);
        let given = all.filter(|(name, _)| !proven.contains(*name));
        let given = given.map(|(name, ty)| quote!(#name: #ty));
        let name = names::ident(&message.name);
        let (function, method) = requires::proven(message);
        let summary = format!(
            "Sends `{}` with arguments from [`{function}`]: in a `const {{ … }}` block there, those that break what it requires do not compile.",
            message.name
        );
        let (ty, next) = (types::side(side), self.state_type(t.target));
        let prepare = self.prepare(message, &arguments, true);
        let sent = self.sent(side, message, &arguments);
        quote! {
            #[doc = #summary]
            #[inline]
            pub fn #method(self, checked::#name { #(#proven),* }: checked::#name, #(#given),*) -> #ty<#next> {
                #prepare
                #sent
                #ty::in_state(self.endpoint)
            }
        }
    }

    fn send(&self, side: Side, t: &Transition) -> TokenStream {
        let message = &self.contract.messages[t.message];
        let arguments = self.arguments(message, &quote!(super::));
        let Arguments { names, types, .. } = &arguments;
        let method = format_ident!("send_{}", names::snake(&message.name));
        let (ty, next) = (types::side(side), self.state_type(t.target));
        let prepare = self.prepare(message, &arguments, false);
        let sent = self.sent(side, message, &arguments);
        let (summary, docs) = (format!("Sends `{}`.", message.name), &message.docs);
        quote! {
            #[doc = #summary]
            ///
            #(#[doc = #docs])*
            #[inline]
            pub fn #method(self, #(#names: #types),*) -> #ty<#next> {
                #prepare
                #sent
                #ty::in_state(self.endpoint)
            }
        }
    }

    /// The send itself, of the words that [`prepare`](Self::prepare) has made.
    fn sent(&self, side: Side, message: &Message, arguments: &Arguments) -> TokenStream {
        let Arguments {
            types,
            offsets,
            owning,
            words,
            ..
        } = arguments;
        let import = format_ident!("{}_send_{}", side.name().to_lowercase(), message.name);
        let passed = if *words <= MAX_REGISTER_WORDS {
            let each = 0..*words;
            quote!(#(__words[#each]),*)
        } else {
            quote!(__words.as_ptr())
        };
        let give_up = types.iter().zip(offsets).zip(owning).filter(|(_, o)| **o).map(
            |((ty, at), _)| {
                quote! {
                    ::core::mem::drop(<#ty as ::sing_sdk::rt::Exchangeable>::from_words(&__words[#at..]));
                }
            },
        );
        let cleanup = if owning.contains(&true) {
            quote! {
                if __status < 0 {
                    // SAFETY: the other side has closed; the arguments have not moved, and are
                    // given up here.
                    unsafe { #(#give_up)* }
                }
            }
        } else {
            TokenStream::new()
        };
        quote! {
            // SAFETY: the endpoint is in a state in which this message may be sent, the words
            // are its own.
            let __status = unsafe { import::#import(self.raw(), #passed) };
            #cleanup
        }
    }

    /// A send and the receive after it, in a state in which the other side speaks next.
    fn call(&self, side: Side, t: &Transition) -> TokenStream {
        let target = self.state(t.target);
        if target.sends(side).next().is_some() || target.receives(side).next().is_none() {
            return TokenStream::new();
        }
        let message = &self.contract.messages[t.message];
        let arguments = self.arguments(message, &quote!(super::));
        let Arguments {
            names,
            types,
            words,
            ..
        } = &arguments;
        let method = format_ident!("call_{}", names::snake(&message.name));
        let module = names::ident(&side.name().to_lowercase());
        let import = format_ident!("{module}_call_{}", message.name);
        let next = self.state_type(t.target);
        let prepare = self.prepare(message, &arguments, false);
        let passed = if *words < MAX_REGISTER_WORDS {
            let each = 0..*words;
            quote!(#(__words[#each],)*)
        } else {
            quote!(__words.as_ptr(),)
        };
        let longest = self.longest(target, side);
        let (summary, docs) = (
            format!("Sends `{}` and receives what comes next.", message.name),
            &message.docs,
        );
        quote! {
            #[doc = #summary]
            ///
            #(#[doc = #docs])*
            #[inline]
            pub fn #method(self, #(#names: #types),*) -> #module::#next {
                #prepare
                let mut __answer = [0u64; #longest];
                // SAFETY: the endpoint is in a state in which this message may be sent, the words
                // are its own, and there is room for every answer. Whichever comes back, nothing of
                // the words has stayed here.
                let __message = unsafe { import::#import(self.raw(), #passed __answer.as_mut_ptr()) };
                #module::#next::__Take(__message, &__answer, self.endpoint)
            }
        }
    }

    fn receive(&self, side: Side, index: usize) -> TokenStream {
        let state = self.state(index);
        let longest = self.longest(state, side);
        let module = names::ident(&side.name().to_lowercase());
        let import = format_ident!("{module}_recv");
        let name = self.state_type(index);
        let only = match &state.receives(side).collect::<Vec<_>>()[..] {
            [only] => {
                let message = &self.contract.messages[only.message];
                let plain = names::snake(&message.name);
                let method = format_ident!("recv_{plain}");
                let into = names::ident(&plain);
                let value = self.value(side, only, &quote!(super::), &TokenStream::new());
                let summary = format!("Waits for `{}`.", message.name);
                quote! {
                    #[doc = #summary]
                    ///
                    /// # Errors
                    /// If the channel is closed instead.
                    #[inline]
                    pub fn #method(self) -> ::core::result::Result<#value, ::sing_sdk::rt::Closed> {
                        self.recv().#into()
                    }
                }
            }
            _ => TokenStream::new(),
        };
        quote! {
            /// Waits for a message.
            #[inline]
            pub fn recv(self) -> #module::#name {
                match self.receive() {
                    ::core::result::Result::Ok(received) => received,
                    ::core::result::Result::Err(_) => #module::#name::Closed,
                }
            }

            /// Waits for a message, as `recv` does, and keeps the channel if there is no room for it.
            ///
            /// # Errors
            /// The endpoint, if the process has no room for what the message moves: that stays in the
            /// queue, at the cost of its sender, for another receive when there is room.
            #[inline]
            pub fn receive(self) -> ::core::result::Result<#module::#name, ::sing_sdk::rt::NoRoom<Self>> {
                let mut __words = [0u64; #longest];
                // SAFETY: the endpoint is in a state in which it receives, and there is room for
                // every message.
                let __message = unsafe { import::#import(self.raw(), __words.as_mut_ptr()) };
                if ::sing_sdk::rt::is_no_room(__message) {
                    return ::core::result::Result::Err(::sing_sdk::rt::NoRoom(self));
                }
                ::core::result::Result::Ok(#module::#name::__Take(__message, &__words, self.endpoint))
            }

            /// Receives a message that is there already.
            ///
            /// # Errors
            /// The endpoint, if none is.
            #[inline]
            pub fn try_recv(self) -> ::core::result::Result<#module::#name, Self> {
                if self.is_ready() {
                    ::core::result::Result::Ok(self.recv())
                } else {
                    ::core::result::Result::Err(self)
                }
            }

            #only
        }
    }

    /// The type of what a message brings: its arguments and the endpoint in its next state.
    pub(super) fn value(
        &self,
        side: Side,
        t: &Transition,
        up: &TokenStream,
        here: &TokenStream,
    ) -> TokenStream {
        let types = self.arguments(&self.contract.messages[t.message], up).types;
        let (ty, next) = (types::side(side), self.state_type(t.target));
        if types.is_empty() {
            quote!(#here #ty<#here #next>)
        } else {
            quote!((#(#types,)* #here #ty<#here #next>))
        }
    }
}

/// The number by which the kernel announces a message.
pub(super) fn tag(t: &Transition) -> i32 {
    i32::try_from(t.message).unwrap_or(i32::MAX)
}

/// The method by which a switch knows a message. The compiler's errors name it.
pub(super) fn case_method(message: &Message) -> Ident {
    format_ident!("case_{}", message.name)
}
