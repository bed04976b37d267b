//! The console: standard input and output.

use crate::input::Input;
use crate::output::Output;
use crate::{signals, terminal};
use sing_kernel::console::ConsoleDevice;
use sing_kernel::output::Class;
use std::io;

/// Standard input, where it is the console's, standard output, and standard error for the log.
pub(crate) struct Console {
    input: Option<Input>,
    output: Output,
}

impl Console {
    /// Starts the threads that read and write, which will signal to the calling thread. `input`:
    /// whether standard input is the console's.
    pub(crate) fn new(input: bool) -> io::Result<Self> {
        let input = match input {
            true => Some(Input::new(signals::CONSOLE)?),
            false => None,
        };
        let output = Output::new(signals::OUTPUT)?;
        Ok(Self { input, output })
    }

    /// Watches for the first input.
    pub(crate) fn watch(&self) {
        if let Some(input) = &self.input {
            input.watch();
        }
    }

    /// Takes a line of the log; false where there is no room.
    pub(crate) fn log(&self, class: Class, line: &[u8]) -> bool {
        self.output.log(class, line)
    }
}

impl ConsoleDevice for Console {
    fn write(&self, bytes: &[u8]) -> usize {
        self.output.write(bytes)
    }

    fn unwritten(&self) -> usize {
        self.output.unwritten()
    }

    fn read(&self, out: &mut [u8]) -> Option<usize> {
        self.input.as_ref()?.read(out)
    }

    fn size(&self) -> Option<(u32, u32)> {
        terminal::size()
    }
}
