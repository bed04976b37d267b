//! JSON and patterns.

use crate::{Random, Ready, mix};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Write as _;
use core::hint::black_box;

const WORDS: [&str; 24] = [
    "channel", "process", "kernel", "the", "a", "of", "sealed", "message", "contract", "memory",
    "and", "is", "verified", "owner", "heap", "block", "driver", "system", "to", "in", "page",
    "thread", "by", "image",
];

/// Prose of about this many bytes, with markup, addresses and numbers.
pub fn article(len: usize) -> String {
    let mut random = Random(424_242);
    let mut text = String::new();
    while text.len() < len {
        match random.below(40) {
            0 => text.push_str(".\n\n## "),
            1 => text.push_str(".\n\n* "),
            2 => drop(write!(text, "user{}@example.org ", random.below(1000))),
            3 => drop(write!(text, "**{}** ", random.below(100_000))),
            4 => text.push_str("[here](https://example.org/a?b=c&d) "),
            5 => text.push_str("`code < 7` "),
            n => {
                text.push_str(WORDS[(random.below(24)) as usize]);
                text.push_str(if n == 6 { ", " } else { " " });
            }
        }
    }
    text
}

pub fn json() -> Ready {
    let mut random = Random(987_654_321);
    let mut text = String::from("[");
    for i in 0..400 {
        let comma = if i > 0 { "," } else { "" };
        let word = WORDS[random.below(24) as usize];
        let _ = writeln!(
            text,
            "{comma}{{\"id\": {}, \"name\": \"{word}\\n{}\", \"tags\": [true, false, null, -12.5, \"{word}\"], \"at\": {{\"x\": {}.25, \"y\": 7}}}}",
            random.below(100_000),
            random.below(1 << 40),
            random.below(1000),
        );
    }
    text.push(']');
    Box::new(move || {
        let value: serde_json::Value = serde_json::from_str(black_box(&text)).unwrap_or_default();
        let again = serde_json::to_string(black_box(&value)).unwrap_or_default();
        let items = value.as_array().map_or(0, |items| items.len());
        mix(items as u64, again.len() as u64)
    })
}

pub fn regex() -> Ready {
    let text = article(192 << 10);
    let patterns = [
        r"(?-u)[a-z0-9]+@[a-z]+\.org",
        r"(?-u)\b(kernel|driver|owner) (of|the|is)\b",
        r"(?-u)[0-9]{4,}[^a-z]",
    ];
    let patterns = patterns.map(|pattern| regex::Regex::new(pattern).ok());
    Box::new(move || {
        let found = patterns.iter().flatten().map(|pattern| {
            let all = pattern.find_iter(black_box(&text));
            all.fold(0, |sum, found| mix(sum, found.start() as u64))
        });
        found.fold(0, mix)
    })
}
