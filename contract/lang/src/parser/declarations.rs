//! Files, contracts, messages, enums, rep structs, types.

use super::{Failed, Parsed, Parser};
use crate::ast::{
    Contract, Direction, Enum, EnumValue, Field, File, Item, Message, Name, Narrowing, Side,
    Struct, Type, TypeKind,
};
use crate::diagnostic::{Diagnostic, MOST_KEPT};
use crate::lexer::Token;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn file(mut self) -> File {
        let mut file = File::default();
        while !matches!(self.peek(), Token::End) {
            let before = self.at;
            (self.braces, self.depth) = (0, 0);
            if self.errors.len() >= MOST_KEPT {
                break;
            }
            if self.item(&mut file).is_err() {
                if self.at == before {
                    self.next();
                }
                self.skip_item();
            }
        }
        file
    }

    fn item(&mut self, file: &mut File) -> Parsed<()> {
        let docs = self.docs();
        // Where the documentation begins.
        let start = self.tokens[self.at].1;
        if self.word("import") {
            let Token::Text(text) = self.peek().clone() else {
                let diagnostic = self.unexpected("a file name in double quotes");
                return self.fail(diagnostic);
            };
            let span = self.next();
            file.imports.push(Name { text, span });
            self.expect(";")?;
            return Ok(());
        }
        let public = self.word("public");
        let item = if self.word("contract") {
            self.contract(start, docs, public)?
        } else if self.word("enum") {
            Item::Enum(self.enumeration(docs)?)
        } else if self.word("rep") {
            if !self.word("struct") {
                let diagnostic = self.unexpected("`struct`");
                return self.fail(diagnostic);
            }
            Item::Struct(self.structure(docs)?)
        } else {
            let diagnostic = self
                .unexpected("`contract`, `enum`, `rep struct` or `import`")
                .help("a contract is declared as `contract NAME { … }`");
            return self.fail(diagnostic);
        };
        file.items.push(item);
        Ok(())
    }

    fn contract(&mut self, start: Span, docs: Vec<String>, public: bool) -> Parsed<Item> {
        let name = self.name("the contract's name")?;
        // No keyword: elsewhere it may be a name.
        if self.word("narrows") {
            return self.narrowing(docs, public, name);
        }
        let base = if self.sign(":") {
            Some(self.name("the contract it derives from")?)
        } else {
            None
        };
        let open = self.expect("{")?;
        let level = self.braces;
        let mut contract = Contract {
            docs,
            public,
            name,
            base,
            messages: Vec::new(),
            states: Vec::new(),
            span: start,
        };
        while !self.is_sign("}") {
            if matches!(self.peek(), Token::End) {
                let diagnostic = self.unexpected("`}`").label(open, "to close this");
                return self.fail(diagnostic);
            }
            if self.errors.len() >= MOST_KEPT {
                return Err(Failed);
            }
            if self.member(&mut contract).is_err() {
                self.depth = 0;
                self.skip_member(level);
            }
        }
        contract.span = start.to(self.next());
        self.sign(";");
        Ok(Item::Contract(contract))
    }

    /// The declaration behind `contract N narrows`.
    fn narrowing(&mut self, docs: Vec<String>, public: bool, name: Name) -> Parsed<Item> {
        let of = self.name("the contract that it narrows")?;
        if !self.is_sign(".") {
            let diagnostic = self.unexpected("`.Imp` or `.Exp`").help(format!(
                "say whose endpoints are narrowed: `contract {} narrows {}.Imp {{ … }}`",
                name.text, of.text
            ));
            return self.fail(diagnostic);
        }
        self.next();
        let side_span = self.span();
        let side = self.side()?;
        self.expect("{")?;
        let mut messages = Vec::new();
        while !self.is_sign("}") {
            messages.push(self.name("a message that may still be sent")?);
            if !self.is_sign("}") && !self.is_sign(";") {
                let diagnostic = self.unexpected("`;`").help(
                    "a narrowing only names the messages that may still be sent: `{ Listen; Close; }`",
                );
                return self.fail(diagnostic);
            }
            self.sign(";");
        }
        self.next();
        self.sign(";");
        Ok(Item::Narrowing(Narrowing {
            docs,
            public,
            name,
            of,
            side,
            side_span,
            messages,
        }))
    }

    /// `Imp` or `Exp`.
    fn side(&mut self) -> Parsed<Side> {
        let side = match self.peek() {
            Token::Word(w) if w == "Imp" => Side::Imp,
            Token::Word(w) if w == "Exp" => Side::Exp,
            _ => {
                let diagnostic = self.unexpected("`Imp` or `Exp`").help(
                    "the endpoint types of a contract C are `C.Imp:S` and `C.Exp:S`, where S is a state",
                );
                return self.fail(diagnostic);
            }
        };
        self.next();
        Ok(side)
    }

    fn member(&mut self, contract: &mut Contract) -> Parsed<()> {
        let docs = self.docs();
        if self.is_word("state") || self.is_word("override") {
            let at = contract.states.len();
            let state = self.state(docs, &mut contract.states)?;
            contract.states.insert(at, state);
            return Ok(());
        }
        let direction = if self.word("in") {
            Direction::In
        } else if self.word("out") {
            Direction::Out
        } else {
            Direction::Both
        };
        if !self.word("message") {
            let diagnostic = self.unexpected("a message or a state").help(
                "messages are declared as `in message M(int a);`, states as `state S: M? -> S;`",
            );
            return self.fail(diagnostic);
        }
        let name = self.name("the message's name")?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.is_sign(")") {
            loop {
                let docs = self.docs();
                let ty = self.ty()?;
                let name = self.field_name("the argument's name")?;
                arguments.push(Field { docs, ty, name });
                if !self.sign(",") {
                    break;
                }
            }
        }
        self.expect(")")?;
        let mut requires = Vec::new();
        while self.word("requires") {
            loop {
                requires.push(self.condition()?);
                if !self.sign(",") {
                    break;
                }
            }
        }
        self.expect(";")?;
        contract.messages.push(Message {
            docs,
            direction,
            name,
            arguments,
            requires,
        });
        Ok(())
    }

    fn enumeration(&mut self, docs: Vec<String>) -> Parsed<Enum> {
        let name = self.name("the enum's name")?;
        let repr = if self.sign(":") {
            Some(self.name("an integer type")?)
        } else {
            None
        };
        self.expect("{")?;
        let mut values = Vec::new();
        while !self.is_sign("}") {
            let docs = self.docs();
            let name = self.name("a value's name")?;
            let value = if self.sign("=") {
                Some(self.number()?)
            } else {
                None
            };
            values.push(EnumValue { docs, name, value });
            if !self.sign(",") {
                break;
            }
        }
        self.expect("}")?;
        self.sign(";");
        Ok(Enum {
            docs,
            name,
            repr,
            values,
        })
    }

    fn number(&mut self) -> Parsed<i128> {
        let negative = self.sign("-");
        let Token::Number(n) = *self.peek() else {
            let diagnostic = self.unexpected("a number");
            return self.fail(diagnostic);
        };
        self.next();
        Ok(if negative { -n } else { n })
    }

    fn structure(&mut self, docs: Vec<String>) -> Parsed<Struct> {
        let name = self.name("the struct's name")?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.is_sign("}") {
            let docs = self.docs();
            let ty = self.ty()?;
            let name = self.field_name("the field's name")?;
            self.expect(";")?;
            fields.push(Field { docs, ty, name });
        }
        self.expect("}")?;
        self.sign(";");
        Ok(Struct { docs, name, fields })
    }

    /// A type. `in` is followed by `ExHeap`, or by the declared name at once, as the papers also
    /// write it.
    fn ty(&mut self) -> Parsed<Type> {
        let name = self.name("a type")?;
        let start = name.span;
        let kind = if self.sign(".") {
            let side = self.side()?;
            let state = if !self.sign(":") {
                None
            } else if self.is_word("closed") {
                Some(Name {
                    text: "closed".into(),
                    span: self.next(),
                })
            } else {
                Some(self.name("a state")?)
            };
            if self.is_sign("?") {
                let span = start.to(self.next());
                return self.fail(
                    Diagnostic::error(
                        "an endpoint cannot be absent",
                        span,
                        "`?` after an endpoint",
                    )
                    .help("declare a second message without it"),
                );
            }
            TypeKind::Endpoint {
                contract: name,
                side,
                state,
            }
        } else if self.sign("[") {
            self.expect("]")?;
            let optional = self.presence();
            self.heap(start)?;
            TypeKind::Vector { of: name, optional }
        } else if self.sign("*") {
            let optional = self.presence();
            self.heap(start)?;
            TypeKind::Pointer { of: name, optional }
        } else if self.sign("?") {
            if self.is_sign("[") || self.is_sign("*") {
                let sign = if self.is_sign("[") { "[]" } else { "*" };
                let (whole, value) = (format!("{}{sign}?", name.text), &name.text);
                let span = start.to(self.next());
                return self.fail(
                    Diagnostic::error(
                        "the values in a block are always there",
                        span,
                        "a block of values that may be absent",
                    )
                    .help(format!(
                        "if the block itself may be absent, write `{whole} in ExHeap`; if its values may be, \
                         put them into a rep struct with a field `{value}?`"
                    )),
                );
            }
            TypeKind::Optional(name)
        } else {
            TypeKind::Named(name)
        };
        Ok(Type {
            kind,
            span: start.to(self.last_span()),
        })
    }

    /// Whether `?` says that it may be absent; `!`, as the papers also write it, says that it may
    /// not.
    fn presence(&mut self) -> bool {
        self.sign("?") || {
            self.sign("!");
            false
        }
    }

    /// `in ExHeap`, or `in` alone before the declared name.
    fn heap(&mut self, start: Span) -> Parsed<()> {
        if !self.word("in") {
            let span = start.to(self.last_span());
            return self.fail(
                Diagnostic::error(
                    "this type does not say where it lives",
                    span,
                    "add `in ExHeap`",
                )
                .note("only values and blocks in the exchange heap can travel in a message"),
            );
        }
        if matches!(self.peek_second(), Token::Word(_)) {
            if !self.is_word("ExHeap") {
                let diagnostic = self
                    .unexpected("`ExHeap`")
                    .help("the exchange heap is the only heap from which blocks can be given away");
                return self.fail(diagnostic);
            }
            self.next();
        } else if self.is_word("ExHeap") && matches!(self.peek_second(), Token::Sign("?")) {
            self.next();
            let diagnostic = self
                .unexpected("a name")
                .help("a block that may be absent has its `?` before `in`: `byte[]? in ExHeap`");
            return self.fail(diagnostic);
        }
        Ok(())
    }
}
