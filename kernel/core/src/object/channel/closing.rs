//! The end of an endpoint: what waits at one that is closed is given back in steps, the endpoints in it included.

use super::{Channel, End, from_word};
use crate::ground::work::Work;
use crate::object::exheap;
use crate::object::set::Member;
use crate::object::sip::Sip;
use sing_abi::MAX_MESSAGE_WORDS;
use sing_image::contract::Word;
use sing_image::manifest::Side;

/// Closes an end that `by` has, or that nobody has any more: lets all know who wait at either end. Messages that wait here
/// are left to `by`, to be given back in steps ([`empty`]): they can be many and large, and hold endpoints whose closing
/// finds further messages, to any depth.
pub(crate) fn close(channel: &'static Channel, side: Side, by: &'static Sip) {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return;
    };
    let (mine, theirs) = inner.both(side);
    if mine.closed {
        return;
    }
    mine.closed = true;
    mine.owner.set(None);
    mine.wake_all();
    theirs.wake_all();
    let member = channel.member(side);
    member.leave();
    channel.member(side.peer()).notify();
    if mine.len > 0 {
        by.closing.lock().push(member);
    } else if theirs.is_done() {
        drop(guard);
        channel.give_back(contract);
    }
}

/// Gives back messages that wait at an end that `by` has closed, and the channel's record with the last one where the other
/// end is done with, too.
pub(crate) fn empty(member: &'static Member, by: &'static Sip, work: &mut Work) {
    while !work.is_spent() {
        let Some(message) = Message::take(member, by) else {
            return;
        };
        work.spend(0);
        for (kind, &word) in message.kinds.iter().zip(&message.words) {
            match kind {
                Word::Scalar => {}
                Word::Block => exheap::bury(word as u32, work),
                Word::Endpoint { .. } => {
                    if let Some((channel, side)) = from_word(word) {
                        close(channel, side, by);
                    }
                    work.spend(0);
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
    /// Takes the first one that waits at an end that `by` has closed. With the last one the end is done with; `None` where
    /// it was before.
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
