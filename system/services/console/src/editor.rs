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
/// The most characters in a row that combine with the one before them; further ones are ignored. A
/// row is redrawn with each key, and they take no columns of it.
const COMBINING: usize = 8;
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
                if self.line.len() == len {
                    return None;
                }
                // A character at the end of the line needs no redrawing.
                if at_end && self.fits() {
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

    /// Whether the row has room for the prompt, the line and the cursor. The line is looked at only
    /// if it is short.
    fn fits(&self) -> bool {
        let most = self.columns * (COMBINING + 1);
        self.line.len() < most && self.columns_taken() < self.columns
    }

    /// The columns of the prompt and the line.
    fn columns_taken(&self) -> usize {
        width::of_all(&self.prompt.chars().collect::<Vec<_>>()) + width::of_all(&self.line)
    }

    fn insert(&mut self, c: char) {
        let has_room = self.line.len() < LONGEST;
        if has_room && !(width::of(c) == 0 && self.combining() >= COMBINING) {
            self.line.insert(self.cursor, c);
            self.cursor += 1;
        }
    }

    /// How many characters in a row around the cursor take no columns.
    fn combining(&self) -> usize {
        let (before, behind) = self.line.split_at(self.cursor);
        let none = |c: &&char| width::of(**c) == 0;
        before.iter().rev().take_while(none).count() + behind.iter().take_while(none).count()
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
                    // The line before the search is the one that is recalled from.
                    self.line = search.line;
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
mod tests;
