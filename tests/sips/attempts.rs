//! Shared by the test programs that give a device to one hostile driver after the other: themselves,
//! with the name of an attempt as their argument.

use core::time::Duration;
use sing_sdk::device;
use sing_sdk::inspect;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};
use sing_sdk::time;

/// How often what is left behind is looked at, and the pause between.
const ROUNDS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// What has come of an attempt.
enum Outcome {
    Good,
    Wrong,
    /// The kernel's counts are not as before.
    Left(String),
}

/// Where attempts are made.
pub struct Attempts {
    /// The program, and the device's number.
    pub program: &'static str,
    pub device: u32,
    /// How often each is made.
    pub times: u32,
}

impl Attempts {
    /// Makes them all: those that end the driver, with the trap's code, and those that come to
    /// nothing. How many went wrong, those before included.
    pub fn all(
        &self,
        before: usize,
        traps: &[(&str, i32)],
        refused: &[&str],
    ) -> Result<i32, Error> {
        let mut wrong = before;
        // What the first child of an image costs is there to stay.
        self.attempt("die")?;
        for (name, code) in traps {
            wrong += self.judge(name, Exit::Trapped(*code))?;
        }
        for name in refused {
            wrong += self.judge(name, Exit::Code(0))?;
        }
        println!("{} attempts, {wrong} wrong", traps.len() + refused.len());
        Ok(i32::from(wrong > 0))
    }

    /// Makes an attempt, and compares its outcome and the kernel's counts. What others have done
    /// meanwhile (the console, with the report of a crash) is not there the next time; what an
    /// attempt leaves behind is.
    fn judge(&self, name: &str, wanted: Exit) -> Result<usize, Error> {
        let mut left = None;
        for _ in 0..ROUNDS {
            left = match self.round(name, wanted)? {
                Outcome::Good => return Ok(0),
                Outcome::Wrong => return Ok(1),
                Outcome::Left(difference) => Some(difference),
            };
            time::sleep(PAUSE);
        }
        println!("{name}: {}", left.unwrap_or_default());
        Ok(1)
    }

    fn round(&self, name: &str, wanted: Exit) -> Result<Outcome, Error> {
        let before = inspect::memory()?;
        for _ in 0..self.times {
            let exit = self.attempt(name)?;
            if exit != wanted {
                println!("{name}: {exit:?}, not {wanted:?}");
                return Ok(Outcome::Wrong);
            }
        }
        if device::info(self.device)?.is_none_or(|d| d.holder != 0 || d.broken) {
            println!("{name}: the device is not free");
            return Ok(Outcome::Wrong);
        }
        let difference = inspect::difference(&before, &inspect::memory()?);
        Ok(difference.map_or(Outcome::Good, Outcome::Left))
    }

    fn attempt(&self, name: &str) -> Result<Exit, Error> {
        let child = Child::of(self.program).arg(self.program).arg(name);
        let child = child.create().map_err(|e| e.error())?;
        child.give_device(0, self.device)?;
        child.start()?;
        child.join()
    }
}
