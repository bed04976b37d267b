//! Text out and bytes in: the debug log, and standard input and output over pipes.

use crate::sys;
use core::fmt;

/// The system's debug log, line by line.
///
/// Lines longer than the buffer are cut into several.
#[derive(Debug)]
pub struct DebugLog {
    line: [u8; 256],
    used: usize,
}

impl DebugLog {
    /// A writer to the log.
    #[must_use]
    pub const fn new() -> DebugLog {
        DebugLog { line: [0; 256], used: 0 }
    }

    /// Prints what has been written since the last line end.
    pub fn flush(&mut self) {
        if self.used > 0 {
            // SAFETY: the first `used` bytes of `line` are readable.
            unsafe { sys::debug_print(self.line.as_ptr(), self.used) };
            self.used = 0;
        }
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' || self.used == self.line.len() {
                self.flush();
            }
            if byte != b'\n' {
                self.line[self.used] = byte;
                self.used += 1;
            }
        }
    }
}

impl Default for DebugLog {
    fn default() -> Self {
        DebugLog::new()
    }
}

impl fmt::Write for DebugLog {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.write(s.as_bytes());
        Ok(())
    }
}

impl Drop for DebugLog {
    fn drop(&mut self) {
        self.flush();
    }
}
/// Prints to standard output.
#[macro_export]
macro_rules! print { ($($t:tt)*) => { $crate::io::_print(format_args!($($t)*)) }; }
/// Prints a line to standard output.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($t:tt)*) => { $crate::print!("{}\n", format_args!($($t)*)) };
}
/// Prints a line to standard error.
#[macro_export]
macro_rules! eprintln {
    ($($t:tt)*) => { $crate::println!($($t)*) };
}
#[doc(hidden)]
pub fn _print(args: fmt::Arguments<'_>) {
    let _ = fmt::write(&mut DebugLog::new(), args);
}
