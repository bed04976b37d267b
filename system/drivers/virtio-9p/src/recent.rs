//! Names of directories that were listed just now, in order.
//!
//! A server lists names in an order of its own, so that to find those behind a name all of them are
//! to be read. A long listing goes in many pieces: read anew for each, it would take time with the
//! square of the directory.
//!
//! Invariants:
//! - A listing from the beginning is always read anew, and so is one that has lasted for [`FRESH`].
//! - Nothing is kept over a change that the system makes.
//! - At most [`WINDOWS`] windows are kept, each of at most [`ROOM`] bytes and one name more.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;
use sing_p9::Qid;

/// How long names are kept: what the host changes is seen after that at the latest.
const FRESH: Duration = Duration::from_secs(1);
/// Directories whose names are kept: a walk comes back to those above.
const WINDOWS: usize = 4;
/// Bytes of one window.
const ROOM: usize = 1 << 20;
/// What a name takes beside its bytes.
const NAME: usize = 96;

/// The names of a directory that follow one of them.
#[derive(Debug)]
pub struct Window {
    at: String,
    /// They are those behind this one; all, if it is `None`.
    after: Option<String>,
    names: BTreeMap<String, Qid>,
    bytes: usize,
    /// The least name for which there was no room: none from there on are here, though they may be
    /// there. `None` if all are here.
    end: Option<String>,
    since: Duration,
}

impl Window {
    /// An empty one, to which names of the directory are added in any order.
    pub fn new(at: &str, after: Option<&str>, since: Duration) -> Window {
        Window {
            at: at.into(),
            after: after.map(String::from),
            names: BTreeMap::new(),
            bytes: 0,
            end: None,
            since,
        }
    }

    /// Adds a name; the last ones give way if there is no room.
    pub fn add(&mut self, name: &str, qid: Qid) {
        if self.after.as_deref().is_some_and(|after| name <= after) {
            return;
        }
        // What gave way may have been longer: a later name that fits would leave a hole.
        if self.end.as_deref().is_some_and(|end| name >= end) {
            return;
        }
        if self.names.insert(name.into(), qid).is_none() {
            self.bytes += name.len() + NAME;
        }
        while self.bytes > ROOM
            && self.names.len() > 1
            && let Some((last, _)) = self.names.pop_last()
        {
            self.bytes -= last.len() + NAME;
            self.end = Some(last);
        }
    }

    /// The first names behind one, at most so many; `None` if they are not all here.
    pub fn behind(&self, after: Option<&str>, most: usize) -> Option<Vec<(String, Qid)>> {
        if self.after.is_some() && after < self.after.as_deref() {
            return None;
        }
        let from = after.map_or(Unbounded, Excluded);
        let found = self.names.range::<str, _>((from, Unbounded)).take(most);
        let found: Vec<_> = found.map(|(name, qid)| (name.clone(), *qid)).collect();
        (self.end.is_none() || found.len() == most).then_some(found)
    }
}

/// The windows.
#[derive(Debug, Default)]
pub struct Recent(Vec<Window>);

impl Recent {
    /// The first names behind one, if they are here; a listing from the beginning has none.
    pub fn find(
        &self,
        at: &str,
        after: Option<&str>,
        most: usize,
        now: Duration,
    ) -> Option<Vec<(String, Qid)>> {
        let after = Some(after?);
        let window = self.0.iter().find(|window| window.at == at)?;
        if now.saturating_sub(window.since) > FRESH {
            return None;
        }
        window.behind(after, most)
    }

    /// Keeps a window, in the place of that of the same directory or of the oldest.
    pub fn keep(&mut self, window: Window) {
        self.0.retain(|other| other.at != window.at);
        if self.0.len() >= WINDOWS {
            self.0.remove(0);
        }
        self.0.push(window);
    }

    /// Something has changed.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn names(found: Option<Vec<(String, Qid)>>) -> Option<Vec<String>> {
        found.map(|all| all.into_iter().map(|(name, _)| name).collect())
    }

    fn window(at: &str, after: Option<&str>, all: &[&str]) -> Window {
        let mut window = Window::new(at, after, Duration::ZERO);
        for name in all {
            window.add(name, Qid::default());
        }
        window
    }

    #[test]
    fn names_behind_one_are_found_for_a_while() {
        let mut recent = Recent::default();
        recent.keep(window("/d", None, &["c", "a", "b"]));
        let find = |recent: &Recent, at, after, now| names(recent.find(at, after, 2, now));
        let now = Duration::ZERO;
        assert_eq!(find(&recent, "/d", Some("a"), now).unwrap(), ["b", "c"]);
        assert_eq!(find(&recent, "/d", Some("bb"), now).unwrap(), ["c"]);
        assert_eq!(find(&recent, "/d", None, now), None);
        assert_eq!(find(&recent, "/e", Some("a"), now), None);
        assert_eq!(find(&recent, "/d", Some("a"), 2 * FRESH), None);
        recent.clear();
        assert_eq!(find(&recent, "/d", Some("a"), now), None);
    }

    #[test]
    fn a_window_is_bounded_and_says_what_it_has_not() {
        let mut large = Window::new("/", Some("m"), Duration::ZERO);
        let all = 2 * ROOM / (NAME + 8);
        // The last ones first, so that all others push some out.
        for number in (0..all).rev() {
            large.add(&format!("n{number:07}"), Qid::default());
        }
        large.add("a", Qid::default());
        assert!(large.bytes <= ROOM && large.names.len() < all && large.end.is_some());
        let first = names(large.behind(Some("m"), 1)).unwrap();
        assert_eq!(first, ["n0000000"]);
        assert_eq!(large.behind(Some("l"), 1), None);
        assert_eq!(large.behind(Some("n9"), 1), None);
        assert_eq!(large.behind(None, 1), None);
    }

    /// A long name that gave way leaves more room than the next one takes.
    #[test]
    fn a_window_has_no_holes() {
        let mut full = Window::new("/", Some("a"), Duration::ZERO);
        for number in 0.. {
            full.add(&format!("b{number:07}"), Qid::default());
            if full.bytes + 2 * NAME + 300 > ROOM {
                break;
            }
        }
        let long = format!("m{}", "x".repeat(250));
        let short = "z";
        for name in [&long, "c", "d", short] {
            full.add(name, Qid::default());
        }
        assert!(!full.names.contains_key(&long));
        assert!(full.names.contains_key("d") && !full.names.contains_key(short));
        assert_eq!(full.behind(Some("d"), 1), None);
        // The same name again is no other.
        full.add("d", Qid::default());
        assert_eq!(names(full.behind(Some("c"), 1)).unwrap(), ["d"]);
    }

    #[test]
    fn few_windows_are_kept() {
        let mut recent = Recent::default();
        for number in 0..10 {
            recent.keep(window(&format!("/{number}"), None, &["a"]));
            recent.keep(window("/same", None, &["a"]));
        }
        assert_eq!(recent.0.len(), WINDOWS);
    }
}
