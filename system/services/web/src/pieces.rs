//! Large files, piece by piece: blocks from memory, of which the network gets views, or from the file system.
//!
//! Invariants:
//! - A kept piece is the kernel's property and no thread's; this program pays for it, whoever has a view.
//! - All pieces of an answer are of the file in one state, unless none comes from memory: as somebody writes the
//!   file then, the pieces are what is there, one after the other.

use crate::connection::Talk;
use crate::files;
use crate::server::Server;
use crate::wire::Lost;
use core::ops::Range;
use sing_sdk::fs::File;
use sing_sdk::prelude::*;
use sing_sdk::time::utc;
use sing_sdk::tref::{ParkedBlock, Tracked};
use web::cache::{PIECE, Stamp};

/// A piece that is kept; `None` if handles were short when it was put back.
pub type Piece = Option<ParkedBlock>;

/// A file that is being sent.
pub struct Pieces {
    path: String,
    stamp: Stamp,
    /// The file, once it is open.
    file: Option<File>,
    /// Whether pieces of it may be kept.
    keeps: bool,
    /// Whether a piece came from memory.
    remembers: bool,
}

/// A view of a part of a kept piece; `None` if handles are short.
fn view(kept: &mut Piece, part: Range<usize>) -> Option<Vector<u8>> {
    let mut block = match Block::unpark(kept.take()?) {
        Ok(block) => block,
        Err(refused) => {
            *kept = Some(refused.content);
            return None;
        }
    };
    let view = block.share(part).ok();
    *kept = block.park().ok();
    view.map(Vector::from_block)
}

impl Pieces {
    /// A file, if it is open; otherwise it is opened when a piece is needed that is not kept.
    pub fn new(server: &Server, path: String, stamp: Stamp, file: Option<File>) -> Pieces {
        let takes = || server.cache.lock().takes_pieces(stamp.bytes);
        let keeps = file.is_none() || takes() && stamp.is_settled(utc().as_nanos() as u64);
        if keeps {
            server.cache.lock().keep_pieces(&path, stamp);
        }
        Pieces {
            path,
            stamp,
            file,
            keeps,
            remembers: false,
        }
    }

    /// The file of which no pieces are kept.
    pub fn unkept(&mut self) -> Option<&mut File> {
        self.file.as_mut().filter(|_| !self.keeps)
    }

    /// The block that begins at `at`, and reaches to `to` at most.
    ///
    /// # Errors
    /// [`Lost::Gone`] if there is none: the file has become shorter meanwhile, or is not what it was when pieces
    /// came from memory, so that the client learns that a part is missing.
    pub fn next(&mut self, talk: &mut Talk<'_>, at: u64, to: u64) -> Result<Vector<u8>, Lost> {
        let number = at / PIECE;
        let start = number * PIECE;
        let whole = PIECE.min(self.stamp.bytes.saturating_sub(start));
        let part = (at - start) as usize..(to - start).min(PIECE) as usize;
        if self.keeps {
            let mut cache = talk.server.cache.lock();
            let kept = cache.find_piece(&self.path, number, &self.stamp);
            if let Some(view) = kept.and_then(|kept| view(kept, part.clone())) {
                self.remembers = true;
                return Ok(view);
            }
        }
        let len = part.len();
        let begin = talk.trace.now();
        let read = self.open(talk)?.read_block(at, len);
        talk.trace.file("read", begin, None, read.as_ref().err());
        let mut block = read?.ok_or(Lost::Gone)?;
        if self.keeps && !self.is_as_it_was() {
            if self.remembers {
                return Err(Lost::Gone);
            }
            self.keeps = false;
        }
        if self.keeps && block.len() as u64 == whole {
            // A block that cannot be kept is sent all the same.
            let kept = block.block_mut().share(0..len).ok();
            if let Some(kept) = kept.and_then(|kept| kept.park().ok()) {
                let mut cache = talk.server.cache.lock();
                cache.keep_piece(&self.path, number, self.stamp, Some(kept), len);
            }
        }
        Ok(block)
    }

    /// The file, in the state that it is known in.
    fn open(&mut self, talk: &mut Talk<'_>) -> Result<&mut File, Lost> {
        if self.file.is_none() {
            let root = talk.root.as_mut().ok_or(Lost::Gone)?;
            self.file = Some(root.directory.open_file(&self.path)?);
            if !self.is_as_it_was() {
                return Err(Lost::Gone);
            }
        }
        self.file.as_mut().ok_or(Lost::Gone)
    }

    fn is_as_it_was(&mut self) -> bool {
        let now = self.file.as_mut().map(File::attributes);
        now.is_some_and(|now| now.is_ok_and(|now| files::stamp(&now) == self.stamp))
    }
}
