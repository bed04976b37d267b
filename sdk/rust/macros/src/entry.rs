//! `#[main]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`main` takes no arguments"));
    }
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    if let Some(input) = signature.inputs.first() {
        return Err(Error::new_spanned(
            input,
            "the program's start takes nothing; its arguments are in `sing_sdk::args`, its endpoints in `startup`",
        ));
    }
    if let Some(asyncness) = &signature.asyncness {
        return Err(Error::new_spanned(
            asyncness,
            "the program's start cannot be async",
        ));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &signature.generics,
            "the program's start cannot be generic",
        ));
    }
    let name = &signature.ident;
    Ok(quote! {
        #function

        #[cfg(target_arch = "wasm32")]
        #[doc(hidden)]
        #[allow(unsafe_code)]
        #[unsafe(export_name = "sip_main")]
        extern "C" fn __sip_main() -> i32 {
            // The manifest stands at the program's root.
            crate::startup::__connect();
            ::sing_sdk::rt::Termination::report(#name())
        }
    })
}
