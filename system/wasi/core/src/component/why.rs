//! `error-code` of `wasi:http/types`: why a request has no answer, and how that lies in memory.

use super::{Component, Outcome, Room};
use crate::net;
use alloc::string::String;
use sing_http::Fault;

/// The number of a case, as far as one is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Case {
    DnsTimeout = 0,
    DnsError = 1,
    DestinationIpProhibited = 4,
    DestinationIpUnroutable = 5,
    ConnectionRefused = 6,
    ConnectionTerminated = 7,
    ConnectionTimeout = 8,
    ConnectionReadTimeout = 9,
    ConnectionWriteTimeout = 10,
    ConnectionLimitReached = 11,
    RequestDenied = 15,
    RequestBodySize = 17,
    RequestMethodInvalid = 18,
    RequestUriInvalid = 19,
    RequestHeaderSectionSize = 21,
    RequestTrailerSectionSize = 23,
    ResponseIncomplete = 25,
    ResponseHeaderSectionSize = 26,
    ResponseTrailerSectionSize = 29,
    ResponseTransferCoding = 31,
    UpgradeFailed = 34,
    ProtocolError = 35,
    InternalError = 38,
}

/// What a case says beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum With {
    Nothing,
    /// A text; of a name that was not found, its `rcode`.
    Text(String),
    /// A size of 32 bits, and one of 64.
    Size(u32),
    Bytes(u64),
}

/// Why a request has no answer, or a body no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    pub case: Case,
    pub with: With,
}

/// Bytes of what a case says beside, as it lies in memory.
const BESIDE: usize = 24;

impl From<Case> for Why {
    fn from(case: Case) -> Why {
        let with = With::Nothing;
        Why { case, with }
    }
}

impl Why {
    pub fn text(case: Case, text: &str) -> Why {
        Why {
            case,
            with: With::Text(text.into()),
        }
    }

    pub fn size(case: Case, bytes: usize) -> Why {
        Why {
            case,
            with: With::Size(u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }

    pub fn bytes(case: Case, bytes: u64) -> Why {
        Why {
            case,
            with: With::Bytes(bytes),
        }
    }

    /// Why a name was not found.
    pub fn of_lookup(code: net::Code) -> Why {
        match code {
            net::Code::NameUnresolvable => Why::text(Case::DnsError, "there is no such name"),
            net::Code::TemporaryResolverFailure | net::Code::Timeout => Case::DnsTimeout.into(),
            // There is nobody who could be asked, as nobody may be.
            net::Code::PermanentResolverFailure => Case::RequestDenied.into(),
            code => Why::of_connection(code),
        }
    }

    /// Why a connection was not made.
    pub fn of_connection(code: net::Code) -> Why {
        let case = match code {
            net::Code::AccessDenied => Case::RequestDenied,
            net::Code::ConnectionRefused => Case::ConnectionRefused,
            net::Code::Timeout => Case::ConnectionTimeout,
            net::Code::RemoteUnreachable => Case::DestinationIpUnroutable,
            net::Code::InvalidArgument => Case::DestinationIpProhibited,
            net::Code::ConnectionReset | net::Code::ConnectionAborted => Case::ConnectionTerminated,
            net::Code::NewSocketLimit | net::Code::OutOfMemory => Case::ConnectionLimitReached,
            _ => {
                return Why::text(
                    Case::InternalError,
                    "the network does not make a connection",
                );
            }
        };
        case.into()
    }
}

impl From<Fault> for Why {
    fn from(fault: Fault) -> Why {
        match fault {
            Fault::HeadTooLong => {
                Why::size(Case::ResponseHeaderSectionSize, sing_http::answer::HEAD)
            }
            Fault::TrailersTooLong => {
                Why::size(Case::ResponseTrailerSectionSize, sing_http::body::TRAILERS)
            }
            Fault::Coding(coding) => Why::text(Case::ResponseTransferCoding, &coding),
            Fault::Upgrade => Case::UpgradeFailed.into(),
            Fault::Cut => Case::ResponseIncomplete.into(),
            Fault::Damaged | Fault::Contradiction | Fault::NoFinal => Case::ProtocolError.into(),
        }
    }
}

impl<H: Room> Component<H> {
    /// Puts an `error-code` at a place of a result.
    pub(super) fn put_why(&mut self, out: u32, at: u32, why: &Why) -> Outcome {
        let mut beside = [0; BESIDE];
        match &why.with {
            With::Nothing => {}
            With::Text(text) => {
                beside[0] = 1;
                beside[4..12].copy_from_slice(&self.place(text.as_bytes())?);
            }
            With::Size(size) => {
                beside[0] = 1;
                beside[4..8].copy_from_slice(&size.to_le_bytes());
            }
            With::Bytes(bytes) => {
                beside[0] = 1;
                beside[8..16].copy_from_slice(&bytes.to_le_bytes());
            }
        }
        self.put_at(out, at, &[why.case as u8])?;
        self.put_at(out, at + 8, &beside)
    }
}
