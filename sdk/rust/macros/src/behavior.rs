//! The `behavior` of a manifest, read when the program is built: by the parser that the conformance
//! check has, too.
//!
//! Faults are reported with their places in the program's source where the literal is written as it
//! is read: a string in quotes without escapes. In another one, lines count from its beginning.
//! Messages are known to the compiler alone, by their contracts: it is given an assertion for each.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use sing_contract::Diagnostic;
use sing_contract::behavior::{self, ast, said};
use sing_image::manifest::{Manifest, Side};
use std::iter::repeat_n;
use syn::{Error, LitStr, Path};

/// The most faults that one error shows.
const MOST_SHOWN: usize = 10;

/// A behaviour with the literal in which it stands.
pub(crate) struct Behavior {
    literal: LitStr,
    source: Source,
    read: ast::Behavior,
}

impl Behavior {
    /// Reads the behaviour of a program with this manifest.
    pub(crate) fn read(literal: &LitStr, manifest: &Manifest) -> syn::Result<Behavior> {
        let source = Source::of(literal, &manifest.name);
        let endpoints: Vec<&str> = manifest.endpoints.iter().map(|e| e.name.as_str()).collect();
        match behavior::read(&source.name, &source.text, &endpoints) {
            Ok(read) => Ok(Behavior {
                literal: literal.clone(),
                source,
                read,
            }),
            Err(faults) => Err(refused(literal, &faults)),
        }
    }

    /// The text, for the manifest.
    pub(crate) fn text(&self) -> String {
        self.literal.value()
    }

    /// An assertion for each message that it names, of an endpoint whose contract and side are known.
    pub(crate) fn said<'a>(
        &self,
        contract: impl Fn(&str) -> Option<(&'a Path, Side)>,
    ) -> Vec<TokenStream> {
        let mut seen: Vec<(&str, &str, bool)> = Vec::new();
        let mut all = Vec::new();
        for said in said(&self.read) {
            let (endpoint, message) = (&said.endpoint.text, &said.message.text);
            let Some((path, side)) = contract(endpoint) else {
                continue;
            };
            let known = (endpoint.as_str(), message.as_str(), said.sends);
            if seen.contains(&known) {
                continue;
            }
            seen.push(known);
            let verb = if said.sends { "sends" } else { "receives" };
            let name = path.segments.last().map(|s| s.ident.to_string());
            let name = name.unwrap_or_default();
            let side_name = match side {
                Side::Imp => "Imp",
                Side::Exp => "Exp",
            };
            let fault = Diagnostic::error(
                format!("{name}.{side_name} never {verb} {message}"),
                said.message.span,
                format!("no state of {name} lets `{endpoint}` do so"),
            )
            .help("`!` marks what the process itself sends, and `?` what it receives");
            let text = format!(
                "this behavior does not hold\n\n{}",
                self.source.shown(fault)
            );
            let importer = (side == Side::Imp) == said.sends;
            all.push(quote_spanned! {self.literal.span()=>
                const _: () = ::sing_sdk::rt::says(#path::__SAID, #importer, #message, #text);
            });
        }
        all
    }
}

fn refused(literal: &LitStr, faults: &[Diagnostic]) -> Error {
    let shown: Vec<String> = faults
        .iter()
        .take(MOST_SHOWN)
        .map(ToString::to_string)
        .collect();
    let mut text = format!("this behavior does not hold\n\n{}", shown.join("\n\n"));
    if faults.len() > MOST_SHOWN {
        text += "\n\nfurther faults are not shown";
    }
    Error::new(literal.span(), text)
}

/// The text as people find it.
struct Source {
    name: String,
    text: String,
}

impl Source {
    fn of(literal: &LitStr, program: &str) -> Source {
        let value = literal.value();
        let as_it_is = literal.token().to_string() == format!("\"{value}\"");
        match place(literal.span()).filter(|_| as_it_is) {
            // What stands before it in the file is blank here, so that lines and columns are the
            // file's.
            Some((name, line, column)) => Source {
                name,
                text: repeat_n('\n', line.saturating_sub(1))
                    .chain(repeat_n(' ', column))
                    .chain(value.chars())
                    .collect(),
            },
            None => Source {
                name: format!("behavior of {program}"),
                text: value,
            },
        }
    }

    fn shown(&self, mut fault: Diagnostic) -> String {
        fault.set_sources(&std::sync::Arc::new(vec![sing_contract::Source {
            name: self.name.clone(),
            text: self.text.clone(),
        }]));
        fault.to_string()
    }
}

/// File, line and the column behind the opening quote (which counts from one).
fn place(span: Span) -> Option<(String, usize, usize)> {
    if !proc_macro::is_available() {
        return None;
    }
    let start = span.unwrap().start();
    Some((start.file(), start.line(), start.column()))
}
