//! Addresses of files on the web.

use sing_sdk::prelude::*;

/// The longest address.
const LONGEST: usize = 2048;
/// The port of servers, if none is said.
const PORT: u16 = 80;

/// An address of `http:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// A name, or an address; one of IPv6 without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What is asked for: the path with the query.
    pub path: String,
}

/// Why an address is none.
#[derive(Debug)]
pub enum Bad {
    /// It is one, of another protocol.
    Protocol(String),
    /// It is none, for this reason.
    Other(&'static str),
}

impl Url {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Url, Bad> {
        if text.len() > LONGEST {
            return Err(Bad::Other("longer than an address may be"));
        }
        // Whatever else it has would be part of the request's text.
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Bad::Other(
                "has spaces or letters that an address cannot have; write %20",
            ));
        }
        let Some((protocol, rest)) = text.split_once("://") else {
            return Err(Bad::Other("no address; write http://HOST/PATH"));
        };
        if !protocol.eq_ignore_ascii_case("http") {
            return Err(Bad::Protocol(protocol.into()));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (server, path) = rest.split_at(at);
        let named = sing_http::request::server(server, PORT);
        let (host, port) = named.ok_or(Bad::Other("no host and port"))?;
        let host = host.into();
        let path = if path.starts_with('/') {
            path.into()
        } else {
            format!("/{path}")
        };
        Ok(Url { host, port, path })
    }

    /// Where a server sends to, from here.
    ///
    /// # Errors
    /// As [`Url::parse`].
    pub fn join(&self, to: &str) -> Result<Url, Bad> {
        let base = format!("http://{}", self.server());
        let is_whole = to
            .split(['/', '?', '#'])
            .next()
            .is_some_and(|first| first.ends_with(':'));
        if is_whole {
            Url::parse(to)
        } else if to.starts_with("//") {
            Url::parse(&format!("http:{to}"))
        } else if to.starts_with('/') {
            Url::parse(&format!("{base}{to}"))
        } else {
            let path = self.path.split('?').next().unwrap_or("/");
            let above = path.rfind('/').map_or("/", |at| &path[..=at]);
            Url::parse(&format!("{base}{above}{to}"))
        }
    }

    /// The host and port, as a request says them.
    #[must_use]
    pub fn server(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port {
            PORT => host,
            port => format!("{host}:{port}"),
        }
    }
}
