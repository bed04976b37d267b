//! A screen, by its driver: it shows the newest contents whenever the driver has shown the last.
//!
//! Invariants:
//! - One message is under way at a time, and nothing waits for its answer but the next one.
//! - While there is no driver, the contents go on: a driver that comes back shows them as they are
//!   then. Before the first one says how large it is, the last [`BACKLOG`] bytes are kept.

use alloc::collections::VecDeque;
use console::emulator::Emulator;
use console::grid::{self, PLAIN};
use core::time::Duration;
use sing_sdk::contracts::{ScreenCell, ScreenContract, ServiceContract};
use sing_sdk::rt::{Handle, Vector, Waitable};
use sing_sdk::time::uptime;

/// The most bytes that are kept for a screen that has not come yet.
pub const BACKLOG: usize = 8 << 10;
/// The bytes that a screen's contents may take, with those of the blocks that are shown.
pub const KEPT: usize = grid::MOST * 16 + 2 * BACKLOG;
/// How long the contents are left as they are after they were shown: that much faster nobody sees.
const PAUSE: Duration = Duration::from_millis(15);

/// The most columns, and the most rows: what moves rows takes time with their number.
const WIDEST: u32 = 512;

const BLANK: ScreenCell = ScreenCell {
    character: ' ' as u32,
    foreground: PLAIN.foreground,
    background: PLAIN.background,
    reserved: 0,
};

/// The channel to a driver.
#[derive(Default)]
enum Driver {
    #[default]
    None,
    Starting(ScreenContract::Imp<ScreenContract::Start>),
    Sizing(ScreenContract::Imp<ScreenContract::Ready_GetSize>),
    Ready(ScreenContract::Imp<ScreenContract::Ready>),
    Showing(ScreenContract::Imp<ScreenContract::Ready_Show>),
}

/// A screen.
#[derive(Default)]
pub struct Display {
    driver: Driver,
    /// The block for the next contents.
    cells: Option<Vector<ScreenCell>>,
    terminal: Option<Emulator>,
    backlog: VecDeque<u8>,
    /// Something was printed after the last contents.
    changed: bool,
    /// When contents were sent last.
    shown: Duration,
}

impl Display {
    /// A new channel, and its other end for the driver.
    pub fn open(&mut self) -> Option<ServiceContract::Exp<ServiceContract::Start>> {
        let (imp, exp) = ScreenContract::new_channel().ok()?;
        self.driver = Driver::Starting(imp);
        Some(exp.into())
    }

    /// No driver any more.
    pub fn lose(&mut self) {
        self.driver = Driver::None;
    }

    /// What to wait for.
    pub fn handle(&self) -> Handle {
        match &self.driver {
            Driver::None => Handle::NONE,
            Driver::Starting(c) => c.handle(),
            Driver::Sizing(c) => c.handle(),
            Driver::Ready(c) => c.handle(),
            Driver::Showing(c) => c.handle(),
        }
    }

    /// Columns and rows, once a driver has said them.
    pub fn size(&self) -> Option<(u32, u32)> {
        let (columns, rows) = self.terminal.as_ref()?.size();
        Some((columns as u32, rows as u32))
    }

    /// Prints.
    pub fn print(&mut self, bytes: &[u8]) {
        self.changed = true;
        if let Some(terminal) = &mut self.terminal {
            terminal.print(bytes);
            return;
        }
        let kept = &bytes[bytes.len().saturating_sub(BACKLOG)..];
        let more = (self.backlog.len() + kept.len()).saturating_sub(BACKLOG);
        self.backlog.drain(..more);
        self.backlog.extend(kept);
    }

    /// When contents are to be shown, if they are.
    pub fn due(&self) -> Option<Duration> {
        let waits = self.changed && matches!(self.driver, Driver::Ready(_));
        waits.then(|| self.shown + PAUSE)
    }

    /// Shows the contents, if it is time to.
    pub fn show(&mut self) {
        let now = uptime();
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.shown = now;
        self.driver = match core::mem::take(&mut self.driver) {
            Driver::Ready(channel) => match self.contents() {
                Some((cells, cursor)) => {
                    self.changed = false;
                    Driver::Showing(channel.send_show(cells, cursor))
                }
                // Memory is short: later.
                None => Driver::Ready(channel),
            },
            other => other,
        };
    }

    fn contents(&mut self) -> Option<(Vector<ScreenCell>, u32)> {
        let terminal = self.terminal.as_ref()?;
        let (columns, rows) = terminal.size();
        // A driver may give back another one, or one of which it keeps a view: not to be written.
        let back = self.cells.take().map(Vector::into_block);
        let writable = back.and_then(|mut block| block.unshare().ok().map(|()| block));
        let mut block = match writable.map(Vector::<ScreenCell>::from_block) {
            Some(block) if block.len() == columns * rows => block,
            _ => Vector::new(columns * rows).ok()?,
        };
        let mut row = [BLANK; 64];
        let mut cells = terminal.cells().map(|cell| ScreenCell {
            character: cell.character.into(),
            foreground: cell.colours.foreground,
            background: cell.colours.background,
            reserved: 0,
        });
        let mut view = block.view_mut(..).ok()?;
        let mut at = 0;
        while at < columns * rows {
            let mut count = 0;
            for (to, cell) in row.iter_mut().zip(&mut cells) {
                (*to, count) = (cell, count + 1);
            }
            let (mut now, rest) = view.split_at(count)?;
            now.copy_from(&row[..count]).then_some(())?;
            (view, at) = (rest, at + count);
        }
        let cursor = terminal.cursor().map_or(u32::MAX, |cursor| cursor as u32);
        Some((block, cursor))
    }

    /// Receives, as there is something to receive. Returns whether the driver is still there.
    pub fn hear(&mut self) -> bool {
        self.driver = match core::mem::take(&mut self.driver) {
            Driver::Starting(c) => c
                .recv_success()
                .map_or(Driver::None, |c| Driver::Sizing(c.send_get_size())),
            Driver::Sizing(c) => match c.recv_size() {
                Ok((columns, rows, next)) if self.resize(columns, rows) => Driver::Ready(next),
                _ => Driver::None,
            },
            Driver::Showing(c) => match c.recv_shown() {
                Ok((cells, next)) => {
                    self.cells = Some(cells);
                    Driver::Ready(next)
                }
                Err(_) => Driver::None,
            },
            // It may not send in this state, so it has gone.
            Driver::Ready(_) | Driver::None => Driver::None,
        };
        !matches!(self.driver, Driver::None)
    }

    /// Whether a screen of this size can be used.
    fn resize(&mut self, columns: u32, rows: u32) -> bool {
        if columns.max(rows) > WIDEST {
            return false;
        }
        self.changed = true;
        if self.size() == Some((columns, rows)) {
            return true;
        }
        let Some(mut terminal) = Emulator::new(columns as usize, rows as usize) else {
            return false;
        };
        let (first, second) = self.backlog.as_slices();
        terminal.print(first);
        terminal.print(second);
        self.backlog = VecDeque::new();
        self.terminal = Some(terminal);
        true
    }
}
