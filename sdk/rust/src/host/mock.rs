//! The service's side of a contract, for tests: it answers as the test says, message by message, and
//! remembers what came.
//!
//! `contract!` makes a type `Mock` in each contract's module, with a method for each message that can
//! come to the exporting side. A message that no method was called for ends the conversation, and
//! the test with it; so does an answer that panics, such as one with an assertion that does not hold.
//! The test fails when it next asks for the messages ([`Came::messages`]), or when it drops what it
//! asks for them.
//!
//! ```
//! use sing_sdk::prelude::*;
//!
//! let mut now = 7;
//! let (clock, came) = ClockContract::Mock::new()
//!     .on_get_utc(move |client| {
//!         now += 1;
//!         client.send_utc(now)
//!     })
//!     .channel();
//! let clock = clock.recv_success().unwrap();
//! let (first, clock) = clock.call_get_utc().utc().unwrap();
//! let (second, _clock) = clock.call_get_utc().utc().unwrap();
//! assert_eq!((first, second), (8, 9));
//! assert_eq!(came.messages(), ["GetUtc()", "GetUtc()"]);
//! ```
//!
//! Where a program finds its service by a name, [`NameSpace::serve`](super::NameSpace::serve) puts
//! the mock there.
//!
//! Invariants:
//! - Messages are remembered before they are answered: who has an answer finds its request.
//! - One message is answered at a time, whatever the number of channels.
//! - A fault of a mock is noted before the other side can see that the conversation has ended.

use super::entries;
use crate::rt::{Closed, Endpoint, Handle, Side, TypedEndpoint, Waitable};
use crate::sync;
use crate::time::Timeout;
use sing_abi::status;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::format;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::{String, ToString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::vec::Vec;

/// A conversation that rests is looked at again after this: no wait here ends a test.
const REST: Duration = Duration::from_secs(1);

/// How a conversation stands after an answer: what the closures of a mock return.
pub trait Next {
    /// The endpoint with the name of its state; none if the channel is closed.
    fn left(self) -> Option<(Endpoint, &'static str)>;
}

impl<E: TypedEndpoint> Next for E {
    fn left(self) -> Option<(Endpoint, &'static str)> {
        Some((self.into_endpoint(), E::STATE))
    }
}

/// Without an endpoint, the mock has closed the channel.
impl<E: TypedEndpoint> Next for Option<E> {
    fn left(self) -> Option<(Endpoint, &'static str)> {
        self?.left()
    }
}

/// The mock closes the channel.
impl Next for Closed {
    fn left(self) -> Option<(Endpoint, &'static str)> {
        None
    }
}

type Left = Option<(Endpoint, &'static str)>;
type Begin = Box<dyn FnMut(Endpoint) -> Left + Send>;
type Answer = Box<dyn FnMut(&[u64], Endpoint, &Came) -> Left + Send>;

/// The messages that have come to a mock. Dropping it fails the test if the mock has had a fault.
#[derive(Clone, Debug, Default)]
pub struct Came {
    seen: Arc<Mutex<Seen>>,
    /// It is the test's, not the mock's own.
    fails: bool,
}

impl Drop for Came {
    fn drop(&mut self) {
        // The test that panics has said why.
        if self.fails && !std::thread::panicking() {
            self.seen().fail();
        }
    }
}

/// What a thread answers for a mock, if it does.
struct Answering {
    contract: &'static str,
    /// The message; none at the beginning of a conversation.
    message: Option<String>,
    came: Came,
}

std::thread_local! {
    static ANSWERING: RefCell<Option<Answering>> = const { RefCell::new(None) };
}

/// Notes that the answer of this thread panics, if it is one and does. Called when what it has is given
/// up: the other side sees then that the conversation has ended.
pub(super) fn note_panic() {
    if !std::thread::panicking() {
        return;
    }
    let answering = ANSWERING.try_with(|answering| answering.try_borrow_mut().ok()?.take());
    if let Ok(Some(answering)) = answering {
        answering.panicked();
    }
}

impl Answering {
    fn panicked(self) {
        let what = match &self.message {
            Some(message) => format!("in its answer to {message}"),
            None => "at the beginning of a conversation".to_string(),
        };
        let fault = format!("the mock of {} panicked {what}", self.contract);
        self.came.fault(fault);
    }
}

#[derive(Debug, Default)]
struct Seen {
    messages: Vec<String>,
    channels: usize,
    faults: Vec<String>,
}

impl Seen {
    fn fail(&self) {
        assert!(self.faults.is_empty(), "{}", self.faults.join("; "));
    }
}

impl Came {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All so far, in order: `Greet("Ada")`.
    ///
    /// # Panics
    /// If there was one that the mock has no answer for, or an answer of another state, or one that
    /// panicked.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let seen = self.seen();
        seen.fail();
        seen.messages.clone()
    }

    /// How many channels the mock has been given.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.seen().channels
    }

    /// Remembers a message; generated code does.
    #[doc(hidden)]
    pub fn message(&self, name: &str, arguments: &[String]) {
        let message = format!("{name}({})", arguments.join(", "));
        ANSWERING.with_borrow_mut(|answering| {
            if let Some(answering) = answering {
                answering.message = Some(message.clone());
            }
        });
        self.seen().messages.push(message);
    }

    fn fault(&self, fault: String) {
        std::eprintln!("{fault}");
        self.seen().faults.push(fault);
    }
}

/// What a mock answers, without the types of its contract: generated code keeps to them.
pub struct Script {
    contract: &'static str,
    first: &'static str,
    /// Whether the service speaks first: then it has to be said how.
    speaks_first: bool,
    begin: Option<Begin>,
    answers: BTreeMap<(&'static str, i32), Answer>,
}

impl core::fmt::Debug for Script {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Script({})", self.contract)
    }
}

#[doc(hidden)]
impl Script {
    /// A script of the contract to which `E`, the exporting endpoint of a fresh channel, belongs.
    #[must_use]
    pub fn new<E: TypedEndpoint>(speaks_first: bool) -> Script {
        Script {
            contract: E::CONTRACT,
            first: E::STATE,
            speaks_first,
            begin: None,
            answers: BTreeMap::new(),
        }
    }

    pub fn begin(&mut self, begin: impl FnMut(Endpoint) -> Left + Send + 'static) {
        self.begin = Some(Box::new(begin));
    }

    pub fn on(
        &mut self,
        state: &'static str,
        message: i32,
        answer: impl FnMut(&[u64], Endpoint, &Came) -> Left + Send + 'static,
    ) {
        self.answers.insert((state, message), Box::new(answer));
    }

    #[must_use]
    pub fn player(self) -> Player {
        Player {
            contract: self.contract,
            script: Arc::new(Mutex::new(self)),
            came: Came::default(),
        }
    }
}

/// A mock that can be given channels.
#[derive(Clone, Debug)]
pub struct Player {
    pub(super) contract: &'static str,
    script: Arc<Mutex<Script>>,
    came: Came,
}

impl Player {
    /// The messages that come to it.
    #[must_use]
    pub fn came(&self) -> Came {
        let mut came = self.came.clone();
        came.fails = true;
        came
    }

    /// Has the conversation over this channel, on a thread of its own.
    ///
    /// # Errors
    /// The endpoint, if it is not the exporting one of a channel of the mock's contract.
    pub fn take(&self, endpoint: Endpoint) -> Result<(), Endpoint> {
        let raw = endpoint.handle().raw();
        if entries::cast(raw, self.contract, &[], Side::Exp) != status::OK {
            return Err(endpoint);
        }
        self.came.seen().channels += 1;
        let player = self.clone();
        std::thread::spawn(move || player.converse(endpoint));
        Ok(())
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        // An answer that panicked has failed its own conversation.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, endpoint: Endpoint) {
        let mut left = self.answering(|script| script.opening(endpoint, &self.came));
        while let Some((endpoint, state)) = left {
            while sync::wait(&endpoint, Timeout::from(REST)).is_err() {}
            let Some(message) = entries::next(endpoint.handle().raw()) else {
                return;
            };
            let (number, words) = (message.number, &message.words);
            left =
                self.answering(|script| script.answer(state, number, words, endpoint, &self.came));
        }
    }

    /// Has the script answer; none if it panics, which is a fault.
    fn answering(&self, answer: impl FnOnce(&mut Script) -> Left) -> Left {
        ANSWERING.set(Some(Answering {
            contract: self.contract,
            message: None,
            came: self.came.clone(),
        }));
        let left = catch_unwind(AssertUnwindSafe(|| answer(&mut self.script())));
        let answering = ANSWERING.take();
        match (left, answering) {
            (Ok(left), _) => left,
            // It had nothing to give up.
            (Err(_), Some(answering)) => {
                answering.panicked();
                None
            }
            (Err(_), None) => None,
        }
    }
}

impl Script {
    fn opening(&mut self, endpoint: Endpoint, came: &Came) -> Left {
        match &mut self.begin {
            Some(begin) => begin(endpoint),
            None if self.speaks_first => {
                came.fault(format!(
                    "the mock of {} has nothing to say, and speaks first: add `.begin(|client| …)`",
                    self.contract
                ));
                None
            }
            None => Some((endpoint, self.first)),
        }
    }

    fn answer(
        &mut self,
        state: &'static str,
        number: i32,
        words: &[u64],
        endpoint: Endpoint,
        came: &Came,
    ) -> Left {
        match self.answers.get_mut(&(state, number)) {
            Some(answer) => answer(words, endpoint, came),
            None => {
                came.fault(format!(
                    "the mock of {} has no answer to message {number} in state {state}: add `.on_…`",
                    self.contract
                ));
                None
            }
        }
    }
}

/// A channel's exporting end, for generated code.
#[doc(hidden)]
pub fn played<E: TypedEndpoint>(script: Script, exp: E) -> Came {
    let player = script.player();
    let came = player.came();
    if let Err(endpoint) = player.take(exp.into_endpoint()) {
        let raw: Handle = endpoint.handle();
        panic!("{raw:?} is no endpoint of {}", player.contract);
    }
    came
}

/// A piece of a long vector: how many of its elements are remembered.
const SHOWN: usize = 32;

/// Elements of a vector as a message is remembered with them.
#[doc(hidden)]
#[must_use]
pub fn shown<T: core::fmt::Debug>(elements: impl Iterator<Item = T>) -> String {
    let mut elements: Vec<T> = elements.take(SHOWN + 1).collect();
    let more = elements.len() > SHOWN;
    elements.truncate(SHOWN);
    let mut text = format!("{elements:?}");
    if more {
        text.insert_str(text.len() - 1, ", …");
    }
    text
}

/// An argument as a message is remembered with it.
#[doc(hidden)]
#[must_use]
pub fn debug(argument: &dyn core::fmt::Debug) -> String {
    format!("{argument:?}")
}
