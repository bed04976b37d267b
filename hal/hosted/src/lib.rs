//! The hosted HAL: the system as one unprivileged Linux process.
//!
//! One Linux thread at a time runs the kernel and all SIPs: always the same one, but in a system inside
//! a program ([`embed`]), where threads that call take turns. Interrupts are signals to it (the timer's
//! `SIGALRM`, the console's `SIGIO`), faults are the signals that Linux makes of them, memory is
//! the process's own. `sing_kernel::hal` states the kernel's requirements; each module says how it
//! meets them.
//!
//! Exit status: Linux keeps the low eight bits of the system's status; if these are zero and the
//! status is not, the process exits with 1, so that no failure looks like success. The machine's
//! own statuses are those of `sing_abi::exit::machine`.

mod arguments;
mod baton;
mod calls;
mod clock;
mod code;
pub mod command;
mod console;
mod cpu;
mod devices;
pub mod embed;
mod heap;
mod input;
mod load;
mod memory;
mod origin;
mod output;
mod perf;
mod ranges;
mod report;
mod signals;
mod streams;
mod terminal;
mod thread;
mod timer;
mod wakers;
mod wide;

use baton::{Baton, baton};
use calls::OfKernel;
pub use calls::{Asked, Held, Lent, Message, Pending, Port, Reply, Word};
use clock::{Clock, Noted};
use code::Code;
use console::Console;
use devices::Devices;
pub use devices::{
    AddressRange, Directories, DirectoryError, DiskError, DiskFile, DisplayError, DisplaySocket,
    GivenDirectories, GivenDirectory, HostDirectory, HostSockets, MOST_DISKS, Network,
    NetworkError, RangeError, SerialError, SerialLine, SocketsError,
};
pub use load::ImageFile;
use memory::Memory;
use sing_abi::PAGE;
use sing_abi::exit::machine;
use sing_kernel::console::ConsoleDevice;
use sing_kernel::device::Device;
use sing_kernel::fault::{Action, Fault};
use sing_kernel::hal::{
    Callers, DeviceAccess, Hal, LINE_CONSOLE, LINE_OUTPUT, Part, Refused, Reservation, Shortage,
};
use sing_kernel::output::Class;
use std::ops::Range;
use std::sync::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire, Release},
};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};
use timer::Timer;

/// The functions that receive interrupts and faults.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Takes interrupts: `sing_kernel::interrupt::arrive`, or a replacement.
    pub interrupt: fn(line: u32, in_sip: bool),
    /// Decides on faults: `sing_kernel::fault::handle`, or a replacement.
    pub fault: fn(&Fault) -> Action,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            interrupt: sing_kernel::interrupt::arrive,
            fault: sing_kernel::fault::handle,
        }
    }
}

/// The configuration of the machine.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The most memory to use, in bytes; `None`: the memory that Linux says is available.
    pub memory_limit: Option<u64>,
    /// Whether standard input is the console's input: a terminal becomes raw, and input raises an
    /// interrupt. Otherwise the console has output only.
    pub console: bool,
    /// Whether the console's output is two streams, in frames: standard output and standard error.
    /// A terminal stays as it is then.
    pub streams: bool,
    /// The file of the system image, if it is mapped: the code in it is mapped, too.
    pub image: Option<ImageFile>,
    /// The machine's disks, at most [`MOST_DISKS`].
    pub disks: Vec<DiskFile>,
    /// Directories of the host that the machine has as devices; with the disks, at most
    /// [`MOST_DISKS`]. Such a machine has the process for itself: starting it raises the process's soft
    /// limit of descriptors (`RLIMIT_NOFILE`), up to the hard one, to what all of them want, and
    /// [sockets](Config::sockets) raise it likewise. It is not lowered again. A program that embeds a system
    /// gives directories to its calls instead ([`Directories`]), which leave the limit as it is.
    pub directories: Vec<HostDirectory>,
    /// Its network cards; with the disks and directories, at most [`MOST_DISKS`].
    pub networks: Vec<Network>,
    /// What is at the far end of the machine's serial port; `None`: it has none.
    pub serial: Option<SerialLine>,
    /// Where the program listens that has the machine's keyboard and text screen; `None`: there are
    /// none.
    pub display: Option<DisplaySocket>,
    /// What programs may do with sockets of the host.
    pub sockets: HostSockets,
    /// Whether images are loaded that were compiled without checks, to measure what these cost.
    pub measures: bool,
    /// Whether a thread's quantum never ends, to measure what that costs.
    pub without_preemption: bool,
    /// Whether the functions of loaded images are written to `/tmp/perf-PID.map`, for `perf`.
    pub perf_map: bool,
    /// The system is inside a program that does other things, too ([`embed`]).
    pub inside: Option<embed::Inside>,
    /// The kernel, or a replacement.
    pub hooks: Hooks,
}

/// The reason for which there is no machine.
#[derive(Debug)]
pub enum Error {
    /// The machine has been started already: signals have one handler in a process.
    AlreadyStarted,
    /// The memory limit is below the least that any system needs.
    MemoryLimit(u64),
    /// Linux gives too few addresses.
    Addresses(io::Error),
    /// There is no disk of a file.
    Disk(DiskError),
    /// A directory of the host cannot be served.
    Directory(DirectoryError),
    /// A network card has no network.
    Network(NetworkError),
    /// There is nothing at the far end of the serial port.
    Serial(SerialError),
    /// No program has the keyboard and the screen.
    Display(DisplayError),
    /// There are no sockets of the host.
    Sockets(SocketsError),
    /// The file for `perf` cannot be written.
    PerfMap(io::Error),
    /// Linux refuses a resource that the machine needs.
    Linux {
        /// The resource.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyStarted => f.write_str("this process has a hosted machine already"),
            Self::MemoryLimit(bytes) => {
                write!(
                    f,
                    "a memory limit of {bytes} bytes is too little; no system starts with less than 1M, and the one with a shell needs 16M"
                )
            }
            Self::Addresses(error) => write!(
                f,
                "1073741824 bytes of addresses for code are not to be had: {error}; raise `ulimit -v`, which counts \
                 KiB: a shell needs 11 GB with an image made by `--memory explicit`, and 33 GB with others"
            ),
            Self::Disk(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::Network(error) => error.fmt(f),
            Self::Serial(error) => error.fmt(f),
            Self::Display(error) => error.fmt(f),
            Self::Sockets(error) => error.fmt(f),
            Self::PerfMap(error) => write!(
                f,
                "--perf-map: {} cannot be written: {error}; remove what is there, or run without",
                perf::path().display()
            ),
            Self::Linux { what, error } => write!(f, "Linux refuses {what}: {error}"),
        }
    }
}

impl Error {
    /// Returns the status to exit with.
    #[must_use]
    pub fn status(&self) -> i32 {
        match self {
            Self::MemoryLimit(_) | Self::Addresses(_) => machine::NO_MEMORY,
            Self::AlreadyStarted
            | Self::Disk(_)
            | Self::Directory(_)
            | Self::Network(_)
            | Self::Serial(_)
            | Self::Display(_)
            | Self::Sockets(_)
            | Self::PerfMap(_)
            | Self::Linux { .. } => machine::REFUSED,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Addresses(error) | Self::PerfMap(error) | Self::Linux { error, .. } => {
                Some(error)
            }
            Self::Disk(error) => Some(error),
            Self::Directory(error) => Some(error),
            Self::Serial(error) => Some(error),
            Self::Display(error) => Some(error),
            Self::Sockets(error) => Some(error),
            _ => None,
        }
    }
}

/// The hosted machine.
pub struct HostedHal {
    hooks: Hooks,
    clock: Clock,
    memory: Memory,
    code: Code,
    timer: Timer,
    noted: Noted,
    console: Console,
    devices: Devices,
    /// Whether images without checks are loaded, and whether quanta end.
    measures: bool,
    preempts: bool,
    /// The file for `perf`, if it is asked for.
    perf: Option<perf::Map>,
    /// Where calls come in, if it is inside a program that does other things, too.
    port: Option<Arc<Port>>,
    /// The same, as the kernel has it.
    callers: Option<OfKernel>,
    /// The last to go: until then, handlers find the machine.
    signals: Mutex<Option<signals::beside::Signals>>,
}

/// The machine, for the signal handlers, which get no argument of ours.
static HOSTED: AtomicPtr<HostedHal> = AtomicPtr::new(std::ptr::null_mut());
/// Only one is made or ended at a time.
static STARTING: Mutex<()> = Mutex::new(());

/// Returns the machine, once it has started.
fn hosted() -> Option<&'static HostedHal> {
    // SAFETY: null, or made by `Box::into_raw` in `HostedHal::new`, and freed by `HostedHal::end`
    // when no handler of its uses it any more.
    unsafe { HOSTED.load(Acquire).as_ref() }
}

/// Ends the process with this status, and restores the terminal. Safe in signal handlers.
fn end(status: i32) -> ! {
    terminal::leave();
    // SAFETY: ends the process. Output yet to be written has had its time, or has no reader.
    unsafe { libc::_exit(exit_code(status)) }
}

/// Returns the exit code of the process for a status of the system.
fn exit_code(status: i32) -> i32 {
    match status & 0xff {
        0 if status != 0 => 1,
        code => code,
    }
}

/// The smallest memory limit.
const MIN_MEMORY: u64 = 1 << 20;

impl HostedHal {
    /// Starts the machine, at most once in a process, on the thread that will run the kernel.
    ///
    /// # Errors
    /// If there is one already, if the memory limit is too small, or if Linux refuses a resource.
    pub fn new(config: Config) -> Result<&'static Self, Error> {
        let _only = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        if hosted().is_some() {
            return Err(Error::AlreadyStarted);
        }
        let refused = |what| move |error: io::Error| Error::Linux { what, error };
        let limit = config.memory_limit.unwrap_or_else(memory::machine_bytes);
        if limit < MIN_MEMORY {
            return Err(Error::MemoryLimit(limit));
        }
        let inside = config.inside.as_ref();
        // The heap is the program's that the system is in.
        if inside.is_none() {
            heap::start();
        }
        let perf = config.perf_map.then(perf::Map::new).transpose();
        let perf = perf.map_err(Error::PerfMap)?;
        let clock = Clock::new();
        let code = Code::new(config.image).map_err(|e| Error::Addresses(e.into()))?;
        let mut own = None;
        match inside {
            Some(_) => own = Some(embed::signals().map_err(refused("signal handlers"))?),
            None => signals::start(config.console).map_err(refused("signal handlers"))?,
        }
        let timer = Timer::new(signals::TIMER).map_err(refused("a timer"))?;
        let console = match inside {
            Some(inside) => Console::embedded(Arc::clone(&inside.log)),
            None => Console::new(config.console, config.streams).map_err(refused("a thread"))?,
        };
        let devices = Devices::new(
            &config.disks,
            &config.directories,
            &config.networks,
            config.serial.as_ref(),
            config.display.as_ref(),
            &config.sockets,
        )?;
        let memory = Memory::new(limit / PAGE * PAGE);
        let hooks = config.hooks;
        let made = Box::into_raw(Box::new(Self {
            hooks,
            clock,
            memory,
            code,
            timer,
            noted: Noted::default(),
            console,
            devices,
            measures: config.measures,
            preempts: !config.without_preemption,
            perf,
            port: inside.map(|inside| Arc::clone(&inside.port)),
            callers: inside.map(|inside| OfKernel(Arc::clone(&inside.port))),
            signals: Mutex::new(own),
        }));
        HOSTED.store(made, Release);
        // SAFETY: made above, and freed only by `end`.
        let hosted: &'static Self = unsafe { &*made };
        // Not before the handlers can find the machine, or the first input would go unnoticed.
        hosted.console.watch();
        Ok(hosted)
    }

    /// Takes the machine of an embedded system down, whose kernel has been left for good, when the host reads
    /// nothing of it any more. Called on its thread.
    fn end(&'static self, status: i32) {
        if let Some(port) = &self.port {
            port.end(status);
            port.wait_for_loans();
        }
        let _only = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(port) = &self.port {
            port.baton().end();
        }
        let signals = self
            .signals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(signals);
        // SAFETY: the kernel runs no more, and nothing of its is used from here on: its SIPs' code
        // and memory go with the machine.
        unsafe { sing_kernel::forget() };
        let made = HOSTED.swap(std::ptr::null_mut(), AcqRel);
        devices::forget();
        // SAFETY: made by `Box::into_raw`, and not found by any handler any more; the kernel has
        // forgotten its references.
        drop(unsafe { Box::from_raw(made) });
    }

    /// Returns the bytes that are accessible now, and the number of islands that they form among
    /// inaccessible addresses. Twice that number is the system's share of `vm.max_map_count`.
    pub fn memory_used(&self) -> (u64, usize) {
        self.memory.used()
    }
}

// SAFETY: reservations come out of arenas that are the process's own and nobody else's (`memory`);
// code is never writable once it is executable (`code`); one thread at a time runs the kernel
// (`baton`), and signals call it as they must (`signals`).
unsafe impl Hal for HostedHal {
    fn name(&self) -> &'static str {
        "hosted"
    }

    fn cpus(&self) -> u32 {
        1
    }

    fn has_cpu_feature(&self, name: &str) -> bool {
        cpu::has(name)
    }

    fn measures(&self) -> bool {
        self.measures
    }

    fn preempts(&self) -> bool {
        self.preempts
    }

    fn cycles_per_second(&self) -> u64 {
        self.clock.cycles_per_second()
    }

    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn utc(&self) -> u64 {
        Clock::utc()
    }

    fn set_timer(&self, at: u64) {
        self.timer.set(&self.clock, at);
    }

    fn idle(&self) {
        if let Some(baton) = baton(self) {
            return baton.pause();
        }
        let sockets = self.devices.idle();
        let watched = match sockets.map(|sockets| sockets.look()) {
            Some(devices::Next::Deliver) => return devices::deliver(self, 0, false),
            Some(devices::Next::Watch) => sockets,
            Some(devices::Next::Sleep) | None => None,
        };
        signals::wait(self, watched);
    }

    fn leaves(&self) -> bool {
        baton(self).is_some_and(Baton::is_served)
    }

    fn callers(&self) -> Option<&dyn Callers> {
        self.callers.as_ref().map(|callers| callers as &dyn Callers)
    }

    fn held(&self) -> u64 {
        self.noted.take()
    }

    fn interrupt_lines(&self) -> u32 {
        1 << LINE_CONSOLE | 1 << LINE_OUTPUT | self.devices.lines()
    }

    fn mask(&self, line: u32) {
        self.devices.mask(line);
    }

    fn unmask(&self, line: u32) {
        if self.devices.unmask(line) {
            devices::deliver(self, 0, false);
        }
    }

    fn devices(&self) -> &[Device] {
        self.devices.list()
    }

    fn io_read(&self, device: usize, range: usize, offset: u32, width: u32) -> u64 {
        self.devices.read(device, range, offset, width)
    }

    unsafe fn io_write(&self, device: usize, range: usize, offset: u32, width: u32, value: u64) {
        if self.devices.write(device, range, offset, width, value) {
            devices::deliver(self, 0, false);
        }
    }

    fn disconnect(&self, device: usize, _: bool) -> bool {
        self.devices.disconnect(device);
        true
    }

    /// The models use the process's own addresses. A page without memory gets some when it is
    /// written, by Linux like any other.
    fn device_address(&self, at: u64) -> Option<u64> {
        Some(at)
    }

    /// A model that masters the bus reaches memory by a window alone.
    fn confines(&self, device: usize) -> bool {
        self.devices.confines(device)
    }

    /// A model has its own line, and no other.
    fn confines_interrupts(&self) -> bool {
        true
    }

    fn open_window(&self, device: usize) -> bool {
        self.devices.open_window(device)
    }

    unsafe fn map(&self, device: usize, page: u32, at: u64, access: DeviceAccess) -> bool {
        self.devices.map(device, page, at, access)
    }

    fn unmap(&self, device: usize, pages: Range<u32>) -> bool {
        self.devices.unmap(device, pages)
    }

    fn refused(&self, device: usize) -> Option<Refused> {
        self.devices.refused(device)
    }

    fn total_pages(&self) -> u64 {
        self.memory.limit() / PAGE
    }

    fn free_pages(&self) -> u64 {
        self.memory.limit().saturating_sub(self.memory.used().0) / PAGE
    }

    /// Never: the kernel's own memory comes from Linux and is not limited here.
    fn is_short(&self) -> bool {
        false
    }

    fn shortage(&self) -> Shortage {
        self.memory.shortage()
    }

    fn reserve(&self, bytes: u64) -> Option<Reservation> {
        self.memory.reserve(bytes)
    }

    fn release(&self, addresses: Reservation) {
        self.memory.release(addresses);
    }

    fn commit(&self, part: Part<'_>) -> bool {
        self.memory.commit(part)
    }

    fn commits_at_once(&self) -> u64 {
        memory::AT_ONCE
    }

    fn decommit(&self, part: Part<'_>) {
        self.memory.decommit(part);
    }

    fn hides(&self) -> bool {
        true
    }

    fn hide(&self, part: Part<'_>) -> bool {
        self.memory.hide(part)
    }

    fn reveal(&self, part: Part<'_>) -> bool {
        self.memory.reveal(part)
    }

    /// Unlimited: the kernel's own memory comes from Linux.
    fn heap_room(&self) -> u64 {
        u64::MAX
    }

    fn discard(&self, part: Part<'_>) {
        self.memory.discard(part);
    }

    fn blank(&self, part: Part<'_>) {
        self.memory.blank(part);
    }

    fn load_code(&self, code: &[u8]) -> Option<u64> {
        self.code.load(code)
    }

    unsafe fn unload_code(&self, from: u64) {
        // SAFETY: the caller's.
        unsafe { self.code.unload(from) };
    }

    fn code_room(&self) -> u64 {
        self.code.room()
    }

    fn code_arena(&self) -> Range<u64> {
        self.code.range()
    }

    fn loaded(&self, image: &str, functions: &mut dyn Iterator<Item = (Range<u64>, &str)>) {
        if let Some(map) = &self.perf
            && let Err(error) = map.add(image, functions)
        {
            let line = format!("{}: {error}", perf::path().display());
            self.console.log(Class::Kernel, line.as_bytes());
        }
    }

    fn console(&self) -> &dyn ConsoleDevice {
        &self.console
    }

    fn log(&self, class: Class, line: &[u8]) -> bool {
        self.console.log(class, line)
    }

    fn exit(&self, status: i32) -> ! {
        if let Some(baton) = baton(self) {
            embed::leave(baton, status);
        }
        output::settle();
        end(status)
    }
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn no_failure_exits_with_zero() {
        assert_eq!(exit_code(0), 0);
        for status in [1, 255, 256, 512, -256, i32::MIN, i32::MAX, -1] {
            let code = exit_code(status);
            assert!((1..=255).contains(&code), "{status} exits with {code}");
        }
        assert_eq!(exit_code(3), 3);
        assert_eq!(exit_code(-1), 255);
    }
}
