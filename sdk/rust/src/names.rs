//! The name space, for clients: finding and binding services, registering.
//!
//! ```
//! use sing_sdk::names::Names;
//! use sing_sdk::prelude::*;
//! use sing_sdk::println;
//!
//! /// Names all text files of the system image, piece by piece.
//! fn texts(names: &mut Names) -> Result<(), Error> {
//!     for found in names.search("/boot/**/*.txt")? {
//!         println!("{}", found?.path);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! A name server that has just been started again says so ([`Refusal::Again`]). Requests are then
//! repeated here, at most for [`PATIENCE`](crate::client::PATIENCE); a caller sees nothing of it but
//! that it takes longer. An endpoint that was on its way is lost in one case: its other end finds the
//! channel closed after the request was granted, as if the service had ended.

use crate::Error;
use crate::client::Repeats;
use crate::contracts::{
    FindResponse, NameKind, NamespaceContract, NotifyContract, Refusal, ServiceContract,
};
use crate::path;
use crate::pattern;
use crate::prelude::switch_receive;
use crate::rt::{Text, TypedEndpoint, Vector, Waitable};
use crate::sys;
use crate::{time, walk};
use alloc::format;
use alloc::string::String;
use alloc::vec::{self, Vec};
use core::time::Duration;

type Ready = NamespaceContract::Imp<NamespaceContract::Ready>;
/// The end of its channel that a service gets.
pub type Service = ServiceContract::Exp<ServiceContract::Start>;

/// How long a wait for a change lasts before a look without one.
const ROUND: Duration = Duration::from_millis(100);
/// How long a name server has to answer, however little time is left: a channel that is given up is not
/// replaced.
pub(crate) const GRACE: Duration = match cfg!(test) {
    true => Duration::from_millis(500),
    false => Duration::from_secs(5),
};
/// Between two looks for what is to appear.
const LOOK: Duration = Duration::from_millis(2);

/// A channel to the name server.
#[derive(Debug)]
pub struct Names(Option<Ready>);

impl Names {
    /// Begins to use a channel to the name server.
    ///
    /// # Errors
    /// [`Error::Closed`] if that does not take part.
    pub fn new(channel: NamespaceContract::Imp<NamespaceContract::Start>) -> Result<Names, Error> {
        Ok(Names(Some(channel.recv_success()?)))
    }

    /// Begins to use the channel that was given to the program when it started, which the manifest's
    /// `startup::names()` gives.
    ///
    /// # Errors
    /// [`Error::NotFound`] if none was, and as [`Names::new`].
    pub fn given(
        channel: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
    ) -> Result<Names, Error> {
        Names::new(channel.ok_or(Error::NotFound)?)
    }

    /// The channel, for a request that is ready to be sent. A failure after this gives the channel
    /// up.
    fn take(&mut self) -> Result<Ready, Error> {
        self.0.take().ok_or(Error::Closed)
    }

    /// Whether there is a channel for the next request.
    #[cfg(test)]
    pub(crate) fn is_usable(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps the channel for the next request, and says whether this one was granted.
    fn done(&mut self, answer: Option<(Ready, Result<(), Refusal>)>) -> Result<(), Error> {
        let (channel, granted) = answer.ok_or(Error::Closed)?;
        self.0 = Some(channel);
        granted.map_err(Error::from)
    }

    /// Hands the exporting side of a fresh channel to the service at this path.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such service, or it refused; [`Error::NoResources`]
    /// where it has no room, or this program its share; [`Error::OtherVersion`] where the service's
    /// contract has the name of the channel's and another text, and [`Error::Refused`] with
    /// [`Refusal::OtherContract`] where it has another name.
    pub fn bind<E: ServiceEnd>(&mut self, path: &str, exp: E) -> Result<(), Error> {
        match self.bind_service(path, exp.into_service()) {
            Err(Error::Refused(Refusal::OtherContract)) => Err(self.mismatch(path, E::CONTRACT)),
            bound => bound,
        }
    }

    /// The reason why the service at a path is not of a contract of this name: it names its own
    /// contract where names are listed. A wrong name there leads to a wrong reason, not to a channel.
    fn mismatch(&mut self, path: &str, contract: &'static str) -> Error {
        let found = self.find(&pattern::literal(path)).unwrap_or_default();
        let same = |found: &Found| found.kind == NameKind::Service && found.detail == contract;
        match found.iter().any(same) {
            true => Error::OtherVersion(contract),
            false => Error::Refused(Refusal::OtherContract),
        }
    }

    fn bind_service(&mut self, path: &str, mut exp: Service) -> Result<(), Error> {
        use NamespaceContract::imp::Binding;
        let mut repeats = Repeats::new();
        loop {
            let path = Text::new(path)?;
            let answer = match self.take()?.call_bind(path, 0, exp) {
                Binding::AckBind(next) => Some((next, Ok(()))),
                Binding::NakBind(Refusal::Again, back, next) if repeats.wait() => {
                    (self.0, exp) = (Some(next), back);
                    continue;
                }
                Binding::NakBind(reason, _, next) => Some((next, Err(reason))),
                Binding::Closed => None,
            };
            return self.done(answer);
        }
    }

    /// Waits until there is something at each of these paths, so long at most: whoever uses what is
    /// not there then learns it.
    pub fn await_paths<'a>(&mut self, paths: impl Iterator<Item = &'a str>, patience: Duration) {
        let end = time::uptime() + patience;
        for path in paths {
            if self.find(path).is_ok() {
                continue;
            }
            // What comes between that look and the request is seen by the next look.
            let mut told = self.notify(path).ok();
            while self.find(path).is_err() && time::uptime() < end {
                told = match told {
                    // Not all that comes to be is told, as what is another server's.
                    Some(channel) => changed(channel, end.min(time::uptime() + ROUND)),
                    None => {
                        time::sleep(LOOK);
                        self.notify(path).ok()
                    }
                };
            }
        }
    }

    /// A further channel to the name server, for another process.
    ///
    /// # Errors
    /// [`Error::NoResources`] where the name server has no room, or this program its share.
    pub fn connect(&mut self) -> Result<NamespaceContract::Imp<NamespaceContract::Start>, Error> {
        let mut repeats = Repeats::new();
        loop {
            let (imp, exp) = NamespaceContract::new_channel()?;
            self.bind("/", exp)?;
            // The name server says first that it takes part, unless it has ended with this end in
            // its hands.
            if !is_closed(&imp) || !repeats.wait() {
                return Ok(imp);
            }
        }
    }

    /// The same, if the name server answers before `end`, a time of [`time::uptime`], but with [`GRACE`]
    /// at least: it answers at once if it is alive, and one that does not is given up: this channel to
    /// it is closed. That nobody has a channel any more is [`Error::NotFound`], which is not repeated.
    pub(crate) fn connect_until(
        &mut self,
        end: Duration,
    ) -> Result<NamespaceContract::Imp<NamespaceContract::Start>, Error> {
        let (imp, exp) = NamespaceContract::new_channel()?;
        let end = end.max(time::uptime() + GRACE);
        let ready = self.take().map_err(|_| Error::NotFound)?;
        let (next, granted) = bind_before(ready, "/", exp.into_service(), end)?;
        self.0 = Some(next);
        granted.map_err(Error::from)?;
        Ok(imp)
    }

    /// What matches a path specification ([`pattern`]), found as the results are taken, with one
    /// piece of them in memory at a time.
    ///
    /// # Errors
    /// [`Error::Refused`] for what is no specification.
    pub fn search(&mut self, spec: &str) -> Result<Search<'_>, Error> {
        let (directory, _) = pattern::split(spec).map_err(Refusal::from)?;
        Ok(Search {
            names: self,
            spec: spec.into(),
            directory,
            after: Some(String::new()),
            piece: Vec::new().into_iter(),
            empty: 0,
        })
    }

    /// All that matches a path specification.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no directory in which to look, or nothing at a path
    /// without wildcards; [`Error::Refused`] where the directory is none, or the specification;
    /// [`Error::NoResources`] where there is no room for the answer.
    pub fn find(&mut self, spec: &str) -> Result<Vec<Found>, Error> {
        let found: Vec<Found> = self.search(spec)?.collect::<Result<_, _>>()?;
        if found.is_empty() && !pattern::is_pattern(spec) {
            return Err(Error::NotFound);
        }
        Ok(found)
    }

    /// All names directly below a directory.
    ///
    /// # Errors
    /// As [`Names::find`].
    pub fn list(&mut self, directory: &str) -> Result<Vec<Found>, Error> {
        self.find(&pattern::under(directory, "*"))
    }

    /// One piece of a search.
    fn piece(&mut self, spec: &str, directory: &str, from: &str) -> Result<Piece, Error> {
        use NamespaceContract::imp::Finding;
        let mut repeats = Repeats::new();
        let answer = loop {
            let (spec, at, after) = (Text::new(spec)?, Text::new("")?, Text::new(from)?);
            match self.take()?.call_find(spec, at, after) {
                Finding::NakFind(Refusal::Again, next) if repeats.wait() => self.0 = Some(next),
                answer => break answer,
            }
        };
        match answer {
            Finding::AckFind(count, results, text, at, after, next) => {
                self.0 = Some(next);
                let base = at.get().filter(|at| path::is_relative(at));
                let base = base.map(|at| path::join(directory, &at));
                let found = base.and_then(|base| results_of(count, &results, &text, &base));
                let goes_on = |next: &String| {
                    next.is_empty() || path::is_relative(next) && walk::order(next, from).is_gt()
                };
                let piece = found.zip(after.get().filter(goes_on));
                // A server has answered what the contract does not say.
                piece.ok_or(Error::BadState)
            }
            Finding::NakFind(reason, next) => {
                self.0 = Some(next);
                Err(reason.into())
            }
            Finding::Closed => Err(Error::Closed),
        }
    }

    /// Registers a name server for a path and all below it. The channel that comes back brings the
    /// requests of clients there, with paths relative to this one.
    ///
    /// # Errors
    /// [`Error::Held`] where the path, or one above or below it, is another's;
    /// [`Error::NoResources`] where the name server has no room, or this program its share;
    /// [`Error::Refused`] for what is no path.
    pub fn register(
        &mut self,
        path: &str,
    ) -> Result<NamespaceContract::Exp<NamespaceContract::Ready>, Error> {
        self.register_as(path, "NamespaceContract")
    }

    /// Registers a service of a contract at a path.
    ///
    /// # Errors
    /// As [`Names::register`].
    pub fn register_as(
        &mut self,
        path: &str,
        contract: &str,
    ) -> Result<NamespaceContract::Exp<NamespaceContract::Ready>, Error> {
        use NamespaceContract::imp::Registering;
        let (mut imp, exp) = NamespaceContract::new_channel()?;
        let (exp, mut repeats) = (exp.send_success(), Repeats::new());
        loop {
            let (path, contract) = (Text::new(path)?, Text::new(contract)?);
            let answer = match self.take()?.call_register(path, contract, 0, imp) {
                Registering::AckRegister(next) => Some((next, Ok(()))),
                Registering::NakRegister(Refusal::Again, back, next) if repeats.wait() => {
                    (self.0, imp) = (Some(next), back);
                    continue;
                }
                Registering::NakRegister(reason, _, next) => Some((next, Err(reason))),
                Registering::Closed => None,
            };
            return self.done(answer).map(|()| exp);
        }
    }

    /// Makes a symbolic link. It stays as long as this channel is open, as a registration does.
    ///
    /// # Errors
    /// As [`Names::register`].
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        use NamespaceContract::imp::Linking;
        let mut repeats = Repeats::new();
        loop {
            let (path, target) = (Text::new(path)?, Text::new(target)?);
            let answer = match self.take()?.call_link(path, target, 0) {
                Linking::AckLink(next) => Some((next, Ok(()))),
                Linking::NakLink(Refusal::Again, next) if repeats.wait() => {
                    self.0 = Some(next);
                    continue;
                }
                Linking::NakLink(reason, next) => Some((next, Err(reason))),
                Linking::Closed => None,
            };
            return self.done(answer);
        }
    }

    /// The target of the link at a path.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is nothing; [`Error::BadArgument`] where there is no link.
    pub fn read_link(&mut self, path: &str) -> Result<String, Error> {
        match self.find(&pattern::literal(path))?.pop() {
            Some(found) if found.kind == NameKind::Link => Ok(found.detail),
            _ => Err(Error::BadArgument),
        }
    }

    /// Takes back a registration or a link that this channel has made.
    ///
    /// # Errors
    /// [`Error::NotFound`] if nothing is there, [`Error::Held`] if it is another's. A name server
    /// below may say [`Error::NotFound`] in both cases.
    pub fn deregister(&mut self, path: &str) -> Result<(), Error> {
        use NamespaceContract::imp::Deregistering;
        let path = Text::new(path)?;
        let answer = match self.take()?.call_deregister(path, 0) {
            Deregistering::AckDeregister(next) => Some((next, Ok(()))),
            Deregistering::NakDeregister(reason, next) => Some((next, Err(reason))),
            Deregistering::Closed => None,
        };
        self.done(answer)
    }

    /// Asks to be told when something has been registered or deregistered that matches a path
    /// specification, or is below a path that does.
    ///
    /// # Errors
    /// [`Error::NoResources`] where the name server has no room, or this program its share.
    pub fn notify(
        &mut self,
        spec: &str,
    ) -> Result<NotifyContract::Exp<NotifyContract::Start>, Error> {
        use NamespaceContract::imp::Notifying;
        let (mut imp, exp) = NotifyContract::new_channel()?;
        let mut repeats = Repeats::new();
        loop {
            let spec = Text::new(spec)?;
            let answer = match self.take()?.call_notify(spec, 0, imp) {
                Notifying::AckNotify(next) => Some((next, Ok(()))),
                Notifying::NakNotify(Refusal::Again, back, next) if repeats.wait() => {
                    (self.0, imp) = (Some(next), back);
                    continue;
                }
                Notifying::NakNotify(reason, _, next) => Some((next, Err(reason))),
                Notifying::Closed => None,
            };
            return self.done(answer).map(|()| exp);
        }
    }
}

/// Asks a name server to bind, and gives it up if it has not answered before `end`, a time of
/// [`time::uptime`].
pub(crate) fn bind_before(
    ready: Ready,
    path: &str,
    exp: Service,
    end: Duration,
) -> Result<(Ready, Result<(), Refusal>), Error> {
    let binding = ready.send_bind(Text::new(path)?, 0, exp);
    switch_receive! {
        case binding.AckBind() as next => Ok((next, Ok(()))),
        case binding.NakBind(reason, _exp) as next => Ok((next, Err(reason))),
        case binding.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
    }
}

/// Waits for a change, until this time at most; `None` if the channel is not to be used any more.
fn changed(
    channel: NotifyContract::Exp<NotifyContract::Start>,
    end: Duration,
) -> Option<NotifyContract::Exp<NotifyContract::Start>> {
    switch_receive! {
        case channel.Changed() as telling => Some(telling.send_ack()),
        case channel.ChannelClosed() => None,
        deadline end => None,
    }
}

/// The exporting side of a fresh channel whose contract derives from `ServiceContract`: what a
/// service is bound with.
#[diagnostic::on_unimplemented(
    message = "no service can be bound with `{Self}`",
    label = "not the exporting side of a service's contract, in its first state",
    note = "the contract must derive from the SDK's `ServiceContract`: `contract!` makes another one of that name, unless \
            `use sing_sdk::contracts::ServiceContract` stands behind the files"
)]
pub trait ServiceEnd: TypedEndpoint {
    /// The endpoint as one of `ServiceContract`.
    fn into_service(self) -> Service;
}

#[diagnostic::do_not_recommend]
impl<E: TypedEndpoint + Into<Service>> ServiceEnd for E {
    fn into_service(self) -> Service {
        self.into()
    }
}

/// Whether the other end of a channel is closed, and no message is left.
fn is_closed(channel: &impl Waitable) -> bool {
    sys::endpoint_peek(channel.handle().raw()) == sing_abi::status::CLOSED
}

/// The results of a piece, and where the next one begins.
type Piece = (Vec<Found>, String);

/// The results in an answer, whose server may be any program; `None` if they are none.
fn results_of(
    count: u32,
    results: &Vector<FindResponse>,
    text: &Text,
    base: &str,
) -> Option<Vec<Found>> {
    let text = text.get()?;
    let mut rest = text.as_str();
    let mut take = |len: u32| {
        let (taken, behind) = rest.split_at_checked(len as usize)?;
        rest = behind;
        Some(taken)
    };
    let count = count as usize;
    (0..count).try_fold(
        Vec::with_capacity(count.min(text.len() + 1)),
        |mut all, i| {
            let FindResponse { kind, path, detail } = results.get(i)?;
            let path = match take(path)? {
                "" => String::from(base),
                path if !path::is_relative(path) => return None,
                path => format!("{}/{path}", base.trim_end_matches('/')),
            };
            let plain = |c: char| if c.is_control() { '?' } else { c };
            let detail = take(detail)?.chars().map(plain).collect();
            all.push(Found { path, kind, detail });
            Some(all)
        },
    )
}

/// A name that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path, with the directory of the specification as it was asked.
    pub path: String,
    /// What it names.
    pub kind: NameKind,
    /// A link's target or a service's contract; empty if it is not known.
    pub detail: String,
}

impl Found {
    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Results of a search, piece by piece.
#[derive(Debug)]
pub struct Search<'a> {
    names: &'a mut Names,
    spec: String,
    directory: String,
    /// Where the next piece begins; `None` if there is no more.
    after: Option<String>,
    piece: vec::IntoIter<Found>,
    /// Pieces that have brought nothing, one behind the other.
    empty: u32,
}

/// The most pieces that bring nothing, one behind the other: whoever serves a directory could go on
/// for ever with them.
const EMPTY_PIECES: u32 = 64;

impl Iterator for Search<'_> {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.piece.next() {
                return Some(Ok(found));
            }
            let after = self.after.take()?;
            match self.names.piece(&self.spec, &self.directory, &after) {
                Ok((found, after)) => {
                    self.empty = if found.is_empty() { self.empty + 1 } else { 0 };
                    if self.empty > EMPTY_PIECES {
                        return Some(Err(Error::BadState));
                    }
                    self.piece = found.into_iter();
                    self.after = (!after.is_empty()).then_some(after);
                }
                Err(reason) => return Some(Err(reason)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A name server whose only service is at `/clock`, of a contract of this name that no client's
    /// channel has. It refuses one bind, and says what is there if it is asked.
    fn server(channel: NamespaceContract::Exp<NamespaceContract::Start>, contract: &str) {
        use NamespaceContract::exp::Ready;
        let Ready::Bind(_, _, exp, asked) = channel.send_success().recv() else {
            panic!("a client that does not bind");
        };
        let ready = asked.send_nak_bind(Refusal::OtherContract, exp);
        let Ready::Find(spec, _, _, asked) = ready.recv() else {
            panic!("a client that does not ask what is there");
        };
        assert_eq!(spec.get().as_deref(), Some("/clock"));
        let text = |text: &str| Text::new(text).expect("a block");
        let one = FindResponse {
            kind: NameKind::Service,
            path: 5,
            detail: contract.len() as u32,
        };
        let results = Vector::from_slice(&[one]).expect("a block");
        let found = text(&format!("clock{contract}"));
        drop(asked.send_ack_find(1, results, found, text(""), text("")));
    }

    /// The reason why a bind of a `ServiceContract` is refused there.
    fn refused_by_a(contract: &str) -> Result<(), Error> {
        let (imp, exp) = NamespaceContract::new_channel()?;
        thread::scope(|scope| {
            let server = scope.spawn(|| server(exp, contract));
            let mut names = Names::new(imp)?;
            let (_service, exp) = ServiceContract::new_channel()?;
            let bound = names.bind("/clock", exp);
            let _ = server.join();
            bound
        })
    }

    #[test]
    fn another_text_by_the_same_name_is_another_version() {
        let refused = refused_by_a("ServiceContract");
        assert_eq!(refused, Err(Error::OtherVersion("ServiceContract")));
        let words = refused.map_err(|error| format!("{error}"));
        assert_eq!(
            words,
            Err(String::from("speaks another version of ServiceContract"))
        );
        let refused = refused_by_a("FileContract");
        assert_eq!(refused, Err(Error::Refused(Refusal::OtherContract)));
    }
}
