//! A program that is merged with an adapter, as it runs: its world, from its start to its end.

use crate::Wasi;
use crate::errno::{self, Errno, number};
use crate::settings::Preopen;
use crate::sing::{Merged, Sing};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::fs::Directory;
use sing_sdk::prelude::*;
use sing_sdk::program::Local;

/// The world of the program that runs here.
pub type World = Wasi<Sing<Merged>>;

/// It is there from the program's start on.
static WORLD: Local<World> = Local::new();

/// Answers a call of the program's.
pub fn call(work: impl FnOnce(&mut World) -> errno::Result) -> i32 {
    WORLD.with(|world| match world {
        Some(wasi) => number(work(wasi)),
        // Its start function runs before there is a world.
        None => number(Err(Errno::Badf)),
    })
}

/// Starts the program in this world; returns when it does.
pub fn start(wasi: World) {
    WORLD.with(|world| *world = Some(wasi));
    sing_sdk::program::start();
}

/// Gives up all that the program has. What it wrote to the log is there, with or without an end of
/// its last line.
pub fn leave() {
    WORLD.with(|world| drop(world.take()));
}

/// The directories that the program is given, with their names: `named` finds one by its path, `given` are
/// those without.
///
/// # Errors
/// Which of them is not there, for a person.
pub fn directories(
    preopens: Vec<Preopen>,
    mut named: impl FnMut(&str) -> Result<Directory, Error>,
    mut given: impl Iterator<Item = DirectoryContract::Imp<DirectoryContract::Ready>>,
) -> Result<Vec<(String, Directory)>, String> {
    let mut all = Vec::new();
    for preopen in preopens {
        let wrong = |reason: Error| format!("the directory {}: {reason}", preopen.name);
        let directory = match &preopen.path {
            None => given
                .next()
                .map(Directory::from_channel)
                .ok_or(Error::NotFound),
            Some(path) => named(path),
        };
        let mut directory = directory.map_err(wrong)?;
        if !preopen.change {
            directory = directory.open_directory_to_read("").map_err(wrong)?;
        }
        all.push((preopen.name, directory));
    }
    Ok(all)
}

/// The words of settings, as a program gets them.
#[must_use]
pub fn bytes(words: Vec<String>) -> Vec<Vec<u8>> {
    words.into_iter().map(String::into_bytes).collect()
}
