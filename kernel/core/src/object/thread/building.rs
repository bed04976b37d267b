//! Stacks that are too large for one step: the thread that creates another builds the stack in
//! steps, between which others run.
//!
//! Invariant: a stack belongs to the building thread until a new thread takes it, and is charged to
//! its SIP's account wherever others can run. If the thread is ended, the stack is freed in steps,
//! too.

use super::Thread;
use crate::ground::memory::Stack;
use crate::ground::work::PIECE;
use crate::mechanism::{cpu, interrupt};
use sing_abi::status;

/// A stack under construction.
#[derive(Default)]
pub(crate) struct Building {
    stack: Stack,
    /// Whether it is on the account of the thread's SIP. Not between [`hand_over`] and the end of
    /// that step.
    charged: bool,
}

/// Builds a stack of this many bytes, if that is too large for one step; the next thread that the
/// current one creates takes it. Others may run meanwhile.
///
/// # Errors
/// `NO_RESOURCES` if the SIP's budget or the machine has no room.
pub(crate) fn build(bytes: u64) -> Result<(), i32> {
    if bytes <= PIECE {
        return Ok(());
    }
    let thread = cpu::current();
    while thread.give_up_building() {
        interrupt::let_others_run();
    }
    if !thread.begin_building(bytes) {
        return Err(status::NO_RESOURCES);
    }
    loop {
        match thread.build_on() {
            Some(true) => return Ok(()),
            Some(false) => interrupt::let_others_run(),
            None => {
                clear();
                return Err(status::NO_RESOURCES);
            }
        }
    }
}

/// Discharges the finished stack: the thread that is created in this step takes it and is charged
/// for it. [`clear`] must follow in the same step.
pub(crate) fn hand_over() {
    let thread = cpu::current();
    thread.settle(&mut thread.building.lock());
}

/// Frees a stack that was built and not taken. Others may run meanwhile.
pub(crate) fn clear() {
    let thread = cpu::current();
    thread.charge_again();
    while thread.give_up_building() {
        interrupt::let_others_run();
    }
}

impl Thread {
    fn begin_building(&self, bytes: u64) -> bool {
        let account = self.sip().account();
        if !account.charge(bytes) {
            return false;
        }
        let Some(stack) = Stack::reserve(bytes) else {
            account.discharge(bytes);
            return false;
        };
        *self.building.lock() = Building {
            stack,
            charged: true,
        };
        true
    }

    /// Does a step; whether the stack is complete. `None` if memory is short.
    fn build_on(&self) -> Option<bool> {
        self.building.lock().stack.extend(PIECE)
    }

    /// Charges for a stack that no thread has taken. There was room in this step; only if the
    /// machine has become short, the stack is freed uncharged.
    fn charge_again(&self) {
        let mut building = self.building.lock();
        let bytes = building.stack.bytes();
        if bytes > 0 && !building.charged {
            building.charged = self.sip().account().charge(bytes);
        }
    }

    fn settle(&self, building: &mut Building) {
        if core::mem::take(&mut building.charged) {
            self.sip().account().discharge(building.stack.bytes());
        }
    }

    /// Takes the stack that it has built, if that is complete and of this size.
    pub(super) fn take_built(&self, bytes: u64) -> Option<Stack> {
        let mut building = self.building.lock();
        let stack = &mut building.stack;
        if stack.bytes() != bytes || !stack.is_whole() {
            return None;
        }
        let stack = core::mem::take(stack);
        stack.is_used();
        Some(stack)
    }

    /// Takes back the stack of a creation that failed: [`clear`] frees it, in steps if it is large.
    pub(super) fn return_built(&self, stack: Stack) {
        let mut building = self.building.lock();
        if stack.bytes() <= PIECE || building.stack.bytes() > 0 {
            drop(building);
            return stack.give();
        }
        stack.is_unused();
        *building = Building {
            stack,
            charged: false,
        };
    }

    /// Frees a piece of the stack it was building. False if there is none.
    pub(super) fn give_up_building(&self) -> bool {
        let mut building = self.building.lock();
        if building.stack.bytes() == 0 {
            return false;
        }
        if !building.stack.shrink(PIECE) {
            self.settle(&mut building);
            building.stack = Stack::default();
        }
        true
    }
}
