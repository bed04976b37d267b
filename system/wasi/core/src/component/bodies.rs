//! The streams of requests to others: what is read of an answer's body, and written of a request's.

use super::client::Come;
use super::io::{Fault, Got, To};
use super::poll::Pollable;
use super::resources::Resource;
use super::web::Field;
use super::why::{Case, Why};
use super::{Component, Outcome, Room};
use alloc::vec::Vec;
use core::result::Result;

impl<H: Room> Component<H> {
    /// Takes bytes of an answer's body: none, if it would have to wait and is not to.
    pub(super) fn get_of_client(
        &mut self,
        fd: u32,
        most: usize,
        waits: bool,
    ) -> Outcome<Result<Option<Got<H::Block>>, Fault>> {
        loop {
            match self.step(fd)?.content(most) {
                Ok(Come::Content(block, from, len)) => {
                    let whole = from + len;
                    let got = Got {
                        block,
                        from,
                        len,
                        whole,
                    };
                    return Ok(Ok(Some(got)));
                }
                Ok(Come::End) => return Ok(Err(Fault::Closed)),
                Ok(Come::Nothing) if !waits => return Ok(Ok(None)),
                Ok(Come::Nothing) => self.await_any(&[Pollable::Read(fd)])?,
                Err(why) => return Ok(Err(why.into())),
            }
        }
    }

    /// Sends a block of a request's body, when there is room for it.
    pub(super) fn send_body(
        &mut self,
        fd: u32,
        block: H::Block,
        len: usize,
    ) -> Outcome<Result<(), Why>> {
        loop {
            match self.step(fd)?.room() {
                Ok(0) => self.await_any(&[Pollable::Write(fd)])?,
                Ok(_) => break,
                Err(why) => return Ok(Err(why)),
            }
        }
        let (host, client) = self.client(fd)?;
        let written = client.write(host, block, len);
        host.step(client, false);
        Ok(written)
    }

    /// Sends what was written of a request's body, and waits until it has gone to the network.
    pub(super) fn flush_body(&mut self, fd: u32, waits: bool) -> Outcome<Result<(), Why>> {
        let (host, client) = self.client(fd)?;
        // What was not handed over goes out with the rest.
        if client.is_sent() {
            host.step(client, true);
        }
        loop {
            let client = self.step(fd)?;
            if let Err(why) = client.room() {
                return Ok(Err(why));
            }
            if !waits || client.is_flushed() || !client.is_sent() {
                return Ok(Ok(()));
            }
            self.await_any(&[Pollable::Write(fd)])?;
        }
    }

    /// The body of a request is whole.
    pub(super) fn end_request(
        &mut self,
        fd: u32,
        trailers: Vec<Field>,
    ) -> Outcome<Result<(), Why>> {
        let (host, client) = self.client(fd)?;
        let ended = client.finish(trailers);
        host.step(client, false);
        self.release(fd);
        Ok(ended)
    }

    /// What stays when a resource without a descriptor is dropped.
    ///
    /// # Errors
    /// If it is a body whose stream has not been dropped.
    pub(super) fn dropped(&mut self, resource: Resource) -> Outcome {
        match resource {
            // An answer whose end was not said is none.
            Resource::OutgoingBody(body) if body.number.is_none() => self.drop_request(body.fd),
            Resource::OutgoingBody(body) => self.end_body(body, false),
            _ => Ok(()),
        }
    }

    /// The body of a request is dropped before it is whole: so is the request.
    pub(super) fn drop_request(&mut self, fd: u32) -> Outcome {
        self.no_stream(fd)?;
        self.end_client(fd, |client| client.fail(Case::ProtocolError.into()))?;
        self.release(fd);
        Ok(())
    }

    /// That no stream of a request's body is there any more.
    pub(super) fn no_stream(&self, fd: u32) -> Outcome {
        let is = |resource: &Resource| match resource {
            Resource::Output(output) => output.fd == fd && matches!(output.to, To::Request),
            _ => false,
        };
        match self.table.any(is) {
            true => Err("ends a body before it has dropped the stream of it".into()),
            false => Ok(()),
        }
    }
}
