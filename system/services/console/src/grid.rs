//! The cells of a text screen, and what control sequences do with them.
//!
//! Invariants:
//! - There is at least one cell, and the cursor is on one.
//! - Whatever the arguments, an operation touches no cell twice, and moves no row twice; a scroll
//!   touches one row.

use crate::width;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// The most cells of a screen.
pub const MOST: usize = 16 << 10;

/// Colours, of the sixteen of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Of the character.
    pub foreground: u8,
    /// Behind it.
    pub background: u8,
}

/// Those that a terminal begins with: white on black.
pub const PLAIN: Colours = Colours {
    foreground: 7,
    background: 0,
};

/// A character on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The character.
    pub character: char,
    /// Its colours.
    pub colours: Colours,
}

impl Cell {
    fn blank(colours: Colours) -> Cell {
        Cell {
            character: ' ',
            colours,
        }
    }
}

/// The screen.
#[derive(Debug)]
pub struct Grid {
    rows: VecDeque<Vec<Cell>>,
    columns: usize,
    row: usize,
    column: usize,
    /// The last character went into the last column: the next one begins a row.
    full: bool,
}

impl Grid {
    /// A blank screen; `None` for one without cells or with more than [`MOST`].
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Option<Grid> {
        let cells = columns.checked_mul(rows)?;
        (1..=MOST).contains(&cells).then(|| Grid {
            rows: (0..rows).map(|_| blank_row(columns, PLAIN)).collect(),
            columns,
            row: 0,
            column: 0,
            full: false,
        })
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows.len())
    }

    /// The cursor's row and column.
    #[must_use]
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// All cells, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.rows.iter().flatten().copied()
    }

    /// The characters of a row, without blanks at its end.
    #[must_use]
    pub fn text(&self, row: usize) -> alloc::string::String {
        let cells = self.rows.get(row).into_iter().flatten();
        let text: alloc::string::String = cells.map(|c| c.character).collect();
        text.trim_end().into()
    }

    /// Puts a character at the cursor, which goes on.
    pub fn put(&mut self, character: char, colours: Colours) {
        let width = width::of(character);
        // A cell has one character: what combines with it is not shown.
        if width == 0 {
            return;
        }
        // One that takes two columns begins a row if only one is left.
        if self.full || width > 1 && self.columns > 1 && self.column + 1 == self.columns {
            self.column = 0;
            self.line_feed(colours);
        }
        self.set(character, colours);
        if width > 1 && !self.full {
            self.set(' ', colours);
        }
    }

    fn set(&mut self, character: char, colours: Colours) {
        self.rows[self.row][self.column] = Cell { character, colours };
        self.full = self.column + 1 == self.columns;
        self.column += usize::from(!self.full);
    }

    /// To the row below; from the last one, all rows go up.
    pub fn line_feed(&mut self, colours: Colours) {
        self.full = false;
        if self.row + 1 < self.rows.len() {
            self.row += 1;
        } else {
            self.remove_rows(0, 1, colours);
        }
    }

    /// To the row above; from the first one, all rows go down.
    pub fn reverse_line_feed(&mut self, colours: Colours) {
        self.full = false;
        match self.row.checked_sub(1) {
            Some(above) => self.row = above,
            None => self.insert_rows(0, 1, colours),
        }
    }

    /// To a place, or the nearest one on the screen.
    pub fn go_to(&mut self, row: usize, column: usize) {
        self.row = row.min(self.rows.len() - 1);
        self.column = column.min(self.columns - 1);
        self.full = false;
    }

    /// So many columns back.
    pub fn back(&mut self, by: usize) {
        self.go_to(self.row, self.column.saturating_sub(by));
    }

    /// To the next stop of the tabulator.
    pub fn tab(&mut self) {
        self.go_to(self.row, (self.column / 8 + 1) * 8);
    }

    /// Blanks cells from one to another, counted row by row; those that are not there are left out.
    pub fn erase(&mut self, cells: Range<usize>, colours: Colours) {
        let end = cells.end.min(self.columns * self.rows.len());
        for at in cells.start..end {
            self.rows[at / self.columns][at % self.columns] = Cell::blank(colours);
        }
        self.full = false;
    }

    /// The cursor's cell, and the first one of its row, counted row by row.
    #[must_use]
    pub fn here(&self) -> (usize, usize) {
        let row = self.row * self.columns;
        (row + self.column, row)
    }

    /// Inserts blanks at the cursor; what they push over the end of the row is lost.
    pub fn insert(&mut self, count: usize, colours: Colours) {
        let rest = &mut self.rows[self.row][self.column..];
        let count = count.min(rest.len());
        rest.rotate_right(count);
        rest[..count].fill(Cell::blank(colours));
        self.full = false;
    }

    /// Removes cells from the cursor on; blanks follow at the end of the row.
    pub fn delete(&mut self, count: usize, colours: Colours) {
        let rest = &mut self.rows[self.row][self.column..];
        let count = count.min(rest.len());
        rest.rotate_left(count);
        let kept = rest.len() - count;
        rest[kept..].fill(Cell::blank(colours));
        self.full = false;
    }

    /// Inserts rows; what they push over the end of the screen is lost.
    pub fn insert_rows(&mut self, at: usize, count: usize, colours: Colours) {
        let count = count.min(self.rows.len().saturating_sub(at));
        // The ring turns for little where all rows move.
        match at {
            0 => self.rows.rotate_right(count),
            _ => self.from(at).rotate_right(count),
        }
        for row in self.rows.iter_mut().skip(at).take(count) {
            row.fill(Cell::blank(colours));
        }
    }

    /// Removes rows; blank ones follow at the end of the screen.
    pub fn remove_rows(&mut self, at: usize, count: usize, colours: Colours) {
        let count = count.min(self.rows.len().saturating_sub(at));
        match at {
            0 => self.rows.rotate_left(count),
            _ => self.from(at).rotate_left(count),
        }
        for row in self.rows.iter_mut().rev().take(count) {
            row.fill(Cell::blank(colours));
        }
    }

    /// The rows from one on; none if it is not there.
    fn from(&mut self, at: usize) -> &mut [Vec<Cell>] {
        let rows = self.rows.make_contiguous();
        rows.get_mut(at..).unwrap_or_default()
    }
}

fn blank_row(columns: usize, colours: Colours) -> Vec<Cell> {
    alloc::vec![Cell::blank(colours); columns]
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// A screen of two columns with a letter in each row, after a scroll.
    fn letters() -> Grid {
        let mut grid = Grid::new(2, 6).unwrap();
        for letter in "xabcdef".chars() {
            grid.put(letter, PLAIN);
            grid.line_feed(PLAIN);
            grid.go_to(grid.cursor().0, 0);
        }
        grid.remove_rows(5, 1, PLAIN);
        grid.insert_rows(0, 1, PLAIN);
        grid
    }

    fn text(grid: &Grid) -> String {
        let row = |row| grid.text(row).chars().next().unwrap_or('.');
        (0..grid.size().1).map(row).collect()
    }

    #[test]
    fn wide_characters_take_two_cells() {
        let mut grid = Grid::new(3, 2).unwrap();
        for c in "a日本e\u{301}".chars() {
            grid.put(c, PLAIN);
        }
        let text = |row| grid.text(row);
        assert_eq!((text(0).trim_end(), text(1).trim_end()), ("a日", "本 e"));
        let mut narrow = Grid::new(1, 2).unwrap();
        "日本語".chars().for_each(|c| narrow.put(c, PLAIN));
        assert_eq!(narrow.text(0).trim_end(), "本");
    }

    #[test]
    fn rows_are_inserted_and_removed_anywhere() {
        assert_eq!(text(&letters()), ".bcdef");
        for (at, count, inserted, removed) in [
            (0, 1, "..bcde", "bcdef."),
            (0, 6, "......", "......"),
            (2, 2, ".b..cd", ".bef.."),
            (5, 1, ".bcde.", ".bcde."),
            (5, usize::MAX, ".bcde.", ".bcde."),
            (1, usize::MAX, "......", "......"),
            (3, 0, ".bcdef", ".bcdef"),
            (6, 1, ".bcdef", ".bcdef"),
            (usize::MAX, usize::MAX, ".bcdef", ".bcdef"),
        ] {
            let mut grid = letters();
            grid.insert_rows(at, count, PLAIN);
            assert_eq!(text(&grid), inserted, "{count} at {at}");
            let mut grid = letters();
            grid.remove_rows(at, count, PLAIN);
            assert_eq!(text(&grid), removed, "{count} at {at}");
        }
    }
}
