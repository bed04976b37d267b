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

use crate::contracts::{NamespaceContract, Refusal, ServiceContract};
use crate::names::Names;
use crate::prelude::switch_receive;
use crate::rt::{Closed, Text};
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
/// it, and the caller's stays usable. All refusals are [`Error::NotFound`], but for that of a name server that
/// was just started again.
pub(crate) fn bind_until(
    names: &mut Names,
    path: &str,
    service: ServiceContract::Exp<ServiceContract::Start>,
    end: Duration,
) -> Result<(), Error> {
    let names = names.connect()?;
    let names = switch_receive! {
        case names.Success() as ready => ready,
        case names.ChannelClosed() => return Err(Error::Closed),
        deadline end => return Err(Error::Timeout),
    };
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(path)?, 0, service);
    switch_receive! {
        case binding.AckBind() as _ => Ok(()),
        case binding.NakBind(reason, _exp) as _ => Err(match reason {
            Refusal::Again => Error::Refused(reason),
            _ => Error::NotFound,
        }),
        case binding.ChannelClosed() => Err(Error::Closed),
        deadline end => Err(Error::Timeout),
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
