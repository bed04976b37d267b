//! The image's lines, made while functions get their code.

use super::Source;
use sing_image::limits;
use sing_image::lines::{Call, Lines, Row};
use std::collections::HashMap;

/// Makes the lines of an image.
pub(crate) struct Maker {
    source: Source,
    lines: Lines,
    /// The image's numbers of texts and calls, by those of the source.
    texts: HashMap<u32, u32>,
    calls: HashMap<u32, u32>,
    /// The image's numbers of calls, by what they are.
    equal: HashMap<Call, u32>,
}

impl Maker {
    pub(crate) fn new(source: Source) -> Maker {
        Maker {
            source,
            lines: Lines::default(),
            texts: HashMap::new(),
            calls: HashMap::new(),
            equal: HashMap::new(),
        }
    }

    /// Takes over a function that was placed at `start`: the offset of each part of its code, and
    /// the address where that comes from. Its first instructions, which make its frame, come from the
    /// line at `address`, if it has any.
    pub(crate) fn function(
        &mut self,
        start: u32,
        address: Option<u32>,
        parts: impl Iterator<Item = (u32, u32)>,
    ) {
        let first = address.map_or((0, 0, 0), |address| self.source.at(address));
        self.row(start, first);
        for (offset, from) in parts {
            let place = self.source.at(from);
            if place.0 != 0 {
                self.row(start + offset, place);
            }
        }
    }

    fn row(&mut self, offset: u32, (file, line, call): (u32, u32, u32)) {
        let row = Row {
            offset,
            file: self.text(file),
            line,
            call: self.call(call),
        };
        let same = |last: &Row| Row { offset, ..*last } == row;
        match self.lines.rows.last_mut() {
            Some(last) if same(last) => {}
            Some(last) if last.offset == offset => *last = row,
            None if row.file == 0 => {}
            _ => self.lines.rows.push(row),
        }
    }

    fn text(&mut self, text: u32) -> u32 {
        let Some(index) = text.checked_sub(1) else {
            return 0;
        };
        *self.texts.entry(text).or_insert_with(|| {
            self.lines
                .texts
                .push(self.source.texts.list[index as usize].clone());
            self.lines.texts.len() as u32
        })
    }

    fn call(&mut self, call: u32) -> u32 {
        // From this one outward, as far as they are not known: each has a lower number.
        let mut new = Vec::new();
        let mut next = call;
        let mut outer = 0;
        while next != 0 {
            if let Some(&known) = self.calls.get(&next) {
                outer = known;
                break;
            }
            new.push(next);
            next = self.source.calls[next as usize - 1].outer;
        }
        for number in new.into_iter().rev() {
            let call = self.source.calls[number as usize - 1];
            let call = Call {
                name: self.text(call.name),
                file: self.text(call.file),
                line: call.line,
                outer,
            };
            // One function is often inlined at the same place in several others, or several times
            // in one.
            outer = *self.equal.entry(call).or_insert_with(|| {
                self.lines.calls.push(call);
                self.lines.calls.len() as u32
            });
            self.calls.insert(number, outer);
        }
        outer
    }

    /// The section.
    ///
    /// # Errors
    /// If it would be too large.
    pub(crate) fn finish(self) -> Result<Vec<u8>, super::Left> {
        let lines = self.lines.encode();
        match limits::LINE_BYTES.check(lines.len() as u64) {
            Ok(()) => Ok(lines),
            Err(_) => Err(super::Left::TooLarge("bytes of lines")),
        }
    }
}
