//! Resets of PCI functions before their first driver, and when one gives them back
//! ([`crate::function_reset`] has the steps).
//!
//! A reset takes its time, in which nobody waits but the next driver
//! ([`sing_kernel::hal::Hal::settle`]).
//!
//! Invariants:
//! - While a reset is under way, nothing else reaches the function's configuration: one that is
//!   not ready holds up who asks, or answers with ones.
//! - A function that has not come back, or lacks its isolation from its neighbours or its interrupt,
//!   is never connected again.
//!
//! A function that cannot be reset only stops mastering the bus and raising its pin. Devices that
//! speak virtio need none of this: they confirm their own reset.

use super::config::Function;
use super::{acs, msix};
use crate::clock;
use crate::function_reset::{Configuration, Plan, Stage};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_kernel::device::MOST_DEVICES;

/// How a device is reset, and what connects it again.
pub struct Reset {
    pub plan: Plan,
    /// Whether it is to pass nothing on to its neighbours.
    pub isolated: bool,
    /// Its interrupt's message, if it has one.
    pub message: Option<msix::Connection>,
}

static STAGES: [SpinLock<Stage>; MOST_DEVICES] =
    [const { SpinLock::new(Stage::Unknown) }; MOST_DEVICES];
/// Devices whose configuration is not to be reached, one bit each.
static AWAY: AtomicU32 = AtomicU32::new(0);
const _: () = assert!(MOST_DEVICES <= 32);

impl Configuration for Function {
    fn read(&self, register: u16) -> u32 {
        Function::read(self, register)
    }

    fn write(&self, register: u16, value: u32) {
        Function::write(self, register, value);
    }
}

/// Whether a device is being reset, or has not come back: its configuration is not to be reached.
pub fn is_away(device: usize) -> bool {
    device < MOST_DEVICES && AWAY.load(Relaxed) & 1 << device != 0
}

/// Begins the reset of a device that neither masters the bus nor raises its pin.
pub fn begin(device: usize, function: &Function, reset: &Reset) {
    let Some(stage) = STAGES.get(device) else {
        return;
    };
    let mut stage = stage.lock();
    if matches!(*stage, Stage::Unknown | Stage::None) {
        AWAY.fetch_or(1 << device, Relaxed);
        *stage = reset.plan.begin(function, clock::now());
    }
}

/// Goes on with a device's reset, and begins the first one: the time at which to call again; `None`
/// when it is over, however it went.
pub fn settle(device: usize, function: &Function, reset: &Reset) -> Option<u64> {
    let mut stage = STAGES.get(device)?.lock();
    if *stage == Stage::None {
        return None;
    }
    AWAY.fetch_or(1 << device, Relaxed);
    let is_whole = |function: &Function| {
        let message = reset.message.as_ref();
        (!reset.isolated || acs::isolate_function(function))
            && message.is_none_or(|message| message.connect_again(function))
    };
    let (next, again) = reset.plan.go_on(function, *stage, clock::now(), is_whole);
    *stage = next;
    if next == Stage::None {
        AWAY.fetch_and(!(1 << device), Relaxed);
    }
    again
}
