//! The name server, asked for keyboards and screens without ever waiting for it.
//!
//! Invariants:
//! - One request is under way at a time; what it answers is heard in the console's loop.
//! - What is not there is asked for again a few times, as the system may be starting, and then when
//!   a name appears in [`PLACE`]; what is there and refuses, after growing waits without end.

use crate::succession::Left;
use core::time::Duration;
use sing_sdk::contracts::{NamespaceContract, NotifyContract, Refusal, ServiceContract};
use sing_sdk::legacy;
use sing_sdk::rt::{Endpoint, Handle, Text, Waitable};
use sing_sdk::time::uptime;

/// Where the names are that appear and disappear.
const PLACE: &str = "/dev/*";
/// The first wait before a name is asked for again, and the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// The channel to the name server.
enum Names {
    Starting(NamespaceContract::Imp<NamespaceContract::Start>),
    Ready(NamespaceContract::Imp<NamespaceContract::Ready>),
    /// One of the seekers is to be bound; none, if a predecessor has asked.
    Binding(
        NamespaceContract::Imp<NamespaceContract::Binding>,
        Option<usize>,
    ),
    Notifying(NamespaceContract::Imp<NamespaceContract::Notifying>),
    Gone,
}

/// When a name is to be asked for.
pub struct Seeker {
    path: &'static str,
    /// `None`: when something changes.
    due: Option<Duration>,
    wait: Duration,
    /// It was found, and not lost since.
    found: bool,
}

impl Seeker {
    /// At once.
    pub const fn new(path: &'static str) -> Seeker {
        Seeker {
            path,
            due: Some(Duration::ZERO),
            wait: FIRST,
            found: false,
        }
    }

    /// Again after a while.
    pub fn again(&mut self) {
        self.found = false;
        self.due = Some(uptime() + self.wait);
        self.wait = (self.wait * 2).min(LONGEST);
    }

    /// It is not there: again, unless that has been tried often.
    fn missing(&mut self) {
        if self.due.is_none() && self.wait < LONGEST {
            self.again();
        }
    }

    /// Something has appeared: what was not found is asked for at once, also if a request for it is
    /// under way, whose answer may be an old one.
    fn hope(&mut self) {
        if !self.found {
            (self.due, self.wait) = (Some(Duration::ZERO), FIRST);
        }
    }

    /// What was found works: when it is lost, it is asked for at once.
    pub fn works(&mut self) {
        self.wait = FIRST;
    }
}

/// The name server.
pub struct Finder {
    names: Names,
    watch: Option<NotifyContract::Exp<NotifyContract::Start>>,
    /// When the watch is to be asked for.
    watch_due: Duration,
}

impl Finder {
    /// By this channel, if there is one.
    pub fn new(names: Option<NamespaceContract::Imp<NamespaceContract::Start>>) -> Finder {
        if let Some(names) = &names {
            legacy::keep(names, Left::Names as u32);
        }
        Finder {
            names: names.map_or(Names::Gone, Names::Starting),
            watch: None,
            watch_due: Duration::ZERO,
        }
    }

    /// By the channel that a predecessor has left, in whatever state.
    pub fn take_over(&mut self, names: Endpoint) {
        use NamespaceContract::{Binding, Imp, Notifying, Ready, Start};
        let other = match names.cast::<Imp<Ready>>() {
            Ok(channel) => return self.names = Names::Ready(channel),
            Err(other) => other,
        };
        let other = match other.cast::<Imp<Binding>>() {
            Ok(channel) => return self.names = Names::Binding(channel, None),
            Err(other) => other,
        };
        let other = match other.cast::<Imp<Notifying>>() {
            Ok(channel) => return self.names = Names::Notifying(channel),
            Err(other) => other,
        };
        self.names = other
            .cast::<Imp<Start>>()
            .map_or(Names::Gone, Names::Starting);
    }

    /// What to wait for: answers, and changes of names.
    pub fn handles(&self) -> [Handle; 2] {
        let names = match &self.names {
            Names::Starting(c) => c.handle(),
            Names::Ready(c) => c.handle(),
            Names::Binding(c, _) => c.handle(),
            Names::Notifying(c) => c.handle(),
            Names::Gone => Handle::NONE,
        };
        [
            names,
            self.watch.as_ref().map_or(Handle::NONE, Waitable::handle),
        ]
    }

    /// Until when nothing is to be asked, if anything will be.
    pub fn due(&self, seekers: &[Seeker]) -> Option<Duration> {
        matches!(self.names, Names::Ready(_)).then_some(())?;
        let watch = self.watch.is_none().then_some(self.watch_due);
        watch
            .into_iter()
            .chain(seekers.iter().filter_map(|s| s.due))
            .min()
    }

    /// Asks what is due. `open` makes a channel to a seeker's service, keeps one end and gives the
    /// other; `None` if memory is short.
    pub fn ask(
        &mut self,
        seekers: &mut [Seeker],
        open: impl FnOnce(usize) -> Option<ServiceContract::Exp<ServiceContract::Start>>,
    ) {
        let now = uptime();
        // First the watch: so no name appears unseen between a refusal and it.
        if self.watch.is_none() && self.watch_due <= now {
            self.watch_due = now + LONGEST;
            return self.watch_names();
        }
        let is_due = |seeker: &Seeker| seeker.due.is_some_and(|due| due <= now);
        let Some(at) = seekers.iter().position(is_due) else {
            return;
        };
        self.names = match core::mem::replace(&mut self.names, Names::Gone) {
            Names::Ready(channel) => match Text::new(seekers[at].path).ok().zip(open(at)) {
                Some((path, exp)) => {
                    seekers[at].due = None;
                    Names::Binding(channel.send_bind(path, 0, exp), Some(at))
                }
                None => {
                    seekers[at].again();
                    Names::Ready(channel)
                }
            },
            other => other,
        };
    }

    fn watch_names(&mut self) {
        self.names = match core::mem::replace(&mut self.names, Names::Gone) {
            Names::Ready(channel) => {
                let text = Text::new(PLACE).ok();
                match text.zip(NotifyContract::new_channel().ok()) {
                    Some((place, (imp, exp))) => {
                        self.watch = Some(exp);
                        Names::Notifying(channel.send_notify(place, 0, imp))
                    }
                    None => Names::Ready(channel),
                }
            }
            other => other,
        };
    }

    /// Receives an answer, which is there. Returns the seeker for which it was a refusal: the
    /// channel that was opened for it is of no use.
    pub fn hear(&mut self, seekers: &mut [Seeker]) -> Option<usize> {
        use NamespaceContract::imp::{Binding, Notifying};
        let (next, answer) = match core::mem::replace(&mut self.names, Names::Gone) {
            Names::Starting(channel) => (
                channel.recv_success().map_or(Names::Gone, Names::Ready),
                None,
            ),
            Names::Binding(channel, at) => match channel.recv() {
                Binding::AckBind(next) => {
                    if let Some(at) = at {
                        (seekers[at].due, seekers[at].found) = (None, true);
                    }
                    (Names::Ready(next), None)
                }
                Binding::NakBind(reason, _, next) => {
                    match at {
                        Some(at) if reason == Refusal::NotFound => seekers[at].missing(),
                        Some(at) => seekers[at].again(),
                        None => {}
                    }
                    (Names::Ready(next), at)
                }
                Binding::Closed => (Names::Gone, at),
            },
            Names::Notifying(channel) => match channel.recv() {
                Notifying::AckNotify(next) => (Names::Ready(next), None),
                Notifying::NakNotify(_, _, next) => {
                    self.watch = None;
                    (Names::Ready(next), None)
                }
                Notifying::Closed => (Names::Gone, None),
            },
            // It may not send in this state, so it has gone.
            Names::Ready(_) | Names::Gone => (Names::Gone, None),
        };
        self.names = next;
        answer
    }

    /// Hears that names have changed, or that the name server has been started again and does not
    /// know the watch.
    pub fn hear_change(&mut self, seekers: &mut [Seeker]) {
        seekers.iter_mut().for_each(Seeker::hope);
        self.watch = self
            .watch
            .take()
            .and_then(|watch| watch.recv_changed().ok())
            .map(NotifyContract::Exp::send_ack);
        if self.watch.is_none() {
            self.watch_due = uptime() + FIRST;
        }
    }
}
