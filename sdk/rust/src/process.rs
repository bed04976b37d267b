//! Processes: making children, waiting for them, ending them. Needs the privilege `create`; only
//! [`exit`] and [`id`] do not.

use crate::args::with_buffer;
use crate::handle::Object;
use crate::rt::{Handle, Termination, Waitable};
use crate::time::{Timeout, waited};
use crate::{Error, error, sys};
use core::fmt;

use sing_abi::exit::End;

mod builder;

pub use builder::{Builder, NotMade, Reason};

/// The meanings of statuses that are no exit code of a program's own.
pub use sing_abi::exit as status;
pub use sing_abi::exit::stop;
pub use sing_abi::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
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

/// The manifest of an installed image: above all, which endpoints it expects.
///
/// # Errors
/// [`Error::NotFound`] if no such image is installed.
pub fn manifest(image: &str) -> Result<Manifest, Error> {
    // SAFETY: `image` is readable and the buffer writable, each for its length.
    let fill = |b: &mut [u8]| unsafe {
        sys::image_manifest(image.as_ptr(), image.len(), b.as_mut_ptr(), b.len())
    };
    let bytes = with_buffer(1024, fill)?;
    postcard::from_bytes(&bytes).map_err(|_| Error::BadState)
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// Another stopped it, with this code: one of [`stop`], or any other.
    Stopped(i32),
    /// Its code trapped.
    Trapped(i32),
}

impl Exit {
    fn end(self) -> End {
        match self {
            Exit::Code(code) => End::Exit(code),
            Exit::Stopped(code) => End::Stop(code),
            Exit::Trapped(code) => End::from_numbers(2, code),
        }
    }

    /// The status that a shell gives it: one number for how it ended (`sing_abi::exit`).
    #[must_use]
    pub fn status(self) -> i32 {
        self.end().status()
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end().fmt(f)
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
        Builder::new(image)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        error::check(sys::process_id(self.object.raw())).unwrap_or(0)
    }

    /// Lets it run.
    ///
    /// # Errors
    /// [`Error::BadState`] if it does already.
    pub fn start(&self) -> Result<(), Error> {
        error::check(sys::process_start(self.object.raw())).map(drop)
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// [`Error::BadState`] if it never started.
    pub fn join(&self) -> Result<Exit, Error> {
        self.join_within(Timeout::FOREVER)?;
        self.exit()
    }

    /// Waits until it has ended, at most so long; whether it has.
    ///
    /// # Errors
    /// [`Error::BadState`] if it never started.
    pub fn join_within(&self, timeout: Timeout) -> Result<bool, Error> {
        waited(sys::process_join(self.object.raw(), timeout.nanos()))
    }

    /// Lets it go on when this process ends: it is stopped neither with its parent nor with an
    /// ancestor.
    ///
    /// # Errors
    /// [`Error::BadState`] if it has ended.
    pub fn detach(&self) -> Result<(), Error> {
        error::check(sys::process_detach(self.object.raw())).map(drop)
    }

    /// What it keeps ([`crate::legacy`]) passes to its successor when it ends.
    ///
    /// # Errors
    /// [`Error::BadState`] if it has ended.
    pub fn supervise(&self) -> Result<(), Error> {
        error::check(sys::process_supervise(self.object.raw())).map(drop)
    }

    /// Makes its successor: a process of the same image, with the same arguments, that gets what
    /// this one kept. It is supervised, too, and has yet to be started.
    ///
    /// # Errors
    /// [`Error::BadState`] if this one runs, is not supervised or has a successor;
    /// [`Error::NoResources`].
    pub fn renew(&self) -> Result<Child, Error> {
        let object = Object::from_status(sys::process_renew(self.object.raw()))?;
        Ok(Child { object })
    }

    /// Gives it a device of the machine, by its index in [`crate::device::all`], as number `usage`
    /// of the devices that its manifest declares. Before it is started. Needs the privilege
    /// `devices`.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if its manifest declares another device there, [`Error::Held`] if
    /// another has the device, [`Error::BadState`] if it has been started or has one,
    /// [`Error::NotFound`] if there is no such device or declaration.
    pub fn give_device(&self, usage: u32, device: u32) -> Result<(), Error> {
        error::check(sys::device_give(self.object.raw(), usage, device)).map(drop)
    }

    /// Ends it and its descendants but for detached ones. Its resources are free when this returns.
    ///
    /// # Errors
    /// None that a caller can do something about.
    pub fn stop(&self, exit_code: i32) -> Result<(), Error> {
        error::check(sys::process_stop(self.object.raw(), exit_code)).map(drop)
    }

    /// Keeps it (and its children, if `recursive`) from running.
    ///
    /// # Errors
    /// [`Error::BadState`] if it has ended.
    pub fn suspend(&self, recursive: bool) -> Result<(), Error> {
        error::check(sys::process_suspend(self.object.raw(), recursive.into())).map(drop)
    }

    /// Undoes a suspend.
    ///
    /// # Errors
    /// [`Error::BadState`] if it is not suspended.
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

/// The processes that the system manifest puts under the caller's supervision. To be called once: it
/// gives their handles.
pub fn wards() -> impl Iterator<Item = Child> {
    (0..).map_while(|index| {
        let object = Object::from_status(sys::startup_process(index)).ok()?;
        Some(Child { object })
    })
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
