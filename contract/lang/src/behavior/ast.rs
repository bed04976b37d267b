//! Behaviours and systems as written, before names are looked up.

pub use crate::ast::Name;
pub use crate::source::Span;

/// The behaviour of a process at its endpoints: named states.
#[derive(Clone, Debug)]
pub struct Behavior {
    /// Its states; the process begins in the first.
    pub states: Vec<State>,
}

/// How a process serves several of one name in a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// It is not said: at each wait it may serve others, or not.
    #[default]
    Either,
    /// One conversation is carried through before anything else is done.
    Serial,
    /// While a conversation waits, the others are served.
    Parallel,
}

/// `[rest] [serial | parallel] state S: …;`
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: Name,
    /// Whether the process may stay in it for ever.
    pub rest: bool,
    /// How conversations that begin in it are served.
    pub order: Order,
    /// The alternatives that the process has here. None if the process ends.
    pub body: Vec<Sequence>,
}

/// Steps one after the other.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The steps; at least one.
    pub steps: Vec<Step>,
}

/// A step of a sequence.
#[derive(Clone, Debug)]
pub enum Step {
    /// `a.M!`, or `all a.M!`: on every endpoint of that name.
    Send {
        /// Whether `all` was said.
        all: bool,
        /// Endpoint.
        endpoint: Name,
        /// Message.
        message: Name,
    },
    /// `a.M?`, or `a.M? && b.N?`: taken when all of them can be.
    Receive(Vec<(Name, Name)>),
    /// `close a`
    Close(Name),
    /// `skip`: the process does something that nobody sees.
    Skip(Span),
    /// `end`: the process ends, and its endpoints are closed.
    End(Span),
    /// `( … or … )` or `one { …; …; }`
    Choice(Vec<Sequence>, Span),
    /// `S` at the end of a sequence.
    State(Name),
}

impl Step {
    /// The place at which it is written.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Step::Send {
                endpoint, message, ..
            } => endpoint.span.to(message.span),
            Step::Receive(parts) => match (parts.first(), parts.last()) {
                (Some(first), Some(last)) => first.0.span.to(last.1.span),
                _ => Span::default(),
            },
            Step::Close(name) | Step::State(name) => name.span,
            Step::Skip(span) | Step::End(span) | Step::Choice(_, span) => *span,
        }
    }
}

/// The declarations of a system's text beside contracts.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Contract files that it imports.
    pub imports: Vec<Name>,
    /// `behavior B { … }`
    pub behaviors: Vec<(Name, Behavior)>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Channels.
    pub channels: Vec<Channel>,
}

/// `process p, q: B;`
#[derive(Clone, Debug)]
pub struct Process {
    /// Their names.
    pub names: Vec<Name>,
    /// Their behaviour.
    pub body: Body,
}

/// The behaviour of a process.
#[derive(Clone, Debug)]
pub enum Body {
    /// `any`, or `any closing`: whatever its contracts allow.
    Any {
        /// Whether it may close its endpoints at any time.
        closing: bool,
    },
    /// The name of a behaviour.
    Named(Name),
    /// A behaviour of its own.
    Own(Behavior),
}

/// `channel C: p.a -> q.b;`
#[derive(Clone, Debug)]
pub struct Channel {
    /// The contract.
    pub contract: Name,
    /// Process and endpoint of each end, by `Side::index`: the importing side is written first.
    /// Then the contract that it is held as, where that is not the channel's: `p.a as N`.
    pub ends: [(Name, Name, Option<Name>); 2],
}
