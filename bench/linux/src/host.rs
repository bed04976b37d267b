//! The host: processors, children, files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The result of a system call, or its error.
pub fn check(returned: i64) -> io::Result<i64> {
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// The processors to measure on.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// The processor for measurements on one core.
    pub first: usize,
    /// Another one, if there is one.
    pub second: Option<usize>,
}

impl Cores {
    /// The first two processors that this process may run on.
    pub fn find() -> io::Result<Self> {
        // SAFETY: all zeros is an empty set; the pointer and size are valid for the call.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            check(i64::from(libc::sched_getaffinity(0, size, &raw mut set)))?;
            set
        };
        // SAFETY: the index is within the set.
        let allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
        let mut cores = (0..libc::CPU_SETSIZE as usize).filter(allowed);
        let first = cores
            .next()
            .ok_or_else(|| io::Error::other("no processor to run on"))?;
        Ok(Self {
            first,
            second: cores.next(),
        })
    }
}

/// Keeps the calling thread on a processor.
pub fn pin(core: usize) -> io::Result<()> {
    // SAFETY: all zeros is an empty set, the index is within it, pointer and size are valid for the
    // call.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    check(i64::from(done)).map(drop)
}

/// A child process; killed when this value is dropped, or when the parent ends.
pub struct Child(libc::pid_t);

impl Child {
    /// Forks; the child is kept on `core`, runs `body` until that fails, and ends.
    pub fn fork(core: usize, mut body: impl FnMut() -> io::Result<()>) -> io::Result<Self> {
        // SAFETY: this process has one thread here, so the child finds every lock open.
        let pid = check(i64::from(unsafe { libc::fork() }))?;
        if pid != 0 {
            return Ok(Self(pid as libc::pid_t));
        }
        // SAFETY: asks to be killed when the parent ends.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if pin(core).is_ok() {
            while body().is_ok() {}
        }
        // SAFETY: ends the child, without the parent's exit handlers.
        unsafe { libc::_exit(0) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the process is our child and has not been waited for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Waits for a child's successful end.
pub fn wait(pid: libc::pid_t) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: the pointer is valid for the call.
    check(i64::from(unsafe { libc::waitpid(pid, &raw mut status, 0) }))?;
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::other(format!("a child ended with {status}")))
    }
}

/// An owner for a file descriptor that Linux has just returned.
pub fn own(fd: RawFd) -> File {
    // SAFETY: the callers pass a descriptor that they have just been given, once.
    File::from(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A pipe: the reading end, the writing end.
pub fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for both.
    check(i64::from(unsafe {
        libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC)
    }))?;
    Ok((own(ends[0]), own(ends[1])))
}

/// Two connected stream sockets, with room for the largest message.
pub fn sockets() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: there is room for both.
    check(i64::from(unsafe {
        libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())
    }))?;
    let room: libc::c_int = 1 << 20;
    for end in ends {
        // SAFETY: pointer and size are valid for the call.
        let done = unsafe {
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            let room = (&raw const room).cast();
            libc::setsockopt(end, libc::SOL_SOCKET, libc::SO_SNDBUF, room, size)
        };
        check(i64::from(done))?;
    }
    Ok((own(ends[0]), own(ends[1])))
}

/// Keeps standard output for our own lines; all others, above all the programs that say hello,
/// write to nowhere.
pub fn keep_output() -> io::Result<File> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    // SAFETY: takes and returns descriptors.
    let kept = check(i64::from(unsafe {
        libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 3)
    }))?;
    // SAFETY: both descriptors are open.
    let done = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nowhere), 1) };
    check(i64::from(done))?;
    Ok(own(kept as RawFd))
}

/// Writes a message and reads one of the same length into the same buffer.
pub fn exchange(to: &mut File, from: &mut File, buffer: &mut [u8]) -> io::Result<()> {
    to.write_all(buffer)?;
    from.read_exact(buffer)
}
