//! What a watcher watches, and which changes it is told of.

use alloc::string::String;
use sing_sdk::path;
use sing_sdk::pattern::Pattern;

/// All that matches a pattern below a directory, and what is below that.
#[derive(Debug)]
pub struct Watched {
    /// The directory, normalized.
    pub directory: String,
    /// What is watched there.
    pub pattern: Pattern,
    /// The origin that is charged for it.
    pub origin: u32,
    /// How much it is charged.
    pub cost: usize,
}

impl Watched {
    /// Whether a change at a path is one that it is told of.
    #[must_use]
    pub fn covers(&self, at: &str) -> bool {
        path::below(at, &self.directory).is_some_and(|rest| self.pattern.meets(rest))
    }

    /// Whether a change somewhere below a path may be one. Below the root, any may: what is mounted
    /// there has directories that nobody else knows.
    #[must_use]
    pub fn reaches(&self, at: &str) -> bool {
        if at == "/" {
            return true;
        }
        path::below(at, &self.directory).is_some_and(|rest| {
            let places = self.pattern.follow(self.pattern.start(), rest);
            self.pattern.goes_on(places) || self.pattern.meets(rest)
        })
    }

    /// Whether a change of what is mounted at the root may be one, where first names that are known
    /// are not the mount's.
    #[must_use]
    pub fn is_beyond(&self, is_known: impl Fn(&str) -> bool) -> bool {
        let end = self.directory[1..].find('/');
        let first = &self.directory[..end.map_or(self.directory.len(), |end| end + 1)];
        first == "/" || !is_known(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_reached_by_changes_above_and_below_its_directory() {
        let watched = |directory: &str, pattern: &str| Watched {
            directory: directory.into(),
            pattern: Pattern::new(pattern).unwrap(),
            origin: 0,
            cost: 0,
        };
        let docs = watched("/docs", "**");
        assert!(docs.covers("/docs/a") && docs.covers("/docs/a/b") && !docs.covers("/doc"));
        assert!(docs.reaches("/docs") && docs.reaches("/docs/a") && !docs.reaches("/dev"));
        // What is mounted at the root serves each directory that is nobody else's.
        for (directory, pattern) in [("/", "*"), ("/docs", "**"), ("/docs/a", "*.txt")] {
            let watched = watched(directory, pattern);
            assert!(watched.reaches("/"), "{directory} {pattern}");
        }
    }

    #[test]
    fn a_change_of_the_root_mount_is_none_of_what_the_name_server_knows() {
        let is_beyond = |directory: &str| {
            let watched = Watched {
                directory: directory.into(),
                pattern: Pattern::new("*").unwrap(),
                origin: 0,
                cost: 0,
            };
            watched.is_beyond(|name| name == "/dev")
        };
        assert!(is_beyond("/") && is_beyond("/docs") && is_beyond("/docs/dev"));
        assert!(!is_beyond("/dev") && !is_beyond("/dev/disk"));
    }
}
