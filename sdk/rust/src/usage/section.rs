//! The declarations as JSON text, for the module's section `singularity.parameters`
//! ([`sing_image::parameters`]).
//!
//! The text is made while the program is compiled: kinds are constants of types, which a macro
//! cannot see. So everything here is `const`, and counts before it writes.

use super::{Argument, Count, Kind};

/// A text that is written, or only counted where it does not fit.
struct Out<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl Out<'_> {
    const fn byte(&mut self, byte: u8) {
        if self.used < self.bytes.len() {
            self.bytes[self.used] = byte;
        }
        self.used += 1;
    }

    const fn raw(&mut self, text: &str) {
        let mut i = 0;
        while i < text.len() {
            self.byte(text.as_bytes()[i]);
            i += 1;
        }
    }

    /// A text in quotes.
    const fn quoted(&mut self, text: &str) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.byte(b'"');
        let mut i = 0;
        while i < text.len() {
            match text.as_bytes()[i] {
                byte @ (b'"' | b'\\') => {
                    self.byte(b'\\');
                    self.byte(byte);
                }
                byte @ 0..0x20 => {
                    self.raw("\\u00");
                    self.byte(HEX[(byte >> 4) as usize]);
                    self.byte(HEX[(byte & 15) as usize]);
                }
                byte => self.byte(byte),
            }
            i += 1;
        }
        self.byte(b'"');
    }

    const fn number(&mut self, value: u64) {
        if value >= 10 {
            self.number(value / 10);
        }
        self.byte(b'0' + (value % 10) as u8);
    }

    const fn bounds(&mut self, name: &str, least: i64, most: u64) {
        self.raw("{\"");
        self.raw(name);
        self.raw("\":{\"least\":");
        if least < 0 {
            self.byte(b'-');
        }
        self.number(least.unsigned_abs());
        self.raw(",\"most\":");
        self.number(most);
        self.raw("}}");
    }

    const fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Text => self.raw("\"text\""),
            Kind::Path => self.raw("\"path\""),
            Kind::Pattern => self.raw("\"pattern\""),
            Kind::Program => self.raw("\"program\""),
            Kind::Process => self.raw("\"process\""),
            Kind::Service => self.raw("\"service\""),
            Kind::Number => self.raw("\"number\""),
            Kind::Seconds => self.raw("\"seconds\""),
            Kind::Whole { least, most } => self.bounds("whole", *least, *most),
            Kind::Range { least, most } => self.bounds("range", *least, *most),
            Kind::Other(text) => {
                self.raw("{\"other\":");
                self.quoted(text);
                self.byte(b'}');
            }
            Kind::Choice(words) => {
                self.raw("{\"choice\":[");
                let mut i = 0;
                while i < words.len() {
                    if i > 0 {
                        self.byte(b',');
                    }
                    self.quoted(words[i]);
                    i += 1;
                }
                self.raw("]}");
            }
        }
    }

    const fn argument(&mut self, argument: &Argument) {
        self.raw("{\"name\":");
        self.quoted(argument.name);
        self.raw(",\"count\":");
        self.raw(match argument.count {
            Count::Flag => "\"flag\"",
            Count::Valued => "\"valued\"",
            Count::One => "\"one\"",
            Count::Optional => "\"optional\"",
            Count::Many => "\"many\"",
            Count::Some => "\"some\"",
        });
        self.raw(",\"kind\":");
        self.kind(&argument.kind);
        if let Some(default) = argument.default {
            self.raw(",\"default\":");
            self.quoted(default);
        }
        self.raw(",\"help\":");
        // Documentation comments have a space behind their slashes.
        self.quoted(argument.help.trim_ascii());
        self.byte(b'}');
    }
}

const fn write(arguments: &[Argument], bytes: &mut [u8]) -> usize {
    let mut out = Out { bytes, used: 0 };
    out.byte(b'[');
    let mut i = 0;
    while i < arguments.len() {
        if i > 0 {
            out.byte(b',');
        }
        out.argument(&arguments[i]);
        i += 1;
    }
    out.byte(b']');
    out.used
}

/// The length of [`section`].
#[must_use]
pub const fn section_len(arguments: &[Argument]) -> usize {
    write(arguments, &mut [])
}

/// The text, for a generated section; `N` is [`section_len`].
#[must_use]
pub const fn section<const N: usize>(arguments: &[Argument]) -> [u8; N] {
    let mut bytes = [0; N];
    write(arguments, &mut bytes);
    bytes
}
