//! The console: standard input and output.

use crate::embed::Log;
use crate::input::Input;
use crate::output::Output;
use crate::{signals, terminal};
use sing_kernel::console::ConsoleDevice;
use sing_kernel::output::Class;
use std::io;
use std::sync::Arc;

/// Standard input, where it is the console's, standard output, and standard error for the log; or,
/// in an embedded system, a log that the program can read.
pub(crate) struct Console {
    input: Option<Input>,
    output: Sink,
}

enum Sink {
    Standard(Output),
    Log(Arc<Log>),
}

impl Console {
    /// Starts the threads that read and write, which will signal to the calling thread. `input`:
    /// whether standard input is the console's; `streams`: whether the output is two streams, of
    /// one program, to which a terminal gives lines.
    pub(crate) fn new(input: bool, streams: bool) -> io::Result<Self> {
        if input && !streams {
            terminal::enter();
        }
        let input = match input {
            true => Some(Input::new(signals::CONSOLE, streams)?),
            false => None,
        };
        let output = Sink::Standard(Output::new(signals::OUTPUT, streams)?);
        Ok(Self { input, output })
    }

    /// The console of an embedded system, which touches no standard stream.
    pub(crate) fn embedded(log: Arc<Log>) -> Self {
        Self {
            input: None,
            output: Sink::Log(log),
        }
    }

    /// Watches for the first input.
    pub(crate) fn watch(&self) {
        if let Some(input) = &self.input {
            input.watch();
        }
    }

    /// Takes a line of the log; false where there is no room.
    pub(crate) fn log(&self, class: Class, line: &[u8]) -> bool {
        match &self.output {
            Sink::Standard(output) => output.log(class, line),
            Sink::Log(log) => {
                log.line(line);
                true
            }
        }
    }
}

impl ConsoleDevice for Console {
    fn write(&self, bytes: &[u8]) -> usize {
        match &self.output {
            Sink::Standard(output) => output.write(bytes),
            Sink::Log(log) => {
                log.text(bytes);
                bytes.len()
            }
        }
    }

    fn unwritten(&self) -> usize {
        match &self.output {
            Sink::Standard(output) => output.unwritten(),
            Sink::Log(_) => 0,
        }
    }

    fn read(&self, out: &mut [u8]) -> Option<usize> {
        match self.input.as_ref()?.read(out) {
            Ok(read) => read,
            Err(error) => {
                let error = io::Error::from(error);
                let line = format!("standard input cannot be read, and ends here: {error}");
                self.log(Class::Kernel, line.as_bytes());
                None
            }
        }
    }

    fn size(&self) -> Option<(u32, u32)> {
        match &self.output {
            Sink::Standard(_) => terminal::size(),
            Sink::Log(_) => None,
        }
    }
}
