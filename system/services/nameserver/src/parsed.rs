//! What messages say, as far as it can be told without looking anything up: the paths and patterns
//! of requests, and the pieces of answers.
//!
//! Invariant: a path that comes out of here is normalized, and no longer than a path may be; so is
//! what an answer of a name server below says of places.

use crate::request::{Back, Found, Reply, Search, Verb};
use sing_sdk::path;
use sing_sdk::pattern;
use sing_sdk::prelude::*;
use sing_sdk::provider::asked;
use sing_sdk::walk::{self, Piece};

/// A specification's directory and pattern.
pub fn divided(spec: &Text) -> Parsed<String> {
    let Some(spec) = spec.get_within(path::LONGEST) else {
        return Parsed(Err(Refusal::TooLong), String::new());
    };
    let parts = pattern::split(&spec).and_then(|(directory, text)| {
        pattern::Pattern::new(&text)?;
        Ok((directory, text))
    });
    match parts {
        Ok((directory, text)) => Parsed(Ok(directory), text),
        Err(wrong) => Parsed(Err(wrong.into()), String::new()),
    }
}

/// What a Find asks for.
pub fn search(spec: &Text, at: &Text, after: &Text) -> Parsed<Verb> {
    let (mut directory, pattern) = divided(spec).unzip();
    let mut relative = |text: &Text| {
        let text = text
            .get_within(path::LONGEST)
            .filter(|t| path::is_relative(t));
        if text.is_none() {
            directory = Err(Refusal::BadPath);
        }
        text.unwrap_or_default()
    };
    let search = Search {
        pattern,
        at: relative(at),
        after: relative(after),
        into: None,
        union: false,
    };
    Parsed(directory, Verb::Find(search))
}

/// What a Link asks for.
pub fn link(path: &Text, target: &Text) -> Parsed<String> {
    let target = match target.get_within(path::LONGEST) {
        None => Err(Refusal::TooLong),
        Some(text) if text.is_empty() || text.contains(char::is_control) => Err(Refusal::BadPath),
        Some(text) => Ok(text),
    };
    match target {
        Ok(target) => Parsed(asked(path), target),
        Err(reason) => Parsed(Err(reason), String::new()),
    }
}

/// A path, or why it is none, and what else was asked.
pub struct Parsed<T>(Result<String, Refusal>, T);

impl<T> Parsed<T> {
    pub fn unzip(self) -> (Result<String, Refusal>, T) {
        (self.0, self.1)
    }
}

/// The answer with a piece of a walk, which goes on behind a path if that is not empty.
pub fn found(piece: Piece, after: &str) -> Reply {
    let blocks = || {
        let (count, results, text) = piece.into_blocks()?;
        let (at, after) = (Text::new("")?, Text::new(after)?);
        Ok::<_, Error>(Found {
            count,
            results,
            text,
            at,
            after,
        })
    };
    match blocks() {
        Ok(found) => Reply::Found(found),
        Err(_) => Reply::Refused(Refusal::NoResources, Back::Nothing),
    }
}

/// The answer of a name server that was asked for a part of a walk. One that refuses, or names no
/// place behind that from which it was asked to go on, has no more.
pub fn below(search: &Search, reply: Reply) -> Reply {
    let into = search.into.as_deref().unwrap_or_default();
    let past = || Text::new(&format!("{into}/"));
    let found = match reply {
        Reply::Found(found) if found.is_sound() => {
            let text = |text: &Text| {
                let text = text.get_within(path::LONGEST)?;
                path::is_relative(&text).then_some(text)
            };
            let (at, after) = (text(&found.at), text(&found.after).unwrap_or_default());
            let behind = search.after.strip_prefix(into).unwrap_or_default();
            let behind = behind.strip_prefix('/').unwrap_or(behind);
            let goes_on = !after.is_empty() && walk::order(&after, behind).is_gt();
            let at = match at.as_deref() {
                None => return Reply::Refused(Refusal::TooLong, Back::Nothing),
                Some("") => Text::new(into),
                Some(at) => Text::new(&format!("{into}/{at}")),
            };
            let after = match goes_on {
                true => Text::new(&format!("{into}/{after}")),
                false => past(),
            };
            at.and_then(|at| {
                Ok(Found {
                    at,
                    after: after?,
                    ..found
                })
            })
        }
        _ => past().and_then(|after| {
            Ok(Found {
                count: 0,
                results: Vector::new(1)?,
                text: Text::new("")?,
                at: Text::new("")?,
                after,
            })
        }),
    };
    match found {
        Ok(found) => Reply::Found(found),
        Err(_) => Reply::Refused(Refusal::NoResources, Back::Nothing),
    }
}
