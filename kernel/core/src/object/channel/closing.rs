//! Closing an endpoint: the messages queued there are freed in steps, and the endpoints in them
//! closed in turn.

use super::{Channel, End, arguments, from_word};
use crate::ground::work::Work;
use crate::object::exheap;
use crate::object::set::Member;
use crate::object::sip::Sip;
use sing_abi::MAX_MESSAGE_WORDS;
use sing_image::contract::Word;
use sing_image::manifest::Side;

/// Closes an end that `by` owns, or nobody does: wakes all waiters at both ends. Queued messages
/// are left to `by`, to be freed in steps ([`empty`]): they can be many and large, and contain
/// endpoints whose closing finds further messages, to any depth. Returns the number of items of the
/// caller's step that this took: one, and one for each waiter.
pub(crate) fn close(channel: &'static Channel, side: Side, by: &'static Sip) -> u32 {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return 1;
    };
    let (mine, theirs) = inner.both(side);
    if mine.closed {
        return 1;
    }
    mine.closed = true;
    mine.owner.set(None);
    let items = 1 + mine.wake_all() + theirs.wake_all();
    let member = channel.member(side);
    member.leave();
    channel.member(side.peer()).notify();
    if mine.len > 0 {
        by.closing.lock().push(member);
    } else if theirs.is_done() {
        drop(guard);
        channel.give_back(contract);
    }
    items
}

/// Closes an end in the list of those that `by` has closed, if it was put there without: `by` then
/// gives it up on a predecessor's behalf. False if it is closed.
fn close_kept(member: &'static Member, by: &'static Sip, work: &mut Work) -> bool {
    let Some((channel, side)) = member.endpoint() else {
        return false;
    };
    if channel.lock().ends[side.index()].closed {
        return false;
    }
    by.closing.lock().remove(member);
    work.spend_items(close(channel, side, by));
    true
}

/// Frees queued messages of an end that `by` has closed, and with the last one the channel's record
/// if the other end is finished, too.
pub(crate) fn empty(member: &'static Member, by: &'static Sip, work: &mut Work) {
    if close_kept(member, by, work) {
        return;
    }
    while !work.is_spent() {
        let Some(message) = Message::take(member, by) else {
            return;
        };
        work.spend(0);
        for (kind, &word) in message.kinds.iter().zip(&message.words) {
            match kind {
                Word::Scalar => {}
                Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                    if let Some(index) = arguments::allocation_in(word) {
                        exheap::free_later(index, work);
                    }
                }
                Word::Endpoint { .. } => {
                    let end = from_word(word);
                    work.spend_items(end.map_or(1, |(channel, side)| close(channel, side, by)));
                }
            }
        }
    }
}

/// A message that nobody will receive.
struct Message {
    kinds: &'static [Word],
    words: [u64; MAX_MESSAGE_WORDS],
}

impl Message {
    /// Takes the first message queued at an end that `by` has closed. Taking the last one finishes
    /// the end; `None` if it was finished before.
    fn take(member: &'static Member, by: &'static Sip) -> Option<Message> {
        let (channel, side) = member.endpoint()?;
        let mut guard = channel.inner.lock();
        let inner = &mut *guard;
        let contract = inner.contract?;
        let end = &mut inner.ends[side.index()];
        let taken = end.front().and_then(|(message, moved)| {
            let kinds = &contract.table.messages.get(message as usize)?.words;
            let mut words = [0; MAX_MESSAGE_WORDS];
            words
                .get_mut(..kinds.len())?
                .copy_from_slice(moved.get(..kinds.len())?);
            Some(Message { kinds, words })
        });
        if taken.is_some() {
            end.pop();
        }
        if end.len == 0 {
            by.closing.lock().remove(member);
            if inner.ends.iter().all(End::is_done) {
                drop(guard);
                channel.give_back(contract);
            }
        }
        taken
    }
}
