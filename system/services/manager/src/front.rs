//! A service's place in the name space: requests for it come here and are passed on to the service
//! when it is up.
//!
//! The manager holds the registration itself, so that it stays while the service is restarted: no
//! other program can take the name in between, and a client that binds meanwhile waits instead of
//! being refused.
//!
//! Invariants:
//! - Every request of the name server is answered, whatever becomes of the service.
//! - At most one request is here at a time: the name server asks one after the other.
//! - Nothing here waits: a receive happens only if something is there. (What the kernel's set says
//!   may be late.)

use core::time::Duration;
use sing_sdk::plan::Place;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;

type Exp<S> = NamespaceContract::Exp<S>;
type Imp<S> = NamespaceContract::Imp<S>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

/// The name server's side.
enum Asked {
    /// It may ask.
    Nothing(Exp<NamespaceContract::Ready>),
    /// A client is to be bound, as soon as the service is up.
    Bind {
        path: Text,
        origin: u32,
        client: Service,
        next: Exp<NamespaceContract::Binding>,
    },
    /// A path is to be listed.
    Find {
        spec: Text,
        at: Text,
        after: Text,
        next: Exp<NamespaceContract::Finding>,
    },
    /// The service has the client, and its answer is awaited.
    Binding(Exp<NamespaceContract::Binding>),
    /// The service has the path.
    Finding(Exp<NamespaceContract::Finding>),
    /// The name server has gone.
    Gone,
}

/// The service's side.
enum Back {
    /// It does not run.
    None,
    /// It has not said yet that it is ready.
    Starting(Imp<NamespaceContract::Start>),
    Ready(Imp<NamespaceContract::Ready>),
    Binding(Imp<NamespaceContract::Binding>),
    Finding(Imp<NamespaceContract::Finding>),
}

/// What the service has said.
#[derive(PartialEq, Eq)]
pub enum Said {
    /// Nothing of interest.
    Nothing,
    /// That it is ready for clients.
    Up,
    /// It has closed its endpoint.
    Closed,
}

/// A service's place in the name space.
pub struct Front {
    /// The service: its position in the plan.
    pub service: usize,
    /// Its path and contract, and the service's start-up endpoint for it.
    pub place: Place,
    asked: Asked,
    back: Back,
    /// Since when a request waits: for the service to come up, or for its answer.
    since: Duration,
}

impl Front {
    /// The place of a service at which the name server asks over this channel.
    pub fn new(service: usize, place: &Place, names: Exp<NamespaceContract::Ready>) -> Front {
        Front {
            service,
            place: place.clone(),
            asked: Asked::Nothing(names),
            back: Back::None,
            since: Duration::ZERO,
        }
    }

    /// Whether the name server has closed its channel.
    pub fn is_gone(&self) -> bool {
        matches!(self.asked, Asked::Gone)
    }

    /// Serves a name server at which it was registered again, watched under a number.
    pub fn come_back(
        &mut self,
        names: Exp<NamespaceContract::Ready>,
        set: &WaitSet,
        number: u32,
    ) -> Result<(), Error> {
        set.add(&names, number)?;
        self.asked = Asked::Nothing(names);
        Ok(())
    }

    /// Has the name server's channel watched under a number.
    pub fn watch(&self, set: &WaitSet, number: u32) -> Result<(), Error> {
        match &self.asked {
            Asked::Nothing(names) => set.add(names, number),
            _ => Err(Error::BadState),
        }
    }

    /// Makes the channel over which the service will be asked, watched under a number; the end for
    /// the service.
    pub fn connect(
        &mut self,
        set: &WaitSet,
        number: u32,
    ) -> Result<Exp<NamespaceContract::Start>, Error> {
        let (imp, exp) = NamespaceContract::new_channel()?;
        set.add(&imp, number)?;
        self.back = Back::Starting(imp);
        Ok(exp)
    }

    /// The service has ended: what it was asked last, it will not answer.
    pub fn disconnect(&mut self) {
        self.back = Back::None;
        self.asked = match core::mem::replace(&mut self.asked, Asked::Gone) {
            // It took the client with it, who finds the channel closed and may bind again.
            Asked::Binding(next) => Asked::Nothing(next.send_ack_bind()),
            Asked::Finding(next) => Asked::Nothing(next.send_nak_find(Refusal::NotFound)),
            other => other,
        };
    }

    /// Whether the service is ready for clients here.
    pub fn is_up(&self) -> bool {
        !matches!(self.back, Back::None | Back::Starting(_))
    }

    /// Since when a request waits here for the service to come up.
    pub fn waits_since(&self) -> Option<Duration> {
        let waits = matches!(self.asked, Asked::Bind { .. } | Asked::Find { .. });
        waits.then_some(self.since)
    }

    /// Since when the service owes an answer.
    pub fn owes_since(&self) -> Option<Duration> {
        let owes = matches!(self.asked, Asked::Binding(_) | Asked::Finding(_));
        owes.then_some(self.since)
    }

    /// Receives what the name server asks. Returns whether a request for the service has come.
    pub fn hear(&mut self, now: Duration) -> bool {
        use NamespaceContract::exp::Ready as Request;
        // The name server may say nothing while it is owed an answer: it has closed.
        let closed = match &self.asked {
            Asked::Bind { next, .. } => next.is_ready(),
            Asked::Binding(next) => next.is_ready(),
            Asked::Find { next, .. } => next.is_ready(),
            Asked::Finding(next) => next.is_ready(),
            Asked::Nothing(_) | Asked::Gone => false,
        };
        if closed {
            self.asked = Asked::Gone;
        }
        let Asked::Nothing(names) = &self.asked else {
            return false;
        };
        if !names.is_ready() {
            return false;
        }
        let Asked::Nothing(names) = core::mem::replace(&mut self.asked, Asked::Gone) else {
            return false;
        };
        self.since = now;
        self.asked = match names.recv() {
            Request::Bind(path, origin, client, next) => Asked::Bind {
                path,
                origin,
                client,
                next,
            },
            Request::Find(spec, at, after, next) => Asked::Find {
                spec,
                at,
                after,
                next,
            },
            // Nothing below a service changes by itself, and nobody else serves a part of it.
            Request::Notify(_, _, watcher, next) => {
                Asked::Nothing(next.send_nak_notify(Refusal::NotFound, watcher))
            }
            Request::Register(_, _, _, provider, next) => {
                Asked::Nothing(next.send_nak_register(Refusal::Held, provider))
            }
            Request::Deregister(_, _, next) => {
                Asked::Nothing(next.send_nak_deregister(Refusal::Held))
            }
            Request::Link(_, _, _, next) => Asked::Nothing(next.send_nak_link(Refusal::Held)),
            Request::ReadLink(_, next) => {
                Asked::Nothing(next.send_nak_read_link(Refusal::NotFound))
            }
            Request::Closed => Asked::Gone,
        };
        self.waits_since().is_some()
    }

    /// Passes a waiting request on if the service can take it.
    pub fn pass(&mut self, now: Duration) {
        let Back::Ready(_) = self.back else {
            return;
        };
        if self.waits_since().is_none() {
            return;
        }
        let Back::Ready(back) = core::mem::replace(&mut self.back, Back::None) else {
            return;
        };
        self.since = now;
        match core::mem::replace(&mut self.asked, Asked::Gone) {
            Asked::Bind {
                path,
                origin,
                client,
                next,
            } => {
                self.back = Back::Binding(back.send_bind(path, origin, client));
                self.asked = Asked::Binding(next);
            }
            Asked::Find {
                spec,
                at,
                after,
                next,
            } => {
                self.back = Back::Finding(back.send_find(spec, at, after));
                self.asked = Asked::Finding(next);
            }
            other => {
                self.back = Back::Ready(back);
                self.asked = other;
            }
        }
    }

    /// Refuses a waiting request.
    pub fn refuse(&mut self) {
        self.asked = match core::mem::replace(&mut self.asked, Asked::Gone) {
            Asked::Bind { client, next, .. } => {
                Asked::Nothing(next.send_nak_bind(Refusal::NotFound, client))
            }
            Asked::Find { next, .. } => Asked::Nothing(next.send_nak_find(Refusal::NotFound)),
            other => other,
        };
    }

    /// Receives what the service says, and passes its answer on.
    pub fn hear_service(&mut self) -> Said {
        use NamespaceContract::imp;
        let ready = match &self.back {
            Back::None => false,
            Back::Starting(back) => back.is_ready(),
            Back::Ready(back) => back.is_ready(),
            Back::Binding(back) => back.is_ready(),
            Back::Finding(back) => back.is_ready(),
        };
        if !ready {
            return Said::Nothing;
        }
        match core::mem::replace(&mut self.back, Back::None) {
            Back::Starting(back) => {
                if let Ok(back) = back.recv_success() {
                    self.back = Back::Ready(back);
                    return Said::Up;
                }
            }
            Back::Binding(back) => match back.recv() {
                imp::Binding::AckBind(back) => {
                    self.back = Back::Ready(back);
                    self.answer(|asked| match asked {
                        Asked::Binding(next) => Asked::Nothing(next.send_ack_bind()),
                        other => other,
                    });
                    return Said::Nothing;
                }
                imp::Binding::NakBind(reason, client, back) => {
                    self.back = Back::Ready(back);
                    self.answer(|asked| match asked {
                        Asked::Binding(next) => Asked::Nothing(next.send_nak_bind(reason, client)),
                        other => other,
                    });
                    return Said::Nothing;
                }
                imp::Binding::Closed => {}
            },
            Back::Finding(back) => match back.recv() {
                imp::Finding::AckFind(count, results, text, at, after, back) => {
                    self.back = Back::Ready(back);
                    self.answer(|asked| match asked {
                        Asked::Finding(next) => {
                            Asked::Nothing(next.send_ack_find(count, results, text, at, after))
                        }
                        other => other,
                    });
                    return Said::Nothing;
                }
                imp::Finding::NakFind(reason, back) => {
                    self.back = Back::Ready(back);
                    self.answer(|asked| match asked {
                        Asked::Finding(next) => Asked::Nothing(next.send_nak_find(reason)),
                        other => other,
                    });
                    return Said::Nothing;
                }
                imp::Finding::Closed => {}
            },
            // It may not send in this state, so its channel is closed.
            Back::Ready(_) | Back::None => {}
        }
        self.disconnect();
        Said::Closed
    }

    fn answer(&mut self, answer: impl FnOnce(Asked) -> Asked) {
        self.asked = answer(core::mem::replace(&mut self.asked, Asked::Gone));
    }
}
