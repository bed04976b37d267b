//! A terminal: converts the bytes that programs and the editor print to the cells of a screen.
//!
//! It understands what ECMA-48 and the VT102 have in common with each other and programs use:
//! cursor movement, erasing, inserting, deleting, colours. Other sequences have no effect.
//!
//! Invariant: any bytes are accepted, and none makes it keep more than its cells.

use crate::grid::{Cell, Colours, Grid, PLAIN};
use core::fmt;
use vte::{Params, Parser, Perform};

/// A terminal with its screen.
pub struct Emulator {
    parser: Parser,
    state: State,
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    grid: Grid,
    colours: Colours,
    reversed: bool,
    bold: bool,
    cursor: bool,
    saved: (usize, usize),
}

impl Emulator {
    /// A terminal of this size; `None` if it would have no cells, or too many.
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Option<Emulator> {
        Some(Emulator {
            parser: Parser::new(),
            state: State {
                grid: Grid::new(columns, rows)?,
                colours: PLAIN,
                reversed: false,
                bold: false,
                cursor: true,
                saved: (0, 0),
            },
        })
    }

    /// Takes output.
    pub fn print(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.state, bytes);
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.state.grid.size()
    }

    /// All cells, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.state.grid.cells()
    }

    /// The cursor's cell, counted row by row; `None` if it is hidden.
    #[must_use]
    pub fn cursor(&self) -> Option<usize> {
        self.state.cursor.then(|| self.state.grid.here().0)
    }
}

impl State {
    /// The colours of what is printed now.
    fn ink(&self) -> Colours {
        let bright = |colour: u8| if self.bold { colour | 8 } else { colour };
        let Colours {
            foreground,
            background,
        } = self.colours;
        let (foreground, background) = match self.reversed {
            false => (bright(foreground), background),
            true => (background, foreground),
        };
        Colours {
            foreground,
            background,
        }
    }

    /// The colours of blanks.
    fn paper(&self) -> Colours {
        Colours {
            foreground: PLAIN.foreground,
            background: self.colours.background,
        }
    }

    /// Chooses colours and ways to show characters.
    fn render(&mut self, params: &Params) {
        let mut all = params.iter().map(|p| p.first().copied().unwrap_or(0));
        while let Some(what) = all.next() {
            match what {
                0 => (self.colours, self.reversed, self.bold) = (PLAIN, false, false),
                1 => self.bold = true,
                2 | 22 => self.bold = false,
                7 => self.reversed = true,
                27 => self.reversed = false,
                30..=37 => self.colours.foreground = (what - 30) as u8,
                39 => self.colours.foreground = PLAIN.foreground,
                40..=47 => self.colours.background = (what - 40) as u8,
                49 => self.colours.background = PLAIN.background,
                90..=97 => self.colours.foreground = (what - 82) as u8,
                100..=107 => self.colours.background = (what - 92) as u8,
                // Of 256 colours, the first sixteen are here; others, and mixed ones, are not.
                38 | 48 => match all.next() {
                    Some(5) => {
                        if let Some(colour @ 0..=15) = all.next() {
                            let place = match what {
                                38 => &mut self.colours.foreground,
                                _ => &mut self.colours.background,
                            };
                            *place = colour as u8;
                        }
                    }
                    Some(2) => drop(all.nth(2)),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

impl Perform for State {
    fn print(&mut self, c: char) {
        let ink = self.ink();
        self.grid.put(c, ink);
    }

    fn execute(&mut self, byte: u8) {
        let paper = self.paper();
        match byte {
            0x08 => self.grid.back(1),
            b'\t' => self.grid.tab(),
            b'\n' | 0x0b | 0x0c => self.grid.line_feed(paper),
            b'\r' => self.grid.go_to(self.grid.cursor().0, 0),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, private: &[u8], ignore: bool, action: char) {
        if ignore {
            return;
        }
        let number = |at: usize| {
            let param = params.iter().nth(at).and_then(|p| p.first().copied());
            usize::from(param.unwrap_or(0))
        };
        // A count that is left out, or 0, is 1.
        let count = number(0).max(1);
        if private == b"?" {
            if matches!(action, 'h' | 'l') && number(0) == 25 {
                self.cursor = action == 'h';
            }
            return;
        }
        if !private.is_empty() {
            return;
        }
        let (row, column) = self.grid.cursor();
        let (columns, rows) = self.grid.size();
        let (here, start) = self.grid.here();
        let paper = self.paper();
        match action {
            'A' => self.grid.go_to(row.saturating_sub(count), column),
            'B' | 'e' => self.grid.go_to(row + count, column),
            'C' | 'a' => self.grid.go_to(row, column + count),
            'D' => self.grid.back(count),
            'E' => self.grid.go_to(row + count, 0),
            'F' => self.grid.go_to(row.saturating_sub(count), 0),
            'G' | '`' => self.grid.go_to(row, count - 1),
            'd' => self.grid.go_to(count - 1, column),
            'H' | 'f' => self.grid.go_to(count - 1, number(1).max(1) - 1),
            'J' => match number(0) {
                0 => self.grid.erase(here..columns * rows, paper),
                1 => self.grid.erase(0..here + 1, paper),
                _ => self.grid.erase(0..columns * rows, paper),
            },
            'K' => match number(0) {
                0 => self.grid.erase(here..start + columns, paper),
                1 => self.grid.erase(start..here + 1, paper),
                _ => self.grid.erase(start..start + columns, paper),
            },
            'X' => self
                .grid
                .erase(here..(here + count).min(start + columns), paper),
            '@' => self.grid.insert(count, paper),
            'P' => self.grid.delete(count, paper),
            'L' => self.grid.insert_rows(row, count, paper),
            'M' => self.grid.remove_rows(row, count, paper),
            'S' => self.grid.remove_rows(0, count, paper),
            'T' => self.grid.insert_rows(0, count, paper),
            'm' => self.render(params),
            's' => self.saved = (row, column),
            'u' => self.grid.go_to(self.saved.0, self.saved.1),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        if ignore || !intermediates.is_empty() {
            return;
        }
        let paper = self.paper();
        match byte {
            b'7' => self.saved = self.grid.cursor(),
            b'8' => self.grid.go_to(self.saved.0, self.saved.1),
            b'D' => self.grid.line_feed(paper),
            b'E' => {
                self.grid.line_feed(paper);
                self.grid.go_to(self.grid.cursor().0, 0);
            }
            b'M' => self.grid.reverse_line_feed(paper),
            b'c' => {
                (self.colours, self.reversed, self.bold) = (PLAIN, false, false);
                (self.cursor, self.saved) = (true, (0, 0));
                let (columns, rows) = self.grid.size();
                self.grid.erase(0..columns * rows, PLAIN);
                self.grid.go_to(0, 0);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Editor;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn shown(columns: usize, rows: usize, bytes: &[u8]) -> (Emulator, Vec<String>) {
        let mut terminal = Emulator::new(columns, rows).unwrap();
        // Sequences may come in pieces.
        bytes.chunks(1).for_each(|b| terminal.print(b));
        let text = (0..rows).map(|r| terminal.state.grid.text(r)).collect();
        (terminal, text)
    }

    #[test]
    fn rows_wrap_and_scroll() {
        let (terminal, text) = shown(4, 3, b"abcdef\r\ngh\r\nij");
        assert_eq!(text, ["ef", "gh", "ij"]);
        assert_eq!(terminal.cursor(), Some(2 * 4 + 2));
        // A full row alone does not scroll.
        assert_eq!(shown(4, 2, b"abcd\r\nefgh").1, ["abcd", "efgh"]);
    }

    #[test]
    fn the_cursor_moves_and_parts_are_erased() {
        assert_eq!(
            shown(8, 2, b"abcdef\r\x1b[2C\x1b[Kx\x1b[D\x1b[Dy").1[0],
            "ayx"
        );
        assert_eq!(
            shown(8, 2, b"one\x1b[2;3Htwo\x1b[1;1H\x1b[@!").1,
            ["!one", "  two"]
        );
        assert_eq!(
            shown(8, 2, b"abc\x1b[1;1H\x1b[P\x1b[2B\tz").1,
            ["bc", "       z"]
        );
        assert_eq!(shown(8, 3, b"a\r\nb\r\nc\x1b[1;1H\x1b[L").1, ["", "a", "b"]);
        assert_eq!(shown(8, 3, b"a\r\nb\r\nc\x1b[1;1H\x1b[M").1, ["b", "c", ""]);
        assert_eq!(shown(8, 2, b"abc\x1b[H\x1b[2J").1, ["", ""]);
        assert_eq!(shown(8, 2, b"a\x1b[?25l").0.cursor(), None);
    }

    #[test]
    fn colours_are_of_sixteen() {
        let (terminal, _) = shown(
            8,
            1,
            b"\x1b[1;31ma\x1b[44;7mb\x1b[0mc\x1b[38;5;10md\x1b[38;2;1;2;3me",
        );
        let colours: Vec<_> = terminal
            .cells()
            .take(5)
            .map(|c| (c.colours.foreground, c.colours.background))
            .collect();
        assert_eq!(colours, [(9, 0), (4, 1), (7, 0), (10, 0), (10, 0)]);
    }

    #[test]
    fn text_of_all_kinds_is_kept() {
        assert_eq!(
            shown(8, 1, "grün €\u{1f600}".as_bytes()).1[0],
            "grün €\u{1f600}"
        );
        let (terminal, _) = shown(8, 1, b"a\xff\xc3b");
        assert!(terminal.cells().any(|c| c.character == 'b'));
    }

    #[test]
    fn the_editor_stays_on_its_row() {
        let mut editor = Editor::new(20, true);
        let mut out = String::new();
        editor.begin("> ");
        editor.draw(&mut out);
        for byte in b"echo a line that is longer than the terminal\x1b[D\x1b[D\x1b[DX\x1b[A" {
            editor.feed(*byte, &mut out);
        }
        let (_, text) = shown(20, 3, out.as_bytes());
        assert_eq!(text[1..], ["", ""]);
        assert!(
            text[0].starts_with("> ") && text[0].contains('X'),
            "{text:?}"
        );
    }

    #[test]
    fn sequences_of_any_kind_leave_a_screen() {
        // All that a program can say in three bytes behind the beginning of a sequence, and numbers
        // of any size.
        for (columns, rows) in [(1, 1), (3, 2)] {
            let mut terminal = Emulator::new(columns, rows).unwrap();
            for action in 0x20..0x7f_u8 {
                for number in [
                    "", "0", "1", "2", "65535", "99999999", "?25", "5;65535", ";;;;",
                ] {
                    terminal.print(b"\x1b[");
                    terminal.print(number.as_bytes());
                    terminal.print(&[action, b'x', 0x1b, action, b'y', b'\n', b'z']);
                    let (row, column) = terminal.state.grid.cursor();
                    assert!(row < rows && column < columns);
                    assert_eq!(terminal.cells().count(), columns * rows);
                }
            }
        }
        assert!(Emulator::new(0, 5).is_none() && Emulator::new(usize::MAX, 2).is_none());
    }
}
