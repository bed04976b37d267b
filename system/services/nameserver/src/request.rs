//! What clients ask and what is answered, on the way through the name server.

use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::{path, walk};

pub type Service = ServiceContract::Exp<ServiceContract::Start>;
pub type Watcher = NotifyContract::Imp<NotifyContract::Start>;
pub type Provided = NamespaceContract::Imp<NamespaceContract::Start>;

/// An endpoint that came with a request, and goes back if it is refused.
pub enum Back {
    Nothing,
    Service(Service),
    Watcher(Watcher),
    Provider(Provided),
}

/// A piece of results.
pub struct Found {
    pub count: u32,
    pub results: Vector<FindResponse>,
    pub text: Text,
    pub at: Text,
    pub after: Text,
}

impl Found {
    /// Its size in bytes.
    pub fn len(&self) -> usize {
        let texts = [&self.text, &self.at, &self.after];
        let texts: usize = texts.iter().map(|text| text.block().len()).sum();
        self.results.block().len() + texts
    }

    /// Whether it is what the contract says, from a server that may be any program: lengths and
    /// numbers fit, and it is no longer than a piece can be.
    pub fn is_sound(&self) -> bool {
        let (count, room) = (self.count as usize, self.text.block().len());
        if count > walk::NAMES || room > walk::BYTES + 2 * path::LONGEST {
            return false;
        }
        let lengths = (0..count).map(|i| {
            let FindResponse { path, detail, .. } = self.results.get(i)?;
            Some(u64::from(path) + u64::from(detail))
        });
        let all: Option<u64> = lengths.sum();
        all.is_some_and(|all| all <= room as u64)
    }
}

/// An answer to a request.
pub enum Reply {
    Done,
    Refused(Refusal, Back),
    Found(Found),
    /// How much of the path names a link, its target, and what came with the request.
    Link(usize, Text, Back),
}

/// What a client wants of a path.
pub enum Verb {
    Bind,
    /// The path is the directory.
    Find(Search),
    /// The path is the directory.
    Notify(String),
    Register {
        contract: String,
        /// What the record of it will cost, charged already.
        price: usize,
    },
    Deregister,
    Link {
        target: String,
        price: usize,
    },
    ReadLink,
}

/// A search in a directory.
pub struct Search {
    pub pattern: String,
    pub at: String,
    pub after: String,
    /// The name server below the directory that has been asked for the next piece.
    pub into: Option<String>,
    /// The root mount has been asked for its names, which come together with the server's own.
    pub union: bool,
}

/// A request of a client that is not answered yet.
pub struct Asking {
    /// As far as links on it have been followed.
    pub path: String,
    pub hops: u8,
    /// How much of the path names the provider that has been asked.
    pub mount: usize,
    pub verb: Verb,
    /// The number of the request to the provider, so that the answer to an earlier one, for which
    /// nobody waits any more, is none to this.
    pub turn: u32,
    /// The provider that has been asked.
    pub server: u32,
    /// Since when it waits: a part of a search for this provider, all others for the first one.
    pub since: Duration,
}

impl Asking {
    /// Whether it is a part of a search that can go on without the answer.
    pub fn is_part(&self) -> bool {
        matches!(&self.verb, Verb::Find(search) if search.into.is_some() || search.union)
    }

    /// Bytes of its texts, which stay until it is answered.
    pub fn kept(&self) -> usize {
        let verb = match &self.verb {
            Verb::Find(search) => {
                let into = search.into.as_ref().map_or(0, String::len);
                search.pattern.len() + search.at.len() + search.after.len() + into
            }
            Verb::Notify(text) => text.len(),
            Verb::Register { contract, .. } => contract.len(),
            Verb::Link { target, .. } => target.len(),
            Verb::Bind | Verb::Deregister | Verb::ReadLink => 0,
        };
        self.path.len() + verb
    }
}

/// Who asks a provider, and what for that is charged until it answers.
#[derive(Clone, Copy)]
pub struct Asker {
    /// 0 for the name server itself, which needs no answer.
    pub client: u32,
    pub origin: u32,
    pub cost: usize,
    /// As in [`Asking`].
    pub turn: u32,
}

/// A request to a provider. Its texts are in the exchange heap already, so that sending it cannot
/// fail for lack of memory, which would leave the client without an answer.
pub struct Request {
    pub asker: Asker,
    pub path: Text,
    pub body: Body,
}

/// What a provider is asked to do.
pub enum Body {
    Bind(Service),
    Find { at: Text, after: Text },
    Notify(Watcher),
    Register { contract: Text, provider: Provided },
    Deregister,
    Link { target: Text },
    ReadLink(Back),
}

impl Body {
    /// The endpoint that goes back to the client.
    pub fn back(self) -> Back {
        match self {
            Body::Bind(service) => Back::Service(service),
            Body::Notify(watcher) => Back::Watcher(watcher),
            Body::Register { provider, .. } => Back::Provider(provider),
            Body::ReadLink(back) => back,
            Body::Find { .. } | Body::Deregister | Body::Link { .. } => Back::Nothing,
        }
    }
}
