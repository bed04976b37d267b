//! Paths below an open directory, part by part.
//!
//! Symbolic links and `..` are dealt with here: the server is only ever asked for plain names.
//!
//! Invariants:
//! - A walk never leads above the directory in which it begins: it remembers the names on the way
//!   down, and goes up that way alone. An absolute path, or link, is refused.
//! - It takes a bounded number of steps: a path is bounded, and so are the links on it and the
//!   parts of all of them together.

use crate::faults::Refused;
use crate::session::{Session, Transport};
use alloc::string::String;
use alloc::vec::Vec;
use sing_p9::{NAMES, Qid, errno};
use sing_sdk::contracts::FileFault;
use sing_sdk::path::{LONGEST, LastLink, prepend};

/// Symbolic links on one way.
const LINKS: usize = 40;
/// Parts on one way, those of the links' targets, too.
const PARTS: usize = 4096;
/// Requests to the server on one way: each `..` asks for the way down again, so that a long path
/// could ask for millions, and the other clients wait meanwhile.
const WALKS: usize = 1024;

/// Where a path leads. Its fids are given up by [`Session::leave`].
#[derive(Debug)]
pub struct Place {
    /// The directory and the name in it; `None` if the path ends with a directory on the way, such
    /// as the one in which it begins.
    pub named: Option<(u32, String)>,
    /// What is there.
    pub node: Option<(u32, Qid)>,
    /// The path says that it must be a directory.
    pub directory: bool,
    /// Whether the directory's fid is the place's own.
    owns: bool,
}

impl Place {
    /// What is there, which must be something.
    pub fn existing(&self) -> Result<(u32, Qid), FileFault> {
        self.node.ok_or(FileFault::NotFound)
    }

    /// The directory and the name under which something is, or is to be.
    pub fn named(&self) -> Result<(u32, &[u8]), FileFault> {
        let named = self.named.as_ref();
        named
            .map(|(d, n)| (*d, n.as_bytes()))
            .ok_or(FileFault::BadName)
    }

    /// The node that has the name; it must be a directory if the path says so.
    pub fn existing_name(&self) -> Result<(u32, Qid), FileFault> {
        match self.existing()? {
            (_, qid) if self.directory && !qid.is_directory() => Err(FileFault::NotDirectory),
            existing => Ok(existing),
        }
    }

    /// The directory and the name for something that must not be there yet.
    pub fn fresh(&self) -> Result<(u32, &[u8]), FileFault> {
        if self.node.is_some() {
            return Err(FileFault::Exists);
        }
        self.named()
    }
}

/// A name, and the fid and kind of what has it.
type Found = (String, Option<(u32, Qid)>);

/// The directory that a walk has come to.
struct Here {
    /// Where it begins.
    base: u32,
    /// The fid of the directory, if it is another one than the base.
    fid: Option<u32>,
    /// The names on the way down.
    way: Vec<String>,
    /// How often the server has been asked.
    walks: usize,
}

impl Here {
    fn at(&self) -> u32 {
        self.fid.unwrap_or(self.base)
    }
}

impl<T: Transport> Session<T> {
    /// Gives up the fids of a place.
    pub fn leave(&mut self, place: Place) {
        if let Some((fid, _)) = place.node {
            self.clunk(fid);
        }
        if let (Some((fid, _)), true) = (place.named, place.owns) {
            self.clunk(fid);
        }
    }

    /// Does something with the place to which a path leads, and leaves it.
    pub fn with_place<V>(
        &mut self,
        base: u32,
        path: &str,
        link: LastLink,
        work: impl FnOnce(&mut Self, &mut Place) -> Result<V, FileFault>,
    ) -> Result<V, FileFault> {
        let mut place = self.place(base, path, link)?;
        let outcome = work(self, &mut place);
        self.leave(place);
        outcome
    }

    /// Goes along a path from a directory on. `link`: whether one that is the last part stands for
    /// what it points to.
    pub fn place(&mut self, base: u32, path: &str, link: LastLink) -> Result<Place, FileFault> {
        if path.starts_with('/') {
            return Err(FileFault::Outside);
        }
        let mut here = Here {
            base,
            fid: None,
            way: Vec::new(),
            walks: 0,
        };
        let found = self.go(&mut here, path, link);
        match (&found, here.fid) {
            // The directory goes with the place.
            (Ok(place), Some(_)) if place.owns => {}
            (_, Some(fid)) => self.clunk(fid),
            (_, None) => {}
        }
        found
    }

    fn go(&mut self, here: &mut Here, path: &str, how: LastLink) -> Result<Place, FileFault> {
        let (mut rest, mut links, mut parts) = (Vec::new(), 0, 0);
        let mut directory = prepend(&mut rest, path);
        while !rest.is_empty() {
            parts += 1;
            if parts > PARTS {
                return Err(FileFault::Loop);
            }
            if rest.last().is_some_and(|part| part == "..") {
                rest.pop();
                self.up(here)?;
                continue;
            }
            let found = match self.down(here, &mut rest)? {
                Some(found) => found,
                None => continue,
            };
            // The last part, or a link on the way.
            let (name, node) = found;
            let last = rest.is_empty();
            let link = node.is_some_and(|(_, qid)| qid.is_link());
            if link && (!last || how.is_followed(directory)) {
                links += 1;
                let target = match node {
                    Some((fid, _)) => self.target(fid),
                    None => Err(FileFault::NotFound),
                }?;
                if links > LINKS || rest.len() > PARTS {
                    return Err(FileFault::Loop);
                }
                if target.starts_with('/') {
                    return Err(FileFault::Outside);
                }
                let must = prepend(&mut rest, &target);
                directory |= last && must;
                continue;
            }
            if let Some((fid, qid)) = node
                && (!last || directory && how != LastLink::Name)
            {
                if !qid.is_directory() {
                    self.clunk(fid);
                    return Err(FileFault::NotDirectory);
                }
                if !last {
                    // Somebody has just put a directory there.
                    self.enter(here, Some(fid));
                    here.way.push(name);
                    continue;
                }
            }
            return Ok(Place {
                named: Some((here.at(), name)),
                node,
                directory,
                owns: here.fid.is_some(),
            });
        }
        // A directory on the way: the place gets a fid of its own.
        let (fid, _) = self.walk(here.at(), &[])?;
        let kind = Qid::DIRECTORY;
        let qid = Qid {
            kind,
            ..Qid::default()
        };
        Ok(Place {
            named: None,
            node: fid.map(|fid| (fid, qid)),
            directory: true,
            owns: false,
        })
    }

    /// The text of a link, whose fid is given up.
    fn target(&mut self, fid: u32) -> Result<String, FileFault> {
        let target = self.read_link(fid);
        self.clunk(fid);
        let target = String::from_utf8(target?).map_err(|_| FileFault::BadName)?;
        if target.is_empty() || target.len() > LONGEST {
            return Err(FileFault::NotFound);
        }
        Ok(target)
    }

    /// Asks the server to go along names from the directory on.
    fn step(
        &mut self,
        here: &mut Here,
        names: &[&[u8]],
    ) -> Result<(Option<u32>, Vec<Qid>), Refused> {
        here.walks += 1;
        if here.walks > WALKS {
            return Err(Refused(errno::ELOOP));
        }
        self.walk(here.at(), names)
    }

    /// Goes up to the directory above, by the names on the way down.
    fn up(&mut self, here: &mut Here) -> Result<(), FileFault> {
        if here.way.pop().is_none() {
            return Err(FileFault::Outside);
        }
        if let Some(fid) = here.fid.take() {
            self.clunk(fid);
        }
        let way = core::mem::take(&mut here.way);
        for names in way.chunks(NAMES) {
            let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let (fid, qids) = self.step(here, &names)?;
            let directories = qids.iter().all(Qid::is_directory);
            self.enter(here, fid);
            // Somebody has put something else there meanwhile.
            if fid.is_none() || !directories {
                return Err(FileFault::NotFound);
            }
        }
        here.way = way;
        Ok(())
    }

    fn enter(&mut self, here: &mut Here, fid: Option<u32>) {
        if let Some(fid) = fid
            && let Some(before) = here.fid.replace(fid)
        {
            self.clunk(before);
        }
    }

    /// Goes down along the next names, through directories, as far as they are. Returns what is the
    /// last part of the path, or stands in the way; `None` if there is more to go.
    fn down(
        &mut self,
        here: &mut Here,
        rest: &mut Vec<String>,
    ) -> Result<Option<Found>, FileFault> {
        // Names only, so that a request has a bounded length: links can make parts of any. The last
        // part of the path is looked at by itself, and so is a part that is no name.
        let parts = rest.iter().skip(1).rev().map(String::as_bytes);
        let plain = parts.take_while(|part| sing_p9::is_name(part));
        let names: Vec<&[u8]> = plain.take(NAMES).collect();
        if names.is_empty() {
            return self.last(here, rest).map(Some);
        }
        let (fid, qids) = self.step(here, &names)?;
        let through = qids.iter().take_while(|qid| qid.is_directory()).count();
        if let Some(fid) = fid
            && through == names.len()
        {
            self.enter(here, Some(fid));
            self.passed(here, rest, through);
            return Ok(None);
        }
        if let Some(fid) = fid {
            self.clunk(fid);
        }
        if through > 0 {
            // Up to what is no directory, or is not there: the next walk says which.
            let (fid, again) = self.step(here, &names[..through])?;
            let directories = again.iter().all(Qid::is_directory);
            if fid.is_none() || !directories {
                if let Some(fid) = fid {
                    self.clunk(fid);
                }
                return Err(FileFault::NotFound);
            }
            self.enter(here, fid);
            self.passed(here, rest, through);
            return Ok(None);
        }
        self.last(here, rest).map(Some)
    }

    fn passed(&mut self, here: &mut Here, rest: &mut Vec<String>, count: usize) {
        for _ in 0..count {
            here.way.extend(rest.pop());
        }
    }

    /// What has the next name.
    fn last(&mut self, here: &mut Here, rest: &mut Vec<String>) -> Result<Found, FileFault> {
        let name = rest.pop().ok_or(FileFault::NotFound)?;
        if name.len() > sing_p9::LONGEST_NAME || name.contains('\0') {
            return Err(FileFault::BadName);
        }
        match self.step(here, &[name.as_bytes()]) {
            Ok((Some(fid), qids)) => {
                let qid = qids.first().copied().unwrap_or_default();
                Ok((name, Some((fid, qid))))
            }
            Err(Refused(errno::ENOENT)) | Ok((None, _)) if rest.is_empty() => Ok((name, None)),
            Err(refused) => Err(refused.into()),
            Ok((None, _)) => Err(FileFault::NotFound),
        }
    }
}
