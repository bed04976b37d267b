//! Answers to the host. The device reads them where they are, and is done with each at once.

use alloc::vec;
use sing_calls::{ANSWER, Answer, HEAD, Outcome};
use sing_sdk::device::{Part, Queue};
use sing_sdk::prelude::*;

/// Descriptors of the queue: one answer is under way at a time, and a long one takes several.
pub(crate) const PARTS: u32 = 256;

pub(crate) struct Answers {
    queue: Queue,
    /// The block for heads, while it is not with the device.
    head: Option<Block>,
}

impl Answers {
    pub(crate) fn new(queue: Queue) -> Result<Answers, Error> {
        let head = Some(Block::new(HEAD)?);
        Ok(Answers { queue, head })
    }

    /// Answers with text; without it, if memory is short.
    pub(crate) fn say(&mut self, id: u64, outcome: Outcome, text: &str) -> Result<(), Error> {
        self.give(id, outcome, Block::from_bytes(text.as_bytes()).ok())
    }

    /// Answers with the bytes of a block.
    pub(crate) fn give(
        &mut self,
        id: u64,
        outcome: Outcome,
        block: Option<Block>,
    ) -> Result<(), Error> {
        let len = block.as_ref().map_or(0, Block::len);
        if len > ANSWER {
            let text = alloc::format!("an answer of {len} bytes; {ANSWER} are the most");
            return self.say(id, Outcome::Refused, &text);
        }
        let mut head = match self.head.take() {
            Some(head) => head,
            None => Block::new(HEAD)?,
        };
        let answer = Answer {
            outcome,
            id,
            bytes: len,
        };
        head.write(0, &answer.encode());
        let mut blocks = vec![head];
        let mut parts = vec![Part::read(0, 0..HEAD as u32)];
        if let Some(block) = block.filter(|_| len > 0) {
            blocks.push(block);
            parts.push(Part::read(1, 0..len as u32));
        }
        self.queue.add(blocks, &parts).map_err(|back| back.error)?;
        let _ = self.queue.notify();
        // The device has read it in that call.
        let done = self.queue.take()?;
        self.head = done.blocks.into_iter().next();
        Ok(())
    }
}
