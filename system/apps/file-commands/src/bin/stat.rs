//! Shows the attributes of files, directories and links.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::Failure;
use file_commands::{open, program};
use sing_sdk::calendar::show;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "stat",
    description: "shows the attributes of files: stat PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Their paths.
    paths: some Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let mut names = match program::names("stat", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::each("stat", &paths, |place| {
        // A mount point has no directory above it; else a link is shown itself.
        let mut opened = open::above(&mut names, place).or_else(|_| open::at(&mut names, place))?;
        let of = opened.directory.attributes_of_link(&opened.path);
        let of = of.map_err(Failure::of(place.path()))?;
        let kind = match of.kind {
            FileKind::File => "file".to_string(),
            FileKind::Directory => "directory".to_string(),
            FileKind::Link => {
                let text = opened.directory.read_link(&opened.path);
                let text = text.map_err(Failure::of(place.path()))?;
                format!("link to {}", text.escape_debug())
            }
        };
        println!("{place}: {kind}");
        println!("  {} bytes, {} on the disk", of.bytes, of.allocated);
        println!("  number {}, names {}", of.id, of.links);
        for (what, time) in [
            ("created", of.created),
            ("modified", of.modified),
            ("changed", of.changed),
            ("accessed", of.accessed),
        ] {
            println!("  {what:<8} {}", show(time));
        }
        Ok(())
    })
}
