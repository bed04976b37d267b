//! The files of the system image, as a part of the name space: read-only.
//!
//! A provider for the name server: it is asked to bind paths below its mount point and answers with files. Each
//! bound file is a channel of its own, directly between this SIP and the reader; blocks are filled here and
//! move back uncopied.
//!
//! Invariant: no client can stop another: nobody is waited for alone, and every size is bounded.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Handle, TypedEndpoint};
use sing_sdk::sync::WaitSet;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "bootfs",
    description: "serves the files of the system image",
    privileges: [boot],
    endpoints: { names: NamespaceContract.Exp:Start },
    memory: 64 MiB,
    behavior: "
        state Start: names.Success! -> Serving;
        state Serving: one {
          names.Bind? -> ( names.AckBind! or names.NakBind! ) -> Serving;
          names.Find? -> ( names.AckFind! or names.NakFind! ) -> Serving;
          names.Notify? -> names.NakNotify! -> Serving;
          names.Register? -> names.NakRegister! -> Serving;
          names.Deregister? -> names.NakDeregister! -> Serving;
          names.ChannelClosed? -> end;
        }
    ",
}

/// Files open at a time.
const MAX_OPEN: usize = 1024;

type Service = ServiceContract::Exp<ServiceContract::Start>;

struct Open {
    path: String,
    channel: FileContract::Exp<FileContract::Ready>,
}

/// Answers one request for a file; `None` when its reader has gone.
fn serve(open: Open) -> Option<Open> {
    use FileContract::exp::Ready;
    let Open { path, channel } = open;
    let channel = match channel.recv() {
        Ready::GetSize(next) => {
            let size = sing_sdk::boot::size(&path).unwrap_or(0);
            next.send_size(size.into())
        }
        Ready::Read(offset, buffer, next) => {
            let mut block = buffer.into_block();
            let read = |offset| sing_sdk::boot::read(&path, offset, &mut block);
            // Behind the end, or into a block that cannot be written, there is nothing to read.
            let count = u32::try_from(offset).map_or(Ok(0), read).unwrap_or(0);
            next.send_data(Vector::from_block(block), count)
        }
        Ready::Closed => return None,
    };
    Some(Open { path, channel })
}

struct Files {
    /// With a `/` before each, as paths of the name space are.
    paths: Vec<String>,
    open: BTreeMap<u32, Open>,
    last: u32,
}

impl Files {
    /// Opens a file for whoever has the other side of this channel; gives back what cannot be served.
    fn bind(&mut self, path: Option<String>, service: Service) -> Option<Service> {
        let path = path.as_deref().and_then(path::normalize);
        let Some(path) = path.filter(|p| self.paths.contains(p)) else {
            return Some(service);
        };
        if self.open.len() >= MAX_OPEN {
            return Some(service);
        }
        match service
            .into_endpoint()
            .cast::<FileContract::Exp<FileContract::Start>>()
        {
            Ok(channel) => {
                let path = path[1..].into();
                self.last += 1;
                self.open.insert(
                    self.last,
                    Open {
                        path,
                        channel: channel.send_success(),
                    },
                );
                None
            }
            Err(other) => other.cast().ok(),
        }
    }

    fn list(&self, path: Option<String>) -> Option<Text> {
        let path = path.as_deref().and_then(path::normalize)?;
        let names = path::list(self.paths.iter().map(String::as_str), &path);
        // The mount point is a directory also where the image has no files.
        let names = if path == "/" {
            names.unwrap_or_default()
        } else {
            names?
        };
        let lines: String = names.iter().flat_map(|n| [n.as_str(), "\n"]).collect();
        Text::new(&lines).ok()
    }
}

#[sing_sdk::main]
fn main() {
    let Some(names) = startup::names() else {
        return;
    };
    let mut names = names.send_success();
    let paths = (0..)
        .map_while(sing_sdk::boot::name)
        .map(|p| format!("/{p}"))
        .collect();
    let mut files = Files {
        paths,
        open: BTreeMap::new(),
        last: 0,
    };
    let mut set = WaitSet::new();
    loop {
        let (ids, handles): (Vec<u32>, Vec<Handle>) = core::iter::once((0, names.handle()))
            .chain(
                files
                    .open
                    .iter()
                    .map(|(id, open)| (*id, open.channel.handle())),
            )
            .unzip();
        let Ok(index) = set.wait(&handles, Timeout::FOREVER) else {
            return;
        };
        if index > 0 {
            let id = ids[index];
            if let Some(open) = files.open.remove(&id).and_then(serve) {
                files.open.insert(id, open);
            }
            continue;
        }
        use NamespaceContract::exp::Ready;
        names = match names.recv() {
            Ready::Bind(path, service, next) => {
                match files.bind(path.get_within(path::LONGEST), service) {
                    None => next.send_ack_bind(),
                    Some(service) => next.send_nak_bind(service),
                }
            }
            Ready::Find(path, next) => match files.list(path.get_within(path::LONGEST)) {
                Some(names) => next.send_ack_find(names),
                None => next.send_nak_find(),
            },
            // A part of the name space that never changes, and that nobody else can serve.
            Ready::Notify(_, watcher, next) => next.send_nak_notify(watcher),
            Ready::Register(_, provider, next) => next.send_nak_register(provider),
            Ready::Deregister(_, next) => next.send_nak_deregister(),
            Ready::Closed => return,
        };
    }
}
