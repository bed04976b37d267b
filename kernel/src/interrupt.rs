//! Interrupts: how a HAL reports them.

/// Reports an interrupt on a line. `in_sip`: whether it interrupted SIP code; then the kernel may switch to
/// another thread inside this call. Safe to call from an interrupt or signal handler at any instruction.
pub fn arrive(_line: u32, _in_sip: bool) {}
