//! The end of the system: reports the status to an emulator, and switches the machine off or resets
//! it.

use crate::serial::line;
use crate::{port, power, processor, serial};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use x86_64::instructions::{hlt, interrupts};

pub use sing_abi::exit::machine::BROKEN;
/// Status of a machine that lacks what the system needs.
pub use sing_abi::exit::machine::REFUSED as UNSUITABLE;

/// Port of QEMU's debug console, which takes bytes; unused on other machines.
pub const DEBUG_CONSOLE: u16 = 0xe9;
/// Port of QEMU's `isa-debug-exit` device: a write of `v` ends QEMU with status `2 v + 1`.
pub const DEBUG_EXIT: u16 = 0xf4;

/// Ends the system. The exact status goes to the debug console; the debug exit device has room for
/// seven bits. A machine without these is switched off. If that is not possible, a virtual machine
/// is reset, which ends those without another way; real hardware is halted, to be switched off by
/// hand.
pub fn exit(status: i32) -> ! {
    serial::flush();
    interrupts::disable();
    say_status(status);
    if processor::is_virtual() {
        port::write32(DEBUG_EXIT, status as u32 & 0x7f);
    }
    // Still running: there is no such device.
    power::off();
    if processor::is_virtual() {
        line!(
            "machine: ended with status {status}; nothing is known that switches it off, so it is reset"
        );
        power::reset();
        // The keyboard controller's reset line.
        port::write8(0x64, 0xfe);
        // Without an interrupt table, any fault resets the processor.
        processor::triple_fault();
    }
    line!(
        "machine: ended with status {status}; switch it off by hand, as nothing is known that does it"
    );
    loop {
        hlt();
    }
}

fn say_status(status: i32) {
    use core::fmt::Write;
    struct DebugConsole;
    impl Write for DebugConsole {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            text.bytes()
                .for_each(|byte| port::write8(DEBUG_CONSOLE, byte));
            Ok(())
        }
    }
    // Writing to the console cannot fail.
    let _ = writeln!(DebugConsole, "exit status {status}");
}

static PANICKING: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    interrupts::disable();
    if !PANICKING.swap(true, Relaxed) {
        line!("kernel panic: {info}");
    }
    exit(BROKEN)
}
