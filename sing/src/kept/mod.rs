//! What compilations leave for the next ones: the machine code of functions ([`pieces`]) and the
//! system images of ordinary programs, in one cache of the user's ([`cache`]), with the record of which
//! image a module's file has ([`known`]).
//!
//! Every command that writes an image compiles by [`Kept::compile`], so that a program that has
//! changed a little costs what has changed. The image has the same bytes as without a cache.

pub mod cache;
pub mod known;
mod pieces;

pub use cache::Choice;

use crate::input;
use crate::output::{complain, name_of};
use crate::run::program_name;
use cache::{Cache, Key};
use pieces::Pieces;
use sing_compiler::{Compiled, Options, Stats, Work};
use std::path::Path;
use std::time::Instant;

/// How a command uses the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether compiled functions are kept, and where.
    pub cache: Choice,
    /// Whether it is said what is done.
    pub verbose: bool,
}

/// The functions that were compiled before, of any program.
pub struct Kept {
    cache: Option<Cache>,
    verbose: bool,
}

impl Kept {
    /// Opens the cache; if it cannot be used, everything is compiled.
    pub fn open(wanted: Wanted) -> Kept {
        Kept {
            cache: open(wanted),
            verbose: wanted.verbose,
        }
    }

    /// The cache itself, unless what is said of it keeps it from being used.
    pub fn cache_unless(self, unused: impl FnOnce(&Cache) -> bool) -> Option<Cache> {
        self.cache.filter(|cache| !unused(cache))
    }

    /// Compiles a module; an ordinary program is joined with the adapter before.
    pub fn compile(
        &self,
        path: &Path,
        module: &[u8],
        options: &Options,
    ) -> Result<Compiled, String> {
        compile(self.cache.as_ref(), path, module, options, &|text| {
            if self.verbose {
                complain(format!("sing: {}: {text}", name_of(path)));
            }
        })
    }

    /// The image in a file's bytes; a module is compiled.
    pub fn image(&self, path: &Path, bytes: Vec<u8>, options: &Options) -> Result<Vec<u8>, String> {
        let kind = input::kind(&bytes).map_err(|e| format!("{}: {e}", name_of(path)))?;
        match kind {
            input::Kind::Image => Ok(bytes),
            input::Kind::Module => input::elf(&self.compile(path, &bytes, options)?, path),
        }
    }
}

/// The cache; `None` if there is to be none, or it cannot be used, which is said.
fn open(wanted: Wanted) -> Option<Cache> {
    Cache::open(&wanted.cache).unwrap_or_else(|why| {
        if why.unsafe_place || wanted.verbose {
            complain(format!(
                "sing: compiled programs are not kept: {}",
                why.text
            ));
        }
        None
    })
}

/// Compiles a module with the functions that are kept, and keeps those that are new.
pub fn compile(
    cache: Option<&Cache>,
    path: &Path,
    module: &[u8],
    options: &Options,
    say: &dyn Fn(String),
) -> Result<Compiled, String> {
    let started = Instant::now();
    let keyed = cache.map(|cache| key_of_functions(path, options).map(|key| (cache, key)));
    let keyed = keyed.transpose().unwrap_or_else(|why| {
        say(format!("its functions are not kept: {why}"));
        None
    });
    let compiled = match keyed {
        None => input::compile(path, module, options)?,
        Some((cache, key)) => {
            let pieces = Pieces::read(cache, &key);
            let work = Work {
                keeper: Some(&pieces),
                ..Work::default()
            };
            let compiled = input::compile_by(path, module, options, &work)?;
            if let Err(why) = pieces.write(cache, &key) {
                say(format!("its functions are not kept: {why}"));
            }
            compiled
        }
    };
    let Stats {
        functions, kept, ..
    } = compiled.stats;
    say(format!(
        "compiled in {:.2} s, {} of {functions} functions",
        started.elapsed().as_secs_f64(),
        functions.saturating_sub(kept)
    ));
    Ok(compiled)
}

/// The name under which the code of a program's functions is kept: other programs of its name,
/// which it is or becomes, have it, too.
fn key_of_functions(file: &Path, options: &Options) -> Result<Key, String> {
    Ok(Key::of(&[
        b"functions",
        env!("CARGO_PKG_VERSION").as_bytes(),
        &command()?,
        format!("{options:?}").as_bytes(),
        program_name(file).as_bytes(),
    ]))
}

/// Which file this command is, with its compiler.
pub fn command() -> Result<Vec<u8>, String> {
    let command = std::fs::metadata("/proc/self/exe");
    let command = command.map_err(|e| format!("cannot find itself: {e}"))?;
    Ok(known::stamp(&command).to_vec())
}
