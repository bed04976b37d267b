//! States, sequences, choices.

use super::{Parsed, Parser};
use crate::ast::{Name, Sequence, Side, State, Step};
use crate::diagnostic::Diagnostic;
use crate::lexer::Token;

impl Parser<'_> {
    /// `[override] state S: …`. States declared inside go to `nested`.
    pub(super) fn state(&mut self, docs: Vec<String>, nested: &mut Vec<State>) -> Parsed<State> {
        let overrides = self.word("override");
        if !self.word("state") {
            let diagnostic = self.unexpected("`state`");
            return self.fail(diagnostic);
        }
        let name = self.name("the state's name")?;
        let mut body = Vec::new();
        if self.sign(":") {
            if self.word("one") {
                body = self.alternatives(nested)?;
                if self.is_sign("->") {
                    // `one { … } -> S;`: the choice is the first step of a sequence.
                    let span = name.span.to(self.last_span());
                    let mut steps = vec![Step::Choice(std::mem::take(&mut body), span)];
                    while self.sign("->") {
                        steps.push(self.step(nested)?);
                    }
                    body = vec![Sequence {
                        steps,
                        span: name.span.to(self.last_span()),
                    }];
                    self.expect(";")?;
                } else {
                    self.sign(";");
                }
            } else {
                if !self.is_sign(";") {
                    body.push(self.sequence(nested)?);
                }
                self.expect(";")?;
            }
        } else {
            self.expect(";")?;
        }
        Ok(State {
            docs,
            overrides,
            name,
            body,
        })
    }

    /// `{ …; …; }` of a `one`.
    fn alternatives(&mut self, nested: &mut Vec<State>) -> Parsed<Vec<Sequence>> {
        let open = self.expect("{")?;
        let mut all = Vec::new();
        while !self.sign("}") {
            if matches!(self.peek(), Token::End) {
                let diagnostic = self.unexpected("`}`").label(open, "to close this");
                return self.fail(diagnostic);
            }
            if self.is_word("state") || self.is_word("override") {
                let docs = self.docs();
                let mut inner = Vec::new();
                let state = self.nested(|p| p.state(docs, &mut inner))?;
                nested.push(state);
                nested.append(&mut inner);
                continue;
            }
            all.push(self.nested(|p| p.sequence(nested))?);
            if !self.is_sign("}") {
                self.expect(";")?;
            }
        }
        Ok(all)
    }

    fn sequence(&mut self, nested: &mut Vec<State>) -> Parsed<Sequence> {
        let start = self.span();
        let mut steps = vec![self.step(nested)?];
        while self.sign("->") {
            if let Some(Step::State(name)) = steps.last() {
                let span = name.span;
                let text = format!("state {} stands in the middle of a sequence", name.text);
                return self.fail(
                    Diagnostic::error(text, span, "nothing can follow a state")
                        .help("end the sequence here and say in that state what follows"),
                );
            }
            steps.push(self.step(nested)?);
        }
        Ok(Sequence {
            steps,
            span: start.to(self.last_span()),
        })
    }

    fn step(&mut self, nested: &mut Vec<State>) -> Parsed<Step> {
        let start = self.span();
        if self.sign("(") {
            let mut all = Vec::new();
            loop {
                all.push(self.nested(|p| p.sequence(nested))?);
                if !self.word("or") {
                    break;
                }
            }
            self.expect(")")?;
            return Ok(Step::Choice(all, start.to(self.last_span())));
        }
        if self.word("one") {
            let all = self.nested(|p| p.alternatives(nested))?;
            return Ok(Step::Choice(all, start.to(self.last_span())));
        }
        if self.is_word("closed") {
            return Ok(Step::State(Name {
                text: "closed".into(),
                span: self.next(),
            }));
        }
        let name = self.name("a message, a state or a choice")?;
        Ok(if self.sign("?") {
            Step::Message {
                name,
                sender: Side::Imp,
            }
        } else if self.sign("!") {
            Step::Message {
                name,
                sender: Side::Exp,
            }
        } else {
            Step::State(name)
        })
    }
}
