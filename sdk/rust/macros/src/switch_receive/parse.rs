//! The syntax of a switch.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, Pat, Token, bracketed, parenthesized};

mod word {
    syn::custom_keyword!(case);
    syn::custom_keyword!(timeout);
    syn::custom_keyword!(deadline);
    syn::custom_keyword!(wait);
}

/// Name of the pattern that a closed channel matches.
pub(super) const CHANNEL_CLOSED: &str = "ChannelClosed";

/// The place that a case takes an endpoint from.
pub(super) enum Place {
    /// In a variable.
    Variable(Ident),
    /// In a set, under a key that is bound.
    Many { set: TokenStream, key: Pat },
}

impl Place {
    /// How it is called in messages of the compiler.
    pub(super) fn name(&self) -> String {
        match self {
            Place::Variable(name) => name.to_string(),
            Place::Many { set, .. } => set.to_string().replace(' ', ""),
        }
    }

    /// The same for the same place.
    pub(super) fn same(&self, other: &Place) -> bool {
        matches!(self, Place::Many { .. }) == matches!(other, Place::Many { .. })
            && self.name() == other.name()
    }
}

/// One message at one endpoint.
pub(super) struct Term {
    pub(super) place: Place,
    pub(super) message: Ident,
    pub(super) arguments: Vec<Pat>,
    /// The name of the endpoint in its next state.
    pub(super) next: Option<Pat>,
}

impl Term {
    pub(super) fn is_close(&self) -> bool {
        self.message == CHANNEL_CLOSED
    }

    fn describe(&self) -> String {
        format!("{}.{}()", self.place.name(), self.message)
    }
}

/// The events that a case waits for.
pub(super) enum Pattern {
    /// Messages that have all come.
    Messages(Vec<Term>),
    /// Anything else that can be waited for.
    Thing(Expr),
}

pub(super) struct Case {
    pub(super) at: Span,
    pub(super) pattern: Pattern,
    pub(super) body: Expr,
}

impl Case {
    /// Whether both say the same, in whatever order.
    fn same(&self, other: &Case) -> bool {
        match (&self.pattern, &other.pattern) {
            (Pattern::Messages(a), Pattern::Messages(b)) => {
                let among = |t: &Term, all: &[Term]| {
                    all.iter()
                        .any(|o| o.place.same(&t.place) && o.message == t.message)
                };
                a.len() == b.len() && a.iter().all(|t| among(t, b))
            }
            (Pattern::Thing(a), Pattern::Thing(b)) => {
                a.to_token_stream().to_string() == b.to_token_stream().to_string()
            }
            _ => false,
        }
    }
}

/// When a switch stops waiting.
pub(super) struct Timeout {
    /// A point of time, not a duration.
    pub(super) deadline: bool,
    pub(super) value: Expr,
    pub(super) body: Expr,
}

/// The whole.
pub(super) struct Switch {
    pub(super) cases: Vec<Case>,
    pub(super) timeout: Option<Timeout>,
    /// `else wait`: what has no case is waited out.
    pub(super) partial: bool,
}

impl Parse for Switch {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut switch = Switch {
            cases: Vec::new(),
            timeout: None,
            partial: false,
        };
        while !input.is_empty() {
            if input.peek(word::case) {
                let case: Case = input.parse()?;
                if switch.cases.iter().any(|other| other.same(&case)) {
                    return Err(Error::new(case.at, "this case is there already"));
                }
                switch.cases.push(case);
            } else if input.peek(word::timeout) || input.peek(word::deadline) {
                let at = input.span();
                let deadline = input.peek(word::deadline);
                let _: Ident = input.parse()?;
                let value = input.parse()?;
                let body = body(input)?;
                let timeout = Timeout {
                    deadline,
                    value,
                    body,
                };
                if switch.timeout.replace(timeout).is_some() {
                    return Err(Error::new(at, "a switch has one `timeout` or `deadline`"));
                }
            } else if input.peek(Token![else]) {
                input.parse::<Token![else]>()?;
                input.parse::<word::wait>()?;
                input.parse::<Option<Token![,]>>()?;
                switch.partial = true;
            } else {
                return Err(input.error(
                    "expected `case endpoint.Message(…) =>`, `case &thing =>`, `timeout duration =>`, `deadline time =>` or \
                     `else wait`",
                ));
            }
        }
        if switch.cases.is_empty() {
            return Err(input.error("a switch needs a case"));
        }
        Ok(switch)
    }
}

/// `=> expression`, with the comma that every expression but a block needs behind it, unless it is
/// the last.
fn body(input: ParseStream<'_>) -> syn::Result<Expr> {
    input.parse::<Token![=>]>()?;
    let block = input.peek(syn::token::Brace);
    let body: Expr = if block {
        Expr::Block(input.parse()?)
    } else {
        input.parse()?
    };
    let comma = input.parse::<Option<Token![,]>>()?;
    if comma.is_none() && !block && !input.is_empty() {
        return Err(input.error("expected `,` behind the expression of a case"));
    }
    Ok(body)
}

impl Parse for Case {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let at = input.parse::<word::case>()?.span;
        let pattern = if input.peek(Token![&]) {
            input.parse::<Token![&]>()?;
            let thing = input.call(Expr::parse_without_eager_brace)?;
            Pattern::Thing(thing)
        } else {
            let terms: Punctuated<Term, Token![&&]> = Punctuated::parse_separated_nonempty(input)?;
            let terms: Vec<Term> = terms.into_iter().collect();
            check(&terms)?;
            Pattern::Messages(terms)
        };
        let body = body(input)?;
        Ok(Case { at, pattern, body })
    }
}

/// Checks the terms of a case as far as that needs no types.
fn check(terms: &[Term]) -> syn::Result<()> {
    for (i, term) in terms.iter().enumerate() {
        let fail = |text: String| Err(Error::new(term.message.span(), text));
        let many = matches!(term.place, Place::Many { .. });
        if many && terms.len() > 1 {
            return fail(format!(
                "{} cannot stand in an `&&`: which endpoint of the set would be meant?",
                term.describe()
            ));
        }
        if terms[..i].iter().any(|other| other.place.same(&term.place)) {
            return fail(format!(
                "{} is twice in this case; one message at a time is received from an endpoint",
                term.place.name()
            ));
        }
        if term.is_close() {
            if !term.arguments.is_empty() {
                return fail("ChannelClosed() brings nothing".into());
            }
            if term.next.is_some() {
                return fail(
                    "behind ChannelClosed() there is no endpoint that could get a name".into(),
                );
            }
        } else if many && term.next.is_none() {
            return fail(format!(
                "the endpoint in its next state needs a name: `case {} as client =>`",
                term.describe()
            ));
        }
    }
    Ok(())
}

/// The expressions that can name a set.
fn looked_up(at: Span) -> Error {
    Error::new(
        at,
        "a set is a variable or a field of one, as in `set[key]` and `self.sets[key]`, since the switch looks at it more \
         than once; put what is looked up into a variable first: `let set = &mut …;`",
    )
}

impl Parse for Term {
    /// `a.Message(x)`, `self.clients[key].Message(x) as client`.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let start = input.span();
        let mut path: Vec<TokenStream> = Vec::new();
        let mut key = None;
        let message = loop {
            if input.peek(Token![self]) {
                path.push(input.parse::<Token![self]>()?.into_token_stream());
            } else {
                // Messages may be called like keywords of Rust.
                let name = input.call(Ident::parse_any)?;
                if input.peek(syn::token::Paren) {
                    break name;
                }
                path.push(name.into_token_stream());
            }
            if input.peek(syn::token::Bracket) {
                let content;
                bracketed!(content in input);
                key = Some(content.call(Pat::parse_single)?);
                if !content.is_empty() {
                    return Err(
                        content.error("expected one name, that the endpoint's key is bound to")
                    );
                }
                if input.peek(syn::token::Bracket) {
                    return Err(looked_up(start));
                }
                input.parse::<Token![.]>()?;
                break input.call(Ident::parse_any)?;
            }
            input.parse::<Token![.]>()?;
        };
        let content;
        parenthesized!(content in input);
        let arguments =
            Punctuated::<Pat, Token![,]>::parse_terminated_with(&content, Pat::parse_single);
        // It looked like a message and was a call on the way to something.
        if input.peek(syn::token::Bracket) || input.peek(Token![.]) || input.peek(Token![?]) {
            return Err(looked_up(start));
        }
        let arguments = arguments?;
        let next = if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            Some(Pat::parse_single(input)?)
        } else {
            None
        };
        let place = match (key, &path[..]) {
            (Some(key), [_, ..]) => Place::Many {
                set: quote::quote!(#(#path).*),
                key,
            },
            (None, [name]) => Place::Variable(syn::parse2(name.clone()).map_err(|_| {
                Error::new(
                    start,
                    "an endpoint is in a variable here; move it into one first",
                )
            })?),
            (None, []) => {
                return Err(Error::new(start, "expected `endpoint.Message(…)`"));
            }
            _ => {
                return Err(Error::new(
                    start,
                    "an endpoint is in a variable, since the switch moves it; take it out of the field first, or write \
                     `set[key]`",
                ));
            }
        };
        Ok(Term {
            place,
            message: message.unraw(),
            arguments: arguments.into_iter().collect(),
            next,
        })
    }
}
