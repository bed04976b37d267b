//! T6 and T7: the life of a process, and its memory.

use crate::host::{check, own, wait};
use crate::measure::{Peer, sample};
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::ptr::null;
use std::time::{Duration, Instant};

/// The program that says hello: an ELF file of its own (`hello.rs`).
const HELLO: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hello"));

/// Room for the two calls of a child that still shares our memory.
const STACK: usize = 64 << 10;

/// The peers.
pub fn peers() -> Vec<Peer> {
    let mut memory = Peer::new("T7", "linux process without libraries", memory);
    memory.unit = "KiB";
    vec![
        Peer::new("T6", "linux vfork+exec", |n| {
            let hello = Program::hello(&[])?;
            sample(n, 1, || wait(hello.start()?))
        }),
        Peer::new("T6", "linux fork+exit", |n| sample(n, 1, fork_and_exit)),
        Peer::new("T6", "linux thread", threads),
        memory,
    ]
}

/// A program and its arguments, as `execveat` takes them.
struct Program {
    /// Its file, in memory: no disk and no path is measured.
    file: File,
    /// The strings that `arguments` points to.
    _words: Vec<CString>,
    arguments: Vec<*const c_char>,
    stack: Vec<u128>,
}

impl Program {
    /// The program that says hello, with these arguments.
    fn hello(arguments: &[&str]) -> io::Result<Self> {
        // SAFETY: the name is text that ends with null.
        let fd = unsafe { libc::memfd_create(c"hello".as_ptr(), libc::MFD_CLOEXEC) };
        let mut file = own(check(i64::from(fd))? as c_int);
        file.write_all(HELLO)?;
        // A file that can be written to cannot be run: reopen it for reading only.
        let file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let words = [&["hello"], arguments].concat();
        let words = words
            .into_iter()
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()?;
        let arguments = words
            .iter()
            .map(|word| word.as_ptr())
            .chain([null()])
            .collect();
        let stack = vec![0; STACK / size_of::<u128>()];
        Ok(Self {
            file,
            _words: words,
            arguments,
            stack,
        })
    }

    /// Starts it the quickest way there is: by a child that borrows our memory until it executes
    /// the other program.
    fn start(&self) -> io::Result<libc::pid_t> {
        let top = self.stack.as_ptr_range().end.cast_mut().cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let this = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the child runs `become_program` on a stack of its own, while this thread waits,
        // and that makes only two system calls.
        let pid = unsafe { libc::clone(become_program, top, flags, this) };
        check(i64::from(pid))?;
        Ok(pid)
    }
}

extern "C" fn become_program(program: *mut c_void) -> c_int {
    // SAFETY: `start` passes itself, and waits.
    let program = unsafe { &*program.cast::<Program>() };
    let environment = [null::<c_char>()];
    // SAFETY: the arrays end with null, and live until the child executes the program.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.file.as_raw_fd(),
            c"".as_ptr(),
            program.arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
        libc::_exit(127)
    }
}

fn fork_and_exit() -> io::Result<()> {
    // SAFETY: the child only ends.
    let pid = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    };
    check(i64::from(pid))?;
    wait(pid)
}

fn threads(n: usize) -> io::Result<Vec<f64>> {
    extern "C" fn nothing(argument: *mut c_void) -> *mut c_void {
        argument
    }
    sample(n, 4, || {
        let mut thread: libc::pthread_t = 0;
        let null: *mut c_void = std::ptr::null_mut();
        // SAFETY: the pointers are valid or may be null; the thread is joined once.
        let error = unsafe {
            match libc::pthread_create(&raw mut thread, null.cast(), nothing, null) {
                0 => libc::pthread_join(thread, null.cast()),
                error => error,
            }
        };
        if error == 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(error))
        }
    })
}

/// A sleeping process, killed when this value is dropped.
struct Sleeper(libc::pid_t);

impl Drop for Sleeper {
    fn drop(&mut self) {
        // SAFETY: our child, which has not been waited for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Linux's figures for a process, in KiB.
fn kibibytes(pid: libc::pid_t, file: &str, field: &str) -> io::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.split_whitespace().next());
    let missing = || io::Error::other(format!("/proc/PID/{file} does not say {field}"));
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(missing)
}

/// The memory that one process holds alone: its pages, its page tables, its kernel stack. Linux's
/// records (some 10 KiB more) are not reported by process, so they are not counted.
fn memory(n: usize) -> io::Result<Vec<f64>> {
    let hello = Program::hello(&["wait"])?;
    let one = |_| {
        let sleeper = Sleeper(hello.start()?);
        let start = Instant::now();
        // Wait until Linux reports that it sleeps, past its start-up.
        while !asleep(sleeper.0)? {
            if start.elapsed() > Duration::from_secs(5) {
                return Err(io::Error::other(
                    "the program that says hello does not sleep",
                ));
            }
            std::thread::yield_now();
        }
        let pages = kibibytes(sleeper.0, "smaps_rollup", "Private_Dirty:")?
            + kibibytes(sleeper.0, "smaps_rollup", "Private_Clean:")?;
        Ok(pages + kibibytes(sleeper.0, "status", "VmPTE:")? + kernel_stack()?)
    };
    (0..n.min(5)).map(one).collect()
}

/// The size of a kernel stack: the total divided by the number of threads.
fn kernel_stack() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let all = text
        .lines()
        .find_map(|line| line.strip_prefix("KernelStack:")?.split_whitespace().next());
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let threads = load
        .split_whitespace()
        .nth(3)
        .and_then(|word| word.split('/').nth(1));
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<f64>().ok());
    match (number(all), number(threads)) {
        // Stacks are whole powers of two; a few more than threads are kept for reuse.
        (Some(all), Some(threads)) if threads > 0.0 => Ok((all / threads / 4.0).floor() * 4.0),
        _ => Err(io::Error::other(
            "Linux does not say how large kernel stacks are",
        )),
    }
}

fn asleep(pid: libc::pid_t) -> io::Result<bool> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    Ok(text
        .rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('S')))
}
