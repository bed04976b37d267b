//! A server with a few files, for the driver's session: honest, or as told.

#![allow(dead_code, reason = "each test program uses a part of it")]

use sing_p9::{Attributes, Qid, Reply, Request, VERSION, errno, mode};
use sing_sdk::contracts::{FileFault, FileKind, OpenHow};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use virtio_9p::{Failed, Moved, ROOT, Session, Transport, Wish};

/// What a server has under a path.
#[derive(Clone)]
pub enum Node {
    Directory,
    File(Vec<u8>),
    Link(&'static str),
}

/// The longest message without data that the driver's device has room for.
const LONGEST: usize = 8 << 10;

/// What a server makes of its answer to a request.
pub type Lies = Box<dyn FnMut(&Request, &mut Vec<u8>)>;

/// A server with a few files. `lie` may replace an answer.
pub struct Server {
    pub nodes: BTreeMap<String, Node>,
    pub fids: BTreeMap<u32, String>,
    pub open: BTreeSet<u32>,
    lie: Lies,
    pub asked: usize,
    /// Whether there is memory to send requests that give a fid up.
    pub clunks: bool,
}

fn qid(node: &Node) -> Qid {
    let kind = match node {
        Node::Directory => Qid::DIRECTORY,
        Node::File(_) => 0,
        Node::Link(_) => Qid::LINK,
    };
    Qid {
        kind,
        ..Qid::default()
    }
}

impl Server {
    pub fn new(lie: impl FnMut(&Request, &mut Vec<u8>) + 'static) -> Server {
        let nodes = [
            ("", Node::Directory),
            ("/a", Node::Directory),
            ("/a/b", Node::Directory),
            ("/a/b/leaf", Node::File(b"leaf".to_vec())),
            ("/file", Node::File(b"content".to_vec())),
            ("/door", Node::Link("a/b")),
            ("/a/back", Node::Link("../file")),
            ("/out", Node::Link("../secret")),
            ("/a/far", Node::Link("../../secret")),
            ("/absolute", Node::Link("/file")),
            ("/round", Node::Link("round")),
            ("/must", Node::Link("file/")),
        ];
        Server {
            nodes: nodes.map(|(path, node)| (path.into(), node)).into(),
            fids: BTreeMap::new(),
            open: BTreeSet::new(),
            lie: Box::new(lie),
            asked: 0,
            clunks: true,
        }
    }

    fn node(&self, fid: u32) -> Result<&Node, u32> {
        let path = self.fids.get(&fid).ok_or(errno::EBADF)?;
        self.nodes.get(path).ok_or(errno::ENOENT)
    }

    fn answer(&mut self, message: &[u8]) -> Vec<u8> {
        self.asked += 1;
        let (tag, request) = Request::decode(message).expect("the driver sends messages");
        let mut out = Vec::new();
        match self.say(&request) {
            Ok(reply) => reply.encode(tag, &mut out),
            Err(reason) => Reply::Error(reason).encode(tag, &mut out),
        }
        (self.lie)(&request, &mut out);
        out
    }

    fn say(&mut self, request: &Request) -> Result<Reply<'static>, u32> {
        let done = Reply::Done(request.answer());
        Ok(match request {
            Request::Version { most, .. } => Reply::Version {
                most: *most,
                version: VERSION,
            },
            Request::Attach { fid } => {
                self.fids.insert(*fid, String::new());
                Reply::Attach(qid(&Node::Directory))
            }
            Request::Walk { fid, new, names } => {
                assert!(!self.fids.contains_key(new), "fid {new} is in use");
                let mut path = self.fids.get(fid).ok_or(errno::EBADF)?.clone();
                let mut qids = Vec::new();
                for name in names {
                    assert!(sing_p9::is_name(name), "{name:?} was asked for");
                    path = format!("{path}/{}", String::from_utf8_lossy(name));
                    match self.nodes.get(&path) {
                        Some(node) => qids.push(qid(node)),
                        None if qids.is_empty() => return Err(errno::ENOENT),
                        None => return Ok(Reply::Walk(qids)),
                    }
                }
                self.fids.insert(*new, path);
                Reply::Walk(qids)
            }
            Request::Open { fid, flags } => {
                if *flags & sing_p9::open::ACCESS != 0 {
                    return Err(errno::EROFS);
                }
                assert!(self.open.insert(*fid));
                Reply::Open(qid(self.node(*fid)?))
            }
            Request::ReadLink { fid } => match self.node(*fid)? {
                Node::Link(target) => Reply::ReadLink(target.as_bytes()),
                _ => return Err(errno::EINVAL),
            },
            Request::GetAttributes { fid } => {
                let node = self.node(*fid)?;
                let (kind, size) = match node {
                    Node::Directory => (mode::DIRECTORY, 0),
                    Node::File(bytes) => (mode::FILE, bytes.len()),
                    Node::Link(target) => (mode::LINK, target.len()),
                };
                Reply::Attributes(Attributes {
                    qid: qid(node),
                    mode: kind,
                    size: size as u64,
                    ..Attributes::default()
                })
            }
            Request::ReadDirectory { .. } => Reply::Directory(b""),
            Request::Write { data, .. } => Reply::Write(data.len() as u32),
            Request::Clunk { fid } => {
                self.open.remove(fid);
                self.fids.remove(fid).ok_or(errno::EBADF)?;
                done
            }
            _ => done,
        })
    }
}

impl Transport for Server {
    type Data = Vec<u8>;

    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failed> {
        let clunk = matches!(Request::decode(request), Ok((_, Request::Clunk { .. })));
        if request.len() > LONGEST || (clunk && !self.clunks) {
            return Err(Failed::NotSent);
        }
        *reply = self.answer(request);
        if reply.is_empty() {
            return Err(Failed::Lost);
        }
        Ok(())
    }

    fn send(
        &mut self,
        head: &[u8],
        data: Vec<u8>,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Vec<u8>> {
        let mut message = head.to_vec();
        message.extend_from_slice(&data[part.start as usize..part.end as usize]);
        *reply = self.answer(&message);
        let written = reply.len() as u32;
        (Some(data), Ok(written))
    }

    fn fill(
        &mut self,
        request: &[u8],
        mut data: Vec<u8>,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Vec<u8>> {
        let (_, asked) = Request::decode(request).unwrap();
        let Request::Read { fid, offset, count } = asked else {
            panic!("data of what is no read");
        };
        assert_eq!(count, part.end - part.start);
        let bytes = match self.node(fid) {
            Ok(Node::File(bytes)) => bytes.clone(),
            _ => Vec::new(),
        };
        let from = (offset as usize).min(bytes.len());
        let bytes = &bytes[from..bytes.len().min(from + count as usize)];
        let mut answer = Vec::new();
        Reply::Read(bytes).encode(1, &mut answer);
        (self.lie)(&asked, &mut answer);
        let start = part.start as usize;
        data[start..start + bytes.len()].copy_from_slice(bytes);
        let written = answer.len() as u32;
        answer.truncate(sing_p9::DATA_HEAD);
        *reply = answer;
        (Some(data), Ok(written))
    }
}

pub fn honest() -> Session<Server> {
    Session::begin(Server::new(|_, _| {})).unwrap()
}

pub fn lying(lie: impl FnMut(&Request, &mut Vec<u8>) + 'static) -> Session<Server> {
    Session::begin(Server::new(lie)).unwrap()
}

/// Replaces the answer to a request.
pub fn say(out: &mut Vec<u8>, reply: &Reply) {
    reply.encode(1, out);
}

pub fn wish(file: bool, write: bool) -> Wish {
    Wish {
        how: OpenHow::Existing,
        truncate: false,
        follow: true,
        write,
        file,
    }
}

pub fn kind_at(s: &mut Session<Server>, path: &str, follow: bool) -> Result<FileKind, FileFault> {
    s.attributes_at(ROOT, path, follow).map(|of| of.kind)
}

/// All fids but the root's have been given up.
pub fn tidy(s: &mut Session<Server>) {
    let fids: Vec<u32> = s.transport().fids.keys().copied().collect();
    assert_eq!(fids, [ROOT]);
}
