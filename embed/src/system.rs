//! The system: started from the bytes of an image, ended when it is dropped.

use crate::directory::Directory;
use crate::{Error, Program};
use sing_calls::SERVING;
use sing_hosted::embed::{Image, Running};
use sing_hosted::{Config, Directories, GivenDirectories, Port};
use sing_image::system::SystemImage;
use std::sync::{Arc, Mutex, PoisonError};

/// How a system is started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The most bytes of memory that the system and its processes may have together; `None`: what
    /// Linux says is available.
    pub memory: Option<u64>,
    /// The most directories of the host that processes may have at a time, 64 at most; 16 if nothing is
    /// said. Each has an equal share of 640 descriptors for what a process has open there.
    pub directories: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory: None,
            directories: 16,
        }
    }
}

/// A system inside this program, on a thread of its own. There is one at a time in a process.
///
/// Dropping it ends all its processes and gives its memory, its thread and its signals back. Calls
/// that are under way on other threads then fail with [`Error::Ended`].
#[derive(Debug)]
pub struct System {
    running: Running,
    directories: Directories,
    /// The last line of the log that somebody has taken, for a reason.
    last: Mutex<String>,
}

impl System {
    /// Starts the system in `image`. Its bytes are copied.
    ///
    /// # Errors
    /// [`Error::Image`], or [`Error::Machine`] if there is a system in this process already.
    pub fn start(image: &Image<'_>) -> Result<System, Error> {
        System::with(image, &Options::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As [`System::start`].
    pub fn with(image: &Image<'_>, options: &Options) -> Result<System, Error> {
        // The kernel would find out later, and end the system for it.
        SystemImage::decode(image.bytes()).map_err(|e| Error::Image(e.to_string()))?;
        let config = Config {
            memory_limit: options.memory,
            ..Config::default()
        };
        let running = Running::start(image, config, sing_kernel::Options::default());
        Ok(System {
            running: running.map_err(Error::Machine)?,
            directories: Directories::new(options.directories.min(SERVING)),
            last: Mutex::default(),
        })
    }

    /// A program of the image, to be called.
    #[must_use]
    pub fn program(&self, name: &str) -> Program<'_> {
        Program::new(self, name)
    }

    /// Takes the lines that have come since the last call: the kernel's log, crash reports among
    /// it, and what programs write to the console. A thousand lines are kept.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        // Its lock may be had by a thread that is not here.
        if self.port().is_elsewhere() {
            return Vec::new();
        }
        let lines = self.running.log().take();
        if let Some(line) = lines.last() {
            line.clone_into(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
        }
        lines
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    pub(crate) fn port(&self) -> &Arc<Port> {
        self.running.port()
    }

    /// Has directories served for a process.
    pub(crate) fn give(&self, directories: &[Directory]) -> Result<GivenDirectories, Error> {
        let port = self.port();
        if !directories.is_empty() && (port.is_elsewhere() || port.status().is_some()) {
            return Err(self.ended());
        }
        let all = directories.iter().map(|directory| &directory.0);
        let given = self.directories.give(all, port);
        given.map_err(|error| Error::Directory {
            path: error.path().into(),
            reason: error.reason(),
        })
    }

    /// The system has ended.
    pub(crate) fn ended(&self) -> Error {
        if self.port().is_elsewhere() {
            let text = "it is in the process of which this one is a fork";
            return Error::Ended(0, text.into());
        }
        let status = self.port().status().unwrap_or_default();
        let _ = self.log();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Error::Ended(status, last.clone())
    }
}
