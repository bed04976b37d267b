//! What a VGA's text memory holds for a character in colours. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

/// The characters of the upper half of code page 437, which the firmware's font has.
const UPPER: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// A character and its colours, of the sixteen of a terminal.
#[must_use]
pub fn cell(character: char, foreground: u8, background: u8) -> u16 {
    u16::from(attribute(foreground, background)) << 8 | u16::from(code(character))
}

fn code(character: char) -> u8 {
    match character {
        ' '..='~' => character as u8,
        _ => match UPPER.chars().position(|c| c == character) {
            Some(at) => 0x80 + at as u8,
            None => b'?',
        },
    }
}

fn attribute(foreground: u8, background: u8) -> u8 {
    // Red and blue have changed places.
    let vga = |colour: u8| colour & 0b1010 | (colour & 1) << 2 | (colour & 4) >> 2;
    vga(background) << 4 | vga(foreground)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_the_font_are_shown_and_others_are_question_marks() {
        assert_eq!(UPPER.chars().count(), 128);
        let codes = "Aü~█\u{a0}"
            .chars()
            .map(code)
            .eq([b'A', 0x81, b'~', 0xdb, 0xff]);
        assert!(codes);
        for other in ['\0', '\u{1b}', '\u{7f}', '\u{20ac}', '\u{1f600}'] {
            assert_eq!(code(other), b'?');
        }
    }

    #[test]
    fn colours_are_those_of_a_terminal() {
        // White on black, red on blue, bright yellow on black; none of the sixteen is another.
        assert_eq!(cell('x', 7, 0) >> 8, 0x07);
        assert_eq!(cell('x', 1, 4) >> 8, 0x14);
        assert_eq!(cell('x', 11, 0) >> 8, 0x0e);
        assert_eq!(cell('x', 0xff, 0xff) >> 8, 0xff);
    }
}
