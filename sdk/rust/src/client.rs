//! A client of a service that may be restarted while it is used.
//!
//! When a service ends, its clients find their channels closed. The service manager starts it again
//! under the same name, so a client can bind that name again and go on. [`Client`] does so for
//! requests that may be repeated: those that a service can answer twice without harm.
//!
//! Invariant: a request is not repeated without end. What was asked longer than
//! [`PATIENCE`] ago is not asked again, and the error is the caller's. An answer itself is
//! waited for as the request does it: of a service that holds its channel open and never answers,
//! `call_` waits for ever.

use crate::contracts::{Refusal, ServiceContract};
use crate::names::{Names, bind_before};
use crate::prelude::switch_receive;
use crate::rt::Closed;
use crate::{Error, time};
use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// How long a request is repeated while its channels are closed.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The first wait before a service is bound again.
const FIRST_WAIT: Duration = Duration::from_millis(2);
/// The longest.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// The longest of waits that go on without end.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a name that is not there may still appear: the system may be starting.
const APPEARING: Duration = Duration::from_millis(200);

/// A service in the name space, of which requests are repeated when it was restarted meanwhile.
///
/// ```
/// use sing_sdk::client::Client;
/// use sing_sdk::names::Names;
/// use sing_sdk::prelude::*;
///
/// /// The time, also if the clock ends while it is asked.
/// fn now(names: &mut Names) -> Result<u64, Error> {
///     let mut clock = Client::new("/clock", |names, path| {
///         let (clock, exp) = ClockContract::new_channel()?;
///         names.bind(path, exp)?;
///         Ok(clock.recv_success()?)
///     });
///     clock.ask(names, |clock| clock.call_get_utc().utc())
/// }
/// ```
pub struct Client<S> {
    path: String,
    bind: fn(&mut Names, &str) -> Result<S, Error>,
    channel: Option<S>,
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.path)
    }
}

impl<S> Client<S> {
    /// A client of the service at a path. `bind` binds it; it does so when it is asked first, and
    /// again after its channel was closed.
    #[must_use]
    pub fn new(path: &str, bind: fn(&mut Names, &str) -> Result<S, Error>) -> Self {
        Client {
            path: path.into(),
            bind,
            channel: None,
        }
    }

    /// Sends a request and receives the answer; again over a new channel if this one was closed.
    ///
    /// # Errors
    /// [`Error::NotFound`] if nobody serves the path, [`Error::Closed`] if every channel was closed
    /// before an answer for [`PATIENCE`], and the other errors of [`Names::bind`].
    pub fn ask<T>(
        &mut self,
        names: &mut Names,
        mut request: impl FnMut(S) -> Result<(T, S), Closed>,
    ) -> Result<T, Error> {
        let mut patience = Patience::new();
        loop {
            let channel = match self.channel.take() {
                Some(channel) => Ok(channel),
                None => (self.bind)(names, &self.path),
            };
            let error = match channel.map(&mut request) {
                Ok(Ok((answer, channel))) => {
                    self.channel = Some(channel);
                    return Ok(answer);
                }
                Ok(Err(Closed)) => Error::Closed,
                Err(error) => error,
            };
            patience.wait(error)?;
        }
    }
}

/// Binds a service that may be starting, for requests that may not be repeated.
///
/// # Errors
/// As [`Client::ask`].
pub fn bind<S>(
    names: &mut Names,
    path: &str,
    bind: fn(&mut Names, &str) -> Result<S, Error>,
) -> Result<S, Error> {
    let mut patience = Patience::new();
    loop {
        match bind(names, path) {
            Err(error) => patience.wait(error)?,
            bound => return bound,
        }
    }
}

/// Binds the path, if name server and service are there before `end`, a time of
/// [`crate::time::uptime`].
///
/// The name server is asked over a connection of its own: one on which a bind hangs is given up with
/// it, and the caller's stays usable. For that connection it has some seconds, whatever `end` is; one
/// that does not even give it is given up. All refusals are [`Error::NotFound`], but for that of a name
/// server that was just started again.
pub(crate) fn bind_until(
    names: &mut Names,
    path: &str,
    service: ServiceContract::Exp<ServiceContract::Start>,
    end: Duration,
) -> Result<(), Error> {
    let connection = names.connect_until(end)?;
    let ready = switch_receive! {
        case connection.Success() as ready => ready,
        case connection.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    match bind_before(ready, path, service, end)? {
        (_, Ok(())) => Ok(()),
        (_, Err(Refusal::Again)) => Err(Error::Refused(Refusal::Again)),
        (_, Err(_)) => Err(Error::NotFound),
    }
}

/// Makes an attempt, and further ones until `end`, a time of [`crate::time::uptime`], as long as each fails
/// only because the name server or the service was started again meanwhile.
pub(crate) fn until<T>(
    end: Duration,
    mut attempt: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut wait = FIRST_WAIT;
    loop {
        let outcome = attempt();
        let left = end.saturating_sub(time::uptime());
        match outcome {
            Err(Error::Closed | Error::Refused(Refusal::Again)) if !left.is_zero() => {
                time::sleep(wait.min(left));
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            outcome => return outcome,
        }
    }
}

/// Attempts of [`reach`].
const ATTEMPTS: u32 = 5;

/// Binds a service, also if the name server or the service is started again in just this moment,
/// which loses the endpoint on its way: a channel that is closed before anything was said over it is
/// replaced by another, a few times.
///
/// # Errors
/// As [`Names::bind`]; [`Error::Closed`] if the service does not take this client.
pub fn reach<S>(
    names: &mut Names,
    path: &str,
    bind: impl Fn(&mut Names, &str) -> Result<S, Error>,
) -> Result<S, Error> {
    let mut repeats = Repeats::new();
    for _ in 1..ATTEMPTS {
        match bind(names, path) {
            Err(Error::Closed) if repeats.wait() => {}
            other => return other,
        }
    }
    bind(names, path)
}

/// Waits between attempts that go on without end.
pub(crate) struct Waits(Duration);

impl Waits {
    /// Before the second attempt.
    pub(crate) fn new() -> Waits {
        Waits(FIRST_WAIT)
    }

    /// Waits before the next one.
    pub(crate) fn wait(&mut self) {
        time::sleep(self.0);
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

/// Repeats of one request that is refused only for now, with growing waits between them.
pub(crate) struct Repeats {
    /// Since the first refusal, how long it is tried.
    until: Option<Duration>,
    wait: Duration,
}

impl Repeats {
    /// For a request that has not been refused yet.
    pub(crate) fn new() -> Repeats {
        Repeats {
            until: None,
            wait: FIRST_WAIT,
        }
    }

    /// Waits before the next attempt. False if there is to be none: it has been tried for
    /// [`PATIENCE`].
    pub(crate) fn wait(&mut self) -> bool {
        let now = time::uptime();
        if now >= *self.until.get_or_insert(now + PATIENCE) {
            return false;
        }
        time::sleep(self.wait);
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        true
    }
}

/// How long failures have lasted.
struct Patience {
    start: Duration,
    missing_since: Option<Duration>,
    wait: Duration,
}

impl Patience {
    fn new() -> Patience {
        Patience {
            start: time::uptime(),
            missing_since: None,
            wait: FIRST_WAIT,
        }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The failure's, if there is nothing to wait for, or not any longer.
    fn wait(&mut self, error: Error) -> Result<(), Error> {
        let now = time::uptime();
        let (since, patience) = match error {
            Error::Closed => {
                self.missing_since = None;
                (self.start, PATIENCE)
            }
            Error::NotFound => (*self.missing_since.get_or_insert(now), APPEARING),
            other => return Err(other),
        };
        if now.saturating_sub(since) >= patience {
            return Err(error);
        }
        time::sleep(self.wait);
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::{ClockContract, NamespaceContract};
    use crate::names::GRACE;
    use crate::rt::TypedEndpoint as _;
    use alloc::vec;
    use alloc::vec::Vec;
    use std::thread;

    type Asked = NamespaceContract::Exp<NamespaceContract::Ready>;

    /// Attempts that have these outcomes, one after the other: what comes of them within this time,
    /// and how many were made.
    fn attempts(within: Duration, outcomes: &[Result<u32, Error>]) -> (Result<u32, Error>, usize) {
        let mut made = 0;
        let outcome = until(time::uptime() + within, || {
            made += 1;
            outcomes
                .get(made - 1)
                .or(outcomes.last())
                .copied()
                .unwrap_or(Ok(0))
        });
        (outcome, made)
    }

    #[test]
    fn an_attempt_is_repeated_where_something_is_started_again() {
        let long = Duration::from_secs(60);
        let (closed, again) = (Err(Error::Closed), Err(Error::Refused(Refusal::Again)));
        assert_eq!(attempts(long, &[Ok(7)]), (Ok(7), 1));
        assert_eq!(attempts(long, &[closed, again, closed, Ok(7)]), (Ok(7), 4));
        for error in [Error::NotFound, Error::Timeout, Error::NoResources] {
            assert_eq!(
                attempts(long, &[closed, Err(error), Ok(7)]),
                (Err(error), 2)
            );
        }
    }

    #[test]
    fn attempts_have_an_end() {
        let begun = time::uptime();
        let (outcome, made) = attempts(Duration::from_millis(30), &[Err(Error::Closed)]);
        assert_eq!(outcome, Err(Error::Closed));
        // With waits of 2, 4, 8 ms and so on between them, and one at the end.
        assert!((2..=6).contains(&made), "{made}");
        assert!(time::uptime() - begun >= Duration::from_millis(30));
        assert_eq!(
            attempts(Duration::ZERO, &[Err(Error::Closed), Ok(7)]),
            (Err(Error::Closed), 1)
        );
    }

    /// The next bind that a client asks for.
    fn bind_of(
        server: Asked,
        wanted: &str,
    ) -> (
        crate::names::Service,
        NamespaceContract::Exp<NamespaceContract::Binding>,
    ) {
        use NamespaceContract::exp::Ready;
        let Ready::Bind(path, _, exp, asked) = server.recv() else {
            panic!("a client that does not bind");
        };
        assert_eq!(path.get().as_deref(), Some(wanted));
        (exp, asked)
    }

    /// What comes of a bind of `/clock` within this time, where this serves names.
    fn bound(
        within: Duration,
        server: impl FnOnce(Asked) -> Vec<Asked> + Send,
    ) -> Result<(), Error> {
        let (imp, exp) = NamespaceContract::new_channel()?;
        thread::scope(|scope| {
            // What it returns stays open until the client is done.
            let server = scope.spawn(|| server(exp.send_success()));
            let mut names = Names::new(imp)?;
            let (_clock, exp) = ClockContract::new_channel()?;
            let bound = bind_until(&mut names, "/clock", exp.into(), time::uptime() + within);
            drop(names);
            drop(server.join());
            bound
        })
    }

    /// Gives a connection of its own; the server's end of it.
    fn connected(names: Asked) -> (Asked, Asked) {
        let (connection, asked) = bind_of(names, "/");
        let connection = connection.into_endpoint().cast();
        let connection: NamespaceContract::Exp<NamespaceContract::Start> =
            connection.expect("a connection to the name server");
        (asked.send_ack_bind(), connection.send_success())
    }

    #[test]
    fn a_path_is_bound_over_a_connection_of_its_own() {
        let long = Duration::from_secs(60);
        let granted = bound(long, |names| {
            let (names, own) = connected(names);
            let (_clock, asked) = bind_of(own, "/clock");
            vec![names, asked.send_ack_bind()]
        });
        assert_eq!(granted, Ok(()));
        for (reason, error) in [
            (Refusal::NotFound, Error::NotFound),
            (Refusal::NoResources, Error::NotFound),
            (Refusal::Again, Error::Refused(Refusal::Again)),
        ] {
            let refused = bound(long, |names| {
                let (names, own) = connected(names);
                let (clock, asked) = bind_of(own, "/clock");
                vec![names, asked.send_nak_bind(reason, clock)]
            });
            assert_eq!(refused, Err(error));
        }
    }

    #[test]
    fn a_bind_has_an_end_whoever_is_silent() {
        let short = Duration::from_millis(30);
        // The name server itself does not answer, or not over the new connection, or not the bind.
        let silent = bound(short, |names| {
            let held = bind_of(names, "/");
            thread::sleep(GRACE * 2);
            drop(held);
            Vec::new()
        });
        assert_eq!(silent, Err(Error::Timeout));
        let silent = bound(short, |names| {
            let (held, asked) = bind_of(names, "/");
            let names = asked.send_ack_bind();
            thread::sleep(short * 2);
            drop(held);
            vec![names]
        });
        assert_eq!(silent, Err(Error::Timeout));
        let silent = bound(short, |names| {
            let (names, own) = connected(names);
            let held = bind_of(own, "/clock");
            thread::sleep(short * 2);
            drop(held);
            vec![names]
        });
        assert_eq!(silent, Err(Error::Timeout));
    }

    #[test]
    fn a_name_server_that_is_late_with_a_connection_stays_the_clients() {
        let (imp, exp) = NamespaceContract::new_channel().unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                let names = exp.send_success();
                thread::sleep(Duration::from_millis(5));
                connected(names)
            });
            let mut names = Names::new(imp).unwrap();
            let (_clock, exp) = ClockContract::new_channel().unwrap();
            let bound = bind_until(&mut names, "/clock", exp.into(), Duration::ZERO);
            assert!(bound.is_err() && names.is_usable(), "{bound:?}");
            drop(server.join());
        });
    }

    #[test]
    fn an_end_is_told_from_silence() {
        let long = Duration::from_secs(60);
        let ended = bound(long, |names| {
            drop(bind_of(names, "/"));
            Vec::new()
        });
        assert_eq!(ended, Err(Error::Closed));
        let ended = bound(long, |names| {
            let (names, own) = connected(names);
            drop(bind_of(own, "/clock"));
            vec![names]
        });
        assert_eq!(ended, Err(Error::Closed));
    }
}
