//! Conditions in `requires` clauses, with the usual precedence.

use super::{Parsed, Parser};
use crate::ast::{Expr, ExprKind};
use crate::lexer::Token;
use sing_image::contract::MAX_STEPS;

/// Binary operators, weakest first.
const LEVELS: [&[&str]; 5] = [
    &["||"],
    &["&&"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The way out where a condition is nested too deeply.
const SIMPLER: &str = "leave out what parentheses are not needed, or split the condition into several `requires` clauses";

impl Parser<'_> {
    /// A condition as a whole.
    pub(super) fn condition(&mut self) -> Parsed<Expr> {
        self.operators = 0;
        self.expression()
    }

    fn expression(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }

    /// Counts an operator. Each makes the tree one deeper at most, so this bounds the depth of the
    /// whole, which neither the parentheses nor the operators of one precedence do.
    fn operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MAX_STEPS {
            return self.nested_too_deeply();
        }
        Ok(())
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        let mut count = 0;
        while let Some(op) = operators.iter().copied().find(|op| self.is_sign(op)) {
            self.next();
            count += 1;
            if count > super::MAX_DEPTH {
                return self.nested_too_deeply();
            }
            self.operator()?;
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Expr {
                kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
                span,
            };
        }
        Ok(left)
    }

    fn nested_too_deeply<T>(&mut self) -> Parsed<T> {
        let span = self.span();
        self.fail(
            crate::Diagnostic::error("this condition is too long", span, "here")
                .help("split it into several `requires` clauses"),
        )
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        for op in ["!", "-"] {
            if self.sign(op) {
                self.operator()?;
                let inner = self.deeper(SIMPLER, Self::unary)?;
                let span = start.to(inner.span);
                return Ok(Expr {
                    kind: ExprKind::Unary(op, Box::new(inner)),
                    span,
                });
            }
        }
        let mut value = self.primary()?;
        let mut count = 0;
        while self.sign(".") {
            count += 1;
            if count > super::MAX_DEPTH {
                return self.nested_too_deeply();
            }
            let name = self.field_name("a field or a value of an enum")?;
            let span = start.to(name.span);
            value = Expr {
                kind: ExprKind::Member(Box::new(value), name),
                span,
            };
        }
        Ok(value)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        if self.sign("(") {
            let inner = self.deeper(SIMPLER, Self::expression)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if let Token::Number(n) = *self.peek() {
            self.next();
            return Ok(Expr {
                kind: ExprKind::Number(n),
                span,
            });
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.word(word) {
                return Ok(Expr {
                    kind: ExprKind::Bool(value),
                    span,
                });
            }
        }
        let name = self.field_name("an argument, a number or a condition in parentheses")?;
        Ok(Expr {
            kind: ExprKind::Argument(name.text),
            span,
        })
    }
}
