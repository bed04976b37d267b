//! `wasi:http/outgoing-handler`, and the answers: requests that a component has handed over.
//!
//! A request is a descriptor (a [`Client`]), which the future, the answer, both bodies and their streams have in common:
//! with the last of them its connection is given back.

use super::client::{Asked, Client, HEAD, Limits};
use super::fields::is_of_connection;
use super::poll::Pollable;
use super::resources::{Answered, Resource};
use super::sockets::Made;
use super::web::{Fields, Outgoing};
use super::why::{Case, Why};
use super::{Component, Outcome, Room};
use crate::table::Object;
use alloc::boxed::Box;
use alloc::format;
use core::result::Result;
use sing_http::request::{Length, Request, server};

/// The port of HTTP.
const PORT: u16 = 80;
/// The number of that scheme.
const HTTP: u8 = 0;
/// The longest name of a host.
const LONGEST: usize = 253;

/// What is said of the schemes that are not there.
const NO_TLS: &str = "https is not there yet: ask by http, or by a proxy that speaks TLS";

impl Outgoing {
    /// The request as it is sent, or why it is none.
    fn asked(self, options: [Option<u64>; 3]) -> Result<Asked, Why> {
        // None said is https, as elsewhere.
        match self.scheme {
            Some((HTTP, _)) => {}
            Some((1, _)) | None => return Err(Why::text(Case::InternalError, NO_TLS)),
            Some(_) => return Err(Case::ProtocolError.into()),
        }
        let method = self.method.unwrap_or_else(|| "GET".into());
        if method == "CONNECT" {
            return Err(Case::RequestMethodInvalid.into());
        }
        let target = match self.path.unwrap_or_default() {
            path if path == "*" && method == "OPTIONS" => path,
            path if path.contains('#') => return Err(Case::RequestUriInvalid.into()),
            path if path.starts_with('/') => path,
            path if path.is_empty() || path.starts_with('?') => format!("/{path}"),
            _ => return Err(Case::RequestUriInvalid.into()),
        };
        let authority = self.authority.unwrap_or_default();
        let named = server(&authority, PORT).filter(|(host, _)| host.len() <= LONGEST);
        let (host, port) = named.ok_or(Case::RequestUriInvalid)?;
        let said = sing_http::content_length(&self.fields.list);
        let said = said.map_err(|_| Case::ProtocolError)?;
        if self.client.is_none() && said.is_some_and(|bytes| bytes > 0) {
            return Err(Why::bytes(Case::RequestBodySize, 0));
        }
        let host = host.into();
        let request = Request {
            method,
            target,
            fields: self.fields.list,
            host: authority,
        };
        // The longest that it may become.
        let head = request.head(Length::Known(u64::MAX));
        if head.ok_or(Case::ProtocolError)?.len() > HEAD {
            return Err(Why::size(Case::RequestHeaderSectionSize, HEAD));
        }
        Ok(Asked {
            said,
            host,
            port,
            limits: Limits::of(options),
            request,
        })
    }
}

impl<H: Room> Component<H> {
    /// Whether a descriptor is a request to others.
    pub(super) fn is_client(&self, fd: u32) -> bool {
        match self.wasi.table.look(fd).map(|d| &d.object) {
            Ok(Object::Made(made)) => made.client().is_some(),
            _ => false,
        }
    }

    /// A request to others, and what it needs.
    pub(super) fn client(&mut self, fd: u32) -> Outcome<(&mut H, &mut Client<H>)> {
        let wasi = &mut self.wasi;
        match wasi.table.get(fd).map(|d| &mut d.object) {
            Ok(Object::Made(made)) => match &mut **made {
                Made::Client(client) => Ok((&mut wasi.host, client)),
                _ => Err("passes a request whose descriptor is another".into()),
            },
            _ => Err("passes a request whose descriptor it has closed".into()),
        }
    }

    /// Does for a request what can be done without waiting.
    pub(super) fn step(&mut self, fd: u32) -> Outcome<&mut Client<H>> {
        let (host, client) = self.client(fd)?;
        host.step(client, false);
        Ok(client)
    }

    /// The same for all of them, when the program waits.
    pub(super) fn step_all(&mut self) {
        for at in 0..self.clients.len() {
            // One whose descriptor was closed by preview 1 says so when it is used.
            if let Ok((host, client)) = self.client(self.clients[at]) {
                host.step(client, true);
            }
        }
    }

    /// Does to a request what may end it, and then its connection.
    pub(super) fn end_client(&mut self, fd: u32, ends: impl FnOnce(&mut Client<H>)) -> Outcome {
        let (host, client) = self.client(fd)?;
        ends(client);
        host.step(client, false);
        Ok(())
    }

    /// When the first of them is given up.
    pub(super) fn clients_deadline(&self) -> Option<u64> {
        let ends =
            self.clients
                .iter()
                .filter_map(|fd| match &self.wasi.table.look(*fd).ok()?.object {
                    Object::Made(made) => made.client()?.deadline(),
                    _ => None,
                });
        ends.min()
    }

    /// `handle` of `wasi:http/outgoing-handler`. Both resources are used up.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_handle(&mut self, request: u32, options: Option<u32>, out: u32) -> Outcome {
        self.table.outgoing_request(request)?;
        let mut times = [None; 3];
        if let Some(options) = options {
            times = *self.table.request_options(options)?;
            self.table.take(options)?;
        }
        let Resource::OutgoingRequest(of) = self.table.take(request)? else {
            return Err("passes no outgoing-request".into());
        };
        let client = of.client;
        let permitted = self.wasi.host.net().map(drop);
        let asked = match permitted {
            Some(()) => of.asked(times),
            None => Err(Case::RequestDenied.into()),
        };
        match asked.and_then(|asked| Ok((self.placed(client, asked.said)?, asked))) {
            Ok((fd, asked)) => {
                let (host, client) = self.client(fd)?;
                client.begin(host, asked);
                host.step(client, false);
                let told = false;
                let future = self.table.add(Resource::Future { fd, told })?;
                self.put(out, &[0])?;
                self.put_at(out, 8, &future.to_le_bytes())
            }
            Err(why) => {
                if let Some(fd) = client {
                    self.client(fd)?.1.fail(why.clone());
                    self.release(fd);
                }
                self.put(out, &[1])?;
                self.put_why(out, 8, &why)
            }
        }
    }

    /// The descriptor of a request that is sent, which its future holds.
    fn placed(&mut self, client: Option<u32>, said: Option<u64>) -> Result<u32, Why> {
        if let Some(fd) = client {
            return Ok(fd);
        }
        let made = self.add_client(Client::new(said));
        made.ok_or_else(|| Case::ConnectionLimitReached.into())
    }

    /// Gives a request a descriptor, with one who holds it; none if there are too many.
    pub(super) fn add_client(&mut self, client: Client<H>) -> Option<u32> {
        let fd = self.add_made(Made::Client(Box::new(client))).ok()?;
        self.clients.push(fd);
        self.hold(fd);
        Some(fd)
    }

    /// `[method]future-incoming-response.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn future_subscribe(&mut self, future: u32) -> Outcome<u32> {
        let (fd, _) = self.table.future(future)?;
        self.hold(fd);
        self.pollable(Pollable::Socket(fd))
    }

    /// `[method]future-incoming-response.get`: the answer, once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn future_get(&mut self, future: u32, out: u32) -> Outcome {
        let (fd, told) = self.table.future(future)?;
        if *told {
            self.put(out, &[1])?;
            return self.put_at(out, 8, &[1]);
        }
        let (host, client) = self.client(fd)?;
        host.step(client, true);
        let Some(head) = client.take_head() else {
            return self.put(out, &[0]);
        };
        *self.table.future(future)?.1 = true;
        self.put(out, &[1])?;
        self.put_at(out, 8, &[0])?;
        let head = head.map(|(status, fields)| {
            let shown = fields
                .into_iter()
                .filter(|(name, _)| !is_of_connection(name));
            let fields = Fields {
                list: shown.collect(),
                immutable: true,
            };
            (status, fields)
        });
        // What a server sends is no reason to end the program.
        let head = match head {
            Ok((_, fields)) if !self.table.has_room(2 * fields.bytes()) => {
                let why = Why::from(Case::ResponseHeaderSectionSize);
                self.end_client(fd, |client| client.fail(why.clone()))?;
                Err(why)
            }
            head => head,
        };
        match head {
            Ok((status, fields)) => {
                self.hold(fd);
                let reserved = fields.bytes();
                let answer = self.table.add(Resource::IncomingResponse(Answered {
                    fd,
                    status,
                    fields,
                    reserved,
                    consumed: false,
                }))?;
                self.put_at(out, 16, &[0])?;
                self.put_at(out, 24, &answer.to_le_bytes())
            }
            Err(why) => {
                self.put_at(out, 16, &[1])?;
                self.put_why(out, 24, &why)
            }
        }
    }

    /// `[method]incoming-response.status`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn answer_status(&mut self, answer: u32) -> Outcome<u32> {
        Ok(self.table.response(answer)?.status.into())
    }

    /// `[method]incoming-response.headers`, without those of the connection.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn answer_fields(&mut self, answer: u32) -> Outcome<u32> {
        let of = self.table.response(answer)?;
        let list = of.fields.list.clone();
        let reserved = core::mem::take(&mut of.reserved);
        self.table.shrink(reserved);
        self.add_fields(list, true)
    }

    /// `[method]incoming-response.consume`: the body, once.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn answer_body(&mut self, answer: u32, out: u32) -> Outcome {
        let of = self.table.response(answer)?;
        if core::mem::replace(&mut of.consumed, true) {
            return self.handle_or_not(out, None);
        }
        let fd = of.fd;
        self.hold(fd);
        let body = self.table.add(Resource::IncomingBody(fd))?;
        self.handle_or_not(out, Some(body))
    }
}
