//! A client that replaces files as programs do that must not lose any: it writes a new one, syncs
//! it, gives it the old one's name and syncs the directory. Whatever ends meanwhile, each file is
//! one that it has written, whole, and not older than the last one whose sync was answered.

use crate::startup;
use crate::storm::Draw;
use core::time::Duration;
use sing_sdk::contracts::FileFault;
use sing_sdk::fs::{self, Directory, Options};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time;

const FILES: usize = 4;
/// How long the file system may be away.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does it again while what it needs is away.
pub fn again<T>(mut what: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let start = time::uptime();
    loop {
        match what() {
            Err(Error::Closed | Error::NotFound | Error::Refused(Refusal::Again))
                if time::uptime() - start < PATIENCE =>
            {
                time::sleep(Duration::from_millis(1));
            }
            outcome => return outcome,
        }
    }
}

/// The content of a file in one of its versions.
fn content(file: usize, version: u64) -> Vec<u8> {
    let mut draw = Draw((version << 8 | file as u64) + 1);
    let len = 16 + draw.below(100_000) as usize;
    let mut bytes = Vec::with_capacity(len + 8);
    bytes.extend_from_slice(&version.to_le_bytes());
    while bytes.len() < len {
        bytes.extend_from_slice(&draw.below(u64::MAX).to_le_bytes());
    }
    bytes
}

struct Client {
    names: Names,
    path: String,
    directory: Directory,
    /// For each file the last version whose sync was answered, and the last that was begun.
    synced: [u64; FILES],
    begun: [u64; FILES],
}

/// Replaces files until its pipe is closed, and at least one.
pub fn run(path: &str) -> Result<i32, Error> {
    let until = startup::until().ok_or(Error::NotFound)?;
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let (parent, name) = fs::split(path).ok_or(Error::BadArgument)?;
    again(|| {
        let mut parent = Directory::open(&mut names, parent)?;
        match parent.make_directory(name) {
            Err(Error::File(FileFault::Exists)) => {}
            other => other?,
        }
        parent.sync()
    })?;
    let directory = again(|| Directory::open(&mut names, path))?;
    let (synced, begun) = ([0; FILES], [0; FILES]);
    let mut client = Client {
        names,
        path: path.into(),
        directory,
        synced,
        begun,
    };
    client.clear()?;
    let mut draw = Draw(0x7eed);
    let mut rounds = 0;
    while rounds == 0 || !until.is_ready() {
        match client.replace(draw.below(FILES as u64) as usize) {
            Ok(()) => rounds += 1,
            Err(Error::Closed) => {
                client.reopen()?;
                for file in 0..FILES {
                    if let Some(wrong) = client.look(file)? {
                        println!("filestorm: {}: {wrong}", client.path);
                        return Ok(1);
                    }
                }
            }
            Err(error) => {
                println!("filestorm: {}: {error}", client.path);
                return Ok(1);
            }
        }
    }
    client.clear()?;
    Ok(0)
}

impl Client {
    fn reopen(&mut self) -> Result<(), Error> {
        self.directory = again(|| Directory::open(&mut self.names, &self.path))?;
        Ok(())
    }

    /// Removes all files, for good.
    fn clear(&mut self) -> Result<(), Error> {
        loop {
            match self.remove_all() {
                Err(Error::Closed) => self.reopen()?,
                other => return other,
            }
        }
    }

    fn remove_all(&mut self) -> Result<(), Error> {
        for file in 0..FILES {
            for kind in ["new", "old"] {
                match self.directory.remove(&format!("{kind}{file}")) {
                    Ok(()) | Err(Error::NotFound) => {}
                    Err(other) => return Err(other),
                }
            }
        }
        self.directory.sync()
    }

    fn replace(&mut self, file: usize) -> Result<(), Error> {
        self.begun[file] += 1;
        let version = self.begun[file];
        let (new, old) = (format!("new{file}"), format!("old{file}"));
        let mut open = self
            .directory
            .open_with(&new, Options::create().truncate())?;
        open.write_at(0, &content(file, version))?;
        open.sync()?;
        self.directory.rename(&new, &old)?;
        self.directory.sync()?;
        self.synced[file] = version;
        Ok(())
    }

    /// What is wrong with a file, if anything is. What is there is asked again while its server
    /// ends.
    fn look(&mut self, file: usize) -> Result<Option<String>, Error> {
        let (synced, begun) = (self.synced[file], self.begun[file]);
        let bytes = loop {
            let read = self.directory.open_file(&format!("old{file}"));
            match read.and_then(|mut file| file.read_to_end()) {
                Err(Error::Closed) => self.reopen()?,
                Err(Error::NotFound) if synced == 0 => return Ok(None),
                Err(error) => return Ok(Some(format!("version {synced} of {file}: {error}"))),
                Ok(bytes) => break bytes,
            }
        };
        let version = bytes.first_chunk().map_or(0, |v| u64::from_le_bytes(*v));
        if !(synced.max(1)..=begun).contains(&version) {
            return Ok(Some(format!(
                "file {file} is version {version}, not {synced} to {begun}"
            )));
        }
        let whole = bytes == content(file, version);
        Ok((!whole).then(|| format!("version {version} of file {file} is not whole")))
    }
}
