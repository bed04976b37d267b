//! The resources of a component, in one table.

use super::io::{Input, Output};
use super::paths::Entries;
use super::poll::Pollable;
use super::udp::Sends;
use super::web::{Body, Fields, Outgoing};
use super::why::Why;
use super::{Outcome, Trap};
use crate::errno::Errno;
use alloc::format;
use alloc::vec::Vec;

/// Resources at most.
pub const RESOURCES: usize = 1 << 16;

/// Bytes of texts in them, at most.
pub const TEXT: usize = 4 << 20;

/// Why a stream has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Errno(Errno),
    Http(Why),
}

/// A resource.
#[derive(Debug)]
pub(crate) enum Resource {
    Error(Reason),
    Pollable(Pollable),
    Input(Input),
    Output(Output),
    /// A file or a directory: its descriptor.
    Descriptor(u32),
    Entries(Entries),
    Terminal,
    Network,
    /// A socket of TCP, one of UDP and a lookup: their descriptors.
    Tcp(u32),
    Udp(u32),
    Lookup(u32),
    /// The datagrams of a socket that come, and those that go.
    Incoming(u32),
    Outgoing(Sends),
    Fields(Fields),
    /// The request, and the place for its response.
    Request,
    Outparam,
    /// The request's body; its descriptor, which the stream takes.
    IncomingBody(u32),
    /// What comes behind a body, of a request nothing; whether it was asked for.
    Trailers {
        fd: Option<u32>,
        asked: bool,
    },
    Response {
        status: u16,
        fields: Fields,
        body: Option<u32>,
    },
    OutgoingBody(Body),
    OutgoingRequest(Outgoing),
    RequestOptions([Option<u64>; 3]),
    /// An answer that is to come: the descriptor of its request, and whether it was told.
    Future {
        fd: u32,
        told: bool,
    },
    /// An answer.
    IncomingResponse(Answered),
}

/// The head of an answer; the descriptor of its request.
#[derive(Debug)]
pub(crate) struct Answered {
    pub fd: u32,
    pub status: u16,
    pub fields: Fields,
    /// Bytes of texts that are counted for the copy that the program gets when it asks for the fields.
    pub reserved: usize,
    /// Whether the program has asked for its body.
    pub consumed: bool,
}

impl Resource {
    /// The descriptor that it uses.
    pub fn descriptor(&self) -> Option<u32> {
        match self {
            Resource::Input(input) => Some(input.fd),
            Resource::Output(output) => Some(output.fd),
            Resource::Descriptor(fd)
            | Resource::IncomingBody(fd)
            | Resource::Tcp(fd)
            | Resource::Udp(fd)
            | Resource::Lookup(fd)
            | Resource::Incoming(fd)
            | Resource::Future { fd, .. }
            | Resource::IncomingResponse(Answered { fd, .. }) => Some(*fd),
            Resource::Trailers { fd, .. } => *fd,
            Resource::OutgoingRequest(request) => request.client,
            Resource::Outgoing(sends) => Some(sends.fd),
            Resource::Entries(entries) => Some(entries.fd),
            Resource::Pollable(Pollable::Read(fd) | Pollable::Write(fd) | Pollable::Socket(fd)) => {
                Some(*fd)
            }
            _ => None,
        }
    }

    fn text(&self) -> usize {
        match self {
            Resource::Fields(fields) | Resource::Response { fields, .. } => fields.bytes(),
            Resource::OutgoingRequest(request) => request.bytes(),
            Resource::IncomingResponse(answered) => answered.fields.bytes() + answered.reserved,
            _ => 0,
        }
    }
}

/// The table. A number is a place in it and one, so that 0 is none.
#[derive(Debug)]
pub(crate) struct Resources {
    all: Vec<Option<Resource>>,
    free: Vec<u32>,
    text: usize,
}

impl Resources {
    pub const fn new() -> Resources {
        Resources {
            all: Vec::new(),
            free: Vec::new(),
            text: 0,
        }
    }

    /// Gives a resource a number.
    pub fn add(&mut self, resource: Resource) -> Outcome<u32> {
        self.grow(resource.text())?;
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = Some(resource);
            return Ok(place + 1);
        }
        if self.all.len() >= RESOURCES {
            return Err("has more resources than there may be at a time (65536)".into());
        }
        let room = self
            .all
            .try_reserve(1)
            .and(self.free.try_reserve(self.all.len() + 1));
        room.map_err(|_| "has no memory for a further resource")?;
        self.all.push(Some(resource));
        Ok(self.all.len() as u32)
    }

    /// Counts bytes of text that a resource gets.
    pub fn grow(&mut self, bytes: usize) -> Outcome {
        self.text = self.text.saturating_add(bytes);
        match self.text <= TEXT {
            true => Ok(()),
            false => Err("has more than 4 MiB of texts in its resources".into()),
        }
    }

    /// Whether so many more bytes of text are within the limit.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.text.saturating_add(bytes) <= TEXT
    }

    /// Counts bytes that a resource gives up.
    pub fn shrink(&mut self, bytes: usize) {
        self.text = self.text.saturating_sub(bytes);
    }

    pub fn get(&mut self, handle: u32) -> Option<&mut Resource> {
        let place = handle.checked_sub(1)?;
        self.all.get_mut(place as usize)?.as_mut()
    }

    /// Whether there is one like this.
    pub fn any(&self, is: impl Fn(&Resource) -> bool) -> bool {
        self.all.iter().flatten().any(is)
    }

    /// Takes a resource out; its number is free.
    pub fn take(&mut self, handle: u32) -> Outcome<Resource> {
        let place = handle.checked_sub(1);
        let entry = place.and_then(|place| self.all.get_mut(place as usize));
        let resource = entry.and_then(Option::take).ok_or_else(|| none(handle))?;
        self.free.push(handle - 1);
        self.shrink(resource.text());
        Ok(resource)
    }
}

/// There is no resource of this number.
fn none(handle: u32) -> Trap {
    Trap(format!("passes resource {handle}, which it does not have").into())
}

/// Declares methods that find a resource of a type by its number.
macro_rules! found {
    ($($name:ident: $variant:ident($inner:ty) $word:literal;)*) => {
        impl Resources {$(
            pub fn $name(&mut self, handle: u32) -> Outcome<&mut $inner> {
                match self.get(handle) {
                    Some(Resource::$variant(inner)) => Ok(inner),
                    Some(_) => Err(Trap(
                        format!(concat!("passes resource {}, which is no ", $word), handle).into(),
                    )),
                    None => Err(none(handle)),
                }
            }
        )*}
    };
}

found! {
    error: Error(Reason) "error";
    pollable: Pollable(Pollable) "pollable";
    input: Input(Input) "input-stream";
    output: Output(Output) "output-stream";
    file: Descriptor(u32) "descriptor";
    entries: Entries(Entries) "directory-entry-stream";
    tcp: Tcp(u32) "tcp-socket";
    udp: Udp(u32) "udp-socket";
    lookup: Lookup(u32) "resolve-address-stream";
    incoming: Incoming(u32) "incoming-datagram-stream";
    outgoing: Outgoing(Sends) "outgoing-datagram-stream";
    fields: Fields(Fields) "fields";
    incoming_body: IncomingBody(u32) "incoming-body";
    outgoing_body: OutgoingBody(Body) "outgoing-body";
    outgoing_request: OutgoingRequest(Outgoing) "outgoing-request";
    request_options: RequestOptions([Option<u64>; 3]) "request-options";
    response: IncomingResponse(Answered) "incoming-response";
}

impl Resources {
    /// What comes behind a body: the descriptor of its request, and whether it was asked for.
    pub fn trailers(&mut self, handle: u32) -> Outcome<(Option<u32>, &mut bool)> {
        let is = |resource: &Resource| matches!(resource, Resource::Trailers { .. });
        self.check(handle, is, "future-trailers")?;
        match self.get(handle) {
            Some(Resource::Trailers { fd, asked }) => Ok((*fd, asked)),
            _ => Err(none(handle)),
        }
    }

    /// An answer that is to come: the descriptor of its request, and whether it was told.
    pub fn future(&mut self, handle: u32) -> Outcome<(u32, &mut bool)> {
        let is = |resource: &Resource| matches!(resource, Resource::Future { .. });
        self.check(handle, is, "future-incoming-response")?;
        match self.get(handle) {
            Some(Resource::Future { fd, told }) => Ok((*fd, told)),
            _ => Err(none(handle)),
        }
    }

    /// That this is a resource of the kind that `is` says.
    pub fn check(&mut self, handle: u32, is: fn(&Resource) -> bool, word: &str) -> Outcome {
        match self.get(handle) {
            Some(resource) if is(resource) => Ok(()),
            Some(_) => Err(Trap(
                format!("passes resource {handle}, which is no {word}").into(),
            )),
            None => Err(none(handle)),
        }
    }
}
