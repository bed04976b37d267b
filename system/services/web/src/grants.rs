//! What a mount's program gets beside its requests: the directories, the source of random bytes and the name space that
//! the configuration names.
//!
//! Invariants:
//! - Each process has channels of its own, which end with it.
//! - It has no names, so that it finds nothing that it was not given, unless the configuration says so of its mount.

use alloc::string::String;
use sing_sdk::fs::Directory;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::Builder;
use sing_sdk::sync::Mutex;
use web::config::Mount;

/// The machine's source of random bytes.
const RANDOM: &str = "/dev/random0";

/// A channel to the name server, if something is found there for the program.
pub struct Grants(Option<Mutex<Names>>);

impl Grants {
    /// # Errors
    /// The name server takes no further channel.
    pub fn new(mount: &Mount, names: &mut Names) -> Result<Grants, Error> {
        if !mount.random && !mount.names && mount.directories.is_empty() {
            return Ok(Grants(None));
        }
        Ok(Grants(Some(Mutex::new(Names::new(names.connect()?)?))))
    }

    /// Gives a process what it is to have.
    pub fn give<'a>(&self, mount: &Mount, mut child: Builder<'a>) -> Result<Builder<'a>, String> {
        let Some(names) = &self.0 else {
            return Ok(child);
        };
        let said = |path: &str, error: Error| format!("{}: {path}: {error}", mount.program);
        let mut names = names.lock();
        for path in &mount.directories {
            let opened = Directory::open(&mut names, path);
            let channel = opened.and_then(Directory::into_channel);
            child = child.endpoint("directories", channel.map_err(|e| said(path, e))?);
        }
        if mount.random {
            let source = random(&mut names).map_err(|e| said(RANDOM, e))?;
            child = child.endpoint("random", source);
        }
        if mount.names {
            let own = names.connect().map_err(|e| said("names", e))?;
            child = child.endpoint("names", own);
        }
        Ok(child)
    }
}

fn random(names: &mut Names) -> Result<EntropyContract::Imp<EntropyContract::Ready>, Error> {
    let (source, exp) = EntropyContract::new_channel()?;
    names.bind(RANDOM, exp)?;
    Ok(source.recv_success()?)
}
