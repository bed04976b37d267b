//! A keyboard and a text screen, with somebody who types and reads: on an emulated PC by the
//! emulator's monitor, at the hosted machine by the socket of its display.

use anyhow::{Result, bail};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// The light of a keyboard that says that Num Lock is on.
const NUM: u8 = 2;

/// What has been seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The screen's rows, without blanks at their ends.
    pub rows: Vec<String>,
    /// The keyboard's lights, where they can be seen.
    pub lights: Option<u8>,
}

impl Seen {
    /// The rows that are not empty.
    pub fn text(&self) -> String {
        let rows = self.rows.iter().filter(|row| !row.is_empty());
        rows.cloned().collect::<Vec<_>>().join("\n")
    }

    /// Whether nothing says that the keyboard has no driver.
    pub fn listens(&self) -> bool {
        self.lights.is_none_or(|lights| lights & NUM != 0)
    }
}

/// The rows of a text memory: pairs of a character and its colours.
pub fn rows(cells: &[u8], columns: usize) -> Vec<String> {
    let row = |cells: &[u8]| {
        let text: String = cells.iter().step_by(2).map(|&c| char::from(c)).collect();
        text.trim_end().to_string()
    };
    cells.chunks(columns * 2).map(row).collect()
}

/// A keyboard and a screen.
pub trait Desk {
    /// Presses keys together, by QEMU's names.
    fn press(&mut self, keys: &[&str]) -> Result<()>;

    /// Looks at the screen.
    fn look(&mut self) -> Result<Seen>;

    /// Types text.
    fn write(&mut self, text: &str) -> Result<()> {
        for c in text.chars() {
            match c {
                ' ' => self.press(&["spc"])?,
                '\n' => self.press(&["ret"])?,
                '\t' => self.press(&["tab"])?,
                '-' => self.press(&["minus"])?,
                ';' => self.press(&["semicolon"])?,
                'a'..='z' | '0'..='9' => self.press(&[&c.to_string()])?,
                'A'..='Z' => self.press(&["shift", &c.to_lowercase().to_string()])?,
                _ => bail!("no key is known for {c:?}"),
            }
        }
        Ok(())
    }

    /// Looks until all is as it should be.
    fn wait(
        &mut self,
        what: &str,
        deadline: Instant,
        is: &dyn Fn(&Seen) -> bool,
    ) -> Result<(), String> {
        loop {
            let seen = self.look().map_err(|e| format!("{what}: {e:#}"))?;
            if is(&seen) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let (text, lights) = (seen.text(), seen.lights);
                return Err(format!(
                    "{what}: lights {lights:?}, the screen shows\n{text}"
                ));
            }
            sleep(PAUSE);
        }
    }
}
