//! A span, and spans as `SpansContract` carries them: records of a fixed size, and one text.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use sing_sdk::contracts::{SpanKind, SpanRecord};

/// The most spans of one message.
pub const MOST: usize = 128;
/// The most characters of any text of a span: what is longer is cut.
pub const MOST_TEXT: usize = 160;
/// The most attributes of a span.
pub const MOST_ATTRIBUTES: usize = 16;
/// The most bytes of the text of all spans of a message.
pub const MOST_BYTES: usize = MOST * (MOST_ATTRIBUTES + 2) * (4 * MOST_TEXT + 64);

/// What an attribute says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

/// What was done, from when to when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Of what all spans of a request have.
    pub trace: u128,
    /// Its own number.
    pub id: u64,
    /// Within what it was done; 0 for nothing.
    pub parent: u64,
    /// When it has begun, in nanoseconds since 1970.
    pub begin: u64,
    /// When it has ended.
    pub end: u64,
    /// What it is.
    pub kind: SpanKind,
    /// What was done.
    pub name: String,
    /// Why it has failed, if it has.
    pub failure: Option<String>,
    /// What else there is to say, by names of OpenTelemetry's semantic conventions.
    pub attributes: Vec<(String, Value)>,
}

/// A text as it may stand in a line, cut to its length.
fn plain(text: &str, out: &mut String) {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    out.extend(text.chars().take(MOST_TEXT).map(plain));
}

/// A text of a client or program, as a span may have it.
#[must_use]
pub fn text(text: &str) -> String {
    let mut out = String::new();
    plain(text, &mut out);
    out
}

/// Packs spans, at most [`MOST`].
#[must_use]
pub fn pack(spans: &[Span]) -> (Vec<SpanRecord>, String) {
    let mut all = String::new();
    let mut records = Vec::new();
    for span in spans.iter().take(MOST) {
        let mut begin = all.len();
        let mut length = |all: &String| {
            let bytes = all.len() - begin;
            begin = all.len();
            bytes as u32
        };
        plain(&span.name, &mut all);
        let name = length(&all);
        plain(span.failure.as_deref().unwrap_or_default(), &mut all);
        let reason = length(&all);
        for (key, value) in span.attributes.iter().take(MOST_ATTRIBUTES) {
            match value {
                Value::Text(text) => {
                    let _ = write!(all, "{key}=");
                    plain(text, &mut all);
                }
                Value::Number(number) => {
                    let _ = write!(all, "{key}#{number}");
                }
            }
            all.push('\n');
        }
        records.push(SpanRecord {
            traceHigh: (span.trace >> 64) as u64,
            traceLow: span.trace as u64,
            span: span.id,
            parent: span.parent,
            begin: span.begin,
            end: span.end,
            kind: span.kind,
            failed: span.failure.is_some(),
            name,
            reason,
            attributes: length(&all),
        });
    }
    (records, all)
}

/// An attribute of its line.
fn attribute(line: &str) -> Option<(String, Value)> {
    let at = line.find(['=', '#'])?;
    let (key, value) = line.split_at(at);
    let value = match value.split_at_checked(1)? {
        ("#", digits) => Value::Number(digits.parse().ok()?),
        (_, text) => Value::Text(text.into()),
    };
    Some((key.into(), value))
}

/// Unpacks spans; `None` if they are none.
#[must_use]
pub fn unpack(records: &[SpanRecord], text: &str) -> Option<Vec<Span>> {
    if records.len() > MOST || text.len() > MOST_BYTES {
        return None;
    }
    let mut rest = text;
    let mut part = |bytes: u32| {
        let (part, behind) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
        rest = behind;
        Some(part)
    };
    let mut spans = Vec::with_capacity(records.len());
    for record in records {
        let name = part(record.name)?.to_string();
        let reason = part(record.reason)?.to_string();
        let lines = part(record.attributes)?.lines().take(MOST_ATTRIBUTES);
        spans.push(Span {
            trace: u128::from(record.traceHigh) << 64 | u128::from(record.traceLow),
            id: record.span,
            parent: record.parent,
            begin: record.begin,
            end: record.end,
            kind: record.kind,
            name,
            failure: record.failed.then_some(reason),
            attributes: lines.map(attribute).collect::<Option<_>>()?,
        });
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn span() -> Span {
        Span {
            trace: 7 << 64 | 9,
            id: 3,
            parent: 2,
            begin: 5,
            end: 6,
            kind: SpanKind::Internal,
            name: "run".into(),
            failure: Some("trap: no=t # so".into()),
            attributes: vec![
                ("process.pid".into(), Value::Number(-17)),
                ("url.path".into(), Value::Text("/a=b#c".into())),
            ],
        }
    }

    #[test]
    fn spans_come_as_they_were_sent() {
        let plain = Span {
            failure: None,
            attributes: Vec::new(),
            ..span()
        };
        let spans = [span(), plain, span()];
        let (records, text) = pack(&spans);
        assert_eq!(unpack(&records, &text).as_deref(), Some(&spans[..]));
    }

    #[test]
    fn a_clients_text_is_one_line_and_is_cut() {
        let mut long = span();
        long.attributes = vec![("url.path".into(), Value::Text("a\nb#9\u{e4}".repeat(100)))];
        let (records, text) = pack(&[long]);
        let spans = unpack(&records, &text).unwrap_or_default();
        assert_eq!(spans[0].attributes.len(), 1);
        let Value::Text(text) = &spans[0].attributes[0].1 else {
            panic!("{spans:?}");
        };
        assert_eq!(text.chars().count(), MOST_TEXT);
        assert!(text.starts_with("a?b#9\u{e4}a?b"));
    }

    #[test]
    fn records_that_are_none_are_refused() {
        let (records, text) = pack(&[span()]);
        let wrong = |change: fn(&mut SpanRecord)| {
            let mut record = records[0];
            change(&mut record);
            unpack(&[record], &text)
        };
        assert_eq!(wrong(|r| r.name = u32::MAX), None);
        assert_eq!(wrong(|r| r.attributes += 1), None);
        assert_eq!(wrong(|r| r.attributes -= 2), wrong(|r| r.attributes -= 2));
        assert_eq!(unpack(&vec![records[0]; MOST + 1], &text), None);
        // Within a character, and a line without a value.
        let mut record = records[0];
        (record.name, record.reason, record.attributes) = (1, 0, 0);
        assert_eq!(unpack(&[record], "\u{e4}"), None);
        (record.name, record.attributes) = (0, 1);
        assert_eq!(unpack(&[record], "a"), None);
        record.attributes = 4;
        assert_eq!(unpack(&[record], "a#1x"), None);
    }

    proptest! {
        #[test]
        fn no_records_make_it_panic(name: u32, reason in 0u32..9, lines in 0u32..9, text: String) {
            let mut record = pack(&[span()]).0[0];
            (record.name, record.reason, record.attributes) = (name % 16, reason, lines);
            let _ = unpack(&[record, record], &text);
        }
    }
}
