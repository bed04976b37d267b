//! Contents of small files that were asked for, so that they need not be read again.
//!
//! A content is used only for a file that is, when it is asked for, as it was when it was read: whoever
//! asks brings the file's [`Stamp`], which the file system has given for this request; or the [`Moment`] in
//! which somebody else has, and since which nothing has changed.
//!
//! Invariants:
//! - Contents and what is kept beside them take at most the bytes that were granted.
//! - A stamp that was taken so soon after a change that a further one could leave it as it is
//!   ([`Stamp::is_settled`]) is never one of a kept content.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use sing_sdk::fs::Moment;

/// What is kept beside a content, reckoned generously.
const BESIDE: usize = 256;
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

struct Entry {
    stamp: Stamp,
    content: Arc<[u8]>,
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
    /// The content.
    pub content: Arc<[u8]>,
    /// Whether the file is in that state; else only who finds it so may use the content.
    pub sure: bool,
}

/// The contents, by names.
pub struct Cache {
    entries: BTreeMap<Arc<str>, Entry>,
    /// The names of all of them, once each: the next to be looked at when room is needed first.
    queue: VecDeque<Arc<str>>,
    bytes: usize,
    most: usize,
}

impl core::fmt::Debug for Cache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.bytes, self.most)
    }
}

/// The name under which the packed form of a file's content is kept. No path has such a byte.
#[must_use]
pub fn packed(path: &str) -> String {
    alloc::format!("{path}\0gzip")
}

fn cost(name: &str, content: &[u8]) -> usize {
    // A name stands once, and is pointed to twice.
    BESIDE + name.len() + content.len()
}

impl Cache {
    /// An empty one, of at most so many bytes.
    #[must_use]
    pub const fn new(most: usize) -> Cache {
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

    fn largest(&self) -> usize {
        LARGEST.min(self.most / PART)
    }

    /// The content that is kept under a name. `moment`: since when nothing has changed.
    pub fn look(&mut self, name: &str, moment: Option<Moment>) -> Option<Kept> {
        let entry = self.entries.get_mut(name)?;
        entry.used = true;
        Some(Kept {
            stamp: entry.stamp,
            content: Arc::clone(&entry.content),
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
        let entry = self.entries.get_mut(name)?;
        if entry.stamp != *stamp {
            return None;
        }
        entry.used = true;
        Some(Arc::clone(&entry.content))
    }

    /// Keeps a content in the place of what was kept under its name. Others make room, those first
    /// that nobody has asked for.
    pub fn keep(&mut self, name: &str, stamp: Stamp, content: Arc<[u8]>) {
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
        let mut cache = Cache::new(MOST);
        let now = stamp(1, 7);
        assert!(cache.look("a", None).is_none() && cache.find("a", &now).is_none());
        cache.keep("a", now, b"content".as_slice().into());
        assert_eq!(cache.find("a", &now).as_deref(), Some(&b"content"[..]));
        let content: Arc<[u8]> = b"content".as_slice().into();
        let kept = Kept {
            stamp: now,
            content,
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
        let mut cache = Cache::new(MOST);
        let [first, second] = [Moment::unique(), Moment::unique()];
        let sure = |cache: &mut Cache, moment| cache.look("a", moment).map(|kept| kept.sure);
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
        let mut cache = Cache::new(MOST);
        let content: Arc<[u8]> = vec![0; 1000].into();
        cache.keep("wanted", stamp(0, 1), Arc::clone(&content));
        for number in 1..10_000 {
            cache.keep(&format!("{number}"), stamp(number, 1), Arc::clone(&content));
            assert!(cache.find("wanted", &stamp(0, 1)).is_some(), "{number}");
            assert!(cache.bytes <= MOST);
            assert_eq!(cache.queue.len(), cache.entries.len());
        }
        assert!(cache.entries.len() > MOST / 1500);
        let reckoned = |(name, entry): (&Arc<str>, &Entry)| cost(name, &entry.content);
        let sum: usize = cache.entries.iter().map(reckoned).sum();
        assert_eq!(sum, cache.bytes);
    }

    #[test]
    fn the_same_file_again_and_again_takes_one_place() {
        let mut cache = Cache::new(MOST);
        for changed in 0..1000 {
            let len = 100 + changed as usize % 7;
            cache.keep("a", stamp(1, changed), vec![0; len].into());
        }
        assert_eq!((cache.queue.len(), cache.entries.len()), (1, 1));
        assert!(cache.count().1 < 1000);
    }

    #[test]
    fn what_is_too_large_and_a_cache_of_nothing_keep_nothing() {
        let mut cache = Cache::new(MOST);
        assert!(cache.takes(MOST as u64 / 64) && !cache.takes(MOST as u64 / 64 + 1));
        cache.keep("a", stamp(1, 1), vec![0; MOST / 64].into());
        assert!(cache.look("a", None).is_none());
        let largest = Cache::new(64 << 20);
        assert!(largest.takes(256 << 10) && !largest.takes((256 << 10) + 1));
        let mut none = Cache::new(0);
        none.keep("a", stamp(1, 1), vec![].into());
        assert!(none.look("a", None).is_none() && !none.takes(1));
    }
}
