//! A program that a host program calls with directories, for the tests of embedding. A call is a word
//! and what it is about, each on a line of its own: `read`, the directory's name, a path.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::fs::{Directory, KEEP, Options};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "shelf",
    description: "is called with directories of the host",
    endpoints: {
        calls: CallContract.Exp:Start,
        directories: many DirectoryContract.Imp:Ready,
    },
    memory: 8 MiB,
}

sing_sdk::arguments! {
    /// The directories' names, in their order, and what comes behind them.
    names: many String "NAME";
}

type Shelves = Vec<(String, Directory)>;

fn list(directory: &mut Directory) -> Result<Vec<u8>, Error> {
    let mut names = directory
        .list()
        .map(|entry| entry.map(|entry| entry.name))
        .collect::<Result<Vec<String>, Error>>()?;
    names.sort();
    Ok(names.join(" ").into_bytes())
}

/// What it answers.
fn answer(shelves: &mut Shelves, text: &str, words: &str) -> Result<Vec<u8>, Error> {
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (word, name) = (next(), next());
    if word == "words" {
        return Ok(words.as_bytes().to_vec());
    }
    if word == "names" {
        let names: Vec<&str> = shelves.iter().map(|(name, _)| &name[..]).collect();
        return Ok(names.join(" ").into_bytes());
    }
    let named = shelves.iter_mut().find(|(its, _)| its == name);
    let directory = &mut named.ok_or(Error::NotFound)?.1;
    let (path, what) = (next(), next());
    match word {
        "list" => return list(directory),
        "read" => return directory.open_file(path)?.read_to_end(),
        "size" => {
            let bytes = directory.attributes(path)?.bytes;
            return Ok(format!("{bytes}").into_bytes());
        }
        "write" => {
            let mut file = directory.open_with(path, Options::create().truncate())?;
            file.write_at(0, what.as_bytes())?;
        }
        "fill" => {
            let bytes: Vec<u8> = (0..what.parse().unwrap_or(0))
                .map(|i: u32| i as u8)
                .collect();
            let mut file = directory.open_with(path, Options::create().truncate())?;
            file.write_at(0, &bytes)?;
        }
        "mkdir" => directory.make_directory(path)?,
        "remove" => directory.remove(path)?,
        "rename" => directory.rename(path, what)?,
        "link" => directory.link(path, what)?,
        "symlink" => directory.make_link(path, what)?,
        "touch" => directory.set_times(path, 1, KEEP)?,
        "below" => return list(&mut directory.open_directory(path)?),
        // Looks at a path again and again, until it finds what it should not.
        "peek" => {
            for _ in 0..1000 {
                if let Ok(mut file) = directory.open_file(path) {
                    let bytes = file.read_to_end()?;
                    if bytes == what.as_bytes() {
                        return Ok(b"found".to_vec());
                    }
                }
            }
        }
        // Has a file open, and does not answer.
        "hold" => {
            let _file = directory.open_file(path)?;
            sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
        }
        _ => return Err(Error::BadArgument),
    }
    Ok(b"done".to_vec())
}

#[sing_sdk::main]
fn main(Arguments { names }: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let directories = startup::directories().map(Directory::from_channel);
    let words = names.join(" ");
    let mut shelves: Shelves = names.into_iter().zip(directories).collect();
    let mut request = startup::calls().ok_or(Error::NotFound)?.recv();
    while let Start::Call(bytes, next) = request {
        let text = String::from_utf8_lossy(&bytes.to_vec()).into_owned();
        request = match answer(&mut shelves, &text, &words) {
            Ok(bytes) if bytes.is_empty() => next.call_answer(Vector::from_bytes(b"-")?),
            Ok(bytes) => next.call_answer(Vector::from_bytes(&bytes)?),
            Err(error) => next.call_refused(Text::new(&format!("{error}"))?),
        };
    }
    Ok(())
}
