//! A tool that is hostile: does what its call says, all that a tool should not.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::fs::Directory;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "rogue",
    description: "does what a tool should not",
    endpoints: {
        calls: CallContract.Exp:Start,
        directories: many DirectoryContract.Imp:Ready,
    },
    memory: 8 MiB,
}

sing_sdk::arguments! {
    /// What the host calls the directories that it gives.
    names: many String "NAME";
}

/// Tries to get out of its directory, to the notes of another tool and to the host's files; how many of
/// its ways have led there.
fn climb() -> Result<usize, Error> {
    let mut own = Directory::from_channel(startup::directories().next().ok_or(Error::NotFound)?);
    let ways = [
        ("up", "../notes/diary"),
        ("further", "../../../../../../etc/passwd"),
        ("absolute", "/etc/passwd"),
    ];
    let mut found = 0;
    for (link, path) in ways {
        found += usize::from(own.open_file(path).is_ok());
        // One that was made by an earlier call is as good.
        let _ = own.make_link(link, path);
        found += usize::from(own.open_file(link).is_ok());
    }
    found += usize::from(own.open_directory("..").is_ok());
    Ok(found)
}

/// Takes memory until there is none.
fn hoard() -> ! {
    let mut all: Vec<Vec<u8>> = Vec::new();
    loop {
        all.push(vec![1; 64 << 10]);
    }
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let Start::Call(bytes, next) = startup::calls().ok_or(Error::NotFound)?.recv() else {
        return Ok(());
    };
    match &bytes.to_vec()[..] {
        br#""loop""# => loop {
            core::hint::spin_loop();
        },
        br#""wait""# => sing_sdk::time::sleep(core::time::Duration::from_secs(3600)),
        br#""hoard""# => hoard(),
        br#""climb""# => {
            let found = format!("\"{} ways have led out\"", climb()?);
            drop(next.call_answer(Vector::from_bytes(found.as_bytes())?));
        }
        br#""crash""# => panic!("as it was told"),
        br#""flood""# => drop(next.call_answer(Vector::from_bytes(&vec![b' '; 1 << 20])?)),
        br#""nonsense""# => drop(next.call_answer(Vector::from_bytes(b"{\"result\":")?)),
        _ => drop(next.call_answer(Vector::from_bytes(b"\"it does nothing\"")?)),
    }
    Ok(())
}
