//! The answer to a question.

use super::name::{Name, text};
use super::{A, AAAA, CNAME};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use smoltcp::wire::{
    DnsFlags, DnsOpcode, DnsPacket, DnsQuestion, DnsRcode, DnsRecord, DnsRecordData,
};

/// The most records of an answer that are read, and names that stand for another in a row.
const RECORDS: usize = 64;
const ALIASES: usize = 8;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub name: String,
    /// Its type.
    pub kind: u16,
    /// For how many seconds it holds.
    pub seconds: u32,
    /// What it says, in words.
    pub text: String,
    /// The address, if it says one.
    pub address: Option<IpAddr>,
}

/// What a server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The server knows that there is no such name.
    pub no_name: bool,
    /// The server does not answer the question: it cannot, or will not.
    pub refused: bool,
    /// There was more than fits a message.
    pub truncated: bool,
    /// What it has said of this name and others.
    pub records: Vec<Record>,
}

impl Answer {
    /// Reads a message, if it is the answer to this question: the number, the name and the type are
    /// those of the question.
    #[must_use]
    pub fn read(message: &[u8], id: u16, name: &Name, kind: u16) -> Option<Answer> {
        let packet = DnsPacket::new_checked(message).ok()?;
        let flags = packet.flags();
        let is_answer = packet.transaction_id() == id
            && flags.contains(DnsFlags::RESPONSE)
            && packet.opcode() == DnsOpcode::Query
            && packet.question_count() == 1;
        if !is_answer {
            return None;
        }
        let (mut rest, question) = DnsQuestion::parse(packet.payload()).ok()?;
        if u16::from(question.type_) != kind || Name::read(&packet, question.name)? != *name {
            return None;
        }
        let code = packet.rcode();
        let mut answer = Answer {
            no_name: code == DnsRcode::NXDomain,
            refused: !matches!(code, DnsRcode::NXDomain | DnsRcode::NoError),
            truncated: flags.contains(DnsFlags::TRUNCATED),
            records: Vec::new(),
        };
        for _ in 0..usize::from(packet.answer_record_count()).min(RECORDS) {
            // What comes behind a damaged record cannot be told from it.
            let Ok((next, record)) = DnsRecord::parse(rest) else {
                answer.truncated = true;
                break;
            };
            rest = next;
            answer.records.push(read(&packet, &record)?);
        }
        Some(answer)
    }

    /// The addresses of a name, by way of the names that it stands for, and for how many seconds
    /// all of that holds. Records of other names, which nobody has asked for, count for nothing.
    #[must_use]
    pub fn addresses(&self, name: &Name) -> (Vec<IpAddr>, u32) {
        let (mut name, mut seconds) = (name.clone(), u32::MAX);
        for _ in 0..ALIASES {
            let own = |record: &&Record| Name::parse(&record.name).is_some_and(|n| n == name);
            let found = self
                .records
                .iter()
                .filter(own)
                .filter(|r| r.address.is_some());
            let (mut all, mut least) = (Vec::new(), seconds);
            for record in found {
                least = least.min(record.seconds);
                all.extend(record.address);
            }
            if !all.is_empty() {
                return (all, least);
            }
            let alias = self.records.iter().filter(own).find(|r| r.kind == CNAME);
            let Some((next, record)) = alias.and_then(|r| Some((Name::parse(&r.text)?, r))) else {
                break;
            };
            seconds = seconds.min(record.seconds);
            name = next;
        }
        (Vec::new(), 0)
    }
}

fn read(packet: &DnsPacket<&[u8]>, record: &DnsRecord) -> Option<Record> {
    let (kind, said, address) = match record.data {
        DnsRecordData::A(v4) => (A, format!("{v4}"), Some(IpAddr::V4(v4))),
        DnsRecordData::Aaaa(v6) => (AAAA, format!("{v6}"), Some(IpAddr::V6(v6))),
        DnsRecordData::Cname(at) => (CNAME, text(packet, at)?, None),
        DnsRecordData::Other(kind, data) => {
            let kind = u16::from(kind);
            let said = other(packet, kind, data);
            (kind, said.unwrap_or_else(|| digits(data)), None)
        }
    };
    Some(Record {
        name: text(packet, record.name)?,
        kind,
        // The highest bit is no part of it (RFC 2181): such a time is none.
        seconds: if record.ttl >> 31 == 0 { record.ttl } else { 0 },
        text: said,
        address,
    })
}

/// The data of a record of a known type in words.
fn other(packet: &DnsPacket<&[u8]>, kind: u16, data: &[u8]) -> Option<String> {
    let word = |at: usize| Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?));
    match super::kind_name(kind).as_str() {
        "NS" | "PTR" => text(packet, data),
        "MX" => Some(format!("{} {}", word(0)?, text(packet, &data[2..])?)),
        "SRV" => {
            let to = text(packet, data.get(6..)?)?;
            Some(format!("{} {} {} {to}", word(0)?, word(2)?, word(4)?))
        }
        "TXT" => {
            let (mut said, mut rest) = (String::new(), data);
            while let Some((len, behind)) = rest.split_first() {
                let part = behind.get(..usize::from(*len))?;
                if !said.is_empty() {
                    said.push(' ');
                }
                said.push('"');
                push_plain(&mut said, part, b"\"\\");
                said.push('"');
                rest = &behind[part.len()..];
            }
            Some(said)
        }
        _ => None,
    }
}

/// The data of a record of an unknown type, as RFC 3597 has it.
fn digits(data: &[u8]) -> String {
    let mut said = format!("\\# {}", data.len());
    for (at, byte) in data.iter().enumerate() {
        let space = if at == 0 { " " } else { "" };
        said.push_str(&format!("{space}{byte:02x}"));
    }
    said
}

/// Appends bytes as text that a terminal can show: whatever is not printable ASCII, or is one of
/// `marks`, as `\DDD`.
pub(super) fn push_plain(text: &mut String, bytes: &[u8], marks: &[u8]) {
    for byte in bytes {
        match byte {
            b' '..=b'~' if !marks.contains(byte) => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\{other:03}")),
        }
    }
}
