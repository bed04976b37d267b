//! The size of the terminal, which may change, and of the screen beside it.

use crate::server::{FOR_SHELL, Server};
use alloc::string::String;

impl Server {
    /// Edits lines in the columns that there are.
    pub(crate) fn set_columns(&mut self) {
        if let Some((columns, _)) = self.smallest() {
            for editor in &mut self.editors {
                editor.set_columns(columns as usize);
            }
        }
    }

    /// Looks whether the terminal has another size now; a line that is being typed is shown anew.
    pub(crate) fn measure(&mut self, reading: bool) {
        let size = self.size.and_then(|_| sing_sdk::console::size());
        if size.is_none() || size == self.size {
            return;
        }
        self.size = size;
        self.set_columns();
        if reading {
            let mut text = String::new();
            self.editors[FOR_SHELL].draw(&mut text);
            self.screen.edited(&text);
        }
    }

    /// The columns of the terminal; 0 if there is none.
    pub(crate) fn columns(&self) -> u32 {
        self.smallest().map_or(0, |(columns, _)| columns)
    }

    /// Columns and rows that all terminals have.
    pub(crate) fn smallest(&self) -> Option<(u32, u32)> {
        let (columns, rows) = self.size?;
        let other = self.attached.size().unwrap_or((columns, rows));
        Some((columns.min(other.0), rows.min(other.1)))
    }
}
