//! Stacks that are too large to be made in one go: the thread that needs one makes it in steps, between which others run.
//!
//! Meanwhile the stack is the thread's, on its SIP's account. Where the thread is ended, it is given back in steps, too.

use super::Thread;
use crate::ground::memory::Stack;
use crate::ground::work::PIECE;
use crate::mechanism::{cpu, interrupt};
use sing_abi::status;

/// A stack in the making.
#[derive(Default)]
pub(crate) struct Building {
    stack: Stack,
    /// Whether it is on the account of the thread's SIP.
    charged: bool,
}

/// Makes the current thread a stack of this many bytes, where it is too large for one step, which the next thread that it makes
/// takes. Others may run meanwhile.
///
/// # Errors
/// A status, where the SIP or the machine has no room.
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

/// Gives back what was built and nobody has taken. Others may run meanwhile.
pub(crate) fn clear() {
    let thread = cpu::current();
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

    /// Does a step; whether the stack is whole. It is on no account then: who takes it pays. `None` where memory is short.
    fn build_on(&self) -> Option<bool> {
        let mut building = self.building.lock();
        let whole = building.stack.extend(PIECE)?;
        if whole {
            self.settle(&mut building);
        }
        Some(whole)
    }

    fn settle(&self, building: &mut Building) {
        if core::mem::take(&mut building.charged) {
            self.sip().account().discharge(building.stack.bytes());
        }
    }

    /// Takes the stack that it has built, if it is one of so many bytes.
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

    /// Gives back a piece of what it was building. False where it builds nothing.
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
