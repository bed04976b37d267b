//! A service that answers the requests of a mount: one process for all of them, which the service
//! manager starts, and to which each request brings a channel of its own.
//!
//! Invariants:
//! - The service gets nothing of this server's but the request.
//! - A service that does not answer costs the requests of its mounts a bounded time, and no others
//!   anything: each mount has a channel of its own to the name server.

use crate::pool::Start;
use core::time::Duration;
use sing_sdk::client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync::{self, Mutex};
use sing_sdk::time::Timeout;

type Ready = WebServiceContract::Imp<WebServiceContract::Ready>;

/// How long the service may take to take a request.
const PATIENCE: Duration = Duration::from_secs(2);
/// The channel to the service may have ended since it was used last.
const ATTEMPTS: usize = 2;

pub struct Service {
    state: Mutex<State>,
}

struct State {
    names: Names,
    channel: Option<Ready>,
}

fn bind(names: &mut Names, path: &str) -> Result<Ready, Error> {
    client::reach(names, path, |names, path| {
        let (service, exp) = WebServiceContract::new_channel()?;
        names.bind(path, exp)?;
        sync::wait(&service, Timeout::from(PATIENCE))?;
        Ok(service.recv_success()?)
    })
}

impl Service {
    /// # Errors
    /// The name server takes no further channel.
    pub fn new(names: &mut Names) -> Result<Service, Error> {
        let names = Names::new(names.connect()?)?;
        let channel = None;
        let state = Mutex::new(State { names, channel });
        Ok(Service { state })
    }

    /// A channel for a request to the service at a path.
    pub fn connect(&self, path: &str) -> Result<Start, String> {
        let said = |error: Error| format!("{path}: {error}");
        let mut state = self.state.lock();
        for _ in 0..ATTEMPTS {
            let service = match state.channel.take() {
                Some(channel) => channel,
                None => bind(&mut state.names, path).map_err(said)?,
            };
            let (channel, requests) = WebContract::new_channel().map_err(said)?;
            let asked = service.send_serve(requests);
            let patience = Timeout::from(PATIENCE);
            if sync::wait(&asked, patience).is_err() {
                return Err(format!("{path}: does not take the request"));
            }
            if let Ok(service) = asked.recv_taken() {
                state.channel = Some(service);
                return Ok(channel);
            }
        }
        Err(format!("{path}: ends when it is asked"))
    }
}
