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
use sing_sdk::rt::TypedEndpoint;

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

/// Reads into the reader's block: it comes back with as much as was there.
fn read(path: &str, offset: u64, buffer: Vector<u8>) -> (Vector<u8>, u32) {
    let mut block = buffer.into_block();
    let read = |offset| sing_sdk::boot::read(path, offset, &mut block);
    // Behind the end, or into a block that cannot be written, there is nothing to read.
    let count = u32::try_from(offset).map_or(Ok(0), read).unwrap_or(0);
    (Vector::from_block(block), count)
}

struct Files {
    /// With a `/` before each, as paths of the name space are.
    paths: Vec<String>,
    /// The readers.
    open: EndpointSet<FileContract::Exp<FileContract::Ready>>,
    /// What each of them reads, by its key.
    read: BTreeMap<usize, String>,
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
                // Where there is no room for it, its reader finds it closed.
                if let Ok(key) = self.open.insert(channel.send_success()) {
                    self.read.insert(key, path[1..].into());
                }
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
    let Ok(open) = EndpointSet::new() else {
        return;
    };
    let mut files = Files {
        paths,
        open,
        read: BTreeMap::new(),
    };
    loop {
        names = switch_receive! {
            case files.open[key].GetSize() as reader => {
                let size = sing_sdk::boot::size(&files.read[&key]).unwrap_or(0);
                files.open.put(key, reader.send_size(size.into()));
                continue;
            }
            case files.open[key].Read(offset, buffer) as reader => {
                let (data, count) = read(&files.read[&key], offset, buffer);
                files.open.put(key, reader.send_data(data, count));
                continue;
            }
            case files.open[key].ChannelClosed() => {
                files.read.remove(&key);
                continue;
            }
            case names.Bind(path, service) as next => {
                match files.bind(path.get_within(path::LONGEST), service) {
                    None => next.send_ack_bind(),
                    Some(service) => next.send_nak_bind(service),
                }
            }
            case names.Find(path) as next => match files.list(path.get_within(path::LONGEST)) {
                Some(names) => next.send_ack_find(names),
                None => next.send_nak_find(),
            },
            // A part of the name space that never changes, and that nobody else can serve.
            case names.Notify(_, watcher) as next => next.send_nak_notify(watcher),
            case names.Register(_, provider) as next => next.send_nak_register(provider),
            case names.Deregister(_) as next => next.send_nak_deregister(),
            case names.ChannelClosed() => return,
        };
    }
}
