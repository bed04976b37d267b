//! JSON in one line, with tables of a bounded size.

use alloc::string::String;
use core::fmt::Write;

/// The most characters of a text.
pub const MOST_TEXT: usize = 160;
/// The largest whole number that JavaScript holds exactly.
const MOST_NUMBER: u64 = (1 << 53) - 1;

/// Appends a string in quotes, cut to so many characters.
pub fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for (at, c) in text.chars().enumerate() {
        if at == MOST_TEXT {
            out.push('…');
            break;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Line ends of JavaScript that JSON allows.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// An object that is being written.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Object<'a> {
    /// Begins one; its end is the caller's to write, by [`Object::end`].
    pub fn new(out: &'a mut String) -> Object<'a> {
        out.push('{');
        Object { out, first: true }
    }

    fn key(&mut self, key: &str) {
        if !core::mem::replace(&mut self.first, false) {
            self.out.push(',');
        }
        quoted(self.out, key);
        self.out.push(':');
    }

    /// With a text.
    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        quoted(self.out, value);
    }

    /// With a number; one that JavaScript does not have is `null`.
    pub fn number(&mut self, key: &str, value: u64) {
        self.maybe(key, Some(value));
    }

    /// With a number, or `null`.
    pub fn maybe(&mut self, key: &str, value: Option<u64>) {
        self.key(key);
        let _ = match value {
            Some(value) if value <= MOST_NUMBER => write!(self.out, "{value}"),
            _ => write!(self.out, "null"),
        };
    }

    /// With a time of so many nanoseconds, in microseconds: JavaScript's numbers hold 104 days in
    /// nanoseconds, and 285 years so. A longer one is shown as that.
    pub fn time(&mut self, key: &str, nanoseconds: u64) {
        self.number(key, (nanoseconds / 1000).min(MOST_NUMBER));
    }

    /// With yes or no.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// With an object.
    pub fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        let mut inner = Object::new(self.out);
        write(&mut inner);
        inner.end();
    }

    /// With a list of objects.
    pub fn list<T>(
        &mut self,
        key: &str,
        rows: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Object<'_>, T),
    ) {
        self.key(key);
        self.out.push('[');
        for (at, row) in rows.into_iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            let mut inner = Object::new(self.out);
            write(&mut inner, row);
            inner.end();
        }
        self.out.push(']');
    }

    /// With a table: its first rows, so many as fit into `most` bytes, and how many are left out,
    /// beside `more` that were left out before.
    pub fn table<T>(
        &mut self,
        key: &str,
        most: usize,
        more: u64,
        rows: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Object<'_>, T),
    ) {
        self.key(key);
        self.out.push_str("{\"rows\":[");
        let begin = self.out.len();
        let (mut left, mut full, mut row) = (more, false, String::new());
        for of in rows {
            if full {
                left += 1;
                continue;
            }
            row.clear();
            let mut object = Object::new(&mut row);
            write(&mut object, of);
            object.end();
            if self.out.len() - begin + row.len() + 1 > most {
                full = true;
                left += 1;
                continue;
            }
            if self.out.len() > begin {
                self.out.push(',');
            }
            self.out.push_str(&row);
        }
        let _ = write!(self.out, "],\"left\":{left}}}");
    }

    /// Ends it.
    pub fn end(self) {
        self.out.push('}');
    }
}
