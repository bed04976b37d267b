//! `contract!`.

mod conversions;
pub(crate) mod embedding;
mod endpoints;
mod imports;
mod messages;
mod mock;
mod received;
mod requires;
mod service;
mod types;

use crate::names;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use sing_contract::model::{Contract, Model, Side};
use sing_contract::{Contracts, Diagnostic};
use std::collections::HashMap;
use std::path::PathBuf;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Token, UseTree};

/// The arguments of the macro.
struct Call {
    sources: Vec<LitStr>,
    uses: Vec<UseTree>,
    constant: Option<Ident>,
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut call = Call {
            sources: Vec::new(),
            uses: Vec::new(),
            constant: None,
        };
        while !input.is_empty() {
            if input.peek(Token![use]) {
                input.parse::<Token![use]>()?;
                call.uses.push(input.parse()?);
            } else if input.peek(Token![const]) {
                input.parse::<Token![const]>()?;
                call.constant = Some(input.parse()?);
            } else {
                call.sources.push(input.parse()?);
            }
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        if call.sources.is_empty() {
            return Err(input.error("expected the path of a .contract file, or a contract as text"));
        }
        Ok(call)
    }
}

/// Names that a `use` brings in.
fn names_of(tree: &UseTree, into: &mut Vec<String>) -> syn::Result<()> {
    match tree {
        UseTree::Path(path) => names_of(&path.tree, into),
        UseTree::Name(name) => {
            into.push(name.ident.to_string());
            Ok(())
        }
        UseTree::Group(group) => group.items.iter().try_for_each(|t| names_of(t, into)),
        UseTree::Rename(rename) => Err(Error::new_spanned(rename, "contracts keep their names")),
        UseTree::Glob(glob) => Err(Error::new_spanned(
            glob,
            "name the contracts that exist already, one by one",
        )),
    }
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let call: Call = syn::parse2(input)?;
    let mut given = Vec::new();
    for tree in &call.uses {
        names_of(tree, &mut given)?;
    }
    let contracts = load(&call.sources)?;
    let model = &contracts.model;
    for name in &given {
        let known = model.contract(name).is_some()
            || model.enumeration(name).is_some()
            || model.structure(name).is_some();
        if !known {
            let text = format!("none of these files declares or imports {name}");
            return Err(Error::new(Span::call_site(), text));
        }
    }
    let is_new = |name: &String| !given.contains(name);
    let types = (model.enums.iter().map(|e| &e.name)).chain(model.structs.iter().map(|s| &s.name));
    let modules = model.contracts.iter().map(|c| &c.name);
    for name in types.chain(modules).filter(|name| is_new(name)) {
        if let Some(why) = names::taken(name) {
            let text = format!("{name} cannot be called so in Rust: {why}; choose another name");
            return Err(Error::new(Span::call_site(), text));
        }
    }
    let enums = model
        .enums
        .iter()
        .filter(|e| is_new(&e.name))
        .map(types::enumeration);
    let structs = model
        .structs
        .iter()
        .filter(|s| is_new(&s.name))
        .map(|s| types::structure(model, s));
    let modules = model
        .contracts
        .iter()
        .filter(|c| is_new(&c.name))
        .map(|c| Generator::new(model, c)?.module())
        .collect::<syn::Result<Vec<_>>>()?;
    let conversions = conversions::all(model, |c| is_new(&c.name));
    let uses = call.uses.iter();
    let files = contracts.files.iter().filter_map(|f| f.to_str());
    let text = contracts.text();
    let section = match &call.constant {
        Some(name) => quote! {
            /// The text of these contracts.
            pub const #name: &str = #text;
        },
        None => section(&text, "singularity.contracts", true),
    };
    Ok(quote! {
        #(#[allow(unused_imports)] use #uses;)*
        #(#enums)*
        #(#structs)*
        #(#modules)*
        #conversions
        #section
        // Changes to the files make the program stale.
        #(const _: &[u8] = ::core::include_bytes!(#files);)*
    })
}

/// Puts a text into a custom section of the module. The static has no `#[used]`: rustc emits every
/// static with a section, and `#[used]` would put the text into the program's data as well.
pub(crate) fn section(text: &str, name: &str, separated: bool) -> TokenStream {
    let mut bytes = text.as_bytes().to_vec();
    if separated {
        // Linkers join pieces without anything in between.
        bytes.push(0);
    }
    let literal = proc_macro2::Literal::byte_string(&bytes);
    let len = bytes.len();
    quote! {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[unsafe(link_section = #name)]
            static TEXT: [u8; #len] = *#literal;
        };
    }
}

/// Loads all sources as one.
fn load(sources: &[LitStr]) -> syn::Result<Contracts> {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut all = String::new();
    let mut files = Vec::new();
    for source in sources {
        let value = source.value();
        if value.contains('{') {
            all.push_str(&value);
            all.push('\n');
            continue;
        }
        let loaded =
            sing_contract::load_file(&folder.join(&value)).map_err(|e| report(source, &e))?;
        if let [only] = sources {
            debug_assert_eq!(only.value(), value);
            return Ok(loaded);
        }
        all.push_str(&sing_contract::format::file(&loaded.file, true));
        files.extend(loaded.files);
    }
    let first = &sources[0];
    let mut contracts = sing_contract::load(&all).map_err(|e| report(first, &e))?;
    contracts.files = files;
    Ok(contracts)
}

fn report(source: &LitStr, diagnostics: &[Diagnostic]) -> Error {
    let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    Error::new(
        source.span(),
        format!("this contract does not hold\n\n{}", all.join("\n\n")),
    )
}

/// Everything that the module of a contract is generated from.
struct Generator<'a> {
    model: &'a Model,
    contract: &'a Contract,
}

impl<'a> Generator<'a> {
    /// Fails if two names of the contract would be the same in Rust, or one that of something else.
    fn new(model: &'a Model, contract: &'a Contract) -> syn::Result<Self> {
        let fail = |a: &str, b: &str, as_: &str| {
            let text = format!(
                "contract {}: {a} and {b} would both be {as_} in Rust; rename one of them",
                contract.name
            );
            Err(Error::new(Span::call_site(), text))
        };
        let mut methods = HashMap::new();
        for m in &contract.messages {
            let name = names::snake(&m.name);
            // Checked arguments are sent by a method of their own.
            let checked = requires::constants(m, model).map(|_| format!("{name}_checked"));
            for name in [Some(name), checked].into_iter().flatten() {
                if let Some(other) = methods.insert(name.clone(), &m.name) {
                    return fail(other, &m.name, &name);
                }
            }
        }
        let mut states = HashMap::new();
        for s in &contract.states {
            let name = names::state(contract, &s.name).to_string();
            if let Some(why) = names::taken_of_states(&name) {
                let text = format!(
                    "contract {}: state {} cannot be called so in Rust: {why}; choose another name",
                    contract.name, s.name
                );
                return Err(Error::new(Span::call_site(), text));
            }
            if let Some(other) = states.insert(name.clone(), &s.name) {
                return fail(other, &s.name, &name);
            }
        }
        Ok(Generator { model, contract })
    }

    fn module(&self) -> syn::Result<TokenStream> {
        let c = self.contract;
        let name = names::ident(&c.name);
        let docs = &c.docs;
        let summary = format!("Contract {}.", c.name);
        let contract = &c.name;
        let states = self.states();
        let endpoints = self.endpoints();
        let operations = self.operations();
        let (imp, exp) = self.received();
        let received = self.sides().map(|side| match side {
            Side::Imp => quote! {
                /// The messages that the importing side can receive, by state.
                pub mod imp { #imp }
            },
            Side::Exp => quote! {
                /// The messages that the exporting side can receive, by state.
                pub mod exp { #exp }
            },
        });
        let imports = self.imports();
        let said = self.said();
        let service = self.service();
        let mock = self.mock();
        Ok(quote! {
            #[doc = #summary]
            ///
            #(#[doc = #docs])*
            #[allow(
                non_snake_case, non_camel_case_types, dead_code, unused_imports, unused_variables,
                unused_mut, missing_docs, clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks
            )]
            pub mod #name {
                /// The contract's name.
                pub const NAME: &str = #contract;
                #said
                #states
                #endpoints
                #operations
                #service
                #mock
                #(#received)*
                #imports
            }
        })
    }

    /// The messages that each side sends in some state, for what a manifest says of them.
    fn said(&self) -> TokenStream {
        let all = self.contract.messages.iter().enumerate().map(|(i, m)| {
            let by = |side| {
                let mut states = self.contract.states.iter();
                states.any(|s| s.sends(side).any(|t| t.message == i))
            };
            let (name, importer, exporter) = (&m.name, by(Side::Imp), by(Side::Exp));
            quote!((#name, #importer, #exporter))
        });
        quote! {
            #[doc(hidden)]
            pub const __SAID: &[(&str, bool, bool)] = &[#(#all),*];
        }
    }
}
