//! Requests with conditions (RFC 9110, 13) and for a part (RFC 9110, 14):
//! what is answered instead of the whole.

use crate::date;
use crate::head::Head;

/// What distinguishes one state of a file from others.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Its tag, with quotes.
    pub tag: &'a str,
    /// When its content was changed, in seconds since 1970.
    pub modified: u64,
    /// Its size.
    pub bytes: u64,
    /// The time of the request, in seconds since 1970.
    pub now: u64,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 200 and everything.
    Whole,
    /// 206 and the bytes from the first to the last number.
    Part(u64, u64),
    /// 304: the client has it.
    Unchanged,
    /// 412: it is not what the client thinks.
    Failed,
    /// 416: there are no such bytes.
    Nowhere,
}

/// What a request for a file is answered.
#[must_use]
pub fn answer(head: &Head, state: State<'_>) -> Answer {
    let date = |name| date::read(head.only(name)?, state.now);
    if let Some(tags) = head.list("if-match") {
        if !any_tag(&tags, state.tag, false) {
            return Answer::Failed;
        }
    } else if let Some(since) = date("if-unmodified-since")
        && state.modified > since
    {
        return Answer::Failed;
    }
    if let Some(tags) = head.list("if-none-match") {
        if any_tag(&tags, state.tag, true) {
            return Answer::Unchanged;
        }
    } else if let Some(since) = date("if-modified-since")
        && state.modified <= since
    {
        return Answer::Unchanged;
    }
    match head.only("range").filter(|_| head.method == "GET") {
        Some(range) if is_of(head, state) => part(range, state.bytes),
        _ => Answer::Whole,
    }
}

/// Whether the state that the client has a part of is this one.
fn is_of(head: &Head, state: State<'_>) -> bool {
    match head.only("if-range") {
        None => head.list("if-range").is_none(),
        Some(tag) if tag.starts_with('"') => tag == state.tag,
        Some(text) => date::read(text, state.now) == Some(state.modified),
    }
}

/// Whether a list of tags has this one. A weak tag is equal to it only where `weak` will do.
fn any_tag(tags: &str, tag: &str, weak: bool) -> bool {
    let same = |text: &str| match text.strip_prefix("W/") {
        Some(text) => weak && text == tag,
        None => text == tag,
    };
    tags.trim() == "*" || tags.split(',').any(|text| same(text.trim()))
}

/// Whether the conditions of a request name this tag: the client has the file in this form, which is
/// the one to judge by then.
#[must_use]
pub fn name_tag(head: &Head, tag: &str) -> bool {
    let mut lists = ["if-match", "if-none-match"].into_iter();
    lists.any(|list| {
        head.list(list)
            .is_some_and(|tags| tags.trim() != "*" && any_tag(&tags, tag, true))
    })
}

/// The part that a `Range` asks for. One that cannot be understood, or is of several parts, is
/// passed over, as a server may.
fn part(range: &str, bytes: u64) -> Answer {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let spec = range.strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = spec.and_then(|spec| spec.split_once('-')) else {
        return Answer::Whole;
    };
    match (number(first), number(last)) {
        (None, Some(count)) if first.is_empty() => match count.min(bytes) {
            0 => Answer::Nowhere,
            count => Answer::Part(bytes - count, bytes - 1),
        },
        (Some(first), _) if first >= bytes && (last.is_empty() || number(last).is_some()) => {
            Answer::Nowhere
        }
        (Some(first), None) if last.is_empty() => Answer::Part(first, bytes - 1),
        (Some(first), Some(last)) if first <= last => Answer::Part(first, last.min(bytes - 1)),
        _ => Answer::Whole,
    }
}

/// Whether a client takes gzip (RFC 9110, 12.5.3).
#[must_use]
pub fn takes_gzip(head: &Head) -> bool {
    let Some(codings) = head.list("accept-encoding") else {
        return false;
    };
    let mut any = None;
    for coding in codings.split(',') {
        let mut words = coding.split(';').map(str::trim);
        let name = words.next().unwrap_or_default();
        let weight = words.find_map(|w| w.strip_prefix("q=").or(w.strip_prefix("Q=")));
        // 0, 0.0 and so on: not at all.
        let wanted = weight.is_none_or(|w| w.bytes().any(|b| (b'1'..=b'9').contains(&b)));
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return wanted;
        }
        if name == "*" {
            any = Some(wanted);
        }
    }
    any.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    const STATE: State<'static> = State {
        tag: "\"a-1\"",
        modified: 784_111_777,
        bytes: 1000,
        now: 1_669_248_000,
    };

    fn asked(headers: &str) -> Answer {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        match Head::read(text.as_bytes()) {
            Ok(head) => answer(&head, STATE),
            Err(fault) => panic!("{headers:?}: {fault}"),
        }
    }

    #[test]
    fn the_client_may_have_it() {
        for (headers, wanted) in [
            ("", Answer::Whole),
            ("If-None-Match: \"a-1\"\r\n", Answer::Unchanged),
            ("If-None-Match: \"b\", W/\"a-1\"\r\n", Answer::Unchanged),
            ("If-None-Match: *\r\n", Answer::Unchanged),
            // A list may be in several lines (RFC 9110, 5.3), a date not.
            (
                "If-None-Match: \"b\"\r\nIf-None-Match: \"a-1\"\r\n",
                Answer::Unchanged,
            ),
            ("If-Match: \"b\"\r\nIf-Match: \"a-1\"\r\n", Answer::Whole),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                 If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                Answer::Whole,
            ),
            (
                "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n",
                Answer::Unchanged,
            ),
            (
                "If-Modified-Since: Sun Nov  6 08:49:37 1994\r\n",
                Answer::Unchanged,
            ),
            ("Range: bytes=0-1\r\nRange: bytes=2-3\r\n", Answer::Whole),
            (
                "Range: bytes=0-1\r\nIf-Range: \"a-1\"\r\nIf-Range: \"a-1\"\r\n",
                Answer::Whole,
            ),
            ("If-None-Match: \"b\"\r\n", Answer::Whole),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                Answer::Unchanged,
            ),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n",
                Answer::Whole,
            ),
            ("If-Modified-Since: yesterday\r\n", Answer::Whole),
            (
                "If-None-Match: \"b\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                Answer::Whole,
            ),
            ("If-Match: \"b\"\r\n", Answer::Failed),
            ("If-Match: W/\"a-1\"\r\n", Answer::Failed),
            ("If-Match: \"a-1\"\r\n", Answer::Whole),
            (
                "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n",
                Answer::Failed,
            ),
        ] {
            assert_eq!(asked(headers), wanted, "{headers}");
        }
    }

    #[test]
    fn the_form_that_the_client_has_is_known() {
        for (headers, wanted) in [
            ("", false),
            ("If-None-Match: \"a-1\"\r\n", true),
            ("If-None-Match: \"b\", W/\"a-1\"\r\n", true),
            ("If-Match: \"a-1\"\r\n", true),
            ("If-Match: *\r\nIf-None-Match: *\r\n", false),
            ("If-None-Match: \"a-1-gzip\"\r\n", false),
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
            let head = Head::read(text.as_bytes());
            let named = head.map(|head| name_tag(&head, STATE.tag));
            assert_eq!(named, Ok(wanted), "{headers}");
        }
    }

    #[test]
    fn a_part_is_within_the_whole() {
        for (range, wanted) in [
            ("bytes=0-0", Answer::Part(0, 0)),
            ("bytes=10-19", Answer::Part(10, 19)),
            ("bytes=990-", Answer::Part(990, 999)),
            ("bytes=-10", Answer::Part(990, 999)),
            ("bytes=-5000", Answer::Part(0, 999)),
            ("bytes=5-5000", Answer::Part(5, 999)),
            ("bytes=5-99999999999999999999999", Answer::Part(5, 999)),
            ("bytes=1000-", Answer::Nowhere),
            ("bytes=99999999999999999999999-", Answer::Nowhere),
            ("bytes=-0", Answer::Nowhere),
            ("bytes=5-4", Answer::Whole),
            ("bytes=a-b", Answer::Whole),
            ("bytes=-", Answer::Whole),
            ("bytes=", Answer::Whole),
            ("bytes=0-1,5-6", Answer::Whole),
            ("lines=0-1", Answer::Whole),
        ] {
            assert_eq!(asked(&format!("Range: {range}\r\n")), wanted, "{range}");
        }
        let of = |tag: &str| asked(&format!("Range: bytes=0-1\r\nIf-Range: {tag}\r\n"));
        assert_eq!(of("\"a-1\""), Answer::Part(0, 1));
        assert_eq!(of("\"b\""), Answer::Whole);
        assert_eq!(of("W/\"a-1\""), Answer::Whole);
        assert_eq!(of("Sun, 06 Nov 1994 08:49:37 GMT"), Answer::Part(0, 1));
        assert_eq!(of("Sun, 06 Nov 1994 08:49:38 GMT"), Answer::Whole);
        assert_eq!(part("bytes=0-", 0), Answer::Nowhere);
        assert_eq!(part("bytes=-1", 0), Answer::Nowhere);
    }

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        for (codings, wanted) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("br, *", true),
            ("gzip;q=0", false),
            ("*;q=0.0, gzip", true),
            ("*, gzip;q=0", false),
            ("identity", false),
            ("", false),
            ("br\r\nAccept-Encoding: gzip", true),
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {codings}\r\n\r\n");
            let head = Head::read(text.as_bytes());
            assert_eq!(head.map(|head| takes_gzip(&head)), Ok(wanted), "{codings}");
        }
    }
}
