//! `wasi:cli`: words, environment and the standard streams, which have the descriptors 0, 1 and 2.

use super::io::To;
use super::resources::Resource;
use super::{Component, Outcome, Room};
use crate::abi::filetype;
use alloc::vec::Vec;

impl<H: Room> Component<H> {
    /// `get-arguments`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn arguments(&mut self, out: u32) -> Outcome {
        let words = core::mem::take(&mut self.wasi.arguments);
        let list = self.list(&words, 8, |component, at, word| {
            let word = component.place(word)?;
            component.put(at, &word)
        });
        self.wasi.arguments = words;
        self.put(out, &list?)
    }

    /// `get-environment`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn environment(&mut self, out: u32) -> Outcome {
        let all = core::mem::take(&mut self.wasi.environment);
        let list = self.list(&all, 16, |component, at, variable: &Vec<u8>| {
            let sign = variable.iter().position(|byte| *byte == b'=');
            let (name, value) = variable.split_at(sign.unwrap_or(variable.len()));
            let name = component.place(name)?;
            let value = component.place(value.get(1..).unwrap_or_default())?;
            component.put(at, &name)?;
            component.put_at(at, 8, &value)
        });
        self.wasi.environment = all;
        self.put(out, &list?)
    }

    /// `initial-cwd`: there is none.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn directory(&mut self, out: u32) -> Outcome {
        self.option_text(out, None)
    }

    /// `get-stdin`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn stdin(&mut self) -> Outcome<u32> {
        self.add_input(0, None)
    }

    /// `get-stdout` and `get-stderr`, by their descriptors.
    ///
    /// # Errors
    /// For too many resources.
    pub fn stdout(&mut self, fd: u32) -> Outcome<u32> {
        self.add_output(fd, To::Pipe)
    }

    /// `get-terminal-stdin`, and those of the others, by their descriptors.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn terminal(&mut self, fd: u32, out: u32) -> Outcome {
        let stream = self.wasi.table.look(fd);
        if stream.is_ok_and(|stream| stream.filetype == filetype::CHARACTER_DEVICE) {
            let terminal = self.table.add(Resource::Terminal)?;
            self.put(out, &[1])?;
            return self.put_at(out, 4, &terminal.to_le_bytes());
        }
        self.put(out, &[0])
    }
}
