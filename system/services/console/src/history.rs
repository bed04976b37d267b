//! The lines of before, which can be recalled one by one or searched.
//!
//! Invariant: lines are bounded in number and in bytes together.

use alloc::string::String;
use alloc::vec::Vec;

/// The most lines.
pub const LINES: usize = 500;
/// The most bytes in all lines.
pub const BYTES: usize = 128 << 10;
/// The most bytes of a text that is searched for; further characters are ignored.
pub const QUERY: usize = 256;

/// The lines.
#[derive(Debug, Default)]
pub struct History {
    lines: Vec<String>,
}

impl History {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The line at a place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&str> {
        self.lines.get(place).map(String::as_str)
    }

    /// Adds a line, unless it is empty or the same as the last one.
    pub fn remember(&mut self, line: &str) {
        let new = !line.trim().is_empty() && self.lines.last().is_none_or(|last| last != line);
        if !new || line.len() > BYTES {
            return;
        }
        self.lines.push(line.into());
        let mut bytes: usize = self.lines.iter().map(String::len).sum();
        let oldest = self.lines.iter().take_while(|old| {
            let drop = bytes > BYTES;
            bytes -= old.len();
            drop
        });
        let more = self.lines.len().saturating_sub(LINES);
        let oldest = oldest.count().max(more);
        self.lines.drain(..oldest);
    }

    /// The place of the last line before this place that contains a text.
    #[must_use]
    pub fn search(&self, text: &str, before: usize) -> Option<usize> {
        let lines = &self.lines[..before.min(self.lines.len())];
        lines.iter().rposition(|line| line.contains(text))
    }
}

/// A search backwards through the history.
#[derive(Debug, Default)]
pub struct Search {
    /// What is looked for.
    pub text: String,
    /// The line that was found, by its place.
    pub found: Option<usize>,
    /// No other line has the text.
    pub failed: bool,
    /// The line before the search.
    pub line: Vec<char>,
    /// The cursor in that line.
    pub cursor: usize,
}

impl Search {
    /// Looks for another text: from the line that was found before on, so that what is typed
    /// narrows a search down.
    pub fn extend(&mut self, c: char, history: &History) {
        if self.text.len() + c.len_utf8() > QUERY {
            return;
        }
        self.text.push(c);
        let before = self.found.map_or(history.len(), |place| place + 1);
        self.look(before, history);
    }

    /// Looks for a text with a character less, from the last line on.
    pub fn shorten(&mut self, history: &History) {
        self.text.pop();
        self.found = None;
        self.failed = false;
        if !self.text.is_empty() {
            self.look(history.len(), history);
        }
    }

    /// Looks for an earlier line with another command in it.
    pub fn earlier(&mut self, history: &History) {
        if self.text.is_empty() {
            return;
        }
        let now = self.found.and_then(|place| history.get(place));
        let mut before = self.found.unwrap_or(history.len());
        while let Some(place) = history.search(&self.text, before) {
            if history.get(place) != now {
                self.found = Some(place);
                return self.failed = false;
            }
            before = place;
        }
        self.failed = true;
    }

    fn look(&mut self, before: usize, history: &History) {
        let place = history.search(&self.text, before);
        self.failed = place.is_none();
        self.found = place.or(self.found);
    }

    /// The prompt while it goes on.
    #[must_use]
    pub fn prompt(&self) -> String {
        let how = if self.failed {
            "nothing with"
        } else {
            "search"
        };
        alloc::format!("({how} '{}'): ", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn lines_are_bounded_in_number_and_bytes() {
        let mut history = History::default();
        for i in 0..LINES + 10 {
            history.remember(&format!("short {i}"));
        }
        assert_eq!((history.len(), history.get(0)), (LINES, Some("short 10")));
        for i in 0..20 {
            history.remember(&format!("{i:>60000}"));
        }
        let bytes: usize = history.lines.iter().map(String::len).sum();
        assert!(bytes <= BYTES && history.len() == 2);
        assert!(history.lines[1].ends_with("19") && history.lines[0].ends_with("18"));
        history.remember("short");
        assert_eq!(history.len(), 3);
    }

    #[test]
    fn a_search_goes_back_and_narrows_down() {
        let mut history = History::default();
        for line in ["cat a", "echo one", "cat b", "echo two", "cat b", "ls"] {
            history.remember(line);
        }
        let mut search = Search::default();
        let found = |search: &Search| search.found.and_then(|place| history.get(place));
        search.extend('c', &history);
        assert_eq!(found(&search), Some("cat b"));
        search.extend('h', &history);
        assert_eq!(found(&search), Some("echo two"));
        search.earlier(&history);
        assert_eq!(found(&search), Some("echo one"));
        search.earlier(&history);
        assert!(search.failed && found(&search) == Some("echo one"));
        search.shorten(&history);
        assert_eq!((found(&search), search.failed), (Some("cat b"), false));
        // The same command once more is no other one.
        search.extend('a', &history);
        search.earlier(&history);
        assert_eq!(found(&search), Some("cat a"));
        for _ in 0..1000 {
            search.extend('é', &history);
        }
        assert!(search.failed && search.text.len() <= QUERY);
    }
}
