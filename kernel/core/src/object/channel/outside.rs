//! Ends of channels that the kernel itself holds, for a program outside the system: no SIP owns
//! them, and the kernel sends and receives there in the idle context.

use super::Channel;
use sing_abi::MAX_MESSAGE_WORDS;
use sing_image::contract::Word;
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

/// Why a message is not sent.
pub(crate) enum Unsaid {
    /// The state does not allow it, or it has other words.
    OutOfTurn,
    /// The other side has closed.
    Closed,
}

/// Sends a message with these words, whose arguments are the message's from then on. The caller has
/// checked its conditions. With an error nothing has changed.
pub(crate) fn say(
    channel: &'static Channel,
    side: Side,
    message: u32,
    words: &[u64],
) -> Result<(), Unsaid> {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let contract = inner.contract.ok_or(Unsaid::Closed)?;
    let (mine, theirs) = inner.both(side);
    let step = contract.step(mine.state, message, side);
    let step = step.filter(|step| usize::from(step.words) == words.len());
    let step = step.ok_or(Unsaid::OutOfTurn)?;
    if theirs.closed {
        return Err(Unsaid::Closed);
    }
    if !theirs.push(message, words) {
        return Err(Unsaid::OutOfTurn);
    }
    mine.state = step.next;
    theirs.wake(channel.member(side.peer()));
    Ok(())
}

/// A message that has come to such an end.
pub(crate) struct Came {
    /// Its index.
    pub(crate) message: u32,
    /// What its words are.
    pub(crate) kinds: &'static [Word],
    words: [u64; MAX_MESSAGE_WORDS],
}

impl Came {
    /// Its words as they were in flight, each with what it is.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&'static Word, u64)> {
        self.kinds.iter().zip(self.words)
    }
}

/// What a receive of any message has found.
pub(crate) enum Next {
    /// This one: what it moves is the caller's.
    Message(Came),
    /// One for which there is no room. It stays.
    NoRoom,
    /// The other side has closed, and nothing is queued any more.
    Closed,
    /// Nothing yet.
    Nothing,
}

/// Receives a message, unless there is no room for it.
pub(crate) fn next(
    channel: &'static Channel,
    side: Side,
    has_room: impl FnOnce(&Came) -> bool,
) -> Next {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return Next::Closed;
    };
    let (mine, theirs) = inner.both(side);
    let Some((message, moved)) = mine.front() else {
        return match theirs.closed {
            true => Next::Closed,
            false => Next::Nothing,
        };
    };
    let kinds = contract.table.messages.get(message as usize);
    let kinds = kinds.map_or(&[][..], |m| &m.words);
    let mut words = [0; MAX_MESSAGE_WORDS];
    for (to, from) in words.iter_mut().zip(moved).take(kinds.len()) {
        *to = *from;
    }
    let came = Came {
        message,
        kinds,
        words,
    };
    if !has_room(&came) {
        return Next::NoRoom;
    }
    // The sender's state has allowed it, and both see the same messages in the same order.
    if let Some(step) = contract.step(mine.state, message, side.peer()) {
        mine.state = step.next;
    }
    mine.pop();
    Next::Message(came)
}
