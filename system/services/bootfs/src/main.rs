//! The files of the system image, as a read-only part of the name space.
//!
//! A provider for the name server: it is asked to bind paths below its mount point and answers with
//! files. Each bound file has a channel of its own, directly between this SIP and the reader;
//! blocks are filled here and move back without a copy.
//!
//! Invariant: no client can stop another. The service never waits for one client alone, every size
//! is bounded, no program has more than its share of the open files, and their records are in
//! memory that the service has from its start.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::path;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "bootfs",
    description: "serves the files of the system image",
    privileges: [boot],
    endpoints: { names: NamespaceContract.Exp:Start },
    memory: 64 MiB,
    behavior: "
        // Arguments that it does not understand end it.
        state Start: ( names.Success! -> Serving or skip -> end );
        state Serving: one {
          names.Bind? -> ( names.AckBind! or names.NakBind! ) -> Serving;
          names.Find? -> ( names.AckFind! or names.NakFind! ) -> Serving;
          names.Notify? -> names.NakNotify! -> Serving;
          names.Register? -> names.NakRegister! -> Serving;
          names.Deregister? -> names.NakDeregister! -> Serving;
          names.Link? -> names.NakLink! -> Serving;
          names.ReadLink? -> names.NakReadLink! -> Serving;
          names.ChannelClosed? -> end;
        }
    ",
}

/// The size to which the heap is grown at the start: for each open file its path, and for a moment
/// the answer to a Find.
const HEAP: usize = 1 << 20;

/// Reads into the reader's block, which comes back cut to the bytes read.
fn read(path: &str, offset: u64, buffer: Vector<u8>) -> (Vector<u8>, u32) {
    let mut block = buffer.into_block();
    let read = |offset| sing_sdk::boot::read(path, offset, &mut block);
    // Nothing is read beyond the end, or into a block that cannot be written.
    let count = u32::try_from(offset).map_or(Ok(0), read).unwrap_or(0);
    (Vector::from_block(block), count)
}

/// Paths of the files, each with a leading `/`, as in the name space.
struct Files(Vec<String>);

impl Files {
    /// The file at a path, by its name in the system image.
    fn find(&self, path: &str) -> Option<String> {
        let known = self.0.iter().any(|p| p == path);
        known.then(|| path[1..].into())
    }

    fn list(&self, path: &str) -> Option<Vec<String>> {
        let names = path::list(self.0.iter().map(String::as_str), path);
        // The mount point is a directory even if the image has no files.
        if path == "/" {
            Some(names.unwrap_or_default())
        } else {
            names
        }
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let Some(names) = startup::names() else {
        return Ok(());
    };
    sing_sdk::reserve(HEAP)?;
    let paths = (0..).map_while(sing_sdk::boot::name);
    let files = Files(paths.map(|p| format!("/{p}")).collect());
    // The file that each reader reads.
    let mut readers: Provider<_, _, String> =
        Provider::new(names, FileContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case readers.clients[key].GetSize() as reader => {
                let size = sing_sdk::boot::size(&readers[key]).unwrap_or(0);
                readers.clients.put(key, reader.send_size(size.into()));
            }
            case readers.clients[key].Read(offset, buffer) as reader => {
                let (data, count) = read(&readers[key], offset, buffer);
                readers.clients.put(key, reader.send_data(data, count));
            }
            case readers.clients[_].ChannelClosed() => {}
            case &readers.lookup => {
                if readers.answer_tree(|path| files.find(path), |path| files.list(path)).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
