//! The answer to the service manager, which asks whether a service still answers, and the words for
//! what it says of services.
//!
//! A service that declares the start-up endpoint `health: optional HealthContract.Exp:Start` is
//! asked now and then. It waits for the question beside everything else, so that an answer means:
//! the loop that serves clients goes round.
//!
//! ```
//! use sing_sdk::health::Health;
//! use sing_sdk::prelude::*;
//! use sing_sdk::provider::Provider;
//!
//! type Lookup = NamespaceContract::Exp<NamespaceContract::Start>;
//! type Asked = Option<HealthContract::Exp<HealthContract::Start>>;
//!
//! /// Tells the time, with what the manifest's `startup::clock()` and `startup::health()` give.
//! fn serve(lookup: Lookup, asked: Asked) -> Result<(), Error> {
//!     let mut health = Health::new(asked);
//!     let mut clock = Provider::<_, _>::new(lookup, ClockContract::Exp::send_success)?;
//!     loop {
//!         switch_receive! {
//!             case clock.clients[key].GetUtc() as client => {
//!                 clock.clients.put(key, client.send_utc(0));
//!             }
//!             case clock.clients[_].ChannelClosed() => {}
//!             case &health => health.answer(),
//!             case &clock.lookup => {
//!                 if clock.answer(|path| (path == "/").then_some(())).is_err() {
//!                     return Ok(());
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```

use crate::contracts::{HealthContract, ServiceState};
use crate::rt::{Handle, Waitable};
use core::fmt;

type Asked = HealthContract::Exp<HealthContract::Start>;

/// The channel over which the manager asks; something to wait for. Without one, nothing ever comes.
#[derive(Debug)]
pub struct Health(Option<Asked>);

impl Health {
    /// Answers over this endpoint, if the program was given one.
    #[must_use]
    pub fn new(endpoint: Option<Asked>) -> Health {
        Health(endpoint)
    }

    /// Answers a question, waiting for it if there is none.
    pub fn answer(&mut self) {
        self.0 = self.0.take().and_then(|asked| {
            // If the manager has gone, nobody asks any more.
            let asked = asked.recv_ping().ok()?;
            Some(asked.send_pong())
        });
    }
}

impl Waitable for Health {
    fn handle(&self) -> Handle {
        self.0.as_ref().map_or(Handle::NONE, Waitable::handle)
    }
}

/// A word, as `services` and the page of the system show it.
impl fmt::Display for ServiceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ServiceState::Waiting => "waiting",
            ServiceState::Pending => "pending",
            ServiceState::Starting => "starting",
            ServiceState::Up => "up",
            ServiceState::Delayed => "delayed",
            ServiceState::Stopped => "stopped",
            ServiceState::Failed => "failed",
            ServiceState::Ended => "ended",
        })
    }
}
