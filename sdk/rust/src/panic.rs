//! The panic handler: it prints its message and place to the debug log and traps, which ends the
//! SIP.
//!
//! The message goes through a small buffer on the stack, so that a panic for want of memory still
//! speaks.

#[cfg(target_arch = "wasm32")]
mod handler {
    use crate::io::DebugLog;
    use core::fmt::Write;
    use core::panic::PanicInfo;

    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        let mut log = DebugLog::new();
        // A line that cannot be printed stops nothing.
        let _ = write!(log, "{info}");
        log.flush();
        core::arch::wasm32::unreachable()
    }
}
