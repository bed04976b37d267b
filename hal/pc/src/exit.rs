//! The end: telling an emulator the status, switching the machine off.

use crate::serial::line;
use crate::{port, processor};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use x86_64::instructions::{hlt, interrupts};

/// Status after a fault or panic of the kernel itself (`EX_SOFTWARE`).
pub const BROKEN: i32 = 70;
/// Status where there is no system image to start (`EX_NOINPUT`).
pub const NO_IMAGE: i32 = 66;

/// Port of QEMU's debug console, which takes bytes; nobody's elsewhere.
const DEBUG_CONSOLE: u16 = 0xe9;
/// Port of QEMU's `isa-debug-exit` device: a write of `v` ends QEMU with status `2 v + 1`.
const DEBUG_EXIT: u16 = 0xf4;

/// Ends the system. The exact status goes to the debug console; the debug exit device has room for seven
/// bits. A machine without either is switched off, or reset where that is not possible.
pub fn exit(status: i32) -> ! {
    interrupts::disable();
    say_status(status);
    port::write32(DEBUG_EXIT, status as u32 & 0x7f);
    // Still here: no such device.
    if processor::is_virtual() {
        // PM1a control of the ACPI hardware that QEMU's q35 has: sleep enable, type of S5.
        port::write16(0x604, 1 << 13);
    }
    // The keyboard controller's reset line.
    port::write8(0x64, 0xfe);
    // Without an interrupt table, any fault resets the processor.
    processor::triple_fault();
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
    // The console takes everything: there is no error to answer.
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
