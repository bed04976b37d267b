//! The tables of requests, `messages.txt` and `semantics.txt`: each with its name, what may be
//! answered by the section of an RFC above it, and the bytes that are sent.
//!
//! ```text
//! # RFC 9112, 5.2
//! a header that goes on in the next line | 200/400 | either
//!     {get}A: b¶ c¶¶
//! ```
//!
//! - The statuses of the answers, in order; those between which the RFC leaves the choice with `/`.
//! - Behind each case follows one more request. `on`: it is answered. `ends`: it is not, as the
//!   connection has ended. `either`: the RFC leaves it.
//! - `¶` is the end of a line, CR LF. `\r`, `\n`, `\t`, `\0` and `\xNN` are bytes. `{9*x}` is nine
//!   times `x`. `{wait}`: until the server says something, for a while. `{tag}`, `{date}`,
//!   `{date850}`, `{datec}`: of the file `/a.txt`; the two latter in the older forms of a date.
//!   `{get}`, `{post}` and `{chunks}` begin a request.
//! - `? text`: a header, its name in small letters, or the beginning of the content, of the first
//!   answer; `? 100`: that was said before it. `? !text`: the opposite.

use anyhow::{Context, Result, bail, ensure};
use std::time::Duration;

/// The beginnings of requests.
const BEGINNINGS: [(&str, &str); 3] = [
    ("{get}", "GET /a.txt HTTP/1.1¶Host: x¶"),
    ("{post}", "POST /try/count HTTP/1.1¶Host: x¶"),
    (
        "{chunks}",
        "POST /try/count HTTP/1.1¶Host: x¶Transfer-Encoding: chunked¶¶",
    ),
];

/// Whether the request behind a case is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is.
    On,
    /// It is not.
    Ends,
    /// It may be.
    Either,
}

/// What is known of the file `/a.txt`, from the server that is asked.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Its tag, with quotes.
    pub tag: String,
    /// When it was changed: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub date: String,
}

/// A request, or several.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it stands: `RFC 9112, 5.2`.
    pub section: String,
    pub name: String,
    /// The statuses that each answer may have.
    pub answers: Vec<Vec<u16>>,
    pub then: Then,
    sent: String,
    /// What the first answer has, or has not.
    pub words: Vec<(bool, String)>,
}

/// Reads a table.
pub fn read(text: &str) -> Result<Vec<Case>> {
    let (mut section, mut cases) = (String::new(), Vec::<Case>::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            section = comment.into();
        } else if let Some(more) = line.strip_prefix("    ") {
            let case = cases.last_mut().context("a request without a name")?;
            match more.strip_prefix("? ") {
                Some(word) => case.words.push(match word.strip_prefix('!') {
                    Some(word) => (false, word.into()),
                    None => (true, word.into()),
                }),
                None => case.sent.push_str(more),
            }
        } else {
            cases.push(named(&section, line).with_context(|| line.to_owned())?);
        }
    }
    for case in &cases {
        let whole = !case.sent.is_empty() && case.section.starts_with("RFC ");
        ensure!(whole, "{}: no request, or no section", case.name);
        case.pieces(&Facts::default())?;
    }
    Ok(cases)
}

fn named(section: &str, line: &str) -> Result<Case> {
    let mut parts = line.split(" | ");
    let (Some(name), Some(answers), Some(then), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        bail!("not NAME | ANSWERS | THEN");
    };
    let statuses = |text: &str| text.split('/').map(str::parse).collect();
    Ok(Case {
        section: section.into(),
        name: name.into(),
        answers: answers
            .split(", ")
            .map(statuses)
            .collect::<Result<_, _>>()?,
        then: match then {
            "on" => Then::On,
            "ends" => Then::Ends,
            "either" => Then::Either,
            _ => bail!("`{then}` is none of on, ends, either"),
        },
        sent: String::new(),
        words: Vec::new(),
    })
}

impl Case {
    /// The bytes that are sent, in pieces between which the client waits to be told something.
    pub fn pieces(&self, facts: &Facts) -> Result<Vec<Vec<u8>>> {
        let mut text = self.sent.clone();
        for (name, beginning) in BEGINNINGS {
            text = text.replace(name, beginning);
        }
        let [older, oldest] = older(&facts.date);
        for (name, value) in [
            ("{tag}", &facts.tag),
            ("{date}", &facts.date),
            ("{date850}", &older),
            ("{datec}", &oldest),
        ] {
            text = text.replace(name, value);
        }
        text.split("{wait}")
            .map(|piece| bytes(&repeated(piece)?))
            .collect()
    }

    /// The methods of the requests, which an answer is read by: of what is none, GET.
    pub fn methods(&self) -> Result<Vec<String>> {
        let bytes = self.pieces(&Facts::default())?.concat();
        let text = String::from_utf8_lossy(&bytes);
        let line = |line: &str| {
            let word = line.trim_start_matches(|c: char| !c.is_ascii_uppercase());
            let (method, rest) = word.split_once([' ', '\t'])?;
            let known = method.bytes().all(|b| b.is_ascii_uppercase());
            (known && rest.contains(" HTTP/")).then(|| method.to_owned())
        };
        let mut found: Vec<String> = text.split("\r\n").filter_map(line).collect();
        found.resize(self.answers.len().max(1), "GET".into());
        Ok(found)
    }

    /// Whether the client may be told that the body may come.
    pub fn expects(&self) -> bool {
        let sent = self.pieces(&Facts::default()).unwrap_or_default().concat();
        let small = String::from_utf8_lossy(&sent).to_ascii_lowercase();
        small.contains("expect: 100-continue") && small.contains(" http/1.1")
    }
}

/// A date in the two older forms (RFC 9110, 5.6.7).
fn older(date: &str) -> [String; 2] {
    let words: Vec<&str> = date.split([',', ' ']).filter(|w| !w.is_empty()).collect();
    let [name, day, month, year, time, _] = words[..] else {
        return Default::default();
    };
    let long = [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
    ];
    let long = long.iter().find(|long| long.starts_with(name));
    let (long, short) = (long.unwrap_or(&name), year.get(2..).unwrap_or(year));
    let padded = day.replacen('0', " ", usize::from(day.starts_with('0')));
    [
        format!("{long}, {day}-{month}-{short} {time} GMT"),
        format!("{name} {month} {padded} {time} {year}"),
    ]
}

/// With what is in braces as often as it says.
fn repeated(text: &str) -> Result<String> {
    let Some((before, rest)) = text.split_once('{') else {
        return Ok(text.into());
    };
    let (inner, behind) = rest.split_once('}').context("a brace without its end")?;
    let (count, what) = inner.split_once('*').context("braces without a number")?;
    let count: usize = count.parse().with_context(|| format!("{{{inner}}}"))?;
    Ok(format!(
        "{before}{}{}",
        what.repeat(count),
        repeated(behind)?
    ))
}

fn bytes(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '¶' => out.extend(b"\r\n"),
            '\\' => out.push(match chars.next() {
                Some('r') => b'\r',
                Some('n') => b'\n',
                Some('t') => b'\t',
                Some('0') => 0,
                Some('x') => {
                    let digits: String = chars.by_ref().take(2).collect();
                    u8::from_str_radix(&digits, 16).with_context(|| format!("\\x{digits}"))?
                }
                other => bail!("`\\{other:?}` is no byte"),
            }),
            c => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Ok(out)
}

/// How long the client waits to be told something.
pub const WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Case {
        read(&format!("# RFC 1, 2\n{text}")).unwrap().remove(0)
    }

    #[test]
    fn a_case_is_read() {
        let case = one(
            "a name | 200/400, 404 | either\n    {get}¶HEAD /\\x0a{3*é¶}{wait}{tag}\n    ? !a: b\n",
        );
        assert_eq!(case.section, "RFC 1, 2");
        assert_eq!(case.answers, [vec![200, 400], vec![404]]);
        assert_eq!(case.then, Then::Either);
        assert_eq!(case.words, [(false, "a: b".to_owned())]);
        let facts = Facts {
            tag: "\"t\"".into(),
            ..Facts::default()
        };
        let pieces = case.pieces(&facts).unwrap();
        let first = "GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\nHEAD /\né\r\né\r\né\r\n";
        assert_eq!(pieces, [first.as_bytes(), b"\"t\""]);
        for bad in [
            "a | 200\n    b",
            "a | x | on\n    b",
            "a | 200 | off\n    b",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        for bad in [
            "a | 200 | on\n",
            "a | 200 | on\n    {x*y}",
            "a | 200 | on\n    \\y",
        ] {
            assert!(read(&format!("# RFC 1\n{bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn methods_are_those_of_requests() {
        let of = |sent: &str| {
            one(&format!("a | 200, 200 | on\n    {sent}"))
                .methods()
                .unwrap()
        };
        assert_eq!(of("¶HEAD / HTTP/1.1¶¶GET / HTTP/1.1¶"), ["HEAD", "GET"]);
        assert_eq!(of("POST / HTTP/1.1¶¶abcdePUT / HTTP/1.1¶"), ["POST", "PUT"]);
        assert_eq!(of("nonsense¶¶"), ["GET", "GET"]);
    }

    #[test]
    fn dates_are_written_in_older_forms() {
        assert_eq!(
            older("Sun, 06 Nov 1994 08:49:37 GMT"),
            ["Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        );
        assert_eq!(
            older("Tue, 24 Nov 2026 08:49:37 GMT")[1],
            "Tue Nov 24 08:49:37 2026"
        );
    }

    #[test]
    fn the_tables_are_read() {
        let all = super::super::cases().unwrap();
        assert!(all.len() > 150, "{} cases", all.len());
        let mut names: Vec<_> = all.iter().map(|c| (&c.section, &c.name)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
