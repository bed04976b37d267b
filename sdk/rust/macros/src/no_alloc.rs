//! `#[no_alloc]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use sing_abi::names::EXPORT_NO_ALLOC;
use syn::{Error, FnArg, GenericParam, ItemFn, LitStr};

/// Why a generic function is none.
const MANY: &str = "a region without allocation is one function, and a generic one becomes many; mark those \
     that call it, or one for each type";

/// The function, exported under a name that declares it.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let lifetime = |param: &&GenericParam| !matches!(param, GenericParam::Lifetime(_));
    if let Some(param) = signature.generics.params.iter().find(lifetime) {
        return Err(Error::new_spanned(param, MANY));
    }
    for argument in &signature.inputs {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new_spanned(
                argument,
                "a method of a generic type becomes many; mark a function that is none, and calls it",
            ));
        };
        if has_impl(argument.ty.to_token_stream()) {
            return Err(Error::new_spanned(argument, MANY));
        }
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

/// Whether there is an `impl Trait` somewhere in a type.
fn has_impl(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => has_impl(group.stream()),
        _ => false,
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
                    fn f(_: u8, _: &impl Display) {}
                ),
                "becomes many",
            ),
            (
                quote!(),
                quote!(
                    fn f(&mut self) {}
                ),
                "a function that is none",
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
