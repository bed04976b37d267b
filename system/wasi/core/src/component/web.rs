//! `wasi:http/types`, as far as a handler of requests needs it: fields, the request and its body, the
//! response and its body.
//!
//! A process answers one request. The response goes out with `response-outparam.set`, its body as it is
//! written; what was written before that waits. The answer is whole when its body has been finished.

use super::io::To;
use super::poll::Pollable;
use super::resources::{Reason, Resource};
use super::why::Case;
use super::{Component, Outcome, Room};
use crate::errno::Result;
use crate::host::Host;
use alloc::string::String;
use alloc::vec::Vec;

/// The methods that have numbers of their own.
pub(super) const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

pub use super::fields::Field;
pub(crate) use super::fields::{Fields, is_of_connection};
pub use super::outgoing::Outgoing;

/// The request that a component answers.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The host that it is for.
    pub authority: Option<String>,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The descriptor of its body, as long as the component has not asked for it.
    pub body: Option<u32>,
}

/// A body that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The exchange's number for it; none of a request to others.
    pub number: Option<u32>,
    /// The descriptor of its stream, or of the request.
    pub fd: u32,
    /// Whether the component has the stream.
    pub given: bool,
}

/// What takes the answer.
pub trait Exchange<H: Host> {
    /// Makes room for a body: its stream, and a number for it.
    ///
    /// # Errors
    /// If memory is short.
    fn body(&mut self) -> Result<(H::Sink, u32)>;
    /// Sends status and fields, with the body that has this number, if any.
    ///
    /// # Errors
    /// If it cannot be sent.
    fn respond(&mut self, status: u16, fields: &[Field], body: Option<u32>) -> Result;
    /// All of a body has been written.
    fn finish(&mut self, body: u32);
    /// The component answers with an error of HTTP, by its number.
    fn refuse(&mut self, error: u32);
}

impl<H: Room> Component<H> {
    /// Gives the component a request to answer: handles of the request and of the place for the response.
    ///
    /// # Errors
    /// None, in a world without resources.
    pub fn begin(
        &mut self,
        request: Request,
        exchange: alloc::boxed::Box<dyn Exchange<H>>,
    ) -> Outcome<(u32, u32)> {
        (self.request, self.exchange) = (Some(request), Some(exchange));
        let request = self.table.add(Resource::Request)?;
        Ok((request, self.table.add(Resource::Outparam)?))
    }

    /// What takes the answer.
    pub fn exchange(&mut self) -> Option<&mut (dyn Exchange<H> + 'static)> {
        self.exchange.as_deref_mut()
    }

    fn request(&mut self, request: u32) -> Outcome<&mut Request> {
        let is = |resource: &Resource| matches!(resource, Resource::Request);
        self.table.check(request, is, "incoming-request")?;
        Ok(self.request.get_or_insert_default())
    }

    /// Answers with a method: its number, and its name if it has none.
    pub(super) fn put_method(&mut self, out: u32, method: &str) -> Outcome {
        match METHODS.iter().position(|known| *known == method) {
            Some(number) => self.put(out, &[number as u8]),
            None => {
                let method = self.place(method.as_bytes())?;
                self.put(out, &[METHODS.len() as u8])?;
                self.put_at(out, 4, &method)
            }
        }
    }

    /// `[method]incoming-request.method`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_method(&mut self, request: u32, out: u32) -> Outcome {
        let method = self.request(request)?.method.clone();
        self.put_method(out, &method)
    }

    /// `path-with-query`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_path(&mut self, request: u32, out: u32) -> Outcome {
        let target = self.request(request)?.target.clone();
        self.option_text(out, Some(target.as_bytes()))
    }

    /// `scheme`: HTTP.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_scheme(&mut self, request: u32, out: u32) -> Outcome {
        self.request(request)?;
        self.put(out, &[1])?;
        self.put_at(out, 4, &[0])
    }

    /// `authority`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_authority(&mut self, request: u32, out: u32) -> Outcome {
        let authority = self.request(request)?.authority.clone();
        self.option_text(out, authority.as_deref().map(str::as_bytes))
    }

    /// `headers`, without those of the connection: what `host` says is the authority.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_fields(&mut self, request: u32) -> Outcome<u32> {
        let all = self.request(request)?.fields.iter();
        let shown = all.filter(|(name, _)| !is_of_connection(name));
        let shown = shown.cloned().collect();
        self.add_fields(shown, true)
    }

    /// Answers `result<own>`.
    pub(super) fn handle_or_not(&mut self, out: u32, handle: Option<u32>) -> Outcome {
        match handle {
            Some(handle) => {
                self.put(out, &[0])?;
                self.put_at(out, 4, &handle.to_le_bytes())
            }
            None => self.put(out, &[1]),
        }
    }

    /// `consume`: the body, once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn request_body(&mut self, request: u32, out: u32) -> Outcome {
        let body = match self.request(request)?.body.take() {
            Some(fd) => {
                self.hold(fd);
                Some(self.table.add(Resource::IncomingBody(fd))?)
            }
            None => None,
        };
        self.handle_or_not(out, body)
    }

    /// `[method]incoming-body.stream`: several read the same bytes, each those that no other has.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn body_stream(&mut self, body: u32, out: u32) -> Outcome {
        let fd = *self.table.incoming_body(body)?;
        let stream = self.add_input(fd, None)?;
        self.handle_or_not(out, Some(stream))
    }

    /// `[static]incoming-body.finish`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn body_finish(&mut self, body: u32) -> Outcome<u32> {
        let of = *self.table.incoming_body(body)?;
        let fd = self.is_client(of).then_some(of);
        if let Some(fd) = fd {
            self.hold(fd);
            self.client(fd)?.1.drain();
        }
        self.resource_drop(body)?;
        self.table.add(Resource::Trailers { fd, asked: false })
    }

    /// `[method]future-trailers.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn trailers_subscribe(&mut self, trailers: u32) -> Outcome<u32> {
        match self.table.trailers(trailers)?.0 {
            Some(fd) => {
                self.hold(fd);
                self.pollable(Pollable::Read(fd))
            }
            None => self.pollable(Pollable::Now),
        }
    }

    /// `[method]future-trailers.get`: those of an answer; a request has none. It is said once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn trailers_get(&mut self, trailers: u32, out: u32) -> Outcome {
        let (fd, asked) = self.table.trailers(trailers)?;
        if *asked {
            self.put(out, &[1])?;
            return self.put_at(out, 8, &[1]);
        }
        let come = match fd {
            Some(fd) => self.step(fd)?.trailers(),
            None => Some(Ok(Vec::new())),
        };
        let Some(come) = come else {
            return self.put(out, &[0]);
        };
        *self.table.trailers(trailers)?.1 = true;
        self.put(out, &[1])?;
        self.put_at(out, 8, &[0])?;
        let shown = come.map(|fields| {
            let shown = fields
                .into_iter()
                .filter(|(name, _)| !is_of_connection(name));
            shown.collect::<Vec<Field>>()
        });
        // What a server sends is no reason to end the program.
        let shown = match shown {
            Ok(shown)
                if !self
                    .table
                    .has_room(shown.iter().map(super::fields::size).sum()) =>
            {
                Err(Case::ResponseTrailerSectionSize.into())
            }
            shown => shown,
        };
        match shown {
            Ok(shown) => {
                self.put_at(out, 16, &[0])?;
                self.put_at(out, 24, &[u8::from(!shown.is_empty())])?;
                if shown.is_empty() {
                    return Ok(());
                }
                let handle = self.add_fields(shown, true)?;
                self.put_at(out, 28, &handle.to_le_bytes())
            }
            Err(why) => {
                self.put_at(out, 16, &[1])?;
                self.put_why(out, 24, &why)
            }
        }
    }

    /// `[constructor]outgoing-response`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn new_response(&mut self, fields: u32) -> Outcome<u32> {
        self.table.fields(fields)?;
        let Resource::Fields(fields) = self.table.take(fields)? else {
            return Err("passes no fields".into());
        };
        self.table.add(Resource::Response {
            status: 200,
            fields,
            body: None,
        })
    }

    fn response(&mut self, response: u32) -> Outcome<(&mut u16, &mut Fields, &mut Option<u32>)> {
        let is = |resource: &Resource| matches!(resource, Resource::Response { .. });
        self.table.check(response, is, "outgoing-response")?;
        match self.table.get(response) {
            Some(Resource::Response {
                status,
                fields,
                body,
            }) => Ok((status, fields, body)),
            _ => Err("passes no outgoing-response".into()),
        }
    }

    /// `status-code`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn response_status(&mut self, response: u32) -> Outcome<u32> {
        Ok((*self.response(response)?.0).into())
    }

    /// `set-status-code`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn response_set_status(&mut self, response: u32, status: u32) -> Outcome<u32> {
        let place = self.response(response)?.0;
        Ok(match u16::try_from(status) {
            Ok(status @ 200..=999) => {
                *place = status;
                0
            }
            _ => 1,
        })
    }

    /// `headers`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn response_fields(&mut self, response: u32) -> Outcome<u32> {
        let list = self.response(response)?.1.list.clone();
        self.add_fields(list, true)
    }

    /// `[method]outgoing-response.body`: once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn response_body(&mut self, response: u32, out: u32) -> Outcome {
        if self.response(response)?.2.is_some() {
            return self.handle_or_not(out, None);
        }
        let body = match &mut self.exchange {
            Some(exchange) => exchange.body().ok(),
            None => None,
        };
        let Some((sink, number)) = body else {
            return self.handle_or_not(out, None);
        };
        let body = self.new_body(sink, Some(number))?;
        if body.is_some() {
            *self.response(response)?.2 = Some(number);
        }
        self.handle_or_not(out, body)
    }

    /// A body that is written into a stream; none if there are too many descriptors.
    fn new_body(&mut self, sink: H::Sink, number: Option<u32>) -> Outcome<Option<u32>> {
        let Ok(fd) = self.wasi.add_sink(sink, false) else {
            return Ok(None);
        };
        self.hold(fd);
        let given = false;
        let body = Body { number, fd, given };
        self.table.add(Resource::OutgoingBody(body)).map(Some)
    }

    /// `[method]outgoing-body.write`: once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn body_write(&mut self, body: u32, out: u32) -> Outcome {
        let body = self.table.outgoing_body(body)?;
        if core::mem::replace(&mut body.given, true) {
            return self.handle_or_not(out, None);
        }
        let (fd, to) = match body.number {
            Some(_) => (body.fd, To::Pipe),
            None => (body.fd, To::Request),
        };
        let stream = self.add_output(fd, to)?;
        self.handle_or_not(out, Some(stream))
    }

    /// `[static]outgoing-body.finish`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn body_end(&mut self, body: u32, trailers: Option<u32>, out: u32) -> Outcome {
        let of = *self.table.outgoing_body(body)?;
        if of.number.is_none() {
            self.no_stream(of.fd)?;
        }
        let mut fields = Vec::new();
        if let Some(trailers) = trailers {
            // The web server has none to send: those of an answer are dropped.
            fields = core::mem::take(&mut self.table.fields(trailers)?.list);
            let bytes = fields.iter().map(super::fields::size).sum();
            self.table.shrink(bytes);
            self.resource_drop(trailers)?;
        }
        self.table.take(body)?;
        if of.number.is_some() {
            self.end_body(of, true)?;
            return self.put(out, &[0]);
        }
        match self.end_request(of.fd, fields)? {
            Ok(()) => self.put(out, &[0]),
            Err(why) => {
                self.put(out, &[1])?;
                self.put_why(out, 8, &why)
            }
        }
    }

    /// Ends a body.
    ///
    /// # Errors
    /// If its stream, or a pollable of that, has not been dropped.
    pub(super) fn end_body(&mut self, body: Body, whole: bool) -> Outcome {
        if self
            .uses
            .get(body.fd as usize)
            .is_some_and(|uses| *uses > 1)
        {
            return Err("ends a body before it has dropped the stream of it".into());
        }
        self.release(body.fd);
        let exchange = self.exchange.as_mut().filter(|_| whole);
        if let Some((exchange, number)) = exchange.zip(body.number) {
            exchange.finish(number);
        }
        Ok(())
    }

    /// `[static]response-outparam.set`, with the response or the number of an error.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn respond(&mut self, place: u32, response: core::result::Result<u32, u32>) -> Outcome {
        let is = |resource: &Resource| matches!(resource, Resource::Outparam);
        self.table.check(place, is, "response-outparam")?;
        let answer = match response {
            Ok(response) => {
                self.response(response)?;
                match self.table.take(response)? {
                    Resource::Response {
                        status,
                        fields,
                        body,
                    } => Ok((status, fields, body)),
                    _ => return Err("passes no outgoing-response".into()),
                }
            }
            Err(error) => Err(error),
        };
        self.table.take(place)?;
        let Some(exchange) = &mut self.exchange else {
            return Ok(());
        };
        match answer {
            Ok((status, fields, body)) => exchange
                .respond(status, &fields.list, body)
                .map_err(|_| "answers, and nobody takes it".into()),
            Err(error) => {
                exchange.refuse(error);
                Ok(())
            }
        }
    }

    /// `http-error-code`: that of an error of a body's stream.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn http_error(&mut self, error: u32, out: u32) -> Outcome {
        match self.table.error(error)?.clone() {
            Reason::Errno(_) => self.put(out, &[0]),
            Reason::Http(why) => {
                self.put(out, &[1])?;
                self.put_why(out, 8, &why)
            }
        }
    }
}
