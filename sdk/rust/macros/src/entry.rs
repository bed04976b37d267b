//! `#[main]`.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, ItemFn, Type};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`main` takes no arguments"));
    }
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let mut inputs = signature.inputs.iter();
    let arguments = match (inputs.next(), inputs.next()) {
        (None, _) => None,
        (Some(FnArg::Typed(input)), None) => Some(&*input.ty),
        (_, Some(input)) | (Some(input), None) => {
            return Err(Error::new_spanned(
                input,
                "the program's start takes nothing or the `Arguments` that `arguments!` makes; its endpoints are in `startup`",
            ));
        }
    };
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
    let elsewhere = (*name == "main").then(|| elsewhere(name, arguments));
    let start = match arguments {
        None => quote!(::sing_sdk::rt::Termination::report(#name())),
        Some(ty) => quote_spanned! {ty.span()=>
            match <#ty as ::sing_sdk::usage::Declared>::get() {
                ::core::result::Result::Ok(arguments) => {
                    ::sing_sdk::rt::Termination::report(#name(arguments))
                }
                // It has been said why.
                ::core::result::Result::Err(status) => status,
            }
        },
    };
    let parameters = arguments.map(parameters);
    Ok(quote! {
        #function

        #elsewhere

        #parameters

        #[cfg(target_arch = "wasm32")]
        #[doc(hidden)]
        #[unsafe(export_name = "sip_main")]
        extern "C" fn __sip_main() -> i32 {
            // The manifest stands at the program's root.
            crate::startup::__connect();
            #start
        }
    })
}

/// The declared arguments in the module, as a part of its manifest.
fn parameters(arguments: &Type) -> TokenStream {
    let name = sing_abi::names::SECTION_PARAMETERS;
    quote! {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const ALL: &[::sing_sdk::usage::Argument] =
                <#arguments as ::sing_sdk::usage::Declared>::USAGE.arguments;
            const LEN: usize = ::sing_sdk::usage::section_len(ALL);
            #[unsafe(link_section = #name)]
            static TEXT: [u8; LEN] = ::sing_sdk::usage::section(ALL);
        };
    }
}

/// The start of a program that was built for another target than a SIP's, as editors and a plain
/// `cargo build` do: it says how the program is run. That it names the program's start keeps the
/// compiler from calling all of it unused.
fn elsewhere(name: &Ident, arguments: Option<&Type>) -> TokenStream {
    let program = match arguments {
        None => quote! {
            let _program: fn() -> _ = #name;
        },
        Some(ty) => quote_spanned! {ty.span()=>
            let _program: fn(_) -> _ = #name;
            let _arguments = <#ty as ::sing_sdk::usage::Declared>::get;
        },
    };
    quote! {
        #[cfg(not(target_arch = "wasm32"))]
        #[doc(hidden)]
        #[unsafe(export_name = "main")]
        extern "C" fn __main() -> i32 {
            #program
            ::sing_sdk::rt::on_the_host(::core::option_env!("CARGO_BIN_NAME"))
        }
    }
}
