//! The end of a system in a process that goes on: everything is forgotten and given back.

use crate::ground::trusted::{Ended, idles};
use crate::ground::{contract, image, log, machine, memory, trace};
use crate::mechanism::{cpu, interrupt, timer, wait, watchdog};
use crate::object::{
    account, calls, channel, crash, device, exheap, set, sip, surplus, sync, thread,
};

/// Forgets the system, after it has ended: gives back all that it has from the HAL and the heap, so
/// that [`boot`](super::boot::boot) can be called again, with this HAL or another.
///
/// # Safety
/// [`Hal::exit`](crate::hal::Hal::exit) was called, and has left the kernel for good; so has everybody else. Nobody uses
/// anything of the kernel's or of a SIP's from now on.
#[allow(unsafe_code, reason = "declared for HALs")]
pub unsafe fn forget() {
    // SAFETY: the caller's.
    let ended = &unsafe { Ended::assume() };
    watchdog::forget(ended);
    trace::forget(ended);
    timer::forget(ended);
    interrupt::forget(ended);
    cpu::forget(ended);
    idles(ended);
    // Records that refer to others go before those: what a record owns is charged to an account.
    thread::forget(ended);
    device::restart(ended);
    calls::forget(ended);
    wait::forget(ended);
    set::forget(ended);
    sync::forget(ended);
    channel::forget(ended);
    exheap::forget(ended);
    sip::forget(ended);
    account::forget(ended);
    crash::forget(ended);
    surplus::forget(ended);
    memory::forget(ended);
    image::forget(ended);
    contract::forget(ended);
    log::forget(ended);
    machine::forget(ended);
}
