//! The code that a switch becomes.
//!
//! Cases are gathered in groups: all that name one endpoint alone, all of one set, each `&&`, each
//! other thing. A group is received in one place, where a closed channel and a broken promise come
//! to the same case.
//!
//! The program's code must not see the generated names. Variables are hygienic. Items are not,
//! whatever span they have: each stands in a block of its own, in which no code of a case stands,
//! under a name that no program has.

use super::parse::{Pattern, Place, Switch, Term};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Expr, Pat};

/// Things that one wait can be for.
const MOST: usize = 64;

/// A case of a group.
pub(super) struct Single<'a> {
    pub(super) term: &'a Term,
    body: &'a Expr,
}

pub(super) enum Group<'a> {
    /// Cases of one variable alone.
    One {
        name: &'a Ident,
        cases: Vec<Single<'a>>,
    },
    /// Cases of one set.
    Many {
        set: &'a TokenStream,
        cases: Vec<Single<'a>>,
    },
    /// Several endpoints at once.
    All { terms: &'a [Term], body: &'a Expr },
    /// Anything else.
    Thing { thing: &'a Expr, body: &'a Expr },
}

pub(super) struct Generator<'a> {
    pub(super) switch: &'a Switch,
    pub(super) groups: Vec<Group<'a>>,
    /// All variables with endpoints.
    pub(super) variables: Vec<&'a Ident>,
}

/// A name that no code of the program can see. The prefix is for what hygiene does not cover: a
/// pattern would mean a constant of the program that is called the same.
pub(super) fn own(name: &str) -> Ident {
    Ident::new(&format!("__sing_{name}"), Span::mixed_site())
}

impl<'a> Generator<'a> {
    /// Fails if there is more than one wait can be for.
    pub(super) fn new(switch: &'a Switch) -> syn::Result<Self> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut variables: Vec<&'a Ident> = Vec::new();
        for case in &switch.cases {
            let body = &case.body;
            let terms = match &case.pattern {
                Pattern::Thing(thing) => {
                    groups.push(Group::Thing { thing, body });
                    continue;
                }
                Pattern::Messages(terms) => terms,
            };
            for term in terms {
                if let Place::Variable(name) = &term.place
                    && !variables.contains(&name)
                {
                    variables.push(name);
                }
            }
            let [term] = &terms[..] else {
                groups.push(Group::All { terms, body });
                continue;
            };
            let single = Single { term, body };
            let known = groups.iter_mut().find_map(|g| match g {
                Group::One { cases, .. } | Group::Many { cases, .. } => {
                    cases[0].term.place.same(&term.place).then_some(cases)
                }
                _ => None,
            });
            match (known, &term.place) {
                (Some(cases), _) => cases.push(single),
                (None, Place::Variable(name)) => groups.push(Group::One {
                    name,
                    cases: vec![single],
                }),
                (None, Place::Many { set, .. }) => groups.push(Group::Many {
                    set,
                    cases: vec![single],
                }),
            }
        }
        let things = |g: &&Group<'_>| matches!(g, Group::Thing { .. });
        if variables.len() + groups.iter().filter(things).count() > MOST {
            return Err(Error::new(
                switch.cases[0].at,
                "a switch waits for at most 64 things; endpoints in the same state can be put into an EndpointSet, which \
                 counts as one",
            ));
        }
        Ok(Generator {
            switch,
            groups,
            variables,
        })
    }

    pub(super) fn expand(&self) -> syn::Result<TokenStream> {
        let checks = self.checks()?;
        let switch = match &self.groups[..] {
            [Group::One { name, cases }]
                if self.switch.timeout.is_none()
                    && !self.switch.partial
                    && cases.iter().any(|c| !c.term.is_close()) =>
            {
                receive_one(name, cases)
            }
            [Group::Many { set, cases }] => self.only_set(set, cases),
            _ => self.several(),
        };
        Ok(quote!({ #checks #switch }))
    }

    fn patience(&self) -> TokenStream {
        match &self.switch.timeout {
            None => quote!(::sing_sdk::select::Patience::lasting(
                ::sing_sdk::time::Timeout::FOREVER
            )),
            Some(t) => {
                let value = &t.value;
                if t.deadline {
                    quote!(::sing_sdk::select::Patience::until(#value))
                } else {
                    quote!(::sing_sdk::select::Patience::lasting(#value))
                }
            }
        }
    }

    /// The code for the time-out.
    fn timed_out(&self) -> TokenStream {
        match &self.switch.timeout {
            None => quote!(::sing_sdk::select::never()),
            Some(t) => {
                let body = &t.body;
                quote!(#body)
            }
        }
    }

    /// A set and nothing else: one call that does not depend on how many endpoints are idle.
    fn only_set(&self, set: &TokenStream, cases: &[Single<'_>]) -> TokenStream {
        let (key, patience, found) = (own("key"), own("patience"), own("found"));
        let (turn, wait) = (turn(), self.patience());
        let look = on_set(set, &quote!(switch_wait(#turn, #patience)));
        let receive = receive_many(set, &key, cases);
        let timed_out = self.timed_out();
        // Borrows for the wait must not live on into the cases, as they would in the head of the
        // `match`.
        quote! {
            let #patience = #wait;
            let #found = #look;
            match #found {
                ::core::result::Result::Ok(#key) => #receive,
                ::core::result::Result::Err(_) => #timed_out,
            }
        }
    }

    /// Several things: looks until a case can fire.
    fn several(&self) -> TokenStream {
        let (select, patience, turn_of, first) =
            (own("select"), own("patience"), own("turn"), own("first"));
        let (again, found, case) = (own("again"), own("found"), own("case"));
        let wait = self.patience();
        let sets = self.groups.iter().any(|g| matches!(g, Group::Many { .. }));
        let things = self
            .groups
            .iter()
            .filter(|g| matches!(g, Group::Thing { .. }));
        let size = match sets {
            true => MOST,
            false => self.variables.len() + things.count(),
        };
        let mut watch = TokenStream::new();
        for (i, variable) in self.variables.iter().enumerate() {
            let place = place(i);
            watch.extend(quote! {
                let #place = #select.add(::sing_sdk::rt::Waitable::handle(&#variable));
            });
        }
        let (mut can, mut after, mut arms) =
            (TokenStream::new(), TokenStream::new(), TokenStream::new());
        let mut keys = Vec::new();
        for (i, group) in self.groups.iter().enumerate() {
            let place = own(&format!("group{i}"));
            let (able, arm) = match group {
                Group::One { name, cases } => {
                    let tags = cases.iter().map(|c| self.has_come(&select, c.term));
                    (quote!(#(#tags)||*), receive_one(name, cases))
                }
                Group::All { terms, body } => {
                    let tags = terms.iter().map(|t| self.has_come(&select, t));
                    (quote!(#(#tags)&&*), receive_all(terms, body))
                }
                Group::Thing { thing, body } => {
                    let bound = own(&format!("thing{i}"));
                    // Looked up once: what is given back is what was waited for, and lives as long.
                    watch.extend(quote! {
                        let #bound = &#thing;
                        let #place = #select.add(::sing_sdk::rt::Waitable::handle(#bound));
                    });
                    after.extend(quote! {
                        if #first != #i && #select.tag(#place).is_some() {
                            ::sing_sdk::rt::Waitable::give_back(#bound);
                        }
                    });
                    (quote!(#select.tag(#place).is_some()), quote!(#body))
                }
                Group::Many { set, cases } => {
                    let (key, own_turn, turn) =
                        (own(&format!("key{i}")), own(&format!("turn{i}")), turn());
                    let watched = on_set(set, &quote!(switch_watch(&mut #select)));
                    watch.extend(quote! {
                        let #own_turn = #turn;
                        let #place = #watched;
                        let mut #key = 0;
                    });
                    let passed = on_set(set, &quote!(switch_passed(&#select, #place)));
                    after.extend(quote! {
                        if #first != #i {
                            #passed;
                        }
                    });
                    let ready = quote!(switch_ready(&mut #select, #place, #own_turn));
                    let ready = on_set(set, &ready);
                    let able = quote! {
                        match #ready {
                            ::core::option::Option::Some(#found) => {
                                #key = #found;
                                true
                            }
                            ::core::option::Option::None => false,
                        }
                    };
                    let arm = receive_many(set, &key, cases);
                    keys.push(key);
                    (able, arm)
                }
            };
            can.extend(quote!(#i => #able,));
            arms.extend(quote!(#i => #arm,));
        }
        let count = self.groups.len();
        let (timed_out, turn) = (self.timed_out(), turn());
        // All that is borrowed or made for the wait is gone before a case runs.
        quote! {
            let mut #patience = #wait;
            let (#first, #(#keys,)*) = {
                let #turn_of = #turn;
                let mut #select = ::sing_sdk::select::Select::<#size>::new();
                #watch
                let mut #again = false;
                let #first = loop {
                    if !#patience.wait(&mut #select, !#again) {
                        break #count;
                    }
                    #again = true;
                    let #found = #turn_of.first(#count, |#case| match #case {
                        #can
                        _ => false,
                    });
                    if let ::core::option::Option::Some(#found) = #found {
                        break #found;
                    }
                };
                #after
                (#first, #(#keys,)*)
            };
            match #first {
                #arms
                _ => #timed_out,
            }
        }
    }

    /// Whether what a term waits for has come to a variable's endpoint.
    fn has_come(&self, select: &Ident, term: &Term) -> TokenStream {
        let Place::Variable(name) = &term.place else {
            return quote!(false);
        };
        let index = self.variables.iter().position(|v| *v == name);
        let place = place(index.unwrap_or(0));
        let tag = if term.is_close() {
            quote!(::sing_sdk::select::CLOSED)
        } else {
            let tag = case_method(&term.message);
            quote!(#name.#tag().tag())
        };
        quote!(#select.tag(#place) == ::core::option::Option::Some(#tag))
    }
}

/// The place of a variable in a selection.
fn place(variable: usize) -> Ident {
    own(&format!("place{variable}"))
}

/// Whose turn it is, over all times that the switch is run.
fn turn() -> TokenStream {
    let turn = own("TURN");
    quote! {{
        static #turn: ::sing_sdk::select::Turn = ::sing_sdk::select::Turn::new();
        &#turn
    }}
}

/// A call of a set, whatever it is reached through.
pub(super) fn on_set(set: &TokenStream, call: &TokenStream) -> TokenStream {
    quote! {{
        #[allow(unused_imports)]
        use ::sing_sdk::select::Many as _;
        #set.#call
    }}
}

/// The method of endpoints and of what they receive that knows a message. It is called like the
/// message, so that the compiler's error names it if there is none.
pub(super) fn case_method(message: &Ident) -> Ident {
    Ident::new(&format!("case_{message}"), message.span())
}

/// The pattern of what a message brings: its arguments and the endpoint in its next state.
fn brought(term: &Term) -> TokenStream {
    let arguments = &term.arguments;
    let next = next(term);
    // The compiler finds a wrong number of arguments at the message, not at the whole switch.
    quote_spanned!(term.message.span()=> ((#(#arguments,)*), #next))
}

fn next(term: &Term) -> Pat {
    match (&term.next, &term.place) {
        (Some(pattern), _) => pattern.clone(),
        (None, Place::Variable(name)) => syn::parse_quote!(#name),
        (None, Place::Many { .. }) => syn::parse_quote!(_),
    }
}

/// Receives and takes the case of the message that has come; what `closed` says if the channel is
/// closed.
fn receive(endpoint: &TokenStream, cases: &[Single<'_>], closed: &TokenStream) -> TokenStream {
    let messages: Vec<_> = cases.iter().filter(|c| !c.term.is_close()).collect();
    if messages.is_empty() {
        return quote!({ ::core::mem::drop(#endpoint); #closed });
    }
    let got = own("got");
    let inner = messages.iter().rev().fold(
        quote!({ #got.case_ChannelClosed(); #closed }),
        |otherwise, case| {
            let (method, pattern, body) = (
                case_method(&case.term.message),
                brought(case.term),
                case.body,
            );
            quote! {
                match #got.#method() {
                    ::core::result::Result::Ok(#pattern) => #body,
                    ::core::result::Result::Err(#got) => #otherwise,
                }
            }
        },
    );
    quote! {
        match #endpoint.recv() { #got => #inner }
    }
}

fn closing<'a>(cases: &[Single<'a>]) -> Option<&'a Expr> {
    cases.iter().find(|c| c.term.is_close()).map(|c| c.body)
}

fn receive_one(name: &Ident, cases: &[Single<'_>]) -> TokenStream {
    let closed = match closing(cases) {
        Some(body) => quote!(#body),
        None => quote!(::sing_sdk::select::never()),
    };
    receive(&quote!(#name), cases, &closed)
}

fn receive_many(set: &TokenStream, key: &Ident, cases: &[Single<'_>]) -> TokenStream {
    let named = |case: &Single<'_>| match &case.term.place {
        Place::Many { key, .. } => quote!(#key),
        Place::Variable(_) => quote!(_),
    };
    let bodies: Vec<Expr> = cases
        .iter()
        .map(|case| {
            let (pattern, body) = (named(case), case.body);
            let gone = if case.term.is_close() {
                let gone = on_set(set, &quote!(switch_gone(#key)));
                quote!(#gone;)
            } else {
                TokenStream::new()
            };
            syn::parse_quote!({ #gone let #pattern = #key; #body })
        })
        .collect();
    let cases: Vec<Single<'_>> = cases
        .iter()
        .zip(&bodies)
        .map(|(c, body)| Single { term: c.term, body })
        .collect();
    let closed = match closing(&cases) {
        Some(body) => quote!(#body),
        None => quote!(::sing_sdk::select::never()),
    };
    receive(&on_set(set, &quote!(switch_take(#key))), &cases, &closed)
}

/// Receives from several endpoints, then binds what they brought.
fn receive_all(terms: &[Term], body: &Expr) -> TokenStream {
    let open: Vec<&Term> = terms.iter().filter(|t| !t.is_close()).collect();
    let patterns = open.iter().map(|t| brought(t));
    // Endpoints of sets do not come here: the parser has seen to it.
    let got = own("got");
    let values = open.iter().map(|t| {
        let name = match &t.place {
            Place::Variable(name) => quote!(#name),
            Place::Many { set, .. } => set.clone(),
        };
        let method = case_method(&t.message);
        quote! {
            match #name.recv().#method() {
                ::core::result::Result::Ok(#got) => #got,
                ::core::result::Result::Err(_) => ::sing_sdk::select::never(),
            }
        }
    });
    let closed = terms
        .iter()
        .filter(|t| t.is_close())
        .filter_map(|t| match &t.place {
            Place::Variable(name) => Some(quote!(::core::mem::drop(#name);)),
            Place::Many { .. } => None,
        });
    quote!({
        #(#closed)*
        let (#(#patterns,)*) = (#(#values,)*);
        #body
    })
}
