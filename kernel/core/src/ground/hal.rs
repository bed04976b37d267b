//! The interface of a hardware abstraction layer (HAL): the kernel's requirements on a machine ([O]
//! 5.1).
//!
//! Two HALs implement it: `hal/hosted` (an unprivileged Linux process) and `hal/pc` (x86-64
//! hardware). The kernel calls it on slow paths only; nothing that a message or a switch needs goes
//! through it.
//!
//! Obligations of a HAL, which memory safety rests on, so that [`Hal`] is an unsafe trait:
//! - It starts the kernel once, on a boot stack of at least 64 KiB, by [`crate::entry::boot`]; that
//!   stack and thread of the machine are the kernel's from then on. No other thread calls the
//!   kernel, nor does an interrupt, with the following exceptions.
//! - It reports every interrupt by [`crate::mechanism::interrupt::arrive`], saying whether the
//!   processor was in SIP code (the program counter in [`Hal::code_arena`]). Only then may the
//!   kernel switch threads inside the call. The call may therefore return much later, and
//!   everything that the interrupted code needs, the whole register file included, must be saved on
//!   the interrupted thread's own stack. Otherwise the call only takes note.
//! - It reports every processor fault by [`crate::entry::fault::handle`] and takes the returned
//!   action.
//! - Its reservations overlap neither each other nor anything else; memory that [`Hal::commit`]
//!   makes accessible is zeroed, and stays as it is until it is taken back.
//! - Loaded code keeps its address, executable and never writable, until the kernel unloads it.
//! - A device of [`Hal::devices`] is not able to reach memory after [`Hal::disconnect`] has
//!   returned true for it, until it is connected again; before that, it reaches only memory whose
//!   addresses the kernel has written into its transport or into queues that it has set up there, or
//!   that it has mapped ([`Hal::map`]).

pub use crate::ground::trusted::{Part, Reservation};

use crate::ground::console::ConsoleDevice;
use crate::ground::device::Device;
use crate::ground::output::Class;
use core::fmt;
use core::ops::Range;
use sing_calls::{Given, Outcome, Request};

/// The most interrupt lines, including the timer's.
pub const LINES: u32 = 30;
/// Interrupt line of the timer.
pub const LINE_TIMER: u32 = 0;
/// Interrupt line of the console's input ([`ConsoleDevice`]).
pub const LINE_CONSOLE: u32 = 1;
/// Interrupt line of the output: there is room again after a refusal, or all console output has
/// been written.
pub const LINE_OUTPUT: u32 = 3;
/// Interrupt line of calls of the program that the system is inside of: a request has come
/// ([`Callers`]). Beyond those of devices.
pub const LINE_CALL: u32 = LINES;
/// Interrupt line of the power button: a request to end the system.
pub const LINE_POWER: u32 = 2;

/// Pages of a device's window onto memory; the first [`WINDOW_FIRST`] stay unused, so that a zero is
/// no address.
pub const WINDOW_PAGES: u32 = 1 << 14;
/// The first page of a device's window that is used.
pub const WINDOW_FIRST: u32 = 1 << 8;
/// The most pages of memory that the HAL uses for the tables of a window.
pub const WINDOW_TABLES: u64 = 36;

/// What a device may do with a page of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAccess {
    /// Read it.
    Read,
    /// Write it.
    Write,
    /// Both.
    Both,
}

/// An access of a device to memory that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The address, as the device said it, of the page.
    pub page: u64,
    /// Whether it meant to write.
    pub write: bool,
    /// The IOMMU's number for the reason.
    pub reason: u8,
}

/// The program that the system is inside of. Requests come in the idle context, and so do answers;
/// none of these functions waits.
pub trait Callers {
    /// Whether a request waits.
    fn waits(&self) -> bool;

    /// Shows the kernel the first request that waits. `serve` says whether it is taken; else it
    /// stays the first. False if none waits.
    fn next(&self, serve: &mut dyn FnMut(&Request<'_>) -> bool) -> bool;

    /// Answers a request with `len` bytes, at most [`sing_calls::ANSWER`], which `read` writes.
    fn answer(&self, id: u64, outcome: Outcome, len: usize, read: &mut dyn FnMut(&mut [u8]));

    /// Answers a request with a message: its index, and what it brings. False if nobody waits for it any
    /// more; else the host frees its blocks.
    fn message(&self, id: u64, index: u32, words: &[Given]) -> bool;

    /// Fills this with random bytes of the host's, which nobody else gets. False if it has none.
    fn random(&self, bytes: &mut [u8]) -> bool;

    /// Answers a request with a text.
    fn say(&self, id: u64, outcome: Outcome, text: fmt::Arguments<'_>);
}

/// A machine. All times are nanoseconds; all sizes are bytes, and sizes of memory are multiples of
/// `sing_abi::PAGE`.
///
/// # Safety
/// An implementation keeps the obligations above.
#[allow(
    unsafe_code,
    reason = "declares what HALs promise, and does nothing itself"
)]
pub unsafe trait Hal: Sync {
    /// Returns the machine's name: `hosted` or `pc`.
    fn name(&self) -> &'static str;

    /// Returns the number of processors in use.
    fn cpus(&self) -> u32;

    /// Whether the processor has this feature (name as in `sing_image::meta::Meta::cpu_features`).
    fn has_cpu_feature(&self, name: &str) -> bool;

    /// Whether this system was started to measure what checks cost: only then is an image without them
    /// loaded, whose program can do anything. Never changes.
    fn measures(&self) -> bool {
        false
    }

    /// Whether a thread that runs is interrupted when its quantum has ended. Only where the system was
    /// started to measure what that costs, it is not, and a thread that never waits keeps the
    /// processor. Never changes.
    fn preempts(&self) -> bool {
        true
    }

    /// Returns the time-stamp counter's ticks a second.
    fn cycles_per_second(&self) -> u64;

    /// Returns the time since the start; never goes back.
    fn now(&self) -> u64;

    /// Returns the time since 1970, UTC.
    fn utc(&self) -> u64;

    /// Asks for one interrupt on [`LINE_TIMER`] when [`Hal::now`] reaches `at`, replacing an
    /// earlier request. `u64::MAX`: none.
    fn set_timer(&self, at: u64);

    /// Masks a device's line. The HAL does so itself when an interrupt arrives on a line whose
    /// device has its driver outside the HAL: that device is quiet only when its driver has served
    /// it.
    fn mask(&self, _line: u32) {}

    /// Unmasks a device's line.
    fn unmask(&self, _line: u32) {}

    /// Waits for an interrupt, at the latest that of the timer. Called on the boot stack when there
    /// is nothing to run, or [`Hal::leaves`] says so; returns after [`crate::mechanism::interrupt::arrive`] has been called
    /// (with `in_sip` false), and may return spuriously.
    fn idle(&self);

    /// Whether the kernel is to call [`Hal::idle`] soon although there is something to run: what runs
    /// the processor has something else to do, and will come back or be replaced. Asked in the idle
    /// context, and when the kernel acts on an interrupt, which the HAL raises for that.
    fn leaves(&self) -> bool {
        false
    }

    /// The program that the system is inside of, if it calls programs of the system.
    fn callers(&self) -> Option<&dyn Callers> {
        None
    }

    /// Returns how long the processor has worked, in nanoseconds, since the first interrupt of
    /// which [`crate::mechanism::interrupt::arrive`] only took note after the previous call of this
    /// function; 0 if there was none. Time that the host spends on others does not count.
    fn held(&self) -> u64;

    /// Returns the interrupt lines beside [`LINE_TIMER`] that the machine has, one bit each; those
    /// of devices included.
    fn interrupt_lines(&self) -> u32 {
        1 << LINE_CONSOLE | 1 << LINE_OUTPUT
    }

    /// Returns the machine's devices, at most [`crate::device::MOST_DEVICES`]: the same list each
    /// time, complete before the kernel starts. An index into it names a device below.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Reads a register of `width` bytes (1, 2, 4 or 8) at `offset` of a range of a device, with
    /// one access of that width where the machine can. The kernel has checked that the device has
    /// the range, that the register lies in it, and that `offset` is a multiple of `width`. Never
    /// waits. A read may have an effect on the device, but on nothing else.
    fn io_read(&self, _device: usize, _range: usize, _offset: u32, _width: u32) -> u64 {
        0
    }

    /// Writes a register, likewise. When this returns, the device has got the write or will get it
    /// before any later access; what the kernel wrote to memory before is visible to the device
    /// when it gets the write.
    ///
    /// # Safety
    /// The register is not one by which the device is told addresses of memory, unless that memory
    /// is the device's until it has been reset, or the device has no transport: it is then kept
    /// from memory, or confined ([`Hal::confines`]).
    #[allow(unsafe_code, reason = "declared for HALs")]
    unsafe fn io_write(
        &self,
        _device: usize,
        _range: usize,
        _offset: u32,
        _width: u32,
        _value: u64,
    ) {
    }

    /// Makes a range of memory-mapped registers accessible to code, uncached, at addresses that
    /// belong to this range of this device for good and are never anything else; returns the
    /// address of its first byte, the same one each time, at least as aligned as the range. `None`
    /// if code cannot reach it: all accesses are then kernel calls. The kernel shows only what the
    /// device's driver may have, to a device that is connected.
    fn show_registers(&self, _device: usize, _range: usize) -> Option<u64> {
        None
    }

    /// Undoes that. When this returns, an access to these addresses faults, whoever makes it.
    fn hide_registers(&self, _device: usize, _range: usize) {}

    /// Goes on with the reset of a device, which [`Hal::disconnect`] has begun, or, before its first
    /// holder, this does. Returns the time, as
    /// of [`Hal::now`], at which to call this again; `None` when the reset is over. It is over
    /// within two seconds of the first call, whatever the device does; one that has not come back
    /// from it is not connected any more. Called before [`Hal::connect`]; never waits.
    fn settle(&self, _device: usize) -> Option<u64> {
        None
    }

    /// Gets a device ready for its holder: switches on its registers and its interrupt (the line
    /// stays masked) and, if it has a transport, its access to memory. Returns false if the device
    /// is broken. Called before any access to its registers.
    fn connect(&self, _device: usize) -> bool {
        true
    }

    /// The opposite: the device's line is masked, and the device does not reach memory any more
    /// when this returns true, whatever its registers hold. The kernel resets a virtio device by
    /// its transport before; `reset` says whether the device has confirmed that. Returns false if
    /// the device could still reach memory (it has not confirmed, and the machine cannot cut it
    /// off): the kernel then never frees what the device knew of, and never connects it again. A
    /// device without a transport is reset from here on, if it can be ([`Hal::settle`]).
    fn disconnect(&self, _device: usize, reset: bool) -> bool {
        reset
    }

    /// Returns the address by which devices reach the byte at `at`, which lies in memory that
    /// [`Hal::commit`] has made accessible: a physical address or, in a HAL that models devices,
    /// what its model understands. Makes the page present first, so that it has memory of its own
    /// and not that of zeros; `None` if memory is short. The answer holds for the whole page, until
    /// the page is decommitted, blanked, discarded or released.
    fn device_address(&self, _at: u64) -> Option<u64> {
        None
    }

    /// Whether an IOMMU stands between this device and memory: it then reaches what the next
    /// functions give it and nothing else, whatever it is told. Never true of a device with a
    /// transport. Never changes.
    fn confines(&self, _device: usize) -> bool {
        false
    }

    /// Whether a device that masters the bus raises no interrupt but its own, whatever it writes to
    /// the addresses where processors take messages. Never changes.
    fn confines_interrupts(&self) -> bool {
        false
    }

    /// Opens the window of a device through which it reaches memory, of [`WINDOW_PAGES`] pages
    /// that lead nowhere; from now on the device may master the bus. Called while the device is
    /// connected; [`Hal::disconnect`] closes the window. Returns false if the device is not
    /// confined or memory is short.
    fn open_window(&self, _device: usize) -> bool {
        false
    }

    /// Lets a page of a device's window lead to the page at `at`, as in [`Hal::device_address`],
    /// to read, to write, or both. Returns false if the window is closed or memory is short.
    ///
    /// # Safety
    /// The page there is the device's, and stays, until [`Hal::unmap`] or [`Hal::disconnect`] has
    /// returned true.
    #[allow(unsafe_code, reason = "declared for HALs")]
    unsafe fn map(&self, _device: usize, _page: u32, _at: u64, _access: DeviceAccess) -> bool {
        false
    }

    /// Lets pages of a device's window lead nowhere. Returns true when the device does not reach
    /// what they led to any more, false if the IOMMU has not confirmed that.
    fn unmap(&self, _device: usize, _pages: Range<u32>) -> bool {
        false
    }

    /// Returns the last access of a device that the IOMMU has refused since the last call.
    fn refused(&self, _device: usize) -> Option<Refused> {
        None
    }

    /// Returns the number of pages that the machine has.
    fn total_pages(&self) -> u64;

    /// Returns the number of free pages.
    fn free_pages(&self) -> u64;

    /// Whether memory is so short that the rest should serve work in progress: the kernel then
    /// makes nothing new for SIPs. [`Hal::commit`] fails before this is so.
    fn is_short(&self) -> bool;

    /// Describes the resource for lack of which [`Hal::reserve`] or [`Hal::commit`] refused last,
    /// and the remedy.
    fn shortage(&self) -> Shortage {
        Shortage {
            what: "memory",
            bytes: None,
            remedy: "give the machine more",
        }
    }

    /// Reserves addresses, aligned to 64 KiB, without access. Returns `None` if there are none
    /// left.
    fn reserve(&self, bytes: u64) -> Option<Reservation>;

    /// Releases addresses, accessible or not.
    fn release(&self, addresses: Reservation);

    /// Makes reserved addresses readable and writable, zeroed. Returns false, and changes nothing,
    /// if memory is short.
    fn commit(&self, part: Part<'_>) -> bool;

    /// The bytes that one [`Hal::commit`] makes accessible as quickly as few, because each page gets
    /// its memory when it is touched; 0 where it takes time for each.
    fn commits_at_once(&self) -> u64 {
        0
    }

    /// Takes memory back: the addresses are reserved again, inaccessible.
    fn decommit(&self, part: Part<'_>);

    /// Whether it can hide memory, and that is quicker than to take it back and give it again.
    fn hides(&self) -> bool {
        false
    }

    /// Takes the access to accessible addresses away and keeps their memory, which the caller has
    /// cleared. Returns false if that cannot be done; the part is to be decommitted then.
    fn hide(&self, _part: Part<'_>) -> bool {
        false
    }

    /// Makes addresses that were hidden accessible again, which read as zero. Returns false if that
    /// cannot be done; the part is to be decommitted then.
    fn reveal(&self, _part: Part<'_>) -> bool {
        false
    }

    /// Returns the bytes that the kernel's heap can grow by, beside a reserve for work in progress.
    /// Work that can wait asks first.
    fn heap_room(&self) -> u64;

    /// Clears a range: the addresses stay accessible and read as zero. Uses the quicker way for
    /// large ranges than writing zeros.
    fn discard(&self, part: Part<'_>);

    /// Takes the memory of accessible addresses back. They stay accessible and read as zero;
    /// [`Hal::commit`] makes them ordinary memory again. Data written before that can be read, and
    /// may be lost then.
    fn blank(&self, part: Part<'_>);

    /// Gives back some unused memory that the machine keeps for the kernel's heap. Returns false if
    /// there is none.
    fn trim(&self) -> bool {
        false
    }

    /// Copies code into the code arena and returns its address. The code is executable and no
    /// longer writable, and starts at the first page behind the code loaded before, so code that is
    /// loaded in pieces of whole pages is contiguous. Returns `None`, and leaves the arena as it
    /// was, if the arena is full or memory is short.
    fn load_code(&self, code: &[u8]) -> Option<u64>;

    /// Unloads the code that was loaded last, from this address on; the arena is as before.
    ///
    /// # Safety
    /// All of it was loaded last, and no processor runs it, now or later.
    #[allow(unsafe_code, reason = "declared for HALs")]
    unsafe fn unload_code(&self, from: u64);

    /// Returns the bytes of code for which there is room now.
    fn code_room(&self) -> u64;

    /// Returns the addresses that hold all code of SIPs, and nothing else.
    fn code_arena(&self) -> Range<u64>;

    /// Learns which functions lie at which addresses of the code arena, once for each image, before its
    /// code runs: for tools that look at the machine from outside, such as profilers.
    fn loaded(&self, _image: &str, _functions: &mut dyn Iterator<Item = (Range<u64>, &str)>) {}

    /// The console: the same device each time.
    fn console(&self) -> &dyn ConsoleDevice;

    /// Takes a line of the log (no line end in it); false where there is no room for it. Never
    /// waits; raises [`LINE_OUTPUT`] when there is room again. The log may go where the console
    /// does, or elsewhere.
    fn log(&self, class: Class, line: &[u8]) -> bool;

    /// Ends the system with this status. First writes the output it has taken, as far as that is
    /// read within a bounded time.
    fn exit(&self, status: i32) -> !;
}

/// A resource for lack of which a request was refused, and the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The resource.
    pub what: &'static str,
    /// How many bytes more were asked for, and what that makes in all, if that helps.
    pub bytes: Option<(u64, u64)>,
    /// What helps.
    pub remedy: &'static str,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if let Some((more, all)) = self.bytes {
            write!(f, " ({more} bytes more are needed, {all} in all)")?;
        }
        write!(f, ": {}", self.remedy)
    }
}
