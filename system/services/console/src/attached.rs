//! Keyboards and screens beside the kernel's console: found by name, used while their drivers are
//! there, and found again when those have been started again.
//!
//! Invariant: no driver holds up the console. It sends to a driver only what the driver has
//! answered for, and receives only what has come.

use crate::display::Display;
use crate::finder::{Finder, Seeker};
use crate::keyboard::Keyboard;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::contracts::NamespaceContract;
use sing_sdk::rt::{Endpoint, Handle};

const KEYBOARD: usize = 0;
const DISPLAY: usize = 1;

/// The names of both.
const PATHS: [&str; 2] = ["/dev/keyboard0", "/dev/screen0"];

/// What there is to wait for, in this order: the name server, changes of names, the keyboard, the
/// screen.
pub const HANDLES: usize = 4;

/// A keyboard and a screen, as far as they are there.
pub struct Attached {
    finder: Finder,
    seekers: [Seeker; 2],
    keyboard: Keyboard,
    display: Display,
}

impl Attached {
    /// To be found with this channel to the name server.
    pub fn new(names: Option<NamespaceContract::Imp<NamespaceContract::Start>>) -> Attached {
        Attached {
            finder: Finder::new(names),
            seekers: PATHS.map(Seeker::new),
            keyboard: Keyboard::None,
            display: Display::default(),
        }
    }

    /// To be found with the channel that a predecessor has left.
    pub fn take_over(&mut self, names: Endpoint) {
        self.finder.take_over(names);
    }

    /// Columns and rows of the screen, once there was one.
    pub fn size(&self) -> Option<(u32, u32)> {
        self.display.size()
    }

    /// Prints on the screen.
    pub fn print(&mut self, bytes: &[u8]) {
        self.display.print(bytes);
    }

    /// Asks for what is due; for keys if there is room for them.
    pub fn advance(&mut self, room: bool) {
        let Attached {
            finder,
            seekers,
            keyboard,
            display,
        } = self;
        finder.ask(seekers, |at| match at {
            KEYBOARD => keyboard.open(),
            _ => display.open(),
        });
        if room {
            self.keyboard.ask();
        }
        self.display.show();
    }

    /// When something is due next.
    pub fn due(&self) -> Option<Duration> {
        let asked = self.finder.due(&self.seekers);
        asked.into_iter().chain(self.display.due()).min()
    }

    /// What to wait for.
    pub fn handles(&self) -> [Handle; HANDLES] {
        let [names, changes] = self.finder.handles();
        // What is not bound yet speaks only when the name server has answered.
        [
            names,
            changes,
            self.keyboard.handle(),
            self.display.handle(),
        ]
    }

    /// Receives where there is something to receive; appends what was typed.
    pub fn hear(&mut self, ready: [bool; HANDLES], typed: &mut Vec<u8>) {
        let [names, changes, keyboard, display] = ready;
        if names {
            self.answered();
        }
        if changes {
            self.finder.hear_change(&mut self.seekers);
        }
        if keyboard {
            let works = self.keyboard.hear(typed);
            self.judge(KEYBOARD, works);
        }
        if display {
            let works = self.display.hear();
            self.judge(DISPLAY, works);
        }
    }

    fn answered(&mut self) {
        if let Some(at) = self.finder.hear(&mut self.seekers) {
            self.lose(at);
        }
    }

    /// Asks again for what has gone.
    fn judge(&mut self, at: usize, works: bool) {
        if works {
            self.seekers[at].works();
        } else {
            self.lose(at);
            self.seekers[at].again();
        }
    }

    fn lose(&mut self, at: usize) {
        match at {
            KEYBOARD => self.keyboard = Keyboard::None,
            _ => self.display.lose(),
        }
    }
}
