//! Calls of the program that the system is embedded in: the device by which they come. Its messages
//! are those of `sing-calls`.
//!
//! It looks like a virtio device with two queues: blocks that it fills with requests, on the thread
//! of the host that makes one, and answers, which it reads on the kernel's thread when the driver
//! adds them. It has no thread of its own. A thread that waits for its answer is the kernel's itself
//! meanwhile, unless another is ([`Baton`]).
//!
//! Invariants:
//! - A request is in `waiting`, in memory of the host's, or with the driver, until it is answered.
//! - Nothing of the host's runs within the kernel: an answer is put down, and the thread that
//!   waits for it is woken.
//! - What a driver answers to nothing is not copied, and of what it hands in at once no more than a
//!   turn may move, beside the first answer: the whole system waits for it.
//! - A process that was made by a fork has no system, whose threads it does not have: nothing
//!   here takes a lock there, which a thread that is not there might have, or waits.
//! - Once the system has ended, every request has an answer: that it has.

use super::calls_answer::{Pending, Place, Reply, locked};
use super::mmio::{Model, TURN, Ticket, Transport};
use super::queue::{Chain, bytes};
use crate::baton::Baton;
use crate::origin::Origin;
use crate::signals::beside;
use crate::wakers::Wakers;
use crate::{HostedHal, hosted};
use sing_calls::{Answer, BLOCK, DEVICE, HEAD, Op, Outcome, RECEIVE, Request, SEND};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long it waits before it interrupts the kernel again, if Linux has refused that.
const AGAIN: Duration = Duration::from_millis(1);

/// The host's end of the device.
#[derive(Default)]
pub struct Port {
    /// The process that the system is in.
    origin: Origin,
    state: Mutex<State>,
    /// Wakers to be called, by a thread of the host's.
    wakers: Arc<Wakers>,
    /// Who runs the kernel.
    baton: Baton,
}

#[derive(Default)]
struct State {
    /// Messages for the driver.
    waiting: VecDeque<Vec<u8>>,
    /// Blocks that the driver has handed in.
    free: VecDeque<Ticket>,
    /// Places of answers, by the requests' numbers.
    open: BTreeMap<u64, Arc<Place>>,
    last: u64,
    device: Option<Arc<Transport>>,
    ended: Option<i32>,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl Port {
    /// Hands the system a request, and waits for the answer. The system runs on this thread
    /// meanwhile, unless another runs it already.
    #[must_use]
    pub fn call(
        self: &Arc<Self>,
        op: Op,
        process: u64,
        time: u64,
        name: &str,
        bytes: &[u8],
    ) -> Reply {
        if self.is_elsewhere() {
            return Reply::ended();
        }
        let lent = self.lend();
        let mut pending = self.put_in(op, process, time, name, bytes);
        match lent {
            Some(hosted) => self.run(hosted, pending.id),
            None => pending.tell_sleeper(),
        }
        pending.wait()
    }

    /// The machine, if nobody runs its kernel and this thread may: it is the one to do that now.
    pub(super) fn lend(&self) -> Option<&'static HostedHal> {
        if !self.baton.take() {
            return None;
        }
        // The machine of this port: it goes only when the system has ended, which keeps the baton.
        // What the host has for its sockets, the system's own thread looks for when the kernel rests.
        let machine = hosted().filter(|hosted| hosted.devices.idle().is_none() && beside::lend());
        if machine.is_none() {
            self.baton.give();
        }
        machine
    }

    /// Runs the kernel on this thread, which was lent, until it is idle or this request is answered.
    pub(super) fn run(&self, hosted: &HostedHal, id: u64) {
        self.baton.run(hosted, id);
        self.baton.give();
    }

    /// Who calls wakers.
    pub(super) fn wakers(&self) -> &Arc<Wakers> {
        &self.wakers
    }

    /// Who runs the kernel.
    pub(crate) fn baton(&self) -> &Baton {
        &self.baton
    }

    /// Hands the system a request. The kernel is told of it at once if it sleeps; otherwise when the
    /// answer is asked for.
    pub fn ask(
        self: &Arc<Self>,
        op: Op,
        process: u64,
        time: u64,
        name: &str,
        bytes: &[u8],
    ) -> Pending {
        if self.is_elsewhere() {
            return Pending {
                place: Arc::default(),
                port: Arc::clone(self),
                id: 0,
                untold: false,
            };
        }
        let mut pending = self.put_in(op, process, time, name, bytes);
        pending.tell_sleeper();
        pending
    }

    /// Hands the system a request, in the process that it is in, and tells nobody.
    fn put_in(
        self: &Arc<Self>,
        op: Op,
        process: u64,
        time: u64,
        name: &str,
        bytes: &[u8],
    ) -> Pending {
        let place = Arc::new(Place::default());
        let mut state = locked(&self.state);
        state.last += 1;
        let id = state.last;
        let mut pending = Pending {
            place: Arc::clone(&place),
            port: Arc::clone(self),
            id,
            untold: false,
        };
        if state.ended.is_some() {
            drop(state);
            place.put(Reply::ended(), &self.wakers);
            return pending;
        }
        let head = Request {
            op,
            id,
            process,
            time,
            name: name.len(),
            bytes: bytes.len(),
        };
        let message = [&head.encode()[..], name.as_bytes(), bytes].concat();
        state.open.insert(id, place);
        state.waiting.push_back(message);
        self.pass_on(state);
        // Also where the line was high already: its interrupt may be due since an earlier request
        // that nobody has asked for yet.
        pending.untold = true;
        pending
    }

    /// Tells the system what has no answer: that a kept process is to be closed, or that nobody
    /// waits for a request any more.
    pub fn tell(&self, op: Op, number: u64) {
        if self.is_elsewhere() {
            return;
        }
        let mut state = locked(&self.state);
        if state.ended.is_some() {
            return;
        }
        if op == Op::Cancel {
            state.open.remove(&number);
        }
        let head = Request {
            op,
            id: number,
            process: number,
            time: 0,
            name: 0,
            bytes: 0,
        };
        state.waiting.push_back(head.encode().to_vec());
        self.pass_on(state);
        if super::due() {
            self.interrupt();
        }
    }

    /// Fills blocks of the driver's with what waits. The kernel is to be told if an interrupt is
    /// [due](super::due) then.
    fn pass_on<'p>(&'p self, mut state: MutexGuard<'p, State>) {
        while let Some((ticket, message)) = state.next() {
            let Some(transport) = state.device.clone() else {
                break;
            };
            // The kernel takes the lock as soon as it sees the request.
            let last = state.waiting.is_empty();
            drop(state);
            transport.finish(ticket, |chain| chain.fill(&message) as u32);
            if last {
                break;
            }
            state = locked(&self.state);
        }
    }

    /// Whether the system is in another process, of which this one is a fork.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.origin.is_elsewhere()
    }

    /// Has the system end soon.
    pub(crate) fn stop(&self) {
        self.baton.stop();
        self.interrupt();
    }

    /// Interrupts the thread that runs the kernel, or wakes the system's, so that it looks at what has
    /// come, and whether it is to end. While Linux refuses the signal this waits, until the kernel has
    /// looked by itself or ended.
    pub(crate) fn interrupt(&self) {
        while !self.baton.kick() {
            std::thread::sleep(AGAIN);
            if !super::due() && !self.baton.stops() {
                return;
            }
        }
    }

    /// Waits for the thread that calls wakers, of a system that has ended.
    pub(crate) fn join(&self) {
        self.wakers.join();
    }

    /// The status of the system, once it has ended.
    #[must_use]
    pub fn status(&self) -> Option<i32> {
        if self.is_elsewhere() {
            return None;
        }
        locked(&self.state).ended
    }

    /// The system has ended with this status: answers all requests so.
    pub(crate) fn end(&self, status: i32) {
        let mut state = locked(&self.state);
        state.ended = Some(status);
        let device = state.device.take();
        state.waiting.clear();
        state.free.clear();
        let open = std::mem::take(&mut state.open);
        drop(state);
        // A thread may be filling a block still: this waits for it, and then none reaches memory of
        // the system's any more. Without the lock, which the model takes for it.
        if let Some(transport) = device {
            transport.reset();
        }
        for place in open.into_values() {
            place.put(Reply::ended(), &self.wakers);
        }
        self.wakers.end();
    }

    /// Takes the place of an answer that is waited for.
    fn take(&self, id: u64) -> Option<Arc<Place>> {
        locked(&self.state).open.remove(&id)
    }
}

impl State {
    /// The next message, and a block of the driver's for it.
    fn next(&mut self) -> Option<(Ticket, Vec<u8>)> {
        if self.waiting.is_empty() {
            return None;
        }
        Some((self.free.pop_front()?, self.waiting.pop_front()?))
    }
}

/// Makes the device. The calling thread is the kernel's.
pub(super) fn start(port: &Arc<Port>, transport: &Arc<Transport>) -> Box<dyn Model> {
    locked(&port.state).device = Some(Arc::clone(transport));
    Box::new(Calls {
        port: Arc::clone(port),
        moved: 0,
    })
}

struct Calls {
    port: Arc<Port>,
    /// Bytes of answers that were copied since the driver said that there are some.
    moved: usize,
}

impl Calls {
    /// The reply for an answer that is in a chain.
    fn reply(&mut self, answer: &Answer, chain: &Chain) -> Reply {
        if self.moved > 0 && self.moved.saturating_add(answer.bytes) > TURN {
            return Reply {
                outcome: Some(Outcome::Ended),
                bytes: b"its answer came with too many others at once".to_vec(),
            };
        }
        self.moved += answer.bytes;
        Reply {
            outcome: Some(answer.outcome),
            bytes: chain.copy(),
        }
    }
}

impl Model for Calls {
    fn id(&self) -> u32 {
        DEVICE
    }

    fn queues(&self) -> usize {
        2
    }

    fn most(&self) -> usize {
        BLOCK
    }

    fn keeps(&mut self, _: usize) -> bool {
        self.moved = 0;
        false
    }

    fn serve(&mut self, chain: &mut Chain, ticket: Ticket) -> Option<u32> {
        if ticket.queue == RECEIVE as usize {
            let mut state = locked(&self.port.state);
            let Some(message) = state.waiting.pop_front() else {
                state.free.push_back(ticket);
                return None;
            };
            drop(state);
            return Some(chain.fill(&message) as u32);
        }
        debug_assert_eq!(ticket.queue, SEND as usize);
        let mut head = [0; HEAD];
        if !chain.take_head(&mut head) {
            return Some(0);
        }
        if let Ok(answer) = Answer::decode(&head)
            && bytes(&chain.readable) == answer.bytes
            && let Some(place) = self.port.take(answer.id)
        {
            place.put(self.reply(&answer, chain), &self.port.wakers);
            if let Some(hosted) = hosted() {
                self.port.baton.answered(answer.id, hosted);
            }
        }
        Some(0)
    }

    /// The driver has gone, and with it the processes that it has made.
    fn reset(&mut self) {
        locked(&self.port.state).free.clear();
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
