//! Requests to others as a component makes them, until it hands them over ([`super::responses`]).

use super::client::Client;
use super::resources::Resource;
use super::web::{Body, Fields, METHODS};
use super::{Component, Outcome, Room};
use alloc::string::String;
use sing_sdk::web::is_of_header_name;

/// The longest text of a request.
const LONGEST: usize = 16 << 10;

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The method, if it is not GET.
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    /// The number of the scheme, and its name if it is another.
    pub(super) scheme: Option<(u8, String)>,
    pub(super) authority: Option<String>,
    pub(super) fields: Fields,
    /// The descriptor under which it will be sent, once the component has its body.
    pub(super) client: Option<u32>,
}

impl Outgoing {
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let scheme = self.scheme.as_ref().map_or(0, |(_, name)| name.len());
        let texts = text(&self.method) + text(&self.path) + text(&self.authority);
        self.fields.bytes() + texts + scheme
    }
}

impl<H: Room> Component<H> {
    /// `[constructor]outgoing-request`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn new_request(&mut self, fields: u32) -> Outcome<u32> {
        self.table.fields(fields)?;
        let Resource::Fields(fields) = self.table.take(fields)? else {
            return Err("passes no fields".into());
        };
        self.table.add(Resource::OutgoingRequest(Outgoing {
            fields,
            ..Outgoing::default()
        }))
    }

    /// `body`: once. What is written there before the request is handed over is kept, as far as there is room.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_body(&mut self, request: u32, out: u32) -> Outcome {
        let of = self.table.outgoing_request(request)?;
        let length = sing_http::content_length(&of.fields.list);
        let (None, Ok(length)) = (of.client, length) else {
            return self.handle_or_not(out, None);
        };
        let mut client = Client::new(length);
        client.give_body();
        let Some(fd) = self.add_client(client) else {
            return self.handle_or_not(out, None);
        };
        // The request holds it, and its body.
        self.hold(fd);
        self.table.outgoing_request(request)?.client = Some(fd);
        let (number, given) = (None, false);
        let body = Body { number, fd, given };
        let body = self.table.add(Resource::OutgoingBody(body))?;
        self.handle_or_not(out, Some(body))
    }

    /// `headers`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_fields(&mut self, request: u32) -> Outcome<u32> {
        let list = self.table.outgoing_request(request)?.fields.list.clone();
        self.table.add(Resource::Fields(Fields {
            list,
            immutable: true,
        }))
    }

    fn text(&mut self, at: u32, len: u32) -> Outcome<Option<String>> {
        let text = self.take(at, len, LONGEST)?;
        let plain = text.iter().all(|byte| (33..127).contains(byte));
        Ok(String::from_utf8(text).ok().filter(|_| plain))
    }

    /// Changes a request; 0, or 1 for a text that is none.
    fn set(
        &mut self,
        request: u32,
        text: Option<Option<String>>,
        place: impl FnOnce(&mut Outgoing, Option<String>),
    ) -> Outcome<u32> {
        let of = self.table.outgoing_request(request)?;
        let Some(text) = text else {
            return Ok(1);
        };
        let before = of.bytes();
        place(of, text);
        let after = of.bytes();
        self.table.shrink(before);
        self.table.grow(after)?;
        Ok(0)
    }

    /// A text that may be none at all: `None` if it is wrong.
    fn optional(&mut self, some: u32, at: u32, len: u32) -> Outcome<Option<Option<String>>> {
        Ok(match some {
            0 => Some(None),
            _ => self.text(at, len)?.map(Some),
        })
    }

    /// `method`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_method(&mut self, request: u32, out: u32) -> Outcome {
        let method = self.table.outgoing_request(request)?.method.clone();
        self.put_method(out, method.as_deref().unwrap_or("GET"))
    }

    /// `set-method`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_set_method(
        &mut self,
        request: u32,
        method: u32,
        at: u32,
        len: u32,
    ) -> Outcome<u32> {
        let text = match METHODS.get(method as usize) {
            Some(known) => Some(String::from(*known)),
            None => self
                .text(at, len)?
                .filter(|text| !text.is_empty() && text.bytes().all(is_of_header_name)),
        };
        self.set(request, text.map(Some), |of, text| of.method = text)
    }

    /// `path-with-query`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_path(&mut self, request: u32, out: u32) -> Outcome {
        let path = self.table.outgoing_request(request)?.path.clone();
        self.option_text(out, path.as_deref().map(str::as_bytes))
    }

    /// `set-path-with-query`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_set_path(
        &mut self,
        request: u32,
        some: u32,
        at: u32,
        len: u32,
    ) -> Outcome<u32> {
        let text = self.optional(some, at, len)?;
        self.set(request, text, |of, text| of.path = text)
    }

    /// `authority`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_authority(&mut self, request: u32, out: u32) -> Outcome {
        let authority = self.table.outgoing_request(request)?.authority.clone();
        self.option_text(out, authority.as_deref().map(str::as_bytes))
    }

    /// `set-authority`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_set_authority(
        &mut self,
        request: u32,
        some: u32,
        at: u32,
        len: u32,
    ) -> Outcome<u32> {
        let text = self.optional(some, at, len)?;
        self.set(request, text, |of, text| of.authority = text)
    }

    /// `scheme`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_scheme(&mut self, request: u32, out: u32) -> Outcome {
        let Some((number, name)) = self.table.outgoing_request(request)?.scheme.clone() else {
            return self.put(out, &[0]);
        };
        let name = self.place(name.as_bytes())?;
        self.put(out, &[1])?;
        self.put_at(out, 4, &[number])?;
        self.put_at(out, 8, &name)
    }

    /// `set-scheme`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn outgoing_set_scheme(
        &mut self,
        request: u32,
        (some, scheme): (u32, u32),
        at: u32,
        len: u32,
    ) -> Outcome<u32> {
        let text = match (some, scheme) {
            (0, _) => Some(None),
            (_, 0 | 1) => Some(Some(String::new())),
            _ => self.text(at, len)?.map(Some),
        };
        self.set(request, text, |of, text| {
            of.scheme = text.map(|name| (scheme.min(2) as u8, name));
        })
    }

    /// `[constructor]request-options`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn new_options(&mut self) -> Outcome<u32> {
        self.table.add(Resource::RequestOptions([None; 3]))
    }

    /// One of the three times of options, by its number.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn time_limit(&mut self, options: u32, number: usize, out: u32) -> Outcome {
        let limits = *self.table.request_options(options)?;
        match limits.get(number).copied().flatten() {
            Some(nanos) => {
                self.put(out, &[1])?;
                self.put_at(out, 8, &nanos.to_le_bytes())
            }
            None => self.put(out, &[0]),
        }
    }

    /// Sets one of them.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn set_time_limit(
        &mut self,
        options: u32,
        number: usize,
        limit: Option<u64>,
    ) -> Outcome<u32> {
        let limits = self.table.request_options(options)?;
        if let Some(place) = limits.get_mut(number) {
            *place = limit;
        }
        Ok(0)
    }
}
