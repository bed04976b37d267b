//! Processes: making children, waiting for them, ending them. Needs the privilege `create`; only
//! [`exit`] and [`id`] do not.

use crate::args::with_buffer;
use crate::handle::Object;
use crate::rt::{Handle, Termination, Waitable};
use crate::time::{Timeout, waited};
use crate::{Error, error, sys};
use alloc::vec::Vec;
use core::fmt;
use sing_abi::trap::Trap;

pub use sing_image::manifest::{Manifest, Side, StartupEndpoint};

/// The caller's id.
#[must_use]
pub fn id() -> u32 {
    sys::self_id()
}

/// Ends the caller's SIP.
pub fn exit(code: i32) -> ! {
    sys::process_exit(code);
    unreachable!("the process has ended")
}

/// What an installed image declares of itself: above all, which endpoints it expects.
///
/// # Errors
/// [`Error::NotFound`] where no such image is installed.
pub fn manifest(image: &str) -> Result<Manifest, Error> {
    // SAFETY: `image` is readable and the buffer writable, each for its length.
    let fill = |b: &mut [u8]| unsafe {
        sys::image_manifest(image.as_ptr(), image.len(), b.as_mut_ptr(), b.len())
    };
    let bytes = with_buffer(1024, fill)?;
    postcard::from_bytes(&bytes).map_err(|_| Error::BadState)
}

/// A child in the making.
#[derive(Debug)]
pub struct Builder<'a> {
    image: &'a str,
    args: Vec<u8>,
    endpoints: Vec<Option<Object>>,
}

impl<'a> Builder<'a> {
    /// Adds an argument. The first is the program's name by custom.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args
            .extend_from_slice(&(arg.len() as u32).to_le_bytes());
        self.args.extend_from_slice(arg.as_bytes());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, |b, a| b.arg(a.as_ref()))
    }

    /// Gives the child its next endpoint, in the order of its manifest.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<Object>) -> Self {
        self.endpoints.push(Some(endpoint.into()));
        self
    }

    /// Leaves out an endpoint that the child's manifest calls optional.
    #[must_use]
    pub fn no_endpoint(mut self) -> Self {
        self.endpoints.push(None);
        self
    }

    /// Makes the child, which does not run yet.
    ///
    /// # Errors
    /// [`Error::NotFound`] where no such image is installed, [`Error::BadArgument`] where the endpoints are not
    /// those that its manifest asks for, [`Error::NoResources`] where memory is short.
    pub fn create(self) -> Result<Child, Error> {
        let raw: Vec<u32> = self
            .endpoints
            .iter()
            .map(|e| e.as_ref().map_or(0, Object::raw))
            .collect();
        // SAFETY: all three are readable for their lengths.
        let code = unsafe {
            sys::process_create(
                self.image.as_ptr(),
                self.image.len(),
                self.args.as_ptr(),
                self.args.len(),
                raw.as_ptr(),
                raw.len(),
            )
        };
        let object = Object::from_status(code)?;
        // They are the child's now.
        for endpoint in self.endpoints.into_iter().flatten() {
            endpoint.into_raw();
        }
        Ok(Child { object })
    }

    /// Makes the child and lets it run.
    ///
    /// # Errors
    /// As [`Builder::create`].
    pub fn start(self) -> Result<Child, Error> {
        let child = self.create()?;
        child.start()?;
        Ok(child)
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// Another stopped it, with this code.
    Stopped(i32),
    /// Its code trapped.
    Trapped(i32),
}

impl Exit {
    /// The status that a shell gives it: the exit code, the stopper's code, or 128 and the trap's code.
    #[must_use]
    pub fn status(self) -> i32 {
        match self {
            Exit::Code(code) | Exit::Stopped(code) => code,
            Exit::Trapped(code) => 128 + code,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "exit {code}"),
            Exit::Stopped(code) => write!(f, "stopped ({code})"),
            Exit::Trapped(code) => match u8::try_from(code).ok().and_then(Trap::from_code) {
                Some(trap) => write!(f, "trap: {trap}"),
                None => write!(f, "trap {code}"),
            },
        }
    }
}

/// A child process. Dropping it gives up the handle; the child goes on.
#[derive(Debug)]
pub struct Child {
    object: Object,
}

impl Child {
    /// Begins a child from an installed image.
    #[must_use]
    pub fn of(image: &str) -> Builder<'_> {
        Builder {
            image,
            args: Vec::new(),
            endpoints: Vec::new(),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        error::check(sys::process_id(self.object.raw())).unwrap_or(0)
    }

    /// Lets it run.
    ///
    /// # Errors
    /// [`Error::BadState`] where it does already.
    pub fn start(&self) -> Result<(), Error> {
        error::check(sys::process_start(self.object.raw())).map(drop)
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// [`Error::BadState`] where it never started.
    pub fn join(&self) -> Result<Exit, Error> {
        self.join_within(Timeout::FOREVER)?;
        self.exit()
    }

    /// Waits until it has ended, at most so long; whether it has.
    ///
    /// # Errors
    /// [`Error::BadState`] where it never started.
    pub fn join_within(&self, timeout: Timeout) -> Result<bool, Error> {
        waited(sys::process_join(self.object.raw(), timeout.nanos()))
    }

    /// Ends it. Its resources are free when this returns.
    ///
    /// # Errors
    /// None that a caller can do something about.
    pub fn stop(&self, exit_code: i32) -> Result<(), Error> {
        error::check(sys::process_stop(self.object.raw(), exit_code)).map(drop)
    }

    /// Keeps it (and its children, where `recursive`) from running.
    ///
    /// # Errors
    /// [`Error::BadState`] where it has ended.
    pub fn suspend(&self, recursive: bool) -> Result<(), Error> {
        error::check(sys::process_suspend(self.object.raw(), recursive.into())).map(drop)
    }

    /// Undoes a suspend.
    ///
    /// # Errors
    /// [`Error::BadState`] where it is not suspended.
    pub fn resume(&self, recursive: bool) -> Result<(), Error> {
        error::check(sys::process_resume(self.object.raw(), recursive.into())).map(drop)
    }

    /// How it ended.
    ///
    /// # Errors
    /// [`Error::BadState`] while it runs.
    pub fn exit(&self) -> Result<Exit, Error> {
        let mut out = [0_u32; 2];
        // SAFETY: the kernel writes two words, and `out` has room for them.
        error::check(unsafe { sys::process_exit_status(self.object.raw(), out.as_mut_ptr()) })?;
        let code = out[1].cast_signed();
        Ok(match out[0] {
            0 => Exit::Code(code),
            1 => Exit::Stopped(code),
            _ => Exit::Trapped(code),
        })
    }
}

impl Waitable for Child {
    fn handle(&self) -> Handle {
        Handle::from_raw(self.object.raw())
    }
}

impl<T: Termination, E: fmt::Display> Termination for Result<T, E> {
    /// An error is printed, with the program's name, and ends the program with exit code 1.
    fn report(self) -> i32 {
        match self {
            Ok(value) => value.report(),
            Err(e) => {
                let name = crate::args::get(0).unwrap_or_default();
                crate::eprintln!("{name}: {e}");
                1
            }
        }
    }
}
