//! The smallest process that says hello: no library, no start-up code, two system calls.
//!
//! With an argument it then sleeps, so that its memory can be measured.
#![no_std]
#![no_main]

use core::arch::{asm, naked_asm};

const WRITE: u64 = 1;
const PAUSE: u64 = 34;
const ALARM: u64 = 37;
const EXIT_GROUP: u64 = 231;
/// The most seconds that it sleeps.
const PATIENCE: u64 = 30;

/// Linux starts here, with the number of arguments on top of the stack.
///
/// # Safety
/// Linux calls it, once.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn _start() -> ! {
    naked_asm!("mov rdi, [rsp]", "and rsp, -16", "call {main}", "ud2", main = sym main)
}

/// A system call of up to three arguments.
///
/// # Safety
/// The same as for the system call.
unsafe fn system_call(number: u64, a: u64, b: u64, c: u64) {
    // SAFETY: the registers that Linux's convention changes are named; the rest is the caller's
    // obligation.
    unsafe {
        asm!("syscall", inlateout("rax") number => _, in("rdi") a, in("rsi") b, in("rdx") c,
            out("rcx") _, out("r11") _);
    }
}

extern "C" fn main(arguments: u64) -> ! {
    let text = "Hello\n";
    // SAFETY: the text is valid for the call.
    unsafe { system_call(WRITE, 1, text.as_ptr() as u64, text.len() as u64) };
    if arguments > 1 {
        // SAFETY: the first asks for a signal that ends this process if no other does; the second
        // returns only when a signal comes.
        unsafe {
            system_call(ALARM, PATIENCE, 0, 0);
            system_call(PAUSE, 0, 0, 0);
        }
    }
    exit(0)
}

fn exit(status: u64) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { system_call(EXIT_GROUP, status, 0, 0) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(101)
}
