//! Making the section: what the compiler knows, in the order of the code.

use super::{BLOCK, Call, GROUP, HEAD, Row, VERSION};
use alloc::string::String;
use alloc::vec::Vec;

/// What the section says, before it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Names of files and functions.
    pub texts: Vec<String>,
    /// Inlined calls, each behind the one that it is inlined into.
    pub calls: Vec<Call>,
    /// Rows, in the order of their offsets.
    pub rows: Vec<Row>,
}

impl Lines {
    /// Returns the section's bytes; none if nothing is known.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let (mut blocks, mut rows) = (Vec::new(), Vec::new());
        for block in self.rows.chunks(BLOCK) {
            let Some((&first, rest)) = block.split_first() else {
                continue;
            };
            blocks.push([
                first.offset,
                first.file,
                first.line,
                first.call,
                rows.len() as u32,
            ]);
            let mut before = first;
            for &row in rest {
                put(&mut rows, before, row);
                before = row;
            }
        }
        let (mut groups, mut calls) = (Vec::new(), Vec::new());
        for (call, number) in self.calls.iter().zip(1..) {
            if (number - 1) % GROUP as u32 == 0 {
                groups.push(calls.len() as u32);
            }
            let below = match call.outer {
                0 => 0,
                outer => number.saturating_sub(outer),
            };
            for part in [call.name, call.file, call.line, below] {
                variable(&mut calls, part.into());
            }
        }
        let head = [
            VERSION,
            blocks.len() as u32,
            groups.len() as u32,
            self.texts.len() as u32,
            rows.len() as u32,
            calls.len() as u32,
        ];
        let mut end = 0;
        let ends = self.texts.iter().map(|text| {
            end += text.len() as u32;
            end
        });
        let numbers = head.into_iter().chain(blocks.into_iter().flatten());
        let mut section = Vec::with_capacity(HEAD + rows.len() + calls.len());
        for number in numbers.chain(groups).chain(ends) {
            section.extend_from_slice(&number.to_le_bytes());
        }
        section.extend(rows);
        section.extend(calls);
        for text in &self.texts {
            section.extend_from_slice(text.as_bytes());
        }
        section
    }
}

/// Appends a row as its difference from the one before it.
fn put(out: &mut Vec<u8>, before: Row, row: Row) {
    let (file, call) = (row.file != before.file, row.call != before.call);
    let offset = u64::from(row.offset.saturating_sub(before.offset));
    variable(out, offset << 2 | u64::from(file) | u64::from(call) << 1);
    let line = i64::from(row.line) - i64::from(before.line);
    variable(out, (line << 1 ^ line >> 63).cast_unsigned());
    if file {
        variable(out, row.file.into());
    }
    if call {
        variable(out, row.call.into());
    }
}

fn variable(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::super::{DEPTH, Table};
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    fn some_lines(count: u32) -> Lines {
        let row = |i: u32| Row {
            offset: i * 7 + i % 3,
            file: if i % 50 == 49 { 0 } else { i % 3 + 1 },
            line: (i * 7919) % 5000,
            call: i % 41,
        };
        let call = |i: u32| Call {
            name: i % 3 + 1,
            file: 1,
            line: i * 100,
            outer: i / 2,
        };
        Lines {
            texts: ["a.rs", "b/\u{e4}.rs", "c"].map(ToString::to_string).into(),
            calls: (0..40).map(call).collect(),
            rows: (0..count).map(row).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for count in [1, 31, 32, 33, 1000] {
            let lines = some_lines(count);
            let section = lines.encode();
            let table = Table::new(&section);
            assert_eq!(table.rows().collect::<Vec<_>>(), lines.rows);
            for at in 0..count * 7 + 10 {
                let row = lines.rows.iter().rfind(|row| row.offset <= at).unwrap();
                let places: Vec<_> = table.at(at).collect();
                let Some(innermost) = places.first() else {
                    assert_eq!(row.file, 0);
                    continue;
                };
                assert_eq!(innermost.line, row.line, "at {at}");
                let text = |n: u32| lines.texts[n as usize - 1].as_str();
                assert_eq!(innermost.file, Some(text(row.file)));
                let mut outer = row.call;
                for place in &places {
                    let call = outer.checked_sub(1).map(|i| lines.calls[i as usize]);
                    assert_eq!(place.function, call.map(|call| text(call.name)));
                    outer = call.map_or(0, |call| call.outer);
                }
                assert_eq!(outer, 0, "all of the calls are named");
            }
        }
        assert!(Lines::default().encode().is_empty());
    }

    #[test]
    fn a_wrong_table_gives_wrong_words_or_none() {
        let section = some_lines(300).encode();
        let look = |section: &[u8]| {
            let table = Table::new(section);
            let mut said = 0;
            for at in (0..2200).step_by(53).chain([u32::MAX]) {
                let places = table.at(at);
                said += places.map(|p| format!("{p:?}").len()).sum::<usize>();
            }
            said + table.rows().count()
        };
        assert!(look(&section) > 1000);
        let mut random = 1_u32;
        let mut next = |below: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as usize % below
        };
        for _ in 0..3000 {
            let mut damaged = section.clone();
            for _ in 0..=next(4) {
                let at = next(damaged.len());
                damaged[at] = [0, 0xff, 0x80, next(256) as u8][next(4)];
            }
            if next(4) == 0 {
                damaged.truncate(next(section.len()));
            }
            look(&damaged);
        }
    }

    #[test]
    fn calls_that_lead_to_each_other_come_to_an_end() {
        let mut lines = some_lines(2);
        lines.rows[0].call = 2;
        // An outer call with the same number, which is written as if there was none.
        (lines.calls[0].outer, lines.calls[1].outer) = (2, 2);
        assert_eq!(Table::new(&lines.encode()).at(0).count(), 2);
        lines.calls = (0..100)
            .map(|outer| Call {
                outer,
                ..Call::default()
            })
            .collect();
        lines.rows[0].call = 100;
        assert_eq!(Table::new(&lines.encode()).at(0).count(), DEPTH);
    }
}
