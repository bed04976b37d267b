//! Documentation as HTML: an index, a page for each contract with its messages, states and their
//! diagram, and one for the types that messages carry. Each page stands alone: no script, no file
//! beside it but those that it links to.

mod contract;
mod diagram;
mod html;
mod usage;

pub use usage::{Program, Usage};

use html::{docs, escape, file, page};
use sing_contract::Contracts;
use sing_contract::ast::Item;
use sing_contract::format;
use sing_contract::model::{Contract, Model, Type};
use sing_image::contract::{Hash, identities};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Everything that the pages tell of.
struct Site<'a> {
    texts: &'a [Contracts],
    usage: &'a Usage,
    /// Contracts by name, with the model that they stand in.
    contracts: BTreeMap<&'a str, (&'a Model, &'a Contract)>,
}

/// The pages for all contracts of these texts and of what they import.
///
/// # Errors
/// Two texts that mean different contracts by one name.
pub fn pages(texts: &[Contracts], usage: &Usage) -> Result<Vec<Page>, String> {
    let mut contracts: BTreeMap<&str, (&Model, &Contract)> = BTreeMap::new();
    let mut known: BTreeMap<&str, Hash> = BTreeMap::new();
    for text in texts {
        let identities = identities(&text.tables()).map_err(|e| e.to_string())?;
        for (contract, identity) in text.model.contracts.iter().zip(identities) {
            contracts.insert(&contract.name, (&text.model, contract));
            let before = known.insert(&contract.name, identity);
            if before.is_some_and(|before| before != identity) {
                return Err(format!(
                    "two of the texts mean different contracts by {}; document them apart",
                    contract.name
                ));
            }
        }
    }
    let site = Site {
        texts,
        usage,
        contracts,
    };
    let mut pages = vec![site.index(), site.types()];
    for (model, contract) in site.contracts.values() {
        pages.push(Page {
            name: file(&contract.name),
            text: contract::text(&site, model, contract),
        });
    }
    Ok(pages)
}

impl Site<'_> {
    fn index(&self) -> Page {
        let mut body = String::from("<h1>Contracts</h1>\n<p>Who can say what to whom.");
        if self
            .texts
            .iter()
            .any(|t| !t.model.structs.is_empty() || !t.model.enums.is_empty())
        {
            body += " What messages carry beside numbers stands under <a href=\"types.html\">types</a>.";
        }
        body += "</p>\n<table>\n<tr><th>Contract</th><th>Of</th><th>Messages</th><th>States</th><th></th></tr>\n";
        for (_, contract) in self.contracts.values() {
            let first = contract
                .docs
                .iter()
                .take_while(|l| !l.trim().is_empty())
                .cloned();
            let named = contract.states.iter().filter(|s| s.is_named()).count();
            let _ = writeln!(
                body,
                "<tr><td class=\"mono\"><a href=\"{}\">{}</a></td><td class=\"mono\">{}</td><td>{}</td><td>{named}</td>\
                 <td>{}</td></tr>",
                file(&contract.name),
                escape(&contract.name),
                self.of(contract),
                contract.messages.len(),
                docs(&first.collect::<Vec<_>>()),
            );
        }
        body += "</table>\n";
        Page {
            name: "index.html".into(),
            text: page("Contracts", &body),
        }
    }

    /// The contracts that a contract derives from or narrows, nearest first.
    fn of(&self, contract: &Contract) -> String {
        match (&contract.narrows, contract.bases.first()) {
            (Some(n), _) => {
                let of =
                    n.of.first()
                        .map_or(String::new(), |name| self.contract(name));
                format!("{of}.{}, narrowed", n.side.name())
            }
            (None, Some(base)) => self.contract(&base.name),
            (None, None) => String::new(),
        }
    }

    /// A contract's name as a link.
    fn contract(&self, name: &str) -> String {
        let text = escape(name);
        if self.contracts.contains_key(name) {
            format!("<a href=\"{}\">{text}</a>", file(name))
        } else {
            text
        }
    }

    /// A type, with links to what it is made of.
    fn ty(&self, ty: &Type) -> String {
        let text = escape(&ty.to_string());
        match ty {
            Type::Endpoint {
                contract,
                side,
                state,
            } => {
                let at = format!("{}#{}", file(contract), html::anchor(state));
                let state = escape(state);
                format!(
                    "{}.{}:<a href=\"{at}\">{state}</a>",
                    self.contract(contract),
                    side.name()
                )
            }
            other => match other.named() {
                Some(name) => text.replacen(
                    &escape(name),
                    &format!("<a href=\"types.html#{name}\">{name}</a>"),
                    1,
                ),
                None => text,
            },
        }
    }

    fn types(&self) -> Page {
        let mut items: BTreeMap<&str, &Item> = BTreeMap::new();
        for item in self.texts.iter().flat_map(|t| &t.file.items) {
            if matches!(item, Item::Enum(_) | Item::Struct(_)) {
                items.insert(&item.name().text, item);
            }
        }
        let mut body =
            String::from("<p><a href=\"index.html\">Contracts</a></p>\n<h1>Types</h1>\n");
        if items.is_empty() {
            body +=
                "<p>No message carries anything but scalars, blocks of them, and endpoints.</p>\n";
        }
        for (name, item) in items {
            let (kind, lines) = match item {
                Item::Enum(e) => ("enum", &e.docs),
                Item::Struct(s) => ("rep struct", &s.docs),
                Item::Contract(_) | Item::Narrowing(_) => continue,
            };
            let _ = writeln!(
                body,
                "<h2 id=\"{name}\">{kind} <span class=\"mono\">{name}</span></h2>\n{}<pre>{}</pre>",
                docs(lines),
                escape(format::item(item, true).trim_end()),
            );
            let carried = self.carriers(name);
            if !carried.is_empty() {
                let _ = writeln!(body, "<p>Carried by {}.</p>", carried.join(", "));
            }
        }
        Page {
            name: "types.html".into(),
            text: page("Types of contracts", &body),
        }
    }

    /// Messages that carry a type themselves.
    fn carriers(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (_, contract) in self.contracts.values() {
            for message in &contract.messages {
                let carries = |ty: &Type| ty.named() == Some(name);
                if message.arguments.iter().any(|a| carries(&a.ty)) {
                    found.push(self.message(contract, &message.name));
                }
            }
        }
        found
    }

    /// A message's name as a link.
    fn message(&self, contract: &Contract, message: &str) -> String {
        let (name, text) = (escape(&contract.name), escape(message));
        format!(
            "<a class=\"mono\" href=\"{}#message-{text}\">{name}.{text}</a>",
            file(&contract.name)
        )
    }
}
