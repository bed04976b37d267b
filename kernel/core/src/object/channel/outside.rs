//! Ends of channels that the kernel itself holds, for a program outside the system: no SIP owns
//! them, and the kernel sends and receives there in the idle context.

use super::Channel;
use sing_image::manifest::Side;

/// What a receive at such an end has found.
pub(crate) enum Heard {
    /// A message, by its index, and its one word.
    Message(u32, u64),
    /// The other side has closed, and nothing is queued any more.
    Closed,
    /// Nothing yet.
    Nothing,
}

/// Sends a message of one word, whose argument is the message's from then on. False, with nothing
/// changed, if the state does not allow that, or the other side has closed.
pub(crate) fn tell(channel: &'static Channel, side: Side, message: u32, word: u64) -> bool {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return false;
    };
    let (mine, theirs) = inner.both(side);
    let step = contract.step(mine.state, message, side);
    let Some(step) = step.filter(|step| step.words == 1 && !theirs.closed) else {
        return false;
    };
    if !theirs.push(message, &[word]) {
        return false;
    }
    mine.state = step.next;
    theirs.wake(channel.member(side.peer()));
    true
}

/// Receives a message, all of which have one word ([`crate::object::calls`]): what it moves is the
/// caller's.
pub(crate) fn hear(channel: &'static Channel, side: Side) -> Heard {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return Heard::Closed;
    };
    let (mine, theirs) = inner.both(side);
    let Some((message, words)) = mine.front() else {
        return match theirs.closed {
            true => Heard::Closed,
            false => Heard::Nothing,
        };
    };
    let word = words.first().copied().unwrap_or_default();
    // The sender's state has allowed it, and both see the same messages in the same order.
    if let Some(step) = contract.step(mine.state, message, side.peer()) {
        mine.state = step.next;
    }
    mine.pop();
    Heard::Message(message, word)
}
