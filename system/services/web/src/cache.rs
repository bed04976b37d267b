//! Contents of small files that were asked for, so that they need not be read again.
//!
//! A content is used only for a file that is, when it is asked for, as it was when it was read: whoever
//! asks brings the file's [`Stamp`], which the file system has given for this request; or the [`Moment`] in
//! which somebody else has, and since which nothing has changed.
//!
//! Of a larger file pieces are kept, each by itself and in the form that the caller has for it: so nobody who
//! sends one holds more than a piece that has made way.
//!
//! Invariants:
//! - Contents and what is kept beside them take at most the bytes that were granted.
//! - A stamp that was taken so soon after a change that a further one could leave it as it is
//!   ([`Stamp::is_settled`]) is never one of a kept content.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use sing_sdk::fs::Moment;

/// Bytes of a piece of a large file, but for its last one.
pub const PIECE: u64 = 64 << 10;
/// A file of which pieces are kept has at most this part of all that may be kept: one that is read once would
/// drive out all else.
const FILE_PART: u64 = 8;
/// What is kept beside a content, reckoned generously; and the kernel's records of a piece.
const BESIDE: usize = 256;
const RECORDS: usize = 256;
/// The least that a piece is reckoned as: so there are not too many handles of them.
const LEAST: usize = 4 << 10;
/// A content is at most this part of all that may be kept, and at most so many bytes: whoever sends it
/// has it to the end, also when it has made way, and there may be as many of them as connections.
const PART: usize = 64;
const LARGEST: usize = 256 << 10;
/// Nanoseconds within which two changes may bear the same time: file systems reckon it in steps, of
/// which the coarsest are of two seconds.
const STEP: u64 = 2_000_000_000;

/// What tells one state of a file from any other, before or after it, and from other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The file system's number for it.
    pub id: u64,
    /// Its size.
    pub bytes: u64,
    /// When its content was changed, in nanoseconds since 1970; anybody who may write can set that.
    pub modified: u64,
    /// When it was changed in any way, which nobody can set.
    pub changed: u64,
}

impl Stamp {
    /// Whether every later change makes it another one: what it tells of is long ago at this time, in
    /// nanoseconds since 1970.
    #[must_use]
    pub fn is_settled(&self, now: u64) -> bool {
        self.modified.max(self.changed).saturating_add(STEP) < now
    }
}

enum Content<P> {
    Whole(Arc<[u8]>),
    /// Of a large file, whose pieces have names of their own.
    Pieces,
    /// One of them, and its bytes.
    Piece(P, usize),
}

impl<P> Content<P> {
    fn len(&self) -> usize {
        match self {
            Content::Whole(content) => content.len(),
            Content::Pieces => 0,
            // The kernel's memory for a block is a power of two.
            Content::Piece(_, bytes) => RECORDS + bytes.next_power_of_two().max(LEAST),
        }
    }
}

struct Entry<P> {
    stamp: Stamp,
    content: Content<P>,
    /// When the file was found in that state.
    sure: Option<Moment>,
    /// Whether it was asked for since it was last looked at.
    used: bool,
}

/// A content that is kept, with the state of the file that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The state.
    pub stamp: Stamp,
    /// The content; `None` of a file of which pieces may be kept.
    pub content: Option<Arc<[u8]>>,
    /// Whether the file is in that state; else only who finds it so may use the content.
    pub sure: bool,
}

/// The contents, by names. `P`: a piece of a large file.
pub struct Cache<P> {
    entries: BTreeMap<Arc<str>, Entry<P>>,
    /// The names of all of them, once each: the next to be looked at when room is needed first.
    queue: VecDeque<Arc<str>>,
    bytes: usize,
    most: usize,
}

impl<P> core::fmt::Debug for Cache<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.bytes, self.most)
    }
}

/// The name under which the packed form of a file's content is kept. No path has such a byte.
#[must_use]
pub fn packed(path: &str) -> String {
    alloc::format!("{path}\0gzip")
}

/// The name of a piece of a file.
fn piece(path: &str, number: u64) -> String {
    alloc::format!("{path}\0{number}")
}

fn cost<P>(name: &str, content: &Content<P>) -> usize {
    // A name stands once, and is pointed to twice.
    BESIDE + name.len() + content.len()
}

impl<P> Cache<P> {
    /// An empty one, of at most so many bytes.
    #[must_use]
    pub const fn new(most: usize) -> Cache<P> {
        Cache {
            entries: BTreeMap::new(),
            queue: VecDeque::new(),
            bytes: 0,
            most,
        }
    }

    /// How many contents are kept, and the bytes that they take.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    /// Whether a content of so many bytes may be kept.
    #[must_use]
    pub fn takes(&self, bytes: u64) -> bool {
        bytes <= self.largest() as u64
    }

    /// Whether pieces of a file of so many bytes may be kept.
    #[must_use]
    pub fn takes_pieces(&self, bytes: u64) -> bool {
        let file = LARGEST as u64 + 1..=self.most as u64 / FILE_PART;
        // With their names.
        file.contains(&bytes) && self.largest() as u64 >= 2 * PIECE
    }

    fn largest(&self) -> usize {
        LARGEST.min(self.most / PART)
    }

    /// What is kept under a file's path. `moment`: since when nothing has changed.
    pub fn look(&mut self, path: &str, moment: Option<Moment>) -> Option<Kept> {
        let entry = self.entries.get_mut(path)?;
        entry.used = true;
        Some(Kept {
            stamp: entry.stamp,
            content: match &entry.content {
                Content::Whole(content) => Some(Arc::clone(content)),
                Content::Pieces | Content::Piece(..) => None,
            },
            sure: moment.is_some() && entry.sure == moment,
        })
    }

    /// A file was found in a state, by who had asked for the moment before.
    pub fn confirm(&mut self, name: &str, stamp: &Stamp, moment: Moment) {
        if let Some(entry) = self.entries.get_mut(name)
            && entry.stamp == *stamp
        {
            entry.sure = Some(moment);
        }
    }

    /// The content of a file that is as `stamp` says.
    pub fn find(&mut self, name: &str, stamp: &Stamp) -> Option<Arc<[u8]>> {
        match self.entry(name, stamp)? {
            Content::Whole(content) => Some(Arc::clone(content)),
            Content::Pieces | Content::Piece(..) => None,
        }
    }

    /// A piece of a file that is as `stamp` says.
    pub fn find_piece(&mut self, path: &str, number: u64, stamp: &Stamp) -> Option<&mut P> {
        match self.entry(&piece(path, number), stamp)? {
            Content::Piece(piece, _) => Some(piece),
            Content::Whole(_) | Content::Pieces => None,
        }
    }

    fn entry(&mut self, name: &str, stamp: &Stamp) -> Option<&mut Content<P>> {
        let entry = self.entries.get_mut(name)?;
        if entry.stamp != *stamp {
            return None;
        }
        entry.used = true;
        Some(&mut entry.content)
    }

    /// Keeps a content in the place of what was kept under its name. Others make room, those first
    /// that nobody has asked for.
    pub fn keep(&mut self, name: &str, stamp: Stamp, content: Arc<[u8]>) {
        self.add(name, stamp, Content::Whole(content));
    }

    /// Keeps in mind that a file in this state [has pieces](Cache::takes_pieces), if it is not known.
    pub fn keep_pieces(&mut self, path: &str, stamp: Stamp) {
        let known = self.entries.get(path);
        let known = known.is_some_and(|e| matches!(e.content, Content::Pieces) && e.stamp == stamp);
        if !known {
            self.add(path, stamp, Content::Pieces);
        }
    }

    /// Keeps a piece, of so many bytes, of such a file, in the place of what was kept of it.
    pub fn keep_piece(&mut self, path: &str, number: u64, stamp: Stamp, kept: P, bytes: usize) {
        self.keep_pieces(path, stamp);
        self.add(&piece(path, number), stamp, Content::Piece(kept, bytes));
    }

    fn add(&mut self, name: &str, stamp: Stamp, content: Content<P>) {
        let added = cost(name, &content);
        if added > self.largest() {
            return;
        }
        let entry = Entry {
            stamp,
            content,
            sure: None,
            // By nobody else than who reads it first.
            used: false,
        };
        match self.entries.get_mut(name) {
            Some(old) => {
                self.bytes -= cost(name, &old.content);
                *old = entry;
            }
            None => {
                let name: Arc<str> = name.into();
                self.queue.push_back(Arc::clone(&name));
                self.entries.insert(name, entry);
            }
        }
        self.bytes += added;
        self.make_room();
    }

    /// Each look takes an entry away or its mark, so that there are at most twice as many as entries.
    fn make_room(&mut self) {
        while self.bytes > self.most
            && let Some(name) = self.queue.pop_front()
        {
            match self.entries.get_mut(&name) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.queue.push_back(name);
                }
                Some(entry) => {
                    self.bytes -= cost(&name, &entry.content);
                    self.entries.remove(&name);
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec;

    const MOST: usize = 512 << 10;

    fn stamp(id: u64, changed: u64) -> Stamp {
        Stamp {
            id,
            bytes: 10,
            modified: changed,
            changed,
        }
    }

    #[test]
    fn a_content_is_that_of_the_state_that_is_asked_for() {
        let mut cache = Cache::<u32>::new(MOST);
        let now = stamp(1, 7);
        assert!(cache.look("a", None).is_none() && cache.find("a", &now).is_none());
        cache.keep("a", now, b"content".as_slice().into());
        assert_eq!(cache.find("a", &now).as_deref(), Some(&b"content"[..]));
        let content: Arc<[u8]> = b"content".as_slice().into();
        let kept = Kept {
            stamp: now,
            content: Some(content),
            sure: false,
        };
        assert_eq!(cache.look("a", None), Some(kept));
        for other in [
            stamp(2, 7),
            stamp(1, 8),
            Stamp { bytes: 11, ..now },
            Stamp { modified: 6, ..now },
            Stamp { changed: 8, ..now },
        ] {
            assert!(cache.find("a", &other).is_none(), "{other:?}");
        }
        cache.keep("a", stamp(1, 8), b"new".as_slice().into());
        assert!(cache.find("a", &now).is_none());
        assert_eq!(cache.find("a", &stamp(1, 8)).as_deref(), Some(&b"new"[..]));
        assert!(cache.look(&packed("a"), None).is_none() && packed("a") != packed("b"));
    }

    #[test]
    fn a_content_is_sure_in_the_moment_in_which_its_file_was_found() {
        let mut cache = Cache::<u32>::new(MOST);
        let [first, second] = [Moment::unique(), Moment::unique()];
        let sure = |cache: &mut Cache<u32>, moment| cache.look("a", moment).map(|kept| kept.sure);
        cache.confirm("a", &stamp(1, 7), first);
        assert_eq!(sure(&mut cache, Some(first)), None);
        cache.keep("a", stamp(1, 7), b"content".as_slice().into());
        // Nobody has found it so since it was read.
        assert_eq!(sure(&mut cache, Some(first)), Some(false));
        cache.confirm("a", &stamp(1, 8), first);
        assert_eq!(sure(&mut cache, Some(first)), Some(false));
        cache.confirm("a", &stamp(1, 7), first);
        assert_eq!(sure(&mut cache, Some(first)), Some(true));
        assert_eq!(sure(&mut cache, Some(second)), Some(false));
        assert_eq!(sure(&mut cache, None), Some(false));
        // Another content is as little sure as the first was.
        cache.keep("a", stamp(1, 8), b"new".as_slice().into());
        assert_eq!(sure(&mut cache, Some(first)), Some(false));
        cache.confirm("a", &stamp(1, 7), first);
        assert_eq!(sure(&mut cache, Some(first)), Some(false));
    }

    #[test]
    fn a_state_is_settled_when_no_change_can_bear_its_time() {
        let at = 1_000 * STEP;
        assert!(!stamp(1, at).is_settled(at));
        assert!(!stamp(1, at).is_settled(at + STEP));
        assert!(stamp(1, at).is_settled(at + STEP + 1));
        // A time to come, which somebody has set, would be that of a change then, too.
        let set = Stamp {
            modified: at + 9 * STEP,
            ..stamp(1, at)
        };
        assert!(!set.is_settled(at + 2 * STEP));
        assert!(!stamp(1, u64::MAX).is_settled(u64::MAX));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let mut cache = Cache::<u32>::new(MOST);
        let content: Arc<[u8]> = vec![0; 1000].into();
        cache.keep("wanted", stamp(0, 1), Arc::clone(&content));
        for number in 1..10_000 {
            cache.keep(&format!("{number}"), stamp(number, 1), Arc::clone(&content));
            assert!(cache.find("wanted", &stamp(0, 1)).is_some(), "{number}");
            assert!(cache.bytes <= MOST);
            assert_eq!(cache.queue.len(), cache.entries.len());
        }
        assert!(cache.entries.len() > MOST / 1500);
        let reckoned = |(name, entry): (&Arc<str>, &Entry<u32>)| cost(name, &entry.content);
        let sum: usize = cache.entries.iter().map(reckoned).sum();
        assert_eq!(sum, cache.bytes);
    }

    #[test]
    fn the_same_file_again_and_again_takes_one_place() {
        let mut cache = Cache::<u32>::new(MOST);
        for changed in 0..1000 {
            let len = 100 + changed as usize % 7;
            cache.keep("a", stamp(1, changed), vec![0; len].into());
        }
        assert_eq!((cache.queue.len(), cache.entries.len()), (1, 1));
        assert!(cache.count().1 < 1000);
    }

    #[test]
    fn pieces_are_those_of_the_state_that_is_asked_for_and_make_way_one_by_one() {
        let mut cache = Cache::<u32>::new(8 << 20);
        let (now, later) = (stamp(1, 7), stamp(1, 8));
        for number in 0..4 {
            cache.keep_piece("a", number, now, number as u32, PIECE as usize);
        }
        assert_eq!(cache.count(), (5, cache.bytes));
        assert!(cache.bytes >= 4 * PIECE as usize && cache.find("a", &now).is_none());
        assert_eq!(cache.find_piece("a", 3, &now), Some(&mut 3));
        assert!(
            cache.find_piece("a", 4, &now).is_none() && cache.find_piece("a", 3, &later).is_none()
        );
        let moment = Moment::unique();
        cache.confirm("a", &now, moment);
        let known = |cache: &mut Cache<u32>| cache.look("a", Some(moment));
        let kept = |stamp, sure| Kept {
            stamp,
            content: None,
            sure,
        };
        assert_eq!(known(&mut cache), Some(kept(now, true)));
        // A further piece leaves that as it is, one of another state does not.
        cache.keep_piece("a", 4, now, 4, 100);
        assert_eq!(known(&mut cache), Some(kept(now, true)));
        cache.keep_piece("a", 0, later, 5, 100);
        assert_eq!(known(&mut cache), Some(kept(later, false)));
        assert_eq!(cache.find_piece("a", 0, &later), Some(&mut 5));
        assert!(cache.find_piece("a", 0, &now).is_none());
        for number in 0..1000 {
            cache.keep_piece("b", number, now, 0, PIECE as usize);
            assert!(cache.find_piece("a", 0, &later).is_some(), "{number}");
            assert!(cache.bytes <= 8 << 20);
        }
        assert!(cache.find_piece("a", 1, &now).is_none());
    }

    #[test]
    fn pieces_are_of_files_that_are_too_large_for_one_content_and_not_for_all() {
        for most in [8 << 20, 64 << 20] {
            let cache = Cache::<u32>::new(most);
            let largest = most as u64 / 8;
            assert!(cache.takes_pieces(largest) && cache.takes_pieces((256 << 10) + 1));
            assert!(!cache.takes_pieces(largest + 1) && !cache.takes_pieces(256 << 10));
            assert!(!cache.takes((256 << 10) + 1));
        }
        for most in [0, 4 << 20] {
            assert!(!Cache::<u32>::new(most).takes_pieces(300 << 10), "{most}");
        }
    }

    #[test]
    fn what_is_too_large_and_a_cache_of_nothing_keep_nothing() {
        let mut cache = Cache::<u32>::new(MOST);
        assert!(cache.takes(MOST as u64 / 64) && !cache.takes(MOST as u64 / 64 + 1));
        cache.keep("a", stamp(1, 1), vec![0; MOST / 64].into());
        assert!(cache.look("a", None).is_none());
        let largest = Cache::<u32>::new(64 << 20);
        assert!(largest.takes(256 << 10) && !largest.takes((256 << 10) + 1));
        let mut none = Cache::<u32>::new(0);
        none.keep("a", stamp(1, 1), vec![].into());
        assert!(none.look("a", None).is_none() && !none.takes(1));
    }
}
