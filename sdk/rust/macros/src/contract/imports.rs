//! The imports of a contract. Only those that a program calls get into its module: its imports are
//! the messages that it can ever send.

use super::{Generator, types};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use sing_abi::{MAX_REGISTER_WORDS, names as abi};
use sing_contract::model::{Direction, Side};

impl Generator<'_> {
    pub(super) fn imports(&self) -> TokenStream {
        let mut wasm = TokenStream::new();
        let mut host = TokenStream::new();
        let mut import = |name: proc_macro2::Ident, link: &str, types: Vec<TokenStream>| {
            let names = (0..types.len()).map(|i| format_ident!("a{i}"));
            wasm.extend(quote! {
                #[link_name = #link]
                pub fn #name(#(#names: #types),*) -> i32;
            });
            host.extend(quote! {
                pub unsafe fn #name(#(_: #types),*) -> i32 {
                    ::sing_sdk::rt::not_a_sip()
                }
            });
        };
        let (handle, word) = (quote!(u32), quote!(u64));
        let (words, out) = (quote!(*const u64), quote!(*mut u64));
        if self.contract.narrows.is_none() {
            import(
                format_ident!("new"),
                abi::NEW_CHANNEL,
                vec![quote!(*mut u32)],
            );
        }
        for side in self.sides() {
            let (cast, recv) = match side {
                Side::Imp => (abi::IMP_CAST, abi::IMP_RECV),
                Side::Exp => (abi::EXP_CAST, abi::EXP_RECV),
            };
            let prefix = side.name().to_lowercase();
            let name = format_ident!("{prefix}_cast");
            import(name, cast, vec![handle.clone(), quote!(u32)]);
            let name = format_ident!("{prefix}_recv");
            import(name, recv, vec![handle.clone(), out.clone()]);
        }
        for m in &self.contract.messages {
            let count: usize = m
                .arguments
                .iter()
                .map(|a| types::words(&a.ty, self.model))
                .sum();
            let passed = |limit: usize| {
                let mut all = vec![handle.clone()];
                if count <= limit {
                    all.extend(std::iter::repeat_n(word.clone(), count));
                } else {
                    all.push(words.clone());
                }
                all
            };
            for (side, prefix, call_prefix) in [
                (Side::Imp, abi::IMP_SEND, abi::IMP_CALL),
                (Side::Exp, abi::EXP_SEND, abi::EXP_CALL),
            ] {
                let against = if side == Side::Imp {
                    Direction::Out
                } else {
                    Direction::In
                };
                if m.direction == against || !self.contract.has_side(side) {
                    continue;
                }
                let name = format_ident!("{}_send_{}", side.name().to_lowercase(), m.name);
                import(
                    name,
                    &format!("{prefix}{}", m.name),
                    passed(MAX_REGISTER_WORDS),
                );
                let mut types = passed(MAX_REGISTER_WORDS - 1);
                types.push(out.clone());
                let name = format_ident!("{}_call_{}", side.name().to_lowercase(), m.name);
                import(name, &format!("{call_prefix}{}", m.name), types);
            }
        }
        let module = format!("{}{}", abi::CONTRACT_PREFIX, self.contract.name);
        quote! {
            mod import {
                #[cfg(target_arch = "wasm32")]
                #[link(wasm_import_module = #module)]
                unsafe extern "C" { #wasm }

                #[cfg(not(target_arch = "wasm32"))]
                mod host { #host }
                #[cfg(not(target_arch = "wasm32"))]
                pub use host::*;
            }
        }
    }
}
