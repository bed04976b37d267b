//! Shared by the test programs that give a device to one hostile driver after the other: themselves,
//! with the name of an attempt as their argument.

use sing_sdk::device;
use sing_sdk::inspect;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};

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

    /// Makes an attempt, and compares its outcome and the kernel's counts.
    fn judge(&self, name: &str, wanted: Exit) -> Result<usize, Error> {
        let before = inspect::memory()?;
        for _ in 0..self.times {
            let exit = self.attempt(name)?;
            if exit != wanted {
                println!("{name}: {exit:?}, not {wanted:?}");
                return Ok(1);
            }
        }
        if device::info(self.device)?.is_none_or(|d| d.holder != 0 || d.broken) {
            println!("{name}: the device is not free");
            return Ok(1);
        }
        match inspect::difference(&before, &inspect::memory()?) {
            None => Ok(0),
            Some(difference) => {
                println!("{name}: {difference}");
                Ok(1)
            }
        }
    }

    fn attempt(&self, name: &str) -> Result<Exit, Error> {
        let child = Child::of(self.program).arg(self.program).arg(name);
        let child = child.create().map_err(|e| e.error())?;
        child.give_device(0, self.device)?;
        child.start()?;
        child.join()
    }
}
