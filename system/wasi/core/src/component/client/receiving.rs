//! What comes from the server: the head, and the body block by block, as far as the program reads it.

use super::Come;
use crate::component::why::{Case, Why};
use crate::host::Host;
use crate::table::Rest;
use alloc::vec::Vec;
use sing_http::Field;
use sing_http::answer::Heads;
use sing_http::body::{Body, Next};

/// Bytes that are looked at, at once, for heads and frames.
const GLANCE: usize = 1 << 10;

/// The head of an answer: its status and its fields.
pub(crate) type Head = (u16, Vec<Field>);

/// What the program is told of the answer.
enum Told {
    Nothing,
    Head(Head),
    Failed(Why),
    /// It has been told.
    All,
}

pub(super) struct Receiving<B> {
    heads: Heads,
    told: Told,
    /// There, when the head is.
    body: Option<Body>,
    /// What is left of the block that came last.
    rest: Option<Rest<B>>,
    /// How much of a block had been used that is being read, and its length.
    lent: Option<(usize, usize)>,
    /// What comes of the content is dropped.
    drains: bool,
    failed: Option<Why>,
}

impl<B> Receiving<B> {
    pub fn new() -> Receiving<B> {
        Receiving {
            heads: Heads::new(""),
            told: Told::Nothing,
            body: None,
            rest: None,
            lent: None,
            drains: false,
            failed: None,
        }
    }

    pub fn begin(&mut self, method: &str) {
        self.heads = Heads::new(method);
    }

    /// Whether all of the answer has come.
    pub fn is_whole(&self) -> bool {
        self.body
            .as_ref()
            .is_some_and(|body| body.next() == Next::End)
    }

    /// Whether nothing more is wanted.
    pub fn has_ended(&self) -> bool {
        self.failed.is_some() || self.is_whole()
    }

    /// Whether the next block is wanted.
    pub fn is_ready(&self) -> bool {
        self.rest.is_none() && self.lent.is_none() && !self.has_ended()
    }

    pub const fn has_head(&self) -> bool {
        self.body.is_some()
    }

    pub const fn is_answered(&self) -> bool {
        !matches!(self.told, Told::Nothing)
    }

    pub fn take_head(&mut self) -> Option<Result<Head, Why>> {
        if let Told::Nothing = self.told {
            return None;
        }
        match core::mem::replace(&mut self.told, Told::All) {
            Told::Head(head) => Some(Ok(head)),
            Told::Failed(why) => Some(Err(why)),
            Told::Nothing | Told::All => None,
        }
    }

    /// It has failed, unless it has ended.
    pub fn fail(&mut self, why: Why) {
        if self.has_ended() {
            return;
        }
        if let Told::Nothing = self.told {
            self.told = Told::Failed(why.clone());
        }
        // What has come and was not read is no part of a whole answer.
        self.rest = None;
        self.failed = Some(why);
    }

    /// Takes the next block.
    pub fn take<H: Host<Block = B>>(
        &mut self,
        host: &mut H,
        block: B,
        len: usize,
    ) -> Result<(), Why> {
        let used = 0;
        self.rest = Some(Rest { block, used, len });
        self.digest(host)
    }

    /// Whether the answer ends with its connection.
    pub fn is_until_closed(&self) -> bool {
        self.body.as_ref().is_some_and(Body::is_until_closed)
    }

    /// The connection has ended.
    pub fn close(&mut self) -> Result<(), Why> {
        match &mut self.body {
            Some(body) => Ok(body.close()?),
            None if self.heads.has_begun() => Err(Case::ResponseIncomplete.into()),
            None => Err(Case::ConnectionTerminated.into()),
        }
    }

    /// Reads on to the next content, which is the program's, as far as something has come.
    pub fn digest<H: Host<Block = B>>(&mut self, host: &mut H) -> Result<(), Why> {
        while let Some(rest) = &mut self.rest {
            let left = rest.len - rest.used;
            let next = self.body.as_ref().map(Body::next);
            if left == 0 || next == Some(Next::End) {
                self.rest = None;
                break;
            }
            match (&mut self.body, next) {
                (Some(body), Some(Next::Content(most))) => {
                    if !self.drains {
                        break;
                    }
                    let count = most.min(left as u64);
                    body.take(count);
                    rest.used += count as usize;
                }
                (body, _) => {
                    let mut glance = [0; GLANCE];
                    let glance = &mut glance[..left.min(GLANCE)];
                    host.peek(&rest.block, rest.used, glance);
                    match body {
                        Some(body) => rest.used += body.feed(glance)?,
                        None => {
                            let (used, answer) = self.heads.feed(glance)?;
                            rest.used += used;
                            if let Some(answer) = answer {
                                self.body = Some(answer.body);
                                self.told = Told::Head((answer.status, answer.fields));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    pub fn has_come(&self) -> bool {
        self.rest.is_some() && self.body.is_some() && !self.is_raw() || self.has_ended()
    }

    pub fn content(&mut self, most: usize) -> Result<Come<B>, Why> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        let content = match self.body.as_ref().map(Body::next) {
            Some(Next::Content(content)) => content,
            Some(Next::End) => return Ok(Come::End),
            Some(Next::Frame) | None => return Ok(Come::Nothing),
        };
        let Some(Rest { block, used, len }) = self.rest.take() else {
            return Ok(Come::Nothing);
        };
        self.lent = Some((used, len));
        let count = content.min((len - used).min(most) as u64);
        Ok(Come::Content(block, used, count as usize))
    }

    pub fn used(&mut self, block: B, count: usize) {
        if let (Some((used, len)), Some(body)) = (self.lent.take(), &mut self.body) {
            body.take(count as u64);
            let used = used + count;
            // What is left is content, or for the next step to read.
            self.rest = (used < len).then_some(Rest { block, used, len });
        }
    }

    pub const fn drain(&mut self) {
        self.drains = true;
    }

    /// Whether what has come is to be read on before the program has more of it.
    pub fn is_raw(&self) -> bool {
        let content = self.body.as_ref().map(Body::next);
        self.rest.is_some() && (self.drains || !matches!(content, Some(Next::Content(_))))
    }

    pub fn trailers(&mut self) -> Option<Result<Vec<Field>, Why>> {
        match (&self.failed, &mut self.body) {
            (Some(why), _) => Some(Err(why.clone())),
            (None, Some(body)) if body.next() == Next::End => Some(Ok(body.take_trailers())),
            _ => None,
        }
    }
}
