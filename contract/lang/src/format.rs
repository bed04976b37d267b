//! Contracts as text. [`source`] lays out a text as people write it, with all its comments: what
//! `sing fmt` does. The rest writes declarations from the syntax tree, in one form: what a module
//! carries, and what tells whether two declarations are the same.

mod layout;
mod pieces;
mod source;
mod tree;

pub use source::source;

use crate::ast::{
    Contract, Direction, Enum, Expr, ExprKind, Field, File, Item, Message, Narrowing, Sequence,
    Side, State, Step, Struct, Type, TypeKind,
};
use std::fmt::Write;

/// A whole file. Without its imports, where their declarations are among the items.
#[must_use]
pub fn file(file: &File, docs: bool) -> String {
    let mut text = String::new();
    for i in &file.items {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &item(i, docs);
    }
    text
}

/// A declaration, with or without its documentation.
#[must_use]
pub fn item(item: &Item, docs: bool) -> String {
    write_item(
        item,
        Text {
            text: String::new(),
            docs,
            bare: false,
        },
    )
}

/// A declaration reduced to what it means: equal for declarations that are the same.
pub(crate) fn meaning(item: &Item) -> String {
    write_item(
        item,
        Text {
            text: String::new(),
            docs: false,
            bare: true,
        },
    )
}

fn write_item(item: &Item, mut out: Text) -> String {
    match item {
        Item::Contract(c) => out.contract(c),
        Item::Narrowing(n) => out.narrowing(n),
        Item::Enum(e) => out.enumeration(e),
        Item::Struct(s) => out.structure(s),
    }
    out.text
}

/// A condition, with parentheses only where they are needed.
#[must_use]
pub fn expression(expr: &Expr) -> String {
    operand(expr, 0)
}

/// How strongly an operator binds.
fn strength(op: &str) -> u8 {
    match op {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "+" | "-" => 4,
        _ => 5,
    }
}

fn operand(expr: &Expr, least: u8) -> String {
    match &expr.kind {
        ExprKind::Number(n) => n.to_string(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Argument(name) => name.clone(),
        ExprKind::Member(inner, name) => format!("{}.{}", operand(inner, 9), name.text),
        ExprKind::Unary(op, inner) => format!("{op}{}", operand(inner, 8)),
        ExprKind::Binary(op, left, right) => {
            let own = strength(op);
            let text = format!("{} {op} {}", operand(left, own), operand(right, own + 1));
            if own < least {
                format!("({text})")
            } else {
                text
            }
        }
    }
}

struct Text {
    text: String,
    docs: bool,
    /// Without what does not matter to who is speaking: `public`.
    bare: bool,
}

impl Text {
    fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", indent * 2);
    }

    fn docs(&mut self, indent: usize, docs: &[String]) {
        for doc in docs
            .iter()
            .filter(|_| self.docs)
            .cloned()
            .collect::<Vec<_>>()
        {
            self.line(indent, format!("/// {doc}").trim_end());
        }
    }

    fn contract(&mut self, c: &Contract) {
        self.docs(0, &c.docs);
        let public = if c.public && !self.bare {
            "public "
        } else {
            ""
        };
        let base = c
            .base
            .as_ref()
            .map_or(String::new(), |b| format!(" : {}", b.text));
        self.line(0, &format!("{public}contract {}{base} {{", c.name.text));
        for m in &c.messages {
            self.docs(1, &m.docs);
            self.line(1, &message(m));
        }
        for s in &c.states {
            if self.docs {
                self.text.push('\n');
            }
            self.docs(1, &s.docs);
            self.state(s);
        }
        self.line(0, "}");
    }

    fn narrowing(&mut self, n: &Narrowing) {
        self.docs(0, &n.docs);
        let public = if n.public && !self.bare {
            "public "
        } else {
            ""
        };
        let (name, of, side) = (&n.name.text, &n.of.text, n.side.name());
        self.line(
            0,
            &format!("{public}contract {name} narrows {of}.{side} {{"),
        );
        for m in &n.messages {
            self.line(1, &format!("{};", m.text));
        }
        self.line(0, "}");
    }

    fn state(&mut self, s: &State) {
        let overrides = if s.overrides { "override " } else { "" };
        let head = format!("{overrides}state {}", s.name.text);
        match s.body.as_slice() {
            [] => self.line(1, &format!("{head};")),
            [one] => self.line(1, &format!("{head}: {};", sequence(one))),
            many => {
                self.line(1, &format!("{head}: one {{"));
                for alternative in many {
                    self.line(2, &format!("{};", sequence(alternative)));
                }
                self.line(1, "}");
            }
        }
    }

    fn enumeration(&mut self, e: &Enum) {
        self.docs(0, &e.docs);
        let repr = e
            .repr
            .as_ref()
            .map_or(String::new(), |r| format!(" : {}", r.text));
        self.line(0, &format!("enum {}{repr} {{", e.name.text));
        for v in &e.values {
            self.docs(1, &v.docs);
            let value = v.value.map_or(String::new(), |n| format!(" = {n}"));
            self.line(1, &format!("{}{value},", v.name.text));
        }
        self.line(0, "}");
    }

    fn structure(&mut self, s: &Struct) {
        self.docs(0, &s.docs);
        self.line(0, &format!("rep struct {} {{", s.name.text));
        for f in &s.fields {
            self.docs(1, &f.docs);
            self.line(1, &format!("{};", field(f)));
        }
        self.line(0, "}");
    }
}

fn message(m: &Message) -> String {
    let direction = match m.direction {
        Direction::In => "in ",
        Direction::Out => "out ",
        Direction::Both => "",
    };
    let arguments: Vec<String> = m.arguments.iter().map(field).collect();
    let mut text = format!(
        "{direction}message {}({})",
        m.name.text,
        arguments.join(", ")
    );
    for r in &m.requires {
        let _ = write!(text, " requires {}", expression(r));
    }
    text + ";"
}

fn field(f: &Field) -> String {
    format!("{} {}", ty(&f.ty), f.name.text)
}

fn ty(t: &Type) -> String {
    match &t.kind {
        TypeKind::Named(name) => name.text.clone(),
        TypeKind::Optional(name) => format!("{}?", name.text),
        TypeKind::Vector { of, optional } => {
            format!("{}[]{} in ExHeap", of.text, presence(*optional))
        }
        TypeKind::Pointer { of, optional } => {
            format!("{}*{} in ExHeap", of.text, presence(*optional))
        }
        TypeKind::Endpoint {
            contract,
            side,
            state,
        } => {
            let state = state
                .as_ref()
                .map_or(String::new(), |s| format!(":{}", s.text));
            format!("{}.{}{state}", contract.text, side.name())
        }
    }
}

fn presence(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
}

fn sequence(s: &Sequence) -> String {
    let steps: Vec<String> = s.steps.iter().map(step).collect();
    steps.join(" -> ")
}

fn step(s: &Step) -> String {
    match s {
        Step::Message {
            name,
            sender: Side::Imp,
        } => format!("{}?", name.text),
        Step::Message {
            name,
            sender: Side::Exp,
        } => format!("{}!", name.text),
        Step::State(name) => name.text.clone(),
        Step::Choice(all, _) if all.is_empty() => "one { }".into(),
        Step::Choice(all, _) => {
            format!(
                "({})",
                all.iter().map(sequence).collect::<Vec<_>>().join(" or ")
            )
        }
    }
}
