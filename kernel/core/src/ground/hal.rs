//! What the kernel asks of a machine ([O] 5.1): the interface of a hardware abstraction layer.
//!
//! Two HALs implement it: `hal/hosted` (an unprivileged Linux process) and `hal/pc` (x86-64 hardware). The
//! kernel calls it on slow paths only; nothing that a message or a switch needs goes through it.
//!
//! Obligations of a HAL, which memory safety rests on, so that [`Hal`] is an unsafe trait:
//! - It starts the kernel once, on a boot stack of at least 64 KiB, by [`crate::entry::boot`]; that stack and thread of
//!   the machine are the kernel's from then on. No other thread calls the kernel, nor does an interrupt, but for what
//!   follows.
//! - It reports every interrupt by [`crate::mechanism::interrupt::arrive`], saying whether the processor was in SIP
//!   code (the program counter in [`Hal::code_arena`]). Only then may the kernel switch threads inside the
//!   call, which so can return much later, and must find everything that the interrupted code needs, the
//!   whole register file included, saved on the interrupted thread's own stack. Otherwise the call only
//!   takes note.
//! - It reports every processor fault by [`crate::entry::fault::handle`] and does what that answers.
//! - What it reserves overlaps no other reservation, nor anything else; memory that [`Hal::commit`] makes accessible is
//!   zeroed, and stays as it is until it is taken back.
//! - Code that it has loaded stays where it is, executable and never writable, until the kernel takes it back.

pub use crate::ground::trusted::{Part, Reservation};

use crate::ground::console::ConsoleDevice;
use crate::ground::output::Class;
use core::ops::Range;

/// Interrupt lines that there can be, that of the timer included.
pub const LINES: u32 = 31;
/// Interrupt line of the timer.
pub const LINE_TIMER: u32 = 0;
/// Interrupt line of the console's input ([`ConsoleDevice`]).
pub const LINE_CONSOLE: u32 = 1;
/// Interrupt line of the output: there is room again where there was none, or all of the console's has been written.
pub const LINE_OUTPUT: u32 = 3;
/// Interrupt line of the power button: somebody wants the system to end.
pub const LINE_POWER: u32 = 2;

/// A machine. All times are nanoseconds; all sizes bytes, multiples of `sing_abi::PAGE` where memory is meant.
///
/// # Safety
/// Whoever implements it keeps the obligations above.
#[allow(
    unsafe_code,
    reason = "declares what HALs promise, and does nothing itself"
)]
pub unsafe trait Hal: Sync {
    /// Name of the machine: `hosted` or `pc`.
    fn name(&self) -> &'static str;

    /// Processors in use.
    fn cpus(&self) -> u32;

    /// Whether the processor has this feature (name as in `sing_image::meta::Meta::cpu_features`).
    fn has_cpu_feature(&self, name: &str) -> bool;

    /// Ticks a second of the time-stamp counter.
    fn cycles_per_second(&self) -> u64;

    /// Time since the start; never goes back.
    fn now(&self) -> u64;

    /// Time since 1970, UTC.
    fn utc(&self) -> u64;

    /// Asks for one interrupt on [`LINE_TIMER`] when [`Hal::now`] reaches `at`, instead of one asked for
    /// before. `u64::MAX`: none.
    fn set_timer(&self, at: u64);

    /// Keeps a device's line from interrupting. The HAL does so by itself when a line of a device that is not its own
    /// arrives: the device is quiet only when its driver has seen to it.
    fn mask(&self, _line: u32) {}

    /// Lets a device's line interrupt.
    fn unmask(&self, _line: u32) {}

    /// Waits for an interrupt, at the latest that of the timer. Called on the boot stack when there is
    /// nothing to run; returns after [`crate::mechanism::interrupt::arrive`] has been called (with `in_sip` false), and
    /// may return without cause.
    fn idle(&self);

    /// How long the processor has worked, in nanoseconds, since the first interrupt of which
    /// [`crate::mechanism::interrupt::arrive`] only took note since this was asked last; 0 where there was none. What the
    /// host does meanwhile for others does not count.
    fn held(&self) -> u64;

    /// The interrupt lines beside [`LINE_TIMER`] that the machine has, one bit each.
    fn interrupt_lines(&self) -> u32 {
        1 << LINE_CONSOLE | 1 << LINE_OUTPUT
    }

    /// Pages that the machine has for everything.
    fn total_pages(&self) -> u64;

    /// Pages of those that nothing has now.
    fn free_pages(&self) -> u64;

    /// Whether memory is so short that what is left should serve what has begun: the kernel makes nothing new for
    /// SIPs then. [`Hal::commit`] fails before this is so.
    fn is_short(&self) -> bool;

    /// What [`Hal::reserve`] or [`Hal::commit`] was short of when it refused last, and what helps.
    fn shortage(&self) -> &'static str {
        "memory: give the machine more"
    }

    /// Reserves addresses, aligned to 64 KiB; nothing there is accessible. `None` where there are none left.
    fn reserve(&self, bytes: u64) -> Option<Reservation>;

    /// Takes addresses back, accessible or not.
    fn release(&self, addresses: Reservation);

    /// Makes reserved addresses readable and writable, zeroed. False where memory is short; then nothing
    /// has changed.
    fn commit(&self, part: Part<'_>) -> bool;

    /// Takes the memory back: the addresses are reserved again, inaccessible.
    fn decommit(&self, part: Part<'_>);

    /// Bytes that the kernel's heap can grow by, beside what is left to it for what has begun. What can wait asks first.
    fn heap_room(&self) -> u64;

    /// Takes the contents back: the addresses stay accessible and read as zero. What is quicker than
    /// clearing for large ranges.
    fn discard(&self, part: Part<'_>);

    /// Takes the memory of accessible addresses back. They stay accessible and read as zero; [`Hal::commit`] makes them
    /// ordinary memory again. What is written there before is there for whoever reads it, and may be lost then.
    fn blank(&self, part: Part<'_>);

    /// Gives back some of what the machine keeps for the kernel's heap and nothing uses. False where there is nothing.
    fn trim(&self) -> bool {
        false
    }

    /// Copies code into the code arena, executable and from then on not writable; starts on a page of its own, the first one
    /// behind what was loaded before. So code that is loaded in pieces of whole pages lies in one piece. `None`, and the arena
    /// is as before, where it or memory is full.
    fn load_code(&self, code: &[u8]) -> Option<u64>;

    /// Takes code out of the arena that was loaded last, from this address on; it is as it was before.
    ///
    /// # Safety
    /// All of it was loaded last, and nobody runs it, nor will.
    #[allow(unsafe_code, reason = "declared for HALs")]
    unsafe fn unload_code(&self, from: u64);

    /// Bytes of code for which there is room now.
    fn code_room(&self) -> u64;

    /// Where all code of SIPs lies, and nothing else.
    fn code_arena(&self) -> Range<u64>;

    /// The console: the same device each time.
    fn console(&self) -> &dyn ConsoleDevice;

    /// Takes a line of the log (no line end in it); false where there is no room for it. Never waits; raises
    /// [`LINE_OUTPUT`] when there is room again. The log may go where the console does, or elsewhere.
    fn log(&self, class: Class, line: &[u8]) -> bool;

    /// Ends the system with this status. Writes what it has taken first, as far as that is read within a bounded time.
    fn exit(&self, status: i32) -> !;
}
