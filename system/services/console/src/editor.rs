//! A line editor: takes keys, returns output for the terminal.
//!
//! The line stays on one row; a line wider than the terminal scrolls sideways. Every change redraws
//! the row, so that the result does not depend on the terminal's former contents.

use crate::history::{self, History, Search};
use crate::keys::{Decoder, Key};
use crate::width;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// The columns that a prompt leaves to the line at least.
const ROOM: usize = 8;
/// The most characters in a line; further ones are ignored.
const LONGEST: usize = 16 << 10;
/// The most bytes that an editor keeps: its line, the new line while an old one is shown, the line
/// before a search, the history.
pub const KEPT: usize = 3 * 4 * LONGEST + history::BYTES + history::LINES * 16 + history::QUERY;

/// The outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A finished line, without its line end.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D at the beginning of a line; the line stays on the screen unless there is a history.
    EndOfInput,
    /// Tab behind this text, in an editor with a history; the line stays.
    Complete(String),
    /// Ctrl-Z, in an editor without a history.
    Suspend,
}

/// An unfinished line.
#[derive(Debug, Default)]
pub struct Unfinished {
    line: Vec<char>,
    cursor: usize,
}

impl Unfinished {
    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

/// The editor.
#[derive(Debug)]
pub struct Editor {
    decoder: Decoder,
    prompt: String,
    columns: usize,
    line: Vec<char>,
    cursor: usize,
    history: History,
    /// The history's line that is shown; the history's length if it is the new one.
    place: usize,
    /// The new line, while an old one is shown.
    unfinished: Vec<char>,
    search: Option<Search>,
    keeps_history: bool,
}

impl Editor {
    /// An editor for a terminal of this many columns, with history or without.
    #[must_use]
    pub fn new(columns: usize, keeps_history: bool) -> Editor {
        let mut editor = Editor {
            decoder: Decoder::default(),
            prompt: String::new(),
            columns: 0,
            line: Vec::new(),
            cursor: 0,
            history: History::default(),
            place: 0,
            unfinished: Vec::new(),
            search: None,
            keeps_history,
        };
        editor.set_columns(columns);
        editor
    }

    /// The terminal has this many columns from now on.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns.max(20);
    }

    /// Begins a line.
    pub fn begin(&mut self, prompt: &str) {
        self.prompt = prompt.into();
        self.search = None;
        self.line.clear();
        self.cursor = 0;
        self.place = self.history.len();
    }

    /// Begins a line with text that was typed before; appends the terminal's output to `out`.
    pub fn resume(&mut self, prompt: &str, unfinished: Unfinished, out: &mut String) {
        self.begin(prompt);
        self.line = unfinished.line;
        self.cursor = unfinished.cursor;
        self.draw(out);
    }

    /// Removes and returns unfinished text.
    pub fn take(&mut self) -> Unfinished {
        self.place = self.history.len();
        self.search = None;
        Unfinished {
            line: core::mem::take(&mut self.line),
            cursor: core::mem::take(&mut self.cursor),
        }
    }

    /// Whether nothing has been typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Takes a byte; appends the terminal's output to `out`.
    pub fn feed(&mut self, byte: u8, out: &mut String) -> Option<Event> {
        let key = self.decoder.feed(byte)?;
        let event = self.key(key, out);
        if !matches!(event, None | Some(Event::Complete(_))) {
            self.line.clear();
            self.cursor = 0;
        }
        event
    }

    /// Inserts text at the cursor, and shows lines below; appends the terminal's output to `out`.
    pub fn complete(&mut self, insert: &str, shown: &str, out: &mut String) {
        if !shown.is_empty() {
            self.go_to_end_and_back(out);
            for line in shown.lines() {
                out.push_str("\r\n");
                out.extend(line.chars().filter(|c| !c.is_control()));
            }
            out.push_str("\r\n");
        }
        insert
            .chars()
            .filter(|c| !c.is_control())
            .for_each(|c| self.insert(c));
        self.draw(out);
    }

    fn key(&mut self, key: Key, out: &mut String) -> Option<Event> {
        if self.search.is_some() {
            if self.search(key) {
                self.draw(out);
                return None;
            }
            // The row has the search's prompt.
            self.draw(out);
        }
        match key {
            Key::Enter => {
                let line: String = self.line.iter().collect();
                self.go_to_end(out);
                out.push_str("\r\n");
                self.remember(&line);
                return Some(Event::Line(line));
            }
            Key::Interrupt => {
                self.go_to_end(out);
                out.push_str("^C\r\n");
                return Some(Event::Interrupt);
            }
            Key::EndOfInput if self.line.is_empty() => {
                if self.keeps_history {
                    out.push_str("\r\n");
                }
                return Some(Event::EndOfInput);
            }
            Key::Tab if self.keeps_history => {
                return Some(Event::Complete(self.line[..self.cursor].iter().collect()));
            }
            Key::Tab => self.insert(' '),
            Key::Suspend if !self.keeps_history => {
                self.go_to_end(out);
                out.push_str("^Z\r\n");
                return Some(Event::Suspend);
            }
            Key::Search if self.keeps_history => {
                self.search = Some(Search {
                    line: self.line.clone(),
                    cursor: self.cursor,
                    ..Search::default()
                });
            }
            Key::Search | Key::Cancel | Key::Suspend => return None,
            Key::Char(c) => {
                let at_end = self.cursor == self.line.len();
                let len = self.line.len();
                self.insert(c);
                // A character at the end of the line needs no redrawing.
                if at_end && self.line.len() > len && self.columns_taken() < self.columns {
                    out.push(c);
                    return None;
                }
            }
            Key::Backspace => self.delete(width::before(&self.line, self.cursor)..self.cursor),
            Key::Delete | Key::EndOfInput => {
                self.delete(self.cursor..width::after(&self.line, self.cursor));
            }
            Key::Left => self.cursor = width::before(&self.line, self.cursor),
            Key::Right => self.cursor = width::after(&self.line, self.cursor),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.line.len(),
            Key::KillToEnd => self.delete(self.cursor..self.line.len()),
            Key::KillToStart => self.delete(0..self.cursor),
            Key::KillWord => self.delete(self.word_before()..self.cursor),
            Key::Up => self.recall(self.place.checked_sub(1)),
            Key::Down => self.recall(Some(self.place + 1)),
            Key::Clear => out.push_str("\x1b[H\x1b[2J"),
        }
        self.draw(out);
        None
    }

    /// Shows the end of the line, so that what follows is below all of it.
    fn go_to_end_and_back(&mut self, out: &mut String) {
        let cursor = self.cursor;
        self.go_to_end(out);
        self.cursor = cursor;
    }

    fn go_to_end(&mut self, out: &mut String) {
        if self.cursor < self.line.len() {
            self.cursor = self.line.len();
            self.draw(out);
        }
    }

    /// Shows the row.
    pub fn draw(&self, out: &mut String) {
        let of_search = self.search.as_ref().map(Search::prompt);
        let prompt = of_search.as_deref().unwrap_or(&self.prompt);
        // The end of a prompt that is too long for the row says more than its beginning.
        let chars: Vec<char> = prompt.chars().collect();
        let most = self.columns - ROOM - 1;
        let prompt = &chars[width::window(&chars, chars.len(), most)];
        let before = width::of_all(prompt);
        // One column is left free, so that the cursor after the last character stays on the row.
        let room = self.columns - before - 1;
        let shown = width::window(&self.line, self.cursor, room);
        self.hide(out);
        out.extend(prompt);
        out.extend(&self.line[shown.clone()]);
        // A cursor at the end is in place already.
        if self.cursor < self.line.len() {
            out.push('\r');
            let column = before + width::of_all(&self.line[shown.start..self.cursor]);
            if column > 0 {
                // Writing to a string does not fail.
                let _ = write!(out, "\x1b[{column}C");
            }
        }
    }

    /// Clears the row, so that other text can be printed there.
    pub fn hide(&self, out: &mut String) {
        out.push_str("\r\x1b[K");
    }

    /// The columns of the prompt and the line.
    fn columns_taken(&self) -> usize {
        width::of_all(&self.prompt.chars().collect::<Vec<_>>()) + width::of_all(&self.line)
    }

    fn insert(&mut self, c: char) {
        if self.line.len() < LONGEST {
            self.line.insert(self.cursor, c);
            self.cursor += 1;
        }
    }

    fn delete(&mut self, range: core::ops::Range<usize>) {
        let range = range.start..range.end.min(self.line.len());
        if range.start < range.end {
            self.cursor = range.start;
            self.line.drain(range);
        }
    }

    fn word_before(&self) -> usize {
        let before = &self.line[..self.cursor];
        let end = before.iter().rposition(|c| *c != ' ').map_or(0, |i| i + 1);
        before[..end]
            .iter()
            .rposition(|c| *c == ' ')
            .map_or(0, |i| i + 1)
    }

    fn word_after(&self) -> usize {
        let after = &self.line[self.cursor..];
        let start = after.iter().position(|c| *c != ' ').unwrap_or(after.len());
        let len = after[start..]
            .iter()
            .position(|c| *c == ' ')
            .unwrap_or(after.len() - start);
        self.cursor + start + len
    }

    fn recall(&mut self, place: Option<usize>) {
        let Some(place) = place.filter(|p| *p <= self.history.len()) else {
            return;
        };
        if self.place == self.history.len() {
            self.unfinished = self.line.clone();
        }
        self.line = match self.history.get(place) {
            Some(old) => old.chars().collect(),
            None => core::mem::take(&mut self.unfinished),
        };
        self.place = place;
        self.cursor = self.line.len();
    }

    /// Adds a line to the history.
    pub fn remember(&mut self, line: &str) {
        if self.keeps_history {
            self.history.remember(line);
        }
    }

    /// Takes a key while the history is searched; returns whether that was all. Another key than
    /// those of the search ends it with what was found, and has its own effect then.
    fn search(&mut self, key: Key) -> bool {
        let Some(mut search) = self.search.take() else {
            return false;
        };
        match key {
            Key::Char(c) => search.extend(c, &self.history),
            Key::Backspace => search.shorten(&self.history),
            Key::Search => search.earlier(&self.history),
            Key::Cancel => {
                (self.line, self.cursor) = (search.line, search.cursor);
                return true;
            }
            _ => {
                let cursor = self.cursor;
                if let Some(place) = search.found {
                    self.recall(Some(place));
                    self.cursor = cursor;
                }
                return false;
            }
        }
        let found = search.found.and_then(|place| self.history.get(place));
        self.line = match found {
            Some(found) => found.chars().collect(),
            None => search.line.clone(),
        };
        let at = found.and_then(|line| line[..].find(&search.text).map(|at| &line[..at]));
        self.cursor = at.map_or(self.line.len(), |before| before.chars().count());
        self.search = Some(search);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Types keys; the finished line.
    fn typed(editor: &mut Editor, keys: &[u8]) -> Option<Event> {
        let mut out = String::new();
        keys.iter().find_map(|&b| editor.feed(b, &mut out))
    }

    fn line(keys: &[u8]) -> String {
        let mut editor = Editor::new(80, true);
        editor.begin("> ");
        match typed(&mut editor, &[keys, b"\r"].concat()) {
            Some(Event::Line(line)) => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn editing() {
        assert_eq!(line(b"hello"), "hello");
        assert_eq!(line(b"hllo\x01\x06e"), "hello");
        assert_eq!(line(b"abc\x7f\x7fx"), "ax");
        assert_eq!(line(b"abc\x01\x04"), "bc");
        assert_eq!(line(b"one two three\x17\x17x"), "one x");
        assert_eq!(line(b"one two\x15x"), "x");
        assert_eq!(line(b"one two\x01\x06\x06\x06\x0b"), "one");
        assert_eq!(line(b"ac\x1b[Db\x1b[Fd\x1b[Hz"), "zabcd");
        assert_eq!(line(b"a b\x1bb\x7f\x7f\x7f\x7fq"), "qb");
        assert_eq!(line("gr\u{fc}n\u{20ac}\x7f!".as_bytes()), "grün!");
    }

    #[test]
    fn ends() {
        let mut e = Editor::new(80, true);
        e.begin("> ");
        assert_eq!(typed(&mut e, b"abc\x03"), Some(Event::Interrupt));
        assert_eq!(typed(&mut e, b"\x04"), Some(Event::EndOfInput));
        assert_eq!(typed(&mut e, b"a\x04"), None);
        assert_eq!(typed(&mut e, b"\r"), Some(Event::Line("a".into())));
    }

    #[test]
    fn history() {
        let mut e = Editor::new(80, true);
        for l in ["one\r", "two\r", "two\r", "  \r"] {
            e.begin("> ");
            typed(&mut e, l.as_bytes());
        }
        e.begin("> ");
        let got = typed(&mut e, b"new\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B\x1b[B\x1b[A\r");
        assert_eq!(got, Some(Event::Line("two".into())));
        e.begin("> ");
        let got = typed(&mut e, b"new\x1b[A\x1b[B!\r");
        assert_eq!(got, Some(Event::Line("new!".into())));
    }

    #[test]
    fn the_history_is_searched() {
        let mut e = Editor::new(80, true);
        for l in ["echo one\r", "cat two\r", "echo three\r"] {
            e.begin("> ");
            typed(&mut e, l.as_bytes());
        }
        for (keys, line) in [
            (&b"\x12echo\r"[..], "echo three"),
            (b"\x12echo\x12\r", "echo one"),
            (b"\x12tow\x7f\x7fw\r", "cat two"),
            // The cursor is where the text begins, and other keys edit the line.
            (b"\x12two\x1b[Cx\r", "cat txwo"),
            (b"\x12three\x05!\r", "echo three!"),
            (b"\x12one\x01\x06\x06\x0b\x1b[F2\r", "ec2"),
            // As it was before.
            (b"new\x02\x12one\x07!\r", "ne!w"),
            // Nothing is found: the line stays.
            (b"new\x12zzz\r", "new"),
            (b"\x12\x12\x12new\x7f\x7f\x7f\x07\r", ""),
        ] {
            let mut e2 = Editor::new(80, true);
            for l in ["echo one", "cat two", "echo three"] {
                e2.remember(l);
            }
            e2.begin("> ");
            let got = typed(&mut e2, keys);
            assert_eq!(got, Some(Event::Line(line.into())), "{keys:?}");
        }
        let mut out = String::new();
        e.begin("> ");
        b"\x12ca".iter().for_each(|&b| drop(e.feed(b, &mut out)));
        assert!(
            out.ends_with("\r\x1b[K(search 'ca'): cat two\r\x1b[15C"),
            "{out:?}"
        );
        out.clear();
        b"z".iter().for_each(|&b| drop(e.feed(b, &mut out)));
        assert!(out.contains("(nothing with 'caz'): cat two"), "{out:?}");
        // For a job there is none, and Ctrl-Z suspends it.
        let mut job = Editor::new(80, false);
        job.begin("");
        assert_eq!(typed(&mut job, b"\x12a\r"), Some(Event::Line("a".into())));
        assert_eq!(typed(&mut job, b"a\x1a"), Some(Event::Suspend));
        assert_eq!(
            typed(&mut e, b"\x07\x1a\x1ax\r"),
            Some(Event::Line("x".into()))
        );
    }

    #[test]
    fn wide_and_combining_characters_are_edited() {
        assert_eq!(line("日本語\x7f\x02x".as_bytes()), "日x本");
        assert_eq!(line("e\u{301}x\x02\x02y".as_bytes()), "ye\u{301}x");
        assert_eq!(line("ae\u{301}\x7f".as_bytes()), "a");
        assert_eq!(line("e\u{301}x\x01\x04".as_bytes()), "x");
        let mut e = Editor::new(20, true);
        let mut out = String::new();
        e.resume("日> ", Unfinished::default(), &mut out);
        for b in "日本x\x02\x02".bytes() {
            out.clear();
            e.feed(b, &mut out);
        }
        // The cursor is behind four columns of prompt and two of line.
        assert_eq!(out, "\r\x1b[K日> 日本x\r\x1b[6C");
        // Twenty columns have room for seven of these behind the prompt, and the cursor.
        e.begin("日> ");
        for b in "語".repeat(30).bytes() {
            out.clear();
            e.feed(b, &mut out);
        }
        assert_eq!(out, format!("\r\x1b[K日> {}", "語".repeat(7)));
    }

    #[test]
    fn a_long_prompt_leaves_room() {
        let mut e = Editor::new(20, true);
        let mut out = String::new();
        e.begin(&"p".repeat(40));
        typed(&mut e, b"abc");
        e.draw(&mut out);
        assert_eq!(out, format!("\r\x1b[K{}abc", "p".repeat(11)));
    }

    #[test]
    fn a_line_goes_on_in_another_editor() {
        let (mut job, mut shell) = (Editor::new(80, false), Editor::new(80, true));
        job.begin("");
        typed(&mut job, b"ehco x\x01\x06");
        let mut shown = String::new();
        shell.resume("> ", job.take(), &mut shown);
        assert_eq!(shown, "\r\x1b[K> ehco x\r\x1b[3C");
        let line = typed(&mut shell, b"\x1b[3~\x06h\r");
        assert_eq!(line, Some(Event::Line("echo x".into())));
        assert!(job.is_empty() && job.take().is_empty());
    }

    #[test]
    fn words_are_completed_at_the_cursor() {
        let mut e = Editor::new(80, true);
        e.begin("> ");
        assert_eq!(
            typed(&mut e, b"ls /bo x\x02\x02\t"),
            Some(Event::Complete("ls /bo".into()))
        );
        let mut out = String::new();
        e.complete("ot\x1b/", "", &mut out);
        assert_eq!(out, "\r\x1b[K> ls /boot/ x\r\x1b[11C");
        out.clear();
        e.complete("", "a  b\nc\x07\n", &mut out);
        let row = "\r\x1b[K> ls /boot/ x";
        assert_eq!(out, format!("{row}\r\na  b\r\nc\r\n{row}\r\x1b[11C"));
        let line = typed(&mut e, b"y\r");
        assert_eq!(line, Some(Event::Line("ls /boot/y x".into())));
        // For a job, a tab is a space.
        let mut job = Editor::new(80, false);
        job.begin("");
        assert_eq!(typed(&mut job, b"a\tb\r"), Some(Event::Line("a b".into())));
    }

    #[test]
    fn what_is_shown_fits_the_row() {
        let mut e = Editor::new(30, true);
        e.begin("prompt> ");
        let mut row = String::from("prompt> ");
        for i in 0..100_u8 {
            let mut out = String::new();
            e.feed(b'a' + i % 26, &mut out);
            match out.strip_prefix("\r\x1b[K") {
                Some(drawn) => row = drawn.into(),
                None => row.push_str(&out),
            }
            assert!(row.chars().count() < 30, "{row:?}");
            assert!(row.starts_with("prompt> "));
            assert!(row.ends_with(char::from(b'a' + i % 26)));
        }
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut e = Editor::new(25, true);
        e.begin("> ");
        let mut x = 1_u32;
        let mut out = String::new();
        for _ in 0..200_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            e.feed((x >> 24) as u8, &mut out);
            out.clear();
            assert!(e.cursor <= e.line.len());
        }
    }
}
