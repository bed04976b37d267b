//! The imports of a contract. Only those that a program calls get into its module: its imports are
//! the messages that it can ever send. On the host, `sing_sdk::host` takes the kernel's place.

use super::{Generator, types};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use sing_abi::{MAX_REGISTER_WORDS, names as abi};
use sing_contract::model::{Direction, Side};

impl Generator<'_> {
    pub(super) fn imports(&self) -> TokenStream {
        let mut wasm = TokenStream::new();
        let mut host = TokenStream::new();
        let mut import = |name: proc_macro2::Ident,
                          link: &str,
                          types: Vec<TokenStream>,
                          on_the_host: TokenStream| {
            let names: Vec<_> = (0..types.len()).map(|i| format_ident!("a{i}")).collect();
            wasm.extend(quote! {
                #[link_name = #link]
                pub fn #name(#(#names: #types),*) -> i32;
            });
            host.extend(quote! {
                pub unsafe fn #name(#(#names: #types),*) -> i32 {
                    // SAFETY: promised by the caller, as to the kernel.
                    unsafe { #on_the_host }
                }
            });
        };
        let (handle, word) = (quote!(u32), quote!(u64));
        let (words, out) = (quote!(*const u64), quote!(*mut u64));
        let contract = &self.contract.name;
        let bases: Vec<&String> = self.contract.bases.iter().map(|b| &b.name).collect();
        let narrowed: Vec<&String> = self.contract.narrows.iter().flat_map(|n| &n.of).collect();
        if self.contract.narrows.is_none() {
            import(
                format_ident!("new"),
                abi::NEW_CHANNEL,
                vec![quote!(*mut u32)],
                quote!(::sing_sdk::host::new_channel(#contract, &[#(#bases),*], a0)),
            );
        }
        for side in self.sides() {
            let (cast, recv) = match side {
                Side::Imp => (abi::IMP_CAST, abi::IMP_RECV),
                Side::Exp => (abi::EXP_CAST, abi::EXP_RECV),
            };
            let prefix = side.name().to_lowercase();
            let name = format_ident!("{prefix}_cast");
            let ty = types::side(side);
            let looks = quote!({
                let _ = a1;
                ::sing_sdk::host::cast(a0, #contract, &[#(#narrowed),*], ::sing_sdk::rt::Side::#ty)
            });
            import(name, cast, vec![handle.clone(), quote!(u32)], looks);
            let name = format_ident!("{prefix}_recv");
            let receives = quote!(::sing_sdk::host::recv(a0, a1));
            import(name, recv, vec![handle.clone(), out.clone()], receives);
        }
        for (number, m) in self.contract.messages.iter().enumerate() {
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            let arguments = self.arguments(m, &TokenStream::new());
            let owned = arguments.owned_words();
            let count: usize = m.arguments.iter().map(|a| self.model.words(&a.ty)).sum();
            let passed = |limit: usize| {
                let mut all = vec![handle.clone()];
                if count <= limit {
                    all.extend(std::iter::repeat_n(word.clone(), count));
                } else {
                    all.push(words.clone());
                }
                all
            };
            // The words, as the kernel gets them: in registers, or where a pointer leads.
            let given = |limit: usize| {
                if count <= limit {
                    let each = (1..=count).map(|i| format_ident!("a{i}"));
                    quote!(&[#(#each),*])
                } else {
                    quote!(::core::slice::from_raw_parts(a1, #count))
                }
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
                    {
                        let given = given(MAX_REGISTER_WORDS);
                        quote!(::sing_sdk::host::send(a0, #number, #given, &[#(#owned),*]))
                    },
                );
                let given = given(MAX_REGISTER_WORDS - 1);
                let mut types = passed(MAX_REGISTER_WORDS - 1);
                types.push(out.clone());
                let name = format_ident!("{}_call_{}", side.name().to_lowercase(), m.name);
                let answer = format_ident!("a{}", types.len() - 1);
                let calls = quote! {
                    ::sing_sdk::host::call(a0, #number, #given, &[#(#owned),*], #answer)
                };
                import(name, &format!("{call_prefix}{}", m.name), types, calls);
            }
        }
        let module = format!("{}{}", abi::CONTRACT_PREFIX, self.contract.name);
        quote! {
            mod import {
                #[cfg(target_arch = "wasm32")]
                #[link(wasm_import_module = #module)]
                unsafe extern "C" { #wasm }

                #[cfg(not(target_arch = "wasm32"))]
                #[allow(unused_unsafe, dead_code)]
                mod host { #host }
                #[cfg(not(target_arch = "wasm32"))]
                pub use host::*;
            }
        }
    }
}
