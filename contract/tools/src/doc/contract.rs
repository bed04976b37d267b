//! A contract's page.

use super::Site;
use super::diagram::Diagram;
use super::html::{anchor, docs, escape, page};
use sing_contract::ast::Item;
use sing_contract::format;
use sing_contract::model::{Contract, Direction, Message, Model, Side, State, Type};
use std::fmt::Write as _;

pub(super) fn text(site: &Site<'_>, model: &Model, contract: &Contract) -> String {
    let page_of = PageOf {
        site,
        model,
        contract,
    };
    let name = escape(&contract.name);
    let mut body = format!(
        "<p><a href=\"index.html\">Contracts</a></p>\n<h1>{} <span class=\"mono\">{name}</span></h1>\n{}",
        if contract.narrows.is_some() {
            "permission"
        } else {
            "contract"
        },
        docs(&contract.docs)
    );
    body += &page_of.relations();
    body += &page_of.usage();
    body += "<h2 id=\"states\">States</h2>\n";
    body += "<p class=\"soft\"><span class=\"imp\">M?</span>: the importing side (client) says M; <span \
             class=\"exp\">M!</span>: the exporting side (service) says it. A dashed state ends the conversation.</p>\n";
    let _ = writeln!(
        body,
        "<div class=\"wide\">\n{}</div>",
        Diagram::new(contract).svg()
    );
    body += &page_of.states();
    body += "<h2 id=\"messages\">Messages</h2>\n";
    for message in &contract.messages {
        body += &page_of.message(message);
    }
    body += &page_of.source();
    page(&contract.name, &body)
}

struct PageOf<'a> {
    site: &'a Site<'a>,
    model: &'a Model,
    contract: &'a Contract,
}

impl PageOf<'_> {
    /// Bases, permissions, queues, where endpoints travel: a list.
    fn relations(&self) -> String {
        let Contract {
            bases,
            narrows,
            queue,
            name,
            ..
        } = self.contract;
        let mut facts = Vec::new();
        for base in bases {
            let stands: Vec<String> = [Side::Imp, Side::Exp]
                .into_iter()
                .map(|side| {
                    let states: Vec<&str> = base.stands[side.index()]
                        .iter()
                        .map(|&s| self.contract.states[s].name.as_str())
                        .collect();
                    let place = if states.is_empty() {
                        "in no state".into()
                    } else {
                        format!("in {}", escape(&states.join(", ")))
                    };
                    format!("{} {place}", side.name())
                })
                .collect();
            facts.push(format!(
                "Derives from {}. Its endpoints stand for the base's: {}.",
                self.site.contract(&base.name),
                stands.join("; ")
            ));
        }
        if let Some(n) = narrows {
            let of: Vec<String> = n.of.iter().map(|name| self.site.contract(name)).collect();
            let sends: Vec<&str> = self
                .contract
                .messages
                .iter()
                .enumerate()
                .filter(|(i, _)| self.says(n.side, *i))
                .map(|(_, m)| m.name.as_str())
                .collect();
            let may = if sends.is_empty() {
                "say nothing; it can only listen and close".into()
            } else {
                format!("still say {}", escape(&sends.join(", ")))
            };
            facts.push(format!(
                "Narrows side {} of {}: its holder may {may}.",
                n.side.name(),
                of.join(", which narrows ")
            ));
        }
        let related = |is: &dyn Fn(&Contract) -> bool| -> Vec<String> {
            let all = self.site.contracts.values().filter(|(_, c)| is(c));
            all.map(|(_, c)| self.site.contract(&c.name)).collect()
        };
        let derived = related(&|c| c.bases.iter().any(|b| b.name == *name));
        if !derived.is_empty() {
            facts.push(format!("Derived from it: {}.", derived.join(", ")));
        }
        let narrowed = related(&|c| c.narrows.as_ref().is_some_and(|n| n.of.contains(name)));
        if !narrowed.is_empty() {
            facts.push(format!("Narrowed to: {}.", narrowed.join(", ")));
        }
        let carriers = self.carriers();
        if !carriers.is_empty() {
            facts.push(format!("Its endpoints travel in {}.", carriers.join(", ")));
        }
        facts.push(format!(
            "Queues: at most {} under way to the importing side, {} to the exporting side.",
            queue[0], queue[1]
        ));
        let items: String = facts.iter().map(|f| format!("<li>{f}</li>\n")).collect();
        format!("<ul>\n{items}</ul>\n")
    }

    /// Whether a side says a message in any state.
    fn says(&self, side: Side, message: usize) -> bool {
        let mut all = self.contract.states.iter().flat_map(|s| s.sends(side));
        all.any(|t| t.message == message)
    }

    /// Messages that carry endpoints of this contract.
    fn carriers(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (model, contract) in self.site.contracts.values() {
            for message in &contract.messages {
                let carries = message
                    .arguments
                    .iter()
                    .any(|a| self.travels_in(&a.ty, model));
                if carries {
                    found.push(self.site.message(contract, &message.name));
                }
            }
        }
        found
    }

    fn travels_in(&self, ty: &Type, model: &Model) -> bool {
        match ty {
            Type::Endpoint { contract, .. } => *contract == self.contract.name,
            Type::Struct(name) => {
                let fields = model.structure(name).into_iter().flat_map(|s| &s.fields);
                fields.into_iter().any(|f| self.travels_in(&f.ty, model))
            }
            _ => false,
        }
    }

    /// The programs that serve it and that use it.
    fn usage(&self) -> String {
        let usage = self.site.usage;
        if usage.is_empty() {
            return String::new();
        }
        let mut out = String::from("<h2 id=\"users\">Who speaks it</h2>\n");
        let mut rows = String::new();
        for (side, what) in [(Side::Exp, "serves (Exp)"), (Side::Imp, "uses (Imp)")] {
            for user in usage.users(&self.contract.name, side) {
                let join = |names: Vec<&str>| escape(&names.join(", "));
                let _ = writeln!(
                    rows,
                    "<tr><td class=\"mono\">{}</td><td class=\"{}\">{what}</td><td class=\"mono\">{}</td><td \
                     class=\"mono\">{}</td></tr>",
                    escape(user.program),
                    side.name().to_lowercase(),
                    join(user.sends.into_iter().collect()),
                    join(user.endpoints),
                );
            }
        }
        if rows.is_empty() {
            out += "<p>None of the programs at hand speaks it itself.</p>\n";
        } else {
            let _ = write!(
                out,
                "<table>\n<tr><th>Program</th><th>Side</th><th>Can say</th><th>Starts with it as</th></tr>\n{rows}</table>\n"
            );
        }
        let channels = usage.channels(&self.contract.name);
        if !channels.is_empty() {
            let items: String = channels
                .iter()
                .map(|(imp, exp)| {
                    format!(
                        "<li class=\"mono\">{} &rarr; {}</li>\n",
                        escape(imp),
                        escape(exp)
                    )
                })
                .collect();
            let _ = write!(
                out,
                "<p>Channels that the system makes when it starts, client to service:</p>\n<ul>\n{items}</ul>\n"
            );
        }
        out
    }

    /// The messages that are possible in each state.
    fn states(&self) -> String {
        let reachable = self.contract.reachable();
        let mut out = String::from("<table>\n<tr><th>State</th><th>Next</th><th></th></tr>\n");
        for (index, state) in self.contract.states.iter().enumerate() {
            let mut next = String::new();
            for t in &state.transitions {
                let (sign, class) = if t.sender == Side::Imp {
                    ('?', "imp")
                } else {
                    ('!', "exp")
                };
                let message = escape(&self.contract.messages[t.message].name);
                let target = &self.contract.states[t.target].name;
                let _ = writeln!(
                    next,
                    "<div><a class=\"{class}\" href=\"#message-{message}\">{message}{sign}</a> &rarr; <a \
                     href=\"#{}\">{}</a></div>",
                    anchor(target),
                    escape(target)
                );
            }
            let mut notes = docs(&state.docs);
            notes += &self.notes(state, reachable[index]);
            let _ = writeln!(
                out,
                "<tr id=\"{}\"><td class=\"mono{}\">{}</td><td class=\"mono\">{next}</td><td>{notes}</td></tr>",
                anchor(&state.name),
                if state.is_named() { "" } else { " soft" },
                escape(&state.name)
            );
        }
        out + "</table>\n"
    }

    fn notes(&self, state: &State, reachable: bool) -> String {
        let mut notes = Vec::new();
        if !reachable {
            notes.push("no conversation comes here");
        }
        if state.transitions.is_empty() {
            notes.push("only the close is left");
        }
        if state.is_mixed() {
            notes.push("either side may speak");
        }
        if notes.is_empty() {
            String::new()
        } else {
            format!("<p class=\"soft\">{}</p>", notes.join("; "))
        }
    }

    fn message(&self, message: &Message) -> String {
        let (direction, class, way) = match message.direction {
            Direction::In => (
                "in ",
                "imp",
                "from the importing side to the exporting side",
            ),
            Direction::Out => (
                "out ",
                "exp",
                "from the exporting side to the importing side",
            ),
            Direction::Both => ("", "soft", "either way"),
        };
        let arguments: Vec<String> = message
            .arguments
            .iter()
            .map(|a| format!("{} {}", self.site.ty(&a.ty), escape(&a.name)))
            .collect();
        let name = escape(&message.name);
        let mut out = format!(
            "<h3 id=\"message-{name}\"><span class=\"{class}\">{direction}</span>{name}({})</h3>\n<p class=\"soft\">{way}",
            arguments.join(", ")
        );
        let from = self.contract.bases.iter().rev().find(|b| {
            let base = self.model.contract(&b.name);
            base.is_some_and(|c| c.messages.iter().any(|m| m.name == message.name))
        });
        if let Some(base) = from {
            let _ = write!(out, ", from {}", self.site.contract(&base.name));
        }
        out += "</p>\n";
        out += &docs(&message.docs);
        for condition in &message.requires {
            let _ = writeln!(
                out,
                "<p>Requires <code>{}</code>.</p>",
                escape(&condition.text)
            );
        }
        for argument in message.arguments.iter().filter(|a| !a.docs.is_empty()) {
            let _ = writeln!(
                out,
                "<p><code>{}</code>:</p>\n{}",
                escape(&argument.name),
                docs(&argument.docs)
            );
        }
        out
    }

    /// The text, as it is laid out.
    fn source(&self) -> String {
        let items = self.site.texts.iter().flat_map(|t| &t.file.items);
        let own = items.into_iter().find(|i| {
            let contract = matches!(i, Item::Contract(_) | Item::Narrowing(_));
            contract && i.name().text == self.contract.name
        });
        own.map_or(String::new(), |item| {
            format!(
                "<h2 id=\"text\">As written</h2>\n<pre>{}</pre>\n",
                escape(format::item(item, true).trim_end())
            )
        })
    }
}
