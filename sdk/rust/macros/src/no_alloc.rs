//! `#[no_alloc]`.

use proc_macro2::TokenStream;
use quote::quote;
use sing_abi::names::EXPORT_NO_ALLOC;
use syn::{Error, GenericParam, ItemFn, LitStr};

/// The function, exported under a name that declares it.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let lifetime = |param: &&GenericParam| !matches!(param, GenericParam::Lifetime(_));
    if let Some(param) = signature.generics.params.iter().find(lifetime) {
        return Err(Error::new_spanned(
            param,
            "a region without allocation is one function, and a generic one becomes many; mark those \
             that call it, or one for each type",
        ));
    }
    if let Some(asyncness) = &signature.asyncness {
        return Err(Error::new_spanned(
            asyncness,
            "an async function only makes a future; mark what that calls",
        ));
    }
    let name = match arguments.is_empty() {
        true => signature.ident.to_string(),
        false => syn::parse2::<LitStr>(arguments)?.value(),
    };
    let export = format!("{EXPORT_NO_ALLOC}{name}");
    Ok(quote! {
        #[cfg_attr(target_arch = "wasm32", unsafe(export_name = #export))]
        #function
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: TokenStream, item: TokenStream) -> String {
        match expand(arguments, item) {
            Ok(tokens) => tokens.to_string(),
            Err(e) => format!("error: {e}"),
        }
    }

    #[test]
    fn the_region_has_the_functions_name_or_another() {
        let item = || {
            quote!(
                fn step<'a>(at: &'a mut u8) -> &'a mut u8 {
                    at
                }
            )
        };
        let own = expanded(quote!(), item());
        assert!(own.contains("export_name = \"no_alloc:step\""), "{own}");
        assert!(own.contains("fn step"), "{own}");
        let other = expanded(quote!("draw::step"), item());
        assert!(other.contains("\"no_alloc:draw::step\""), "{other}");
    }

    #[test]
    fn what_is_not_one_function_is_refused() {
        for (arguments, item, part) in [
            (
                quote!(),
                quote!(
                    fn f<T>(_: T) {}
                ),
                "becomes many",
            ),
            (
                quote!(),
                quote!(
                    fn f<const N: usize>() {}
                ),
                "becomes many",
            ),
            (
                quote!(),
                quote!(
                    async fn f() {}
                ),
                "future",
            ),
            (
                quote!(name),
                quote!(
                    fn f() {}
                ),
                "expected string literal",
            ),
            (
                quote!(),
                quote!(
                    struct S;
                ),
                "expected",
            ),
        ] {
            let said = expanded(arguments, item);
            assert!(said.starts_with("error") && said.contains(part), "{said}");
        }
    }
}
