//! Clients of the manager itself: what they are told of services, and what they tell.
//!
//! Invariants:
//! - No client makes the manager wait: a receive happens only if something is there.
//! - Clients are bounded in number, and each program has its share of them; what a client sends is
//!   bounded before it is read.

use sing_sdk::door::Turned;
use sing_sdk::fs::text;
use sing_sdk::prelude::*;
use sing_sdk::rt::Endpoint;
use sing_sdk::set::WaitSet;
use sing_sdk::share;

/// The most clients at a time.
const MOST: usize = 256;
/// Clients that each program may have while there is room, whatever its share.
const LEAST: usize = 8;
/// The longest name of a service.
const NAME: usize = 64;

/// A client's channel.
enum Talk {
    Info(ServicesContract::Exp<ServicesContract::Ready>),
    Control(ServiceControlContract::Exp<ServiceControlContract::Ready>),
    /// The reader of a service's file: its text as it was when it was opened.
    File(String, FileContract::Exp<FileContract::Ready>),
}

/// What a client wants done with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Start,
    Stop,
    Restart,
}

/// What the clients' requests are about: the manager.
pub trait Services {
    /// The position of a service.
    fn find(&self, name: &str) -> Option<usize>;
    /// State, process, restarts, nanoseconds in this state, reason; as they are now.
    fn status(&mut self, service: usize) -> (ServiceState, u32, u32, u64, String);
    /// The processes of all services that run.
    fn processes(&mut self) -> Vec<ServiceProcess>;
    /// Does what a client wants.
    fn wish(&mut self, service: usize, wish: Wish) -> Result<(), ServiceRefusal>;
}

/// All clients.
#[derive(Default)]
pub struct Clients(Vec<Option<(u32, Talk)>>);

impl Clients {
    /// Takes a client: of a file if there is a text, otherwise of the manager itself. Watched under
    /// `number` of its place.
    ///
    /// # Errors
    /// The client, with the reason.
    pub fn take(
        &mut self,
        origin: u32,
        client: Endpoint,
        text: Option<String>,
        set: &WaitSet,
        number: impl Fn(usize) -> u32,
    ) -> Result<(), Turned> {
        let (mut all, mut same) = (0, 0);
        for (of, _) in self.0.iter().flatten() {
            all += 1;
            same += usize::from(*of == origin);
        }
        if !share::allows(origin, same, 1, MOST - all, LEAST) {
            return Err((Refusal::NoResources, client));
        }
        let place = self
            .0
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.0.len());
        // An endpoint that cannot be watched is dropped: its client finds it closed.
        let (talk, watched) = match text {
            Some(text) => {
                let file: FileContract::Exp<FileContract::Start> =
                    client.cast().map_err(|c| (Refusal::OtherContract, c))?;
                let file = file.send_success();
                let watched = set.add(&file, number(place));
                (Talk::File(text, file), watched)
            }
            None => match client.cast::<ServicesContract::Exp<ServicesContract::Start>>() {
                Ok(info) => {
                    let info = info.send_success();
                    let watched = set.add(&info, number(place));
                    (Talk::Info(info), watched)
                }
                Err(client) => {
                    let control: ServiceControlContract::Exp<ServiceControlContract::Start> =
                        client.cast().map_err(|c| (Refusal::OtherContract, c))?;
                    let control = control.send_success();
                    let watched = set.add(&control, number(place));
                    (Talk::Control(control), watched)
                }
            },
        };
        if watched.is_ok() {
            if place == self.0.len() {
                self.0.push(None);
            }
            self.0[place] = Some((origin, talk));
        }
        Ok(())
    }

    /// Answers a client whose channel is ready.
    pub fn serve(&mut self, place: usize, services: &mut impl Services) {
        let Some(slot) = self.0.get_mut(place) else {
            return;
        };
        let is_ready = slot.as_ref().is_some_and(|(_, talk)| match talk {
            Talk::Info(channel) => channel.is_ready(),
            Talk::Control(channel) => channel.is_ready(),
            Talk::File(_, channel) => channel.is_ready(),
        });
        if !is_ready {
            return;
        }
        *slot = slot.take().and_then(|(origin, talk)| {
            let next = match talk {
                Talk::Info(channel) => inform(channel, services).map(Talk::Info),
                Talk::Control(channel) => control(channel, services).map(Talk::Control),
                Talk::File(text, channel) => {
                    text::answer(&text, channel).map(|channel| Talk::File(text, channel))
                }
            };
            next.map(|talk| (origin, talk))
        });
    }
}

/// The service that a client names.
fn named(name: &Text, services: &impl Services) -> Option<usize> {
    services.find(&name.get_within(NAME)?)
}

fn inform(
    channel: ServicesContract::Exp<ServicesContract::Ready>,
    services: &mut impl Services,
) -> Option<ServicesContract::Exp<ServicesContract::Ready>> {
    use ServicesContract::exp::Ready as Request;
    Some(match channel.recv() {
        Request::GetStatus(name, next) => {
            let status = named(&name, services).and_then(|service| {
                let (state, process, restarts, time, reason) = services.status(service);
                Some((state, process, restarts, time, Text::new(&reason).ok()?))
            });
            match status {
                Some((state, process, restarts, time, reason)) => {
                    next.send_status(state, process, restarts, time, reason)
                }
                None => next.send_no_status(),
            }
        }
        // No block is empty.
        Request::GetProcesses(next) => {
            let all = services.processes();
            match Vector::from_slice(&all) {
                Ok(all) if !all.is_empty() => next.send_processes(all),
                _ => next.send_no_processes(),
            }
        }
        Request::Closed => return None,
    })
}

fn control(
    channel: ServiceControlContract::Exp<ServiceControlContract::Ready>,
    services: &mut impl Services,
) -> Option<ServiceControlContract::Exp<ServiceControlContract::Ready>> {
    use ServiceControlContract::exp::Ready as Request;
    let mut done = |name: &Text, wish| match named(name, services) {
        Some(service) => services.wish(service, wish),
        None => Err(ServiceRefusal::NotFound),
    };
    // Each request leads to a state of its own, so that one function cannot answer all.
    macro_rules! answer {
        ($next:expr, $done:expr) => {
            match $done {
                Ok(()) => $next.send_done(),
                Err(reason) => $next.send_refused(reason),
            }
        };
    }
    Some(match channel.recv() {
        Request::StartService(name, next) => answer!(next, done(&name, Wish::Start)),
        Request::StopService(name, next) => answer!(next, done(&name, Wish::Stop)),
        Request::RestartService(name, next) => answer!(next, done(&name, Wish::Restart)),
        Request::Closed => return None,
    })
}
