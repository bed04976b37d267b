//! From text to the syntax tree: behaviours as manifests carry them, and systems in source form.
//!
//! A system's text declares contracts too. Those are left to the contract language: `system`
//! answers where everything else stands, so that it can be taken out. The first mistake ends the
//! parse.

use super::ast::{Behavior, Body, Channel, File, Name, Order, Process, Sequence, State, Step};
use super::cursor::{Cursor, Parsed};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::ops::Range;

/// The words that an item of a system's text can begin with.
const ITEMS: &str = "`import`, a contract, `behavior`, `process` or `channel`";

/// The states of a behaviour, as they stand in a manifest; `source` is the text's index among those
/// of the errors.
#[must_use]
pub fn behavior(source: u32, text: &str, errors: &mut Vec<Diagnostic>) -> Option<Behavior> {
    let mut cursor = Cursor::new(source, text, errors);
    if !cursor.is_clean() {
        return None;
    }
    let behavior = states(&mut cursor).ok()?;
    if !cursor.is_end() {
        return cursor.unexpected("`state`").ok();
    }
    Some(behavior)
}

/// A system's text without its contracts, and the bytes that it takes.
#[must_use]
pub fn system(text: &str, errors: &mut Vec<Diagnostic>) -> Option<(File, Vec<Range<usize>>)> {
    let mut cursor = Cursor::new(0, text, errors);
    if !cursor.is_clean() {
        return None;
    }
    let mut file = File::default();
    let mut ranges = Vec::new();
    while !cursor.is_end() {
        let start = cursor.span();
        if item(&mut cursor, &mut file).ok()? {
            ranges.push(start.to(cursor.last_span()).range());
        }
    }
    Some((file, ranges))
}

/// Parses an item; false where it is one of the contract language, which is passed over.
fn item(c: &mut Cursor<'_>, file: &mut File) -> Parsed<bool> {
    if c.word("import") {
        file.imports.push(c.text("a file name in quotes")?);
        c.expect(";")?;
    } else if c.word("behavior") {
        let name = c.name("the behavior's name")?;
        file.behaviors.push((name, block(c)?));
    } else if c.word("process") {
        file.processes.push(process(c)?);
    } else if c.word("channel") {
        file.channels.push(channel(c)?);
    } else if ["public", "contract", "enum", "rep"]
        .iter()
        .any(|w| c.is_word(w))
    {
        foreign(c);
        return Ok(false);
    } else {
        return c.unexpected(ITEMS);
    }
    Ok(true)
}

/// Passes over a declaration of the contract language: to the brace that closes its first one.
fn foreign(c: &mut Cursor<'_>) {
    let mut open = 0;
    while !c.is_end() {
        let (opens, closes, ends) = (c.is_sign("{"), c.is_sign("}"), c.is_sign(";"));
        c.next();
        open += usize::from(opens);
        if closes {
            open = open.saturating_sub(1);
        }
        if open == 0 && (closes || ends) {
            return;
        }
    }
}

fn process(c: &mut Cursor<'_>) -> Parsed<Process> {
    let mut names = vec![c.name("the process's name")?];
    while c.sign(",") {
        names.push(c.name("the name of one more process")?);
    }
    if c.is_sign("{") {
        let body = Body::Own(block(c)?);
        return Ok(Process { names, body });
    }
    if !c.sign(":") {
        return c.unexpected("`{` or `:`");
    }
    let body = if c.word("any") {
        let closing = c.word("closing");
        Body::Any { closing }
    } else {
        Body::Named(c.name("a behavior or `any`")?)
    };
    c.expect(";")?;
    Ok(Process { names, body })
}

fn channel(c: &mut Cursor<'_>) -> Parsed<Channel> {
    let contract = c.name("the contract's name")?;
    c.expect(":")?;
    let imp = end(c)?;
    c.expect("->")?;
    let exp = end(c)?;
    c.expect(";")?;
    Ok(Channel {
        contract,
        ends: [imp, exp],
    })
}

/// `process.endpoint`, and `as C` where it is held as an endpoint of another contract.
fn end(c: &mut Cursor<'_>) -> Parsed<(Name, Name, Option<Name>)> {
    let process = c.name("a process")?;
    c.expect(".")?;
    let endpoint = c.name("an endpoint")?;
    let held = if c.word("as") {
        Some(c.name("a base or a permission")?)
    } else {
        None
    };
    Ok((process, endpoint, held))
}

fn block(c: &mut Cursor<'_>) -> Parsed<Behavior> {
    c.expect("{")?;
    let behavior = states(c)?;
    c.expect("}")?;
    Ok(behavior)
}

fn states(c: &mut Cursor<'_>) -> Parsed<Behavior> {
    let mut states = vec![state(c)?];
    while !c.is_sign("}") && !c.is_end() {
        states.push(state(c)?);
    }
    Ok(Behavior { states })
}

fn state(c: &mut Cursor<'_>) -> Parsed<State> {
    let rest = c.word("rest");
    let order = if c.word("serial") {
        Order::Serial
    } else if c.word("parallel") {
        Order::Parallel
    } else {
        Order::Either
    };
    if !c.word("state") {
        return c.unexpected("`state`");
    }
    let name = c.name("the state's name")?;
    let mut body = Vec::new();
    if c.sign(":") {
        let first = sequence(c)?;
        // A `one { … }` or `( … )` that is all of the state is its list of alternatives.
        match <[Step; 1]>::try_from(first.steps) {
            Ok([Step::Choice(all, _)]) => body = all,
            Ok(steps) => body.push(Sequence {
                steps: steps.into(),
            }),
            Err(steps) => body.push(Sequence { steps }),
        }
        // Behind a closing brace the `;` may be left out, as in contracts.
        if !c.sign(";") && !c.last_is("}") {
            return c.unexpected("`;`");
        }
    } else {
        c.expect(";")?;
    }
    Ok(State {
        name,
        rest,
        order,
        body,
    })
}

fn sequence(c: &mut Cursor<'_>) -> Parsed<Sequence> {
    let mut steps = vec![step(c)?];
    while c.sign("->") {
        if let Some(last @ (Step::State(_) | Step::End(_))) = steps.last() {
            let span = last.span();
            return c.fail(
                Diagnostic::error(
                    "a sequence goes on behind its end",
                    span,
                    "nothing can follow this",
                )
                .help("a message is written with its endpoint: `endpoint.Message?`"),
            );
        }
        steps.push(step(c)?);
    }
    Ok(Sequence { steps })
}

fn step(c: &mut Cursor<'_>) -> Parsed<Step> {
    let start = c.span();
    if c.sign("(") {
        let mut all = vec![c.nested(sequence)?];
        while c.word("or") {
            all.push(c.nested(sequence)?);
        }
        c.expect(")")?;
        return Ok(Step::Choice(all, start.to(c.last_span())));
    }
    if c.word("one") {
        let all = c.nested(alternatives)?;
        return Ok(Step::Choice(all, start.to(c.last_span())));
    }
    if c.word("skip") {
        return Ok(Step::Skip(start));
    }
    if c.word("end") {
        return Ok(Step::End(start));
    }
    if c.word("close") {
        return Ok(Step::Close(c.name("the endpoint to close")?));
    }
    if c.word("all") {
        let endpoint = c.name("an endpoint")?;
        c.expect(".")?;
        let message = c.name("a message")?;
        c.expect("!")?;
        return Ok(Step::Send {
            all: true,
            endpoint,
            message,
        });
    }
    let name = c.name("`endpoint.Message`, a state or a choice")?;
    if !c.sign(".") {
        if c.is_sign("?") || c.is_sign("!") {
            return c.fail(
                Diagnostic::error(
                    format!("message {} is said on no endpoint", name.text),
                    name.span,
                    "on which one?",
                )
                .help(format!("write `endpoint.{}`", name.text)),
            );
        }
        return Ok(Step::State(name));
    }
    let message = c.name("a message")?;
    if c.sign("!") {
        return Ok(Step::Send {
            all: false,
            endpoint: name,
            message,
        });
    }
    c.expect("?")?;
    let mut parts = vec![(name, message)];
    while c.sign("&&") {
        let endpoint = c.name("an endpoint")?;
        c.expect(".")?;
        let message = c.name("a message")?;
        c.expect("?")?;
        parts.push((endpoint, message));
    }
    Ok(Step::Receive(parts))
}

/// `{ …; …; }` of a `one`.
fn alternatives(c: &mut Cursor<'_>) -> Parsed<Vec<Sequence>> {
    let open: Span = c.expect("{")?;
    let mut all = Vec::new();
    while !c.sign("}") {
        if c.is_end() {
            return c.fail(Diagnostic::error(
                "a choice does not end",
                open,
                "it begins here",
            ));
        }
        all.push(sequence(c)?);
        if !c.is_sign("}") {
            c.expect(";")?;
        }
    }
    if all.is_empty() {
        let span = open.to(c.last_span());
        return c.fail(
            Diagnostic::error("a choice of nothing", span, "here")
                .help("a process that has come to its end says `end`"),
        );
    }
    Ok(all)
}
