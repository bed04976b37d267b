//! Endpoints to processes: what the types that `contract!` makes stand on.
//!
//! The types say what may be sent in a state and what may come; the kernel checks the same again, with
//! the contract of the process, whose identity is that which the types were made of.
//!
//! Invariant: a process has ended, or will at once, when its endpoint is dropped: by the host, by an
//! operation that failed, or by a future that was dropped.

use crate::call::nanoseconds;
use crate::{Error, MOST_ANSWER, Program};
use sing_calls::Op;
use sing_hosted::{Asked, GivenDirectories, Held, Message, Pending, Reply, Word};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// An endpoint of a contract in some state: made by [`Program::connect`]. The types are `contract!`'s.
pub trait Endpoint<'s>: Sized {
    #[doc(hidden)]
    const WANTED: Wanted;

    #[doc(hidden)]
    fn with(link: Link<'s>) -> Self;
}

/// A contract of the host's.
#[derive(Debug)]
pub struct Contract {
    /// Its name.
    pub name: &'static str,
    /// Its identity.
    pub identity: [u8; 32],
}

/// What an endpoint's type says.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The contract.
    pub contract: &'static Contract,
    /// The state.
    pub state: &'static str,
    /// Whether the process has the exporting end.
    pub exports: bool,
}

impl Wanted {
    pub(crate) fn of(self, name: &str) -> sing_calls::Endpoint<'_> {
        sing_calls::Endpoint {
            name,
            contract: self.contract.name,
            identity: &self.contract.identity,
            state: self.state,
            exports: self.exports,
        }
    }
}

/// A message that is to be sent.
#[derive(Debug)]
pub struct Outgoing {
    index: u32,
    words: Vec<u64>,
    /// The bytes of all blocks.
    bytes: Vec<u8>,
    /// Whether a block has none.
    empty: bool,
}

impl Outgoing {
    /// One without arguments.
    #[must_use]
    pub fn new(index: u32) -> Outgoing {
        Outgoing {
            index,
            words: Vec::new(),
            bytes: Vec::new(),
            empty: false,
        }
    }

    /// Adds a number.
    pub fn word(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Adds a block of these bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.block(|all| all.extend_from_slice(bytes));
    }

    /// Adds a block, whose bytes this appends.
    pub(crate) fn block(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.bytes.len();
        append(&mut self.bytes);
        let len = self.bytes.len() - begin;
        self.empty |= len == 0;
        self.words.push(len as u64);
    }

    fn asked(&self, op: Op, process: u64) -> Asked<'_> {
        Asked {
            message: Some(sing_calls::Message {
                index: self.index,
                words: &self.words,
            }),
            bytes: &self.bytes,
            ..Asked::of(op, process)
        }
    }
}

/// A message that has come.
#[derive(Debug)]
pub struct Incoming<'s> {
    /// Its index.
    pub index: u32,
    /// What it brings.
    pub words: Words<'s>,
}

/// A word of a message, for who knows the contract only when it runs.
#[derive(Debug)]
pub enum Any<'s> {
    /// A number, as its bits.
    Number(u64),
    /// A block, or none where one may be.
    Block(Option<Held<'s>>),
}

/// The words of a message that has come.
#[derive(Debug)]
pub struct Words<'s> {
    words: std::vec::IntoIter<Word>,
    system: &'s crate::System,
}

impl<'s> Words<'s> {
    /// The next one, a number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        match self.words.next()? {
            Word::Number(number) => Some(number),
            Word::Nothing | Word::Block(_) => None,
        }
    }

    /// The next one, whatever it is; `None` behind the last.
    pub fn any(&mut self) -> Option<Any<'s>> {
        Some(match self.words.next()? {
            Word::Number(number) => Any::Number(number),
            Word::Nothing => Any::Block(None),
            Word::Block(lent) => Any::Block(self.system.running().held(lent)),
        })
    }

    /// The next one, a block or none.
    pub(crate) fn block(&mut self) -> Option<Option<Held<'s>>> {
        match self.words.next()? {
            Word::Block(lent) => self.system.running().held(lent).map(Some),
            Word::Nothing => Some(None),
            Word::Number(_) => None,
        }
    }
}

/// An endpoint to a process, whose state its owner knows.
pub struct Link<'s>(Box<Inner<'s>>);

struct Inner<'s> {
    program: Program<'s>,
    number: u64,
    /// The contract's name.
    contract: Cow<'static, str>,
    /// The directories that the process has, until this is dropped.
    _given: GivenDirectories,
}

impl fmt::Debug for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("program", &self.0.program.name)
            .field("contract", &self.0.contract)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner<'_> {
    fn drop(&mut self) {
        self.program.system.port().tell(Op::Close, self.number);
    }
}

impl<'s> Link<'s> {
    pub(crate) fn new(
        program: Program<'s>,
        number: u64,
        given: GivenDirectories,
        contract: Cow<'static, str>,
    ) -> Link<'s> {
        Link(Box::new(Inner {
            program,
            number,
            contract,
            _given: given,
        }))
    }

    /// Sets how long each receive may take.
    pub fn within(&mut self, time: Duration) {
        self.0.program.limits.deadline = nanoseconds(time);
    }

    /// That the host's message breaks the contract.
    #[must_use]
    pub fn broken(&self, reason: &str) -> Error {
        Error::Broken {
            program: self.0.program.name.clone(),
            reason: reason.into(),
        }
    }

    /// That the process's message does.
    #[must_use]
    pub fn misspoken(&self, message: &str) -> Error {
        self.broken(&format!(
            "{message} came with what it may not bring, and its process was ended"
        ))
    }

    fn check(&self, message: &Outgoing) -> Result<(), Error> {
        if message.empty {
            let name = &self.0.contract;
            return Err(self.broken(&format!(
                "a block of a message of {name} has no bytes; one has a byte at least"
            )));
        }
        let bytes = message.bytes.len();
        match bytes > MOST_ANSWER {
            true => Err(Error::TooLong {
                what: "a message".into(),
                bytes,
                most: MOST_ANSWER,
            }),
            false => Ok(()),
        }
    }

    fn come(&self, reply: Reply) -> Result<Incoming<'s>, Error> {
        let program = &self.0.program;
        let Some(Message { index, words }) = reply.message else {
            let bytes = program.result(reply, &GivenDirectories::default())?;
            debug_assert!(bytes.is_empty());
            return Err(self.misspoken(&self.0.contract));
        };
        Ok(Incoming {
            index,
            words: Words {
                words: words.into_iter(),
                system: program.system,
            },
        })
    }

    fn call(&self, asked: Asked<'_>) -> Reply {
        let program = &self.0.program;
        program.system.port().call(&Asked {
            limits: program.limits,
            ..asked
        })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If it breaks the contract, or what has become of the process.
    pub fn send(&self, message: Outgoing) -> Result<(), Error> {
        self.check(&message)?;
        let reply = self.call(message.asked(Op::Send, self.0.number));
        let done = self.0.program.result(reply, &GivenDirectories::default());
        done.map(|_| ())
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// What has become of the process instead.
    pub fn receive(&self) -> Result<Incoming<'s>, Error> {
        self.come(self.call(Asked::of(Op::Receive, self.0.number)))
    }

    /// Sends a message, and waits for one.
    ///
    /// # Errors
    /// As of both.
    pub fn exchange(&self, message: Outgoing) -> Result<Incoming<'s>, Error> {
        self.check(&message)?;
        self.come(self.call(message.asked(Op::Exchange, self.0.number)))
    }

    /// Waits for a message as a future, of which this makes the result.
    pub fn begin_receive<R>(self, make: Make<'s, R>) -> Receiving<'s, R> {
        let asked = Asked::of(Op::Receive, self.0.number);
        self.begin(&asked, make)
    }

    /// Sends a message, and waits for one as a future.
    pub fn begin_exchange<R>(
        self,
        message: Result<Outgoing, Error>,
        make: Make<'s, R>,
    ) -> Receiving<'s, R> {
        let checked = message.and_then(|message| self.check(&message).map(|()| message));
        match checked {
            Ok(message) => {
                let asked = message.asked(Op::Exchange, self.0.number);
                self.begin(&asked, make)
            }
            Err(error) => Receiving {
                link: Some(self),
                pending: Err(Some(error)),
                make,
            },
        }
    }

    fn begin<R>(self, asked: &Asked<'_>, make: Make<'s, R>) -> Receiving<'s, R> {
        let program = &self.0.program;
        let pending = program.system.port().ask(&Asked {
            limits: program.limits,
            ..*asked
        });
        Receiving {
            link: Some(self),
            pending: Ok(pending),
            make,
        }
    }
}

/// What makes a message out of words.
type Make<'s, R> = fn(Link<'s>, Incoming<'s>) -> Result<R, Error>;

/// A message that is waited for: a future of it, with the endpoint. Dropping it ends the process.
#[must_use = "a receive that is dropped ends its process"]
pub struct Receiving<'s, R> {
    link: Option<Link<'s>>,
    pending: Result<Pending, Option<Error>>,
    make: Make<'s, R>,
}

impl<R> fmt::Debug for Receiving<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving")
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

impl<R> Receiving<'_, R> {
    /// Waits for the message on this thread.
    ///
    /// # Errors
    /// As of a receive.
    pub fn wait(mut self) -> Result<R, Error> {
        let reply = match &mut self.pending {
            Ok(pending) => Ok(pending.wait()),
            Err(error) => Err(error.take()),
        };
        self.finish(reply)
    }

    fn finish(&mut self, reply: Result<Reply, Option<Error>>) -> Result<R, Error> {
        let link = self.link.take();
        let link = link.expect("a receive is polled after its message");
        match reply {
            Ok(reply) => {
                let come = link.come(reply)?;
                (self.make)(link, come)
            }
            Err(error) => Err(error.unwrap_or_else(|| link.0.program.system.ended())),
        }
    }
}

impl<R> Future for Receiving<'_, R> {
    type Output = Result<R, Error>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        assert!(this.link.is_some(), "a receive is polled after its message");
        let reply = match &mut this.pending {
            Ok(pending) => match pending.poll(context) {
                Poll::Ready(reply) => Ok(reply),
                Poll::Pending => return Poll::Pending,
            },
            Err(error) => Err(error.take()),
        };
        Poll::Ready(this.finish(reply))
    }
}

impl<R> Drop for Receiving<'_, R> {
    fn drop(&mut self) {
        if let (Ok(pending), Some(link)) = (&self.pending, &self.link) {
            let port = link.0.program.system.port();
            port.tell(Op::Cancel, pending.id());
        }
    }
}
