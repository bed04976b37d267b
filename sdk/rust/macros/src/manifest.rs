//! `manifest!`.

use crate::behavior::Behavior;
use crate::contract::section;
use crate::names;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use sing_abi::entry::Privilege;
use sing_image::manifest::{
    Category, DeviceUse, MOST_DEADLINE, Manifest, Served, Side, StartupEndpoint, Used,
};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitInt, LitStr, Path, Token, braced, bracketed, parse_quote};

/// An endpoint with the path of its contract.
struct Endpoint {
    docs: Vec<syn::Attribute>,
    declared: StartupEndpoint,
    contract: Path,
    state: Option<Ident>,
}

/// The arguments of the macro.
struct Call {
    manifest: Manifest,
    endpoints: Vec<Endpoint>,
    /// The contracts that it serves and uses, so that the compiler knows that they exist.
    named: Vec<Path>,
    /// The behavior, read.
    behavior: Option<Behavior>,
}

const KEYS: &str = "`name`, `version`, `description`, `category`, `privileges`, `endpoints`, `serves`, `uses`, `devices`, `behavior`, `memory`, `stack` and `deadline` can be declared";

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let start = input.span();
        let mut manifest = Manifest {
            abi: sing_abi::ABI_VERSION,
            version: std::env::var("CARGO_PKG_VERSION").unwrap_or_default(),
            ..Manifest::default()
        };
        let mut endpoints = Vec::new();
        let mut serves = Vec::new();
        let mut named = Vec::new();
        let mut behavior = None;
        let mut seen: Vec<String> = Vec::new();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            if seen.contains(&key.to_string()) {
                return Err(Error::new(key.span(), format!("`{key}` is declared twice")));
            }
            seen.push(key.to_string());
            match key.to_string().as_str() {
                "name" => manifest.name = input.parse::<LitStr>()?.value(),
                "version" => manifest.version = input.parse::<LitStr>()?.value(),
                "description" => manifest.description = input.parse::<LitStr>()?.value(),
                "privileges" => manifest.privileges = privileges(input)?,
                "endpoints" => endpoints = self::endpoints(input)?,
                "devices" => manifest.devices = crate::devices::parse(input)?,
                "category" => manifest.category = category(input)?,
                "serves" => {
                    serves = contracts(input)?;
                    named.extend(serves.iter().map(|served| served.path.clone()));
                }
                "uses" => {
                    for Named {
                        name, span, path, ..
                    } in contracts(input)?
                    {
                        if !name.starts_with('/') {
                            let text = "what a program uses is a path: `\"/clock\": ClockContract`";
                            return Err(Error::new(span, text));
                        }
                        manifest.uses.push(Used {
                            path: name,
                            contract: last(&path),
                        });
                        named.push(path);
                    }
                }
                "behavior" => behavior = Some(input.parse::<LitStr>()?),
                "memory" => manifest.memory = size(input)?,
                "stack" => {
                    let span = input.span();
                    manifest.stack = u32::try_from(size(input)?)
                        .map_err(|_| Error::new(span, "a stack has less than 4 GiB"))?;
                }
                "deadline" => manifest.deadline = time(input)?,
                other => {
                    let text = format!("a manifest says nothing about `{other}`; {KEYS}");
                    return Err(Error::new(key.span(), text));
                }
            }
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        if manifest.name.is_empty() {
            return Err(Error::new(
                start,
                "a manifest has at least a name: `name: \"hello\"`",
            ));
        }
        for Named {
            name,
            span,
            optional,
            path,
        } in serves
        {
            let served = Served {
                name,
                contract: last(&path),
            };
            if !served.registers_itself() {
                if endpoints.iter().any(|e| e.declared.name == served.name) {
                    let text = format!(
                        "`{}` is an endpoint already; what a program serves gets one of its own",
                        served.name
                    );
                    return Err(Error::new(span, text));
                }
                endpoints.insert(0, announced(&served, optional));
            }
            manifest.serves.push(served);
        }
        if !manifest.serves.is_empty() && !seen.contains(&"category".into()) {
            manifest.category = Category::Service;
        }
        manifest.endpoints = endpoints.iter().map(|e| e.declared.clone()).collect();
        let same = |d: &&DeviceUse| manifest.endpoints.iter().any(|e| e.name == d.name);
        if let Some(both) = manifest.devices.iter().find(same) {
            let text = format!(
                "`{}` is declared twice: as endpoint and as device",
                both.name
            );
            return Err(Error::new(start, text));
        }
        let behavior = behavior
            .map(|text| Behavior::read(&text, &manifest))
            .transpose()?;
        if let Some(behavior) = &behavior {
            manifest.behavior = behavior.text();
        }
        Ok(Call {
            manifest,
            endpoints,
            named,
            behavior,
        })
    }
}

/// The last part of a path: a contract's name.
fn last(path: &Path) -> String {
    let last = path.segments.last();
    last.map(|s| s.ident.to_string()).unwrap_or_default()
}

/// The start-up endpoint on which clients of something served are announced.
fn announced(served: &Served, optional: bool) -> Endpoint {
    let text = format!(
        "On it, clients of `{}` are announced: for `Provider::new`.",
        served.contract
    );
    Endpoint {
        docs: vec![parse_quote!(#[doc = #text])],
        declared: StartupEndpoint {
            name: served.name.clone(),
            contract: "NamespaceContract".into(),
            side: Side::Exp,
            state: Some("Start".into()),
            optional,
            many: false,
        },
        contract: parse_quote!(::sing_sdk::contracts::NamespaceContract),
        state: Some(Ident::new("Start", Span::call_site())),
    }
}

fn category(input: ParseStream<'_>) -> syn::Result<Category> {
    let name: Ident = input.parse()?;
    let all = Category::ALL.into_iter();
    all.clone().find(|c| name == c.name()).ok_or_else(|| {
        let known: Vec<&str> = all.map(Category::name).collect();
        let text = format!(
            "there is no category `{name}`; there are {}",
            known.join(", ")
        );
        Error::new(name.span(), text)
    })
}

/// A name with the contract that it is served or used by.
struct Named {
    name: String,
    span: Span,
    /// Whether the program also runs without a start-up endpoint for it.
    optional: bool,
    path: Path,
}

/// `{ name: PATH, "/path": PATH, … }`: names with their places and contracts.
fn contracts(input: ParseStream<'_>) -> syn::Result<Vec<Named>> {
    let list;
    braced!(list in input);
    let mut all: Vec<Named> = Vec::new();
    while !list.is_empty() {
        let span = list.span();
        let name = if list.peek(LitStr) {
            let path = list.parse::<LitStr>()?.value();
            if path.len() < 2
                || !path.starts_with('/')
                || path.ends_with('/')
                || path.contains("//")
            {
                return Err(Error::new(
                    span,
                    "a path in quotes is like \"/clock\" or \"/dev/disk\"",
                ));
            }
            path
        } else {
            list.parse::<Ident>()?.unraw().to_string()
        };
        if all.iter().any(|other| other.name == name) {
            return Err(Error::new(span, format!("`{name}` is declared twice")));
        }
        list.parse::<Token![:]>()?;
        let optional = list.peek(Ident::peek_any) && list.peek2(Ident::peek_any);
        if optional {
            let word: Ident = list.call(Ident::parse_any)?;
            if word != "optional" || name.starts_with('/') {
                return Err(Error::new(
                    word.span(),
                    "only `optional` stands before the contract, and not behind a path",
                ));
            }
        }
        let path = list.call(Path::parse_mod_style)?;
        all.push(Named {
            name,
            span,
            optional,
            path,
        });
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

fn privileges(input: ParseStream<'_>) -> syn::Result<Vec<String>> {
    let list;
    bracketed!(list in input);
    let mut all: Vec<String> = Vec::new();
    while !list.is_empty() {
        let name: Ident = list.parse()?;
        if Privilege::from_name(&name.to_string()).is_none() {
            let known: Vec<&str> = Privilege::ALL.iter().map(|p| p.name()).collect();
            let text = format!(
                "there is no privilege `{name}`; there are {}",
                known.join(", ")
            );
            return Err(Error::new(name.span(), text));
        }
        if all.contains(&name.to_string()) {
            return Err(Error::new(name.span(), "this privilege is named twice"));
        }
        all.push(name.to_string());
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

/// `4096`, `64 KiB`, `4 MiB`, `1 GiB`.
pub(crate) fn size(input: ParseStream<'_>) -> syn::Result<u64> {
    let number: LitInt = input.parse()?;
    let value: u64 = number.base10_parse()?;
    let shift = if input.peek(Ident) {
        let unit: Ident = input.parse()?;
        match unit.to_string().as_str() {
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => {
                return Err(Error::new(
                    unit.span(),
                    "sizes are in bytes, KiB, MiB or GiB",
                ));
            }
        }
    } else {
        0
    };
    value
        .checked_mul(1 << shift)
        .ok_or_else(|| Error::new(number.span(), "this size does not fit 64 bits"))
}

/// `200 ms`, `5 s`, in milliseconds.
fn time(input: ParseStream<'_>) -> syn::Result<u32> {
    let number: LitInt = input.parse()?;
    let unit: Ident = input.parse()?;
    let millis: u64 = match unit.to_string().as_str() {
        "ms" => 1,
        "s" => 1000,
        _ => return Err(Error::new(unit.span(), "times are in ms or s: `200 ms`")),
    };
    let wrong = || {
        let text = "a deadline is from 1 ms to 3600 s";
        Error::new(number.span(), text)
    };
    let value: u64 = number.base10_parse()?;
    let value = value.checked_mul(millis).ok_or_else(wrong)?;
    let fits = |time: &u32| (1..=MOST_DEADLINE).contains(time);
    u32::try_from(value).ok().filter(fits).ok_or_else(wrong)
}

/// `{ name: [optional|many] PATH.Imp[:State], … }`
fn endpoints(input: ParseStream<'_>) -> syn::Result<Vec<Endpoint>> {
    let list;
    braced!(list in input);
    let mut all: Vec<Endpoint> = Vec::new();
    while !list.is_empty() {
        let docs = syn::Attribute::parse_outer(&list)?;
        if let Some(other) = docs.iter().find(|a| !a.path().is_ident("doc")) {
            let text =
                "an endpoint has documentation and no other attribute: it is declared or it is not";
            return Err(Error::new_spanned(other, text));
        }
        let name = list.parse::<Ident>()?.unraw();
        if all.iter().any(|e| name == e.declared.name) {
            return Err(Error::new(
                name.span(),
                format!("endpoint `{name}` is declared twice"),
            ));
        }
        if let Some(last) = all.last().filter(|e| e.declared.many) {
            let text = format!(
                "only the last endpoint can be `many`, and `{}` is",
                last.declared.name
            );
            return Err(Error::new(name.span(), text));
        }
        list.parse::<Token![:]>()?;
        let mut declared = StartupEndpoint {
            name: name.to_string(),
            contract: String::new(),
            side: Side::Imp,
            state: None,
            optional: false,
            many: false,
        };
        for (word, flag) in [
            ("optional", &mut declared.optional),
            ("many", &mut declared.many),
        ] {
            let here = list.cursor().ident().is_some_and(|(i, _)| i == word);
            if here && !list.peek2(Token![.]) {
                list.parse::<Ident>()?;
                *flag = true;
            }
        }
        let contract = list.call(Path::parse_mod_style)?;
        list.parse::<Token![.]>()?;
        let side: Ident = list.parse()?;
        declared.side = match side.to_string().as_str() {
            "Imp" => Side::Imp,
            "Exp" => Side::Exp,
            _ => {
                return Err(Error::new(
                    side.span(),
                    "an endpoint is of side `Imp` or `Exp`",
                ));
            }
        };
        let state = if list.peek(Token![:]) {
            list.parse::<Token![:]>()?;
            Some(list.parse::<Ident>()?)
        } else {
            None
        };
        declared.state = state.as_ref().map(ToString::to_string);
        declared.contract = contract
            .segments
            .last()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        all.push(Endpoint {
            docs,
            declared,
            contract,
            state,
        });
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let call: Call = syn::parse2(input)?;
    let text = serde_json::to_string(&call.manifest)
        .map_err(|e| Error::new(Span::call_site(), e.to_string()))?;
    let section = section(&text, sing_abi::names::SECTION_MANIFEST, false);
    let accessors = call.endpoints.iter().enumerate().map(accessor);
    let devices = call.manifest.devices.iter().enumerate();
    let devices = devices.map(crate::devices::accessor);
    let streams = call.endpoints.iter().filter_map(stream);
    let named = call.named.iter();
    let said = call.behavior.iter().flat_map(|behavior| {
        behavior.said(|name| {
            let endpoint = call.endpoints.iter().find(|e| e.declared.name == name)?;
            Some((&endpoint.contract, endpoint.declared.side))
        })
    });
    Ok(quote! {
        #section

        #(#said)*

        // The contracts that it serves and uses are there.
        #(const _: ::core::marker::PhantomData<#named::Exp<#named::Initial>> =
            ::core::marker::PhantomData;)*

        // The SDK's contracts; the installer keeps those that the program uses.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[unsafe(link_section = "singularity.contracts")]
            static TEXT: [u8; ::sing_sdk::contracts::TEXT.len() + 1] =
                ::sing_sdk::rt::terminated(::sing_sdk::contracts::TEXT);
        };

        /// The endpoints with which the program starts.
        #[allow(dead_code, clippy::undocumented_unsafe_blocks)]
        pub mod startup {
            #[allow(unused_imports)]
            use super::*;
            #(#accessors)*
            #(#devices)*

            /// Connects the standard streams; the program's start does.
            #[doc(hidden)]
            #[inline]
            pub fn __connect() {
                #(#streams)*
            }
        }
    })
}

/// How a standard stream is connected: an endpoint of a pipe with a well-known name.
fn stream(endpoint: &Endpoint) -> Option<TokenStream> {
    let declared = &endpoint.declared;
    let known = matches!(declared.name.as_str(), "stdin" | "stdout" | "stderr");
    if !known || declared.many || declared.contract != "PipeContract" {
        return None;
    }
    let name = names::ident(&declared.name);
    let set = quote::format_ident!("set_{}", declared.name);
    Some(quote! {
        if let ::core::option::Option::Some(pipe) = #name() {
            ::sing_sdk::io::#set(pipe);
        }
    })
}

fn accessor((index, endpoint): (usize, &Endpoint)) -> TokenStream {
    let Endpoint {
        docs,
        declared,
        contract,
        state,
    } = endpoint;
    let name = names::ident(&declared.name);
    let side = names::ident(declared.side.name());
    // The functions' module is one below the call, and sees what is in scope there.
    let path = if contract.segments.first().is_some_and(|s| s.ident == "self") {
        let rest = contract.segments.iter().skip(1);
        quote!(super::#(#rest)::*)
    } else {
        quote!(#contract)
    };
    let ty = match state {
        Some(state) => quote!(#path::#side<#path::#state>),
        None => quote!(#path::#side<#path::Initial>),
    };
    let index = index as u32;
    let summary = format!("Start-up endpoint `{}`.", declared.name);
    if declared.many {
        let summary = format!(
            "Start-up endpoints `{}`: as many as were given.",
            declared.name
        );
        quote! {
            #[doc = #summary]
            ///
            #(#docs)*
            pub fn #name() -> ::sing_sdk::rt::StartupEndpoints<#ty> {
                // SAFETY: the manifest above declares them so.
                unsafe { ::sing_sdk::rt::StartupEndpoints::from_index(#index) }
            }
        }
    } else {
        quote! {
            #[doc = #summary]
            ///
            /// `None` if none was given, or it has been taken.
            ///
            #(#docs)*
            #[must_use]
            pub fn #name() -> ::core::option::Option<#ty> {
                // SAFETY: the manifest above declares it so.
                unsafe { ::sing_sdk::rt::startup_endpoint(#index) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deadline of a manifest with this one, or what is wrong with it.
    fn deadline(text: &str) -> Result<u32, String> {
        let text = format!("name: \"x\", deadline: {text}");
        let call = syn::parse_str::<Call>(&text).map_err(|e| e.to_string())?;
        Ok(call.manifest.deadline)
    }

    #[test]
    fn a_deadline_is_a_time() {
        assert_eq!(deadline("200 ms"), Ok(200));
        assert_eq!(deadline("2 s,"), Ok(2000));
        assert_eq!(deadline("3600 s"), Ok(MOST_DEADLINE));
        let bounds = Err("a deadline is from 1 ms to 3600 s".into());
        for beyond in ["0 s", "3601 s", "3600001 ms", "18446744073709551615 s"] {
            assert_eq!(deadline(beyond), bounds, "{beyond}");
        }
        let unit = Err("times are in ms or s: `200 ms`".into());
        assert_eq!(deadline("2 MiB"), unit);
        assert!(deadline("2").is_err());
    }
}
