//! What the kernel asks of a machine ([O] 5.1): the interface of a hardware abstraction layer.
//!
//! Two HALs implement it: `hal/hosted` (an unprivileged Linux process) and `hal/pc` (x86-64 hardware). The
//! kernel calls it on slow paths only; nothing that a message or a switch needs goes through it.
//!
//! Obligations of a HAL:
//! - It starts the kernel once, on a boot stack of at least 64 KiB, by [`crate::boot`].
//! - It reports every interrupt by [`crate::interrupt::arrive`], saying whether the processor was in SIP
//!   code (the program counter in [`Hal::code_arena`]). Only then may the kernel switch threads inside the
//!   call, which so can return much later, and must find everything that the interrupted code needs, the
//!   whole register file included, saved on the interrupted thread's own stack. Otherwise the call only
//!   takes note.
//! - It reports every processor fault by [`crate::fault::handle`] and does what that answers.
//! - Memory that [`Hal::commit`] makes accessible is zeroed.

use core::ops::Range;

/// Interrupt line of the timer.
pub const LINE_TIMER: u32 = 0;
/// Interrupt line of the console's input.
pub const LINE_CONSOLE: u32 = 1;

/// A machine. All times are nanoseconds; all sizes bytes, multiples of `sing_abi::PAGE` where memory is meant.
pub trait Hal: Sync {
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

    /// Waits for an interrupt, at the latest that of the timer. Called on the boot stack when there is
    /// nothing to run; returns after [`crate::interrupt::arrive`] has been called (with `in_sip` false), and
    /// may return without cause.
    fn idle(&self);

    /// Pages that the machine has for everything.
    fn total_pages(&self) -> u64;

    /// Whether memory is so short that what is left should serve what has begun: the kernel makes nothing new for
    /// SIPs then. [`Hal::commit`] fails before this is so.
    fn is_short(&self) -> bool;

    /// Reserves addresses, aligned to 64 KiB; nothing there is accessible. `None` where there are none left.
    fn reserve(&self, bytes: u64) -> Option<u64>;

    /// Gives up addresses that `reserve` gave; all of them at once, decommitted or not.
    fn release(&self, at: u64, bytes: u64);

    /// Makes reserved addresses readable and writable, zeroed. False where memory is short; then nothing
    /// has changed.
    fn commit(&self, at: u64, bytes: u64) -> bool;

    /// Takes the memory back: the addresses are reserved again, inaccessible.
    fn decommit(&self, at: u64, bytes: u64);

    /// Takes the contents back: the addresses stay accessible and read as zero. What is quicker than
    /// clearing for large ranges.
    fn discard(&self, at: u64, bytes: u64);

    /// Copies code into the code arena, executable and from then on not writable. `None` where it is full.
    fn load_code(&self, code: &[u8]) -> Option<u64>;

    /// Where all code of SIPs lies, and nothing else.
    fn code_arena(&self) -> Range<u64>;

    /// Writes to the console, all of it.
    fn console_write(&self, bytes: &[u8]);

    /// Takes what has been typed; 0 where nothing has, `None` at the end of input. Never waits. The HAL raises
    /// [`LINE_CONSOLE`] when input (or its end) arrives.
    fn console_read(&self, out: &mut [u8]) -> Option<usize>;

    /// Columns and rows of the terminal, where the console is one.
    fn console_size(&self) -> Option<(u32, u32)>;

    /// Prints a line of the kernel's log (no line end in `line`).
    fn log(&self, line: &str);

    /// Ends the system with this status.
    fn exit(&self, status: i32) -> !;
}
